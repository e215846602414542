package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/repository/repositorytest"
)

// report has a program report an event, with the connection string that a page shows.
func (d *doors) report(t testing.TB, dsn *regexp.Regexp, page, event string) {
	t.Helper()
	found := dsn.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("there is no connection string in %s", page)
	}
	w := d.do("POST", "/errortracking/api/v1/projects/api/"+found[2]+"/envelope/?sentry_key="+found[1], nil, func(r *http.Request) {
		*r = *httptest.NewRequestWithContext(t.Context(), http.MethodPost, r.URL.String(), strings.NewReader("{}\n{\"type\":\"event\"}\n"+strings.ReplaceAll(event, "\n", "")))
		r.RemoteAddr = "203.0.113.9:1234"
	})
	if w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

func TestErrorsOfProgramsHavePages(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, _ := d.signedIn(t, access.Maintainer, d.hidden)
	const list, settings = "/house/hidden/-/error_tracking", "/house/hidden/-/error_tracking/settings"
	if s := b.get(list); !s.says("Error tracking is off") || !s.says("Monitor") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	s := b.submit(b.get(settings), settings, map[string]string{"active": "1"})
	if !s.says("Saved.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	dsn := regexp.MustCompile(`https://(svcet_[0-9a-f]{32})@forge\.example/errortracking/api/v1/projects/(\d+)`)
	if s := b.get(list); !s.says("There are no unresolved errors.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	for n := range 3 {
		d.report(t, dsn, s.Body.String(), fmt.Sprintf(`{"event_id":"%032x","platform":"go","release":"2.4.%d","environment":"harbour","user":{"id":%d},
			"breadcrumbs":[{"message":"read <b>12</b> columns","level":"warning","timestamp":1714662245}],"tags":{"paper":"a5"},
			"exception":[{"type":"panic","value":"index out of range <b>[12]</b>","stacktrace":{"frames":[{"function":"ServeHTTP","module":"net/http","in_app":false},
			{"function":"Row","filename":"print.go","lineno":58,"context_line":"cell := row.Cells[i+1]","pre_context":["for i := range t.Columns {"],"in_app":true}]}}]}`, n+1, n, n))
	}
	s = b.get(list + "?search=release:2.4.1+panic")
	link := regexp.MustCompile(`href="(/house/hidden/-/error_tracking/\d+)"`).FindStringSubmatch(s.Body.String())
	if link == nil || !s.says("panic") || !s.says("Row in print.go") || !s.says("Events a day: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := b.get(list + "?search=env:elsewhere"); !s.says("No error matches.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	s = b.get(link[1])
	for _, want := range []string{
		"Unresolved", "Row in print.go", "first in 2.4.0", "index out of range &lt;b&gt;[12]&lt;/b&gt;", "cell := row.Cells[i+1]", "1 calls in libraries are left out",
		"read &lt;b&gt;12&lt;/b&gt; columns", "100 % harbour", "/house/hidden/-/issues/new?issue%5Bdescription%5D=",
	} {
		if !strings.Contains(s.Body.String(), want) {
			t.Errorf("%d: nothing of %q in %s", s.Code, want, s.Body)
		}
	}
	if s := b.submit(s, link[1], map[string]string{"status": "resolved"}); !s.says("Resolved. It is unresolved again when it happens again.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.get(list); s.says("Row in print.go") {
		t.Error("a resolved error is listed as unresolved")
	}
	s = b.get(settings)
	gone := regexp.MustCompile(`action="(/house/hidden/-/error_tracking/keys/\d+/delete)"`).FindStringSubmatch(s.Body.String())
	if gone == nil {
		t.Fatalf("%s", s.Body)
	}
	if s := b.submit(s, gone[1], nil); !s.says("Key deleted.") || dsn.MatchString(s.Body.String()) {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	reporter, _ := d.signedIn(t, access.Reporter, d.hidden)
	if s := reporter.get(link[1]); s.Code != http.StatusOK || s.form(link[1]) != nil {
		t.Errorf("a reporter: %d %s", s.Code, s.Body)
	}
	guest, _ := d.signedIn(t, access.Guest, d.hidden)
	for _, path := range []string{list, link[1], settings} {
		if s := guest.get(path); s.Code != http.StatusNotFound {
			t.Errorf("a guest at %s: %d", path, s.Code)
		}
	}
	if s := reporter.get(settings); s.Code != http.StatusNotFound {
		t.Errorf("a reporter at the settings: %d", s.Code)
	}
}

// An event whose program sent no lines is shown with those of the repository, as they are in its release, to who may read code.
func TestTheStackOfAnErrorIsShownWithTheLinesOfItsRelease(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, _ := d.signedIn(t, access.Maintainer, d.hidden)
	repo := d.Store.Repo(gitstore.KeyOf("default", d.hidden.ID, 0))
	repositorytest.Commit(t, repo, "main", "Print", repositorytest.Files{
		"cmd/print.go": "package main\n\nfunc Row() {\n\tcell := row.Cells[i+1] // <b>1.0</b>\n}\n", "large.go": strings.Repeat("x\n", 1<<19), "empty.go": "\n",
	})
	commit := repositorytest.Commit(t, repo, "main", "Mend it", repositorytest.Files{"cmd/print.go": "package main\n\nfunc Row() {\n\tcell := row.Cells[i] // 2.0\n}\n"})
	const settings = "/house/hidden/-/error_tracking/settings"
	s := b.submit(b.get(settings), settings, map[string]string{"active": "1"})
	dsn := regexp.MustCompile(`https://(svcet_[0-9a-f]{32})@forge\.example/errortracking/api/v1/projects/(\d+)`)
	n := 0
	shown := func(b *browser, release, file string, line int) string {
		t.Helper()
		n++
		d.report(t, dsn, s.Body.String(), fmt.Sprintf(`{"event_id":"%032x","release":%q,"fingerprint":["%d"],
			"exception":[{"type":"panic","stacktrace":{"frames":[{"function":"Row","filename":%q,"lineno":%d,"in_app":true}]}}]}`, n, release, n, file, line))
		page := b.get(fmt.Sprintf("/house/hidden/-/error_tracking/%d", d.ids(t, `select max(id) from tracked_errors`)[0]))
		if page.Code != http.StatusOK {
			t.Errorf("%s %s: %d", release, file, page.Code)
		}
		return page.Body.String()
	}
	for _, c := range []struct {
		release, file string
		line          int
		want          string
	}{
		{"main", "cmd/print.go", 4, "cell := row.Cells[i] // 2.0"},
		{string(commit), "/srv/app/cmd/print.go", 4, "cell := row.Cells[i] // 2.0"},
		{"printer@1.0+" + string(commit), `C:\app\cmd\print.go`, 4, "cell := row.Cells[i] // 2.0"},
		{"main~1", "cmd/print.go", 4, "cell := row.Cells[i+1] // &lt;b&gt;1.0&lt;/b&gt;"},
		{"main", "cmd/print.go", 400, ""}, {"main", "large.go", 4, ""}, {"main", "empty.go", 4, ""}, {"main", "cmd", 4, ""}, {"main", "../../etc/passwd", 1, ""},
		{"9.9", "cmd/print.go", 4, ""}, {"--upload-pack=x", "cmd/print.go", 4, ""}, {"", "cmd/print.go", 4, ""},
	} {
		got := shown(b, c.release, c.file, c.line)
		if c.want == "" && strings.Contains(got, "package main") || !strings.Contains(got, c.want) {
			t.Errorf("%s of %s: %s", c.file, c.release, got)
		}
	}
	d.exec(t, `update projects set features = features || '{"repository": "disabled"}' where id = $1`, d.hidden.ID)
	if got := shown(b, "main", "cmd/print.go", 4); strings.Contains(got, "Cells") {
		t.Error("who may not read code reads it in a stack")
	}
}
