package dispatch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/wire"
	"stithy/internal/oauth"
	"stithy/internal/pipeline"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB           *postgres.DB
	Bus          *bus.Bus
	Box          *secretbox.Box
	Settings     *setting.Service
	Users        *user.Service
	Tokens       *token.Service
	OAuth        *oauth.Service // signs ID tokens
	Projects     *project.Service
	Protection   *protection.Service
	Repositories *repository.Service
	Runners      *runner.Service
	Artifacts    *artifact.Service
	Pipelines    *pipeline.Service
	Clock        clock.Clock
	Log          *slog.Logger
	ExternalURL  string
	Names        wire.Names

	Claims   int             // how many at once, so that others find connections too
	Hold     time.Duration   // how long a request for a job waits
	Draining <-chan struct{} // closed when nobody shall wait here any more; nil never is
}

// Service is the use cases of handing jobs out.
type Service struct {
	deps       Deps
	pending    pendingJobs
	waitlist   *waitlist
	watch      watch
	claimSlots *claimSlots
}

// lookEvery is how often a node looks for jobs that it was not told of.
const lookEvery = 10 * time.Second

// New puts the room together.
func New(d Deps) *Service {
	s := &Service{deps: deps.Complete(d), waitlist: newWaitlist(secretbox.RandomToken(8))}
	s.claimSlots = newClaimSlots(d.Claims)
	s.pending = pendingJobs{db: d.DB, clock: d.Clock}
	s.watch = watch{db: d.DB, waitlist: s.waitlist, log: d.Log, every: lookEvery, drain: d.Draining}
	return s
}

// Watch tells waiting runners of new jobs, until ctx ends.
func (s *Service) Watch(ctx context.Context) { s.watch.run(ctx) }

// Waiting is how many runners wait for a job on this node.
func (s *Service) Waiting() int { return s.waitlist.waiting() }

// OnJobQueued puts a job that became pending into its queue.
func (s *Service) OnJobQueued(ctx context.Context, tx pgx.Tx, e pipeline.JobQueued) error {
	return s.pending.enqueue(ctx, tx, e.JobID, e.ProjectID, e.Tags, e.Protected)
}

// OnJobUnqueued takes out a job that waits no more.
func (s *Service) OnJobUnqueued(ctx context.Context, tx pgx.Tx, e pipeline.JobUnqueued) error {
	return s.pending.dequeue(ctx, tx, e.JobID)
}

// OnJobFinished closes the log of a job that a runner had, and ends its run.
func (s *Service) OnJobFinished(ctx context.Context, tx pgx.Tx, e pipeline.JobFinished) error {
	tag, err := tx.Exec(ctx, sqlEndRun, e.Job.ID, s.deps.Clock.Now())
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return s.deps.Artifacts.CloseLog(ctx, tx, e.Job.ID)
}

// JobRequest is a runner that asks for a job.
type JobRequest struct {
	Runner   runner.Runner
	Features Features
	Cursor   string // what it was given at its last request
	Secret   secretbox.Secret
}

// match is what counts of a runner.
func (a *JobRequest) match() RunnerMatch {
	r := &a.Runner
	s := RunnerMatch{Tags: slices.Sorted(slices.Values(r.Tags)), Untagged: r.RunUntagged, Protected: r.AccessLevel == runner.RefProtected}
	if s.Tags == nil {
		s.Tags = []string{}
	}
	switch r.Type {
	case runner.Instance:
		s.Scopes = OfInstance()
	case runner.Group:
		s.Scopes = OfGroup(*r.GroupID)
	case runner.Project:
		s.Scopes = OfProjects(r.ProjectIDs)
	}
	if s.Scopes == nil {
		s.Scopes = []int64{}
	}
	return s
}

// poll is a runner that has asked for a job, until it is answered.
type poll struct {
	s       *Service
	request JobRequest
	match   RunnerMatch
	place   *waiter
	full    bool // there is no place: the runner has as many as it may
	until   time.Time
}

// poll begins when a runner asks. A runner that may have no job at all has no
// place to wait at.
func (s *Service) poll(a JobRequest) *poll {
	v := &poll{s: s, request: a, match: a.match(), until: s.deps.Clock.Now().Add(s.deps.Hold)}
	if !a.Runner.Paused && len(v.match.Scopes) > 0 {
		v.place, v.full = s.waitlist.joinFor(v.match, a.Runner.ID)
	}
	return v
}

// first looks for a job when the runner asks. Whoever shows the present cursor
// has looked since the last new job.
func (v *poll) first(ctx context.Context) (given *Payload, over bool, err error) {
	switch {
	case v.full:
		given, err = v.s.claim(ctx, &v.request, &v.match, nil)
		return given, true, err
	case v.place == nil:
		return nil, true, nil
	}
	if v.request.Cursor != "" && v.request.Cursor == v.cursor() {
		return nil, false, nil
	}
	return v.look(ctx, nil)
}

// next looks again when the runner was woken. Whoever was not, has waited long
// enough, or went away.
func (v *poll) next(ctx context.Context) (given *Payload, over bool, err error) {
	queue := v.place.again()
	if queue == nil || ctx.Err() != nil {
		v.place.leave()
		if queue != nil {
			v.s.waitlist.wake(queue)
		}
		return nil, true, ctx.Err()
	}
	return v.look(ctx, queue)
}

func (v *poll) look(ctx context.Context, queue *Queue) (given *Payload, over bool, err error) {
	over = true
	defer func() {
		if over { // also by a panic
			v.place.leave()
		}
	}()
	given, err = v.s.claim(ctx, &v.request, &v.match, queue)
	if err != nil && queue != nil {
		v.s.waitlist.wake(queue) // somebody else may fare better
	}
	over = given != nil || err != nil
	return given, over, err
}

