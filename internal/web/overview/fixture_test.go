package overview_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/wire"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public and a private project of a public group, with an owner of both, a guest of the public one and a stranger.
type fixture struct {
	*apptest.Instance
	group                  *group.Group
	open, closed           *project.Project
	owner, guest, stranger *user.User
	handler                http.Handler
}

type object = map[string]any

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.handler = w.App.Handler()
	w.owner = usertest.New(t, w.DB, usertest.Named("ada"))
	w.guest = usertest.New(t, w.DB, usertest.Named("guest"))
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.group = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.open = projecttest.New(t, w.DB, w.group.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	w.closed = projecttest.New(t, w.DB, w.group.ID, projecttest.Named("secret"), projecttest.Visible(access.Private))
	repositorytest.New(t, w.DB, w.Store, w.open, repositorytest.Files{"a": "a"})
	projecttest.Join(t, w.DB, w.open, w.owner, access.Owner)
	projecttest.Join(t, w.DB, w.closed, w.owner, access.Owner)
	projecttest.Join(t, w.DB, w.open, w.guest, access.Guest)
	return w
}

// The pages, and who they are about.
const (
	ofPerson  = "/users/ada/activity"
	ofProject = "/house/tool/-/activity"
	ofGroup   = "/groups/house/-/activity"
)

// do is a call of the owner that succeeds, about a project.
func (w *fixture) do(t testing.TB, method string, p *project.Project, path string, body any) {
	t.Helper()
	if r := w.As(t, w.owner).Do(t, method, fmt.Sprintf("/projects/%d%s", p.ID, path), body); r.Status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// browser is that of somebody who is signed in, or of a stranger.
type browser struct {
	t       testing.TB
	handler http.Handler
	cookie  string
}

func (w *fixture) anonymous(t testing.TB) *browser { return &browser{t: t, handler: w.handler} }

func (w *fixture) browser(t testing.TB, u *user.User) *browser {
	t.Helper()
	cookie, _, err := w.Tokens.StartSession(t.Context(), u.ID, netip.MustParseAddr("192.0.2.7"), "Browser/1")
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, handler: w.handler, cookie: cookie.Reveal()}
}

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

func (b *browser) get(target string, headers ...string) screen {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.RemoteAddr, r.Host = "192.0.2.7:4711", "forge.example"
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: wire.Names{Service: "svc"}.SessionCookie(), Value: b.cookie})
	}
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, r)
	return screen{rec, strings.Join(strings.Fields(html.UnescapeString(rec.Body.String())), " ")}
}

// shows is a page that is there.
func (b *browser) shows(target string) screen {
	b.t.Helper()
	s := b.get(target)
	if s.Code != http.StatusOK {
		b.t.Fatalf("%s: %d %s", target, s.Code, s.text)
	}
	return s
}
