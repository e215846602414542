package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/alert"
	"stithy/internal/kit/access"
)

const (
	alertPages       = "/house/hidden/-/alert_management"
	integrationPages = "/house/hidden/-/settings/alert_integrations"
)

func TestAlertsAreSetUpLookedAtAndAnsweredOnPages(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Maintainer, d.hidden)
	if s := b.get(alertPages); s.Code != http.StatusOK || !s.says("Nothing is firing.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	s := b.get(integrationPages)
	if s := b.submit(s, integrationPages, map[string]string{"name": " ", "type": "http"}); s.Code != http.StatusUnprocessableEntity {
		t.Errorf("an empty name: %d", s.Code)
	}
	s = b.submit(s, integrationPages, map[string]string{"name": "Probe", "type": "http"})
	if !s.says("Integration created.") || !s.says("https://forge.example/house/hidden/alerts/notify/probe/") {
		t.Fatalf("%s", s.Body)
	}
	one := integrationPages + "/1"
	if s := b.submit(s, one+"/test", nil); !s.says("The test alert has arrived.") || !s.says("Open 1") {
		t.Errorf("%s", s.Body)
	}
	before := s.Body.String()
	if s := b.submit(s, one+"/key", nil); !s.says("The key was replaced.") || s.Body.String() == before {
		t.Errorf("%s", s.Body)
	}
	if s := b.submit(b.get(integrationPages), one+"/active", nil); !s.says("takes no alerts any more") || !s.says("Stopped") {
		t.Errorf("%s", s.Body)
	}
	details := alertPages + "/1/details"
	s = b.get(details)
	if !s.says("Somebody tried whether alerts arrive.") || !s.says("sent once") || !s.says(`"severity": "info"`) {
		t.Errorf("%s", s.Body)
	}
	if s = b.submit(s, alertPages+"/1/assign", nil); !s.says("The alert is yours.") || !s.says(u.Name) {
		t.Errorf("%s", s.Body)
	}
	if s = b.submit(s, alertPages+"/1/assign", nil); !s.says("not yours any more") {
		t.Errorf("%s", s.Body)
	}
	if s = b.submit(s, alertPages+"/1/incident", nil); !s.says("The incident #1 was created.") || s.form(alertPages+"/1/incident") != nil {
		t.Errorf("%s", s.Body)
	}
	if s = b.submit(s, alertPages+"/1/status", map[string]string{"status": "acknowledged"}); !s.says("The alert is acknowledged now.") || !s.says(u.Name+" changed the status from Firing to Acknowledged") {
		t.Errorf("%s", s.Body)
	}
	for query, found := range map[string]bool{
		"": false, "?state=acknowledged": true, "?state=all": true, "?state=all&severity=low": false, "?state=all&search=TEST": true, "?state=all&search=none": false, "?state=odd": false,
	} {
		if s := b.get(alertPages + query); s.Code != http.StatusOK || s.says("Test alert") != found {
			t.Errorf("%s: %d, found %t", query, s.Code, !found)
		}
	}
	if s := b.submit(b.get(integrationPages), one+"/delete", nil); !s.says("Integration deleted.") {
		t.Errorf("%s", s.Body)
	}
}

func TestWhatFollowsFromAlertsIsChosenOnAPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, _ := d.signedIn(t, access.Maintainer, d.hidden)
	const chosen = "/house/hidden/-/settings/alerts"
	s := b.submit(b.get(integrationPages), chosen, map[string]string{"create_issue": "1", "send_email": "1", "auto_close_incident": ""})
	if !s.says("Saved.") {
		t.Fatalf("%s", s.Body)
	}
	if got, err := d.Alerts.Settings(t.Context(), d.hidden.ID); err != nil || got != (alert.Settings{CreateIssue: true, SendEmail: true}) {
		t.Errorf("%+v, %v", got, err)
	}
	if s := b.submit(s, chosen, map[string]string{"issue_template_key": strings.Repeat("x", 300)}); s.Code != http.StatusUnprocessableEntity {
		t.Errorf("a name that is too long: %d", s.Code)
	}
	developer, _ := d.signedIn(t, access.Developer, d.hidden)
	if w := developer.send("POST", chosen, nil); w.Code == http.StatusOK || w.Code == http.StatusSeeOther {
		t.Errorf("a developer: %d", w.Code)
	}
}

