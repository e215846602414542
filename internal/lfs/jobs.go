package lfs

import (
	"context"
	"time"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// SweepArgs asks to take away bytes that no project has had for a while.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "lfs_sweep" }

// perSweep caps what one run removes.
const perSweep = 1000

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.sweep)
	r.Every(24*time.Hour, SweepArgs{})
}

// sweep removes bytes and then their rows. Whoever uploads an object that is
// marked is told to come back, so that no new bytes are taken for old ones.
func (s *Service) sweep(ctx context.Context, _ SweepArgs) error {
	condemned, err := postgres.All[Object](ctx, s.deps.DB, sqlCondemn, s.deps.Clock.Now().Add(-grace), perSweep)
	if err != nil {
		return err
	}
	for _, o := range condemned {
		if err := s.deps.Blobs.Delete(ctx, o.key()); err != nil {
			return err
		}
		if _, err := s.deps.DB.Exec(ctx, sqlForget, o.OID); err != nil {
			return err
		}
	}
	return nil
}
