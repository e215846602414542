package page

import (
	"fmt"
	"time"
)

// DisplayTime is a time as people read it, with the exact one on hover.
type DisplayTime struct {
	Exact, Machine, Text string
}

// Time describes a time relative to now; nil and zero never were.
func (x *Request) Time(t *time.Time) *DisplayTime {
	if t == nil || t.IsZero() {
		return nil
	}
	return &DisplayTime{
		Exact: t.UTC().Format("2 January 2006, 15:04 UTC"), Machine: t.UTC().Format(time.RFC3339), Text: relative(x.Clock.Now().Sub(*t)),
	}
}

// Day describes a date, of which no time is known, relative to today.
func (x *Request) Day(t *time.Time) *DisplayTime {
	if t == nil || t.IsZero() {
		return nil
	}
	const length = 24 * time.Hour
	d := &DisplayTime{Exact: t.UTC().Format("2 January 2006"), Machine: t.UTC().Format(time.DateOnly)}
	switch ago := x.Clock.Now().UTC().Truncate(length).Sub(t.UTC().Truncate(length)); ago {
	case 0:
		d.Text = "today"
	case length:
		d.Text = "yesterday"
	default:
		d.Text = relative(ago)
	}
	return d
}

// relative says how long ago something was, or how soon it will be.
func relative(d time.Duration) string {
	format := "%s ago"
	if d < 0 {
		d, format = -d, "in %s"
	}
	count := func(n int, unit string) string {
		if n != 1 {
			unit += "s"
		}
		return fmt.Sprintf(format, fmt.Sprintf("%d %s", n, unit))
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Minute && format == "%s ago":
		return "just now"
	case d < time.Hour:
		return count(max(1, int(d/time.Minute)), "minute")
	case d < day:
		return count(int(d/time.Hour), "hour")
	case d < 60*day:
		return count(int(d/day), "day")
	case d < 730*day:
		return count(int(d/(30*day)), "month")
	}
	return count(int(d/(365*day)), "year")
}
