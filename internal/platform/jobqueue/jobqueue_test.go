package jobqueue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

type greet struct {
	ID   int64  `json:"id"`
	Word string `json:"word,omitempty"`
}

func (greet) Kind() string { return "test.greet" }

const deadline = 30 * time.Second

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(deadline):
		t.Fatal("nothing came in time")
		panic("unreachable")
	}
}

func newQueue(t *testing.T, db *postgres.DB, r *jobqueue.Registry, workers int) *jobqueue.Queue {
	t.Helper()
	return newLoggingQueue(t, db, r, workers, slog.New(slog.DiscardHandler))
}

func newLoggingQueue(t *testing.T, db *postgres.DB, r *jobqueue.Registry, workers int, log *slog.Logger) *jobqueue.Queue {
	t.Helper()
	q, err := jobqueue.New(db, r, log, workers)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func start(t *testing.T, q *jobqueue.Queue) {
	t.Helper()
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, q) })
}

func stop(t *testing.T, q *jobqueue.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func insert(t *testing.T, db *postgres.DB, q *jobqueue.Queue, args jobqueue.Args, options ...jobqueue.Option) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx pgx.Tx) error { return q.Insert(t.Context(), tx, args, options...) }); err != nil {
		t.Fatal(err)
	}
}

// rows are the jobs as "state attempt args", oldest first.
func rows(t *testing.T, db *postgres.DB) []string {
	t.Helper()
	got, err := postgres.Values[string](t.Context(), db, "select concat_ws(' ', state, attempt, args) from river_job order by id")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAJobRunsWhenItsTransactionCommitsAndNeverOtherwise(t *testing.T) {
	t.Parallel()
	db, registry, ran := postgrestest.New(t), jobqueue.NewRegistry(), make(chan greet, 10)
	jobqueue.Register(registry, func(_ context.Context, args greet) error { ran <- args; return nil })
	q := newQueue(t, db, registry, 2)
	start(t, q)

	refused := errors.New("refused")
	err := db.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := q.Insert(t.Context(), tx, greet{ID: 1}); err != nil {
			t.Error(err)
		}
		return refused
	})
	if err != refused {
		t.Fatal(err)
	}
	insert(t, db, q, greet{ID: 2})

	if got := receive(t, ran); got.ID != 2 {
		t.Errorf("job %d ran", got.ID)
	}
	stop(t, q)
	if diff := cmp.Diff([]string{`completed 1 {"id": 2}`}, rows(t, db)); diff != "" {
		t.Error(diff)
	}
}

func TestAFailingJobIsRetriedAndLoggedOnceWithoutItsArgs(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("no luck") },
		"panic": func() error { panic("no luck") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, registry, log := postgrestest.New(t), jobqueue.NewRegistry(), &logLines{}
			var first sync.Once
			ran := make(chan greet, 10)
			jobqueue.Register(registry, func(_ context.Context, args greet) (err error) {
				first.Do(func() { err = fail() })
				ran <- args
				return err
			})
			q := newLoggingQueue(t, db, registry, 1, slog.New(slog.NewJSONHandler(log, nil)))
			start(t, q)
			insert(t, db, q, greet{ID: 1, Word: "secret-word"})

			receive(t, ran)
			if name == "error" {
				receive(t, ran)
			}
			stop(t, q)
			if diff := cmp.Diff([]string{`completed 2 {"id": 1, "word": "secret-word"}`}, rows(t, db)); diff != "" {
				t.Error(diff)
			}
			lines := log.read(t)
			if len(lines) != 1 {
				t.Fatalf("want one record, got %v", lines)
			}
			line := lines[0]
			if line["level"] != "WARN" || line["kind"] != "test.greet" || line["job_id"] != 1.0 ||
				!strings.Contains(line["error"].(string), "no luck") {
				t.Errorf("got %v", line)
			}
			if strings.Contains(log.String(), "secret-word") {
				t.Errorf("args are in the log: %s", log)
			}
		})
	}
}

func TestAJobNobodyWorksIsLoggedOnceAnAttempt(t *testing.T) {
	t.Parallel()
	db, registry, log := postgrestest.New(t), jobqueue.NewRegistry(), &logLines{}
	ran := make(chan other, 1)
	jobqueue.Register(registry, func(_ context.Context, args other) error { ran <- args; return nil })
	q := newLoggingQueue(t, db, registry, 1, slog.New(slog.NewJSONHandler(log, nil)))
	insert(t, db, q, greet{ID: 1})
	insert(t, db, q, other{})
	start(t, q)
	receive(t, ran)
	stop(t, q)
	attempts, err := postgres.Value[int](t.Context(), db, "select attempt from river_job where kind = 'test.greet'")
	if err != nil {
		t.Fatal(err)
	}
	if lines := log.read(t); attempts == 0 || len(lines) != attempts || lines[0]["kind"] != "test.greet" {
		t.Errorf("%d attempts: %v", attempts, lines)
	}
}

