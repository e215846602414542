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

// queue is the line of pending jobs.
type queue struct {
	db    *postgres.DB
	clock clock.Clock

	mu      sync.Mutex
	lineups map[string]*lineup
}

// enqueue adds a job in the transaction that made it pending, and tells every
// node when that commits.
func (q *queue) enqueue(ctx context.Context, tx pgx.Tx, jobID, projectID int64, tags []string, protected bool) error {
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
func (q *queue) dequeue(ctx context.Context, tx pgx.Tx, jobID int64) error {
	_, err := tx.Exec(ctx, sqlDequeue, jobID)
	return err
}

// ranked is a lane as a seeker sees it.
type ranked struct {
	Lane
	Head    int64 // its oldest job
	Running int64 // how many jobs of the project run on runners of the instance
}

// lineup is in which order runners of one kind serve the lanes. It is kept for
// a moment: where many runners ask at once, one look serves them all. Only the
// order may be stale: that there is nothing is always looked up afresh.
type lineup struct {
	mu    sync.Mutex
	at    time.Time
	lanes []ranked
}

const (
	lineupKept = 100 * time.Millisecond
	maxLineups = 1000
)

// lineupOf finds or starts the lineup of equal seekers.
func (q *queue) lineupOf(s *Seeker) *lineup {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := s.key()
	l := q.lineups[key]
	if l == nil {
		if q.lineups == nil || len(q.lineups) >= maxLineups {
			q.lineups = map[string]*lineup{}
		}
		l = &lineup{}
		q.lineups[key] = l
	}
	return l
}

// best is the first lane of the lineup that was not tried. looked says that the
// caller has seen a fresh lineup, so that an empty one means what it says.
func (l *lineup) best(ctx context.Context, tx pgx.Tx, now time.Time, s *Seeker, tried []int64, looked *bool) (lane Lane, found bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if age := now.Sub(l.at); age < 0 || age > lineupKept {
			if l.lanes, err = postgres.All[ranked](ctx, tx, sqlRank, s.Scopes, s.Tags, s.Protected, s.Untagged, s.fair()); err != nil {
				return Lane{}, false, err
			}
			l.at, *looked = now, true
		}
		var first *ranked
		for i := range l.lanes {
			if r := &l.lanes[i]; !slices.Contains(tried, r.ID) && (first == nil || r.before(first)) {
				first = r
			}
		}
		if first != nil {
			return first.Lane, true, nil
		}
		if *looked {
			return Lane{}, false, nil
		}
		l.at = time.Time{}
	}
}

func (r *ranked) before(other *ranked) bool {
	return cmp.Or(cmp.Compare(r.Running, other.Running), cmp.Compare(r.Head, other.Head)) < 0
}

// served notes that a job of a lane was taken, or, with none, that it had none
// to take.
func (l *lineup) served(s *Seeker, lane Lane, jobID int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if jobID == 0 {
		l.lanes = slices.DeleteFunc(l.lanes, func(r ranked) bool { return r.ID == lane.ID })
		return
	}
	for i := range l.lanes {
		r := &l.lanes[i]
		if r.ID == lane.ID {
			r.Head = jobID + 1
		}
		if s.fair() && r.ProjectID == lane.ProjectID {
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
	More     bool // jobs of the lane
}

// take removes the next job that a seeker may have, in the transaction of the
// claim. A job that another claim holds is passed over. hint is a lane to look
// into first, since something was heard of it.
func (q *queue) take(ctx context.Context, tx pgx.Tx, s *Seeker, hint *Lane) (t taken, lane Lane, found bool, err error) {
	order := q.lineupOf(s)
	var tried []int64
	looked := hint != nil // who was woken for one lane looks at that one
	for {
		if hint != nil {
			lane, hint = *hint, nil
		} else if lane, found, err = order.best(ctx, tx, q.clock.Now(), s, tried, &looked); err != nil || !found {
			return taken{}, Lane{}, false, err
		}
		t, err = postgres.One[taken](ctx, tx, sqlTake, lane.ID, lane.ProjectID)
		if err == nil {
			order.served(s, lane, t.JobID)
			return t, lane, true, nil
		}
		if !errors.Is(err, postgres.ErrNoRows) {
			return taken{}, Lane{}, false, err
		}
		order.served(s, lane, 0)
		tried = append(tried, lane.ID)
	}
}
