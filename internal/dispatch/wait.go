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

// channel is where nodes tell each other of lanes that have new jobs.
const channel = "stithy_jobs"

// hall is where runners wait for work on this node. Who waits costs memory
// only. A new job wakes one of those who could take it; who takes a job wakes
// the next, until there is none left.
type hall struct {
	epoch string // tells this hall's cursors from those of other nodes and times

	mu      sync.Mutex
	benches map[string]*bench             // by the key of a seeker
	byScope map[int64]map[*bench]struct{} // where to look for a lane
	news    map[int64]uint64              // how often a scope had a new job
	closed  bool                          // nobody shall wait any more
	seats   map[int64]int                 // how many places a runner has
}

// mostSeats is how many places one runner has on a node: more than machines
// share a token, and so few that one token does not fill the memory.
const mostSeats = 1000

// bench is where equal seekers sit, in the order in which they came.
type bench struct {
	seeker  Seeker
	waiting list.List // of *waiter
}

// waiter is one who waits, or who was woken and looks.
type waiter struct {
	hall  *hall
	bench *bench
	place *list.Element
	lane  *Lane  // that it was woken for
	of    int64  // the runner that the place counts for, 0 for none
	tell  func() // that it is woken
}

func newHall(epoch string) *hall {
	return &hall{epoch: epoch, benches: map[string]*bench{}, byScope: map[int64]map[*bench]struct{}{}, news: map[int64]uint64{}, seats: map[int64]int{}}
}

// seat is join for a runner. full says that it has as many places as it may.
func (h *hall) seat(s Seeker, runnerID int64) (w *waiter, full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seats[runnerID] >= mostSeats {
		return nil, true
	}
	h.seats[runnerID]++
	w = &waiter{hall: h, of: runnerID}
	h.sit(w, s)
	return w, false
}

// join sits down. Whoever joins leaves.
func (h *hall) join(s Seeker) *waiter {
	w := &waiter{hall: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sit(w, s)
	return w
}

func (h *hall) sit(w *waiter, s Seeker) {
	key := s.key()
	b := h.benches[key]
	if b == nil {
		b = &bench{seeker: s}
		h.benches[key] = b
		for _, scope := range s.Scopes {
			if h.byScope[scope] == nil {
				h.byScope[scope] = map[*bench]struct{}{}
			}
			h.byScope[scope][b] = struct{}{}
		}
	}
	w.bench, w.place = b, b.waiting.PushBack(w)
}

// stand takes a waiter off its bench, and an empty bench away.
func (h *hall) stand(w *waiter) {
	w.bench.waiting.Remove(w.place)
	w.place = nil
	if w.bench.waiting.Len() > 0 {
		return
	}
	s := &w.bench.seeker
	delete(h.benches, s.key())
	for _, scope := range s.Scopes {
		delete(h.byScope[scope], w.bench)
		if len(h.byScope[scope]) == 0 {
			delete(h.byScope, scope)
		}
	}
}

// listen lets a waiter know when it is woken. That may be at once.
func (w *waiter) listen(tell func()) {
	w.hall.mu.Lock()
	at := w.lane != nil || w.hall.closed
	if !at {
		w.tell = tell
	}
	w.hall.mu.Unlock()
	if at {
		tell()
	}
}

// again is the lane that a waiter was woken for, nil if it was not. It sits down
// behind the others before it looks, so that it misses nothing meanwhile.
func (w *waiter) again() *Lane {
	w.hall.mu.Lock()
	defer w.hall.mu.Unlock()
	lane := w.lane
	w.lane, w.tell = nil, nil
	if w.place == nil {
		w.hall.sit(w, w.bench.seeker)
	}
	return lane
}

// leave goes for good. What the waiter was woken for and did not see to is
// passed on.
func (w *waiter) leave() {
	w.hall.mu.Lock()
	if w.place != nil {
		w.hall.stand(w)
	}
	if w.of != 0 {
		if w.hall.seats[w.of]--; w.hall.seats[w.of] == 0 {
			delete(w.hall.seats, w.of)
		}
		w.of = 0
	}
	lane := w.lane
	w.lane, w.tell = nil, nil
	w.hall.mu.Unlock()
	if lane != nil {
		w.hall.wake(lane)
	}
}

// wake tells one of those who could take a job of the lane. It reports whether
// there was one.
func (h *hall) wake(l *Lane) bool {
	h.mu.Lock()
	w := h.first(l)
	if w == nil {
		h.mu.Unlock()
		return false
	}
	h.stand(w)
	w.lane = l
	tell := w.tell
	h.mu.Unlock()
	if tell != nil {
		tell()
	}
	return true
}

// first is who waits longest on a bench of those who could take a job of the lane.
func (h *hall) first(l *Lane) *waiter {
	for _, scope := range l.Serves {
		for b := range h.byScope[scope] {
			if b.seeker.takes(l) {
				return b.waiting.Front().Value.(*waiter)
			}
		}
	}
	return nil
}

// close sends everyone away, and whoever comes later.
func (h *hall) close() {
	h.mu.Lock()
	h.closed = true
	var all []func()
	for _, b := range h.benches {
		for e := b.waiting.Front(); e != nil; e = e.Next() {
			if tell := e.Value.(*waiter).tell; tell != nil {
				all = append(all, tell)
			}
		}
	}
	h.mu.Unlock()
	for _, tell := range all {
		tell()
	}
}

// heard notes that a lane has a new job, so that cursors change, and wakes
// somebody for it.
func (h *hall) heard(l *Lane) {
	h.mu.Lock()
	for _, scope := range l.Serves {
		h.news[scope]++
	}
	h.mu.Unlock()
	h.wake(l)
}

// cursor changes whenever a job that the seeker could take becomes pending, and
// whenever this process was not there to see it.
func (h *hall) cursor(s *Seeker) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var sum uint64
	for _, scope := range s.Scopes {
		sum += h.news[scope]
	}
	return h.epoch + "-" + strconv.FormatUint(sum, 36)
}

// waiting is how many sit here.
func (h *hall) waiting() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.benches {
		n += b.waiting.Len()
	}
	return n
}

// watch hears of new jobs from every node, and looks by itself now and then in
// case it missed one. It runs beside the requests.
type watch struct {
	db    *postgres.DB
	hall  *hall
	log   *slog.Logger
	every time.Duration
	drain <-chan struct{} // closed when nobody shall wait here any more
	lanes map[int64]*Lane // those heard of since the last look
}

func (w *watch) run(ctx context.Context) {
	w.lanes = map[int64]*Lane{}
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
			w.hall.close() // the next node looks for itself
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

// hear passes on that a lane has a new job. What a lane is was read once.
func (w *watch) hear(ctx context.Context, id int64) error {
	l := w.lanes[id]
	if l == nil {
		read, err := postgres.One[Lane](ctx, w.db, sqlLane, id)
		if err != nil {
			return fmt.Errorf("reading a lane: %w", err)
		}
		l = &read
		w.lanes[id] = l
	}
	w.hall.heard(l)
	return nil
}

// look brings the lanes up to date with their projects and wakes one runner
// for each that has jobs.
func (w *watch) look(ctx context.Context) error {
	w.lanes = map[int64]*Lane{}
	if _, err := w.db.Exec(ctx, sqlRefreshLanes); err != nil {
		return fmt.Errorf("refreshing lanes: %w", err)
	}
	lanes, err := postgres.All[Lane](ctx, w.db, sqlWaiting)
	if err != nil {
		return fmt.Errorf("looking for jobs: %w", err)
	}
	for i := range lanes {
		w.hall.wake(&lanes[i])
	}
	return nil
}
