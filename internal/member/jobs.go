package member

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// ExpireArgs asks for the removal of what has expired.
type ExpireArgs struct{}

// Kind names the job.
func (ExpireArgs) Kind() string { return "member_expire" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ ExpireArgs) error { return s.Expire(ctx) })
	r.Every(24*time.Hour, ExpireArgs{})
}

// expireBatch is how many rows one transaction removes.
const expireBatch = 200

// expired is a row that is about to go.
type expired struct {
	RowID int64
	bus.Entity
	UserID      int64 // of the person, or of the group that was let in
	Details     string
	AccessLevel access.Role
}

// Expire removes the memberships and shares that have expired. They stopped
// counting on their day; this only tidies up and tells the trail.
func (s *Service) Expire(ctx context.Context) error {
	members := func(e expired) bus.Event {
		return Event{What: Destroyed, Source: e.Entity, UserID: e.UserID, Name: e.Details, Level: e.AccessLevel}
	}
	shares := func(e expired) bus.Event {
		what := ProjectUnshared
		if e.Kind == bus.OfGroup {
			what = GroupUnshared
		}
		return ShareEvent{What: what, Source: e.Entity, GroupID: e.UserID, Name: e.Details, Level: e.AccessLevel}
	}
	if err := s.expire(ctx, sqlExpired, sqlDeleteRows, members); err != nil {
		return err
	}
	return s.expire(ctx, sqlExpiredShares, sqlDeleteShares, shares)
}

func (s *Service) expire(ctx context.Context, find, remove string, tell func(expired) bus.Event) error {
	for n := expireBatch; n == expireBatch; {
		err := s.DB.InTx(ctx, func(tx pgx.Tx) error {
			rows, err := postgres.All[expired](ctx, tx, find, s.today(), expireBatch)
			if err != nil {
				return err
			}
			n = len(rows)
			ids := make([]int64, n)
			for i, row := range rows {
				ids[i] = row.RowID
				if err := s.Bus.Publish(ctx, tx, tell(row)); err != nil {
					return err
				}
			}
			_, err = tx.Exec(ctx, remove, ids)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
