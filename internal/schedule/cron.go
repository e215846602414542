package schedule

import (
	"errors"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// cron is when something is to happen, in five fields: minute, hour, day of the
// month, month, day of the week. Each is a set of numbers.
type cron struct {
	minute, hour, day, month, weekday uint64
	anyDay, anyWeekday                bool
}

var errCron = errors.New("not a time of five fields")

var monthNames = []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

var cronWords = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
	"@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseCron reads the five fields.
func parseCron(text string) (cron, error) {
	if word, known := cronWords[strings.ToLower(strings.TrimSpace(text))]; known {
		text = word
	}
	fields := strings.Fields(text)
	if len(fields) != 5 || len(text) > 255 {
		return cron{}, errCron
	}
	var c cron
	var err error
	for i, f := range []struct {
		into     *uint64
		min, max int
		names    []string
	}{{&c.minute, 0, 59, nil}, {&c.hour, 0, 23, nil}, {&c.day, 1, 31, nil}, {&c.month, 1, 12, monthNames}, {&c.weekday, 0, 7, dayNames}} {
		if *f.into, err = cronField(strings.ToLower(fields[i]), f.min, f.max, f.names); err != nil {
			return cron{}, err
		}
	}
	if c.weekday&(1<<7) != 0 { // Sunday has two numbers
		c.weekday = c.weekday&^(1<<7) | 1
	}
	c.anyDay, c.anyWeekday = strings.HasPrefix(fields[2], "*"), strings.HasPrefix(fields[4], "*")
	return c, nil
}

func cronField(text string, least, most int, names []string) (set uint64, err error) {
	number := func(s string) (int, error) {
		for i, name := range names {
			if name != "" && s == name {
				return i, nil
			}
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most || len(s) > 2 {
			return 0, errCron
		}
		return n, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		span, every, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(every); err != nil || step < 1 || step > 60 {
				return 0, errCron
			}
		}
		from, to := least, most
		if most == 7 {
			to = 6
		}
		if span != "*" {
			low, high, ranged := strings.Cut(span, "-")
			if from, err = number(low); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if to, err = number(high); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
		}
		if from > to {
			return 0, errCron
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

// horizon is how far ahead a time is looked for: the 29th of February comes at
// the latest after eight years.
const horizon = 9 * 366

// next is the first time after another, in a zone; false when there is none, as
// on the 30th of February. Days are counted without the zone: there are some that
// begin at one o'clock, and one that a zone left out.
func (c cron) next(after time.Time, zone *time.Location) (time.Time, bool) {
	t := after.In(zone).Truncate(time.Minute).Add(time.Minute)
	first := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	for n := range horizon {
		if day := first.AddDate(0, 0, n); c.onDay(day) {
			if at, ok := c.at(day, t); ok {
				return at, true
			}
		}
	}
	return time.Time{}, false
}

func (c cron) onDay(day time.Time) bool {
	if c.month&(1<<int(day.Month())) == 0 {
		return false
	}
	month, week := c.day&(1<<day.Day()) != 0, c.weekday&(1<<int(day.Weekday())) != 0
	if c.anyDay || c.anyWeekday {
		return month && week
	}
	return month || week // either of two that are named
}

// at is the first time of a day that is not before another, where that is the
// time. What the clock leaves out in spring has no time, and what it shows twice in
// autumn has one.
func (c cron) at(day, earliest time.Time) (time.Time, bool) {
	for hours := c.hour; hours != 0; hours &= hours - 1 {
		h := bits.TrailingZeros64(hours)
		for minutes := c.minute; minutes != 0; minutes &= minutes - 1 {
			m := bits.TrailingZeros64(minutes)
			t := time.Date(day.Year(), day.Month(), day.Day(), h, m, 0, 0, earliest.Location())
			if t.Day() == day.Day() && t.Hour() == h && t.Minute() == m && !t.Before(earliest) {
				return t, true
			}
		}
	}
	return time.Time{}, false
}
