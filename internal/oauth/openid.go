package oauth

import (
	"context"
	"strconv"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// Claims are what an application learns of the person it acts for. What is
// empty is left out.
type Claims struct {
	Subject           string   `json:"sub"`
	Name              string   `json:"name,omitempty"`
	Nickname          string   `json:"nickname,omitempty"`
	PreferredUsername string   `json:"preferred_username,omitempty"`
	Email             string   `json:"email,omitempty"`
	EmailVerified     *bool    `json:"email_verified,omitempty"`
	Website           string   `json:"website,omitempty"`
	Profile           string   `json:"profile,omitempty"`
	Picture           string   `json:"picture,omitempty"`
	Groups            []string `json:"groups,omitempty"`        // userinfo only
	GroupsDirect      []string `json:"groups_direct,omitempty"` // ID tokens only

	// ByRole are the groups in which the person was given this role.
	ByRole map[access.Role][]string `json:"-"`
}

// claims are those of a person that the scopes open. Who asks for openid
// alone learns what everyone may see; the address and the groups take a scope
// that says so.
func (s *Service) claims(u *user.User, scopes access.Scopes) Claims {
	c := Claims{
		Subject: strconv.FormatInt(u.ID, 10), Name: u.Name, Nickname: u.Username, PreferredUsername: u.Username,
		Website: u.WebsiteURL, Profile: s.deps.ExternalURL + "/" + u.Username, Email: u.PublicEmail,
	}
	if u.Avatar != "" {
		c.Picture = s.deps.ExternalURL + "/uploads/-/system/user/avatar/" + c.Subject + "/" + u.Avatar
	}
	if scopes.Has(access.ScopeEmail) {
		c.Email = u.Email
	}
	if c.Email != "" {
		// A public address is one of those that were confirmed.
		c.EmailVerified = new(c.Email != u.Email || u.ConfirmedAt != nil)
	}
	return c
}

// opensGroups reports whether the scopes let an application know the groups
// of a person, which others may not see.
func opensGroups(scopes access.Scopes) bool {
	return scopes.Has(access.ScopeProfile) || scopes.Has(access.ScopeReadAPI) || scopes.Has(access.ScopeAPI)
}

type membership struct {
	Path string
	Role access.Role
}

func (s *Service) directGroups(ctx context.Context, u *user.User) ([]membership, error) {
	return postgres.All[membership](ctx, s.deps.DB, sqlDirectGroups, u.ID, s.deps.Clock.Now())
}

// UserInfo tells an application about the person it acts for. ok is false
// when it was not granted that.
func (s *Service) UserInfo(ctx context.Context, secret string) (c Claims, ok bool, err error) {
	actor, err := s.present(ctx, secret)
	if err != nil {
		return c, false, err
	}
	scopes := actor.Credential.Scopes
	if !scopes.Has(access.ScopeOpenID) {
		return c, false, nil
	}
	u, err := s.deps.Users.Find(ctx, actor.ID())
	if err != nil {
		return c, false, err
	}
	c = s.claims(u, scopes)
	if !opensGroups(scopes) {
		return c, true, nil
	}
	if c.Groups, err = postgres.Values[string](ctx, s.deps.DB, sqlGroups, u.ID, s.deps.Clock.Now()); err != nil {
		return c, false, err
	}
	direct, err := s.directGroups(ctx, u)
	c.ByRole = map[access.Role][]string{}
	for _, m := range direct {
		c.ByRole[m.Role] = append(c.ByRole[m.Role], m.Path)
	}
	return c, true, err
}

// idClaims are an ID token: who signed in, said by whom, to whom, until when.
type idClaims struct {
	Claims
	Issuer               string     `json:"iss"`
	Audience             string     `json:"aud"`
	ExpiresAt            int64      `json:"exp"`
	IssuedAt             int64      `json:"iat"`
	AuthenticatedAt      int64      `json:"auth_time,omitempty"`
	Nonce                string     `json:"nonce,omitempty"`
	jwt.RegisteredClaims `json:"-"` // for its methods: the library signs nothing without
}

// identifier reads all that an ID token for this person needs, so that making
// it asks nobody.
func (s *Service) identifier(ctx context.Context, g grantee, u *user.User) (func(Token) (string, error), error) {
	kid, key, err := s.signingKey(ctx, idTokens)
	if err != nil {
		return nil, err
	}
	claims := idClaims{Claims: s.claims(u, g.scopes), Issuer: s.deps.ExternalURL, Audience: g.app.UID}
	if g.nonce != nil {
		claims.Nonce = *g.nonce
	}
	if opensGroups(g.scopes) {
		direct, err := s.directGroups(ctx, u)
		if err != nil {
			return nil, err
		}
		for _, m := range direct {
			claims.GroupsDirect = append(claims.GroupsDirect, m.Path)
		}
	}
	return func(t Token) (string, error) {
		claims.IssuedAt, claims.ExpiresAt = t.CreatedAt.Unix(), t.CreatedAt.Add(idTokenLife).Unix()
		if t.AuthenticatedAt != nil {
			claims.AuthenticatedAt = t.AuthenticatedAt.Unix()
		}
		unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
		unsigned.Header["kid"] = kid
		return unsigned.SignedString(key)
	}, nil
}

// roleClaim names the member that lists the groups of one role.
func (s *Service) roleClaim(role access.Role) string {
	return "https://" + s.deps.Names.Service + ".org/claims/groups/" + strings.ToLower(role.String())
}
