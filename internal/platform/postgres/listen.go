package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pauses before a lost connection is made again.
const (
	minPause = 250 * time.Millisecond
	maxPause = 30 * time.Second
)

// Listen calls told with each message that comes on a channel, until ctx ends. When it begins to listen it calls told with an
// empty one, since others may have been missed. It connects again whenever the connection is lost, with pauses that grow
// while that fails, and calls lost each time. The connection is its own: a borrowed one would be missing from the pool
// for good.
func (db *DB) Listen(ctx context.Context, channel string, told func(message string), lost func(err error, retryIn time.Duration)) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	wait := minPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		heard, err := db.listen(ctx, channel, told)
		if ctx.Err() != nil {
			return
		}
		if heard {
			wait = minPause
		}
		lost(err, wait)
		pause.Reset(wait)
		wait = min(2*wait, maxPause)
	}
}

// listen passes messages on until the connection or ctx ends; heard reports whether it got so far as to listen.
func (db *DB) listen(ctx context.Context, channel string, told func(message string)) (heard bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, db.Pool().Config().ConnConfig)
	if err != nil {
		return false, fmt.Errorf("connecting: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return false, fmt.Errorf("listening: %w", err)
	}
	told("")
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true, fmt.Errorf("waiting: %w", err)
		}
		told(n.Payload)
	}
}
