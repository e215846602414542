package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// useUninterrupted keeps connections from being used again on which a context ended while they were in use. The driver
// interrupts them by a deadline, which it takes back. What reads in the background meanwhile, as it does after a slow
// write, keeps the error, and the next to use the connection would be told that it timed out.
func useUninterrupted(cfg *pgxpool.Config) {
	build := cfg.ConnConfig.BuildContextWatcherHandler
	cfg.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { return &interrupts{build(c), c} }
	cfg.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		_, interrupted := c.PgConn().CustomData()[interruptedKey]
		return !interrupted, nil
	}
}

const interruptedKey = "interrupted"

// interrupts remembers that a connection was interrupted.
type interrupts struct {
	ctxwatch.Handler
	conn *pgconn.PgConn
}

func (i *interrupts) HandleUnwatchAfterCancel() {
	i.Handler.HandleUnwatchAfterCancel()
	i.conn.CustomData()[interruptedKey] = true
}
