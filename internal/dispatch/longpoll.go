package dispatch

import (
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"stithy/internal/platform/postgres"
)

// channel is where nodes tell each other of queues that have new jobs.
const channel = "stithy_jobs"

// waitlist is where runners wait for work on this node. Who waits costs memory
// only. A new job wakes one of those who could take it; who takes a job wakes
// the next, until there is none left.
type waitlist struct {
	epoch string // tells this waitlist's cursors from those of other nodes and times

	mu      sync.Mutex
	groups  map[string]*waitGroup             // by the key of a match
	byScope map[int64]map[*waitGroup]struct{} // where to look for a queue
	news    map[int64]uint64                  // how often a scope had a new job
	closed  bool                              // nobody shall wait any more
	places  map[int64]int                     // how many places a runner has
}

// mostPlaces is how many places one runner has on a node: more than machines
// share a token, and so few that one token does not fill the memory.
const mostPlaces = 1000

// waitGroup is the runners that wait for the same queues, in the order in which they came.
type waitGroup struct {
	match   RunnerMatch
	waiting list.List // of *waiter
}

// waiter is one who waits, or who was woken and looks.
type waiter struct {
	list     *waitlist
	group    *waitGroup
	place    *list.Element
	queue    *Queue // that it was woken for
	runnerID int64  // whose places it counts among, 0 for none
	tell     func() // that it is woken
}

func newWaitlist(epoch string) *waitlist {
	return &waitlist{epoch: epoch, groups: map[string]*waitGroup{}, byScope: map[int64]map[*waitGroup]struct{}{}, news: map[int64]uint64{}, places: map[int64]int{}}
}

// joinFor is join for a runner. full says that it has as many places as it may.
func (wl *waitlist) joinFor(s RunnerMatch, runnerID int64) (w *waiter, full bool) {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	if wl.places[runnerID] >= mostPlaces {
		return nil, true
	}
	wl.places[runnerID]++
	w = &waiter{list: wl, runnerID: runnerID}
	wl.enqueue(w, s)
	return w, false
}

// join adds a waiter. Whoever joins leaves.
func (wl *waitlist) join(s RunnerMatch) *waiter {
	w := &waiter{list: wl}
	wl.mu.Lock()
	defer wl.mu.Unlock()
	wl.enqueue(w, s)
	return w
}

func (wl *waitlist) enqueue(w *waiter, s RunnerMatch) {
	key := s.key()
	b := wl.groups[key]
	if b == nil {
		b = &waitGroup{match: s}
		wl.groups[key] = b
		for _, scope := range s.Scopes {
			if wl.byScope[scope] == nil {
				wl.byScope[scope] = map[*waitGroup]struct{}{}
			}
			wl.byScope[scope][b] = struct{}{}
		}
	}
	w.group, w.place = b, b.waiting.PushBack(w)
}

// dequeue takes a waiter out of its group, and an empty group away.
func (wl *waitlist) dequeue(w *waiter) {
	w.group.waiting.Remove(w.place)
	w.place = nil
	if w.group.waiting.Len() > 0 {
		return
	}
	s := &w.group.match
	delete(wl.groups, s.key())
	for _, scope := range s.Scopes {
		delete(wl.byScope[scope], w.group)
		if len(wl.byScope[scope]) == 0 {
			delete(wl.byScope, scope)
		}
	}
}

// listen calls tell when the waiter is woken, at once if it was already.
func (w *waiter) listen(tell func()) {
	w.list.mu.Lock()
	woken := w.queue != nil || w.list.closed
	if !woken {
		w.tell = tell
	}
	w.list.mu.Unlock()
	if woken {
		tell()
	}
}

// again returns the queue that a waiter was woken for, nil if it was not. The
// waiter joins the end of its group again before it looks into the queue, so
// that it misses no job that comes meanwhile.
func (w *waiter) again() *Queue {
	w.list.mu.Lock()
	defer w.list.mu.Unlock()
	queue := w.queue
	w.queue, w.tell = nil, nil
	if w.place == nil {
		w.list.enqueue(w, w.group.match)
	}
	return queue
}

// leave removes a waiter for good. If it was woken for a queue and did not look
// into it, another one is woken instead.
func (w *waiter) leave() {
	w.list.mu.Lock()
	if w.place != nil {
		w.list.dequeue(w)
	}
	if w.runnerID != 0 {
		if w.list.places[w.runnerID]--; w.list.places[w.runnerID] == 0 {
			delete(w.list.places, w.runnerID)
		}
		w.runnerID = 0
	}
	queue := w.queue
	w.queue, w.tell = nil, nil
	w.list.mu.Unlock()
	if queue != nil {
		w.list.wake(queue)
	}
}

