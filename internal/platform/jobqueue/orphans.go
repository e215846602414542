package jobqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// A process that works jobs holds a lock in the database as long as it lives.
// Jobs of one that does not are put back, so that they need not wait until the
// longest of them would have ended. So are jobs that the database believes to
// run in this process, which does not know them: the answer that gave it the
// job was lost with the connection, or the news that it had ended.
const (
	// orphanInterval is how often it is looked for such jobs. What is found
	// twice in a row is put back: a process that lost its connection has taken
	// its lock anew by then, and a job that has just ended has said so.
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

	sqlOwn = `
select id, (extract(epoch from attempted_at) * 1000000)::bigint as began
from river_job where state = 'running' and attempted_by[cardinality(attempted_by)] = $1`
	sqlPutBackOwn = `
update river_job set state = 'available', scheduled_at = now()
where state = 'running' and attempted_by[cardinality(attempted_by)] = $1
	and (id, (extract(epoch from attempted_at) * 1000000)::bigint) in (select l.id, l.began from unnest($2::bigint[], $3::bigint[]) as l (id, began))`
)

// attempt is one run of a job, as the database tells it from the next.
type attempt struct{ ID, Began int64 }

// working are the jobs that run in this process.
type working struct {
	mutex sync.Mutex
	jobs  map[int64]bool
}

func (w *working) begin(id int64) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.jobs[id] = true
}

func (w *working) end(id int64) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.jobs, id)
}

func (w *working) has(id int64) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.jobs[id]
}

// keeper is the sign of life of a queue, and looks for that of others.
type keeper struct {
	*Queue
	id     string
	conn   *pgx.Conn
	missed map[string]bool  // who was found dead the last time
	lost   map[attempt]bool // what this process did not know then
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

// look puts jobs back that were found without a process that works them for the
// second time.
func (k *keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.orphans)
	defer cancel()
	return errors.Join(k.lookForDead(ctx), k.lookForLost(ctx))
}

func (k *keeper) lookForDead(ctx context.Context) error {
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

func (k *keeper) lookForLost(ctx context.Context) error {
	own, err := postgres.All[attempt](ctx, k.conn, sqlOwn, k.id)
	if err != nil {
		return err
	}
	lost := map[attempt]bool{}
	var ids, began []int64
	for _, a := range own {
		if k.working.has(a.ID) {
			continue
		}
		if lost[a] = true; k.lost[a] {
			ids, began = append(ids, a.ID), append(began, a.Began)
		}
	}
	k.lost = lost
	if len(ids) == 0 {
		return nil
	}
	tag, err := k.conn.Exec(ctx, sqlPutBackOwn, k.id, ids, began)
	if err == nil {
		k.log.Warn("jobs that were lost with a connection were put back", "jobs", tag.RowsAffected())
	}
	return err
}

// end is called when no job runs any more.
func (k *keeper) end() {
	k.stop()
	<-k.done
}
