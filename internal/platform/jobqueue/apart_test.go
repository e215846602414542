package jobqueue_test

import (
	"context"
	"testing"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres/postgrestest"
)

// copying is a job that somebody else ends.
type copying struct {
	ID     int64 `json:"id"`
	UserID int64 `json:"user_id"`
}

func (copying) Kind() string                         { return "copying" }
func (a copying) Apart() (queue string, share int64) { return jobqueue.Imports, a.UserID }

func TestJobsOfAQueueOfTheirOwnHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	db, registry := postgrestest.New(t), jobqueue.NewRegistry()
	begun, end, greeted := make(chan copying, 10), make(chan struct{}), make(chan greet, 10)
	jobqueue.Register(registry, func(_ context.Context, a copying) error { begun <- a; <-end; return nil })
	jobqueue.Register(registry, func(_ context.Context, a greet) error { greeted <- a; return nil })
	q := newQueue(t, db, registry, 2)
	start(t, q)
	for id := range int64(6) {
		insert(t, db, q, copying{ID: id})
	}
	receive(t, begun)
	for id := range int64(4) {
		insert(t, db, q, greet{ID: id})
		receive(t, greeted)
	}
	close(end)
}

func TestOneShareHasHalfOfAQueue(t *testing.T) {
	t.Parallel()
	db, registry := postgrestest.New(t), jobqueue.NewRegistry()
	begun, end := make(chan copying, 10), make(chan struct{})
	jobqueue.Register(registry, func(_ context.Context, a copying) error {
		begun <- a
		if a.UserID == 1 {
			<-end
		}
		return nil
	})
	q := newQueue(t, db, registry, 4) // two of them copy
	start(t, q)
	for id := range int64(3) {
		insert(t, db, q, copying{ID: id, UserID: 1})
	}
	if got := receive(t, begun); got.UserID != 1 {
		t.Fatal(got)
	}
	for id := range int64(3) {
		insert(t, db, q, copying{ID: 10 + id, UserID: 2})
		if got := receive(t, begun); got.UserID != 2 {
			t.Errorf("%+v takes what is another's share", got)
		}
	}
	close(end)
	for range 2 {
		if got := receive(t, begun); got.UserID != 1 {
			t.Error(got)
		}
	}
}
