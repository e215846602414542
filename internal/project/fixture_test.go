package project_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core/coretest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with an administrator and two people with their
// namespaces.
type fixture struct {
	*httpapitest.Client // anonymous
	db                  *postgres.DB
	settings            *setting.Service
	groups              *group.Service
	projects            *project.Service
	root, ada, bob      *user.User
	now                 time.Time

	mu      sync.Mutex
	records []bus.AuditRecord
	gone    []int64
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC)}
	c := coretest.New(t, coretest.Clock(func() time.Time { return w.now }))
	w.db, w.settings, w.groups, w.projects = c.DB, c.Settings, c.Groups, c.Projects
	bus.On(c.Bus, w.projects.OnGroupMarked)
	bus.On(c.Bus, w.projects.OnGroupLowering)
	bus.On(c.Bus, w.projects.OnNamespaceRemoving)
	bus.On(c.Bus, func(_ context.Context, _ pgx.Tx, e project.Removing) error {
		w.gone = append(w.gone, e.ProjectID)
		return nil
	})
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	w.Client = httpapitest.Serve(t, w.projects.Endpoints()...)
	w.root = w.person(t, "root", usertest.Admin())
	w.ada, w.bob = w.person(t, "ada"), w.person(t, "bob")
	return w
}

// person seeds an account with its namespace.
func (w *fixture) person(t testing.TB, name string, options ...usertest.Option) *user.User {
	t.Helper()
	u := usertest.New(t, w.db, append([]usertest.Option{usertest.Named(name)}, options...)...)
	grouptest.Personal(t, w.db, u)
	return u
}

// member seeds an account with a role in a project.
func (w *fixture) member(t testing.TB, p *project.Project, role access.Role) *user.User {
	t.Helper()
	u := w.person(t, fmt.Sprintf("member%d-%d", p.ID, role))
	projecttest.Join(t, w.db, p, u, role)
	return u
}

func (w *fixture) as(u *user.User) *httpapitest.Client { return w.AsAccount(*u.Person(), u) }

func actor(u *user.User) access.Actor { return access.Actor{Person: u.Person(), Account: u} }

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) set(t testing.TB, change func(*setting.Settings)) {
	t.Helper()
	if err := w.settings.Update(t.Context(), access.Actor{}, change); err != nil {
		t.Fatal(err)
	}
}

// taken returns the types of the audited acts since the last call.
func (w *fixture) taken() (types []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.records {
		types = append(types, d.Type)
	}
	w.records = nil
	return types
}

func at(p *project.Project) string { return "/projects/" + id(p.ID) }

func id(n int64) string { return strconv.FormatInt(n, 10) }

// shown is the part of a form that most tests look at.
type shown struct {
	ID                int64    `json:"id"`
	Name              string   `json:"name"`
	Path              string   `json:"path"`
	PathWithNamespace string   `json:"path_with_namespace"`
	NameWithNamespace string   `json:"name_with_namespace"`
	Visibility        string   `json:"visibility"`
	DefaultBranch     *string  `json:"default_branch"`
	Topics            []string `json:"topics"`
	ForksCount        int      `json:"forks_count"`
	StarCount         int      `json:"star_count"`
	Archived          bool     `json:"archived"`
	ImportStatus      string   `json:"import_status"`
	CreatorID         int64    `json:"creator_id"`
	HTTPURLToRepo     string   `json:"http_url_to_repo"`
	Namespace         struct {
		ID   int64  `json:"id"`
		Kind string `json:"kind"`
	} `json:"namespace"`
	ForkedFromProject *struct {
		ID int64 `json:"id"`
	} `json:"forked_from_project"`
}

func read(t testing.TB, r *httpapitest.Reply, status int) shown {
	t.Helper()
	return httpapitest.JSON[shown](t, r.WantStatus(t, status))
}

// ids are those of a list.
func ids(t testing.TB, r *httpapitest.Reply) []int64 {
	t.Helper()
	all := []int64{}
	for _, p := range httpapitest.JSON[[]shown](t, r.WantStatus(t, http.StatusOK)) {
		all = append(all, p.ID)
	}
	return all
}

const (
	noProject    = `{"message":"404 Project Not Found"}`
	forbidden    = `{"message":"403 Forbidden"}`
	unauthorized = `{"message":"401 Unauthorized"}`
)
