package issue

import (
	"context"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/sorting"
)

// Day is how many issues of a list were there, and how many of them were closed, at the end of a day.
type Day struct {
	Date        time.Time // midnight in UTC
	All, Closed int
}

// maxHistory is of how many issues a history is told.
const maxHistory = 5_000

// span is when an issue was opened and closed.
type span struct {
	CreatedAt time.Time
	ClosedAt  *time.Time
}

// History is how those issues came to be and were closed that are in a list now and that an actor may read: the days on which something changed, the
// earliest first. It is empty for a list that is too long to be told of.
func (s *Service) History(ctx context.Context, by access.Actor, in Scope, f Filter) ([]Day, error) {
	l, empty, err := s.listing(ctx, by, in, f)
	if err != nil || empty {
		return nil, err
	}
	req := paging.Request{OrderBy: "created_at"}
	sql, args := l.found(req, maxHistory+1).Join("join issues i on i.id = found.id").
		Columns("i.created_at, i.closed_at").Order(keys(req)...).Limit(maxHistory + 1).SQL()
	spans, err := postgres.All[span](ctx, s.deps.DB, sql, args...)
	if err != nil || len(spans) > maxHistory {
		return nil, err
	}
	return history(spans), nil
}

func history(spans []span) []Day {
	changes := map[time.Time]Day{}
	note := func(at time.Time, all, closed int) {
		date := at.UTC().Truncate(24 * time.Hour)
		d := changes[date]
		changes[date] = Day{Date: date, All: d.All + all, Closed: d.Closed + closed}
	}
	for _, s := range spans {
		note(s.CreatedAt, 1, 0)
		if s.ClosedAt != nil {
			note(*s.ClosedAt, 0, 1)
		}
	}
	days := make([]Day, 0, len(changes))
	for _, d := range changes {
		days = append(days, d)
	}
	sorting.By(days, func(a, b Day) int { return a.Date.Compare(b.Date) })
	for n := 1; n < len(days); n++ {
		days[n].All += days[n-1].All
		days[n].Closed += days[n-1].Closed
	}
	return days
}
