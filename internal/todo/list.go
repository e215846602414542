package todo

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Filter narrows a list of to-dos. What is zero is not asked for.
type Filter struct {
	Done      bool
	Action    Action
	AuthorID  int64
	ProjectID int64
	GroupID   int64 // or of groups below it
	Nothing   bool  // asks for what no to-do is about
	Target    Target
}

var errMissing = fault.WithMessage(fault.NotFound, "404 Not found")

// List reads one page of an actor's own to-dos about what they may read, the latest first.
func (s *Service) List(ctx context.Context, by access.Actor, f Filter, req paging.Request) (paging.Result[Todo], error) {
	if f.Nothing {
		return paging.Result[Todo]{}, nil
	}
	l, err := s.readable(ctx, by)
	if err != nil {
		return paging.Result[Todo]{}, err
	}
	if f.Done {
		l.Where("t.done")
	} else {
		l.Where("not t.done")
	}
	switch f.Target {
	case Issues:
		l.Where("t.alert_id is null")
	case Alerts:
		l.Where("t.alert_id is not null")
	}
	if f.Action != "" {
		l.Where("t.action = ?", f.Action)
	}
	if f.AuthorID != 0 {
		l.Where("t.author_id = ?", f.AuthorID)
	}
	if f.ProjectID != 0 {
		l.Where("t.project_id = ?", f.ProjectID)
	}
	if f.GroupID != 0 {
		// The order is of no index, so that those of the projects are found first: else a plan may walk all to-dos in the hope of soon meeting some.
		l.Where(inGroup, f.GroupID).Order(postgres.Key{Expr: "t.id + 0", Desc: true})
	}
	return paging.Fetch(ctx, s.deps.DB, l, req, func(t Todo) []string { return []string{strconv.FormatInt(t.ID, 10)} })
}

const inGroup = `t.project_id = any(array(select g.id from projects g where g.namespace_id = any(
	array(select n.id from namespaces n where n.lineage @> array[?::bigint]))))`

// Count is how many pending to-dos an actor has, as far as lists count.
func (s *Service) Count(ctx context.Context, by access.Actor) (int, error) {
	l, err := s.readable(ctx, by)
	if err != nil {
		return 0, err
	}
	return paging.Count(ctx, s.deps.DB, l.Where("not t.done"))
}

// MaxPending is how far Pending counts.
const MaxPending = 100

// Pending is how many pending to-dos an actor has about what they may read, for every page to show: it looks at their latest ones alone, and at
// the projects of those, whatever else the actor is a member of.
func (s *Service) Pending(ctx context.Context, by access.Actor) (int, error) {
	rows, err := postgres.All[pending](ctx, s.deps.DB, sqlPendingOf, by.ID(), MaxPending)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	ids := make([]int64, len(rows))
	for n := range rows {
		ids[n] = rows[n].ProjectID
	}
	projects, err := s.deps.Projects.Among(ctx, by, ids)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, r := range rows {
		if p := projects[r.ProjectID]; p != nil && r.readable(by, p) {
			count++
		}
	}
	return count, nil
}

// pending is what says who may read what a to-do is about.
type pending struct {
	ProjectID                             int64
	AuthorID                              *int64
	Confidential, Hidden, Given, Internal bool
	Alert                                 bool
}

func (r pending) readable(by access.Actor, p *project.Project) bool {
	if r.Alert {
		return access.Holds(by, access.ReadAlerts, p.Target())
	}
	i := issue.Issue{AuthorID: r.AuthorID, Confidential: r.Confidential, Hidden: r.Hidden}
	if r.Given {
		i.AssigneeIDs = []int64{by.ID()}
	}
	return issue.RightsOf(by, p, &i).Read && (!r.Internal || access.Holds(by, access.ReadInternalNotes, p.Target()))
}

// Find reads a to-do of an actor about what they may read.
func (s *Service) Find(ctx context.Context, by access.Actor, id int64) (*Todo, error) {
	l, err := s.readable(ctx, by)
	if err != nil {
		return nil, err
	}
	sql, args := l.Where("t.id = ?", id).Limit(1).SQL()
	t, err := postgres.One[Todo](ctx, s.deps.DB, sql, args...)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errMissing
	}
	return &t, err
}

// readable is the to-dos of an actor about issues and notes that they may read, and about alerts.
func (s *Service) readable(ctx context.Context, by access.Actor) (*postgres.List, error) {
	r, err := s.deps.Issues.Reader(ctx, by)
	if err != nil {
		return nil, err
	}
	alerts, err := s.ofAlerts(ctx, by)
	if err != nil {
		return nil, err
	}
	// What an issue is readable by is asked of those to-dos alone that are about one.
	l := postgres.From("todos t left join issues i on i.id = t.issue_id").Columns("t.id").
		Details("join todos t on t.id = page.id left join issues i on i.id = t.issue_id left join alerts e on e.id = t.alert_id", columns)
	l.Where("t.user_id = ?", by.ID()).Where(`(t.issue_id is not null and exists (select 1 from (select 1) one `+issue.InReadable+` where `+issue.Readable+`
	and (t.note_id is null or not exists (select 1 from notes n where n.id = t.note_id and n.internal) or `+issue.Reported+`))) or (`+ofAlert+`)`,
		slices.Concat(r.InReadable(), r.Readable(), r.Reported(), alerts)...)
	return l.Order(postgres.Key{Expr: "t.id", Desc: true}), nil
}
