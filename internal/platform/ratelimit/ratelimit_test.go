package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stithy/internal/platform/clock"
)

var noon = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

// hands is a clock that a test turns.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) clock() clock.Clock {
	return func() time.Time {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.now
	}
}

func (h *hands) turn(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// counterFunc is a shared counter made of a function.
type counterFunc func(ctx context.Context, key string, keep time.Duration) (int, error)

func (f counterFunc) Increment(ctx context.Context, key string, keep time.Duration) (int, error) {
	return f(ctx, key, keep)
}

func TestHitsBeyondTheLimitAreRefusedUntilTheWindowEnds(t *testing.T) {
	t.Parallel()
	h := &hands{now: noon.Add(20 * time.Second)}
	limiter := New(h.clock(), nil)
	rule := Rule{Name: "raw_blob", Limit: 2, Period: time.Minute}

	for i, want := range []struct {
		allowed   bool
		remaining int
	}{{true, 1}, {true, 0}, {false, 0}, {false, 0}} {
		got := limiter.Hit(t.Context(), rule, "ada")
		if diff := cmp.Diff(Verdict{Rule: rule, Observed: i + 1, Reset: noon.Add(time.Minute)}, got); diff != "" {
			t.Errorf("hit %d: (-want +got)\n%s", i+1, diff)
		}
		if got.Allowed() != want.allowed || got.Remaining() != want.remaining {
			t.Errorf("hit %d: allowed %v, remaining %d", i+1, got.Allowed(), got.Remaining())
		}
	}
	if got := limiter.Hit(t.Context(), rule, "grace"); !got.Allowed() {
		t.Errorf("another key pays: %+v", got)
	}
	other := Rule{Name: "jobs_index", Limit: 2, Period: time.Minute}
	if got := limiter.Hit(t.Context(), other, "ada"); !got.Allowed() {
		t.Errorf("another rule pays: %+v", got)
	}

	h.turn(40*time.Second - time.Nanosecond)
	if got := limiter.Hit(t.Context(), rule, "ada"); got.Allowed() {
		t.Errorf("in the last moment: %+v", got)
	}
	h.turn(time.Nanosecond)
	if got := limiter.Hit(t.Context(), rule, "ada"); !got.Allowed() || got.Observed != 1 || !got.Reset.Equal(noon.Add(2*time.Minute)) {
		t.Errorf("in the next window: %+v", got)
	}
}

func TestWindowsAreAlignedToTheEpoch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		period     time.Duration
		now, reset int64
	}{
		{15 * time.Second, 1_700_000_000, 1_700_000_010},
		{time.Minute, 1_700_000_000, 1_700_000_040},
		{time.Minute, 1_700_000_040, 1_700_000_100},
		{10 * time.Minute, 1_700_000_000, 1_700_000_400},
		{time.Hour, 1_700_000_000, 1_700_002_800},
		{7 * time.Second, 1_700_000_000, 1_700_000_001}, // divides no minute
		{24 * time.Hour, 0, 86_400},
	}
	for _, test := range tests {
		now := time.Unix(test.now, 0).In(time.FixedZone("Kathmandu", 5*3600+2700))
		limiter := New(func() time.Time { return now }, nil)
		got := limiter.Hit(t.Context(), Rule{Name: "rule", Limit: 1, Period: test.period}, "key")
		if want := time.Unix(test.reset, 0).UTC(); got.Reset != want {
			t.Errorf("%v at %d: reset %v, want %v", test.period, test.now, got.Reset, want)
		}
	}
}

func TestRetryAfterIsRoundedUpToWholeSeconds(t *testing.T) {
	t.Parallel()
	verdict := Verdict{Reset: noon}
	for before, want := range map[time.Duration]time.Duration{
		time.Minute:                   time.Minute,
		time.Second + 1:               2 * time.Second,
		time.Second:                   time.Second,
		time.Second - time.Nanosecond: time.Second,
		time.Nanosecond:               time.Second,
		0:                             0,
		-time.Minute:                  0,
	} {
		if got := verdict.RetryAfter(noon.Add(-before)); got != want {
			t.Errorf("%v before the end: %v, want %v", before, got, want)
		}
	}
}

func TestARuleWithoutALimitIsOff(t *testing.T) {
	t.Parallel()
	limiter := New(clock.System(), counterFunc(func(context.Context, string, time.Duration) (int, error) {
		t.Error("counted")
		return 0, nil
	}))
	for _, rule := range []Rule{{}, {Name: "rule", Period: time.Minute}, {Name: "rule", Limit: 1}, {Name: "rule", Limit: -1, Period: time.Minute}} {
		for range 3 {
			if got := limiter.Hit(t.Context(), rule, "key"); !got.Allowed() || got.Remaining() != max(rule.Limit, 0) {
				t.Errorf("%+v", got)
			}
		}
	}
}

func TestCountsMatchAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &hands{now: noon}
		limiter := New(h.clock(), nil)
		model := map[string]int{}
		rules := []Rule{
			{Name: "a", Limit: 2, Period: 7 * time.Second},
			{Name: "ab", Limit: 3, Period: 7 * time.Second},
			{Name: "b", Limit: 1, Period: time.Minute},
		}
		for range rapid.IntRange(1, 60).Draw(t, "hits") {
			h.turn(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "pause")))
			rule := rapid.SampledFrom(rules).Draw(t, "rule")
			key := rapid.SampledFrom([]string{"", "a", "b", "ba"}).Draw(t, "key")
			cell := fmt.Sprintf("%q %q %d", rule.Name, key, h.now.UnixNano()/int64(rule.Period))
			model[cell]++
			got := limiter.Hit(context.Background(), rule, key)
			if got.Observed != model[cell] || got.Allowed() != (model[cell] <= rule.Limit) || !got.Reset.After(h.now) {
				t.Fatalf("%s: %+v, want %d", cell, got, model[cell])
			}
		}
	})
}

func TestConcurrentHitsAllowExactlyTheLimit(t *testing.T) {
	t.Parallel()
	limiter := New((&hands{now: noon}).clock(), nil)
	rule := Rule{Name: "rule", Limit: 100, Period: time.Minute}
	var allowed atomic.Int32
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for range 50 {
				if limiter.Hit(t.Context(), rule, "key").Allowed() {
					allowed.Add(1)
				}
			}
		})
	}
	group.Wait()
	if got := allowed.Load(); got != 100 {
		t.Errorf("%d hits allowed, want 100", got)
	}
}

func TestAFloodOfKeysTakesBoundedMemoryAndFreesNobody(t *testing.T) {
	t.Parallel()
	limiter := New((&hands{now: noon}).clock(), nil)
	strict := Rule{Name: "project_download_export", Limit: 1, Period: time.Hour}
	loose := Rule{Name: "throttle_unauthenticated_api", Limit: 3600, Period: time.Hour}
	limiter.Hit(t.Context(), strict, "ada")
	for i := range maxCounters + 20_000 {
		for range 2 { // more often than ada, yet far from the limit
			limiter.Hit(t.Context(), loose, fmt.Sprint("address ", i))
		}
	}

	if got := len(limiter.counters); got != maxCounters {
		t.Errorf("%d counters, want %d", got, maxCounters)
	}
	if got := limiter.Hit(t.Context(), strict, "ada"); got.Allowed() || got.Observed != 2 {
		t.Errorf("the flood freed a limited key: %+v", got)
	}
	if got := limiter.Hit(t.Context(), strict, "grace"); !got.Allowed() {
		t.Errorf("the flood shut out a newcomer: %+v", got)
	}
	if got := limiter.Hit(t.Context(), strict, "grace"); got.Observed != 2 {
		t.Errorf("a newcomer is not counted: %+v", got)
	}
}

func TestCountersOfPastWindowsGiveWay(t *testing.T) {
	t.Parallel()
	h := &hands{now: noon}
	limiter := New(h.clock(), nil)
	rule := Rule{Name: "rule", Limit: 5, Period: time.Minute}
	const perWindow = 2_000
	for range 10 {
		for i := range perWindow {
			limiter.Hit(t.Context(), rule, fmt.Sprint(i))
		}
		h.turn(time.Minute)
	}
	if got := len(limiter.counters); got > 2*perWindow {
		t.Errorf("%d counters, want not many more than the %d of one window", got, perWindow)
	}
}

func TestAHostileKeyIsHashed(t *testing.T) {
	t.Parallel()
	var keys []string
	limiter := New((&hands{now: noon}).clock(), counterFunc(func(_ context.Context, key string, keep time.Duration) (int, error) {
		keys = append(keys, key)
		if keep != time.Minute {
			t.Errorf("kept for %v", keep)
		}
		return 1, nil
	}))
	rule := Rule{Name: "rule", Limit: 1, Period: time.Minute}
	long := strings.Repeat("x", 1<<20)
	for _, key := range []string{"", "a", "a\x00", "a\r\nFLUSHALL\r\n", long, long + "x"} {
		if got := limiter.Hit(t.Context(), rule, key); !got.Allowed() {
			t.Errorf("shares a count: %+v", got)
		}
	}
	want := fmt.Sprintf("ratelimit:rule:%d:e3b0c44298fc1c149afbf4c8996fb924", noon.Add(time.Minute).UnixNano()) // SHA-256 of nothing
	if keys[0] != want {
		t.Errorf("key %q, want %q", keys[0], want)
	}
	for _, key := range keys {
		if len(key) != len(want) {
			t.Errorf("key %q is not bounded", key)
		}
	}
}