type other struct{}

func (other) Kind() string { return "test.other" }

func TestEqualUniqueJobsCollapseUntilTheFirstStarts(t *testing.T) {
	t.Parallel()
	db, registry := postgrestest.New(t), jobqueue.NewRegistry()
	started, finish := make(chan greet, 10), make(chan struct{})
	jobqueue.Register(registry, func(_ context.Context, args greet) error {
		started <- args
		<-finish
		return nil
	})
	q := newQueue(t, db, registry, 1)
	for range 3 {
		insert(t, db, q, greet{ID: 1}, jobqueue.Unique())
	}
	if diff := cmp.Diff([]string{`available 0 {"id": 1}`}, rows(t, db)); diff != "" {
		t.Error(diff)
	}

	start(t, q)
	receive(t, started)
	for range 3 {
		insert(t, db, q, greet{ID: 1}, jobqueue.Unique())
	}
	insert(t, db, q, greet{ID: 2}, jobqueue.Unique())
	insert(t, db, q, greet{ID: 2})
	want := []string{`running 1 {"id": 1}`, `available 0 {"id": 1}`, `available 0 {"id": 2}`, `available 0 {"id": 2}`}
	if diff := cmp.Diff(want, rows(t, db)); diff != "" {
		t.Error(diff)
	}

	close(finish)
	for range 3 {
		receive(t, started)
	}
	stop(t, q)
	insert(t, db, q, greet{ID: 1}, jobqueue.Unique())
	if got := rows(t, db); len(got) != 5 {
		t.Errorf("a finished job swallowed a new one: %v", got)
	}
}

