// Package projecttest seeds projects for the tests of other rooms.
package projecttest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

var counter atomic.Int64

// NoCode is for a room of projects without a room of repositories above it:
// all of them are empty.
type NoCode struct{}

// Digests knows of none.
func (NoCode) Digests(context.Context, []int64) (map[int64]project.Digest, error) { return nil, nil }

// Begin makes no commit.
func (NoCode) Begin(context.Context, *project.Project) error { return nil }

// HasBranch takes any name.
func (NoCode) HasBranch(context.Context, *project.Project, string) (bool, error) { return true, nil }

// FollowHead changes nothing.
func (NoCode) FollowHead(context.Context, *project.Project) error { return nil }

// NoJobTokens is for a room of projects without a room that knows tokens of
// jobs above it: each is a stranger's.
type NoJobTokens struct{}

// Reach is none.
func (NoJobTokens) Reach(context.Context, access.Actor, *project.Project) (project.Reach, error) {
	return project.Outside, nil
}

// NoIssues is for a room of projects without a room of issues above it.
type NoIssues struct{}

// CountOpen finds none.
func (NoIssues) CountOpen(context.Context, access.Actor, []*project.Project) (map[int64]int, error) {
	return nil, nil
}

// Option says what matters about a seeded project.
type Option func(*seed)

type seed struct {
	path string
	set  []string
	args []any
}

// Named gives the project a path, and a name equal to it.
func Named(path string) Option { return func(s *seed) { s.path = path } }

// With sets a column.
func With(column string, value any) Option {
	return func(s *seed) {
		s.args = append(s.args, value)
		s.set = append(s.set, fmt.Sprintf("%s = $%d", column, len(s.args)+1))
	}
}

// Visible says who sees the project. Without it the project is private.
func Visible(v access.Visibility) Option { return With("visibility", v) }

// By names who created the project.
func By(u *user.User) Option { return With("creator_id", u.ID) }

// New seeds a project that nobody is a member of.
func New(t testing.TB, q postgres.Querier, namespaceID int64, options ...Option) *project.Project {
	t.Helper()
	s := seed{path: fmt.Sprintf("project%d", counter.Add(1))}
	for _, option := range options {
		option(&s)
	}
	ctx := context.WithoutCancel(t.Context())
	id, err := postgres.Value[int64](ctx, q, `
		with p as (
			insert into projects (namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
			values ($1, $2, $2, 0, '2024-01-01', '2024-01-01', '2024-01-01') returning id)
		insert into routes (parent_id, path, project_id, created_at) select $1, lower($2), id, '2024-01-01' from p returning project_id`,
		namespaceID, s.path)
	if err != nil {
		t.Fatal(err)
	}
	if s.set != nil {
		exec(t, q, "update projects set "+strings.Join(s.set, ", ")+" where id = $1", append([]any{id}, s.args...)...)
	}
	return Read(t, q, id)
}

// Read is a project as it is now, whoever may see it.
func Read(t testing.TB, q postgres.Querier, id int64) *project.Project {
	t.Helper()
	p, err := postgres.One[project.Project](context.WithoutCancel(t.Context()), q,
		`select `+project.Columns+`, 0 as role from projects p join namespaces n on n.id = p.namespace_id where p.id = $1`, id)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// Join makes someone a member of a project.
func Join(t testing.TB, q postgres.Querier, p *project.Project, u *user.User, role access.Role) {
	t.Helper()
	exec(t, q, `insert into members (project_id, user_id, access_level, created_at, updated_at)
		values ($1, $2, $3, '2024-01-01', '2024-01-01')`, p.ID, u.ID, role)
}

// Share lets a group into a project.
func Share(t testing.TB, q postgres.Querier, p *project.Project, invited *group.Group, role access.Role) {
	t.Helper()
	exec(t, q, `insert into shares (group_id, project_id, access_level, created_at) values ($1, $2, $3, '2024-01-01')`,
		invited.ID, p.ID, role)
}

func exec(t testing.TB, q postgres.Querier, sql string, args ...any) {
	t.Helper()
	if _, err := q.Exec(context.WithoutCancel(t.Context()), sql, args...); err != nil {
		t.Fatal(err)
	}
}
