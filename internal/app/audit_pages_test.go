package app

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

type auditEvent bus.AuditRecord

func (auditEvent) EventName() string              { return "event" }
func (e auditEvent) AuditRecord() bus.AuditRecord { return bus.AuditRecord(e) }

// acted writes an event into the audit trail.
func (i *instance) acted(t testing.TB, by *user.User, of bus.Entity, kind, message string) {
	t.Helper()
	d := bus.AuditRecord{Type: kind, Entity: of, Message: message, By: access.Actor{Person: by.Person()}}
	if err := i.DB.InTx(t.Context(), func(tx pgx.Tx) error { return i.Audit.Record(t.Context(), tx, auditEvent(d)) }); err != nil {
		t.Fatal(err)
	}
}

func TestAuditEventsHavePagesForThoseWhoMayReadThem(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	admin := d.withPassword(t, usertest.Admin())
	root := d.browser(t)
	root.signIn(admin.Username, goodPassword)
	for role := range map[access.Role]bool{access.Maintainer: true, access.Developer: true} {
		d.acted(t, d.people[role], d.hidden.Entity(), "kind_of_project", fmt.Sprintf("by role %d in the project", role))
	}
	d.acted(t, admin, d.house.Entity(), "kind_of_group", "in the group")
	d.acted(t, admin, bus.Instance(), "kind_of_instance", "in the instance")

	const ofProject, ofGroup, ofAll = "/house/hidden/-/audit_events", "/groups/house/-/audit_events", "/admin/audit_events"
	see := func(who string, b *browser, path string, want ...string) {
		t.Helper()
		s := b.get(path)
		if s.Code != http.StatusOK {
			t.Errorf("%s at %s: %d", who, path, s.Code)
		}
		for _, text := range []string{"by role 40 in the project", "by role 30 in the project", "in the group", "in the instance"} {
			if wanted := strings.Contains(strings.Join(want, "\n"), text); s.says(text) != wanted {
				t.Errorf("%s at %s: %q is there: %v", who, path, text, !wanted)
			}
		}
	}
	missing := func(who string, b *browser, paths ...string) {
		t.Helper()
		for _, path := range paths {
			for _, below := range []string{"", "/export.csv", "/export.jsonl", "/1"} {
				if w := b.send("GET", path+below, nil); w.Code != http.StatusNotFound {
					t.Errorf("%s at %s: %d", who, path+below, w.Code)
				}
			}
		}
	}
	see("an administrator", root, ofAll, "by role 40 in the project", "by role 30 in the project", "in the group", "in the instance")
	see("an administrator", root, ofProject, "by role 40 in the project", "by role 30 in the project")
	see("an administrator", root, ofGroup, "in the group")

	maintainer, _ := d.signedIn(t, access.Maintainer, d.hidden)
	see("a maintainer", maintainer, ofProject, "by role 40 in the project", "by role 30 in the project")
	missing("a maintainer of a project", maintainer, ofGroup, ofAll)

	developer, dev := d.signedIn(t, access.Developer, d.hidden)
	see("a developer", developer, ofProject)
	d.acted(t, dev, d.hidden.Entity(), "own", "something of their own")
	s := developer.get(ofProject + "?person=" + d.people[access.Maintainer].Username)
	if !s.says("something of their own") || s.says("by role") || s.says("Details") || s.form(ofProject).values.Has("person") {
		t.Errorf("a developer: %s", s.Body)
	}
	events := d.ids(t, `select id from audit_events where event_type in ('own', 'kind_of_group') order by id desc`)
	if w := developer.send("GET", fmt.Sprintf("%s/%d", ofProject, events[0]), nil); w.Code != http.StatusNotFound {
		t.Errorf("a developer reads one event: %d", w.Code)
	}
	if w := maintainer.send("GET", fmt.Sprintf("%s/%d", ofProject, events[1]), nil); w.Code != http.StatusNotFound {
		t.Errorf("a maintainer reads an event of the group: %d", w.Code)
	}
	if s := maintainer.get(fmt.Sprintf("%s/%d", ofProject, events[0])); s.Code != http.StatusOK || !s.says("something of their own") || !s.says(dev.Email) {
		t.Errorf("a maintainer reads one event: %d %s", s.Code, s.Body)
	}

	reporter, _ := d.signedIn(t, access.Reporter, d.hidden)
	missing("a reporter", reporter, ofProject, ofGroup, ofAll)
	outsider, _ := d.signedIn(t, access.NoRole)
	missing("an outsider", outsider, ofProject, ofGroup, ofAll)
	for _, path := range []string{ofProject, ofProject + "/export.csv", ofGroup, ofAll} {
		if w := d.browser(t).send("GET", path, nil); w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/users/sign_in") {
			t.Errorf("a stranger at %s: %d", path, w.Code)
		}
	}

	// Links stand where those who may follow them look.
	owner, ann := d.signedIn(t, access.NoRole)
	grouptest.Join(t, d.DB, d.house, ann, access.Owner)
	for _, c := range []struct {
		b        *browser
		at, link string
		there    bool
	}{
		{owner, "/groups/house", ofGroup, true}, {owner, "/house/hidden", ofProject, false}, {owner, ofProject, ofProject, true},
		{outsider, "/groups/house", ofGroup, false}, {reporter, "/house/hidden", "Settings", false}, {developer, "/house/hidden", ofProject, true},
		{root, "/admin/users", ofAll, true},
	} {
		if got := strings.Contains(c.b.get(c.at).Body.String(), c.link); got != c.there {
			t.Errorf("%s leads to %s: %v", c.at, c.link, got)
		}
	}
}

