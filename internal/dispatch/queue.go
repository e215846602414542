package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
)

// pendingJobs is all queues of pending jobs.
type pendingJobs struct {
	db    *postgres.DB
	clock clock.Clock

	mu       sync.Mutex
	rankings map[string]*ranking
}

// enqueue adds a job in the transaction that made it pending, and tells every
// node when that commits.
func (p *pendingJobs) enqueue(ctx context.Context, tx pgx.Tx, jobID, projectID int64, tags []string, protected bool) error {
	tags = slices.Sorted(slices.Values(tags))
	if tags == nil {
		tags = []string{}
	}
	queue, err := postgres.Value[int64](ctx, tx, sqlFindQueue, projectID, protected, tags)
	if errors.Is(err, postgres.ErrNoRows) {
		if _, err = tx.Exec(ctx, sqlAddQueue, projectID, protected, tags, p.clock.Now()); err == nil {
			queue, err = postgres.Value[int64](ctx, tx, sqlFindQueue, projectID, protected, tags)
		}
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlEnqueue, jobID, queue, p.clock.Now()); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlTell, strconv.FormatInt(queue, 10))
	return err
}

// dequeue takes out a job that is no longer pending.
func (p *pendingJobs) dequeue(ctx context.Context, tx pgx.Tx, jobID int64) error {
	_, err := tx.Exec(ctx, sqlDequeue, jobID)
	return err
}

// ranked is a queue as a match sees it.
type ranked struct {
	Queue
	Head    int64 // its oldest job
	Running int64 // how many jobs of the project run on runners of the instance
}

// ranking is in which order runners of one kind serve the queues. It is kept for
// a moment: where many runners ask at once, one look serves them all. Only the
// order may be stale: that there is nothing is always looked up afresh.
type ranking struct {
	mu     sync.Mutex
	at     time.Time
	queues []ranked
}

const (
	rankingKept = 100 * time.Millisecond
	maxRankings = 1000
)

// rankingOf finds or starts the ranking for runners that may take the same jobs.
func (p *pendingJobs) rankingOf(m *RunnerMatch) *ranking {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := m.key()
	r := p.rankings[key]
	if r == nil {
		if p.rankings == nil || len(p.rankings) >= maxRankings {
			p.rankings = map[string]*ranking{}
		}
		r = &ranking{}
		p.rankings[key] = r
	}
	return r
}

// best returns the best untried queue. If the cached ranking has none left, it is
// read again once, when *mayRefresh is set. Reading it, which also happens when
// it is older than rankingKept, clears the flag.
func (r *ranking) best(ctx context.Context, tx pgx.Tx, now time.Time, m *RunnerMatch, tried []int64, mayRefresh *bool) (queue Queue, found bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if age := now.Sub(r.at); age < 0 || age > rankingKept {
			if r.queues, err = postgres.All[ranked](ctx, tx, sqlRank, m.Scopes, m.Tags, m.Protected, m.Untagged, m.fair()); err != nil {
				return Queue{}, false, err
			}
			r.at, *mayRefresh = now, false
		}
		var first *ranked
		for i := range r.queues {
			if q := &r.queues[i]; !slices.Contains(tried, q.ID) && (first == nil || q.before(first)) {
				first = q
			}
		}
		if first != nil {
			return first.Queue, true, nil
		}
		if !*mayRefresh {
			return Queue{}, false, nil
		}
		r.at = time.Time{}
	}
}

func (q *ranked) before(other *ranked) bool {
	return cmp.Or(cmp.Compare(q.Running, other.Running), cmp.Compare(q.Head, other.Head)) < 0
}

// taken notes that a job of a queue was taken.
func (r *ranking) taken(m *RunnerMatch, queue Queue, jobID int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.queues {
		q := &r.queues[i]
		if q.ID == queue.ID {
			q.Head = jobID + 1 // a guess, corrected when the ranking is read again
		}
		if m.fair() && q.ProjectID == queue.ProjectID {
			q.Running++
		}
	}
}

// emptied notes that a queue had no job to take.
func (r *ranking) emptied(queue Queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues = slices.DeleteFunc(r.queues, func(q ranked) bool { return q.ID == queue.ID })
}

// taken is a job that a claim removed from the queue, with what its project
// says at this moment.
type taken struct {
	JobID      int64
	QueuedAt   time.Time
	Serves     []int64 // whose runners may take it; see Queue.Serves
	Lineage    []int64
	Removal    bool  // the project is being deleted
	CIDisabled bool  // CI/CD is switched off in the project
	Timeout    int64 // seconds
	Running    int   // how many of its jobs runners of the instance have, up to 5
	More       bool  // the queue has further jobs
}

// take removes the next job that a match may have, in the transaction of the
// claim. A job that another claim holds is passed over. hint is a queue to look
// into first, since something was heard of it.
func (p *pendingJobs) take(ctx context.Context, tx pgx.Tx, m *RunnerMatch, hint *Queue) (t taken, queue Queue, found bool, err error) {
	order := p.rankingOf(m)
	var tried []int64
	mayRefresh := hint == nil // a runner woken for one queue tries that queue and the ranking as it is kept
	for {
		if hint != nil {
			queue, hint = *hint, nil
		} else if queue, found, err = order.best(ctx, tx, p.clock.Now(), m, tried, &mayRefresh); err != nil || !found {
			return taken{}, Queue{}, false, err
		}
		t, err = postgres.One[taken](ctx, tx, sqlTake, queue.ID, queue.ProjectID)
		if err == nil {
			order.taken(m, queue, t.JobID)
			return t, queue, true, nil
		}
		if !errors.Is(err, postgres.ErrNoRows) {
			return taken{}, Queue{}, false, err
		}
		order.emptied(queue)
		tried = append(tried, queue.ID)
	}
}
