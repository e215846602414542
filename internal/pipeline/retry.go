package pipeline

import (
	"context"
	"slices"

	"stithy/internal/platform/postgres"
)

// neverAgain are failures that another try cannot mend.
var neverAgain = []Reason{QuotaExceeded, NoMatchingRunner, MissingDependency, ForwardDeployment, EnvironmentFailure}

// schedulerRetries is how often a job starts again that failed before it ran,
// through no fault of its own.
const schedulerRetries = 2

// triesAgain reports whether a job that failed starts again by itself.
func (s *Spec) triesAgain(j *Job, why Reason) bool {
	if slices.Contains(neverAgain, why) {
		return false
	}
	r := s.Job.Retry
	if r.Max == 0 && why == SchedulerFailure {
		return j.Retries < schedulerRetries
	}
	if int(j.Retries) >= r.Max {
		return false
	}
	if len(r.When) == 0 && len(r.ExitCodes) == 0 {
		return true
	}
	return slices.Contains(r.When, "always") || slices.Contains(r.When, string(why)) ||
		(j.ExitCode != nil && slices.Contains(r.ExitCodes, int(*j.ExitCode)))
}

// forgives reports whether a failure does not count.
func (s *Spec) forgives(j *Job) bool {
	a := s.Job.AllowFailure
	if len(a.ExitCodes) == 0 {
		return a.Allowed
	}
	return j.ExitCode != nil && slices.Contains(a.ExitCodes, int(*j.ExitCode))
}

// drop fails a job, lets it start again if that was asked for, and settles.
func (t *lockedPipeline) drop(ctx context.Context, j *Job, why Reason) error {
	if !why.Known() {
		why = UnknownFailure
	}
	if err := t.fail(j, why); err != nil {
		return err
	}
	spec, err := t.s.SpecOf(ctx, t.tx, j)
	if err != nil {
		return err
	}
	j.AllowFailure = spec.forgives(j)
	if spec.triesAgain(j, why) {
		if _, err := t.again(ctx, j, j.UserID); err != nil {
			return err
		}
	} else if t.pipeline.FailFast && !j.AllowFailure {
		t.cancelAll()
	}
	return t.settle(ctx)
}

// again puts a new record in the place of a job that has ended, and lets it
// run. Files and log stay with the old one.
func (t *lockedPipeline) again(ctx context.Context, old *Job, userID *int64) (*Job, error) {
	j, err := t.copy(ctx, old, userID)
	if err != nil {
		return nil, err
	}
	if err := t.enqueue(j); err != nil {
		return nil, err
	}
	return j, t.reopen(j.ID)
}

// copy puts a new record in the place of a job, which is decided anew.
func (t *lockedPipeline) copy(ctx context.Context, old *Job, userID *int64) (*Job, error) {
	spec, err := t.s.SpecOf(ctx, t.tx, old)
	if err != nil {
		return nil, err
	}
	a := spec.Job.AllowFailure
	row, err := postgres.One[Job](ctx, t.tx, sqlCopyJob, old.ID, userID, a.Allowed && len(a.ExitCodes) == 0, old.Retries+1, t.now)
	if err != nil {
		return nil, err
	}
	t.touch(old)
	old.Retried = true
	t.jobs[slices.Index(t.jobs, old)] = &row
	t.touch(&row)
	return &row, nil
}

// cancelAll cancels whatever of the pipeline has not ended. Jobs that wait for
// a person stay: nothing of them happens by itself.
func (t *lockedPipeline) cancelAll() {
	for _, j := range t.jobs {
		if j.Status == Created || j.Status == Scheduled || j.Status.Active() {
			_ = t.move(j, Cancel) // the table allows it from each of these
		}
	}
}
