// Package grouptest seeds namespaces for the tests of other rooms.
package grouptest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

var counter atomic.Int64

// Option says what matters about a seeded group.
type Option func(*seed)

type seed struct {
	path       string
	parent     *group.Group
	visibility *access.Visibility
	settings   string
}

// Named gives the group a path, and a name equal to it.
func Named(path string) Option { return func(s *seed) { s.path = path } }

// Under puts the group below another.
func Under(parent *group.Group) Option { return func(s *seed) { s.parent = parent } }

// Visible says who sees the group. Without it a top-level group is private,
// and a subgroup as open as its parent.
func Visible(v access.Visibility) Option { return func(s *seed) { s.visibility = &v } }

// With gives the group settings, as a JSON object of those that are not the
// default.
func With(settings string) Option { return func(s *seed) { s.settings = settings } }

// New seeds a group that nobody is a member of.
func New(t testing.TB, q postgres.Querier, options ...Option) *group.Group {
	t.Helper()
	s := seed{path: fmt.Sprintf("group%d", counter.Add(1)), settings: "{}"}
	for _, option := range options {
		option(&s)
	}
	var parentID *int64
	fullPath, fullName, lineage, visibility := s.path, s.path, []int64{}, access.Private
	if s.parent != nil {
		parentID, lineage, visibility = &s.parent.ID, s.parent.Lineage, s.parent.Visibility
		fullPath, fullName = s.parent.FullPath+"/"+s.path, s.parent.FullName+" / "+s.path
	}
	if s.visibility != nil {
		visibility = *s.visibility
	}
	return insert(t, q, `
		with n as (
			insert into namespaces (id, kind, parent_id, lineage, name, path, full_name, full_path, visibility, settings, created_at, updated_at)
			select id, 'group', $1, $2::bigint[] || id, $3, $3, $4, $5, $6, $7, '2024-01-01', '2024-01-01'
			from (select nextval('namespaces_id_seq') as id) fresh returning id)
		insert into routes (parent_id, path, namespace_id, created_at) select coalesce($1, 0), lower($3), id, '2024-01-01' from n
		returning namespace_id`, parentID, lineage, s.path, fullName, fullPath, visibility, s.settings)
}

// Personal seeds the personal namespace of a seeded account.
func Personal(t testing.TB, q postgres.Querier, u *user.User) *group.Group {
	t.Helper()
	return insert(t, q, `
		with n as (
			insert into namespaces (id, kind, owner_id, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
			values ($1, 'user', $2, array[$1::bigint], $3, $4, $3, $4, 20, $5, $5) returning id)
		insert into routes (parent_id, path, namespace_id, created_at) select 0, lower($4), id, $5 from n returning namespace_id`,
		u.NamespaceID, u.ID, u.Name, u.Username, u.CreatedAt)
}

// Join makes someone a member of a group.
func Join(t testing.TB, q postgres.Querier, g *group.Group, u *user.User, role access.Role) {
	t.Helper()
	exec(t, q, `insert into members (namespace_id, user_id, access_level, created_at, updated_at)
		values ($1, $2, $3, '2024-01-01', '2024-01-01')`, g.ID, u.ID, role)
}

// Share lets a group into another.
func Share(t testing.TB, q postgres.Querier, into, invited *group.Group, role access.Role) {
	t.Helper()
	exec(t, q, `insert into shares (group_id, namespace_id, access_level, created_at) values ($1, $2, $3, '2024-01-01')`,
		invited.ID, into.ID, role)
}

func exec(t testing.TB, q postgres.Querier, sql string, args ...any) {
	t.Helper()
	if _, err := q.Exec(context.WithoutCancel(t.Context()), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func insert(t testing.TB, q postgres.Querier, sql string, args ...any) *group.Group {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	id, err := postgres.Value[int64](ctx, q, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return Read(t, q, id)
}

// Read is a group as it is now, whoever may see it.
func Read(t testing.TB, q postgres.Querier, id int64) *group.Group {
	t.Helper()
	g, err := postgres.One[group.Group](context.WithoutCancel(t.Context()), q,
		`select `+group.Columns+`, 0 as role from namespaces n where n.id = $1`, id)
	if err != nil {
		t.Fatal(err)
	}
	return &g
}
