package group_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/audit"
	"stithy/internal/core/coretest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is an instance with one administrator, whose clock a test may turn.
type fixture struct {
	db       *postgres.DB
	bus      *bus.Bus
	settings *setting.Service
	users    *user.Service
	groups   *group.Service
	client   *httpapitest.Client
	root     *user.User

	mu  sync.Mutex
	now time.Time
}

func newFixture(t *testing.T, options ...coretest.Option) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)}
	c := coretest.New(t, append(options, coretest.Clock(w.clock))...)
	w.db, w.bus, w.settings, w.users, w.groups = c.DB, c.Bus, c.Settings, c.Users, c.Groups
	bus.On(w.bus, w.groups.OnUser)
	bus.On(w.bus, w.groups.OnUserUpdated)
	bus.On(w.bus, w.groups.OnUserLeaving)
	bus.On(w.bus, w.groups.OnUserRemoving)
	w.bus.OnAny(audit.New(audit.Deps{
		DB: w.db, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Outbound: c.Outbound, Settings: c.Settings, Owners: c.Owners, Clock: w.clock, Log: c.Log,
	}).Record)
	w.client = httpapitest.Serve(t, append(w.groups.Endpoints(), w.users.Endpoints()...)...)
	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	grouptest.Personal(t, w.db, w.root)
	return w
}

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// as calls with the account behind the actor, as authentication would.
func (w *fixture) as(u *user.User) *httpapitest.Client { return w.client.AsAccount(*u.Person(), u) }

func actor(u *user.User) access.Actor { return access.Actor{Person: u.Person(), Account: u} }

// person seeds someone with a personal namespace.
func (w *fixture) person(t *testing.T, name string, options ...usertest.Option) *user.User {
	t.Helper()
	u := usertest.New(t, w.db, append([]usertest.Option{usertest.Named(name)}, options...)...)
	grouptest.Personal(t, w.db, u)
	return u
}

// group seeds a group with one member.
func (w *fixture) group(t *testing.T, path string, owner *user.User, options ...grouptest.Option) *group.Group {
	t.Helper()
	g := grouptest.New(t, w.db, append([]grouptest.Option{grouptest.Named(path)}, options...)...)
	grouptest.Join(t, w.db, g, owner, access.Owner)
	return g
}

func (w *fixture) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func value[T any](t *testing.T, w *fixture, sql string, args ...any) T {
	t.Helper()
	v, err := postgres.Value[T](t.Context(), w.db, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (w *fixture) audited(t *testing.T, id int64) string {
	t.Helper()
	types, err := postgres.Values[string](t.Context(), w.db,
		`select event_type from audit_events where entity_type = 'Group' and entity_id = $1 order by id`, id)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(types, " ")
}

func at(g *group.Group, rest string) string { return fmt.Sprintf("/groups/%d%s", g.ID, rest) }

// paths are the full paths that a list shows, in its order.
func paths(t *testing.T, r *httpapitest.Reply) string {
	t.Helper()
	var rows []struct {
		FullPath string `json:"full_path"`
	}
	r.WantStatus(t, 200).Decode(t, &rows)
	var all []string
	for _, row := range rows {
		all = append(all, row.FullPath)
	}
	return strings.Join(all, " ")
}

// tree checks that what is stored along the lines of ancestors is what those
// lines say, and that every namespace is found by its path alone.
func (w *fixture) tree(t *testing.T) {
	t.Helper()
	wrong, err := postgres.Values[string](t.Context(), w.db, `
		with recursive line(id, lineage, full_path, full_name, visibility) as (
			select id, array[id], path, name, visibility from namespaces where parent_id is null
			union all
			select n.id, l.lineage || n.id, l.full_path || '/' || n.path, l.full_name || ' / ' || n.name, least(l.visibility, n.visibility)
			from namespaces n join line l on n.parent_id = l.id)
		select n.full_path || ' should be ' || coalesce(l.full_path, 'gone') from namespaces n left join line l using (id)
		where (n.lineage, n.full_path, n.full_name, n.visibility) is distinct from (l.lineage, l.full_path, l.full_name, l.visibility)
		union all
		select n.full_path || ' has no path of its own' from namespaces n
		where not exists (select 1 from routes r where r.namespace_id = n.id and not r.former
			and r.parent_id = coalesce(n.parent_id, 0) and r.path = lower(n.path))
		union all
		select 'two are called ' || lower(full_path) from namespaces group by lower(full_path) having count(*) > 1
		union all
		select 'a path below nothing: ' || r.path from routes r
		where r.parent_id <> 0 and not exists (select 1 from namespaces n where n.id = r.parent_id)`)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range wrong {
		t.Error(what)
	}
}
