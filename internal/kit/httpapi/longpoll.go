package httpapi

import (
	"context"
	"errors"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/lifecycle"
)

// Wait is the reply of an endpoint that has nothing to say yet. The request
// waits where it costs least, and its handler has returned.
type Wait[R any] struct {
	Of    string                                      // whose request it is; one may let so many wait
	Hold  time.Duration                               // at the most
	Begin func(wake func())                           // is given what ends the wait early
	Then  func(ctx context.Context) (Later[R], error) // makes the reply, once; a ctx that has ended says that the client is gone
}

// Later is the reply of an endpoint that may have to wait for it. Like an Either it holds one of two, and the zero one nothing.
type Later[R any] struct{ held any }

// Now is a reply that need not wait, or no longer.
func (Later[R]) Now(reply R) Later[R] { return Later[R]{reply} }

// Wait is a reply that is not there yet.
func (Later[R]) Wait(w Wait[R]) Later[R] { return Later[R]{w} }

func (l Later[R]) form() any { return l.held }

// waiting is a Wait for any reply.
type waiting interface{ untyped() wait }

type wait struct {
	of    string
	hold  time.Duration
	begin func(wake func())
	then  func(ctx context.Context) (any, error)
}

func (w Wait[R]) untyped() wait {
	return wait{w.Of, w.Hold, w.Begin, func(ctx context.Context) (any, error) { return w.Then(ctx) }}
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

func (x *Request) wait(ctx context.Context, w wait) error {
	shares := []lifecycle.Share{{Of: w.of, Most: waitingOfOne}}
	if !x.about.Address.IsLoopback() { // a proxy of this machine that nobody told us of would be one address
		shares = append(shares, lifecycle.Share{Of: "address " + fairshare.Network(x.about.Address), Most: waitingFromOne})
	}
	err := lifecycle.Park(x.W, x.R, lifecycle.ParkOptions{
		Hold: w.hold, Begin: w.begin, Note: &parked{x.Endpoint, x.Actor, w.then}, Shares: shares,
		Gone: func() {
			gone, cancel := context.WithCancel(context.Background())
			cancel()
			_, _ = w.then(gone)
		},
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, lifecycle.ErrShare) { // there is nothing for them now
		return x.then(ctx, w.then)
	}
	woken := make(chan struct{}, 1)
	w.begin(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	timer := time.NewTimer(w.hold)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-woken:
	}
	return x.then(ctx, w.then)
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
