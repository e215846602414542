package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// Outbox carries events to those who act on them after the commit: what mails, calls others or reads much has no place
// in the transaction of a push.
//
// Publishing an event inserts one job in its transaction, however many listen. That job inserts one for each listener, so
// each is tried again by itself. A listener hears of an event at least once, maybe more often and in any order.
type Outbox struct {
	bus    *Bus
	queue  Queue
	db     *postgres.DB
	byName map[string]*subscription // by the name of an event
}

// Queue is where jobs are inserted.
type Queue interface {
	Insert(ctx context.Context, tx pgx.Tx, args jobqueue.Args, options ...jobqueue.Option) error
}

// subscription is the listeners to one type of event.
type subscription struct {
	of        reflect.Type
	listeners []listener
}

type listener struct {
	name string
	hear func(ctx context.Context, body json.RawMessage) error
}

// EventArgs is an event whose listeners have yet to be told.
type EventArgs struct {
	ID   string          `json:"id"` // keeps two equal events apart
	Name string          `json:"name"`
	Body json.RawMessage `json:"body"`
}

// Kind names the job.
func (EventArgs) Kind() string { return "event" }

// ListenerArgs is an event for one listener.
type ListenerArgs struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Listener string          `json:"listener"`
	Body     json.RawMessage `json:"body"`
}

// Kind names the job.
func (ListenerArgs) Kind() string { return "event_listener" }

// NewOutbox adds the workers that carry events.
func NewOutbox(b *Bus, db *postgres.DB, q Queue, r *jobqueue.Registry) *Outbox {
	o := &Outbox{bus: b, queue: q, db: db, byName: map[string]*subscription{}}
	jobqueue.Register(r, o.fanOut)
	jobqueue.Register(r, o.deliver)
	return o
}

// Later adds a listener to one type of event. The event is kept as JSON until it is heard, so it holds ids and small
// values, and its listener reads the rest as it is then. The names of the event's type and of the listener are in the
// database as long; they never change.
func Later[E Event](o *Outbox, name string, hear func(ctx context.Context, e E) error) {
	var zero E
	event := zero.EventName()
	l := o.byName[event]
	if l == nil {
		l = &subscription{of: reflect.TypeFor[E]()}
		o.byName[event] = l
		On(o.bus, func(ctx context.Context, tx pgx.Tx, e E) error {
			body, err := json.Marshal(e)
			if err != nil {
				return err
			}
			return o.queue.Insert(ctx, tx, EventArgs{ID: rand.Text(), Name: event, Body: body})
		})
	}
	if l.of != reflect.TypeFor[E]() || slices.ContainsFunc(l.listeners, func(other listener) bool { return other.name == name }) {
		panic(fmt.Sprintf("bus: %s listens to %s twice, or two events have that name", name, event))
	}
	l.listeners = append(l.listeners, listener{name, func(ctx context.Context, body json.RawMessage) error {
		var e E
		if err := json.Unmarshal(body, &e); err != nil {
			return fmt.Errorf("reading an event %s: %w", event, err)
		}
		return hear(ctx, e)
	}})
}

// fanOut inserts a job for each listener. One that is inserted twice, because a process died in between, is told twice.
func (o *Outbox) fanOut(ctx context.Context, args EventArgs) error {
	l := o.byName[args.Name]
	if l == nil {
		return fmt.Errorf("nobody on this node listens to the event %s", args.Name)
	}
	return o.db.InTx(ctx, func(tx pgx.Tx) error {
		for _, to := range l.listeners {
			job := ListenerArgs{ID: args.ID, Name: args.Name, Listener: to.name, Body: args.Body}
			if err := o.queue.Insert(ctx, tx, job, jobqueue.Unique()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *Outbox) deliver(ctx context.Context, args ListenerArgs) error {
	if l := o.byName[args.Name]; l != nil {
		for _, to := range l.listeners {
			if to.name == args.Listener {
				return to.hear(ctx, args.Body)
			}
		}
	}
	return fmt.Errorf("%s does not listen to the event %s on this node", args.Listener, args.Name)
}
