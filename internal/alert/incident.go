package alert

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

var (
	errHasIncident   = fault.WithMessage(fault.Rejected, "An issue already exists")
	errMayNotReport  = fault.WithMessage(fault.Forbidden, "You have no permissions")
	errOverAlready   = fault.WithMessage(fault.Rejected, "The alert is resolved already")
	incidentSeverity = map[Severity]issue.Severity{
		Critical: "critical", High: "high", Medium: "medium", Low: "low", Info: issue.Unknown, Unknown: issue.Unknown,
	}
)

// MayReport says whether an actor may make an incident of an alert.
func MayReport(by access.Actor, p *project.Project) bool {
	return access.Holds(by, access.UpdateAlerts, p.Target()) && access.Holds(by, access.PlanIssues, p.Target()) &&
		access.Holds(by, access.CreateIssues, p.Target())
}

// Report makes an incident of an alert that has none and goes on. Both know of each other, or nothing was made.
func (s *Service) Report(ctx context.Context, by access.Actor, p *project.Project, iid int64) (*Alert, error) {
	a, err := s.Find(ctx, p.ID, iid)
	switch {
	case err != nil:
		return nil, err
	case !MayReport(by, p):
		return nil, errMayNotReport
	}
	if _, err := s.deps.Issues.Create(ctx, by, p, issue.Draft{
		Title: a.incidentTitle(), Description: new(a.incidentText()), Type: issue.Incident, Severity: incidentSeverity[a.Severity],
		With: func(ctx context.Context, tx pgx.Tx, i *issue.Issue) error { return s.link(ctx, tx, p.ID, iid, i) },
	}); err != nil {
		return nil, err
	}
	return s.Find(ctx, p.ID, iid)
}

// link notes an incident at its alert, which must have none.
func (s *Service) link(ctx context.Context, tx pgx.Tx, projectID, iid int64, i *issue.Issue) error {
	a, err := found(postgres.One[Alert](ctx, tx, sqlLockAlert, projectID, iid))
	switch {
	case err != nil:
		return err
	case a.Incident != nil:
		return errHasIncident
	case a.Status == Resolved:
		return errOverAlready
	}
	_, err = tx.Exec(ctx, sqlSetIssue, a.ID, i.ID, s.deps.Clock.Now())
	return err
}

func (a *Alert) incidentTitle() string {
	if a.Title == defaultTitle {
		return "New: Incident " + strconv.Itoa(int(a.IID))
	}
	return a.Title
}

// incidentText is what the description of an incident begins with. Whatever the sender wrote stands in it as code: it mentions nobody, and
// commands in it are none.
func (a *Alert) incidentText() string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "**%s:** %s\n\n", name, code(value))
		}
	}
	line("Start time", a.StartedAt.UTC().Format(time.RFC1123))
	line("Severity", a.Severity.String())
	line("Service", a.Service)
	line("Monitoring tool", a.MonitoringTool)
	line("Hosts", strings.Join(a.Hosts, ", "))
	line("Environment", a.Environment)
	line("Query", a.Query)
	line("Runbook", a.Runbook)
	line("Description", a.Description)
	line("Alert", a.Reference())
	return b.String()
}

// code is a text of somebody else as code within a line: between more backticks than it holds in a row.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + text + " " + fence
}
