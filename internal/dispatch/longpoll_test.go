package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stithy/internal/group/grouptest"
	"stithy/internal/project/projecttest"
	"stithy/internal/runner"
)

func TestANewJobWakesOneAndNotAll(t *testing.T) {
	t.Parallel()
	h := newWaitlist("e")
	var all []*waiter
	for range 100 {
		all = append(all, h.join(RunnerMatch{Scopes: OfInstance(), Untagged: true}))
	}
	h.heard(&Queue{ID: 1, Serves: []int64{instance, 7}})
	if got := h.waiting(); got != 99 {
		t.Errorf("%d still wait", got)
	}
	if all[0].queue == nil {
		t.Error("not the first who came")
	}
}

func TestWhoIsWokenAndGoesPassesItOn(t *testing.T) {
	t.Parallel()
	h := newWaitlist("e")
	first, second := h.join(RunnerMatch{Scopes: OfGroup(7), Untagged: true}), h.join(RunnerMatch{Scopes: OfInstance(), Untagged: true})
	queue := &Queue{ID: 1, Serves: []int64{7, instance}}
	h.heard(queue)
	first.leave()
	if got := second.queue; got != queue {
		t.Error("it was lost")
	}
	if h.wake(queue) || h.waiting() != 0 || len(h.byScope) != 0 || len(h.groups) != 0 {
		t.Error("the waitlist remembers who has gone")
	}
}

func TestWhoLooksInVainMissesNothingMeanwhile(t *testing.T) {
	t.Parallel()
	h := newWaitlist("e")
	w := h.join(RunnerMatch{Scopes: OfInstance(), Untagged: true})
	first, second := &Queue{ID: 1, Serves: []int64{instance}}, &Queue{ID: 2, Serves: []int64{instance}}
	h.heard(first)
	if got := w.again(); got != first {
		t.Fatalf("woken for %+v", got)
	}
	h.heard(second) // while it looks for the first
	told := 0
	w.listen(func() { told++ })
	if got := w.again(); told != 1 || got != second {
		t.Errorf("told %d times, of %+v", told, got)
	}
}

func TestNobodyJoinsAClosedWaitlist(t *testing.T) {
	t.Parallel()
	h := newWaitlist("e")
	told := 0
	h.join(RunnerMatch{Scopes: OfInstance(), Untagged: true}).listen(func() { told++ })
	h.close()
	late := h.join(RunnerMatch{Scopes: OfGroup(7)})
	late.listen(func() { told++ })
	if late.again() != nil || told != 2 {
		t.Errorf("%d of 2 were told", told)
	}
}

func TestTheCursorChangesWithJobsThatTheRunnerCouldTake(t *testing.T) {
	t.Parallel()
	h := newWaitlist("e")
	s, other := RunnerMatch{Scopes: OfProjects([]int64{1, 2})}, RunnerMatch{Scopes: OfGroup(9)}
	before, otherBefore := h.cursor(&s), h.cursor(&other)
	h.heard(&Queue{Serves: []int64{-2, 5, instance}})
	if h.cursor(&s) == before {
		t.Error("the same cursor after a new job")
	}
	if h.cursor(&other) != otherBefore {
		t.Error("another cursor after a job of somebody else")
	}
	if newWaitlist("f").cursor(&other) == otherBefore {
		t.Error("two nodes have the same cursor")
	}
}

// TestNobodyIsForgottenInTheWaitlist holds the waitlist against a plain list of who
// waits.
func TestNobodyIsForgottenInTheWaitlist(t *testing.T) {
	t.Parallel()
	tags := []string{"a", "b"}
	rapid.Check(t, func(t *rapid.T) {
		h := newWaitlist("e")
		waiting := map[*waiter]RunnerMatch{}
		some := func(name string) []string {
			return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return rapid.Bool().Draw(t, name+tag) })
		}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				s := RunnerMatch{
					Scopes: rapid.SampledFrom([][]int64{{0}, {3}, {-5, -4}, {-4}, {}}).Draw(t, "scope"), Tags: some("has "),
					Untagged: rapid.Bool().Draw(t, "untagged"), Protected: rapid.Bool().Draw(t, "protected"),
				}
				waiting[h.join(s)] = s
			},
			"leave": func(*rapid.T) {
				for w := range waiting {
					delete(waiting, w)
					w.leave()
					break
				}
			},
			"wake": func(t *rapid.T) {
				l := &Queue{
					Tags: some("wants "), Protected: rapid.Bool().Draw(t, "of protected"),
					Serves: rapid.SampledFrom([][]int64{{-4, 0, 3}, {-5}, {-4, 3}, {0}}).Draw(t, "serves"),
				}
				able := 0
				for _, s := range waiting {
					if s.takes(l) {
						able++
					}
				}
				if h.wake(l) != (able > 0) {
					t.Fatalf("%d could take it", able)
				}
				for w, s := range waiting {
					if w.queue == nil {
						continue
					}
					if !s.takes(w.again()) {
						t.Fatal("woken for what it may not take")
					}
					able = -1
				}
				if able > 0 {
					t.Fatal("nobody was woken")
				}
			},
			"": func(t *rapid.T) {
				if got := h.waiting(); got != len(waiting) {
					t.Fatalf("%d wait, %d came", got, len(waiting))
				}
			},
		})
	})
}

