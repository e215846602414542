package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

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
