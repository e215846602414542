package httpapi

import (
	"context"
	"errors"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/platform/lifecycle"
)

// Wait is the reply of an endpoint that has nothing to say yet. The request
// waits where it costs least, and its handler has returned.
type Wait struct {
	Of    string                                 // whose request it is; one may let so many wait
	Hold  time.Duration                          // at the most
	Begin func(wake func())                      // is given what ends the wait early
	Then  func(ctx context.Context) (any, error) // makes the reply, once; a ctx that has ended says that the client is gone
}

// parked is what is left of a request while it waits.
type parked struct {
	endpoint *Endpoint
	actor    access.Actor
	then     func(context.Context) (any, error)
}

// How many requests may wait at a time. The next one is answered at once, as if its time was over.
const (
	waitingOfOne   = 200  // of one runner, which many machines may share
	waitingFromOne = 2000 // from one address
)

func (x *Request) wait(ctx context.Context, w Wait) error {
	shares := []lifecycle.Share{{Of: w.Of, Most: waitingOfOne}}
	if !x.about.Address.IsLoopback() { // a proxy of this machine that nobody told us of would be one address
		shares = append(shares, lifecycle.Share{Of: "address " + x.about.Address.String(), Most: waitingFromOne})
	}
	err := lifecycle.Park(x.W, x.R, lifecycle.ParkOptions{
		Hold: w.Hold, Begin: w.Begin, Note: &parked{x.Endpoint, x.Actor, w.Then}, Shares: shares,
		Gone: func() {
			gone, cancel := context.WithCancel(context.Background())
			cancel()
			_, _ = w.Then(gone)
		},
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, lifecycle.ErrShare) { // there is nothing for them now
		return x.then(ctx, w.Then)
	}
	woken := make(chan struct{}, 1)
	w.Begin(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	timer := time.NewTimer(w.Hold)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-woken:
	}
	return x.then(ctx, w.Then)
}

// resume goes on with a request that was parked. It was checked when it came.
func (x *Request) resume(ctx context.Context, p *parked) error {
	x.Endpoint, x.Actor = p.endpoint, p.actor
	x.SetRoute(x.Endpoint)
	return x.then(ctx, p.then)
}

func (x *Request) then(ctx context.Context, then func(context.Context) (any, error)) error {
	reply, err := then(ctx)
	if err != nil {
		return err
	}
	return x.write(ctx, reply)
}
