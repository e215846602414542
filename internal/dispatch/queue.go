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

// pendingJobs is the queue of pending jobs: all lanes.
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
	lane, err := postgres.Value[int64](ctx, tx, sqlFindLane, projectID, protected, tags)
	if errors.Is(err, postgres.ErrNoRows) {
		if _, err = tx.Exec(ctx, sqlAddLane, projectID, protected, tags, q.clock.Now()); err == nil {
			lane, err = postgres.Value[int64](ctx, tx, sqlFindLane, projectID, protected, tags)
		}
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlEnqueue, jobID, lane, q.clock.Now()); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlTell, strconv.FormatInt(lane, 10))
	return err
}

// dequeue takes out a job that is no longer pending.
func (q *pendingJobs) dequeue(ctx context.Context, tx pgx.Tx, jobID int64) error {
	_, err := tx.Exec(ctx, sqlDequeue, jobID)
	return err
}

// ranked is a lane as a match sees it.
type ranked struct {
	Lane
	Head    int64 // its oldest job
	Running int64 // how many jobs of the project run on runners of the instance
}

// ranking is in which order runners of one kind serve the lanes. It is kept for
// a moment: where many runners ask at once, one look serves them all. Only the
// order may be stale: that there is nothing is always looked up afresh.
type ranking struct {
	mu    sync.Mutex
	at    time.Time
	lanes []ranked
}

const (
	rankingKept = 100 * time.Millisecond
	maxRankings = 1000
)

// rankingOf finds or starts the ranking for runners that may take the same jobs.
func (q *pendingJobs) rankingOf(m *RunnerMatch) *ranking {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := m.key()
	r := q.rankings[key]
	if r == nil {
		if q.rankings == nil || len(q.rankings) >= maxRankings {
			q.rankings = map[string]*ranking{}
		}
		r = &ranking{}
		q.rankings[key] = r
	}
	return r
}

// best returns the best untried lane. If the cached ranking has none left, it is
// read again once, when *mayRefresh is set. Reading it, which also happens when
// it is older than rankingKept, clears the flag.
func (r *ranking) best(ctx context.Context, tx pgx.Tx, now time.Time, m *RunnerMatch, tried []int64, mayRefresh *bool) (lane Lane, found bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if age := now.Sub(r.at); age < 0 || age > rankingKept {
			if r.lanes, err = postgres.All[ranked](ctx, tx, sqlRank, m.Scopes, m.Tags, m.Protected, m.Untagged, m.fair()); err != nil {
				return Lane{}, false, err
			}
			r.at, *mayRefresh = now, false
		}
		var first *ranked
		for i := range r.lanes {
			if l := &r.lanes[i]; !slices.Contains(tried, l.ID) && (first == nil || l.before(first)) {
				first = l
			}
		}
		if first != nil {
			return first.Lane, true, nil
		}
		if !*mayRefresh {
			return Lane{}, false, nil
		}
		r.at = time.Time{}
	}
}

func (l *ranked) before(other *ranked) bool {
	return cmp.Or(cmp.Compare(l.Running, other.Running), cmp.Compare(l.Head, other.Head)) < 0
}

// taken notes that a job of a lane was taken.
func (r *ranking) taken(m *RunnerMatch, lane Lane, jobID int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.lanes {
		l := &r.lanes[i]
		if l.ID == lane.ID {
			l.Head = jobID + 1 // a guess, corrected when the ranking is read again
		}
		if m.fair() && l.ProjectID == lane.ProjectID {
			l.Running++
		}
	}
}

// emptied notes that a lane had no job to take.
func (r *ranking) emptied(lane Lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes = slices.DeleteFunc(r.lanes, func(l ranked) bool { return l.ID == lane.ID })
}

// taken is a job that a claim removed from the queue, with what its project
// says at this moment.
type taken struct {
	JobID      int64
	QueuedAt   time.Time
	Serves     []int64 // whose runners may take it; see Lane.Serves
	Lineage    []int64
	Removal    bool  // the project is being deleted
	CIDisabled bool  // CI/CD is switched off in the project
	Timeout    int64 // seconds
	Running    int   // how many of its jobs runners of the instance have, up to 5
	More       bool  // the lane has further jobs
}

// take removes the next job that a match may have, in the transaction of the
// claim. A job that another claim holds is passed over. hint is a lane to look
// into first, since something was heard of it.
func (q *pendingJobs) take(ctx context.Context, tx pgx.Tx, m *RunnerMatch, hint *Lane) (t taken, lane Lane, found bool, err error) {
	order := q.rankingOf(m)
	var tried []int64
	mayRefresh := hint == nil // a runner woken for one lane tries that lane and the ranking as it is kept
	for {
		if hint != nil {
			lane, hint = *hint, nil
		} else if lane, found, err = order.best(ctx, tx, q.clock.Now(), m, tried, &mayRefresh); err != nil || !found {
			return taken{}, Lane{}, false, err
		}
		t, err = postgres.One[taken](ctx, tx, sqlTake, lane.ID, lane.ProjectID)
		if err == nil {
			order.taken(m, lane, t.JobID)
			return t, lane, true, nil
		}
		if !errors.Is(err, postgres.ErrNoRows) {
			return taken{}, Lane{}, false, err
		}
		order.emptied(lane)
		tried = append(tried, lane.ID)
	}
}
