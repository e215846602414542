package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// Client is how a caller says which application it is.
type Client struct {
	ID     string
	Secret secretbox.Secret
}

// Exchange is a request to the token endpoint: a grant (a code, a refresh token or a password) to be exchanged for an access token.
type Exchange struct {
	Client
	Type         string
	Code         string
	RedirectURI  string
	Verifier     string
	RefreshToken string
	Scope        string
	Username     string
	Password     secretbox.Secret
	From         netip.Addr
}

// Exchange issues a token for a grant. If the grant is refused, the error is an Error, which is shown in the words of RFC 6749.
func (s *Service) Exchange(ctx context.Context, x Exchange) (*Issued, error) {
	switch x.Type {
	case "":
		return nil, missing("grant_type")
	case "authorization_code":
		return s.exchangeCode(ctx, x)
	case "refresh_token":
		return s.refresh(ctx, x)
	case "password":
		if s.deps.PasswordGrant {
			return s.exchangePassword(ctx, x)
		}
	}
	return nil, refuse(UnsupportedGrantType)
}

// authenticate finds the application of a client that proves its identity. A
// public client (one that is not confidential) need not show a secret.
func (s *Service) authenticate(ctx context.Context, c Client) (*Application, error) {
	app, err := s.application(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	if c.Secret == "" && !app.Confidential {
		return app, nil
	}
	if subtle.ConstantTimeCompare(s.digest(secretKind, c.Secret.Reveal()), app.SecretDigest) == 0 {
		return nil, refuse(InvalidClient)
	}
	return app, nil
}

func (s *Service) exchangeCode(ctx context.Context, x Exchange) (*Issued, error) {
	switch {
	case x.Code == "":
		return nil, missing("code")
	case x.RedirectURI == "":
		return nil, missing("redirect_uri")
	}
	app, err := s.authenticate(ctx, x.Client)
	if err != nil {
		return nil, err
	}
	c, err := postgres.One[code](ctx, s.deps.DB, sqlCode, s.digest(codeKind, x.Code))
	if errors.Is(err, postgres.ErrNoRows) || err == nil && c.ApplicationID != app.ID {
		return nil, refuse(InvalidGrant)
	}
	if err != nil {
		return nil, err
	}
	if c.UsedAt == nil {
		switch {
		case x.RedirectURI != c.RedirectURI:
			return nil, refuse(InvalidGrant)
		case c.CodeChallenge != nil && x.Verifier == "":
			return nil, missing("code_verifier")
		case (c.CodeChallenge == nil) != (x.Verifier == ""), c.CodeChallenge != nil && !verifies(x.Verifier, *c.CodeChallenge):
			return nil, refuse(InvalidGrant)
		}
	}
	return s.issue(ctx, grantee{c.UserID, app, c.Scopes, c.Nonce}, func(tx pgx.Tx, u *user.User, now time.Time) (*Issued, error) {
		used, err := tx.Exec(ctx, sqlUseCode, c.ID, now)
		if err != nil {
			return nil, err
		}
		if used.RowsAffected() == 0 {
			return nil, s.replayed(ctx, tx, app, u, c.ID, x.From)
		}
		i, err := s.insert(ctx, tx, now, Token{
			ApplicationID: &app.ID, UserID: c.UserID, Scopes: c.Scopes, RedirectURI: &c.RedirectURI, AuthenticatedAt: &c.AuthenticatedAt,
		}, true)
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, sqlMarkFamily, c.ID, i.FamilyID)
		return i, err
	})
}

// replayed revokes all tokens that were issued for a code which is presented a
// second time: one of the two who know it must have stolen it.
func (s *Service) replayed(ctx context.Context, tx pgx.Tx, app *Application, u *user.User, codeID int64, from netip.Addr) error {
	family, err := postgres.Value[*int64](ctx, tx, sqlCodeFamily, codeID)
	if err != nil || family == nil { // it was never used: it has expired
		return err
	}
	return s.endFamily(ctx, tx, *family, Event{Action: CodeReplayed, By: access.Actor{Address: from, Process: "oauth"}, Application: *app, For: u})
}

// endFamily revokes all tokens that descend from one grant, by refreshing.
func (s *Service) endFamily(ctx context.Context, tx pgx.Tx, family int64, e Event) error {
	ended, err := tx.Exec(ctx, sqlRevokeFamily, family, s.deps.Clock.Now())
	if err != nil || ended.RowsAffected() == 0 {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, e)
}

func (s *Service) refresh(ctx context.Context, x Exchange) (*Issued, error) {
	if x.RefreshToken == "" {
		return nil, missing("refresh_token")
	}
	old, err := postgres.One[Token](ctx, s.deps.DB, sqlByRefresh, s.digest(refreshKind, x.RefreshToken))
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, refuse(InvalidGrant)
	}
	if err != nil {
		return nil, err
	}
	app, err := s.authenticate(ctx, x.Client)
	if err != nil {
		return nil, err
	}
	if old.ApplicationID == nil || *old.ApplicationID != app.ID || x.RedirectURI != "" && (old.RedirectURI == nil || *old.RedirectURI != x.RedirectURI) {
		return nil, refuse(InvalidGrant)
	}
	scopes := old.Scopes
	if asked := parseScopes(x.Scope); len(asked) > 0 && old.RevokedAt == nil {
		if scopes = asked; !within(asked, old.Scopes) {
			return nil, refuse(InvalidScope)
		}
	}
	// Scopes that the application has given up since are not granted again.
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s access.Scope) bool { return !app.Scopes.Has(s) })
	if len(scopes) == 0 {
		return nil, refuse(InvalidScope)
	}
	return s.issue(ctx, grantee{old.UserID, app, scopes, nil}, func(tx pgx.Tx, u *user.User, now time.Time) (*Issued, error) {
		if old.RevokedAt != nil {
			// It was used before this request began, so somebody has a copy.
			return nil, s.endFamily(ctx, tx, old.FamilyID, Event{
				Action: RefreshReused, By: access.Actor{Address: x.From, Process: "oauth"}, Application: *app, For: u,
			})
		}
		spent, err := tx.Exec(ctx, sqlSpend, old.ID, now)
		if err != nil || spent.RowsAffected() == 0 {
			return nil, err // a concurrent request used it first
		}
		return s.insert(ctx, tx, now, Token{
			ApplicationID: old.ApplicationID, UserID: old.UserID, Scopes: scopes, RedirectURI: old.RedirectURI,
			AuthenticatedAt: old.AuthenticatedAt, FamilyID: old.FamilyID,
		}, true)
	})
}

