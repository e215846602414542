package jobqueue_test

import (
	"context"
	"testing"
	"time"

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
	close(end)
}
