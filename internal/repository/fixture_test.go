package repository_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core/coretest"
	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with a group, a project in it, and a person for each
// role there.
type fixture struct {
	*httpapitest.Client // anonymous
	db                  *postgres.DB
	bus                 *bus.Bus
	store               *gitstore.Store
	settings            *setting.Service
	projects            *project.Service
	protection          *protection.Service
	repositories        *repository.Service
	home                *group.Group
	project             *project.Project
	root                *user.User
	large               struct{ repository.LargeFiles } // none, unless a test has some
	now                 time.Time

	mu     sync.Mutex
	pushed []repository.Pushed
	people map[access.Role]*user.User
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{store: repositorytest.Store(t), now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC), people: map[access.Role]*user.User{}}
	c := coretest.New(t, coretest.Clock(func() time.Time { return w.now }))
	w.db, w.bus, w.settings, w.projects = c.DB, c.Bus, c.Settings, c.Projects
	var protected struct{ protection.Repositories }
	w.protection = protection.New(protection.Deps{
		DB: c.DB, Bus: c.Bus, Settings: c.Settings, Projects: c.Projects, Clock: c.Clock, Repositories: &protected,
	})
	w.large.LargeFiles = repositorytest.NoLargeFiles{}
	w.repositories = repository.New(repository.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Store: w.store,
		Protection: w.protection, Storages: []string{"default"}, Clock: c.Clock, Log: c.Log, ExternalURL: c.ExternalURL.String(),
		Names: c.Instance.Names, Box: c.Box, Outbound: c.Outbound, LargeFiles: &w.large,
	})
	protected.Repositories = w.repositories
	bus.On(c.Bus, w.repositories.OnForked)
	bus.On(c.Bus, w.repositories.OnProjectRemoving)
	bus.On(c.Bus, func(_ context.Context, _ pgx.Tx, e repository.Pushed) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pushed = append(w.pushed, e)
		return nil
	})
	w.Client = httpapitest.Serve(t, slices.Concat(w.projects.Endpoints(), w.protection.Endpoints(), w.repositories.Endpoints())...)
	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	w.home = grouptest.New(t, w.db, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.db, w.home.ID, projecttest.Named("forge"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		u := usertest.New(t, w.db, usertest.Named(fmt.Sprintf("role%d", role)))
		projecttest.Join(t, w.db, w.project, u, role)
		w.people[role] = u
	}
	return w
}

// as is a client for someone of a role in the project; NoRole is a stranger
// who is signed in.
func (w *fixture) as(t testing.TB, role access.Role) *httpapitest.Client {
	t.Helper()
	u := w.people[role]
	if u == nil {
		u = usertest.New(t, w.db)
		w.people[role] = u
	}
	return w.AsAccount(*u.Person(), u)
}

func (w *fixture) admin() *httpapitest.Client { return w.AsAccount(*w.root.Person(), w.root) }

// actor is someone of a role, for calls of the service.
func (w *fixture) actor(role access.Role) access.Actor {
	u := w.people[role]
	return access.Actor{Person: u.Person(), Account: u}
}

// at is an address below the project.
func (w *fixture) at(below string) string {
	return "/projects/" + strconv.FormatInt(w.project.ID, 10) + below
}

// fill seeds the repository.
func (w *fixture) fill(t testing.TB, files repositorytest.Files) *gitstore.Repo {
	t.Helper()
	return repositorytest.New(t, w.db, w.store, w.project, files)
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
