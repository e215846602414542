package jobqueue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestDL14_AJobOfAProcessThatDiedIsTakenUpByAnother(t *testing.T) {
	t.Parallel()
	db, registry, ran := postgrestest.New(t), jobqueue.NewRegistry(), make(chan greet, 1)
	jobqueue.RegisterTimeout(registry, time.Hour, func(_ context.Context, args greet) error { ran <- args; return nil })
	q := newQueue(t, db, registry, 1)
	insert(t, db, q, greet{ID: 7})
	if _, err := db.Exec(t.Context(), `update river_job set state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{somebody,dead}'`); err != nil {
		t.Fatal(err)
	}
	q.SetOrphanInterval(20 * time.Millisecond)
	start(t, q)
	if got := receive(t, ran); got.ID != 7 {
		t.Errorf("job %d ran", got.ID)
	}
}

func TestAJobOfAProcessThatLivesIsLeftAlone(t *testing.T) {
	t.Parallel()
	db, registry, begun, end := postgrestest.New(t), jobqueue.NewRegistry(), make(chan greet, 2), make(chan struct{})
	jobqueue.RegisterTimeout(registry, time.Hour, func(_ context.Context, args greet) error { begun <- args; <-end; return nil })
	one, two := newQueue(t, db, registry, 1), newQueue(t, db, registry, 1)
	start(t, one)
	insert(t, db, one, greet{ID: 7})
	receive(t, begun)
	two.SetOrphanInterval(time.Hour)
	start(t, two)
	for range 3 {
		if err := two.LookForOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := rows(t, db); len(got) != 1 || got[0] != `running 1 {"id": 7}` {
		t.Errorf("got %q", got)
	}
	close(end)
}

// A process that lost its connection for a moment is not dead: its jobs are put
// back when it is missed a second time in a row, not before.
func TestAJobIsPutBackWhenItsProcessIsMissedTwice(t *testing.T) {
	t.Parallel()
	db, registry, begun, end := postgrestest.New(t), jobqueue.NewRegistry(), make(chan greet, 2), make(chan struct{})
	jobqueue.RegisterTimeout(registry, time.Hour, func(_ context.Context, args greet) error { begun <- args; <-end; return nil })
	q := newQueue(t, db, registry, 1)
	q.SetOrphanInterval(time.Hour)
	start(t, q)
	insert(t, db, q, greet{ID: 1}) // keeps the only worker busy
	receive(t, begun)
	insert(t, db, q, greet{ID: 7})
	set := func(by string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), `update river_job set state = 'running', attempt = 1, attempted_at = now(), attempted_by = array['somebody', $1]
			where args->>'id' = '7'`, by); err != nil {
			t.Fatal(err)
		}
	}
	state := func() string {
		t.Helper()
		if err := q.LookForOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		state, err := postgres.Value[string](t.Context(), db, `select state::text from river_job where args->>'id' = '7'`)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	set("gone")
	if got := state(); got != "running" {
		t.Errorf("missed once, its job is %s", got)
	}
	set("other") // that it was missed is not held against another
	if got := state(); got != "running" {
		t.Errorf("another was missed before, its job is %s", got)
	}
	if got := state(); got != "available" {
		t.Errorf("missed twice, its job is %s", got)
	}
	set("gone") // it was back in between
	if got := state(); got != "running" {
		t.Errorf("missed again, its job is %s", got)
	}
	if got := rows(t, db)[0]; got != `running 1 {"id": 1}` {
		t.Errorf("the job of a process that lives: %s", got)
	}
	close(end)
}

