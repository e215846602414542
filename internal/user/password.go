package user

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// Login is an account as it is looked up by what its owner types, with the
// hash that their password is held against.
type Login struct {
	User
	PasswordHash *string
}

// FindLogin finds the account that a username or an address belongs to. It
// returns nil for what nobody has. An address that was not confirmed belongs
// to nobody, the primary one aside: its owner is told to confirm it.
func (s *Service) FindLogin(ctx context.Context, login string) (*Login, error) {
	login = strings.TrimSpace(login)
	sql, key := sqlLoginByUsername, login
	if strings.Contains(login, "@") {
		_, normal, ok := parseAddress(login)
		if !ok {
			return nil, nil
		}
		sql, key = sqlLoginByAddress, normal
	}
	l, err := postgres.One[Login](ctx, s.deps.DB, sql, key)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, nil
	}
	return &l, err
}

// CheckPassword tells whether a password is the account's. Without an account
// it costs the same time, so that the answer does not tell whether there is one.
func (s *Service) CheckPassword(ctx context.Context, l *Login, password secretbox.Secret) (bool, error) {
	hash := ""
	if l != nil && l.PasswordHash != nil && l.Kind == Human {
		hash = *l.PasswordHash
	}
	return s.deps.Hasher.Verify(ctx, hash, password)
}

// CheckOwnPassword tells whether a password is that of an account that is
// signed in already.
func (s *Service) CheckOwnPassword(ctx context.Context, id int64, password secretbox.Secret) (bool, error) {
	l, err := postgres.One[Login](ctx, s.deps.DB, sqlLoginByID, id)
	if err != nil {
		return false, err
	}
	return s.CheckPassword(ctx, &l, password)
}

// SignedIn takes note of a sign-in that check allows; it sees the account as it
// stands now. Who comes back after a long time is active again; any other state
// stays as it is, for an administrator set it.
func (s *Service) SignedIn(ctx context.Context, tx pgx.Tx, id int64, from netip.Addr, check func(*User) error) error {
	u, err := s.lock(ctx, tx, id)
	if err != nil {
		return err
	}
	if err := check(u); err != nil {
		return err
	}
	var address *string
	if from.IsValid() {
		address = new(from.String())
	}
	if _, err := tx.Exec(ctx, sqlSignedIn, u.ID, s.deps.Clock.Now(), address); err != nil {
		return err
	}
	if u.State != Deactivated {
		return nil
	}
	if _, err := tx.Exec(ctx, sqlSetState, u.ID, Active, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, Event{Action: WasActivated, By: access.Actor{Person: u.Person(), Address: from}, User: u})
}

// Lock marks an account whose password was guessed at too often; Unlock takes
// the mark away from one that was marked before a moment.
func (s *Service) Lock(ctx context.Context, tx pgx.Tx, id int64) error {
	_, err := tx.Exec(ctx, sqlLockOut, id, s.deps.Clock.Now())
	return err
}

// Unlock is the other half of Lock.
func (s *Service) Unlock(ctx context.Context, q postgres.Querier, id int64, markedBefore time.Time) error {
	_, err := q.Exec(ctx, sqlUnlock, id, markedBefore)
	return err
}

// LiftLock lets an account in again that took no more passwords. The rooms above forget what they counted.
func (s *Service) LiftLock(ctx context.Context, by access.Actor, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, id)
		if err != nil || u.LockedAt == nil {
			return err
		}
		if err := s.Unlock(ctx, tx, u.ID, *u.LockedAt); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: WasUnlocked, By: by, User: u})
	})
}

// Administrators lists the people who look after the instance and can sign in, those seen last first.
func (s *Service) Administrators(ctx context.Context, limit int) ([]int64, error) {
	return postgres.Values[int64](ctx, s.deps.DB, sqlAdministrators, Human, Active, limit)
}

// CountPending counts the accounts that wait for approval, up to a limit.
func (s *Service) CountPending(ctx context.Context, limit int) (int, error) {
	return postgres.Value[int](ctx, s.deps.DB, sqlCountPending, Pending, limit)
}

// SetPassword gives an account the password that its owner chose, and ends
// every session. first runs in the same transaction, before.
func (s *Service) SetPassword(ctx context.Context, by access.Actor, id int64, password secretbox.Secret, first func(tx pgx.Tx) error) error {
	hash, err := s.hashNew(ctx, Attributes{Password: &password})
	if err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := first(tx); err != nil {
			return err
		}
		u, err := s.lockPerson(ctx, tx, id)
		if err != nil {
			return err
		}
		var f fault.Fields
		if checkPassword(password, u, s.deps.Settings.Current().MinimumPasswordLength, &f); f.Err() != nil {
			return f.Err()
		}
		if _, err := tx.Exec(ctx, sqlSetPassword, u.ID, hash, nil); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: PasswordChanged, By: by, User: u})
	})
}

// EnableTwoFactor takes note that an account has a second factor.
func (s *Service) EnableTwoFactor(ctx context.Context, tx pgx.Tx, by access.Actor, id int64) error {
	return s.setTwoFactor(ctx, tx, by, id, true, TwoFactorEnabled)
}

// GiveUpTwoFactor takes the second factor off the actor's own account.
func (s *Service) GiveUpTwoFactor(ctx context.Context, tx pgx.Tx, by access.Actor) error {
	return s.setTwoFactor(ctx, tx, by, by.ID(), false, TwoFactorDisabled)
}

func (s *Service) setTwoFactor(ctx context.Context, tx pgx.Tx, by access.Actor, id int64, enabled bool, what Action) error {
	u, err := s.lockPerson(ctx, tx, id)
	if err != nil || u.TwoFactorEnabled == enabled {
		return err
	}
	if _, err := tx.Exec(ctx, sqlSetTwoFactor, u.ID, enabled, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, Event{Action: what, By: by, User: u})
}

// Unconfirmed lists the addresses of an account that nobody has proved yet, as
// they are stored. The primary one comes first.
func (s *Service) Unconfirmed(ctx context.Context, id int64) ([]string, error) {
	return postgres.Values[string](ctx, s.deps.DB, sqlUnconfirmed, id)
}

// ConfirmAddress takes note that the owner of an account reads mail at an
// address. One that was to become the primary address does so now.
func (s *Service) ConfirmAddress(ctx context.Context, tx pgx.Tx, by access.Actor, id int64, address string) error {
	u, err := s.lockPerson(ctx, tx, id)
	if err != nil {
		return err
	}
	now := s.deps.Clock.Now()
	_, normal, _ := parseAddress(address)
	if _, primary, _ := parseAddress(u.Email); primary == normal {
		_, err := tx.Exec(ctx, sqlConfirmPrimary, u.ID, now)
		return err
	}
	tag, err := tx.Exec(ctx, sqlConfirmSecondary, u.ID, normal, now)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return fault.NotFoundf("Email") // it was given up meanwhile
	}
	if u.UnconfirmedEmail == nil {
		return nil
	}
	if _, waiting, _ := parseAddress(*u.UnconfirmedEmail); waiting != normal {
		return nil
	}
	before := *u
	var f fault.Fields
	u.UpdatedAt = now
	if err := s.changeEmail(ctx, tx, u, Attributes{Email: u.UnconfirmedEmail}, &f); err != nil {
		return err
	}
	if err := f.Err(); err != nil {
		return err
	}
	if err := s.write(ctx, tx, u); err != nil {
		return err
	}
	if err := s.deps.Bus.Publish(ctx, tx, Updated{By: by, Before: &before, After: u}); err != nil {
		return err
	}
	return s.publishChanges(ctx, tx, by, &before, u, false)
}
