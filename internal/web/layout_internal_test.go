package web

import (
	"testing"
	"time"
)

func TestTimesAreToldAsPeopleTellThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", time.Minute: "1 minute ago", 90 * time.Minute: "1 hour ago", 49 * time.Hour: "2 days ago",
		100 * 24 * time.Hour: "3 months ago", 1000 * 24 * time.Hour: "2 years ago", -36 * time.Hour: "in 1 day", -30 * time.Second: "in 1 minute",
	} {
		if got := relative(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
