package user

import (
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

// The plans for looking people up, on a table that is worth an index.
func TestUsernameAndSearchUseAnIndex(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewFresh(t)
	for _, sql := range []string{
		`insert into users (username, name, email, projects_limit, created_at, updated_at)
			select 'user' || n, 'Person ' || md5(n::text), 'user' || n || '@example.com', 1, now(), now() from generate_series(1, 30000) n`,
		`analyze users`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, actor := range []access.Actor{{Person: &access.Person{ID: 1}}, {Person: &access.Person{ID: 1, Admin: true}}} {
		for name, f := range map[string]Filter{
			"username":        {Username: "USER4711"},
			"part of a name":  {Search: "c4ca4238a0b9"},
			"a short term":    {Search: "us"},
			"a whole address": {Search: "user4711@example.com"},
			"locked accounts": {Locked: true},
		} {
			f.Visible = actor
			sql, args := f.matching().Columns("u.id").Order(postgres.Key{Expr: "u.name"}, postgres.Key{Expr: "u.id"}).Limit(20).SQL()
			lines, err := postgres.Values[string](t.Context(), db, "explain "+sql, args...)
			if err != nil {
				t.Fatal(err)
			}
			if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan on users") {
				t.Errorf("%s, administrator %v, reads the whole table:\n%s", name, actor.Admin(), plan)
			}
		}
	}
}
