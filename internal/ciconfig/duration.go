package ciconfig

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var errDuration = errors.New("should be a duration")

const (
	day  = 24 * time.Hour
	week = 7 * day
)

var units = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "dy": day, "day": day, "days": day,
	"w": week, "wk": week, "wks": week, "week": week, "weeks": week,
	"mo": 30 * day, "mos": 30 * day, "month": 30 * day, "months": 30 * day,
	"y": 8766 * time.Hour, "yr": 8766 * time.Hour, "yrs": 8766 * time.Hour, "year": 8766 * time.Hour, "years": 8766 * time.Hour,
}

var (
	durationPart  = regexp.MustCompile(`^(\d{1,12}(?:\.\d{1,9})?)\s*([a-z]*)[\s,]*`)
	durationClock = regexp.MustCompile(`^(\d{1,6}):(\d{1,2})(?::(\d{1,2}))?$`)
)

// ParseDuration reads durations like "1h 30m", "2 weeks and 3 days", "1:30:00" or a number of seconds. never is true for the word never.
func ParseDuration(s string) (d time.Duration, never bool, err error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "never" {
		return 0, true, nil
	}
	if len(s) > 200 {
		return 0, false, errDuration
	}
	if m := durationClock.FindStringSubmatch(s); m != nil {
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[2])
		if m[3] == "" {
			return time.Duration(a)*time.Minute + time.Duration(b)*time.Second, false, nil
		}
		c, _ := strconv.Atoi(m[3])
		return time.Duration(a)*time.Hour + time.Duration(b)*time.Minute + time.Duration(c)*time.Second, false, nil
	}
	if s == "" {
		return 0, false, errDuration
	}
	var total float64
	for first := true; s != ""; first = false {
		if rest, ok := strings.CutPrefix(s, "and "); ok && !first {
			s = strings.TrimLeft(rest, " ")
		}
		m := durationPart.FindStringSubmatch(s)
		if m == nil {
			return 0, false, errDuration
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, false, errDuration
		}
		unit, ok := units[m[2]]
		switch {
		case m[2] == "" && first && len(m[0]) == len(s):
			unit = time.Second
		case !ok:
			return 0, false, errDuration
		}
		total += n * float64(unit)
		s = s[len(m[0]):]
	}
	if total > math.MaxInt64/2 {
		return 0, false, errDuration
	}
	return time.Duration(total), false, nil
}
