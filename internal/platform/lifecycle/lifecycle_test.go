package lifecycle_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stithy/internal/platform/lifecycle"
)

// diary notes what happens to components. Run touches one at a time, so it needs no lock.
type diary []string

func (d *diary) component(name string) lifecycle.Component {
	return lifecycle.Component{
		Name:  name,
		Start: func(context.Context) error { *d = append(*d, "start "+name); return nil },
		Stop:  func(context.Context) error { *d = append(*d, "stop "+name); return nil },
	}
}

func (d *diary) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(*d, want) {
		t.Errorf("got %q, want %q", *d, want)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestPartsStartInOrderAndStopInReverse(t *testing.T) {
	t.Parallel()
	var d diary
	ctx, cancel := context.WithCancel(t.Context())
	last := d.component("c")
	last.Start = func(context.Context) error { cancel(); return nil }
	if err := lifecycle.Run(ctx, quiet(), time.Minute, d.component("a"), d.component("b"), last, lifecycle.Component{Name: "idle"}); err != nil {
		t.Errorf("an end that was asked for gives %v", err)
	}
	d.expect(t, "start a", "start b", "stop c", "stop b", "stop a")
}

func TestAPartThatCannotStartStopsTheOthers(t *testing.T) {
	t.Parallel()
	var d diary
	broken := d.component("broken")
	failure := errors.New("port taken")
	broken.Start = func(context.Context) error { return failure }
	err := lifecycle.Run(t.Context(), quiet(), time.Minute, d.component("a"), d.component("b"), broken, d.component("c"))
	if !errors.Is(err, failure) || err.Error() != "starting broken: port taken" {
		t.Errorf("got %v", err)
	}
	d.expect(t, "start a", "start b", "stop b", "stop a")
}

func TestBeingToldToStopWhileStartingIsNoError(t *testing.T) {
	t.Parallel()
	var d diary
	ctx, cancel := context.WithCancel(t.Context())
	slow := d.component("slow")
	slow.Start = func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }
	if err := lifecycle.Run(ctx, quiet(), time.Minute, d.component("a"), slow, d.component("b")); err != nil {
		t.Errorf("got %v", err)
	}
	d.expect(t, "start a", "stop a")
}

func TestAPartThatDiesStopsTheOthersInReverse(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	for _, row := range []struct {
		died error
		want string
	}{{failure, "b: disk full"}, {nil, "b: ended without being asked to"}} {
		var d diary
		mortal := d.component("b")
		died := make(chan error, 1)
		died <- row.died
		mortal.Died = died
		err := lifecycle.Run(t.Context(), quiet(), time.Minute, d.component("a"), mortal, d.component("c"))
		if err == nil || err.Error() != row.want || row.died != nil && !errors.Is(err, row.died) {
			t.Errorf("got %v, want %s", err, row.want)
		}
		d.expect(t, "start a", "start b", "start c", "stop c", "stop b", "stop a")
	}
}

func TestAPartThatDoesNotStopIsLeftBehindAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan struct{})
		obedient, deaf := d.component("obedient"), d.component("deaf")
		obedient.Stop = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		deaf.Stop = func(context.Context) error { <-cancelled; return nil }
		last := lifecycle.Component{Start: func(context.Context) error { cancel(); return nil }}
		began := time.Now()
		err := lifecycle.Run(ctx, quiet(), 30*time.Second, d.component("a"), deaf, obedient, last)
		if took := time.Since(began); took != 31*time.Second {
			t.Errorf("it took %v", took)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stopping deaf: it goes on") {
			t.Errorf("got %v", err)
		}
		d.expect(t, "start a", "start deaf", "start obedient", "stop a")
		close(cancelled)
	})
}

func TestDrainingIsAnnouncedAndTheOthersGoOnForTheDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		drain := lifecycle.NewDrain(5 * time.Second)
		announced := make(chan time.Time, 1)
		var stopped time.Time
		listener := lifecycle.Component{Name: "listener", Stop: func(context.Context) error { stopped = time.Now(); return nil }}
		go func() { <-drain.Done(); announced <- time.Now() }()
		ended := make(chan error)
		go func() { ended <- lifecycle.Run(ctx, quiet(), 30*time.Second, listener, drain.Component()) }()
		synctest.Wait()
		if len(announced) > 0 {
			t.Error("draining began too early")
		}
		told := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("got %v", err)
		}
		if waited := (<-announced).Sub(told); waited != 0 {
			t.Errorf("announced after %v", waited)
		}
		if waited := stopped.Sub(told); waited != 5*time.Second {
			t.Errorf("stopped after %v", waited)
		}
	})
}
