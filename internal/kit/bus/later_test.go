package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/bus"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

type moved struct {
	ProjectID int64  `json:"project_id"`
	To        string `json:"to"`
}

func (moved) EventName() string { return "moved" }

// outbox is a bus whose listeners are told by real jobs.
type outbox struct {
	*bus.Outbox
	bus   *bus.Bus
	db    *postgres.DB
	queue *jobqueue.Queue
}

func newOutbox(t *testing.T) *outbox {
	t.Helper()
	o := &outbox{bus: bus.New(), db: postgrestest.New(t)}
	registry := jobqueue.NewRegistry()
	var err error
	if o.queue, err = jobqueue.New(o.db, registry, slog.New(slog.DiscardHandler), 4); err != nil {
		t.Fatal(err)
	}
	o.Outbox = bus.NewOutbox(o.bus, o.db, o.queue, registry)
	return o
}

func (o *outbox) start(t *testing.T) {
	t.Helper()
	if err := o.queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.queue.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

func (o *outbox) publish(t *testing.T, e bus.Event, then error) {
	t.Helper()
	err := o.db.InTx(t.Context(), func(tx pgx.Tx) error {
		return errors.Join(o.bus.Publish(t.Context(), tx, e), then)
	})
	if !errors.Is(err, then) {
		t.Fatal(err)
	}
}

func (o *outbox) jobs(t *testing.T) int {
	t.Helper()
	n, err := postgres.Value[int](t.Context(), o.db, `select count(*) from river_job`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// hears receives one value, or fails.
func hears[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing was heard")
		panic("unreachable")
	}
}

func TestEveryListenerHearsOfWhatWasCommittedAndOfNothingElse(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	mails, searches := make(chan moved, 10), make(chan moved, 10)
	bus.Later(o.Outbox, "mail", func(_ context.Context, e moved) error { mails <- e; return nil })
	bus.Later(o.Outbox, "search", func(_ context.Context, e moved) error { searches <- e; return nil })
	undone := errors.New("undone")
	o.publish(t, moved{ProjectID: 1, To: "nowhere"}, undone)
	if n := o.jobs(t); n != 0 {
		t.Fatalf("%d jobs of a transaction that was undone", n)
	}
	want := moved{ProjectID: 2, To: "house"}
	o.publish(t, want, nil)
	if n := o.jobs(t); n != 1 {
		t.Fatalf("%d jobs in the transaction of an event with two listeners", n)
	}
	o.start(t)
	if got := hears(t, mails); got != want {
		t.Errorf("mail heard %+v", got)
	}
	if got := hears(t, searches); got != want {
		t.Errorf("search heard %+v", got)
	}
}

func TestAListenerThatFailsIsTriedAgainAloneAndKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	var mu sync.Mutex
	tries := 0
	mended, heard := make(chan struct{}), make(chan moved, 10)
	bus.Later(o.Outbox, "broken", func(context.Context, moved) error {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries == 1 {
			return errors.New("the mail server is away")
		}
		close(mended)
		return nil
	})
	bus.Later(o.Outbox, "sound", func(_ context.Context, e moved) error { heard <- e; return nil })
	o.publish(t, moved{ProjectID: 1}, nil)
	o.start(t)
	hears(t, heard)
	hears(t, mended)
	if len(heard) != 0 {
		t.Error("the sound listener heard of it again")
	}
}

func TestEqualEventsAreHeardOfEach(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	heard := make(chan moved, 10)
	bus.Later(o.Outbox, "mail", func(_ context.Context, e moved) error { heard <- e; return nil })
	for range 3 {
		o.publish(t, moved{ProjectID: 7}, nil)
	}
	o.start(t)
	for range 3 {
		hears(t, heard)
	}
}

func TestAListenerThatIsNamedTwiceIsAMistake(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	add := func() { bus.Later(o.Outbox, "mail", func(context.Context, moved) error { return nil }) }
	add()
	defer func() {
		if recover() == nil {
			t.Error("two listeners have one name")
		}
	}()
	add()
}
