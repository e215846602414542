package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
)

// lockedPipeline is a pipeline under its lock, with its latest jobs and what becomes of
// them. All that changes a status goes through one.
type lockedPipeline struct {
	s        *Service
	tx       pgx.Tx
	now      time.Time
	pipeline Pipeline
	was      Status           // the pipeline's, when it was locked
	jobs     []*Job           // the latest, by id
	before   map[int64]Status // of the jobs that changed; empty for new ones
	touched  []*Job           // in the order of their first change
}

// begin locks a pipeline.
func (s *Service) begin(ctx context.Context, tx pgx.Tx, pipelineID int64) (*lockedPipeline, error) {
	p, err := found(postgres.One[Pipeline](ctx, tx, sqlLockPipeline, pipelineID))
	if err != nil {
		return nil, err
	}
	jobs, err := postgres.All[Job](ctx, tx, sqlLatestJobs, pipelineID)
	if err != nil {
		return nil, err
	}
	t := &lockedPipeline{s: s, tx: tx, now: s.deps.Clock.Now(), pipeline: *p, was: p.Status, before: map[int64]Status{}}
	for i := range jobs {
		t.jobs = append(t.jobs, &jobs[i])
	}
	return t, nil
}

// beginOf locks the pipeline of a job. The job is nil when another record took
// its place.
func (s *Service) beginOf(ctx context.Context, tx pgx.Tx, jobID int64) (*lockedPipeline, *Job, error) {
	id, err := found(postgres.Value[int64](ctx, tx, sqlPipelineID, jobID))
	if err != nil {
		return nil, nil, err
	}
	t, err := s.begin(ctx, tx, *id)
	if err != nil {
		return nil, nil, err
	}
	return t, t.job(jobID), nil
}

func (t *lockedPipeline) job(id int64) *Job {
	i := slices.IndexFunc(t.jobs, func(j *Job) bool { return j.ID == id })
	if i < 0 {
		return nil
	}
	return t.jobs[i]
}

// touch notes that a job's row is to be written.
func (t *lockedPipeline) touch(j *Job) {
	if _, known := t.before[j.ID]; !known {
		t.before[j.ID] = j.Status
		t.touched = append(t.touched, j)
	}
	j.UpdatedAt = t.now
}

// move lets something happen to a job.
func (t *lockedPipeline) move(j *Job, e Event) error {
	to, err := Next(j.Status, e)
	if err != nil {
		return err
	}
	t.touch(j)
	j.Status = to
	if to != Scheduled {
		j.ScheduledAt = nil
	}
	switch to {
	case Pending:
		j.QueuedAt = new(t.now)
	case Running:
		if e == Run {
			j.StartedAt = new(t.now)
		}
		j.FinishedAt, j.FailureReason = nil, nil
	case Scheduled:
		j.ScheduledAt = new(t.now.Add(time.Duration(j.StartIn) * time.Second))
	case Success, Failed, Canceled:
		j.FinishedAt = new(t.now)
	}
	return nil
}

// enqueue lets a job run: now, or when its resource is free.
func (t *lockedPipeline) enqueue(j *Job) error {
	if j.ResourceGroupID != nil {
		return t.move(j, Await)
	}
	return t.move(j, Enqueue)
}

// fail ends a job.
func (t *lockedPipeline) fail(j *Job, why Reason) error {
	if err := t.move(j, Drop); err != nil {
		return err
	}
	j.FailureReason = new(why)
	return nil
}

func (t *lockedPipeline) nodes() []Node {
	nodes := make([]Node, len(t.jobs))
	for i, j := range t.jobs {
		nodes[i] = j.node()
	}
	return nodes
}

func (j *Job) node() Node {
	return Node{
		ID: j.ID, Name: j.Name, Stage: int(j.StageIndex), State: State{Status: j.Status, AllowFailure: j.AllowFailure}, When: j.RunWhen,
		Needs: j.Needs, Resource: j.ResourceGroupID != nil,
	}
}

