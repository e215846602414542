package jobqueue_test

import (
	"context"
	"testing"
	"time"

	"stithy/internal/platform/jobqueue"
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