// ids are those that a query finds.
func (d *doors) ids(t testing.TB, sql string) []int64 {
	t.Helper()
	rows, err := d.DB.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAuditEventsAreFilteredOnTheirPageAndExportedAsTheyAreShown(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	admin := d.withPassword(t, usertest.Admin())
	b := d.browser(t)
	b.signIn(admin.Username, goodPassword)
	ann, bob := d.people[access.Owner], d.people[access.Developer]
	d.acted(t, ann, d.house.Entity(), "alpha", "=first")
	d.acted(t, bob, d.hidden.Entity(), "alpha", "<b>second</b>")
	d.acted(t, ann, d.hidden.Entity(), "beta", "third")
	d.acted(t, ann, bus.Instance(), "beta", "fourth")
	d.acted(t, admin, bus.Entity{Kind: bus.OfUser, ID: bob.ID, Path: bob.Username}, "gamma", "fifth")
	texts := []string{"=first", "second", "third", "fourth", "fifth"}
	const at = "/admin/audit_events"
	for query, want := range map[string]string{
		"person=@" + ann.Username:                     "=first third fourth",
		"person=" + fmt.Sprint(ann.ID):                "=first third fourth",
		"person=nobody-at-all":                        "",
		"type=alpha":                                  "=first second",
		"type=alpha&person=" + bob.Username:           "second",
		"kind=Project":                                "second third",
		"kind=Instance":                               "fourth",
		"kind=Nonsense":                               "",
		"entity=house/hidden":                         "second third",
		"entity=house":                                "=first",
		"entity=" + bob.Username + "&kind=User":       "fifth",
		"kind=Group&entity=" + fmt.Sprint(d.house.ID): "=first",
		"entity=house/hidden&person=" + ann.Username:  "third",
		"from=2001-01-01&to=2001-12-31":               "",
		"from=2001-01-01&type=beta":                   "third fourth",
		"entity=nowhere/at/all":                       "",
	} {
		s := b.get(at + "?" + query)
		for _, text := range texts {
			if got := s.says(text); s.Code != http.StatusOK || got != strings.Contains(want, text) {
				t.Errorf("%s: %d, %q is there: %v", query, s.Code, text, got)
			}
		}
		if want == "" {
			continue
		}
		table := b.send("GET", at+"/export.csv?"+query, nil)
		rows, err := csv.NewReader(table.Body).ReadAll()
		if h := table.Header(); err != nil || table.Code != http.StatusOK || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
			!strings.HasPrefix(h.Get("Content-Type"), "text/csv") || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Fatalf("%s: %d %v %v", query, table.Code, h, err)
		}
		lines := b.send("GET", at+"/export.jsonl?"+query, nil).Body.String()
		for _, text := range texts {
			cell := strings.Replace(text, "=", "'=", 1)
			found := false
			for _, row := range rows {
				found = found || row[11] == cell
			}
			if wanted := strings.Contains(want, text); found != wanted || strings.Contains(lines, text) != wanted {
				t.Errorf("%s, %q: in the table %v, in the lines %v", query, text, found, strings.Contains(lines, text))
			}
		}
		if !strings.Contains(s.Body.String(), `href="`+at+"/export.csv?") {
			t.Errorf("%s: the page does not lead to its export", query)
		}
	}
	for _, query := range []string{"from=yesterday", "to=2026-13-01", "cursor=x", "cursor=eyJ4IjoxfQ", "from=1&from=2"} {
		if w := b.send("GET", at+"?"+query, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
}

func TestAuditEventsAreTurnedByCursorAndKeepTheirFilter(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	admin := d.withPassword(t, usertest.Admin())
	b := d.browser(t)
	b.signIn(admin.Username, goodPassword)
	for n := range 53 {
		d.acted(t, admin, d.house.Entity(), "turned", fmt.Sprintf("number %d.", n))
	}
	s := b.get("/groups/house/-/audit_events?type=turned")
	if !s.says("number 52.") || !s.says("number 3.") || s.says("number 2.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	_, after, _ := strings.Cut(s.Body.String(), `rel="next" href="`)
	next, _, _ := strings.Cut(after, `"`)
	if !strings.Contains(next, "type=turned") {
		t.Fatalf("leads on to %q", next)
	}
	s = b.get(strings.ReplaceAll(next, "&amp;", "&"))
	if s.says("number 3.") || !s.says("number 2.") || !s.says("number 0.") || strings.Contains(s.Body.String(), `rel="next"`) {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

func TestTheFreeTierHasNoPagesOfAuditEvents(t *testing.T) {
	t.Parallel()
	d := newDoors(t, "STITHY_INSTANCE_TIER=free")
	admin := d.withPassword(t, usertest.Admin())
	b := d.browser(t)
	b.signIn(admin.Username, goodPassword)
	for _, path := range []string{"/admin/audit_events", "/admin/audit_events/export.csv", "/groups/house/-/audit_events", "/house/open/-/audit_events"} {
		if w := b.send("GET", path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range []string{"/admin/users", "/groups/house", "/house/open"} {
		if b.get(path).says("audit_events") {
			t.Errorf("%s leads there", path)
		}
	}
}

func TestStreamsOfAuditEventsAreManagedOnTheirPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, ann := d.signedIn(t, access.NoRole)
	grouptest.Join(t, d.DB, d.house, ann, access.Owner)
	const at = "/groups/house/-/audit_events/streams"
	if s := b.get("/groups/house/-/audit_events"); !strings.Contains(s.Body.String(), `href="`+at+`"`) {
		t.Errorf("the list does not lead there: %s", s.Body)
	}
	s := b.submit(b.get(at), at, map[string]string{"name": "siem", "destination_url": "http://127.0.0.1/x"})
	if s.Code != http.StatusUnprocessableEntity || !s.says("Requests to localhost are not allowed") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	s = b.submit(s, at, map[string]string{"name": `"><script>x</script>`, "destination_url": "https://1.1.1.1/in", "event_types": "a, b"})
	if s.Code != http.StatusOK || !strings.Contains(s.Body.String(), `class="secret"`) || strings.Contains(s.Body.String(), "<script") || !s.says("https://1.1.1.1/in") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := b.get(at); strings.Contains(s.Body.String(), `class="secret"`) {
		t.Error("the secret is shown twice")
	}
	id := d.ids(t, `select id from audit_event_destinations`)[0]
	one := fmt.Sprintf("%s/%d", at, id)
	d.exec(t, `update audit_event_destinations set failures = 2, reason = 'The receiver answered with status 503.', failed_at = now(), retry_at = now() + interval '1 hour'`)
	d.exec(t, `insert into audit_event_dead_letters (destination_id, event_id, failed_at, reason) values ($1, 7, now(), '<b>why</b>')`, id)
	s = b.get(at)
	for _, text := range []string{"failing", "The receiver answered with status 503.", "Event 7", "<b>why</b>", "Behind", "1 given up"} {
		if !s.says(text) {
			t.Errorf("nothing of %q in %s", text, s.Body)
		}
	}
	if s := b.submit(s, one+"/retry", nil); !s.says("waits to be sent again") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(b.get(at), one+"/pause", nil); !s.says("paused") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(b.get(at), one+"/resume", nil); !s.says("is sent events again") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(b.get(one), one, map[string]string{"name": "other", "rotate_token": "1"}); !s.says("other is changed.") ||
		!strings.Contains(s.Body.String(), `class="secret"`) {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	csrf := b.get(at).form(one + "/delete").values
	for who, other := range map[string]*browser{
		"a maintainer": func() *browser {
			m, u := d.signedIn(t, access.NoRole)
			grouptest.Join(t, d.DB, d.house, u, access.Maintainer)
			return m
		}(),
		"an outsider": func() *browser { o, _ := d.signedIn(t, access.NoRole); return o }(),
	} {
		for _, path := range []string{at, one, "/admin/audit_events/streams", "/house/open/-/audit_events/streams"} {
			if w := other.send("GET", path, nil); w.Code != http.StatusNotFound {
				t.Errorf("%s at %s: %d", who, path, w.Code)
			}
		}
		if w := other.send("POST", one+"/delete", csrf); w.Code < 400 {
			t.Errorf("%s deletes it: %d", who, w.Code)
		}
	}
	if s := b.submit(b.get(at), one+"/delete", nil); !s.says("other is deleted.") || !s.says("Audit events are sent nowhere.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}