// IN-01: what was added to an alert is shown as a picture, and nothing in it acts.
func TestIN01_PicturesOfAnAlertAreShownOnItsPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Developer, d.hidden)
	d.exec(t, `insert into alerts (project_id, iid, title, description, service, monitoring_tool, hosts, severity, status, events, environment, runbook, query, payload, started_at, created_at, updated_at)
		values ($1, 1, 'Disk', '', '', '', '{}', 0, 0, 1, '', '', '', '{}', now(), now(), now())`, d.hidden.ID)
	a, err := d.Alerts.Find(t.Context(), d.hidden.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	i, err := d.Alerts.AddImage(t.Context(), access.Actor{Person: u.Person()}, a, "x.html", []byte("\x89PNG\r\n\x1a\n<script>"), alert.Source{URL: "https://graphs.example/1", Text: "<b>CPU"})
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("%s/1/metric_images/%d/x.html", alertPages, i.ID)
	s := b.get(alertPages + "/1/details")
	if !strings.Contains(s.Body.String(), `src="`+path+`"`) || !strings.Contains(s.Body.String(), `href="https://graphs.example/1"`) || strings.Contains(s.Body.String(), "<b>CPU") {
		t.Errorf("%s", s.Body)
	}
	w := b.send("GET", path, nil)
	if h := w.Header(); w.Code != http.StatusOK || h.Get("Content-Type") != "image/png" || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%d %v", w.Code, h)
	}
	for _, wrong := range []string{"/1/metric_images/99/x.html", fmt.Sprintf("/1/metric_images/%d/y.html", i.ID), fmt.Sprintf("/2/metric_images/%d/x.html", i.ID), "/1/metric_images/x/x.html"} {
		if w := b.send("GET", alertPages+wrong, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", wrong, w.Code)
		}
	}
	reporter, _ := d.signedIn(t, access.Reporter, d.hidden)
	if w := reporter.send("GET", path, nil); w.Code != http.StatusNotFound {
		t.Errorf("a reporter: %d", w.Code)
	}
	if s := b.submit(s, fmt.Sprintf("%s/1/metric_images/%d/delete", alertPages, i.ID), nil); !s.says("Picture deleted.") || strings.Contains(s.Body.String(), path) {
		t.Errorf("%s", s.Body)
	}
}

func TestAlertsAreTurnedPageByPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, _ := d.signedIn(t, access.Developer, d.hidden)
	d.exec(t, `insert into alerts (project_id, iid, title, description, service, monitoring_tool, hosts, severity, status, events, environment, runbook, query, payload, started_at, created_at, updated_at)
		select $1, n, 'Alert ' || n || '.', '', '', '', '{}', 0, 0, 1, '', 'javascript:evil()', '', '{}', now() - n * interval '1 minute', now(), now() from generate_series(1, 30) n`, d.hidden.ID)
	s := b.get(alertPages)
	if !s.says("Alert 25.") || s.says("Alert 26.") || !s.says("Open 30") {
		t.Fatalf("%s", s.Body)
	}
	_, onward, _ := strings.Cut(s.Body.String(), `rel="next" href="`)
	next, _, _ := strings.Cut(onward, `"`)
	if s := b.get(strings.ReplaceAll(next, "&amp;", "&")); !s.says("Alert 26.") || !s.says("Alert 30.") || s.says("Alert 25.") {
		t.Errorf("%s: %s", next, s.Body)
	}
	if w := b.send("GET", alertPages+"?cursor=e30", nil); w.Code >= 500 {
		t.Errorf("a cursor that is none: %d", w.Code)
	}
	if s := b.get(alertPages + "/1/details"); s.says("runbook") || s.says("javascript") {
		t.Errorf("an address that acts is linked: %s", s.Body)
	}
}

func TestPagesOfAlertsAreForThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	for role, want := range map[access.Role][2]int{
		access.NoRole: {404, 404}, access.Guest: {404, 404}, access.Reporter: {404, 404}, access.Developer: {200, 404}, access.Maintainer: {200, 200},
	} {
		b, _ := d.signedIn(t, role, d.hidden)
		for i, path := range []string{alertPages, integrationPages} {
			if w := b.send("GET", path, nil); w.Code != want[i] {
				t.Errorf("%v at %s: %d", role, path, w.Code)
			}
		}
	}
	b, _ := d.signedIn(t, access.Developer, d.hidden)
	for _, id := range []string{"0", "1", "99999999999999999999", "x"} {
		if w := b.send("GET", fmt.Sprintf("%s/%s/details", alertPages, id), nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", id, w.Code)
		}
	}
}
