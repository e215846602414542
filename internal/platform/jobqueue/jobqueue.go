// Package jobqueue runs work after the transaction that asked for it has committed, on any node, at least once.
//
// A job is a kind and a few ids. It is inserted with the rows that cause it, so both commit or neither does; it reads
// everything else when it runs, and running it twice does no harm. The queue lives in the same PostgreSQL database,
// in the tables of River, whose client no other package imports.
package jobqueue

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"stithy/internal/platform/postgres"
)

// DefaultTimeout is how long a job may run unless it is registered with another limit.
const DefaultTimeout = 5 * time.Minute

// Args are the ids a job needs, kept as JSON. Kind names the job in the database and in logs, and never changes.
type Args interface {
	Kind() string
}

// Queues with workers of their own, for jobs of which others decide how long they take: by what they send, or by how fast
// a remote answers. However many of those there are, the jobs of other queues go on.
const (
	Imports   = "imports"   // copies repositories
	Pipelines = "pipelines" // reads configurations, with what they include from elsewhere
	Reports   = "reports"   // reads what jobs of CI hand in
	Mails     = "mails"     // waits for the mail server, once for each mail
	Streams   = "streams"   // waits for the receivers of audit events
)

// Apart are the args of a job in one of these queues. No more than half of the queue's workers on a node run jobs with
// the same share, such as a person's, at a time; 0 is nobody's.
type Apart interface {
	Args
	Apart() (queue string, share int64)
}

// Registry knows which function works which kind of job. It is complete before a [Queue] starts.
type Registry struct {
	workers  *river.Workers
	periodic []*river.PeriodicJob
	shares   *shares
}

func NewRegistry() *Registry {
	return &Registry{workers: river.NewWorkers(), shares: &shares{running: map[shared]int{}}}
}

// Register names the function that works jobs of one kind. A job whose function fails or panics is tried again, with
// growing pauses, for about three weeks. Registering a kind twice panics.
func Register[T Args](r *Registry, work func(context.Context, T) error) {
	RegisterTimeout(r, DefaultTimeout, work)
}

// RegisterTimeout is [Register] for a kind that may run for longer, or must not run for as long, as [DefaultTimeout].
func RegisterTimeout[T Args](r *Registry, timeout time.Duration, work func(context.Context, T) error) {
	river.AddWorker(r.workers, &worker[T]{timeout: timeout, work: work, shares: r.shares})
}

type worker[T Args] struct {
	river.WorkerDefaults[T]
	timeout time.Duration
	work    func(context.Context, T) error
	shares  *shares
}

func (w *worker[T]) Timeout(*river.Job[T]) time.Duration { return w.timeout }

// shareWait is when a job is looked at again that found too many with its share.
const shareWait = time.Second

func (w *worker[T]) Work(ctx context.Context, job *river.Job[T]) error {
	if a, ok := any(job.Args).(Apart); ok {
		queue, share := a.Apart()
		if !w.shares.enter(queue, share) {
			return river.JobSnooze(shareWait)
		}
		defer w.shares.leave(queue, share)
	}
	return w.work(ctx, job.Args)
}

// shares count the running jobs of a node.
type shares struct {
	mutex   sync.Mutex
	most    map[string]int
	running map[shared]int
}

type shared struct {
	queue string
	share int64
}

func (s *shares) enter(queue string, share int64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	of := shared{queue, share}
	if share != 0 && s.running[of] >= s.most[queue] {
		return false
	}
	s.running[of]++
	return true
}

func (s *shares) leave(queue string, share int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	of := shared{queue, share}
	if s.running[of]--; s.running[of] == 0 {
		delete(s.running, of)
	}
}

// Every inserts a job each interval, on one node at a time. It also does so whenever a node takes this over, because
// the time of the last run is not kept: a daily job would else never run on a node that restarts daily.
//
// No second job is inserted while one waits, runs or is retried; after a few failures the next interval starts afresh.
func (r *Registry) Every(interval time.Duration, args Args) {
	const attempts = 5 // the last retry comes within six minutes
	r.periodic = append(r.periodic, river.NewPeriodicJob(
		river.PeriodicInterval(interval),
		func() (river.JobArgs, *river.InsertOpts) {
			return args, &river.InsertOpts{MaxAttempts: attempts, UniqueOpts: unfinished()}
		},
		&river.PeriodicJobOpts{RunOnStart: true},
	))
}

// unfinished makes a job unique by its kind and args among those not finished. River's default also counts completed
// jobs, which would swallow new work until the old row is removed.
func unfinished() river.UniqueOpts {
	return river.UniqueOpts{
		ByArgs: true,
		ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateScheduled,
			rivertype.JobStateRunning, rivertype.JobStateRetryable,
		},
	}
}

// Option changes how one job is inserted.
type Option func(*river.InsertOpts)

// untilStarted tags jobs that are unique only until they start.
const untilStarted = "unique-until-started"

// Unique drops the job if an equal one, of the same kind and args, has yet to start. One that runs already does not
// count, since it may have read the state before the change that this job is about.
func Unique() Option {
	return func(o *river.InsertOpts) {
		o.UniqueOpts = unfinished()
		o.Tags = []string{untilStarted}
	}
}

// At keeps the job from starting before t.
func At(t time.Time) Option {
	return func(o *river.InsertOpts) { o.ScheduledAt = t }
}

