// Package bus carries what happened from the room where it happened to those
// who react. An event is published inside the transaction that caused it: its
// reactions commit or vanish with the change. What must happen outside the
// transaction is queued by it, as a job.
package bus

import (
	"context"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
)

// Event is something that happened. Its name is for people and logs.
type Event interface{ EventName() string }

type reaction func(ctx context.Context, tx pgx.Tx, e Event) error

// Bus knows who reacts to what. Reactions are added while the application is
// put together, before the first event.
type Bus struct {
	byType map[reflect.Type][]reaction
	all    []reaction
}

// New returns a bus that nobody listens to.
func New() *Bus { return &Bus{byType: map[reflect.Type][]reaction{}} }

// On adds a reaction to one type of event. It runs in the transaction; an
// error from it undoes the change.
func On[E Event](b *Bus, react func(ctx context.Context, tx pgx.Tx, e E) error) {
	t := reflect.TypeFor[E]()
	b.byType[t] = append(b.byType[t], func(ctx context.Context, tx pgx.Tx, e Event) error {
		return react(ctx, tx, e.(E))
	})
}

// OnAny adds a reaction to every event, such as the audit trail.
func (b *Bus) OnAny(react func(ctx context.Context, tx pgx.Tx, e Event) error) {
	b.all = append(b.all, react)
}

// Publish runs the reactions to an event, in the order they were added.
func (b *Bus) Publish(ctx context.Context, tx pgx.Tx, e Event) error {
	for _, reactions := range [][]reaction{b.byType[reflect.TypeOf(e)], b.all} {
		for _, react := range reactions {
			if err := react(ctx, tx, e); err != nil {
				return fmt.Errorf("reacting to %s: %w", e.EventName(), err)
			}
		}
	}
	return nil
}
