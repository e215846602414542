package errortracking

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// SweepArgs asks for what is too old to be removed.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "error_tracking_sweep" }

const (
	sweepEvery = time.Hour
	// sweepBatch keeps each statement, and the locks that it takes, short.
	sweepBatch = 1000
	// sweepErrors is how many errors go at once, each with what belongs to it: up to some 10,000 rows.
	sweepErrors = 20
)

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ SweepArgs) error { return s.Sweep(ctx) })
	r.Every(sweepEvery, SweepArgs{})
}

// Sweep removes events and counts that are older than the retention, and errors that did not happen since.
func (s *Service) Sweep(ctx context.Context) error {
	oldest := s.deps.Clock.Now().Add(-retention)
	for _, sql := range []string{sqlSweepEvents, sqlSweepHours, sqlSweepEventIDs} {
		if err := s.deps.DB.InBatches(ctx, sweepBatch, sql, oldest); err != nil {
			return err
		}
	}
	for {
		more, err := s.sweepErrors(ctx, oldest)
		if err != nil || !more {
			return err
		}
	}
}

// sweepErrors removes some errors of one project.
func (s *Service) sweepErrors(ctx context.Context, oldest time.Time) (more bool, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		projectID, err := postgres.Value[int64](ctx, tx, sqlOldErrors, oldest, sweepErrors)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		gone, err := postgres.Value[int](ctx, tx, sqlSweepErrors, oldest, sweepErrors, projectID)
		more = gone > 0
		return err
	})
	return more, err
}
