package page

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

func TestADateIsToldByDays(t *testing.T) {
	t.Parallel()
	x := &Request{Kit: &Kit{Clock: func() time.Time { return time.Date(2026, 11, 15, 22, 10, 0, 0, time.UTC) }}}
	for date, want := range map[string]string{"2026-11-15": "today", "2026-11-14": "yesterday", "2026-11-10": "5 days ago",
		"2026-11-18": "in 3 days"} {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Day(&at); got.Text != want || got.Machine != date {
			t.Errorf("%s: %+v, want %q", date, got, want)
		}
	}
	if x.Day(nil) != nil {
		t.Error("no date is one")
	}
}
