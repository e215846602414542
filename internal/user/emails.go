package user

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Email is a secondary address of an account.
type Email struct {
	ID          int64
	UserID      int64
	Email       string
	Address     string // in its normal form
	ConfirmedAt *time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// ModifiedAt lets a client delete only what it has seen.
func (e Email) ModifiedAt() time.Time { return e.UpdatedAt }

var errSecondaryTaken = fault.Field("email", "has already been taken")

// Emails lists the secondary addresses of an account.
func (s *Service) Emails(ctx context.Context, userID int64, page paging.Request) (paging.Result[Email], error) {
	l := postgres.From("emails e").Columns(emailColumns).Where("e.user_id = ?", userID).Order(postgres.Key{Expr: "e.id"})
	return paging.Fetch[Email](ctx, s.deps.DB, l, page, nil)
}

// FindEmail reads a secondary address of an account.
func (s *Service) FindEmail(ctx context.Context, userID, id int64) (Email, error) {
	return readEmail(ctx, s.deps.DB, userID, id)
}

func readEmail(ctx context.Context, q postgres.Querier, userID, id int64) (Email, error) {
	e, err := postgres.One[Email](ctx, q, sqlEmail, userID, id)
	if errors.Is(err, postgres.ErrNoRows) {
		return Email{}, fault.NotFoundf("Email")
	}
	return e, err
}

// AddEmail claims a secondary address for an account. Only an administrator
// may say that it is confirmed.
func (s *Service) AddEmail(ctx context.Context, by access.Actor, userID int64, address string, confirmed bool) (Email, error) {
	email, normal, ok := parseAddress(address)
	if !ok {
		return Email{}, fault.Field("email", "is invalid")
	}
	now := s.deps.Clock.Now()
	var confirmedAt *time.Time
	if confirmed {
		confirmedAt = &now
	}
	var e Email
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lockPerson(ctx, tx, userID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlClaimAddress, normal, u.ID); err != nil {
			return postgres.Faults{"email_claims_pkey": errSecondaryTaken}.Translate(err)
		}
		if e, err = postgres.One[Email](ctx, tx, sqlInsertEmail, u.ID, email, normal, confirmedAt, now); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: EmailAdded, By: by, User: u, Message: "Added email address " + email})
	})
	return e, err
}

// RemoveEmail gives a secondary address up, and wherever the account still
// used it.
func (s *Service) RemoveEmail(ctx context.Context, by access.Actor, userID, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, userID)
		if err != nil {
			return err
		}
		e, err := readEmail(ctx, tx, u.ID, id)
		if err != nil {
			return err
		}
		if e.is(u.Email) {
			return fault.WithReason(fault.Rejected, "The primary email address cannot be deleted")
		}
		if _, err := tx.Exec(ctx, sqlReleaseAddress, e.Address, u.ID); err != nil {
			return err
		}
		if err := s.forgetAddress(ctx, tx, u, e); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: EmailRemoved, By: by, User: u, Message: "Removed email address " + e.Email})
	})
}

// HoldVerified finds an address, however it is spelled, among those that an account may be mailed at: the primary one, and the secondary ones that are
// confirmed. It returns its normal form, and keeps the account from giving it up until the transaction ends. It is empty for any other address.
func HoldVerified(ctx context.Context, tx pgx.Tx, userID int64, address string) (string, error) {
	_, normal, ok := parseAddress(address)
	if !ok {
		return "", nil
	}
	held, err := postgres.One[struct {
		Primary   string
		Confirmed bool
	}](ctx, tx, sqlHoldAddress, userID, normal)
	if errors.Is(err, postgres.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if _, primary, _ := parseAddress(held.Primary); primary != normal && !held.Confirmed {
		return "", nil
	}
	return normal, nil
}

// forgetAddress stops showing, committing with and waiting for an address.
func (s *Service) forgetAddress(ctx context.Context, tx pgx.Tx, u *User, e Email) error {
	shown, commits, waiting := e.is(u.PublicEmail), e.is(u.CommitEmail), u.UnconfirmedEmail != nil && e.is(*u.UnconfirmedEmail)
	if !shown && !commits && !waiting {
		return nil
	}
	if shown {
		u.PublicEmail = ""
	}
	if commits {
		u.CommitEmail = ""
	}
	if waiting {
		u.UnconfirmedEmail = nil
	}
	u.UpdatedAt = s.deps.Clock.Now()
	_, err := tx.Exec(ctx, sqlForgetAddress, u.ID, u.PublicEmail, u.CommitEmail, u.UnconfirmedEmail, u.UpdatedAt)
	return err
}

// is reports whether another spelling means the same address.
func (e Email) is(address string) bool {
	_, normal, ok := parseAddress(address)
	return ok && normal == e.Address
}
