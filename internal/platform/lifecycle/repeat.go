package lifecycle

import (
	"context"
	"log/slog"
	"time"
)

// Repeat is a part that does its work now and then, and once more when the process stops. Each time has a timeout; what
// fails is logged and tried the next time.
func Repeat(name string, log *slog.Logger, every, timeout time.Duration, work func(ctx context.Context) error) Component {
	stop, stopped := make(chan struct{}), make(chan struct{})
	run := func() {
		defer close(stopped)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			if err := work(ctx); err != nil {
				log.Warn("left for the next time", "part", name, "error", err.Error())
			}
			cancel()
		}
	}
	return Component{
		Name:  name,
		Start: func(context.Context) error { go run(); return nil },
		Stop: func(ctx context.Context) error {
			close(stop)
			select {
			case <-stopped:
			case <-ctx.Done():
				return ctx.Err()
			}
			return work(ctx)
		},
	}
}
