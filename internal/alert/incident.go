package alert

import (
	"context"
	"encoding/json"
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
	"stithy/internal/template"
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
	if err := s.report(ctx, by, p, a); err != nil {
		return nil, err
	}
	return s.Find(ctx, p.ID, iid)
}

func (s *Service) report(ctx context.Context, by access.Actor, p *project.Project, a *Alert) error {
	text, err := s.incidentText(ctx, by, p, a)
	if err != nil {
		return err
	}
	_, err = s.deps.Issues.Create(ctx, by, p, issue.Draft{
		Title: a.incidentTitle(), Description: &text, Type: issue.Incident, Severity: incidentSeverity[a.Severity],
		With: func(ctx context.Context, tx pgx.Tx, i *issue.Issue) error {
			return s.link(ctx, tx, p.ID, int64(a.IID), i)
		},
	})
	return err
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

// incidentText is the description of an incident: what was sent, what the sender wrote for it, and the template of the project.
func (s *Service) incidentText(ctx context.Context, by access.Actor, p *project.Project, a *Alert) (string, error) {
	set, err := s.Settings(ctx, p.ID)
	if err != nil {
		return "", err
	}
	payload, err := s.Payload(ctx, a)
	if err != nil {
		return "", err
	}
	parts := []string{a.summary(s.deps.ExternalURL + "/" + p.FullPath() + a.Page())}
	if more := incidentMarkdown(payload); more != "" {
		parts = append(parts, more)
	}
	if set.IssueTemplateKey != "" {
		t, err := s.deps.Templates.Find(ctx, by, p, template.Issues, set.IssueTemplateKey)
		if err == nil {
			parts = append(parts, t.Content)
		} else if !fault.Is(err, fault.NotFound) {
			return "", err
		}
	}
	return strings.Join(parts, "\n\n---\n\n"), nil
}

// summary is what the description of an incident begins with. Whatever the sender wrote stands in it as code: it mentions nobody, and
// commands in it are none.
func (a *Alert) summary(page string) string {
	var lines []string
	line := func(name, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf("**%s:** %s", name, value))
		}
	}
	line("Start time", code(a.StartedAt.UTC().Format(time.RFC1123)))
	line("Severity", code(a.Severity.String()))
	line("Service", code(a.Service))
	line("Monitoring tool", code(a.MonitoringTool))
	line("Hosts", code(strings.Join(a.Hosts, ", ")))
	line("Environment", code(a.Environment))
	line("Query", code(a.Query))
	if address := a.RunbookURL(); address != "" {
		line("Runbook", "<"+address+">")
	} else {
		line("Runbook", code(a.Runbook))
	}
	line("Description", code(a.Description))
	line("Alert", "["+a.Reference()+"]("+page+")")
	return strings.Join(lines, "\n\n")
}

// maxMarkdown is how many characters of Markdown a sender adds to an incident.
const maxMarkdown = 10_000

// incidentMarkdown is the Markdown that a payload has for its incident. It names nobody, and commands in it are none: the sender is no member.
func incidentMarkdown(payload string) string {
	var fields struct {
		Annotations map[string]any `json:"annotations"`
	}
	if err := json.Unmarshal([]byte(payload), &fields); err != nil {
		return "" // its annotations are something else
	}
	lines := strings.Split(cut(text(fields.Annotations["svc_incident_markdown"]), maxMarkdown), "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, " \t")
		if strings.HasPrefix(rest, "/") {
			lines[i] = l[:len(l)-len(rest)] + `\` + rest
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "@", "@\u2060") // with an invisible sign between, a name is none
}

// code is a text of somebody else as code within a line: between more backticks than it holds in a row.
func code(text string) string {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + text + " " + fence
}
