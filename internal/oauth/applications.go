package oauth

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
)

// mostListed bounds the lists of the room, which have no pages.
const mostListed = 1000

var errNoApplication = fault.NotFoundf("Application")

func found(a Application, err error) (*Application, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errNoApplication
	}
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// Find reads an application that the actor may manage: their own, or any if
// they administer.
func (s *Service) Find(ctx context.Context, by access.Actor, id int64) (*Application, error) {
	return managed(by)(found(postgres.One[Application](ctx, s.deps.DB, sqlApplication, id)))
}

func managed(by access.Actor) func(*Application, error) (*Application, error) {
	return func(a *Application, err error) (*Application, error) {
		if err == nil && !by.Admin() && (a.OwnerID == nil || !by.Is(*a.OwnerID)) {
			return nil, errNoApplication
		}
		return a, err
	}
}

// OfInstance lists the applications of the instance, oldest first.
func (s *Service) OfInstance(ctx context.Context) ([]Application, error) {
	return postgres.All[Application](ctx, s.deps.DB, sqlOfInstance, mostListed)
}

// OfOwner lists the applications that a person registered, oldest first.
func (s *Service) OfOwner(ctx context.Context, userID int64) ([]Application, error) {
	return postgres.All[Application](ctx, s.deps.DB, sqlOfOwner, userID, mostListed)
}

func (s *Service) newClientSecret() secretbox.Secret {
	return secretbox.Secret(s.deps.Names.TokenPrefix(wire.OAuthSecret)) + newSecret()
}

// Create registers an application and returns its secret, which is not kept.
// Without an owner it belongs to the instance.
func (s *Service) Create(ctx context.Context, by access.Actor, owner *int64, d Draft) (a *Application, secret secretbox.Secret, err error) {
	if err := s.mayRegister(by, owner, d); err != nil {
		return nil, "", err
	}
	if err := d.check(); err != nil {
		return nil, "", err
	}
	secret = s.newClientSecret()
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		a, err = found(postgres.One[Application](ctx, tx, sqlCreateApplication, newSecret().Reveal(), owner, d.Name,
			s.digest(secretKind, secret.Reveal()), d.RedirectURI, d.Scopes, d.Confidential, d.Trusted, s.deps.Clock.Now()))
		if err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, Application: *a})
	})
	return a, secret, err
}

// Own is an application of the instance itself: a part of it that asks people who they are, without asking whether they agree. Its id and secret follow from the
// key file, so that all nodes know them; it is made where it is not there.
func (s *Service) Own(ctx context.Context, name, redirectURI string, scopes access.Scopes) (Client, error) {
	uid := hex.EncodeToString(s.digest("oauth own id", name+" "+redirectURI))
	secret := hex.EncodeToString(s.digest("oauth own secret", uid))
	_, err := s.deps.DB.Exec(ctx, sqlOwnApplication, uid, name, s.digest(secretKind, secret), redirectURI, scopes, s.deps.Clock.Now())
	return Client{ID: uid, Secret: secretbox.Secret(secret)}, err
}

// mayRegister lets people register for themselves where the settings allow
// it; the rest is for administrators.
func (s *Service) mayRegister(by access.Actor, owner *int64, d Draft) error {
	switch {
	case by.Admin():
		return nil
	case owner == nil || !by.Is(*owner) || d.Trusted || !s.deps.Settings.Current().UserOAuthApplications:
		return fault.New(fault.Forbidden)
	}
	return nil
}

// Update changes an application. Tokens that it has keep their scopes.
func (s *Service) Update(ctx context.Context, by access.Actor, id int64, d Draft) (*Application, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return s.change(ctx, by, id, Updated, func(tx pgx.Tx, now time.Time, a *Application) (*Application, error) {
		if !by.Admin() {
			d.Trusted = a.Trusted
		}
		return found(postgres.One[Application](ctx, tx, sqlUpdateApplication, id, d.Name, d.RedirectURI, d.Scopes, d.Confidential, d.Trusted, now))
	})
}

// RenewSecret puts a new secret in the place of the old one.
func (s *Service) RenewSecret(ctx context.Context, by access.Actor, id int64) (*Application, secretbox.Secret, error) {
	secret := s.newClientSecret()
	a, err := s.change(ctx, by, id, SecretRenewed, func(tx pgx.Tx, now time.Time, _ *Application) (*Application, error) {
		return found(postgres.One[Application](ctx, tx, sqlRenewSecret, id, s.digest(secretKind, secret.Reveal()), now))
	})
	return a, secret, err
}

// Delete removes an application, and with it all that people granted it.
func (s *Service) Delete(ctx context.Context, by access.Actor, id int64) error {
	_, err := s.change(ctx, by, id, Deleted, func(tx pgx.Tx, _ time.Time, a *Application) (*Application, error) {
		_, err := tx.Exec(ctx, sqlDeleteApplication, id)
		return a, err
	})
	return err
}

func (s *Service) change(ctx context.Context, by access.Actor, id int64, what Action,
	do func(tx pgx.Tx, now time.Time, a *Application) (*Application, error),
) (a *Application, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if a, err = managed(by)(found(postgres.One[Application](ctx, tx, sqlLockApplication, id))); err != nil {
			return err
		}
		if a, err = do(tx, s.deps.Clock.Now(), a); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: what, By: by, Application: *a})
	})
	return a, err
}

// Grant is an application that acts for a person.
type Grant struct {
	ID      int64
	Name    string
	UID     string `db:"uid"`
	OwnerID *int64
	Since   time.Time
	Scopes  access.Scopes
}

// Authorized lists the applications that act for a person.
func (s *Service) Authorized(ctx context.Context, userID int64) ([]Grant, error) {
	return postgres.All[Grant](ctx, s.deps.DB, sqlAuthorized, userID, mostListed)
}

// Withdraw ends all that a person granted an application, at once.
func (s *Service) Withdraw(ctx context.Context, by access.Actor, u *user.User, applicationID int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		a, err := found(postgres.One[Application](ctx, tx, sqlApplication, applicationID))
		if err != nil {
			return err
		}
		if err := s.lock(ctx, tx, u.ID, &applicationID); err != nil {
			return err
		}
		now := s.deps.Clock.Now()
		if _, err := tx.Exec(ctx, sqlVoidCodes, u.ID, applicationID, now); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, sqlRevokeOf, u.ID, applicationID, now)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return errNoApplication
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Withdrawn, By: by, Application: *a, For: u})
	})
}
