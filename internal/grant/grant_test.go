package grant_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/grant"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

var today = time.Date(2024, 5, 2, 23, 59, 0, 0, time.UTC)

// forest is a state of the tables, and the same in Go.
type forest struct {
	users    []int64
	spaces   []*space
	projects []*place
	members  []member
	shares   []share
}

type space struct {
	place
	parent *space
	owner  int64
}

// place is a namespace or a project in one.
type place struct {
	id      int64
	project bool
	in      *space
}

type member struct {
	where   *place
	user    int64
	level   access.Role
	expires *time.Time
	asked   bool
}

type share struct {
	where   *place
	group   *space
	level   access.Role
	expires *time.Time
}

// live reports whether something with an expiry counts: no longer on the day
// itself.
func live(expires *time.Time) bool {
	return expires == nil || expires.Format(time.DateOnly) > today.Format(time.DateOnly)
}

func (s *space) line() []*space {
	if s.parent == nil {
		return []*space{s}
	}
	return append(s.parent.line(), s)
}

// direct is what a person was given in one place itself.
func (f *forest) direct(user int64, where *place) access.Role {
	for _, m := range f.members {
		if m.user == user && m.where == where && !m.asked && live(m.expires) {
			return m.level
		}
	}
	return access.NoRole
}

// role is the slow calculation: every place on the way up, and every group
// that was let in there, with every group above that.
func (f *forest) role(user int64, where *place) access.Role {
	highest := access.NoRole
	take := func(r access.Role) { highest = max(highest, r) }
	way := []*place{where}
	for _, s := range where.in.line() {
		if s.owner == user {
			take(access.Owner)
		}
		if &s.place != where {
			way = append(way, &s.place)
		}
	}
	for _, here := range way {
		if r := f.direct(user, here); r > access.MinimalAccess || (here == where && !where.project) {
			take(r)
		}
		for _, s := range f.shares {
			if s.where != here || !live(s.expires) {
				continue
			}
			for _, above := range s.group.line() {
				if r := f.direct(user, &above.place); r > access.MinimalAccess {
					take(min(r, s.level))
				}
			}
		}
	}
	return highest
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func expiry(r *rand.Rand) *time.Time {
	switch r.IntN(5) {
	case 0:
		return new(today.AddDate(0, 0, r.IntN(3)-1))
	case 1:
		return new(today.AddDate(1, 0, 0))
	}
	return nil
}

// grow makes a state up and writes it.
func grow(t *testing.T, tx pgx.Tx, r *rand.Rand) *forest {
	t.Helper()
	f := &forest{}
	insert := func(sql string, args ...any) int64 {
		t.Helper()
		id, err := postgres.Value[int64](t.Context(), tx, sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	plant := func(s *space) {
		s.id = insert(`select nextval('namespaces_id_seq')`)
		s.in = s
		var lineage []int64
		for _, above := range s.line() {
			lineage = append(lineage, above.id)
		}
		kind, parent, owner := "group", (*int64)(nil), (*int64)(nil)
		if s.parent != nil {
			parent = &s.parent.id
		}
		if s.owner != 0 {
			kind, owner = "user", &s.owner
		}
		insert(`insert into namespaces (id, kind, parent_id, owner_id, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
			values ($1, $2, $3, $4, $5, 'n', 'n', 'n', 'n', 0, now(), now()) returning id`, s.id, kind, parent, owner, lineage)
		f.spaces = append(f.spaces, s)
	}
	for range 8 {
		name := strings.ToLower(fmt.Sprintf("grant%x", r.Uint64()))
		f.users = append(f.users, insert(`insert into users (username, name, email, projects_limit, created_at, updated_at)
			values ($1, 'x', $1 || '@example.com', 0, now(), now()) returning id`, name))
	}
	for _, u := range f.users[:3] {
		plant(&space{owner: u})
	}
	var groups []*space
	for range 3 + r.IntN(10) {
		s := &space{}
		if parent := r.IntN(4); parent > 0 && len(groups) > 0 {
			if s.parent = pick(r, groups); len(s.parent.line()) > 5 {
				s.parent = nil
			}
		}
		plant(s)
		groups = append(groups, s)
	}
	for i := range 3 + r.IntN(8) {
		p := &place{project: true, in: pick(r, f.spaces)}
		p.id = insert(`insert into projects (namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
			values ($1, $2, $2, 0, now(), now(), now()) returning id`, p.in.id, fmt.Sprint("p", i))
		f.projects = append(f.projects, p)
	}
	somewhere := func() *place {
		if r.IntN(2) == 0 {
			return pick(r, f.projects)
		}
		return &pick(r, groups).place
	}
	columns := func(p *place) (namespace, project *int64) {
		if p.project {
			return nil, &p.id
		}
		return &p.id, nil
	}
	taken := map[string]bool{}
	for range 5 + r.IntN(40) {
		m := member{where: somewhere(), user: pick(r, f.users), level: pick(r, access.Roles), expires: expiry(r), asked: r.IntN(6) == 0}
		if r.IntN(6) == 0 {
			m.level = access.MinimalAccess
		}
		key := fmt.Sprintf("%p %d", m.where, m.user)
		if taken[key] {
			continue
		}
		taken[key] = true
		var asked *time.Time
		if m.asked {
			asked = &today
		}
		namespace, project := columns(m.where)
		insert(`insert into members (namespace_id, project_id, user_id, access_level, expires_at, requested_at, created_at, updated_at)
			values ($1, $2, $3, $4, $5, $6, now(), now()) returning id`, namespace, project, m.user, m.level, m.expires, asked)
		f.members = append(f.members, m)
	}
	for range r.IntN(12) {
		s := share{where: somewhere(), group: pick(r, groups), level: pick(r, access.Roles), expires: expiry(r)}
		key := fmt.Sprintf("%p %p", s.where, s.group)
		if taken[key] {
			continue
		}
		taken[key] = true
		namespace, project := columns(s.where)
		insert(`insert into shares (group_id, namespace_id, project_id, access_level, expires_at, created_at)
			values ($1, $2, $3, $4, $5, now()) returning id`, s.group.id, namespace, project, s.level, s.expires)
		f.shares = append(f.shares, s)
	}
	// An invitation is nobody's.
	insert(`insert into members (namespace_id, invite_email, access_level, created_at, updated_at)
		values ($1, 'someone@example.com', 50, now(), now()) returning id`, groups[0].id)
	return f
}

// seed is that of STITHY_TEST_SEED, or a new one each time.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := rand.Uint64()
	if given := os.Getenv("STITHY_TEST_SEED"); given != "" {
		var err error
		if n, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("STITHY_TEST_SEED=%d", n)
	return rand.New(rand.NewPCG(n, n))
}

type held struct {
	ID   int64
	Role access.Role
}

var (
	rolesInSpaces   = `select n.id, ` + grant.NamespaceRole + ` as role from namespaces n where n.id = any($3::bigint[])`
	rolesInProjects = `select p.id, ` + grant.ProjectRole + ` as role from projects p join namespaces n on n.id = p.namespace_id where p.id = any($3::bigint[])`
)

func TestTheSQLRoleEqualsASlowReferenceCalculation(t *testing.T) {
	t.Parallel()
	const enough = 10_000
	tx, r := postgrestest.Tx(t), seed(t)
	cases, above := 0, map[access.Role]int{}
	for cases < enough {
		f := grow(t, tx, r)
		for _, user := range f.users {
			check := func(sql string, places []*place, one func(*place) (access.Role, error)) {
				t.Helper()
				want, ids := map[int64]access.Role{}, []int64{}
				for _, p := range places {
					want[p.id] = f.role(user, p)
					ids = append(ids, p.id)
					above[want[p.id]]++
				}
				got, err := postgres.All[held](t.Context(), tx, sql, user, today, ids)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range got {
					if h.Role != want[h.ID] {
						t.Fatalf("user %d in %d: got %s, want %s\n%s", user, h.ID, h.Role, want[h.ID], f)
					}
				}
				if len(got) != len(places) {
					t.Fatalf("%d places have %d roles", len(places), len(got))
				}
				cases += len(got)
				single := pick(r, places)
				if role, err := one(single); err != nil || role != want[single.id] {
					t.Fatalf("user %d in %d: got %s, %v, want %s\n%s", user, single.id, role, err, want[single.id], f)
				}
			}
			var spaces []*place
			for _, s := range f.spaces {
				spaces = append(spaces, &s.place)
			}
			check(rolesInSpaces, spaces, func(p *place) (access.Role, error) {
				return grant.OnNamespace(t.Context(), tx, user, p.id, today)
			})
			check(rolesInProjects, f.projects, func(p *place) (access.Role, error) {
				return grant.OnProject(t.Context(), tx, user, p.id, today)
			})
		}
		for _, p := range f.projects {
			want := map[int64]access.Role{}
			for _, user := range f.users {
				if role := f.role(user, p); role > access.NoRole {
					want[user] = role
				}
			}
			if got, err := grant.RolesOnProject(t.Context(), tx, f.users, p.id, today); err != nil || !maps.Equal(got, want) {
				t.Fatalf("in the project %d: got %v, %v, want %v\n%s", p.id, got, err, want, f)
			}
		}
	}
	for _, role := range append(access.Roles, access.NoRole, access.MinimalAccess) {
		if above[role] < cases/200 {
			t.Errorf("only %d of %d cases have the role %s", above[role], cases, role)
		}
	}
}

func (f *forest) String() string {
	var w strings.Builder
	day := func(at *time.Time) string {
		if at == nil {
			return ""
		}
		return " until " + at.Format(time.DateOnly)
	}
	for _, s := range f.spaces {
		fmt.Fprintf(&w, "namespace")
		for _, above := range s.line() {
			fmt.Fprintf(&w, " %d", above.id)
		}
		fmt.Fprintf(&w, " of %d\n", s.owner)
	}
	for _, p := range f.projects {
		fmt.Fprintf(&w, "project %d in %d\n", p.id, p.in.id)
	}
	for _, m := range f.members {
		fmt.Fprintf(&w, "member %d of %d (project %t): %s%s, asked %t\n", m.user, m.where.id, m.where.project, m.level, day(m.expires), m.asked)
	}
	for _, s := range f.shares {
		fmt.Fprintf(&w, "group %d in %d (project %t): %s%s\n", s.group.id, s.where.id, s.where.project, s.level, day(s.expires))
	}
	return w.String()
}

func TestWhoIsInAGroupItself(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	f := grow(t, tx, seed(t))
	// Whatever was drawn, there is one of each: as of yesterday, ending today and tomorrow, and asked for.
	in, last := f.spaces[len(f.spaces)-1], f.users[len(f.users)-1]
	given := func(asked bool, days int) {
		t.Helper()
		f.members = []member{{where: &in.place, user: last, level: access.Guest, asked: asked, expires: new(today.AddDate(0, 0, days))}}
		if _, err := tx.Exec(t.Context(), `delete from members where user_id = $1 and namespace_id = $2`, last, in.id); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `insert into members (user_id, namespace_id, access_level, expires_at, requested_at, created_at, updated_at)
			values ($1, $2, 10, $3::date, case when $4 then now() end, now(), now())`, last, in.id, today.AddDate(0, 0, days), asked); err != nil {
			t.Fatal(err)
		}
	}
	isIn := func(user int64, groups ...int64) bool {
		t.Helper()
		got, err := grant.IsIn(t.Context(), tx, user, groups, today)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, user := range f.users {
		for _, s := range f.spaces {
			if got, want := isIn(user, s.id), f.direct(user, &s.place) != access.NoRole; got != want {
				t.Errorf("user %d in %d: %v, want %v", user, s.id, got, want)
			}
		}
	}
	for _, c := range []struct {
		asked bool
		days  int
		want  bool
	}{{false, -1, false}, {false, 0, false}, {false, 1, true}, {true, 1, false}} {
		given(c.asked, c.days)
		if got := isIn(last, f.spaces[0].id, in.id); got != c.want {
			t.Errorf("asked %v, expires in %d days: %v", c.asked, c.days, got)
		}
	}
	if isIn(last) {
		t.Error("somebody is in no group at all")
	}
}

func TestNobodyHasNoRole(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	f := grow(t, tx, seed(t))
	for _, s := range f.spaces {
		if role, err := grant.OnNamespace(t.Context(), tx, 0, s.id, today); role != access.NoRole || err != nil {
			t.Errorf("%s, %v", role, err)
		}
	}
	for _, p := range f.projects {
		if role, err := grant.OnProject(t.Context(), tx, 0, p.id, today); role != access.NoRole || err != nil {
			t.Errorf("%s, %v", role, err)
		}
	}
}

// A big instance: what a role costs must not grow with it.
const bigInstance = `
insert into users (id, username, name, email, projects_limit, created_at, updated_at)
	select 1000000 + i, 'big' || i, 'x', 'big' || i || '@example.com', 0, now(), now() from generate_series(1, 3000) i;
insert into namespaces (id, kind, parent_id, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
	select 1000000 + i, 'group', case when i > 300 then 1000000 + i % 300 + 1 end,
		case when i > 300 then array[1000000 + i % 300 + 1, 1000000 + i] else array[1000000 + i] end, 'n', 'n', 'n', 'n', 0, now(), now()
	from generate_series(1, 20000) i;
insert into projects (id, namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
	select 1000000 + i, 1000000 + i, 'p', 'p', 0, now(), now(), now() from generate_series(1, 20000) i;
insert into members (namespace_id, user_id, access_level, created_at, updated_at)
	select 1000000 + i, 1000000 + (i * 7) % 2998 + 1 + j, 30, now(), now() from generate_series(1, 20000) i, generate_series(0, 1) j;
insert into members (project_id, user_id, access_level, created_at, updated_at)
	select 1000000 + i, 1000000 + (i * 7) % 2998 + 1 + j, 30, now(), now() from generate_series(1, 20000) i, generate_series(0, 1) j;
insert into shares (group_id, namespace_id, access_level, created_at)
	select 1000000 + (i * 7) % 19999 + 1, 1000000 + i, 30, now() from generate_series(1, 20000) i;
insert into shares (group_id, project_id, access_level, created_at)
	select 1000000 + (i * 7) % 19999 + 1, 1000000 + i, 30, now() from generate_series(1, 20000) i;
analyze users, namespaces, projects, members, shares`

func TestARoleIsFoundByIndexesAlone(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	if _, err := tx.Exec(t.Context(), bigInstance); err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{
		"namespace": rolesInSpaces,
		"project":   rolesInProjects,
		"below":     `select n.id from namespaces n where n.id = any($3::bigint[]) and ` + grant.SeesBelow,
	} {
		plan, err := postgres.Values[string](t.Context(), tx, `explain `+sql, int64(1_000_007), today, []int64{1_002_900})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
