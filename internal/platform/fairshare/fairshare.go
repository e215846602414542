// Package fairshare divides a fixed number of slots among callers, so that no
// caller, no address and no crowd of strangers can hold all of them, and a slot
// that becomes free goes to the waiting caller who holds the fewest.
package fairshare

import (
	"context"
	"net/netip"
	"slices"
	"sync"
)

// Caller is who wants a slot. The zero Caller is the process itself, whose work
// is bounded elsewhere.
type Caller struct {
	Who  string // an account, a machine, or the address of who is neither
	From string // the address

	Stranger bool // nobody knows who it is
}

// Network is what counts as one address: of IPv6 the part that one customer
// usually has.
func Network(a netip.Addr) string {
	if a = a.Unmap().WithZone(""); a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// Callers are those on whose behalf something is done. Work that several want
// is done once, for all of them.
type Callers struct {
	mu     sync.Mutex
	all    []Caller
	joined chan struct{} // closed, and replaced, when somebody joins
}

type contextKey struct{}

// With says on whose behalf the work of a context is done.
func With(ctx context.Context, c Caller) context.Context {
	return Share(ctx, callers(c))
}

// Share is With for callers who may become more.
func Share(ctx context.Context, c *Callers) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// Of is on whose behalf the work of a context is done.
func Of(ctx context.Context) *Callers {
	if c, ok := ctx.Value(contextKey{}).(*Callers); ok {
		return c
	}
	return callers(Caller{})
}

func callers(all ...Caller) *Callers {
	return &Callers{all: all, joined: make(chan struct{})}
}

// Copy are the same callers; who joins them later does not join those.
func (c *Callers) Copy() *Callers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return callers(slices.Clone(c.all)...)
}

// Join adds callers to those who want the same.
func (c *Callers) Join(others *Callers) {
	more := others.Copy().all
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.all)
	for _, caller := range more {
		if !slices.Contains(c.all, caller) {
			c.all = append(c.all, caller)
		}
	}
	if len(c.all) > before {
		close(c.joined)
		c.joined = make(chan struct{})
	}
}

func (c *Callers) now() ([]Caller, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all), c.joined
}

// Slots is the fixed number.
type Slots struct {
	all     int // slots
	who     int // of them for one caller
	from    int // for one address
	unknown int // for all strangers together, half of it for one: addresses are cheap, accounts are not
	perItem int // for one thing that is worked on

	mu        sync.Mutex
	free      int
	strangers int            // slots held by them
	callers   map[string]int // slots held, by Who
	froms     map[string]int
	items     map[string]int
	waiting   []*claim // in the order in which they came
}

// New makes slots. One caller may hold half of them, one address three
// quarters; one stranger a quarter and all strangers together half; one item as
// many as perItem says.
func New(all, perItem int) *Slots {
	all = max(1, all)
	return &Slots{
		all: all, who: max(1, all/2), from: max(1, all*3/4), unknown: max(1, all/2), perItem: perItem, free: all,
		callers: map[string]int{}, froms: map[string]int{}, items: map[string]int{},
	}
}

// Used is how many slots are taken now.
func (s *Slots) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all - s.free
}

// claim is one who wants a slot, and then one who has it.
type claim struct {
	callers *Callers
	item    string
	got     chan struct{} // closed when it has a slot
	charged Caller        // whose share the slot counts against
}

// Take waits for a slot and returns how to give it back. It ends with the
// context, and returns its cause.
func (s *Slots) Take(ctx context.Context, item string) (release func(), err error) {
	c := &claim{callers: Of(ctx), item: item, got: make(chan struct{})}
	_, joined := c.callers.now()
	s.ask(c)
	for {
		select {
		case <-c.got:
			return sync.OnceFunc(func() { s.release(c) }), nil
		case <-joined:
			_, joined = c.callers.now()
			s.look()
		case <-ctx.Done():
			if s.leave(c) {
				return nil, context.Cause(ctx)
			}
			s.release(c) // it came too late
			return nil, context.Cause(ctx)
		}
	}
}

func (s *Slots) ask(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, c)
	s.give()
}

// look gives slots to those who may have one since others joined them.
func (s *Slots) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.give()
}

// leave reports whether the claim was still waiting.
func (s *Slots) leave(c *claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.waiting, c)
	if at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	return at >= 0
}

func (s *Slots) release(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charge(c, -1)
	s.give()
}

// give hands free slots to those who wait, the caller with the fewest first,
// and of equals the one who waits longest.
func (s *Slots) give() {
	for s.free > 0 {
		best, least := -1, 0
		for i, c := range s.waiting {
			caller, ok := s.payer(c)
			if held := s.callers[caller.Who]; ok && (best < 0 || held < least) {
				best, least, c.charged = i, held, caller
			}
		}
		if best < 0 {
			return
		}
		c := s.waiting[best]
		s.waiting = slices.Delete(s.waiting, best, best+1)
		s.charge(c, 1)
		close(c.got)
	}
}

// charge counts slots that a claim takes, or gives back.
func (s *Slots) charge(c *claim, slots int) {
	s.free -= slots
	if c.charged.Stranger {
		s.strangers += slots
	}
	count(s.callers, c.charged.Who, slots)
	count(s.froms, c.charged.From, slots)
	count(s.items, c.item, slots)
}

// payer is the caller of a claim with the fewest slots among those who may have
// one more.
func (s *Slots) payer(c *claim) (payer Caller, ok bool) {
	if s.items[c.item] >= s.perItem {
		return Caller{}, false
	}
	all, _ := c.callers.now()
	for _, caller := range all {
		if caller != (Caller{}) && (s.callers[caller.Who] >= s.who || s.froms[caller.From] >= s.from) {
			continue
		}
		if caller.Stranger && (s.strangers >= s.unknown || s.callers[caller.Who] >= max(1, s.unknown/2)) {
			continue
		}
		if !ok || s.callers[caller.Who] < s.callers[payer.Who] {
			payer, ok = caller, true
		}
	}
	return payer, ok
}

func count(held map[string]int, name string, by int) {
	if held[name] += by; held[name] == 0 {
		delete(held, name)
	}
}
