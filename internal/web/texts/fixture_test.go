package texts_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/wire"
	"stithy/internal/owner"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/wiki"
)

// fixture is a public project of a public group, with people of every role in both, and a stranger.
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
		grouptest.Join(t, w.DB, w.group, u, role)
		w.people[role] = u
	}
	return w
}

const (
	home  = "/house/tool"
	wikis = home + "/-/wikis"
)

// browser is that of somebody who is signed in, or of a stranger.
type browser struct {
	t            testing.TB
	handler      http.Handler
	cookie, csrf string
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

// acts reports whether something that somebody wrote is markup, or an address that acts.
func (s screen) acts() bool {
	root, err := html.Parse(strings.NewReader(s.Body.String()))
	if err != nil {
		return true
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.Data == "evil" || n.Data == "script") {
			return true
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") {
				return true
			}
		}
	}
	return false
}

// hostile would act if it were written into a page as it is.
const hostile = `"'><evil onload="evil()">&lt;evil&gt;</title></textarea></pre><script>evil()</script>`

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
	if s.Code != http.StatusSeeOther || strings.HasPrefix(s.leads(), "/users/sign_in") {
		b.t.Fatalf("%s: %d %s %s", target, s.Code, s.leads(), s.text)
	}
	return s.leads()
}

// hidden is a value that a form of a page carries unseen.
func (s screen) hidden(name string) string {
	found := regexp.MustCompile(`name="` + regexp.QuoteMeta(name) + `" value="([^"]*)"`).FindStringSubmatch(s.text)
	if found == nil {
		return ""
	}
	return found[1]
}

func (w *fixture) actor(role access.Role) access.Actor {
	u := w.people[role]
	return access.Actor{Person: u.Person(), Account: u}
}

// write makes a page of the project's wiki as the developer.
func (w *fixture) write(t testing.TB, title, content string) *wiki.Page {
	t.Helper()
	p, err := w.Wikis.Create(t.Context(), w.actor(access.Developer), owner.OfProject(w.project).Entity, wiki.Draft{Title: title, Content: content, Format: wiki.Markdown})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// say makes a page of the project's wiki say something else.
func (w *fixture) say(t testing.TB, slug string, c wiki.Change) {
	t.Helper()
	if _, err := w.Wikis.Update(t.Context(), w.actor(access.Developer), owner.OfProject(w.project).Entity, slug, c); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) set(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