// exchangePassword is the password grant. It bypasses the sign-in page, so it
// is closed to accounts that sign in with more than a password, or elsewhere.
func (s *Service) exchangePassword(ctx context.Context, x Exchange) (*Issued, error) {
	var app *Application
	allowed := Scopes()
	if x.Client != (Client{}) {
		var err error
		if app, err = s.authenticate(ctx, x.Client); err != nil {
			return nil, err
		}
		allowed = app.Scopes
	}
	if !s.deps.Settings.Current().PasswordAuthenticationEnabledForWeb || x.Username == "" || x.Password == "" {
		return nil, refuse(InvalidGrant)
	}
	u, err := s.deps.Password(ctx, x.Username, x.Password, x.From)
	if err == nil && !passwordIsEnough(u, s.deps.Settings.Current().RequireTwoFactorAuthentication, s.deps.Settings.Current().RequireAdminTwoFactorAuthentication) {
		return nil, refuse(InvalidGrant)
	}
	if _, shown := fault.Of(err); shown {
		return nil, refuse(InvalidGrant)
	}
	if err != nil {
		return nil, err
	}
	scopes := parseScopes(x.Scope)
	if len(scopes) == 0 {
		scopes = access.Scopes{access.ScopeAPI}
	}
	if scopes = holdable(scopes, u.Admin); len(scopes) == 0 || !within(scopes, allowed) || app != nil && s.KeptFrom(u, app) {
		return nil, refuse(InvalidScope)
	}
	return s.issue(ctx, grantee{u.ID, app, scopes, nil}, func(tx pgx.Tx, _ *user.User, now time.Time) (*Issued, error) {
		t := Token{UserID: u.ID, Scopes: scopes, AuthenticatedAt: &now}
		if app != nil {
			t.ApplicationID = &app.ID
		}
		return s.insert(ctx, tx, now, t, false)
	})
}

// passwordIsEnough reports whether an account signs in with its password and
// nothing else.
func passwordIsEnough(u *user.User, required, requiredOfAdmins bool) bool {
	return u.Kind == user.Human && !u.TwoFactorEnabled && !u.External && len(u.Identities) == 0 &&
		!required && !(requiredOfAdmins && u.Admin)
}

// grantee is the account that a token acts for, and the application that gets it.
type grantee struct {
	userID int64
	app    *Application // nil in a password grant without one
	scopes access.Scopes
	nonce  *string
}

// issue runs give in a transaction that locks the grants of the account, if the
// account may be used at all. When give returns nil without an error, the
// transaction is committed all the same (it may have revoked tokens), and the
// application is told of an invalid grant.
func (s *Service) issue(ctx context.Context, g grantee, give func(tx pgx.Tx, u *user.User, now time.Time) (*Issued, error)) (*Issued, error) {
	u, err := s.deps.Users.Find(ctx, g.userID)
	if err == nil {
		err = s.deps.Tokens.Admits(u)
	}
	if _, shown := fault.Of(err); shown {
		return nil, refuse(InvalidGrant)
	}
	if err != nil {
		return nil, err
	}
	var identify func(Token) (string, error)
	if g.app != nil && g.scopes.Has(access.ScopeOpenID) {
		if identify, err = s.identifier(ctx, g, u); err != nil {
			return nil, err
		}
	}
	var issued *Issued
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		var appID *int64
		if g.app != nil {
			appID = &g.app.ID
		}
		if err := s.lock(ctx, tx, g.userID, appID); err != nil {
			return err
		}
		if issued, err = give(tx, u, s.deps.Clock.Now()); err != nil || issued == nil || identify == nil {
			return err
		}
		issued.IDToken, err = identify(issued.Token)
		return err
	})
	if err == nil && issued == nil || fault.Is(err, fault.NotFound) {
		err = refuse(InvalidGrant)
	}
	if err != nil {
		return nil, err
	}
	return issued, nil
}

// insert generates the secrets of a token and stores the token with their digests.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, now time.Time, t Token, refreshable bool) (*Issued, error) {
	i := &Issued{Access: newSecret()}
	var refreshDigest []byte
	if refreshable {
		i.Refresh = newSecret()
		refreshDigest = s.digest(refreshKind, i.Refresh.Reveal())
	}
	var family *int64
	if t.FamilyID != 0 {
		family = &t.FamilyID
	}
	var err error
	i.Token, err = postgres.One[Token](ctx, tx, sqlInsertToken, t.ApplicationID, t.UserID, s.digest(access.OAuthToken, i.Access.Reveal()),
		refreshDigest, t.Scopes, t.RedirectURI, t.AuthenticatedAt, family, now, now.Add(TokenLife))
	return i, err
}
