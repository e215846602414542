package snippet

import (
	"context"
	"time"

	"stithy/internal/platform/jobqueue"
)

// SweepArgs asks for the removal of snippets whose first files never came.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "snippet_sweep" }

const (
	sweepEvery = 10 * time.Minute
	sweepBatch = 500
	// abandoned is when a snippet without files is taken for cut off. What was pushed is settled long before.
	abandoned = time.Hour
)

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ SweepArgs) error { return s.Sweep(ctx) })
	r.Every(sweepEvery, SweepArgs{})
}

// Sweep removes snippets whose first files never came.
func (s *Service) Sweep(ctx context.Context) error {
	return s.deps.DB.InBatches(ctx, sweepBatch, sqlAbandoned, s.deps.Clock.Now().Add(-abandoned))
}