// The answer that gives a process its job, or the news that the job has ended,
// can be lost with a connection. Then the database believes that the job runs.
func TestDL14_AJobThatItsProcessDoesNotKnowIsPutBack(t *testing.T) {
	t.Parallel()
	db, registry, begun, end := postgrestest.New(t), jobqueue.NewRegistry(), make(chan greet, 2), make(chan struct{})
	jobqueue.RegisterTimeout(registry, time.Hour, func(_ context.Context, args greet) error { begun <- args; <-end; return nil })
	q := newQueue(t, db, registry, 1)
	q.SetOrphanInterval(time.Hour)
	start(t, q)
	insert(t, db, q, greet{ID: 1}) // keeps the only worker busy
	receive(t, begun)
	insert(t, db, q, greet{ID: 7})
	began := time.Now()
	look := func(want string) {
		t.Helper()
		if err := q.LookForOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		states, err := postgres.Values[string](t.Context(), db, `select state::text from river_job order by id`)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(states, ", "); got != want {
			t.Errorf("jobs are %s instead of %s", got, want)
		}
	}
	lose := func() {
		t.Helper()
		began = began.Add(time.Microsecond)
		if _, err := db.Exec(t.Context(), `update river_job set state = 'running', finalized_at = null, attempt = 1, attempted_at = $2, attempted_by = array[$1]
			where args->>'id' = '7'`, q.ID(), began); err != nil {
			t.Fatal(err)
		}
	}
	lose()
	look("running, running")
	lose() // the job has begun anew since
	look("running, running")
	look("running, available") // and the one that runs is left alone
	close(end)
	if got := receive(t, begun); got.ID != 7 {
		t.Errorf("job %d ran", got.ID)
	}
	// Once it has ended, its process does not know it any more.
	await(t, db, `select count(*) = 2 from river_job where state = 'completed'`)
	lose()
	look("completed, running")
	if err := q.LookForOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, begun); got.ID != 7 {
		t.Errorf("job %d ran", got.ID)
	}
}

// await asks the database until it says yes.
func await(t *testing.T, db *postgres.DB, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for yes := false; !yes; {
		var err error
		if yes, err = postgres.Value[bool](ctx, db, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// heldBy is the connection that holds the lock of a queue, if there is one.
const heldBy = `
select coalesce(max(pid), 0) from pg_locks
where locktype = 'advisory' and classid = 7405 and objid = hashtext($1)::bigint::bit(32)::int8::oid
	and database = (select oid from pg_database where datname = current_database())`

// A process whose connection breaks takes its lock anew: who finds it dead twice would work its jobs beside it.
func TestAWorkerThatLostItsLockTakesItAnew(t *testing.T) {
	t.Parallel()
	db, registry, ran := postgrestest.New(t), jobqueue.NewRegistry(), make(chan greet, 1)
	jobqueue.Register(registry, func(_ context.Context, args greet) error { ran <- args; return nil })
	q := newQueue(t, db, registry, 1)
	q.SetOrphanInterval(20 * time.Millisecond)
	start(t, q)
	for range 2 {
		pid, err := postgres.Value[int](t.Context(), db, heldBy, q.ID())
		if err != nil || pid == 0 {
			t.Fatalf("the lock is held by %d, %v", pid, err)
		}
		await(t, db, `select pg_terminate_backend($1)`, pid)
		await(t, db, `select l.pid not in (0, $2) from (`+heldBy+`) l (pid)`, q.ID(), pid)
	}
	// And it goes on looking for others.
	err := db.InTx(t.Context(), func(tx pgx.Tx) error {
		if err := q.Insert(t.Context(), tx, greet{ID: 7}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `update river_job set state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{dead}'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	receive(t, ran)
}

func TestAWorkerThatStoppedIsDead(t *testing.T) {
	t.Parallel()
	db, registry := postgrestest.New(t), jobqueue.NewRegistry()
	jobqueue.Register(registry, func(context.Context, greet) error { return nil })
	q := newQueue(t, db, registry, 1)
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pid, err := postgres.Value[int](t.Context(), db, heldBy, q.ID()); err != nil || pid == 0 {
		t.Errorf("while it works, its lock is held by %d, %v", pid, err)
	}
	stop(t, q)
	await(t, db, `select l.pid = 0 from (`+heldBy+`) l (pid)`, q.ID())
}