// Bulk lets all jobs of the queue that are not bulk go first.
func Bulk() Option {
	return func(o *river.InsertOpts) { o.Priority = river.PriorityDefault + 1 }
}

// Queue inserts jobs and, between Start and Stop, works them.
type Queue struct {
	db       *postgres.DB
	registry *Registry
	log      *slog.Logger
	workers  int
	inserter *river.Client[pgx.Tx]
	client   *river.Client[pgx.Tx] // nil unless started
	keeper   *keeper               // the same
	orphans  time.Duration
	working  *working
}

// New returns a queue that works up to workers jobs at a time, and as many of pipelines and of mails, half as many
// imports, reports and streams; one with no workers only inserts. While it works it
// keeps two connections of its own, to be told of new jobs and to show that it lives.
func New(db *postgres.DB, r *Registry, log *slog.Logger, workers int) (*Queue, error) {
	inserter, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Logger: quiet(log)})
	if err != nil {
		return nil, fmt.Errorf("creating job inserter: %w", err)
	}
	return &Queue{db: db, registry: r, log: log, workers: workers, inserter: inserter, orphans: orphanInterval, working: &working{jobs: map[int64]bool{}}}, nil
}

// Insert adds a job that becomes visible when tx commits. Inserting unique jobs may wait for another transaction that
// has inserted the same, so a transaction inserts several of them in one fixed order.
func (q *Queue) Insert(ctx context.Context, tx pgx.Tx, args Args, options ...Option) error {
	var opts river.InsertOpts
	if a, ok := args.(Apart); ok {
		opts.Queue, _ = a.Apart()
	}
	for _, option := range options {
		option(&opts)
	}
	if _, err := q.inserter.InsertTx(ctx, tx, args, &opts); err != nil {
		return fmt.Errorf("inserting job %s: %w", args.Kind(), err)
	}
	return nil
}

// Start begins to work jobs. The end of ctx does not stop it; [Queue.Stop] does.
func (q *Queue) Start(ctx context.Context) error {
	if q.workers == 0 {
		return nil
	}
	id := "worker-" + rand.Text()
	sizes := map[string]int{Pipelines: q.workers, Mails: q.workers, Imports: half(q.workers), Reports: half(q.workers), Streams: max(2, half(q.workers))}
	queues := map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: q.workers}}
	q.registry.shares.most = map[string]int{}
	for name, size := range sizes {
		queues[name] = river.QueueConfig{MaxWorkers: size}
		q.registry.shares.most[name] = half(size)
	}
	client, err := river.NewClient(riverpgxv5.New(q.db.Pool()), &river.Config{
		ID:           id,
		Queues:       queues,
		Workers:      q.registry.workers,
		PeriodicJobs: q.registry.periodic,
		Middleware:   []rivertype.Middleware{&middleware{db: q.db, working: q.working}},
		ErrorHandler: &failureLog{q.log},
		Logger:       quiet(q.log),

		JobTimeout: DefaultTimeout,
		// A job that ended and could not say so counts as running until this has passed, or its own limit if that is
		// longer, unless its process or another finds it before; see keeper.
		RescueStuckJobsAfter:        DefaultTimeout + time.Minute,
		CompletedJobRetentionPeriod: time.Hour,
		DiscardedJobRetentionPeriod: 7 * 24 * time.Hour,

		// A concurrent reindex that meets our lock_timeout, as during a backup, leaves an invalid index that each
		// insert pays for and nobody drops. With so few rows kept, autovacuum is enough.
		ReindexerSchedule: river.NeverSchedule(),

		// Notifications of new jobs are limited to one in 100 ms. One that is left out because another transaction
		// was about to send it is lost if that one rolls back; then the job waits for this poll.
		FetchPollInterval: time.Second,
	})
	if err != nil {
		return fmt.Errorf("creating job client: %w", err)
	}
	keeper, err := q.keep(ctx, id)
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		keeper.end()
		return fmt.Errorf("starting job client: %w", err)
	}
	q.client, q.keeper = client, keeper
	return nil
}

func half(n int) int { return (n + 1) / 2 }

// cancelGrace is how long jobs have to return after their context has been cancelled.
const cancelGrace = 5 * time.Second

// Stop takes no more jobs and waits for the running ones while ctx lasts. Then it cancels them; they go back to the
// queue without having used up an attempt.
func (q *Queue) Stop(ctx context.Context) error {
	if q.client == nil {
		return nil
	}
	defer q.keeper.end()
	err := q.client.Stop(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
	defer cancel()
	if err := q.client.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("cancelling jobs: %w", err)
	}
	return nil
}

// middleware runs around each job.
type middleware struct {
	river.MiddlewareDefaults
	db      *postgres.DB
	working *working
}

const releaseUnique = `update river_job set unique_key = null where id = $1`

func (m *middleware) Work(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) (err error) {
	m.working.begin(job.ID)
	defer m.working.end(job.ID)
	// River counts a running job as a duplicate. This statement waits for the transactions that have just been told
	// so, and lets later ones insert: whoever was dropped in favour of this job has committed when it begins to read.
	if slices.Contains(job.Tags, untilStarted) {
		if _, err := m.db.Exec(ctx, releaseUnique, job.ID); err != nil {
			return fmt.Errorf("releasing unique job: %w", err)
		}
	}
	defer recoverTo(&err)
	return work(ctx)
}
