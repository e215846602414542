package setting

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	pollInterval = 30 * time.Second
	minPause     = 250 * time.Millisecond
	maxPause     = 30 * time.Second
)

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
		s.keepListening(ctx, told)
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
			s.log.Warn("settings may be stale", "error", err)
		}
	}
}

// keepListening connects again whenever the connection is lost, with pauses
// that grow while it fails.
func (s *Service) keepListening(ctx context.Context, told chan<- struct{}) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	wait := minPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		heard, err := s.listen(ctx, told)
		if ctx.Err() != nil {
			return
		}
		if heard {
			wait = minPause
		}
		s.log.Warn("not told of new settings", "error", err, "retry_in", wait)
		pause.Reset(wait)
		wait = min(2*wait, maxPause)
	}
}

// listen passes messages on until the connection or ctx ends; heard reports
// whether it got so far as to listen. The connection is its own: a borrowed
// one would be missing from the pool for good.
func (s *Service) listen(ctx context.Context, told chan<- struct{}) (heard bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, s.db.Pool().Config().ConnConfig)
	if err != nil {
		return false, fmt.Errorf("connecting: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, sqlListen); err != nil {
		return false, fmt.Errorf("listening: %w", err)
	}
	for {
		// The first round makes up for messages that came before.
		select {
		case told <- struct{}{}:
		default:
		}
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return true, fmt.Errorf("waiting: %w", err)
		}
	}
}