// reopen decides anew about what was skipped after a job that runs again.
func (t *lockedPipeline) reopen(id int64) error {
	for _, c := range Reopened(t.nodes(), id) {
		if err := t.move(t.job(c.ID), c.Event); err != nil {
			return err
		}
	}
	return nil
}

// settle computes what follows, writes it and tells the other rooms.
func (t *lockedPipeline) settle(ctx context.Context) error {
	for _, c := range Advance(t.nodes()) {
		if err := t.move(t.job(c.ID), c.Event); err != nil {
			return err
		}
	}
	if err := t.assignResources(ctx); err != nil {
		return err
	}
	states := make([]State, len(t.jobs))
	for i, j := range t.jobs {
		states[i] = State{j.Status, j.AllowFailure}
		if j.StartedAt != nil && t.pipeline.StartedAt == nil {
			t.pipeline.StartedAt = j.StartedAt
		}
	}
	if status := Combine(states); status != "" {
		t.pipeline.Status = status
	}
	t.pipeline.UpdatedAt = t.now
	switch {
	case !t.pipeline.Status.Complete():
		t.pipeline.FinishedAt = nil
	case t.pipeline.FinishedAt == nil || !t.was.Complete():
		t.pipeline.FinishedAt = new(t.now)
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	return t.publish(ctx)
}

// assignResources gives free resources to jobs that came to wait for them, and
// takes them from jobs that have ended.
func (t *lockedPipeline) assignResources(ctx context.Context) error {
	byGroup := slices.Clone(t.touched)
	sorting.By(byGroup, func(a, b *Job) int { return int(deref(a.ResourceGroupID) - deref(b.ResourceGroupID)) })
	for _, j := range byGroup {
		if j.ResourceGroupID == nil {
			continue
		}
		switch was := t.before[j.ID]; {
		case j.Status == WaitingForResource:
			tag, err := t.tx.Exec(ctx, sqlTakeResource, *j.ResourceGroupID, j.ID)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				err = t.s.deps.Queue.Insert(ctx, t.tx, ServeArgs{GroupID: *j.ResourceGroupID}, jobqueue.Unique())
			} else {
				err = t.move(j, Enqueue)
			}
			if err != nil {
				return err
			}
		case j.Status.Complete() && was != "" && !was.Complete():
			if err := t.release(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// release frees the job's resource and inserts a background job (ServeArgs)
// that hands it to the next waiting CI job, which may be in another pipeline.
func (t *lockedPipeline) release(ctx context.Context, j *Job) error {
	if _, err := t.tx.Exec(ctx, sqlReleaseResource, *j.ResourceGroupID, j.ID); err != nil {
		return err
	}
	return t.s.deps.Queue.Insert(ctx, t.tx, ServeArgs{GroupID: *j.ResourceGroupID}, jobqueue.Unique())
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// write stores what changed, in one round trip.
func (t *lockedPipeline) write(ctx context.Context) error {
	var b pgx.Batch
	for _, j := range t.touched {
		b.Queue(sqlUpdateJob, j.ID, j.Status, j.FailureReason, j.ExitCode, j.AllowFailure, j.Retried, j.ScheduledAt, j.DownstreamID,
			j.RunnerID, j.Coverage, j.QueuedAt, j.StartedAt, j.FinishedAt, j.UpdatedAt, j.UserID)
	}
	p := t.pipeline
	b.Queue(sqlUpdatePipeline, p.ID, p.Status, p.StartedAt, p.FinishedAt, p.UpdatedAt)
	return t.tx.SendBatch(ctx, &b).Close()
}

// publish publishes the events and inserts the background jobs that follow from them.
func (t *lockedPipeline) publish(ctx context.Context) error {
	var lineage []int64
	var protected bool
	for _, j := range t.touched {
		was := t.before[j.ID]
		switch {
		case was == j.Status:
		case j.Bridge && j.Status == Pending:
			if err := t.s.deps.Queue.Insert(ctx, t.tx, BridgeArgs{JobID: j.ID}, jobqueue.Unique()); err != nil {
				return err
			}
		case j.Status == Scheduled:
			if err := t.s.deps.Queue.Insert(ctx, t.tx, DueArgs{JobID: j.ID}, jobqueue.Unique(), jobqueue.At(*j.ScheduledAt)); err != nil {
				return err
			}
		case j.Status == Pending:
			if lineage == nil {
				var err error
				if lineage, err = postgres.Value[[]int64](ctx, t.tx, sqlLineage, t.pipeline.ProjectID); err != nil {
					return err
				}
				if protected, err = t.s.deps.Protection.ProtectedRef(ctx, t.tx, t.pipeline.ProjectID, t.pipeline.Ref, t.pipeline.Tag); err != nil {
					return err
				}
			}
			if err := t.s.deps.Bus.Publish(ctx, t.tx, JobQueued{
				JobID: j.ID, PipelineID: j.PipelineID, ProjectID: j.ProjectID, NamespaceIDs: lineage, UserID: j.UserID, Tags: j.Tags,
				Protected: protected, Ref: t.pipeline.Ref, Tag: t.pipeline.Tag, QueuedAt: *j.QueuedAt,
			}); err != nil {
				return err
			}
		}
		if was == Pending && j.Status != Pending && !j.Bridge {
			if err := t.s.deps.Bus.Publish(ctx, t.tx, JobUnqueued{JobID: j.ID}); err != nil {
				return err
			}
		}
		if j.Status.Ended() && !was.Ended() {
			if err := t.s.deps.Bus.Publish(ctx, t.tx, JobFinished{Job: *j, Pipeline: t.pipeline}); err != nil {
				return err
			}
		}
	}
	if t.pipeline.Status == t.was {
		return nil
	}
	if t.pipeline.ParentID != nil && (t.pipeline.Status.Complete() || t.was.Complete()) {
		if err := t.s.deps.Queue.Insert(ctx, t.tx, MirrorArgs{PipelineID: t.pipeline.ID}, jobqueue.Unique()); err != nil {
			return err
		}
	}
	if t.pipeline.Status == Success && !t.pipeline.Child {
		if err := t.s.outlived(ctx, t.tx, UnlockArgs{ProjectID: t.pipeline.ProjectID, Ref: t.pipeline.Ref, Tag: t.pipeline.Tag, Before: t.pipeline.ID}); err != nil {
			return err
		}
	}
	return t.s.deps.Bus.Publish(ctx, t.tx, PipelineChanged{Pipeline: t.pipeline, From: t.was})
}

// ErrNotPending means that the job no longer waits for a runner. The caller
// commits anyway: that removes the job's row from the queue, which the
// transaction that ended the job could not do because this claim had it locked.
var ErrNotPending = errors.New("the job is not pending")

// Candidate is a pending build that a claim took out of the queue, under the
// lock of its pipeline, with what was planned for it.
type Candidate struct {
	Job      Job
	Pipeline Pipeline
	Spec     Spec
}

// Candidate locks the pipeline of a job and reads the job, in one round trip, or
// in two for the first of a pipeline. It is ErrNotPending when the job waits for
// no runner any more.
func (s *Service) Candidate(ctx context.Context, tx pgx.Tx, jobID int64) (*Candidate, error) {
	c, err := s.candidate(ctx, tx, sqlBeginShare, sqlShareRunningOf, jobID)
	if errors.Is(err, postgres.ErrNoRows) {
		// No running pipeline found. Roll back to the savepoint to drop the FOR
		// SHARE lock before taking FOR NO KEY UPDATE: two transactions that both
		// upgraded would deadlock.
		c, err = s.candidate(ctx, tx, sqlUndoShare, sqlLockPipelineOf, jobID)
	}
	if errors.Is(err, postgres.ErrNoRows) {
		err = ErrNotPending
	}
	return c, err
}

// candidate is ErrNoRows when it could not lock the pipeline.
func (s *Service) candidate(ctx context.Context, tx pgx.Tx, first, lock string, jobID int64) (*Candidate, error) {
	var b pgx.Batch
	var pipelines []Pipeline
	var jobs []Job
	var documents [][]byte
	b.Queue(first)
	postgres.Queue(&b, &pipelines, lock, jobID)
	postgres.Queue(&b, &jobs, sqlWaitingJob, jobID)
	postgres.QueueValues(&b, &documents, sqlSpecOf, jobID)
	switch err := tx.SendBatch(ctx, &b).Close(); {
	case err != nil:
		return nil, err
	case len(pipelines) == 0:
		return nil, postgres.ErrNoRows
	case len(jobs) == 0:
		return nil, ErrNotPending
	}
	c := &Candidate{Job: jobs[0], Pipeline: pipelines[0]}
	if err := json.Unmarshal(documents[0], &c.Spec); err != nil {
		return nil, fmt.Errorf("reading what was planned for a job: %w", err)
	}
	return c, nil
}

// Start gives a candidate to a runner, in the transaction of the claim. Its cost
// does not depend on how many jobs the pipeline has: a job that runs instead of
// waiting lets no other begin, and a pipeline in which a job runs is running
// (TestWhoStartsConcernsNoOtherJob).
func (s *Service) Start(ctx context.Context, tx pgx.Tx, c *Candidate, runnerID int64) error {
	j, p, now := &c.Job, &c.Pipeline, s.deps.Clock.Now()
	to, err := Next(j.Status, Run)
	if err != nil {
		return err
	}
	j.Status, j.RunnerID, j.StartedAt, j.UpdatedAt = to, new(runnerID), new(now), now
	var b pgx.Batch
	b.Queue(sqlStart, j.ID, j.Status, runnerID, now).Exec(func(done pgconn.CommandTag) error {
		if done.RowsAffected() == 0 {
			return ErrNotPending
		}
		return nil
	})
	was := p.Status
	if was != Running || p.StartedAt == nil {
		p.Status, p.FinishedAt, p.UpdatedAt = Running, nil, now
		if p.StartedAt == nil {
			p.StartedAt = new(now)
		}
		b.Queue(sqlUpdatePipeline, p.ID, p.Status, p.StartedAt, p.FinishedAt, p.UpdatedAt)
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil || was == Running {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, PipelineChanged{Pipeline: *p, From: was})
}

// Finish notes how a running job ended. A job that does not run is refused with
// ErrTransition: what has ended stays as it ended.
func (s *Service) Finish(ctx context.Context, tx pgx.Tx, jobID int64, o Outcome) (Job, error) {
	t, j, err := s.beginOf(ctx, tx, jobID)
	if err != nil {
		return Job{}, err
	}
	if j == nil || j.Status != Running {
		return Job{}, fmt.Errorf("the end of a job that does not run: %w", ErrTransition)
	}
	if o.ExitCode != nil {
		j.ExitCode = new(int32(*o.ExitCode))
	}
	if o.Coverage != nil {
		j.Coverage = o.Coverage
	}
	if o.State == Success {
		if err = t.move(j, Succeed); err == nil {
			err = t.settle(ctx)
		}
	} else {
		err = t.drop(ctx, j, o.Reason)
	}
	return *j, err
}

// Drop fails a job that did not end by itself.
func (s *Service) Drop(ctx context.Context, tx pgx.Tx, jobID int64, why Reason) (Job, error) {
	t, j, err := s.beginOf(ctx, tx, jobID)
	if err != nil {
		return Job{}, err
	}
	if j == nil {
		return Job{}, fmt.Errorf("dropping a job that was retried: %w", ErrTransition)
	}
	err = t.drop(ctx, j, why)
	return *j, err
}
