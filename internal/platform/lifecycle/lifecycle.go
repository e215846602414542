// Package lifecycle owns how the process starts and ends: parts start in order, stop in reverse order within
// a grace period, and the death of one is the end of all. It also owns the HTTP listener, because a listener
// is mostly beginnings and endings.
//
// It does not catch signals: the caller's context ends when it is time to go.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

const lastMoment = time.Second

// Component is a piece of the process that is started and stopped. Every member but Name may be nil.
type Component struct {
	Name string

	// Start returns when the part is ready for those listed after it. Its context bounds the start alone:
	// work that goes on in the background must outlive it, until Stop. A start that fails leaves nothing behind.
	Start func(ctx context.Context) error

	// Stop returns when the part has finished its work, or has given up because ctx ended. It may be called
	// for a part that has died.
	Stop func(ctx context.Context) error

	// Died delivers the error that ended a part which should have gone on.
	Died <-chan error
}

// Run starts the parts in order and waits until ctx ends or a part dies; then it stops what has started in
// reverse order. All stops together have the grace period; a part that overstays it is left behind. The error
// is nil after an end that was asked for.
func Run(ctx context.Context, log *slog.Logger, grace time.Duration, components ...Component) error {
	started, err := start(ctx, log, components)
	if err == nil {
		err = wait(ctx, components)
	}
	if err != nil {
		log.Error("going down", "error", err)
	} else {
		log.Info("stopping", "grace", grace)
	}
	// ctx has ended; what stops keeps its values and gets a deadline of its own.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for _, component := range slices.Backward(components[:started]) {
		if stopErr := stop(ctx, component); stopErr != nil {
			log.Error("part did not stop cleanly", "part", component.Name, "error", stopErr)
			err = errors.Join(err, stopErr)
			continue
		}
		log.Info("part stopped", "part", component.Name)
	}
	return err
}

// start reports how many parts run. Being told to stop while starting is no error.
func start(ctx context.Context, log *slog.Logger, components []Component) (started int, err error) {
	for i, component := range components {
		if ctx.Err() != nil {
			return i, nil
		}
		if component.Start == nil {
			continue
		}
		if err := component.Start(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return i, nil
			}
			return i, fmt.Errorf("starting %s: %w", component.Name, err)
		}
		log.Info("part started", "part", component.Name)
	}
	return len(components), nil
}

func wait(ctx context.Context, components []Component) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dead := make(chan error, len(components))
	for _, component := range components {
		if component.Died == nil {
			continue
		}
		go func() {
			select {
			case <-ctx.Done():
			case err := <-component.Died:
				if err == nil {
					err = errors.New("ended without being asked to")
				}
				dead <- fmt.Errorf("%s: %w", component.Name, err)
			}
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-dead:
		return err
	}
}

// stop comes back even if the part does not. A part that obeys its context needs a moment after the end of the
// grace period, to cut what is left.
func stop(ctx context.Context, component Component) error {
	if component.Stop == nil {
		return nil
	}
	stopped := make(chan error, 1)
	go func() { stopped <- component.Stop(ctx) }()
	deadline, _ := ctx.Deadline()
	patience := time.NewTimer(max(0, time.Until(deadline)) + lastMoment)
	defer patience.Stop()
	select {
	case err := <-stopped:
		if err != nil {
			return fmt.Errorf("stopping %s: %w", component.Name, err)
		}
		return nil
	case <-patience.C:
		return fmt.Errorf("stopping %s: it goes on after the grace period", component.Name)
	}
}
