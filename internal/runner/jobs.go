package runner

import (
	"context"
	"time"

	"stithy/internal/platform/jobqueue"
)

// SweepArgs asks to forget machines that were not seen for long.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "runner_machine_sweep" }

const (
	forgotten  = 7 * 24 * time.Hour
	sweepBatch = 1000
)

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ SweepArgs) error { return s.Sweep(ctx) })
	r.Every(24*time.Hour, SweepArgs{})
}

// Sweep forgets machines that were not seen for a week: those that are made
// for one job each would else pile up.
func (s *Service) Sweep(ctx context.Context) error {
	return s.deps.DB.InBatches(ctx, sweepBatch, sqlForgetOld, s.deps.Clock.Now().Add(-forgotten))
}
