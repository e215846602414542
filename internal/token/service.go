package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB            *postgres.DB
	Bus           *bus.Bus
	Box           *secretbox.Box
	Settings      *setting.Service
	Users         *user.Service
	Clock         clock.Clock
	Log           *slog.Logger
	ExternalURL   *url.URL
	Names         wire.Names
	OAuth         Resolver // of tokens of other applications
	Jobs          Resolver // of tokens of running CI jobs
	Impersonation bool     // impersonation tokens work
}

// Service is the use cases of tokens and sessions.
type Service struct {
	deps      Deps
	baseURL   string
	title     string
	resolvers map[access.Kind]resolve
	lastUsed  lastUsed
}

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d), baseURL: d.ExternalURL.String(), title: d.Names.Text()}
	s.resolvers = map[access.Kind]resolve{
		access.PersonalToken: s.personal, access.Session: s.session, access.OAuthToken: d.OAuth.Bearer, access.JobToken: d.Jobs.Bearer,
	}
	return s
}

// Find reads a token by id.
func (s *Service) Find(ctx context.Context, id int64) (Token, error) {
	t, err := postgres.One[Token](ctx, s.deps.DB, sqlFind, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return t, fault.New(fault.NotFound)
	}
	return t, err
}

// errNotPermitted refuses a token to an account that must not have one.
var errNotPermitted = fault.WithMessage(fault.Unprocessable, "Not permitted to create")

// Create makes a token for an account and returns its secret, which is not
// kept. An actor without a credential is the operator at the machine itself.
func (s *Service) Create(ctx context.Context, by access.Actor, userID int64, d Draft) (t Token, secret secretbox.Secret, err error) {
	owner, err := s.deps.Users.Find(ctx, userID)
	if err != nil {
		return Token{}, "", err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, secret, err = s.CreateIn(ctx, tx, by, owner, d)
		return err
	})
	return t, secret, err
}

// CreateIn is Create as part of a larger change, which may have made the
// account, too.
func (s *Service) CreateIn(ctx context.Context, tx pgx.Tx, by access.Actor, owner *user.User, d Draft) (Token, secretbox.Secret, error) {
	if !mayReceive(owner) || (by.Is(owner.ID) && owner.Kind == user.ProjectBot) {
		return Token{}, "", errNotPermitted
	}
	latest, err := s.latestFor(ctx, tx, by, owner)
	if err != nil {
		return Token{}, "", err
	}
	if d.ExpiresAt != nil {
		d.ExpiresAt = new(midnight(*d.ExpiresAt))
	} else if !d.Impersonation {
		d.ExpiresAt = &latest
	}
	if err := d.check(owner, latest); err != nil {
		return Token{}, "", err
	}
	if err := checkPower(by.Credential, d.Scopes); err != nil {
		return Token{}, "", err
	}
	secret := s.newSecret()
	t, err := s.insert(ctx, tx, by, secret, owner.ID, d, nil)
	if err != nil {
		return Token{}, "", err
	}
	return t, secret, s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, Token: t, Username: owner.Username, Name: owner.Name})
}

// latestFor is the last day on which a new token may expire. One that holds
// its maker's own power, as a bot does, or an administrator's, ends no later
// than the token that made it: a leaked token does not live on in its children.
func (s *Service) latestFor(ctx context.Context, tx pgx.Tx, by access.Actor, owner *user.User) (time.Time, error) {
	latest := latestExpiry(s.deps.Clock.Now(), s.deps.Settings.Current().MaxPersonalAccessTokenLifetime)
	if !owner.Admin && !by.Is(owner.ID) && owner.Kind != user.ProjectBot {
		return latest, nil
	}
	switch by.Credential.Kind {
	case access.NoCredential, access.Session:
		return latest, nil
	case access.PersonalToken:
		expiry, err := postgres.Value[*time.Time](ctx, tx, sqlExpiry, by.Credential.ID)
		if expiry != nil {
			latest = earlier(latest, *expiry)
		}
		return latest, err
	}
	return latest, errNotPermitted // it lives for hours, and a token counts in days
}

func (s *Service) newSecret() secretbox.Secret {
	return newSecret(s.deps.Settings.Current().PersonalAccessTokenPrefix)
}

