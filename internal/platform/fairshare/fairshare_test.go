package fairshare

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func caller(who, from string) *Callers {
	return Of(With(context.Background(), Caller{Who: who, From: from}))
}

func (c *claim) has() bool {
	select {
	case <-c.got:
		return true
	default:
		return false
	}
}

// Whatever happens in whatever order: no limit is passed, no slot is idle that
// somebody may have, and a slot goes to a caller with the fewest.
func TestSlotsAreSharedFairly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := New(rapid.IntRange(1, 12).Draw(t, "slots"), rapid.IntRange(1, 6).Draw(t, "per item"))
		var holding, waiting []*claim
		draw := func(from []*claim, label string) int { return rapid.IntRange(0, len(from)-1).Draw(t, label) }
		drawCaller := func() Caller {
			n := rapid.IntRange(0, 4).Draw(t, "caller")
			if n == 0 {
				return Caller{}
			}
			from := fmt.Sprint("address ", rapid.IntRange(1, 3).Draw(t, "address"))
			if n == 4 {
				return Caller{Who: from, From: from, Stranger: true}
			}
			return Caller{Who: fmt.Sprint("person ", n), From: from}
		}
		settle := func() {
			still := waiting[:0]
			for _, c := range waiting {
				if c.has() {
					holding = append(holding, c)
				} else {
					still = append(still, c)
				}
			}
			waiting = still
			s.check(t, holding, waiting)
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				by := drawCaller()
				c := &claim{callers: callers(by), item: fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "item")), got: make(chan struct{})}
				waiting = append(waiting, c)
				s.ask(c)
				settle()
			},
			"release": func(t *rapid.T) {
				if len(holding) == 0 {
					t.Skip("nobody holds one")
				}
				i := draw(holding, "who releases")
				c := holding[i]
				holding = append(holding[:i], holding[i+1:]...)
				want := s.next(c, waiting)
				s.release(c)
				if want != nil && !want.has() {
					t.Fatal("the slot did not go to the caller with the fewest who waits longest")
				}
				settle()
			},
			"leave": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("nobody waits")
				}
				i := draw(waiting, "who leaves")
				if !s.leave(waiting[i]) {
					t.Fatal("it did not wait")
				}
				waiting = append(waiting[:i], waiting[i+1:]...)
				settle()
			},
			"join": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("nobody waits")
				}
				by := drawCaller()
				waiting[draw(waiting, "whom")].callers.Join(callers(by))
				s.look()
				settle()
			},
		})
		for len(holding) > 0 {
			s.release(holding[0])
			holding = holding[1:]
			settle()
		}
		if s.free != s.all || s.strangers != 0 || len(s.waiting)+len(s.callers)+len(s.froms)+len(s.items) != 0 {
			t.Fatalf("left over: %+v", s)
		}
	})
}

// check compares the books with those who hold and wait.
func (s *Slots) check(t *rapid.T, holding, waiting []*claim) {
	callers, froms, items, strangers := map[string]int{}, map[string]int{}, map[string]int{}, 0
	for _, c := range holding {
		if c.charged.Stranger {
			strangers++
		}
		callers[c.charged.Who]++
		froms[c.charged.From]++
		items[c.item]++
	}
	if len(holding) > s.all || s.free != s.all-len(holding) {
		t.Fatalf("%d of %d slots are held, %d free", len(holding), s.all, s.free)
	}
	if strangers > max(1, s.all/2) {
		t.Fatalf("strangers hold %d of %d", strangers, s.all)
	}
	for who, n := range callers {
		most := max(1, s.all/2)
		if strings.HasPrefix(who, "address") {
			most = max(1, most/2)
		}
		if who != "" && n > most {
			t.Fatalf("%s holds %d of %d", who, n, s.all)
		}
	}
	for from, n := range froms {
		if from != "" && n > max(1, s.all*3/4) {
			t.Fatalf("%s holds %d of %d", from, n, s.all)
		}
	}
	for item, n := range items {
		if n > s.perItem {
			t.Fatalf("item %s has %d, at most %d", item, n, s.perItem)
		}
	}
	for _, c := range waiting {
		if _, ok := s.payer(c); ok && s.free > 0 {
			t.Fatalf("%d slots are free and somebody waits who may have one", s.free)
		}
	}
}

// next is who must get the slot that a claim gives back, said without the
// books: nil where nobody may.
func (s *Slots) next(released *claim, waiting []*claim) *claim {
	held := func(in map[string]int, name, gone string) int {
		if name == gone {
			return in[name] - 1
		}
		return in[name]
	}
	var best *claim
	least := 0
	for _, c := range waiting {
		if held(s.items, c.item, released.item) >= s.perItem {
			continue
		}
		all, _ := c.callers.now()
		for _, by := range all {
			n := held(s.callers, by.Who, released.charged.Who)
			if by.Who != "" && (n >= max(1, s.all/2) || held(s.froms, by.From, released.charged.From) >= max(1, s.all*3/4)) {
				continue
			}
			strangers := s.strangers
			if released.charged.Stranger {
				strangers--
			}
			if most := max(1, s.all/2); by.Stranger && (strangers >= most || n >= max(1, most/2)) {
				continue
			}
			if best == nil || n < least {
				best, least = c, n
			}
		}
	}
	return best
}

