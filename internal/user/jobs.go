package user

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// RemoveArgs names an account that is marked for removal.
type RemoveArgs struct {
	UserID int64 `json:"user_id"`
}

// Kind names the job.
func (RemoveArgs) Kind() string { return "user_remove" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.removeMarked)
}

// Remove marks an account and queues the job that takes it apart. From then
// on it is not found. Hard removal also deletes what the person made.
func (s *Service) Remove(ctx context.Context, by access.Actor, id int64, hard bool) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.RemoveIn(ctx, tx, by, id, hard) })
}

// RemoveIn is Remove as part of a larger change.
func (s *Service) RemoveIn(ctx context.Context, tx pgx.Tx, by access.Actor, id int64, hard bool) error {
	u, err := s.lock(ctx, tx, id)
	if err != nil {
		return err
	}
	return s.mark(ctx, tx, by, u, hard, Destroyed)
}

// Reject removes an account that waits for approval.
func (s *Service) Reject(ctx context.Context, by access.Actor, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		u, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if u.State != Pending {
			return fault.WithMessage(fault.Conflict, "User does not have a pending request")
		}
		return s.mark(ctx, tx, by, u, true, RejectedPending)
	})
}

func (s *Service) mark(ctx context.Context, tx pgx.Tx, by access.Actor, u *User, hard bool, what Action) error {
	if u.Kind.Internal() {
		return fault.WithReason(fault.Forbidden, "An internal user cannot be removed")
	}
	if err := s.deps.Bus.Publish(ctx, tx, Leaving{UserID: u.ID, Hard: hard}); err != nil {
		return err
	}
	removal := "soft"
	if hard {
		removal = "hard"
	}
	if _, err := tx.Exec(ctx, sqlMarkRemoval, u.ID, removal, s.deps.Clock.Now()); err != nil {
		return err
	}
	if err := s.deps.Queue.Insert(ctx, tx, RemoveArgs{UserID: u.ID}, jobqueue.Unique()); err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, Event{Action: what, By: by, User: u})
}

// removeMarked takes a marked account apart in one transaction: the rooms
// above hand over or delete what is theirs, then the row goes. It may run any
// number of times.
func (s *Service) removeMarked(ctx context.Context, args RemoveArgs) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		removal, err := postgres.Value[string](ctx, tx, sqlLockRemoval, args.UserID)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		ghost, err := s.ghost(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.deps.Bus.Publish(ctx, tx, Removing{UserID: args.UserID, GhostID: ghost, Hard: removal == "hard"}); err != nil {
			return err
		}
		if err := s.unfollow(ctx, tx, args.UserID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlDelete, args.UserID)
		return err
	})
}

// ghost is the account that keeps what deleted people left.
func (s *Service) ghost(ctx context.Context, tx pgx.Tx) (int64, error) {
	return s.own(ctx, tx, &User{
		AccountState: AccountState{Username: "ghost", Name: "Ghost User", Kind: Ghost},
		Bio:          "This is a \"Ghost User\", created to hold all issues authored by users that have since been deleted. This user cannot be removed.",
	})
}

// own is an account of the instance itself, of which there is one of a kind. It is made when
// it is first needed; two that make it at once agree on the one that is there.
func (s *Service) own(ctx context.Context, tx pgx.Tx, u *User) (int64, error) {
	id, err := postgres.Value[int64](ctx, tx, sqlOwnID, u.Kind)
	if !errors.Is(err, postgres.ErrNoRows) {
		return id, err
	}
	now, name := s.deps.Clock.Now(), u.Username
	u.Email, u.State, u.ConfirmedAt = name+"@noreply."+s.host, Active, new(now.Truncate(time.Second))
	u.ThemeID, u.ColorSchemeID, u.CreatedAt = 1, 1, now
	for suffix := range 10 {
		if suffix > 0 {
			u.Username = name + formatID(int64(suffix))
		}
		err = pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error { return s.insert(ctx, sp, u, nil, nil) })
		if !errors.Is(err, errUsernameTaken) {
			break
		}
	}
	if name, violated := postgres.Constraint(err); violated && (name == "users_ghost_key" || name == "users_alert_bot_key") {
		return postgres.Value[int64](ctx, tx, sqlOwnID, u.Kind)
	}
	return u.ID, err
}
