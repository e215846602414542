package bus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/bus"
)

type born struct{ name string }

func (born) EventName() string { return "born" }

type died struct{}

func (died) EventName() string { return "died" }

func TestAnEventReachesItsReactionsAndThoseToAnyEvent(t *testing.T) {
	t.Parallel()
	b := bus.New()
	var heard []string
	bus.On(b, func(_ context.Context, _ pgx.Tx, e born) error {
		heard = append(heard, "when "+e.name)
		return nil
	})
	b.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		heard = append(heard, "always "+e.EventName())
		return nil
	})
	for _, e := range []bus.Event{born{"ann"}, died{}} {
		if err := b.Publish(t.Context(), nil, e); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"when ann", "always born", "always died"}
	if len(heard) != len(want) {
		t.Fatalf("heard %v", heard)
	}
	for i := range want {
		if heard[i] != want[i] {
			t.Errorf("heard %v, want %v", heard, want)
		}
	}
}

func TestAReactionThatFailsFailsTheEvent(t *testing.T) {
	t.Parallel()
	b, full := bus.New(), errors.New("disk full")
	bus.On(b, func(context.Context, pgx.Tx, born) error { return full })
	b.OnAny(func(context.Context, pgx.Tx, bus.Event) error {
		t.Error("a reaction to any event ran for one that was undone")
		return nil
	})
	if err := b.Publish(t.Context(), nil, born{}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
