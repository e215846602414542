package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"stithy/internal/platform/clock"
)

// CauseKey is the attribute of an event that names its cause, where very many requests fail for one cause at a time.
// Of such events one is written for each cause and interval, with the number of those that it stands for.
const CauseKey = "cause"

const repeatInterval = 10 * time.Second

// repeats is a handler that leaves out what was just said.
type repeats struct {
	slog.Handler
	said *said
}

// said is what a handler and those that were made from it remember. Causes are few: they stand in the code.
type said struct {
	clock clock.Clock
	mu    sync.Mutex
	by    map[string]*occurrence
}

type occurrence struct {
	until time.Time
	more  int64 // events that were not written
}

// WithoutRepeats writes an event with a cause once for each interval.
func WithoutRepeats(next slog.Handler, now clock.Clock) slog.Handler {
	return repeats{next, &said{clock: now, by: map[string]*occurrence{}}}
}

func (h repeats) Handle(ctx context.Context, event slog.Record) error {
	cause := ""
	event.Attrs(func(a slog.Attr) bool {
		if a.Key == CauseKey {
			cause = a.Value.String()
		}
		return cause == ""
	})
	if cause == "" {
		return h.Handler.Handle(ctx, event)
	}
	more, first := h.said.again(cause)
	if !first {
		return nil
	}
	event.AddAttrs(slog.Int64("repeated", more))
	return h.Handler.Handle(ctx, event)
}

// again counts an event. It is written if it is the first of its interval, with the number of those before it that
// were not.
func (s *said) again(cause string) (more int64, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, o := s.clock.Now(), s.by[cause]
	if o == nil {
		o = &occurrence{}
		s.by[cause] = o
	}
	if now.Before(o.until) {
		o.more++
		return 0, false
	}
	more, o.more, o.until = o.more, 0, now.Add(repeatInterval)
	return more, true
}

func (h repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return repeats{h.Handler.WithAttrs(attrs), h.said}
}

func (h repeats) WithGroup(name string) slog.Handler {
	return repeats{h.Handler.WithGroup(name), h.said}
}
