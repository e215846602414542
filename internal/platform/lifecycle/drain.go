package lifecycle

import (
	"context"
	"time"
)

// Drain is a part that announces the end: listed last, it stops first. From then on Done is closed, so that
// readiness can say no and long polls can answer, while for the delay everything goes on as before and a
// balancer has time to look elsewhere. The delay counts against the grace period of Run.
type Drain struct {
	delay time.Duration
	done  chan struct{}
}

// NewDrain makes a Drain with a delay, which may be zero.
func NewDrain(delay time.Duration) *Drain {
	return &Drain{delay: delay, done: make(chan struct{})}
}

// Done is closed when draining begins.
func (d *Drain) Done() <-chan struct{} { return d.done }

// Component is what to list last.
func (d *Drain) Component() Component { return Component{Name: "drain", Stop: d.stop} }

func (d *Drain) stop(ctx context.Context) error {
	close(d.done)
	timer := time.NewTimer(d.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
