package protection_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

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
	"stithy/internal/protection"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with a group, a project in it, and a person for each
// role there.
type fixture struct {
	*httpapitest.Client // anonymous
	*protection.Service
	db       *postgres.DB
	settings *setting.Service
	projects *project.Service
	home     *group.Group
	project  *project.Project
	root     *user.User
	empty    bool // what the room of repositories says of every repository

	mu      sync.Mutex
	records []bus.AuditRecord
	people  map[access.Role]*user.User
}

// Empty is the answer of the room of repositories.
func (w *fixture) Empty(context.Context, *project.Project) (bool, error) { return w.empty, nil }

func newFixture(t testing.TB) *fixture {
	t.Helper()
	c := coretest.New(t)
	w := &fixture{db: c.DB, settings: c.Settings, projects: c.Projects, people: map[access.Role]*user.User{}}
	w.Service = protection.New(protection.Deps{
		DB: c.DB, Bus: c.Bus, Settings: c.Settings, Projects: c.Projects, Clock: c.Clock, Repositories: w,
	})
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	w.Client = httpapitest.Serve(t, slices.Concat(w.projects.Endpoints(), w.Endpoints())...)
	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	w.home = grouptest.New(t, w.db, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.db, w.home.ID, projecttest.Named("forge"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		w.people[role] = usertest.New(t, w.db, usertest.Named(fmt.Sprintf("role%d", role)))
		projecttest.Join(t, w.db, w.project, w.people[role], role)
	}
	return w
}

// as is a client for someone of a role in the project.
func (w *fixture) as(t testing.TB, role access.Role) *httpapitest.Client {
	t.Helper()
	return w.AsAccount(*w.people[role].Person(), w.people[role])
}

func (w *fixture) admin() *httpapitest.Client { return w.AsAccount(*w.root.Person(), w.root) }

// at is an address below the project.
func (w *fixture) at(below string) string {
	return "/projects/" + strconv.FormatInt(w.project.ID, 10) + below
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
