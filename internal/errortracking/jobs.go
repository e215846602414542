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
	for _, sql := range []string{sqlSweepHours, sqlSweepEventIDs} {
		if err := s.deps.DB.InBatches(ctx, sweepBatch, sql, oldest); err != nil {
			return err
		}
	}
	if err := s.sweepProjects(ctx, sqlOldEvents, oldest, sweepBatch, func(tx pgx.Tx, projectID int64) (int, error) {
		return postgres.Value[int](ctx, tx, sqlSweepEvents, oldest, sweepBatch, projectID)
	}); err != nil {
		return err
	}
	return s.sweepProjects(ctx, sqlOldErrors, oldest, sweepErrors, func(tx pgx.Tx, projectID int64) (int, error) {
		return removeErrors(ctx, tx, projectID, oldest, sweepErrors, nil)
	})
}

// sweepProjects removes what is old, a batch of one project at a time, until nothing is found. Its settings are held, as what is kept is counted there.
func (s *Service) sweepProjects(ctx context.Context, sqlFind string, oldest time.Time, most int, remove func(pgx.Tx, int64) (int, error)) error {
	for gone := 1; gone > 0; {
		err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			projectID, err := postgres.Value[int64](ctx, tx, sqlFind, oldest, most)
			if errors.Is(err, postgres.ErrNoRows) {
				gone = 0
				return nil
			}
			if err == nil {
				gone, err = remove(tx, projectID)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeErrors removes errors of a project that did not happen since a moment, the oldest first, with all that belongs to them.
func removeErrors(ctx context.Context, tx pgx.Tx, projectID int64, since time.Time, most int, except []int64) (int, error) {
	return postgres.Value[int](ctx, tx, sqlRemoveErrors, since, most, projectID, append([]int64{}, except...))
}
