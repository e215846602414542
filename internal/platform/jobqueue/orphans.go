package jobqueue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// A process that works jobs holds a lock in the database as long as it lives.
// Jobs of one that does not are put back, so that they need not wait until the
// longest of them would have ended.
const (
	// orphanInterval is how often it is looked for jobs of dead processes. Of
	// a process that is found dead twice in a row they are put back: one that
	// lost its connection has taken its lock anew by then.
	orphanInterval = 10 * time.Second

	sqlAlive = `select pg_advisory_lock(7405, hashtext($1))`
	sqlDead  = `
with owners as materialized (
	select distinct attempted_by[cardinality(attempted_by)] as id from river_job where state = 'running'
)
select id from owners where id <> $1 and pg_try_advisory_xact_lock(7405, hashtext(id))`
	sqlPutBack = `
update river_job set state = 'available', scheduled_at = now()
where state = 'running' and attempted_by[cardinality(attempted_by)] = any($1)`
)

// keeper is the sign of life of a queue, and looks for that of others.
type keeper struct {
	*Queue
	id     string
	conn   *pgx.Conn
	missed map[string]bool // who was found dead the last time
	stop   context.CancelFunc
	done   chan struct{}
}

// keep begins before the first job does.
func (q *Queue) keep(ctx context.Context, id string) (*keeper, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	k := &keeper{Queue: q, id: id, stop: stop, done: make(chan struct{})}
	if err := k.live(ctx); err != nil {
		stop()
		return nil, err
	}
	go k.watch(ctx)
	return k, nil
}

// live takes the lock, on a connection that does nothing else.
func (k *keeper) live(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, k.db.Pool().Config().ConnConfig.Copy())
	if err != nil {
		return fmt.Errorf("connecting for jobs: %w", err)
	}
	if _, err := conn.Exec(ctx, sqlAlive, k.id); err != nil {
		_ = conn.Close(ctx)
		return fmt.Errorf("taking the lock of a worker: %w", err)
	}
	k.conn = conn
	return nil
}

func (k *keeper) watch(ctx context.Context) {
	defer close(k.done)
	defer func() { _ = k.conn.Close(context.WithoutCancel(ctx)) }()
	tick := time.NewTicker(k.orphans)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := k.look(ctx)
		if err != nil && k.conn.IsClosed() && ctx.Err() == nil {
			err = k.live(ctx)
		}
		if err != nil && ctx.Err() == nil {
			k.log.Warn("looking for jobs of dead processes", "error", err)
		}
	}
}

// look puts jobs back whose process is dead for the second time.
func (k *keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.orphans)
	defer cancel()
	dead, err := postgres.Values[string](ctx, k.conn, sqlDead, k.id)
	if err != nil {
		return err
	}
	gone := slices.DeleteFunc(slices.Clone(dead), func(id string) bool { return !k.missed[id] })
	k.missed = map[string]bool{}
	for _, id := range dead {
		k.missed[id] = true
	}
	if len(gone) == 0 {
		return nil
	}
	tag, err := k.conn.Exec(ctx, sqlPutBack, gone)
	if err == nil {
		k.log.Warn("jobs of dead processes were put back", "jobs", tag.RowsAffected())
	}
	return err
}

// end is called when no job runs any more.
func (k *keeper) end() {
	k.stop()
	<-k.done
}