func TestAUniqueJobSeesTheChangeOfATransactionThatItSwallowedAJobOf(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	q := newQueue(t, db, jobqueue.NewRegistry(), 0)
	if _, err := db.Exec(t.Context(), "create table changes (id int)"); err != nil {
		t.Fatal(err)
	}
	insert(t, db, q, greet{ID: 1}, jobqueue.Unique())
	id, err := postgres.Value[int64](t.Context(), db,
		"update river_job set state = 'running', attempt = 1, attempted_at = now() returning id")
	if err != nil {
		t.Fatal(err)
	}

	seen := make(chan int, 1)
	err = db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "insert into changes values (1)"); err != nil {
			return err
		}
		if err := q.Insert(t.Context(), tx, greet{ID: 1}, jobqueue.Unique()); err != nil {
			return err
		}
		go func() {
			err := jobqueue.BeginUnique(t.Context(), db, id, func(ctx context.Context) error {
				n, err := postgres.Value[int](ctx, db, "select count(*) from changes")
				seen <- n
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}()
		waitUntilSomebodyWaitsFor(t, tx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := receive(t, seen); n != 1 {
		t.Errorf("the job saw %d changes", n)
	}
	if got := rows(t, db); len(got) != 1 {
		t.Errorf("jobs: %v", got)
	}
}

func waitUntilSomebodyWaitsFor(t *testing.T, tx pgx.Tx) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for waits := false; !waits; {
		var err error
		waits, err = postgres.Value[bool](ctx, tx, "select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)))")
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAJobForLaterIsNotStarted(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	q := newQueue(t, nil, jobqueue.NewRegistry(), 0)
	if err := q.Insert(t.Context(), tx, greet{ID: 1}, jobqueue.At(time.Now().Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	scheduled, err := postgres.Value[bool](t.Context(), tx,
		"select state = 'scheduled' and scheduled_at > now() + interval '59 minutes' from river_job")
	if !scheduled || err != nil {
		t.Errorf("scheduled: %t, %v", scheduled, err)
	}
}

func TestAQueueWithoutWorkersOnlyInserts(t *testing.T) {
	t.Parallel()
	db, registry := postgrestest.New(t), jobqueue.NewRegistry()
	jobqueue.Register(registry, func(context.Context, greet) error { return nil })
	q := newQueue(t, db, registry, 0)
	start(t, q)
	insert(t, db, q, greet{ID: 1})
	stop(t, q)
	if diff := cmp.Diff([]string{`available 0 {"id": 1}`}, rows(t, db)); diff != "" {
		t.Error(diff)
	}
}

func TestStopWaitsForTheRunningJob(t *testing.T) {
	t.Parallel()
	db, registry := postgrestest.New(t), jobqueue.NewRegistry()
	started, finish := make(chan struct{}), make(chan struct{})
	jobqueue.Register(registry, func(ctx context.Context, _ greet) error {
		close(started)
		<-finish
		return ctx.Err()
	})
	q := newQueue(t, db, registry, 1)
	ctx, cancel := context.WithCancel(t.Context())
	if err := q.Start(ctx); err != nil {
		t.Fatal(err)
	}
	insert(t, db, q, greet{ID: 1})
	receive(t, started)

	cancel() // the context of Start does not reach the job
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop(t, q)
	}()
	close(finish)
	receive(t, stopped)
	if diff := cmp.Diff([]string{`completed 1 {"id": 1}`}, rows(t, db)); diff != "" {
		t.Error(diff)
	}
}

func TestAJobThatOutlivesTheGraceIsCancelledAndRunsAgain(t *testing.T) {
	t.Parallel()
	db, registry := postgrestest.New(t), jobqueue.NewRegistry()
	started := make(chan struct{}, 2)
	jobqueue.Register(registry, func(ctx context.Context, _ greet) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	grace, end := context.WithCancel(t.Context())
	end()

	for range 2 {
		q := newQueue(t, db, registry, 1)
		start(t, q)
		if len(rows(t, db)) == 0 {
			insert(t, db, q, greet{ID: 1})
		}
		receive(t, started)
		if err := q.Stop(grace); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{`available 0 {"id": 1}`}, rows(t, db)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTwoQueuesOnOneDatabaseRunEachJobOnce(t *testing.T) {
	t.Parallel()
	const jobs = 100
	url := postgrestest.URL(t)
	ran := make(chan int64, 2*jobs)
	var queues []*jobqueue.Queue
	var db *postgres.DB
	for range 2 {
		var err error
		if db, err = postgres.Open(t.Context(), url, 4); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		registry := jobqueue.NewRegistry()
		jobqueue.Register(registry, func(_ context.Context, args greet) error { ran <- args.ID; return nil })
		q := newQueue(t, db, registry, 4)
		start(t, q)
		queues = append(queues, q)
	}
	for i := range jobs {
		insert(t, db, queues[i%2], greet{ID: int64(i)})
	}
	times := map[int64]int{}
	for range jobs {
		times[receive(t, ran)]++
	}
	for _, q := range queues {
		stop(t, q)
	}
	if len(times) != jobs || len(ran) != 0 {
		t.Errorf("%d of %d jobs ran, and %d more times", len(times), jobs, len(ran))
	}
}

func TestAJobMayRunForAsLongAsItsKindSays(t *testing.T) {
	t.Parallel()
	db, registry, ran := postgrestest.New(t), jobqueue.NewRegistry(), make(chan time.Duration, 10)
	jobqueue.RegisterTimeout(registry, time.Hour, func(ctx context.Context, _ greet) error {
		end, _ := ctx.Deadline()
		ran <- time.Until(end)
		return nil
	})
	jobqueue.Register(registry, func(ctx context.Context, _ other) error {
		end, _ := ctx.Deadline()
		ran <- time.Until(end)
		return nil
	})
	q := newQueue(t, db, registry, 1)
	start(t, q)
	for _, test := range []struct {
		args  jobqueue.Args
		limit time.Duration
	}{{greet{}, time.Hour}, {other{}, jobqueue.DefaultTimeout}} {
		insert(t, db, q, test.args)
		if got := receive(t, ran); got > test.limit || got < test.limit-time.Minute {
			t.Errorf("%s: got %v, want %v", test.args.Kind(), got, test.limit)
		}
	}
}

func TestAPeriodicJobRunsOnceForAllQueues(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	ran := make(chan greet, 10)
	var db *postgres.DB
	for range 2 {
		var err error
		if db, err = postgres.Open(t.Context(), url, 4); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		registry := jobqueue.NewRegistry()
		jobqueue.Register(registry, func(_ context.Context, args greet) error { ran <- args; return nil })
		registry.Every(time.Hour, greet{ID: 1})
		start(t, newQueue(t, db, registry, 1))
	}
	receive(t, ran)
	// Now, since the second queue would start afresh when the first stops.
	if got := rows(t, db); len(got) != 1 {
		t.Errorf("jobs: %v", got)
	}
}

// logLines collects JSON log records.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logLines) read(t *testing.T) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, record)
	}
	return lines
}