// cursor is what the runner shows the next time.
func (v *poll) cursor() string { return v.s.waitlist.cursor(&v.match) }

// claim takes one job for a runner, in one transaction, and then gathers what
// the runner gets. A job that may not run after all is dropped, and the next
// one looked at. Whoever leaves jobs in the queue wakes the next who waits for it.
func (s *Service) claim(ctx context.Context, a *JobRequest, match *RunnerMatch, hint *Queue) (*Payload, error) {
	leave, err := s.claimSlots.take(ctx, a.Runner.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	for ctx.Err() == nil {
		var got claimed
		err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
			got, err = s.take(ctx, tx, a, match, hint)
			return err
		})
		if err != nil || got.queue.ID == 0 {
			return nil, err
		}
		hint = nil
		if got.more {
			s.waitlist.wake(&got.queue)
		}
		if got.job == nil {
			continue
		}
		// From here on the job runs. Whatever goes wrong ends it.
		given, why, err := s.gather(ctx, a, &got)
		if err != nil {
			s.deps.Log.Error("gathering what a runner gets", "job", got.job.ID, "error", err)
			why = pipeline.SchedulerFailure
		}
		if why == "" {
			return given, nil
		}
		if err := s.drop(context.WithoutCancel(ctx), got.job.ID, why); err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// claimed is a job that was taken, with what its taking showed.
type claimed struct {
	queue     Queue
	more      bool          // the queue has further jobs
	running   int           // other jobs of the project, on runners of the instance
	job       *pipeline.Job // nil when it could not be started
	queuedAt  time.Time
	protected bool
	lineage   []int64
	timeout   time.Duration
	spec      *pipeline.Spec
	pipeline  *pipeline.Pipeline
	secret    secretbox.Secret
}

// take is the transaction of a claim.
func (s *Service) take(ctx context.Context, tx pgx.Tx, a *JobRequest, match *RunnerMatch, hint *Queue) (c claimed, err error) {
	t, queue, found, err := s.pending.take(ctx, tx, match, hint)
	if err != nil || !found {
		return claimed{}, err
	}
	c.queue, c.queuedAt, c.more, c.running = queue, t.QueuedAt, t.More, t.Running
	job, err := s.deps.Pipelines.Candidate(ctx, tx, t.JobID)
	if errors.Is(err, pipeline.ErrNotPending) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	// The ref may have been protected or opened since the job was queued, and
	// the project may have changed its mind about runners.
	if c.protected, err = s.deps.Protection.ProtectedRef(ctx, tx, job.Job.ProjectID, job.Pipeline.Ref, job.Pipeline.Tag); err != nil {
		return c, err
	}
	queue.Serves, queue.Protected = t.Serves, c.protected
	if !match.takes(&queue) {
		if _, err := tx.Exec(ctx, sqlSetServes, queue.ProjectID, t.Serves); err != nil {
			return c, err
		}
		s.pending.rankingOf(match).emptied(c.queue)
		return c, s.pending.enqueue(ctx, tx, t.JobID, queue.ProjectID, job.Job.Tags, c.protected)
	}
	if t.Removal || t.CIDisabled {
		why := pipeline.BuildsDisabled
		if t.Removal {
			why = pipeline.ProjectDeleted
		}
		_, err := s.deps.Pipelines.Drop(ctx, tx, t.JobID, why)
		return c, unlessMoved(err)
	}
	if err := s.deps.Pipelines.Start(ctx, tx, job, a.Runner.ID); errors.Is(err, pipeline.ErrNotPending) {
		return c, nil
	} else if err != nil {
		return c, err
	}
	c.timeout = timeout(job.Spec.Job.Timeout, time.Duration(t.Timeout)*time.Second, a.Runner.MaximumTimeout)
	c.secret = secretbox.Secret(s.deps.Names.TokenPrefix(wire.JobToken) + secretbox.RandomToken(tokenLength))
	c.lineage, c.pipeline, c.spec = t.Lineage, &job.Pipeline, &job.Spec
	var b pgx.Batch
	b.Queue(sqlAddRun, t.JobID, queue.ProjectID, a.Runner.ID, a.Runner.Type == runner.Instance,
		s.deps.Box.Digest(string(access.JobToken), c.secret.Reveal()), s.deps.Clock.Now(), s.deps.Clock.Now().Add(c.timeout+grace))
	if err := s.deps.Artifacts.BeginLog(&b, queue.ProjectID, t.JobID, c.secret, a.Secret); err != nil {
		return c, err
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return c, err
	}
	c.job = &job.Job
	return c, nil
}

const (
	tokenLength = 20
	grace       = 15 * time.Minute // after a job's time is up, for its runner to say so
)

// timeout is how long a job may run: what the job or else the project says,
// and never longer than the runner allows.
func timeout(job, project time.Duration, runner *int) time.Duration {
	d := cmp.Or(job, project)
	if runner != nil && *runner > 0 {
		d = min(d, time.Duration(*runner)*time.Second)
	}
	return d
}

// unlessMoved lets pass that a job had moved on by itself.
func unlessMoved(err error) error {
	if errors.Is(err, pipeline.ErrTransition) {
		return nil
	}
	return err
}

// drop ends a job that cannot go on.
func (s *Service) drop(ctx context.Context, jobID int64, why pipeline.Reason) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		_, err := s.deps.Pipelines.Drop(ctx, tx, jobID, why)
		return unlessMoved(err)
	})
}