func TestAJobOfAnotherNodeIsHeardOf(t *testing.T) {
	t.Parallel()
	q := newPendingJobs(t)
	p := projecttest.New(t, q.db, grouptest.New(t, q.db).ID)
	h := newWaitlist("e")
	watching := &watch{db: q.db, waitlist: h, log: slog.New(slog.NewTextHandler(t.Output(), nil)), every: time.Hour}
	go watching.run(t.Context())
	w := h.join(RunnerMatch{Scopes: OfInstance(), Untagged: true})
	woken := make(chan struct{})
	w.listen(func() { close(woken) })
	for id := int64(1); ; id++ { // until the node listens
		put(t, q, id, p.ID, false)
		select {
		case <-woken:
			if queue := w.again(); queue.ProjectID != p.ID {
				t.Errorf("woken for %+v", queue)
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestAMissedJobIsFoundByLooking(t *testing.T) {
	t.Parallel()
	q := newPendingJobs(t)
	p := projecttest.New(t, q.db, grouptest.New(t, q.db).ID, projecttest.With("settings", `{"shared_runners_enabled":false}`))
	put(t, q, 1, p.ID, false)
	h := newWaitlist("e")
	watching := &watch{db: q.db, waitlist: h}
	w := h.join(RunnerMatch{Scopes: OfInstance(), Untagged: true})
	look := func() {
		if err := watching.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if look(); w.queue != nil {
		t.Error("woken for a project that does not want it")
	}
	if _, err := q.db.Exec(t.Context(), `update projects set settings = '{}' where id = $1`, p.ID); err != nil {
		t.Fatal(err)
	}
	if look(); w.queue == nil {
		t.Error("not woken after the project changed its mind")
	}
}

// DO-10: one runner, however often it asks, has half of the slots at most; the
// others are there for whoever else comes.
func TestDO10_OneRunnerDoesNotHoldAllClaimSlots(t *testing.T) {
	t.Parallel()
	d := newClaimSlots(4)
	ctx, cancel := context.WithCancel(t.Context())
	var leave []func()
	for range 2 {
		free, err := d.take(ctx, 7)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, free)
	}
	waits := make(chan error, 100)
	for range cap(waits) {
		go func() {
			_, err := d.take(ctx, 7)
			waits <- err
		}()
	}
	for _, other := range []int64{8, 9} { // at once, beside those who wait
		free, err := d.take(ctx, other)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, free)
	}
	if len(d.all) != 4 {
		t.Errorf("%d slots are taken", len(d.all))
	}
	cancel()
	for range cap(waits) {
		if err := <-waits; err == nil {
			t.Error("a third slot of one runner")
		}
	}
	for _, free := range leave {
		free()
	}
	if len(d.all) != 0 || len(d.byRunner) != 0 {
		t.Errorf("%d slots are taken, %d runners are remembered", len(d.all), len(d.byRunner))
	}
}

// DO-10: one runner has so many places to wait at. Beyond them it looks, and is
// told at once that there is nothing; others wait as before.
func TestDO10_OneRunnerDoesNotFillTheWaitlist(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	request := JobRequest{Runner: runner.Runner{ID: 7, Type: runner.Instance, RunUntagged: true}, Features: everything, Secret: "glrt-runnersecret"}
	var all []*poll
	for range mostPlaces {
		all = append(all, w.poll(request))
	}
	beyond := w.poll(request)
	if given, over, err := beyond.first(t.Context()); given != nil || !over || err != nil {
		t.Errorf("beyond its places a runner waits: %+v, %v, %v", given, over, err)
	}
	other := request
	other.Runner.ID = 8
	if v := w.poll(other); v.place == nil {
		t.Error("another runner has no place")
	} else {
		v.place.leave()
	}
	job := w.pending(t, w.project)
	if given, _, err := w.poll(request).first(t.Context()); err != nil || given == nil || given.ID != job {
		t.Errorf("beyond its places a runner gets no job: %+v, %v", given, err)
	}
	for _, v := range all {
		v.place.leave()
		v.place.leave() // twice counts once
	}
	if w.Waiting() != 0 || len(w.waitlist.places) != 0 {
		t.Errorf("%d wait, %d runners have places", w.Waiting(), len(w.waitlist.places))
	}
}
