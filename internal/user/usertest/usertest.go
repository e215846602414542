// Package usertest seeds accounts for the tests of other rooms.
package usertest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

var counter atomic.Int64

// Option says what matters about a seeded account.
type Option func(*seed)

type seed struct {
	username string
	set      []string
	args     []any
}

// Named gives the account a username, and an address that fits it.
func Named(username string) Option { return func(s *seed) { s.username = username } }

// With sets a column.
func With(column string, value any) Option {
	return func(s *seed) {
		s.args = append(s.args, value)
		s.set = append(s.set, fmt.Sprintf("%s = $%d", column, len(s.args)+1))
	}
}

// Admin makes the account an administrator.
func Admin() Option { return With("admin", true) }

// In puts the account into a state.
func In(state user.State) Option { return With("state", string(state)) }

// Unconfirmed leaves the address without confirmation.
func Unconfirmed() Option { return With("confirmed_at", nil) }

// New seeds an account: active, confirmed, without a password, unless an
// option says otherwise.
func New(t testing.TB, q postgres.Querier, options ...Option) *user.User {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	s := seed{username: fmt.Sprintf("user%d", counter.Add(1))}
	for _, option := range options {
		option(&s)
	}
	id, err := postgres.Value[int64](ctx, q, `
		with u as (
			insert into users (username, name, email, confirmed_at, projects_limit, created_at, updated_at)
			values ($1, initcap($1), $1 || '@example.com', '2024-01-01', 100000, '2024-01-01', '2024-01-01') returning id, email)
		insert into email_claims (address, user_id) select lower(email), id from u returning user_id`, s.username)
	if err != nil {
		t.Fatal(err)
	}
	if s.set != nil {
		sql := "update users set " + strings.Join(s.set, ", ") + " where id = $1"
		if _, err := q.Exec(ctx, sql, append([]any{id}, s.args...)...); err != nil {
			t.Fatal(err)
		}
	}
	u, err := postgres.One[user.User](ctx, q, `select `+user.Columns+` from users u where u.id = $1`, id)
	if err != nil {
		t.Fatal(err)
	}
	return &u
}