// wake tells one of those who could take a job of the queue. It reports whether
// there was one.
func (wl *waitlist) wake(q *Queue) bool {
	wl.mu.Lock()
	w := wl.first(q)
	if w == nil {
		wl.mu.Unlock()
		return false
	}
	wl.dequeue(w)
	w.queue = q
	tell := w.tell
	wl.mu.Unlock()
	if tell != nil {
		tell()
	}
	return true
}

// first is who waits longest of those who could take a job of the queue.
func (wl *waitlist) first(q *Queue) *waiter {
	for _, scope := range q.Serves {
		for b := range wl.byScope[scope] {
			if b.match.takes(q) {
				return b.waiting.Front().Value.(*waiter)
			}
		}
	}
	return nil
}

// close answers everyone who waits, and from now on whoever comes, without a job.
func (wl *waitlist) close() {
	wl.mu.Lock()
	wl.closed = true
	var all []func()
	for _, b := range wl.groups {
		for e := b.waiting.Front(); e != nil; e = e.Next() {
			if tell := e.Value.(*waiter).tell; tell != nil {
				all = append(all, tell)
			}
		}
	}
	wl.mu.Unlock()
	for _, tell := range all {
		tell()
	}
}

// heard notes that a queue has a new job, so that cursors change, and wakes
// somebody for it.
func (wl *waitlist) heard(q *Queue) {
	wl.mu.Lock()
	for _, scope := range q.Serves {
		wl.news[scope]++
	}
	wl.mu.Unlock()
	wl.wake(q)
}

// cursor changes whenever a job that the match could take becomes pending, and
// whenever this process was not there to see it.
func (wl *waitlist) cursor(s *RunnerMatch) string {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	var sum uint64
	for _, scope := range s.Scopes {
		sum += wl.news[scope]
	}
	return wl.epoch + "-" + strconv.FormatUint(sum, 36)
}

// waiting is how many wait here.
func (wl *waitlist) waiting() (n int) {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	for _, b := range wl.groups {
		n += b.waiting.Len()
	}
	return n
}

// watch hears of new jobs from every node, and looks by itself now and then in
// case it missed one. It runs beside the requests.
type watch struct {
	db       *postgres.DB
	waitlist *waitlist
	log      *slog.Logger
	every    time.Duration
	drain    <-chan struct{}  // closed when nobody shall wait here any more
	queues   map[int64]*Queue // those heard of since the last look
}

func (w *watch) run(ctx context.Context) {
	w.queues = map[int64]*Queue{}
	told := make(chan int64, 1024)
	go w.db.Listen(ctx, channel, func(message string) {
		id, err := strconv.ParseInt(message, 10, 64)
		if err != nil {
			return // none of ours
		}
		select {
		case told <- id:
		case <-ctx.Done():
		}
	}, func(err error, retryIn time.Duration) {
		w.log.Warn("not told of new jobs", "error", err, "retry_in", retryIn)
	})
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	drain := w.drain
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-drain:
			drain = nil
			w.waitlist.close() // the next node looks for itself
		case id := <-told:
			err = w.hear(ctx, id)
		case <-ticker.C:
			err = w.look(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.log.Warn("new jobs may wait for the next look", "error", err)
		}
	}
}

// hear passes on that a queue has a new job. Its row is read once between two looks.
func (w *watch) hear(ctx context.Context, id int64) error {
	q := w.queues[id]
	if q == nil {
		read, err := postgres.One[Queue](ctx, w.db, sqlQueue, id)
		if err != nil {
			return fmt.Errorf("reading a queue of jobs: %w", err)
		}
		q = &read
		w.queues[id] = q
	}
	w.waitlist.heard(q)
	return nil
}

// look brings the queues up to date with their projects and wakes one runner
// for each that has jobs.
func (w *watch) look(ctx context.Context) error {
	w.queues = map[int64]*Queue{}
	if _, err := w.db.Exec(ctx, sqlRefreshQueues); err != nil {
		return fmt.Errorf("refreshing queues of jobs: %w", err)
	}
	queues, err := postgres.All[Queue](ctx, w.db, sqlWaiting)
	if err != nil {
		return fmt.Errorf("looking for jobs: %w", err)
	}
	for i := range queues {
		w.waitlist.wake(&queues[i])
	}
	return nil
}
