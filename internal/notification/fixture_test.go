package notification_test

import (
	"net/http"
	"strconv"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public group with a subgroup and a project in that, a private group with a project, and people.
type fixture struct {
	*apptest.Instance
	top, sub, hidden    *group.Group
	tool, secret        *project.Project
	root, ada, stranger *user.User // ada is in the private group
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.ada, w.stranger = usertest.New(t, w.DB, usertest.Named("ada")), usertest.New(t, w.DB, usertest.Named("stranger"))
	w.top = grouptest.New(t, w.DB, grouptest.Named("top"), grouptest.Visible(access.Public))
	w.sub = grouptest.New(t, w.DB, grouptest.Named("sub"), grouptest.Under(w.top))
	w.tool = projecttest.New(t, w.DB, w.sub.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	w.hidden = grouptest.New(t, w.DB, grouptest.Named("hidden"))
	w.secret = projecttest.New(t, w.DB, w.hidden.ID, projecttest.Named("secret"))
	grouptest.Join(t, w.DB, w.hidden, w.ada, access.Guest)
	return w
}

const everywhere = "/notification_settings"

func ofGroup(g *group.Group) string { return "/groups/" + strconv.FormatInt(g.ID, 10) + everywhere }
func ofProject(p *project.Project) string {
	return "/projects/" + strconv.FormatInt(p.ID, 10) + everywhere
}

// shown is a setting as the API shows it.
type shown struct {
	Level             string          `json:"level"`
	NotificationEmail string          `json:"notification_email"`
	Events            map[string]bool `json:"events"`
}

func (w *fixture) read(t testing.TB, as *user.User, path string) shown {
	t.Helper()
	return httpapitest.JSON[shown](t, w.As(t, as).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK))
}

func (w *fixture) put(t testing.TB, as *user.User, path string, change map[string]any) shown {
	t.Helper()
	return httpapitest.JSON[shown](t, w.As(t, as).Do(t, "PUT", path, change).WantStatus(t, http.StatusOK))
}

// rows is how many settings are stored.
func (w *fixture) rows(t testing.TB) int {
	t.Helper()
	return value[int](t, w.DB, `select count(*) from notification_settings`)
}

func value[T any](t testing.TB, q postgres.Querier, sql string, args ...any) T {
	t.Helper()
	v, err := postgres.Value[T](t.Context(), q, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func values(t testing.TB, q postgres.Querier, sql string, args ...any) []string {
	t.Helper()
	v, err := postgres.Values[string](t.Context(), q, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// add gives somebody a secondary address.
func (w *fixture) add(t testing.TB, to *user.User, address string, confirmed bool) int64 {
	t.Helper()
	e, err := w.Users.AddEmail(t.Context(), access.Actor{}, to.ID, address, confirmed)
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}
