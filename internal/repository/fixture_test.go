package repository_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/outbound"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/setting"
	"stithy/internal/setting/settingtest"
	"stithy/internal/token"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with a group, a project in it, and a person for each
// role there.
type fixture struct {
	*httpapitest.Client // anonymous
	db                  *postgres.DB
	store               *gitstore.Store
	settings            *setting.Service
	users               *user.Service
	projects            *project.Service
	repositories        *repository.Service
	home                *group.Group
	project             *project.Project
	root                *user.User
	large               struct{ repository.LargeFiles } // none, unless a test has some
	now                 time.Time

	mu      sync.Mutex
	records []bus.AuditRecord
	pushed  []repository.Pushed
	people  map[access.Role]*user.User
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{
		db: postgrestest.New(t), store: repositorytest.Store(t), now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC),
		people: map[access.Role]*user.User{},
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	now := clock.Clock(func() time.Time { return w.now })
	names := wire.Names{Service: "svc", Errors: "errsvc"}
	w.settings = settingtest.New(t, w.db)
	queue, err := jobqueue.New(w.db, jobqueue.NewRegistry(), log, 0)
	if err != nil {
		t.Fatal(err)
	}
	events := bus.New()
	const base = "https://forge.example"
	w.users = user.New(user.Deps{
		DB: w.db, Bus: events, Queue: queue, Settings: w.settings, Hasher: secretbox.NewHasher(1), Clock: now, Log: log,
		ExternalURL: &url.URL{Scheme: "https", Host: "forge.example"}, Names: names,
	})
	groups := group.New(group.Deps{
		DB: w.db, Bus: events, Queue: queue, Settings: w.settings, Users: w.users, Clock: now, Log: log, ExternalURL: base,
		Projects: grouptest.NoProjects{},
	})
	w.projects = project.New(project.Deps{
		DB: w.db, Bus: events, Queue: queue, Settings: w.settings, Users: w.users, Groups: groups, Clock: now, Log: log,
		ExternalURL: base, Names: names,
		Outbound: &outbound.Guard{}, Code: projecttest.NoCode{}, JobTokens: projecttest.NoJobTokens{},
	})
	tokens := token.New(token.Deps{
		DB: w.db, Bus: events, Box: secretbox.Random(), Settings: w.settings, Users: w.users, Clock: now, Log: log,
		ExternalURL: &url.URL{Scheme: "https", Host: "forge.example"}, Names: names,
		OAuth: tokentest.NoResolver{}, Jobs: tokentest.NoResolver{},
	})
	w.large.LargeFiles = repositorytest.NoLargeFiles{}
	w.repositories = repository.New(repository.Deps{
		DB: w.db, Bus: events, Queue: queue, Settings: w.settings, Users: w.users, Tokens: tokens, Projects: w.projects, Store: w.store,
		Storages: []string{"default"}, Clock: now, Log: log, ExternalURL: base, Names: names,
		Box: secretbox.Random(), Outbound: &outbound.Guard{}, LargeFiles: &w.large,
	})
	bus.On(events, w.repositories.OnForked)
	bus.On(events, w.repositories.OnProjectRemoving)
	bus.On(events, func(_ context.Context, _ pgx.Tx, e repository.Pushed) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pushed = append(w.pushed, e)
		return nil
	})
	events.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	w.Client = httpapitest.Serve(t, append(w.projects.Endpoints(), w.repositories.Endpoints()...)...)
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
