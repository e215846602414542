package alert_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/alert"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
)

// set chooses what follows from alerts.
func (w *fixture) set(t testing.TB, to alert.Settings) {
	t.Helper()
	if err := w.Alerts.Set(t.Context(), access.Actor{Person: w.maintainer.Person()}, w.project, to); err != nil {
		t.Fatal(err)
	}
}

// jobs is how many jobs of what follows wait.
func (w *fixture) jobs(t testing.TB) int {
	t.Helper()
	return count(t, w, `select count(*) from river_job where kind = 'alert_follow_up' and state = 'available'`)
}

func count(t testing.TB, w *fixture, sql string, args ...any) int {
	t.Helper()
	n, err := postgres.Value[int](t.Context(), w.DB, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// follow does what follows.
func (w *fixture) follow(t testing.TB) {
	t.Helper()
	if err := w.Alerts.FollowUp(t.Context(), alert.FollowUpArgs{ProjectID: w.project.ID}); err != nil {
		t.Fatal(err)
	}
}

type incident struct {
	IID                                 int
	Title, State, Description, Severity string
	Author                              struct{ Username string }
	Type                                string `json:"issue_type"`
}

func (w *fixture) incidents(t testing.TB) []incident {
	t.Helper()
	all := httpapitest.JSON[[]incident](t, w.As(t, w.developer).Do(t, "GET", w.at("/issues"), nil).WantStatus(t, http.StatusOK))
	slices.SortFunc(all, func(a, b incident) int { return a.IID - b.IID })
	return all
}

func TestNothingFollowsFromAnAlertUntilSomebodyChoosesIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{"title":"a","fingerprint":"f"}`, 200, `[{"iid":1,"title":"a"}]`)
	w.want(t, in, `{"title":"a","fingerprint":"f","end_time":"2024-05-01"}`, 200, `[{"iid":1,"title":"a"}]`)
	if n := w.jobs(t); n != 0 {
		t.Errorf("%d jobs", n)
	}
	if s, err := w.Alerts.Settings(t.Context(), w.project.ID); err != nil || s != (alert.Settings{AutoCloseIncident: true}) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestBySettingAnAlertBecomesAnIncidentThatEndsWithIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.set(t, alert.Settings{CreateIssue: true, AutoCloseIncident: true})
	w.want(t, in, `{"title":"Disk","severity":"high","fingerprint":"f","runbook":"https://wiki.example/disk?a=b","description":"@all full"}`, 200, `[{"iid":1,"title":"Disk"}]`)
	w.want(t, in, `{"fingerprint":"g","runbook":"javascript:x()"}`, 200, `[{"iid":2,"title":"New: Alert"}]`)
	if n := w.jobs(t); n != 1 {
		t.Errorf("%d jobs for two alerts", n)
	}
	for range 3 {
		w.follow(t)
	}
	made := w.incidents(t)
	if len(made) != 2 || made[0].Title != "Disk" || made[0].Type != "incident" || made[0].Severity != "HIGH" || made[0].State != "opened" ||
		made[0].Author.Username != "alert-bot" || made[1].Title != "New: Incident 2" {
		t.Fatalf("got %+v", made)
	}
	for _, part := range []string{
		"**Runbook:** <https://wiki.example/disk?a=b>", "**Description:** ` @all full `",
		"**Alert:** [^alert#1](https://forge.example/ops/site/-/alert_management/1/details)",
	} {
		if !strings.Contains(made[0].Description, part) {
			t.Errorf("%q is not in %s", part, made[0].Description)
		}
	}
	if !strings.Contains(made[1].Description, "**Runbook:** ` javascript:x() `") {
		t.Errorf("an address that acts is a link: %s", made[1].Description)
	}
	if a := w.alert(t, 1); a.Incident == nil || a.Incident.IID != made[0].IID {
		t.Errorf("the alert does not know its incident: %+v", a)
	}
	// A repeated alert makes nothing, and its end closes the incident.
	w.want(t, in, `{"title":"Disk","fingerprint":"f"}`, 200, `[{"iid":1,"title":"Disk"}]`)
	w.want(t, in, `{"title":"Disk","fingerprint":"f","end_time":"2024-05-01"}`, 200, `[{"iid":1,"title":"Disk"}]`)
	for range 2 {
		w.follow(t)
	}
	if made = w.incidents(t); len(made) != 2 || made[0].State != "closed" || made[1].State != "opened" {
		t.Errorf("got %+v", made)
	}
	if n := count(t, w, `select count(*) from alerts where follow_up <> 0`); n != 0 {
		t.Errorf("of %d alerts something is still to be done", n)
	}
}

func TestAnIncidentStaysOpenWhereTheSettingSaysSoOrSomebodyReopenedTheAlert(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.set(t, alert.Settings{CreateIssue: true})
	w.want(t, in, `{"title":"a","fingerprint":"a"}`, 200, `[{"iid":1,"title":"a"}]`)
	w.follow(t)
	w.want(t, in, `{"title":"a","fingerprint":"a","end_time":"2024-05-01"}`, 200, `[{"iid":1,"title":"a"}]`)
	if n := count(t, w, `select count(*) from alerts where follow_up <> 0`); n != 0 {
		t.Errorf("something is to be done though it is switched off")
	}
	w.set(t, alert.Settings{CreateIssue: true, AutoCloseIncident: true})
	w.want(t, in, `{"title":"b","fingerprint":"b"}`, 200, `[{"iid":2,"title":"b"}]`)
	w.follow(t)
	w.want(t, in, `{"title":"b","fingerprint":"b","end_time":"2024-05-01"}`, 200, `[{"iid":2,"title":"b"}]`)
	w.As(t, w.developer).Do(t, "PUT", w.at(alerts+"/2"), map[string]any{"status": "triggered"}).WantStatus(t, http.StatusOK)
	w.follow(t)
	for _, i := range w.incidents(t) {
		if i.State != "opened" {
			t.Errorf("got %+v", i)
		}
	}
}

// Between an alert and its job much may happen: the job goes by what is so when it runs.
func TestNoIncidentIsMadeOfWhatIsOverReportedOrRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.set(t, alert.Settings{CreateIssue: true, AutoCloseIncident: true})
	for i, mark := range []string{"a", "b", "c"} {
		w.want(t, in, fmt.Sprintf(`{"title":"%[1]s","fingerprint":"%[1]s"}`, mark), 200, fmt.Sprintf(`[{"iid":%d,"title":"%s"}]`, i+1, mark))
	}
	w.want(t, in, `{"title":"a","fingerprint":"a","end_time":"2024-05-01"}`, 200, `[{"iid":1,"title":"a"}]`)
	w.As(t, w.developer).Do(t, "POST", w.at(alerts+"/2/incident"), nil).WantStatus(t, http.StatusCreated)
	w.follow(t)
	if made := w.incidents(t); len(made) != 2 || made[0].Title != "b" || made[0].Author.Username != "developer" || made[1].Title != "c" {
		t.Errorf("got %+v", made)
	}
	w.want(t, in, `{"title":"d","fingerprint":"d"}`, 200, `[{"iid":4,"title":"d"}]`)
	w.As(t, w.maintainer).Do(t, "PUT", w.at(""), map[string]any{"issues_access_level": "disabled"}).WantStatus(t, http.StatusOK)
	w.follow(t)
	if n := count(t, w, `select count(*) from issues`); n != 2 {
		t.Errorf("%d issues in a project that has none", n)
	}
	if n := count(t, w, `select count(*) from alerts where follow_up <> 0`); n != 0 {
		t.Errorf("%d alerts are tried for ever", n)
	}
}

func TestIN07_JobsThatRunAtOnceMakeOneIncident(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.set(t, alert.Settings{CreateIssue: true})
	for i := range 5 {
		w.send(t, in, fmt.Sprintf(`{"title":"a%d"}`, i))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := w.Alerts.FollowUp(t.Context(), alert.FollowUpArgs{ProjectID: w.project.ID}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count(t, w, `select count(*) from issues`); n != 5 {
		t.Errorf("%d issues", n)
	}
	if n := count(t, w, `select count(*) from users where kind = 'alert_bot'`); n != 1 {
		t.Errorf("%d bots", n)
	}
}

func TestMoreAlertsThanABatchAreFollowedUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.set(t, alert.Settings{CreateIssue: true})
	if _, err := w.DB.Exec(t.Context(), `insert into alerts (project_id, iid, title, description, service, monitoring_tool, hosts, severity, status, events, environment, runbook, query, payload, started_at, created_at, updated_at, follow_up)
		select $1, n, 'Alert ' || n, '', '', '', '{}', 0, 0, 1, '', '', '', '{}', now(), now(), now(), 1 from generate_series(1, 101) n`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	w.follow(t)
	if n := count(t, w, `select count(*) from issues`); n != 101 {
		t.Errorf("%d issues", n)
	}
}

// IN-01: the Markdown that a sender has for an incident names nobody and commands nothing.
func TestIN01_TheMarkdownOfASenderNamesNobodyAndCommandsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "prometheus")
	w.set(t, alert.Settings{CreateIssue: true})
	body := `{"version":"4","groupKey":"","status":"firing","receiver":"","groupLabels":{},"commonLabels":{},"commonAnnotations":{},"externalURL":"","alerts":[
		{"status":"firing","labels":{"alertname":"Disk"},"startsAt":"2024-05-01T00:00:00Z","annotations":{
			"svc_incident_markdown":"## Look\n@developer and @all\n/close\n  /confidential\n/assign @developer\n<script>x()</script>"}},
		{"status":"firing","labels":{"alertname":"Net"},"startsAt":"2024-05-01T00:00:00Z","annotations":{"svc_incident_markdown":{"no":"text"}}}]}`
	if status, answer := w.send(t, in, body); status != 200 || !strings.Contains(answer, `"iid":2`) {
		t.Fatalf("%d %s", status, answer)
	}
	w.follow(t)
	made := w.incidents(t)
	if len(made) != 2 || made[0].State != "opened" || !strings.Contains(made[0].Description, "## Look\n@\u2060developer and @\u2060all\n\\/close\n  \\/confidential\n") {
		t.Fatalf("got %+v", made)
	}
	if n := count(t, w, `select count(*) from todos`) + count(t, w, `select count(*) from issue_assignees`); n != 0 {
		t.Errorf("somebody is asked for %d times", n)
	}
	shown := httpapitest.JSON[struct{ HTML string }](t, w.As(t, w.developer).Do(t, "POST", "/markdown", map[string]any{
		"text": made[0].Description, "gfm": true, "project": "ops/site",
	}).WantStatus(t, http.StatusCreated))
	if strings.Contains(shown.HTML, "<script") || strings.Contains(shown.HTML, "user-mention") || !strings.Contains(shown.HTML, "@\u2060developer") {
		t.Errorf("it is shown as %s", shown.HTML)
	}
}

func TestSettingsOfAlertsLeaveATraceWhenTheyChange(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Audited()
	w.set(t, alert.Settings{AutoCloseIncident: true}) // as they are
	w.set(t, alert.Settings{CreateIssue: true, SendEmail: true, IssueTemplateKey: "outage"})
	records := w.Audited()
	if len(records) != 1 || records[0].Type != "alert_settings_updated" || records[0].By.ID() != w.maintainer.ID || records[0].Entity.ID != w.project.ID ||
		records[0].Message != "Changed what follows from alerts: create_issue=true, send_email=true, auto_close_incident=false, issue_template_key=outage" {
		t.Errorf("got %+v", records)
	}
	if err := w.Alerts.Set(t.Context(), access.Actor{Person: w.maintainer.Person()}, w.project, alert.Settings{IssueTemplateKey: strings.Repeat("é", 256)}); err == nil {
		t.Error("a name of 256 characters is taken")
	}
}

// What is resolved goes a year after it was touched, whatever its sender says about when it ended.
func TestResolvedAlertsGoAfterAYear(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{"title":"over","fingerprint":"a"}`, 200, `[{"iid":1,"title":"over"}]`)
	w.want(t, in, `{"title":"over","fingerprint":"a","end_time":"2001-01-01"}`, 200, `[{"iid":1,"title":"over"}]`)
	w.want(t, in, `{"title":"open","fingerprint":"b"}`, 200, `[{"iid":2,"title":"open"}]`)
	if _, err := w.DB.Exec(t.Context(), `insert into alerts (project_id, iid, title, description, service, monitoring_tool, hosts, severity, status, events, environment, runbook, query, payload, started_at, ended_at, created_at, updated_at)
		select $1, 100 + n, 'old', '', '', '', '{}', 0, 2, 1, '', '', '', '{}', $2, $2, $2, $2 from generate_series(1, 501) n`, w.project.ID, w.Now().Add(-400*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		turn time.Duration
		left int
	}{{0, 2}, {364 * 24 * time.Hour, 2}, {2 * 24 * time.Hour, 1}} {
		w.Turn(c.turn)
		if err := w.Alerts.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, w, `select count(*) from alerts`); n != c.left {
			t.Errorf("%d are left, not %d", n, c.left)
		}
	}
	w.want(t, in, `{"title":"next"}`, 200, `[{"iid":3,"title":"next"}]`)
}
