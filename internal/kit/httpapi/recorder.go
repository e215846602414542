package httpapi

import (
	"context"
	"net/netip"

	"stithy/internal/kit/access"
)

// Recorder is what the entrance knows of a request, and what it is told of it for its log line and its metrics.
type Recorder struct {
	Address   netip.Addr // where the request came from
	RequestID string     // ties answers to log lines

	Route string       // of the endpoint or page that answers
	Actor access.Actor // who asks, once that is known
}

// SetRoute is told by whoever routed and authenticated the request.
func (r *Recorder) SetRoute(route string, a access.Actor) { r.Route, r.Actor = route, a }

type recorderKey struct{}

// WithRecorder is ctx with the recorder of a request.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, r)
}

// RecorderOf is the recorder of a request. It is never nil: without an entrance it is one that nobody reads.
func RecorderOf(ctx context.Context) *Recorder {
	if r, ok := ctx.Value(recorderKey{}).(*Recorder); ok {
		return r
	}
	return &Recorder{}
}
