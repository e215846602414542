package issue

import (
	"context"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// units are how people write durations: a month has four weeks of five days of eight hours.
var units = []struct {
	names   []string
	seconds int
}{
	{[]string{"mo", "month", "months"}, 20 * 8 * 3600},
	{[]string{"w", "week", "weeks"}, 5 * 8 * 3600},
	{[]string{"d", "day", "days"}, 8 * 3600},
	{[]string{"h", "hr", "hour", "hours"}, 3600},
	{[]string{"m", "min", "minute", "minutes"}, 60},
	{[]string{"s", "sec", "second", "seconds"}, 1},
}

const maxDurationText = 100

// ParseDuration reads a duration as people write it, in seconds: "1mo 2w 3d 4h 5m", "-30m"; a number alone is hours.
func ParseDuration(text string) (seconds int, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxDurationText {
		return 0, false
	}
	rest, negative := strings.CutPrefix(text, "-")
	total, seen := 0.0, false
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		n, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, false
		}
		rest = strings.TrimSpace(rest[digits:])
		letters := len(rest) - len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))
		scale := 0
		switch name := rest[:letters]; {
		case name == "" && rest == "" && !seen:
			scale = 3600
		default:
			for _, u := range units {
				for _, known := range u.names {
					if name == known {
						scale = u.seconds
					}
				}
			}
		}
		if scale == 0 {
			return 0, false
		}
		total, seen, rest = total+n*float64(scale), true, rest[letters:]
	}
	if !seen || total > math.MaxInt32 {
		return 0, false
	}
	if negative {
		total = -total
	}
	return int(total), true
}

// FormatDuration writes seconds as people do; "" for none. In hours alone where the instance wants it so.
func FormatDuration(seconds int, hoursOnly bool) string {
	if seconds == 0 {
		return ""
	}
	sign := ""
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	var parts []string
	for _, u := range units {
		if hoursOnly && u.seconds > 3600 {
			continue
		}
		if n := seconds / u.seconds; n > 0 {
			parts = append(parts, strconv.Itoa(n)+u.names[0])
			seconds %= u.seconds
		}
	}
	return sign + strings.Join(parts, " ")
}

var errEstimate = fault.WithMessage(fault.Rejected, "400 Bad request - Time estimate must have a valid format and be greater than or equal to zero.")

// Estimate says how long an issue takes.
func (s *Service) Estimate(ctx context.Context, by access.Actor, p *project.Project, iid int, duration string) (*Issue, error) {
	seconds, ok := ParseDuration(duration)
	if !ok || seconds < 0 {
		return nil, errEstimate
	}
	return s.track(ctx, by, p, func(tx pgx.Tx, e Event) (*Issue, error) { return s.estimate(ctx, tx, e, iid, seconds) })
}

// track opens a transaction for what is said about the time of an issue.
func (s *Service) track(
	ctx context.Context, by access.Actor, p *project.Project, do func(tx pgx.Tx, e Event) (*Issue, error),
) (i *Issue, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		i, err = do(tx, Event{Action: Timed, By: by, Project: p})
		return err
	})
	return i, err
}

func (s *Service) estimate(ctx context.Context, tx pgx.Tx, e Event, iid, seconds int) (*Issue, error) {
	return s.changeTimes(ctx, tx, e, iid, func(i *Issue) error {
		i.TimeEstimate = seconds
		return nil
	})
}

const maxSummary = 255

// Spend notes that a person worked on an issue, or takes some of that back.
func (s *Service) Spend(ctx context.Context, by access.Actor, p *project.Project, iid int, duration, summary string) (*Issue, error) {
	seconds, ok := ParseDuration(duration)
	if !ok {
		return nil, fault.WithMessage(fault.Rejected, "400 Bad request - Time spent must be formatted correctly. For example: 1h 30m.")
	}
	if len(summary) > maxSummary*utf8.UTFMax || utf8.RuneCountInString(summary) > maxSummary {
		return nil, fault.Field("summary", "is too long (maximum is %d characters)", maxSummary)
	}
	return s.track(ctx, by, p, func(tx pgx.Tx, e Event) (*Issue, error) { return s.spend(ctx, tx, e, iid, seconds, summary) })
}

// spend notes time of the moment, or of the day that the event says.
func (s *Service) spend(ctx context.Context, tx pgx.Tx, e Event, iid, seconds int, summary string) (*Issue, error) {
	return s.changeTimes(ctx, tx, e, iid, func(i *Issue) error {
		if i.TimeSpent+seconds < 0 {
			return fault.Field("base", "Time to subtract exceeds the total time spent")
		}
		if i.TimeSpent+seconds > math.MaxInt32 {
			return fault.Field("base", "Time spent is more than can be counted")
		}
		return s.logTime(ctx, tx, e, i, seconds, summary)
	})
}

// ResetSpent takes back all time that was spent on an issue.
func (s *Service) ResetSpent(ctx context.Context, by access.Actor, p *project.Project, iid int) (*Issue, error) {
	return s.track(ctx, by, p, func(tx pgx.Tx, e Event) (*Issue, error) { return s.resetSpent(ctx, tx, e, iid) })
}

func (s *Service) resetSpent(ctx context.Context, tx pgx.Tx, e Event, iid int) (*Issue, error) {
	return s.changeTimes(ctx, tx, e, iid, func(i *Issue) error { return s.logTime(ctx, tx, e, i, -i.TimeSpent, "") })
}

func (s *Service) logTime(ctx context.Context, tx pgx.Tx, e Event, i *Issue, seconds int, summary string) error {
	if seconds == 0 {
		return nil
	}
	now := s.deps.Clock.Now()
	day := now
	if e.SpentOn != nil {
		day = *e.SpentOn
	}
	i.TimeSpent += seconds
	_, err := tx.Exec(ctx, sqlLogTime, i.ID, e.By.ID(), seconds, summary, day, now)
	return err
}
