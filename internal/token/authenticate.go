package token

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// Resolver knows secrets of a kind that a room above keeps.
type Resolver interface {
	// Bearer finds whose a secret is. It returns no account for a secret that it
	// does not know, and a fault for one that it knows and refuses. Where the
	// request does not ask for the account, its account state is enough.
	Bearer(ctx context.Context, p access.Presented) (*user.User, access.Credential, error)
}

// resolve is what a Resolver does, for one kind of secret.
type resolve func(ctx context.Context, p access.Presented) (*user.User, access.Credential, error)

// Authenticate finds who presents a secret, and whether the account may be
// used at all.
func (s *Service) Authenticate(ctx context.Context, p access.Presented) (access.Actor, error) {
	ofBrowser := false
	for _, kind := range p.Kinds {
		resolve, known := s.resolvers[kind]
		if !known {
			continue
		}
		u, credential, err := resolve(ctx, p)
		if err != nil {
			return access.Actor{}, err
		}
		if u != nil {
			return s.admit(u, credential, p.Account)
		}
		ofBrowser = ofBrowser || kind == access.Session
	}
	if ofBrowser {
		return access.Actor{}, nil // browsers send their cookies everywhere, dead ones too
	}
	return access.Actor{}, fault.New(fault.Unauthenticated)
}

// Admit lets an account in that was read whole. The doors that find out
// themselves who speaks call it.
func (s *Service) Admit(u *user.User, c access.Credential) (access.Actor, error) {
	return s.admit(u, c, true)
}

// Later admits an account for what runs in its name while the person is away: as
// Admit would admit a request of theirs now, which carries no scope, and so
// without the power that an administrator has to ask for in admin mode. It is
// no activity of theirs. A fault says why it may not be used.
func (s *Service) Later(ctx context.Context, id int64) (access.Actor, error) {
	u, err := s.deps.Users.Find(ctx, id)
	if err != nil {
		return access.Actor{}, err
	}
	if err := s.refusal(u, s.deps.Clock.Now()); err != nil {
		return access.Actor{}, err
	}
	return access.Actor{Person: s.person(u, access.Credential{}), Account: u}, nil
}

// admit lets an account in, whatever the kind of secret that spoke for it.
// whole says that all of the account was read.
func (s *Service) admit(u *user.User, c access.Credential, whole bool) (access.Actor, error) {
	now := s.deps.Clock.Now()
	if err := s.refusal(u, now); err != nil {
		return access.Actor{}, err
	}
	if today := midnight(now); u.LastActivityOn == nil || u.LastActivityOn.Before(today) {
		s.lastUsed.person(u.ID, now)
	}
	a := access.Actor{Person: s.person(u, c), Credential: c, Account: &u.AccountState}
	if whole {
		a.Account = u
	}
	return a, nil
}

// person is the account as decisions see it. In admin mode an administrator
// has to ask for the power.
func (s *Service) person(u *user.User, c access.Credential) *access.Person {
	p := u.Person()
	if p.Admin && s.deps.Settings.Current().AdminMode {
		p.Admin = c.Scopes.Has(access.ScopeAdminMode)
	}
	return p
}

// Admits reports, as a fault, why an account may not be used at present.
func (s *Service) Admits(u *user.User) error { return s.refusal(u, s.deps.Clock.Now()) }

// refusal says why an account may not be used; the first reason counts.
func (s *Service) refusal(u *user.User, now time.Time) error {
	forbidden := func(format string, args ...any) error { return fault.WithReason(fault.Forbidden, format, args...) }
	switch {
	case u.Kind.Internal():
		return forbidden("This action cannot be performed by internal users")
	case u.State == user.Pending:
		return forbidden("Your account is pending approval from your administrator and hence blocked.")
	case u.State == user.Deactivated:
		return forbidden("Your account has been deactivated by your administrator. Please log back in from a web browser to reactivate your account at %s", s.baseURL)
	case u.ConfirmedAt == nil:
		return forbidden("Your primary email address is not confirmed. Please check your inbox for the confirmation instructions. In case the link is expired, you can request a new confirmation email at %s/users/confirmation/new", s.baseURL)
	case u.State != user.Active:
		return forbidden("Your account has been blocked.")
	case u.PasswordExpired(now):
		return forbidden("Your password expired. Please access %s from a web browser to update your password.", s.title)
	}
	return nil
}