func TestOneCallerLeavesSlotsForOthers(t *testing.T) {
	t.Parallel()
	s := New(16, 16)
	greedy := With(t.Context(), Caller{Who: "person 1", From: "192.0.2.1"})
	for range 8 {
		if _, err := s.Take(greedy, "x"); err != nil {
			t.Fatal(err)
		}
	}
	gone, leave := context.WithCancelCause(greedy)
	leave(errors.New("no patience"))
	if _, err := s.Take(gone, "x"); err == nil || err.Error() != "no patience" {
		t.Fatalf("one caller has more than half: %v", err)
	}
	// A second name at the same address does not take the rest.
	second := With(t.Context(), Caller{Who: "person 2", From: "192.0.2.1"})
	for range 4 {
		if _, err := s.Take(second, "x"); err != nil {
			t.Fatal(err)
		}
	}
	gone, leave = context.WithCancelCause(second)
	leave(nil)
	if _, err := s.Take(gone, "x"); err == nil {
		t.Fatal("one address has more than three quarters")
	}
	for range 4 {
		if _, err := s.Take(With(t.Context(), Caller{Who: "person 3", From: "192.0.2.2"}), "x"); err != nil {
			t.Fatal(err)
		}
	}
}

// Work that somebody waits for is begun as soon as another wants it who may
// have a slot.
func TestWhoJoinsBringsTheirShare(t *testing.T) {
	t.Parallel()
	s := New(4, 4)
	greedy := With(t.Context(), Caller{Who: "person 1", From: "192.0.2.1"})
	for range 2 {
		if _, err := s.Take(greedy, "x"); err != nil {
			t.Fatal(err)
		}
	}
	both := Of(greedy).Copy()
	got := make(chan error)
	go func() {
		release, err := s.Take(Share(t.Context(), both), "x")
		if err == nil {
			release()
			release()
		}
		got <- err
	}()
	both.Join(caller("person 2", "192.0.2.2"))
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if held := s.callers["person 2"]; held != 0 || s.free != 2 {
		t.Errorf("%d held, %d free", held, s.free)
	}
	if len(Of(greedy).all) != 1 {
		t.Error("who joins a copy joins all")
	}
}

func TestTwoWhoJoinFromOneAddressAreTwo(t *testing.T) {
	t.Parallel()
	all := callers(Caller{Who: "person 1", From: "192.0.2.1"})
	all.Join(caller("person 2", "192.0.2.1"))
	all.Join(caller("person 2", "192.0.2.1")) // who joins again is not one more
	if who, _ := all.now(); len(who) != 2 || who[1].Who != "person 2" {
		t.Errorf("%v want it", who)
	}
}

// goneWhenServed is over at the moment in which the slot comes that was waited for.
type goneWhenServed struct {
	context.Context
	serve func()
}

func (c goneWhenServed) Done() <-chan struct{} {
	c.serve()
	return c.Context.Done()
}

// Which of the two a caller sees first is left to chance: neither loses the slot.
func TestASlotThatComesTooLateIsPassedOn(t *testing.T) {
	t.Parallel()
	late := 0
	for range 100 {
		s := New(1, 1)
		release, err := s.Take(With(t.Context(), Caller{Who: "first", From: "192.0.2.1"}), "x")
		if err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithCancelCause(With(t.Context(), Caller{Who: "second", From: "192.0.2.2"}))
		leave(errors.New("no patience"))
		next := &claim{callers: caller("third", "192.0.2.3"), item: "x", got: make(chan struct{})}
		had, err := s.Take(goneWhenServed{gone, func() {
			release() // to the second, who waits longest
			s.ask(next)
		}}, "x")
		switch {
		case err == nil:
			had()
		case err.Error() != "no patience":
			t.Fatal(err)
		default:
			late++
		}
		if !next.has() || s.Used() != 1 {
			t.Fatalf("the slot is lost: %v, %d used", err, s.Used())
		}
	}
	if late == 0 {
		t.Error("never too late")
	}
}

func TestOneCustomerIsOneAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1%eth0": "2001:db8::/64",
	} {
		if got := Network(netip.MustParseAddr(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if Network(netip.Addr{}) == "" {
		t.Error("no address is nobody's share")
	}
}

func TestStrangersFromManyAddressesLeaveSlotsForMembers(t *testing.T) {
	t.Parallel()
	s := New(16, 16)
	ask := func(c Caller) *claim {
		wanted := &claim{callers: callers(c), item: "x", got: make(chan struct{})}
		if s.ask(wanted); !wanted.has() {
			s.leave(wanted)
			return nil
		}
		return wanted
	}
	stranger := func(n int) Caller {
		from := fmt.Sprint("192.0.2.", n)
		return Caller{Who: from, From: from, Stranger: true}
	}
	var held []*claim
	for n := range 8 {
		c := ask(stranger(n))
		if c == nil {
			t.Fatalf("stranger %d waits", n)
		}
		held = append(held, c)
	}
	if ask(stranger(9)) != nil {
		t.Error("strangers hold more than half")
	}
	for _, c := range held[:4] {
		s.release(c)
	}
	for range 3 { // beside the one that it has
		if ask(stranger(7)) == nil {
			t.Error("one of them holds less than a quarter")
		}
	}
	if ask(stranger(7)) != nil {
		t.Error("one of them holds more than a quarter")
	}
	if ask(stranger(9)) == nil {
		t.Error("one of them keeps others out")
	}
	for range 8 {
		if ask(Caller{Who: "person 1", From: "198.51.100.1"}) == nil {
			t.Error("strangers keep a member out")
		}
	}
}
