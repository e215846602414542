package member_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core/coretest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/member"
	"stithy/internal/platform/mail"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/token"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is the room on a database of its own, behind the real API.
type fixture struct {
	*httpapitest.Client // anonymous
	db                  *postgres.DB
	box                 *secretbox.Box
	users               *user.Service
	tokens              *token.Service
	groups              *group.Service
	projects            *project.Service
	members             *member.Service
	now                 time.Time
	root                *user.User

	mu      sync.Mutex
	clients map[int64]*httpapitest.Client
	events  []bus.Event
	made    int
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{clients: map[int64]*httpapitest.Client{}, now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC)}
	c := coretest.New(t, coretest.Clock(func() time.Time { return w.now }))
	w.db, w.box, w.users, w.tokens, w.groups, w.projects = c.DB, c.Box, c.Users, c.Tokens, c.Groups, c.Projects
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, e)
		return nil
	})
	bus.On(c.Bus, w.projects.OnGroupLowering)
	w.members = member.New(member.Deps{
		DB: w.db, Bus: c.Bus, Queue: c.Queue, Users: w.users, Groups: w.groups, Owners: c.Owners, Mail: &mail.Sender{}, Clock: c.Clock,
		ExternalURL: c.ExternalURL,
	})
	w.Client = httpapitest.Start(t, &httpapi.Server{Endpoints: w.members.Endpoints(), Clock: c.Clock})
	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	return w
}

// as calls as someone, always with the same token.
func (w *fixture) as(u *user.User) *httpapitest.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clients[u.ID] == nil {
		w.clients[u.ID] = w.AsAccount(*u.Person(), u)
	}
	return w.clients[u.ID]
}

// person seeds an account.
func (w *fixture) person(t testing.TB, name string, options ...usertest.Option) *user.User {
	t.Helper()
	return usertest.New(t, w.db, append([]usertest.Option{usertest.Named(name)}, options...)...)
}

// project seeds a project in a namespace.
func (w *fixture) project(t testing.TB, in *group.Group, v access.Visibility) *project.Project {
	t.Helper()
	w.made++
	id := w.insert(t, `
		with p as (
			insert into projects (namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
			values ($1, $2, $2, $3, '2024-01-01', '2024-01-01', '2024-01-01') returning id)
		insert into routes (parent_id, path, project_id, created_at) select $1, $2, id, '2024-01-01' from p returning project_id`,
		in.ID, fmt.Sprintf("project%d", w.made), v)
	p, err := w.projects.Find(t.Context(), access.Actor{Person: w.root.Person()}, id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// join makes someone a member of a group or project.
func (w *fixture) join(t testing.TB, where any, u *user.User, role access.Role) {
	t.Helper()
	switch where := where.(type) {
	case *group.Group:
		grouptest.Join(t, w.db, where, u, role)
	case *project.Project:
		w.insert(t, `insert into members (project_id, user_id, access_level, created_at, updated_at)
			values ($1, $2, $3, '2024-01-01', '2024-01-01') returning id`, where.ID, u.ID, role)
	}
}

func (w *fixture) insert(t testing.TB, sql string, args ...any) int64 {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), w.db, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// taken returns what was audited since the last call, as "type: entity
// target".
func (w *fixture) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, e := range w.events {
		if a, ok := e.(bus.Audited); ok {
			d := a.AuditRecord()
			all = append(all, fmt.Sprintf("%s: %s %s, %s %s", d.Type, d.Entity.Kind, d.Entity.Path, d.Target.Type, d.Target.Details))
		}
	}
	w.events = nil
	slices.Sort(all)
	return all
}

// pathOf is where a group or project stands in the API.
func pathOf(where any, more ...any) string {
	var path string
	switch where := where.(type) {
	case *group.Group:
		path = fmt.Sprintf("/groups/%d", where.ID)
	case *project.Project:
		path = fmt.Sprintf("/projects/%d", where.ID)
	default:
		path = fmt.Sprint(where)
	}
	for _, part := range more {
		path += "/" + fmt.Sprint(part)
	}
	return path
}

type h = map[string]any

// seen is a member as the API shows it.
type seen struct {
	ID          int64       `json:"id"`
	Username    string      `json:"username"`
	AccessLevel access.Role `json:"access_level"`
	ExpiresAt   *string     `json:"expires_at"`
}

// membersOf is who is listed, as "name level".
func membersOf(t testing.TB, c *httpapitest.Client, path string) []string {
	t.Helper()
	var all []string
	for _, m := range httpapitest.JSON[[]seen](t, c.Do(t, "GET", path, nil).WantStatus(t, 200)) {
		all = append(all, fmt.Sprintf("%s %d", m.Username, m.AccessLevel))
	}
	slices.Sort(all)
	return all
}

func wantMembers(t testing.TB, c *httpapitest.Client, path string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := membersOf(t, c, path); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("%s: got %q, want %q", path, got, want)
	}
}

const (
	unauthorized = `{"message":"401 Unauthorized"}`
	forbidden    = `{"message":"403 Forbidden"}`
	notFound     = `{"message":"404 Not found"}`
)
