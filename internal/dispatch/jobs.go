package dispatch

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/pipeline"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// TendArgs asks to end jobs that nothing is heard of any more.
type TendArgs struct{}

// Kind names the job.
func (TendArgs) Kind() string { return "dispatch_tend" }

// SweepArgs asks to forget runs and queues that are long gone.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "dispatch_sweep" }

const (
	tendEvery  = time.Minute
	sweepEvery = time.Hour
	perRound   = 500         // how many of a kind one run sees to
	settled    = time.Minute // how long a transaction may take to be seen whole
)

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.tend)
	jobqueue.Register(r, s.sweep)
	r.Every(tendEvery, TendArgs{})
	r.Every(sweepEvery, SweepArgs{})
}

// tend ends what waits or runs for too long. Each job is a transaction of its
// own: what one run leaves, the next finds.
func (s *Service) tend(ctx context.Context, _ TendArgs) error {
	now := s.deps.Clock.Now()
	runs, err := postgres.All[struct {
		JobID                            int64
		StartedAt, ContactedAt, Deadline time.Time
	}](ctx, s.deps.DB, sqlLapsed, now.Add(-unheardAtMost), now.Add(-silentAtMost), now, perRound)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if why := lapse(r.StartedAt, r.ContactedAt, r.Deadline, now); why != "" {
			if err := s.drop(ctx, r.JobID, why); err != nil {
				return err
			}
		}
	}
	for _, check := range []struct {
		sql  string
		args []any
		why  pipeline.Reason
	}{
		{sqlStuck, []any{now.Add(-pendingAtMost), now.Add(-pendingNobody), now.Add(-onlineWithin), perRound}, pipeline.StuckOrTimeout},
		{sqlLateSchedules, []any{now.Add(-scheduleOverdue), perRound}, pipeline.StaleSchedule},
	} {
		ids, err := postgres.Values[int64](ctx, s.deps.DB, check.sql, check.args...)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := s.drop(ctx, id, check.why); err != nil {
				return err
			}
		}
	}
	return s.mend(ctx, now)
}

// mend compares the queue with the jobs. Both are written in one transaction,
// so it finds nothing unless somebody changed rows by hand.
func (s *Service) mend(ctx context.Context, now time.Time) error {
	if _, err := s.deps.DB.Exec(ctx, sqlStray, now.Add(-settled), perRound); err != nil {
		return err
	}
	lost, err := postgres.All[struct {
		ID        int64
		ProjectID int64
		Tags      []string
		Ref       string
		Tag       bool
	}](ctx, s.deps.DB, sqlLost, now.Add(-settled), perRound)
	if err != nil {
		return err
	}
	for _, j := range lost {
		err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			protected, err := s.deps.Protection.ProtectedRef(ctx, tx, j.ProjectID, j.Ref, j.Tag)
			if err != nil {
				return err
			}
			return s.pending.enqueue(ctx, tx, j.ID, j.ProjectID, j.Tags, protected)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweep forgets the runs of jobs that ended a while ago, and queues that nobody
// has stood in for as long.
func (s *Service) sweep(ctx context.Context, _ SweepArgs) error {
	before := s.deps.Clock.Now().Add(-runsKept)
	for _, sql := range []string{sqlForgetRuns, sqlDropQueues} {
		if err := s.deps.DB.InBatches(ctx, perRound, sql, before); err != nil {
			return err
		}
	}
	return nil
}
