// Package ratelimit counts how often something was done in the present window and says whether that was too
// often.
//
// It owns fixed windows, the counter that nodes share, and the local counter that keeps limiting when the
// shared one is gone. It does not own the rules, the keys they are counted by, or the answer to a client.
package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	"stithy/internal/platform/clock"
)

// Rule allows Limit hits in each Period. Windows begin at multiples of the period since the epoch, so that all
// nodes agree on them. A rule without a positive limit and period is off.
type Rule struct {
	Name   string
	Limit  int
	Period time.Duration
}

func (r Rule) off() bool { return r.Limit <= 0 || r.Period <= 0 }

// Verdict is the state of a window after a hit.
type Verdict struct {
	Rule     Rule
	Observed int       // hits in this window, this one included
	Reset    time.Time // the end of the window
}

// Allowed tells whether the hit was within the limit.
func (v Verdict) Allowed() bool { return v.Rule.off() || v.Observed <= v.Rule.Limit }

// Remaining is how many more hits this window allows.
func (v Verdict) Remaining() int { return max(v.Rule.Limit-v.Observed, 0) }

// RetryAfter is the time to the end of the window in whole seconds, rounded up: a client that waits so long
// never comes too early.
func (v Verdict) RetryAfter(now time.Time) time.Duration {
	left := max(v.Reset.Sub(now), 0)
	return (left + time.Second - 1).Truncate(time.Second)
}

// Counter is a count that nodes share.
type Counter interface {
	// Increment adds one to the count under key and returns it. The count may be forgotten after keep.
	Increment(ctx context.Context, key string, keep time.Duration) (int, error)
}

const (
	// maxCounters bounds the memory that a flood of distinct keys can take to about ten megabytes.
	maxCounters = 100_000
	// sampleSize is how many counters each new one looks at for a place.
	sampleSize = 8
	// sharedPause is how long the shared counter is left alone after it failed.
	sharedPause = time.Second
)

// Limiter counts hits. It is safe for concurrent use.
type Limiter struct {
	clock   clock.Clock
	shared  Counter
	breaker breaker

	mu       sync.Mutex
	counters map[window]counter
}

// window names one counter. The key is hashed, for it may be long and comes from strangers.
type window struct {
	rule string
	ends int64 // Unix nanoseconds
	key  [16]byte
}

func (w window) String() string {
	return "ratelimit:" + w.rule + ":" + strconv.FormatInt(w.ends, 10) + ":" + hex.EncodeToString(w.key[:])
}

// counter is what this node knows of a window. It learns the shared count with every answer, so that it can go
// on from there when the answers cease.
type counter struct {
	seen, limit int
}

func (c counter) fullness() float64 { return float64(c.seen) / float64(c.limit) }

// New makes a Limiter; shared is nil when there is only one node.
func New(now clock.Clock, shared Counter) *Limiter {
	return &Limiter{clock: now, shared: shared, counters: map[window]counter{}}
}

// Hit counts one hit on the rule by the key and judges it. It always answers: without the shared counter the
// local one decides.
func (l *Limiter) Hit(ctx context.Context, rule Rule, key string) Verdict {
	if rule.off() {
		return Verdict{Rule: rule}
	}
	now := l.clock.Now()
	period := rule.Period.Nanoseconds()
	digest := sha256.Sum256([]byte(key))
	w := window{
		rule: rule.Name,
		ends: (now.UnixNano()/period + 1) * period,
		key:  [16]byte(digest[:16]),
	}
	observed := 0
	if l.shared != nil && l.breaker.closed(now) {
		observed = l.hitShared(ctx, w, rule.Period)
	}
	observed = l.hitLocal(w, rule.Limit, observed, now)
	return Verdict{Rule: rule, Observed: observed, Reset: time.Unix(0, w.ends).UTC()}
}

// hitShared returns the count of all nodes, or 0 when the shared counter fails.
func (l *Limiter) hitShared(ctx context.Context, w window, keep time.Duration) int {
	l.mu.Lock()
	before := l.counters[w].seen
	l.mu.Unlock()

	// A client that hangs up must neither escape the count nor make the counter look broken.
	hits, err := l.shared.Increment(context.WithoutCancel(ctx), w.String(), keep)
	l.breaker.report(err, l.clock.Now())
	if err != nil {
		return 0
	}
	// Less than before means that the shared counter lost its memory.
	return max(hits, before+1)
}

// hitLocal takes note of the shared count, or counts by itself when that is 0, and returns the count.
func (l *Limiter) hitLocal(w window, limit, shared int, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()

	c, known := l.counters[w]
	if !known {
		l.makeRoom(now)
	}
	observed := shared
	if observed == 0 {
		observed = c.seen + 1
	}
	l.counters[w] = counter{seen: max(c.seen, observed), limit: limit}
	return observed
}

// makeRoom looks at a few counters, chosen by the random order of a map, and drops those whose window is over.
// As every new counter pays for it, no sweeper has to run. When the table is full of live counters, the one
// furthest from its limit goes: a flood of new keys drives out itself, not those who are being limited.
func (l *Limiter) makeRoom(now time.Time) {
	var victim window
	least, looked := 0.0, 0
	for w, c := range l.counters {
		if w.ends <= now.UnixNano() {
			delete(l.counters, w)
		} else if f := c.fullness(); victim == (window{}) || f < least {
			victim, least = w, f
		}
		if looked++; looked == sampleSize {
			break
		}
	}
	if len(l.counters) >= maxCounters {
		delete(l.counters, victim)
	}
}

// breaker spares hits the wait for a shared counter that has just failed.
type breaker struct {
	mu      sync.Mutex
	retryAt time.Time // zero while the counter works
}

// closed tells whether to ask the counter. After a pause one hit alone is sent to try it.
func (b *breaker) closed(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.retryAt.IsZero() {
		return true
	}
	if now.Before(b.retryAt) {
		return false
	}
	b.retryAt = now.Add(sharedPause)
	return true
}

func (b *breaker) report(err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retryAt = time.Time{}
	if err != nil {
		b.retryAt = now.Add(sharedPause)
	}
}
