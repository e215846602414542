package githttp

import (
	"net/netip"
	"sync"
	"time"

	"stithy/internal/platform/clock"
	"stithy/internal/platform/fairshare"
)

// Ban says when an address that guesses is kept out. It is off without a
// number of failures.
type Ban struct {
	Failures int
	Within   time.Duration
	For      time.Duration
}

// maxWatched bounds how many networks are remembered; beyond it the eldest is
// forgotten.
const maxWatched = 10_000

// bans remembers who failed to prove who they are, in this process.
type bans struct {
	Ban
	clock clock.Clock

	mu      sync.Mutex
	watched map[string]*record // by network
}

type record struct {
	failures int
	since    time.Time
	until    time.Time // of the ban
}

func newBans(b Ban, now clock.Clock) *bans {
	return &bans{Ban: b, clock: now, watched: map[string]*record{}}
}

func (b *bans) off(a netip.Addr) bool { return b.Failures <= 0 || !a.IsValid() || a.IsLoopback() }

// banned reports whether an address is kept out.
func (b *bans) banned(a netip.Addr) bool {
	if b.off(a) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.watched[fairshare.Network(a)]
	return r != nil && b.clock.Now().Before(r.until)
}

// failed counts a failure.
func (b *bans) failed(a netip.Addr) {
	if b.off(a) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	r := b.watched[fairshare.Network(a)]
	if r == nil || (now.Sub(r.since) > b.Within && !now.Before(r.until)) {
		b.makeRoom()
		r = &record{since: now}
		b.watched[fairshare.Network(a)] = r
	}
	if r.failures++; r.failures >= b.Failures {
		r.until = now.Add(b.For)
	}
}

// forgive forgets the failures of an address that proved itself.
func (b *bans) forgive(a netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watched, fairshare.Network(a))
}

func (b *bans) makeRoom() {
	if len(b.watched) < maxWatched {
		return
	}
	var eldest string
	var since time.Time
	for a, r := range b.watched {
		if since.IsZero() || r.since.Before(since) {
			eldest, since = a, r.since
		}
	}
	delete(b.watched, eldest)
}
