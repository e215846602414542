package alert

import (
	"context"
	"strconv"
	"time"

	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Integrations reads one page of a project's integrations, oldest first.
func (s *Service) Integrations(ctx context.Context, projectID int64, req paging.Request) (paging.Result[Integration], error) {
	l := postgres.From("alert_integrations a").Columns(integrationColumns).Where("a.project_id = ?", projectID).Order(postgres.Key{Expr: "a.id"})
	return paging.Fetch[Integration](ctx, s.deps.DB, l, req, nil)
}

// Filter chooses alerts of a project.
type Filter struct {
	Statuses   []Status // any of them; none asks for all
	Severity   *Severity
	AssigneeID *int64
	Search     string // in title, description, service and tool
	First      int    // number of the first, and of the last; 0 for all
	Last       int
}

// orders are the keys that a list may be ordered by, before the id.
var orders = map[string]postgres.Key{
	"started_at": {Expr: "a.started_at"}, "ended_at": {Expr: "a.ended_at"}, "event_count": {Expr: "a.events"}, "severity": {Expr: "a.severity"},
	"status": {Expr: "a.status"}, "number": {Expr: "a.iid"},
}

// List reads one page of a project's alerts.
func (s *Service) List(ctx context.Context, projectID int64, f Filter, req paging.Request) (paging.Result[Alert], error) {
	l := f.list(projectID).Columns(alertColumns)
	if req.OrderBy == "ended_at" {
		l.Where("a.ended_at is not null") // what goes on has no place among what ended
	}
	by := orders[req.OrderBy]
	by.Desc = req.Desc
	l.Order(by, postgres.Key{Expr: "a.id", Desc: req.Desc})
	return paging.Fetch(ctx, s.deps.DB, l, req, func(a Alert) []string {
		return []string{a.keyOf(req.OrderBy), strconv.FormatInt(a.ID, 10)}
	})
}

func (f Filter) list(projectID int64) *postgres.List {
	l := postgres.From("alerts a").Where("a.project_id = ?", projectID)
	if len(f.Statuses) > 0 {
		l.Where("a.status = any(?)", f.Statuses)
	}
	if f.First > 0 {
		l.Where("a.iid between ? and ?", f.First, f.Last)
	}
	if f.Severity != nil {
		l.Where("a.severity = ?", *f.Severity)
	}
	if f.AssigneeID != nil {
		l.Where("exists (select from alert_assignees s where s.alert_id = a.id and s.user_id = ?)", *f.AssigneeID)
	}
	if f.Search != "" {
		like := postgres.LikeContains(f.Search)
		l.Where("(a.title ilike ? or a.description ilike ? or a.service ilike ? or a.monitoring_tool ilike ?)", like, like, like, like)
	}
	return l
}

// keyOf is what an alert is ordered by, as a cursor has it.
func (a *Alert) keyOf(order string) string {
	switch order {
	case "ended_at":
		return a.EndedAt.Format(time.RFC3339Nano)
	case "event_count":
		return strconv.FormatInt(a.Events, 10)
	case "severity":
		return strconv.Itoa(int(a.Severity))
	case "status":
		return strconv.Itoa(int(a.Status))
	case "number":
		return strconv.Itoa(int(a.IID))
	}
	return a.StartedAt.Format(time.RFC3339Nano)
}

// Counts are how many alerts of each status a project has, each up to [paging.MaxTotal] and one.
func (s *Service) Counts(ctx context.Context, projectID int64, f Filter) (map[Status]int, error) {
	counts := map[Status]int{}
	for status := range statuses {
		f.Statuses = []Status{Status(status)}
		n, err := paging.Count(ctx, s.deps.DB, f.list(projectID).Columns(alertColumns))
		if err != nil {
			return nil, err
		}
		counts[Status(status)] = n
	}
	return counts, nil
}