// insert writes a token; replaces is the one whose place it takes, if any.
func (s *Service) insert(ctx context.Context, tx pgx.Tx, by access.Actor, secret secretbox.Secret, userID int64, d Draft, replaces *Token) (Token, error) {
	var replacesID, familyID, madeBy *int64
	if replaces != nil {
		replacesID, familyID = &replaces.ID, replaces.FamilyID
		if familyID == nil {
			familyID = &replaces.ID
		}
	}
	if by.SignedIn() {
		madeBy = new(by.ID())
	}
	var scopes access.Scopes
	for _, scope := range d.Scopes {
		if !scopes.Has(scope) {
			scopes = append(scopes, scope)
		}
	}
	return postgres.One[Token](ctx, tx, sqlInsert, userID, d.Name, s.digest(access.PersonalToken, secret.Reveal()), scopes,
		d.Impersonation, d.ExpiresAt, replacesID, familyID, madeBy, s.deps.Clock.Now())
}

func (s *Service) digest(kind access.Kind, secret string) []byte {
	return s.deps.Box.Digest(string(kind), secret)
}

// owned is a token and whose it is.
type owned struct {
	Token
	OwnerUsername string
	OwnerName     string
}

func (s *Service) lock(ctx context.Context, tx pgx.Tx, id int64) (owned, error) {
	o, err := postgres.One[owned](ctx, tx, sqlLock, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return o, fault.New(fault.NotFound)
	}
	return o, err
}

// Rotate puts a new token in the place of an old one, which is revoked. The
// new one has the same powers and a secret of its own. Of several rotations of
// one token exactly one succeeds.
func (s *Service) Rotate(ctx context.Context, by access.Actor, id int64, expiresAt *time.Time) (Token, secretbox.Secret, error) {
	now := s.deps.Clock.Now()
	latest := latestExpiry(now, s.deps.Settings.Current().MaxPersonalAccessTokenLifetime)
	if expiresAt == nil {
		expiresAt = new(earlier(midnight(now).AddDate(0, 0, rotatedLifetime), latest))
	}
	if expiresAt.After(latest) {
		return Token{}, "", fault.Field("expires_at", "must be before %s", latest.Format(time.DateOnly))
	}
	var t Token
	secret := s.newSecret()
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockFamily, id); err != nil {
			return err
		}
		old, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if old.RevokedAt != nil {
			return fault.WithReason(fault.Rejected, "token already revoked")
		}
		if err := checkPower(by.Credential, old.Scopes); err != nil {
			return err
		}
		d := Draft{Name: old.Name, Scopes: old.Scopes, ExpiresAt: expiresAt, Impersonation: old.Impersonation}
		if t, err = s.insert(ctx, tx, by, secret, old.UserID, d, &old.Token); err != nil {
			return err
		}
		if err := s.revoke(ctx, tx, by, old, fmt.Sprintf(", replaced by %d", t.ID)); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{
			Action: Created, By: by, Token: t, Username: old.OwnerUsername, Name: old.OwnerName,
			Why: fmt.Sprintf(" in place of %d", old.ID),
		})
	})
	return t, secret, err
}

// Revoke ends a token; one that has ended stays as it is.
func (s *Service) Revoke(ctx context.Context, by access.Actor, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.RevokeIn(ctx, tx, by, id) })
}

// RevokeIn is Revoke as part of a larger change.
func (s *Service) RevokeIn(ctx context.Context, tx pgx.Tx, by access.Actor, id int64) error {
	t, err := s.lock(ctx, tx, id)
	if err != nil || t.RevokedAt != nil {
		return err
	}
	return s.revoke(ctx, tx, by, t, "")
}

func (s *Service) revoke(ctx context.Context, tx pgx.Tx, by access.Actor, t owned, why string) error {
	if _, err := tx.Exec(ctx, sqlRevoke, t.ID, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, Event{
		Action: Revoked, By: by, Token: t.Token, Username: t.OwnerUsername, Name: t.OwnerName, Why: why,
	})
}

// revokeFamily ends the token that took the place of one that is presented
// again: one of the two holders stole it, and nobody knows which.
func (s *Service) revokeFamily(ctx context.Context, by access.Actor, reusedID, familyID int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockFamily, reusedID); err != nil {
			return err
		}
		id, err := postgres.Value[int64](ctx, tx, sqlNewestActive, familyID, midnight(s.deps.Clock.Now()))
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		t, err := s.lock(ctx, tx, id)
		if err != nil || t.RevokedAt != nil {
			return err
		}
		return s.revoke(ctx, tx, by, t, fmt.Sprintf(": its predecessor %d was presented again", reusedID))
	})
}
