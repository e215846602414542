package notification

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/alert"
	"stithy/internal/grant"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/subscription"
	"stithy/internal/user"
)

// ofAlerts are the mails about new alerts of a project. The room of alerts tells of all that came within a minute at once.
const ofAlerts thread = "alerts"

// newAlert is that a project has new alerts. It is no event that people choose: a setting of the project says whether its owners and maintainers are told.
const newAlert = "new_alert"

// AlertsArgs asks to find the people who are to be mailed about new alerts.
type AlertsArgs struct {
	EventID int64 `json:"event_id"`
}

// Kind names the job.
func (AlertsArgs) Kind() string { return "notification_alerts" }

// Apart sets the job apart, as others about mails.
func (AlertsArgs) Apart() (queue string, share int64) { return jobqueue.Mails, 0 }

// OnAlerts records that there are new alerts. Their numbers are what is kept of them.
func (s *Service) OnAlerts(ctx context.Context, tx pgx.Tx, e alert.Came) error {
	if !s.deps.Mail.Configured() {
		return nil
	}
	detail := fmt.Sprintf("%d-%d", e.First, e.Last)
	id, err := postgres.Value[int64](ctx, tx, sqlRecord, newAlert, e.Project.ID, nil, nil, nil, nil, []int64{}, true, detail, e.At)
	if err != nil {
		return err
	}
	return s.deps.Queue.Insert(ctx, tx, AlertsArgs{EventID: id})
}

// SpreadAlerts finds the owners and maintainers of a project who are to be mailed about new alerts, in parts as Spread does.
func (s *Service) SpreadAlerts(ctx context.Context, args AlertsArgs) error {
	return s.inParts(ctx, args.EventID, s.spreadAlerts)
}

func (s *Service) spreadAlerts(ctx context.Context, h *happening) error {
	found, err := postgres.Values[int64](ctx, s.deps.DB, sqlMaintainers, h.ProjectID, h.Reached, spreadPage, s.today(), access.Maintainer)
	if err != nil {
		return err
	}
	told, err := s.responsible(ctx, h.ProjectID, found)
	if err != nil {
		return err
	}
	next := int64(0)
	if len(found) == spreadPage {
		next = found[len(found)-1]
	}
	return s.notePart(ctx, h, next, func(tx pgx.Tx) error { return s.queueAlerts(ctx, tx, h, told) })
}

// responsible are those of some people who can be mailed, are maintainers or owners now and want to be told, in the order of their ids.
func (s *Service) responsible(ctx context.Context, projectID int64, ids []int64) (all []int64, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	p, err := s.deps.Projects.Find(ctx, instance, projectID)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	accounts, err := postgres.All[user.AccountState](ctx, s.deps.DB, sqlMailable, ids)
	if err != nil {
		return nil, err
	}
	roles, err := grant.RolesOnProject(ctx, s.deps.DB, ids, projectID, s.today())
	if err != nil {
		return nil, err
	}
	resolved, err := s.Resolve(ctx, projectID, ids)
	if err != nil {
		return nil, err
	}
	declined, err := subscription.Declined(ctx, s.deps.DB, subscription.Alerts, projectID, ids)
	if err != nil {
		return nil, err
	}
	no := map[int64]bool{}
	for _, id := range declined {
		no[id] = true
	}
	for _, u := range accounts {
		there := *p
		there.Role = roles[u.ID]
		if isResponsible(access.Actor{Person: u.Person()}, &there) && wantsAlerts(resolved[u.ID].Level) && !no[u.ID] {
			all = append(all, u.ID)
		}
	}
	return all, nil
}

func ignoreMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// isResponsible says who is told of alerts: who has the role of a maintainer in the project, and may read them.
func isResponsible(a access.Actor, p *project.Project) bool {
	return p.Role >= access.Maintainer && access.Holds(a, access.ReadAlerts, p.Target())
}

// wantsAlerts says whether a level lets mails about alerts through: they are for whoever is responsible, and name nobody.
func wantsAlerts(l Level) bool { return l != "" && l != Disabled && l != Mention }

