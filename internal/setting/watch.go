package setting

import (
	"context"
	"time"
)

const pollInterval = 30 * time.Second

// Watch loads what other nodes change, until ctx ends. The database tells it
// of each change at once; because a message can be lost with the connection
// that carries it, Watch also looks by itself from time to time.
func (s *Service) Watch(ctx context.Context) {
	s.watch(ctx, pollInterval)
}

func (s *Service) watch(ctx context.Context, poll time.Duration) {
	told := make(chan struct{}, 1)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.deps.DB.Listen(ctx, channel, func(string) {
			select {
			case told <- struct{}{}:
			default:
			}
		}, func(err error, retryIn time.Duration) {
			s.deps.Log.Warn("not told of new settings", "error", err, "retry_in", retryIn)
		})
	}()
	defer func() { <-stopped }()

	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
		case <-ticker.C:
		}
		if err := s.Load(ctx); err != nil && ctx.Err() == nil {
			s.deps.Log.Warn("settings may be stale", "error", err)
		}
	}
}