// bearer is a personal token as authentication reads it.
type bearer struct {
	TokenID       int64
	Scopes        []string // a slice of any other type is read by reflection
	Impersonation bool
	ExpiresAt     *time.Time
	RevokedAt     *time.Time
	LastUsedAt    *time.Time
	FamilyID      *int64
}

func (b *bearer) credential() access.Credential {
	c := access.Credential{
		Kind: access.PersonalToken, ID: b.TokenID, Scopes: make(access.Scopes, len(b.Scopes)), Impersonation: b.Impersonation,
	}
	for i, s := range b.Scopes {
		c.Scopes[i] = access.Scope(s)
	}
	return c
}

// lastUsedEvery is how exact a token's last use is known.
const lastUsedEvery = 10 * time.Minute

// personal resolves personal tokens, with one query.
func (s *Service) personal(ctx context.Context, p access.Presented) (*user.User, access.Credential, error) {
	if _, _, ok := parse(p.Secret); !ok || s.deps.Settings.Current().DisablePersonalAccessTokens {
		return nil, access.Credential{}, nil
	}
	u, b, err := s.bearer(ctx, p)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, access.Credential{}, nil
	}
	if err != nil {
		return nil, access.Credential{}, err
	}
	now := s.deps.Clock.Now()
	if err := s.usable(ctx, &b, now, p); err != nil {
		return nil, access.Credential{}, err
	}
	if b.LastUsedAt == nil || now.Sub(*b.LastUsedAt) >= lastUsedEvery {
		s.lastUsed.token(b.TokenID, now)
	}
	return u, b.credential(), nil
}

// bearer reads a token with as much of its account as the request needs: the
// whole is wide, and costs as much as the rest of a small request.
func (s *Service) bearer(ctx context.Context, p access.Presented) (*user.User, bearer, error) {
	digest := s.digest(access.PersonalToken, p.Secret)
	if p.Account {
		row, err := postgres.One[struct {
			user.User
			bearer
		}](ctx, s.deps.DB, sqlBearerAccount, digest)
		return &row.User, row.bearer, err
	}
	row, err := postgres.One[struct {
		user.AccountState
		bearer
	}](ctx, s.deps.DB, sqlBearer, digest)
	return &user.User{AccountState: row.AccountState}, row.bearer, err
}

func (s *Service) usable(ctx context.Context, b *bearer, now time.Time, p access.Presented) error {
	switch {
	case expired(b.ExpiresAt, now):
		return fault.WithMessage(fault.TokenUnusable, "Token is expired. You can either do re-authorization or token refresh.")
	case b.RevokedAt != nil:
		if p.Rotates {
			family := b.TokenID
			if b.FamilyID != nil {
				family = *b.FamilyID
			}
			if err := s.revokeFamily(ctx, access.Actor{Address: p.Address}, b.TokenID, family); err != nil {
				return err
			}
		}
		return fault.WithMessage(fault.TokenUnusable, "Token was revoked. You have to re-authorize from the user.")
	case b.Impersonation && !s.deps.Impersonation:
		return fault.WithMessage(fault.TokenUnusable, "Token is an impersonation token but impersonation was disabled.")
	}
	return nil
}

// Sudo lets an administrator act as someone else.
func (s *Service) Sudo(ctx context.Context, a access.Actor, target string) (access.Actor, error) {
	switch kind := a.Credential.Kind; {
	case !a.SignedIn():
		return access.Actor{}, fault.New(fault.Unauthenticated)
	case !a.Admin():
		return access.Actor{}, fault.WithReason(fault.Forbidden, "Must be admin to use sudo")
	case kind != access.PersonalToken && kind != access.OAuthToken:
		return access.Actor{}, fault.WithReason(fault.Forbidden, "Must be authenticated using an OAuth or Personal Access Token to use sudo")
	case !a.Credential.Scopes.Has(access.ScopeSudo):
		return access.Actor{}, access.InsufficientScope(access.ScopeSudo)
	}
	unknown := fault.NotFoundf("User with ID or username '%s'", target)
	if !utf8.ValidString(target) || strings.IndexByte(target, 0) >= 0 {
		return access.Actor{}, unknown
	}
	u, err := s.deps.Users.FindByRef(ctx, target)
	if fault.Is(err, fault.NotFound) {
		return access.Actor{}, unknown
	}
	if err != nil {
		return access.Actor{}, err
	}
	if err := s.refusal(u, s.deps.Clock.Now()); err != nil {
		return access.Actor{}, err
	}
	a.Sudoer, a.Person, a.Account = a.Person, s.person(u, a.Credential), u
	return a, nil
}