// queueAlerts leaves a mail for each of some people, and a job for each.
func (s *Service) queueAlerts(ctx context.Context, tx pgx.Tx, h *happening, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	now := s.deps.Clock.Now()
	yes, no := make([]bool, len(ids)), make([]bool, len(ids))
	for n := range yes {
		yes[n] = true
	}
	if _, err := tx.Exec(ctx, sqlQueue, ids, yes, no, ofAlerts, h.ProjectID, h.ProjectID, h.Event, nil, nil, h.Detail, h.HappenedAt, now, []int64{}); err != nil {
		return err
	}
	for _, to := range ids {
		args := MailArgs{UserID: to, Thread: ofAlerts, ThreadID: h.ProjectID}
		if err := s.deps.Queue.Insert(ctx, tx, args, jobqueue.Unique()); err != nil {
			return err
		}
	}
	return nil
}

// mostAlerts is how many alerts a mail names.
const mostAlerts = 20

// aboutAlerts writes a mail about new alerts, as they are now.
func (s *Service) aboutAlerts(ctx context.Context, r *reader, m *mailing, items []item) (*letter, error) {
	p, err := s.deps.Projects.Find(ctx, r.Actor, m.ThreadID)
	if err != nil {
		return nil, err
	}
	if !isResponsible(r.Actor, p) {
		return nil, nil
	}
	l := s.of(p)
	var shown []alert.Alert
	total := 0
	for _, i := range items {
		first, last, ok := numbersOf(i.Detail)
		if !ok {
			continue
		}
		total += last - first + 1
		if left := mostAlerts - len(shown); left > 0 {
			found, err := s.deps.Alerts.List(ctx, p.ID, alert.Filter{First: first, Last: last}, paging.Request{Page: 1, PerPage: left, OrderBy: "number"})
			if err != nil {
				return nil, err
			}
			shown = append(shown, found.Items...)
		}
	}
	if len(shown) == 0 {
		return nil, nil // they went meanwhile
	}
	l.URL = l.ProjectURL + "/-/alert_management"
	l.Title = "New alerts"
	if total == 1 {
		l.Title, l.URL = shown[0].Title, l.ProjectURL+shown[0].Page()
	}
	l.subject = p.Name + " | Alert: " + shown[0].Title
	if total > 1 {
		l.subject = fmt.Sprintf("%s | %d alerts: %s", p.Name, total, shown[0].Title)
	}
	for n := range shown {
		l.Sections = append(l.Sections, alertSection(&shown[n], l.ProjectURL))
	}
	if more := total - len(shown); more > 0 {
		l.Sections = append(l.Sections, section{Head: fmt.Sprintf("There are %d more.", more), URL: l.ProjectURL + "/-/alert_management"})
	}
	return l, nil
}

// alertSection tells of one alert. What its sender wrote is text that nothing in it links from.
func alertSection(a *alert.Alert, projectURL string) section {
	lines := []string{"Severity: " + a.Severity.String(), "Status: " + a.Status.String(), "Started: " + a.StartedAt.UTC().Format(time.RFC1123)}
	for _, f := range []struct{ name, text string }{{"Service", a.Service}, {"Sent by", a.MonitoringTool}, {"Description", a.Description}} {
		if f.text != "" {
			lines = append(lines, f.name+": "+unlinkedText(f.text))
		}
	}
	text := strings.Join(lines, "\n")
	return section{Head: fmt.Sprintf("Alert #%d: %s", a.IID, unlinked(a.Title)), Text: text, HTML: preformatted(text), URL: projectURL + a.Page()}
}

// unlinkedText is a text of any length in which no reader of mails finds a link by itself.
func unlinkedText(text string) string {
	var words []string
	for _, word := range strings.Fields(text) {
		words = append(words, unlinked(word))
	}
	return strings.Join(words, " ")
}

// numbersOf are the first and the last number of the alerts that something tells of.
func numbersOf(detail *string) (first, last int, ok bool) {
	if detail == nil {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(*detail, "-")
	first, err := strconv.Atoi(from)
	if err != nil {
		return 0, 0, false
	}
	last, err = strconv.Atoi(to)
	return first, last, err == nil && first <= last
}