func TestTheLocalCounterGoesOnFromTheSharedCount(t *testing.T) {
	t.Parallel()
	h := &hands{now: noon}
	var shared int
	var failure error
	limiter := New(h.clock(), counterFunc(func(context.Context, string, time.Duration) (int, error) {
		return shared, failure
	}))
	hit := func(want int) {
		t.Helper()
		got := limiter.Hit(t.Context(), Rule{Name: "rule", Limit: 4, Period: time.Minute}, "key")
		if got.Observed != want || got.Allowed() != (want <= 4) {
			t.Errorf("%+v, want %d observed", got, want)
		}
	}
	shared = 3
	hit(3) // two of them on other nodes
	failure = errors.New("connection refused")
	hit(4)
	hit(5)
	h.turn(time.Second)
	shared, failure = 1, nil // it was restarted and forgot
	hit(6)
	shared = 9
	hit(9)
}

func TestHitsThatOvertakeEachOtherAreCountedOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	first, answer := make(chan struct{}), make(chan struct{})
	limiter := New((&hands{now: noon}).clock(), counterFunc(func(context.Context, string, time.Duration) (int, error) {
		n := calls.Add(1)
		if n == 1 {
			close(first)
			<-answer
		}
		return int(n), nil
	}))
	rule := Rule{Name: "rule", Limit: 1, Period: time.Minute}
	slow := make(chan Verdict, 1)
	go func() { slow <- limiter.Hit(t.Context(), rule, "key") }()
	<-first
	if got := limiter.Hit(t.Context(), rule, "key"); got.Observed != 2 || got.Allowed() {
		t.Errorf("second: %+v", got)
	}
	close(answer)
	if got := <-slow; got.Observed != 1 || !got.Allowed() {
		t.Errorf("first, overtaken: %+v", got)
	}
	if got := limiter.Hit(t.Context(), rule, "key"); got.Observed != 3 {
		t.Errorf("third: %+v", got)
	}
}

func TestAFailedSharedCounterIsLeftAloneForASecond(t *testing.T) {
	t.Parallel()
	h := &hands{now: noon}
	failure := errors.New("connection refused")
	calls := 0
	limiter := New(h.clock(), counterFunc(func(context.Context, string, time.Duration) (int, error) {
		calls++
		return 10, failure
	}))
	rule := Rule{Name: "rule", Limit: 3, Period: time.Hour}
	hit := func(wantObserved, wantCalls int) {
		t.Helper()
		if got := limiter.Hit(t.Context(), rule, "key"); got.Observed != wantObserved || calls != wantCalls {
			t.Errorf("observed %d after %d calls, want %d after %d", got.Observed, calls, wantObserved, wantCalls)
		}
	}
	hit(1, 1)
	hit(2, 1)
	h.turn(time.Second - time.Nanosecond)
	hit(3, 1)
	h.turn(time.Nanosecond)
	hit(4, 2)
	hit(5, 2)
	failure = nil
	h.turn(time.Second)
	hit(10, 3)
	hit(11, 4)
}

func TestOnlyOneHitTriesAFailedSharedCounterAgain(t *testing.T) {
	t.Parallel()
	h := &hands{now: noon}
	var calls atomic.Int32
	trying, answer := make(chan struct{}), make(chan struct{})
	limiter := New(h.clock(), counterFunc(func(context.Context, string, time.Duration) (int, error) {
		if calls.Add(1) == 2 {
			close(trying)
			<-answer
		}
		return 0, errors.New("timeout")
	}))
	rule := Rule{Name: "rule", Limit: 3, Period: time.Hour}
	limiter.Hit(t.Context(), rule, "key")
	h.turn(time.Second)

	var group sync.WaitGroup
	group.Go(func() { limiter.Hit(t.Context(), rule, "key") })
	<-trying
	if got := limiter.Hit(t.Context(), rule, "key"); got.Observed != 2 || calls.Load() != 2 {
		t.Errorf("observed %d after %d calls, want 2 after 2", got.Observed, calls.Load())
	}
	close(answer)
	group.Wait()
}

func TestAClientThatHangsUpIsStillCounted(t *testing.T) {
	t.Parallel()
	limiter := New((&hands{now: noon}).clock(), counterFunc(func(ctx context.Context, _ string, _ time.Duration) (int, error) {
		return 7, ctx.Err()
	}))
	gone, leave := context.WithCancel(t.Context())
	leave()
	if got := limiter.Hit(gone, Rule{Name: "rule", Limit: 3, Period: time.Hour}, "key"); got.Observed != 7 {
		t.Errorf("observed %d, want the shared 7", got.Observed)
	}
}

func BenchmarkHit(b *testing.B) {
	rule := Rule{Name: "rule", Limit: 3, Period: time.Hour}
	b.Run("known key", func(b *testing.B) {
		limiter := New(clock.System(), nil)
		b.ReportAllocs()
		for b.Loop() {
			limiter.Hit(b.Context(), rule, "192.0.2.1")
		}
	})
	b.Run("flood", func(b *testing.B) {
		limiter := New(clock.System(), nil)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			limiter.Hit(b.Context(), rule, fmt.Sprint(i))
		}
	})
}
