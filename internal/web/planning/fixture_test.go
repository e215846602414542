package planning_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/wire"
	"stithy/internal/note"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public project of a public group, with people of every role and a stranger.
type fixture struct {
	*apptest.Instance
	group    *group.Group
	project  *project.Project
	stranger *user.User
	people   map[access.Role]*user.User
	handler  http.Handler
}

func newFixture(t testing.TB, environ ...string) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t, environ...), people: map[access.Role]*user.User{}}
	w.handler = w.App.Handler()
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.group = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, w.group.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		u := usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("role-%d", role)))
		projecttest.Join(t, w.DB, w.project, u, role)
		w.people[role] = u
	}
	return w
}

const (
	home   = "/house/tool"
	issues = home + "/-/issues"
)

// browser is that of somebody who is signed in, or of a stranger.
type browser struct {
	t            testing.TB
	handler      http.Handler
	cookie, csrf string
	flash        []*http.Cookie // what the last answer left for the next page
}

func (w *fixture) anonymous(t testing.TB) *browser { return &browser{t: t, handler: w.handler} }

func (w *fixture) browser(t testing.TB, u *user.User) *browser {
	t.Helper()
	cookie, csrf, err := w.Tokens.StartSession(t.Context(), u.ID, netip.MustParseAddr("192.0.2.7"), "Browser/1")
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, handler: w.handler, cookie: cookie.Reveal(), csrf: csrf}
}

func (w *fixture) in(t testing.TB, role access.Role) *browser { return w.browser(t, w.people[role]) }

// screen is an answer as people read it.
type screen struct {
	*httptest.ResponseRecorder
	text string
}

func (s screen) says(texts ...string) bool {
	for _, text := range texts {
		if !strings.Contains(s.text, text) {
			return false
		}
	}
	return true
}

func (s screen) leads() string { return s.Header().Get("Location") }

func (b *browser) send(method, target string, form url.Values) screen {
	b.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.RemoteAddr, r.Host = "192.0.2.7:4711", "forge.example"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://forge.example")
	}
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: wire.Names{Service: "svc"}.SessionCookie(), Value: b.cookie})
	}
	for _, c := range b.flash {
		r.AddCookie(c)
	}
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, r)
	return screen{rec, html.UnescapeString(rec.Body.String())}
}

func (b *browser) get(target string) screen { return b.send(http.MethodGet, target, nil) }

// shows is a page that is there.
func (b *browser) shows(target string) screen {
	b.t.Helper()
	s := b.get(target)
	if s.Code != http.StatusOK {
		b.t.Fatalf("%s: %d %s", target, s.Code, s.text)
	}
	return s
}

// post sends a form with pairs of names and values.
func (b *browser) post(target string, pairs ...string) screen {
	b.t.Helper()
	form := url.Values{"authenticity_token": {b.csrf}}
	for n := 0; n < len(pairs); n += 2 {
		form.Add(pairs[n], pairs[n+1])
	}
	return b.send(http.MethodPost, target, form)
}

// done sends a form that is taken, and returns where it leads.
func (b *browser) done(target string, pairs ...string) string {
	b.t.Helper()
	s := b.post(target, pairs...)
	if s.Code != http.StatusSeeOther {
		b.t.Fatalf("%s: %d %s", target, s.Code, s.text)
	}
	return s.leads()
}

func (w *fixture) actor(role access.Role) access.Actor {
	return access.Actor{Person: w.people[role].Person()}
}

// as is the project as somebody stands in it.
func (w *fixture) as(t testing.TB, a access.Actor) *project.Project {
	t.Helper()
	p, err := w.Projects.Find(t.Context(), a, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// open makes an issue as the maintainer.
func (w *fixture) open(t testing.TB, d issue.Draft) *issue.Issue {
	t.Helper()
	by := w.actor(access.Maintainer)
	i, err := w.Issues.Create(t.Context(), by, w.as(t, by), d)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (w *fixture) change(t testing.TB, i *issue.Issue, c issue.Change) {
	t.Helper()
	by := w.actor(access.Maintainer)
	if _, err := w.Issues.Update(t.Context(), by, w.as(t, by), i.IID, c); err != nil {
		t.Fatal(err)
	}
}

// say comments on an issue.
func (w *fixture) say(t testing.TB, role access.Role, i *issue.Issue, d note.Draft) *note.Note {
	t.Helper()
	by := w.actor(role)
	said, err := w.Notes.Create(t.Context(), by, note.AtIssue{Placed: issue.Placed{Project: w.as(t, by), Issue: i}}, d)
	if err != nil {
		t.Fatal(err)
	}
	return said.Note
}

// page is the address of an issue.
func at(i *issue.Issue) string { return fmt.Sprintf("%s/%d", issues, i.IID) }
