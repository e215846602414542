package dispatch

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stithy/internal/group/grouptest"
	"stithy/internal/project/projecttest"
)

func TestANewJobWakesOneAndNotAll(t *testing.T) {
	t.Parallel()
	h := newHall("e")
	var all []*waiter
	for range 100 {
		all = append(all, h.join(Seeker{Scopes: OfInstance(), Untagged: true}))
	}
	h.heard(&Lane{ID: 1, Serves: []int64{instance, 7}})
	if got := h.waiting(); got != 99 {
		t.Errorf("%d still wait", got)
	}
	if len(all[0].woken) != 1 {
		t.Error("not the first who came")
	}
}

func TestWhoIsWokenAndGoesPassesItOn(t *testing.T) {
	t.Parallel()
	h := newHall("e")
	first, second := h.join(Seeker{Scopes: OfGroup(7), Untagged: true}), h.join(Seeker{Scopes: OfInstance(), Untagged: true})
	lane := &Lane{ID: 1, Serves: []int64{7, instance}}
	h.heard(lane)
	first.leave()
	if got := <-second.woken; got != lane {
		t.Error("it was lost")
	}
	if h.wake(lane) || h.waiting() != 0 || len(h.byScope) != 0 || len(h.benches) != 0 {
		t.Error("the hall remembers who has gone")
	}
}

func TestTheCursorChangesWithJobsThatTheRunnerCouldTake(t *testing.T) {
	t.Parallel()
	h := newHall("e")
	s, other := Seeker{Scopes: OfProjects([]int64{1, 2})}, Seeker{Scopes: OfGroup(9)}
	before, otherBefore := h.cursor(&s), h.cursor(&other)
	h.heard(&Lane{Serves: []int64{-2, 5, instance}})
	if h.cursor(&s) == before {
		t.Error("the same cursor after a new job")
	}
	if h.cursor(&other) != otherBefore {
		t.Error("another cursor after a job of somebody else")
	}
	if newHall("f").cursor(&other) == otherBefore {
		t.Error("two nodes have the same cursor")
	}
}

// TestNobodyIsForgottenInTheHall holds the hall against a plain list of who
// waits.
func TestNobodyIsForgottenInTheHall(t *testing.T) {
	t.Parallel()
	tags := []string{"a", "b"}
	rapid.Check(t, func(t *rapid.T) {
		h := newHall("e")
		waiting := map[*waiter]Seeker{}
		some := func(name string) []string {
			return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return rapid.Bool().Draw(t, name+tag) })
		}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				s := Seeker{
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
				l := &Lane{
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
					if len(w.woken) == 1 {
						if !s.takes(<-w.woken) {
							t.Fatal("woken for what it may not take")
						}
						w.again()
						able = -1
					}
				}
				if able > 0 {
					t.Fatal("nobody was woken")
				}
			},
			"": func(t *rapid.T) {
				if got := h.waiting(); got != len(waiting) {
					t.Fatalf("%d sit, %d came", got, len(waiting))
				}
			},
		})
	})
}

func TestAJobOfAnotherNodeIsHeardOf(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	p := projecttest.New(t, q.db, grouptest.New(t, q.db).ID)
	h := newHall("e")
	watching := &watch{db: q.db, hall: h, log: slog.New(slog.NewTextHandler(t.Output(), nil)), every: time.Hour}
	go watching.run(t.Context())
	w := h.join(Seeker{Scopes: OfInstance(), Untagged: true})
	for id := int64(1); ; id++ { // until the node listens
		put(t, q, id, p.ID, false)
		select {
		case lane := <-w.woken:
			if lane.ProjectID != p.ID {
				t.Errorf("woken for %+v", lane)
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestAMissedJobIsFoundByLooking(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	p := projecttest.New(t, q.db, grouptest.New(t, q.db).ID, projecttest.With("settings", `{"shared_runners_enabled":false}`))
	put(t, q, 1, p.ID, false)
	h := newHall("e")
	watching := &watch{db: q.db, hall: h}
	w := h.join(Seeker{Scopes: OfInstance(), Untagged: true})
	look := func() {
		if err := watching.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if look(); len(w.woken) != 0 {
		t.Error("woken for a project that does not want it")
	}
	if _, err := q.db.Exec(t.Context(), `update projects set settings = '{}' where id = $1`, p.ID); err != nil {
		t.Fatal(err)
	}
	if look(); len(w.woken) != 1 {
		t.Error("not woken after the project changed its mind")
	}
}
