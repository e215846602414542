package clock_test

import (
	"testing"
	"time"

	"stithy/internal/platform/clock"
)

func TestTheSystemClockFollowsTheMachineInUTC(t *testing.T) {
	t.Parallel()
	before := time.Now()
	now := clock.System().Now()
	after := time.Now()

	if now.Before(before) || now.After(after) {
		t.Errorf("now = %v, want between %v and %v", now, before, after)
	}
	if now.Location() != time.UTC {
		t.Errorf("location = %v, want UTC", now.Location())
	}
}

func TestAClosureIsAClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	hands := clock.Clock(func() time.Time { return now })

	now = now.Add(time.Hour)
	if got := hands.Now(); !got.Equal(now) {
		t.Errorf("now = %v, want %v", got, now)
	}
}
