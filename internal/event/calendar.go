package event

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// Calendar is how much somebody did on each day of a year, as far as its reader may know of it.
type Calendar struct {
	From   time.Time // the first day
	Counts []int     // of each day
	Total  int
	Cut    bool // more happened than is counted: of the first days less is told, or nothing
}

// maxAlike is how many events with readers of their own a calendar asks about.
const maxAlike = 1_000

// alike is what decides who reads an event. Of those that have all of it in common, whoever reads one reads every one.
type alike struct {
	ProjectID  int64
	Pushed     bool
	TargetType string
	PlaceID    int64 // the project of the issue that it is about
	CommitIn   int64 // the project of the commit
	SnippetID  int64
	SecretID   int64 // of an issue that is confidential
	Hidden     bool  // the issue is that of somebody who is banned
	Internal   bool
}

// daily is how many events that are alike there were on a day.
type daily struct {
	alike
	Day      time.Time
	TargetID *int64 // of one of them
	Events   int
}

// CalendarOf counts what somebody did in the year that ends today. It costs what that person did, and no more than a list: the newest events are counted.
func (s *Service) CalendarOf(ctx context.Context, by access.Actor, of *user.User) (Calendar, error) {
	today := s.deps.Clock.Now().UTC().Truncate(day)
	c := Calendar{From: today.AddDate(-1, 0, 1)}
	c.Counts = make([]int, int(today.Sub(c.From)/day)+1)
	if !of.ShowsProfile(by) {
		return c, nil
	}
	most := passes(by)
	// Planned each time, as lists are.
	rows, err := postgres.All[daily](ctx, s.deps.DB, sqlDaily, pgx.QueryExecModeCacheDescribe, of.ID, c.From, today.Add(day), most)
	if err != nil {
		return c, err
	}
	readable, err := s.alikeReadable(ctx, by, of, rows)
	if err != nil {
		return c, err
	}
	passed := 0
	for _, row := range rows {
		passed += row.Events
		if readable[row.alike] {
			c.Counts[int(row.Day.Sub(c.From)/day)] += row.Events
			c.Total += row.Events
		}
	}
	c.Cut = passed >= most
	return c, nil
}

// alikeReadable asks about one event of each kind that there is.
func (s *Service) alikeReadable(ctx context.Context, by access.Actor, of *user.User, rows []daily) (map[alike]bool, error) {
	var kinds []alike
	var samples []Event
	known := map[alike]bool{}
	for _, row := range rows {
		if _, met := known[row.alike]; met || len(samples) == maxAlike {
			continue
		}
		known[row.alike] = false
		e := Event{ID: int64(len(kinds)), AuthorID: of.ID, ProjectID: row.ProjectID, TargetType: row.TargetType, TargetID: row.TargetID, Action: Created}
		if row.Pushed {
			e.Action = Pushed
		}
		kinds, samples = append(kinds, row.alike), append(samples, e)
	}
	shown, err := s.readable(ctx, by, samples)
	for _, e := range shown {
		known[kinds[e.ID]] = true
	}
	return known, err
}
