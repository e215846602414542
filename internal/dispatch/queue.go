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

// pendingJobs is the line of pending jobs.
type pendingJobs struct {
	db    *postgres.DB
	clock clock.Clock

	mu       sync.Mutex
	rankings map[string]*ranking
}

// enqueue adds a job in the transaction that made it pending, and tells every
// node when that commits.
func (q *pendingJobs) enqueue(ctx context.Context, tx pgx.Tx, jobID, projectID int64, tags []string, protected bool) error {
	tags = slices.Sorted(slices.Values(tags))
	if tags == nil {
		tags = []string{}
	}
	queue, err := postgres.Value[int64](ctx, tx, sqlFindQueue, projectID, protected, tags)
	if errors.Is(err, postgres.ErrNoRows) {
		if _, err = tx.Exec(ctx, sqlAddQueue, projectID, protected, tags, q.clock.Now()); err == nil {
			queue, err = postgres.Value[int64](ctx, tx, sqlFindQueue, projectID, protected, tags)
		}
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlEnqueue, jobID, queue, q.clock.Now()); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlTell, strconv.FormatInt(queue, 10))
	return err
}

// dequeue takes out a job that is no longer pending.
func (q *pendingJobs) dequeue(ctx context.Context, tx pgx.Tx, jobID int64) error {
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
func (q *pendingJobs) rankingOf(s *RunnerMatch) *ranking {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := s.key()
	l := q.rankings[key]
	if l == nil {
		if q.rankings == nil || len(q.rankings) >= maxRankings {
			q.rankings = map[string]*ranking{}
		}
		l = &ranking{}
		q.rankings[key] = l
	}
	return l
}

// best is the first queue of the ranking that was not tried. looked says that the
// caller has seen a fresh ranking, so that an empty one means what it says.
func (l *ranking) best(ctx context.Context, tx pgx.Tx, now time.Time, s *RunnerMatch, tried []int64, looked *bool) (queue Queue, found bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if age := now.Sub(l.at); age < 0 || age > rankingKept {
			if l.queues, err = postgres.All[ranked](ctx, tx, sqlRank, s.Scopes, s.Tags, s.Protected, s.Untagged, s.fair()); err != nil {
				return Queue{}, false, err
			}
			l.at, *looked = now, true
		}
		var first *ranked
		for i := range l.queues {
			if r := &l.queues[i]; !slices.Contains(tried, r.ID) && (first == nil || r.before(first)) {
				first = r
			}
		}
		if first != nil {
			return first.Queue, true, nil
		}
		if *looked {
			return Queue{}, false, nil
		}
		l.at = time.Time{}
	}
}

func (r *ranked) before(other *ranked) bool {
	return cmp.Or(cmp.Compare(r.Running, other.Running), cmp.Compare(r.Head, other.Head)) < 0
}

// served notes that a job of a queue was taken, or, with none, that it had none
// to take.
func (l *ranking) served(s *RunnerMatch, queue Queue, jobID int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if jobID == 0 {
		l.queues = slices.DeleteFunc(l.queues, func(r ranked) bool { return r.ID == queue.ID })
		return
	}
	for i := range l.queues {
		r := &l.queues[i]
		if r.ID == queue.ID {
			r.Head = jobID + 1
		}
		if s.fair() && r.ProjectID == queue.ProjectID {
			r.Running++
		}
	}
}

// taken is a job that a claim removed from the queue, with what its project
// says at this moment.
type taken struct {
	JobID    int64
	QueuedAt time.Time
	Serves   []int64
	Lineage  []int64
	Removal  bool
	Off      bool // it has no jobs any more
	Timeout  int64
	Running  int  // how many of its jobs runners of the instance have, up to 5
	More     bool // jobs of the queue
}

// take removes the next job that a match may have, in the transaction of the
// claim. A job that another claim holds is passed over. hint is a queue to look
// into first, since something was heard of it.
func (q *pendingJobs) take(ctx context.Context, tx pgx.Tx, s *RunnerMatch, hint *Queue) (t taken, queue Queue, found bool, err error) {
	order := q.rankingOf(s)
	var tried []int64
	looked := hint != nil // who was woken for one queue looks at that one
	for {
		if hint != nil {
			queue, hint = *hint, nil
		} else if queue, found, err = order.best(ctx, tx, q.clock.Now(), s, tried, &looked); err != nil || !found {
			return taken{}, Queue{}, false, err
		}
		t, err = postgres.One[taken](ctx, tx, sqlTake, queue.ID, queue.ProjectID)
		if err == nil {
			order.served(s, queue, t.JobID)
			return t, queue, true, nil
		}
		if !errors.Is(err, postgres.ErrNoRows) {
			return taken{}, Queue{}, false, err
		}
		order.served(s, queue, 0)
		tried = append(tried, queue.ID)
	}
}
