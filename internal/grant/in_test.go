package grant_test

import (
	"testing"
	"time"

	"stithy/internal/grant"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestWhoIsInAGroupThatARuleNames(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	insert := func(sql string, args ...any) int64 {
		t.Helper()
		id, err := postgres.Value[int64](t.Context(), tx, sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	group := insert(`insert into namespaces (id, kind, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
		select n, 'group', array[n], 'n', 'n', 'n', 'n', 0, now(), now() from nextval('namespaces_id_seq') n returning id`)
	for name, c := range map[string]struct {
		expires *time.Time
		asked   *time.Time
		in      bool
	}{
		"stays":    {nil, nil, true},
		"ends":     {new(today.AddDate(0, 0, 1)), nil, true},
		"ended":    {new(today.AddDate(0, 0, -1)), nil, false},
		"endsnow":  {&today, nil, false},
		"requests": {nil, &today, false},
	} {
		person := insert(`insert into users (username, name, email, projects_limit, created_at, updated_at)
			values ($1, 'x', $1 || '@example.com', 0, now(), now()) returning id`, "in"+name)
		insert(`insert into members (namespace_id, user_id, access_level, expires_at, requested_at, created_at, updated_at)
			values ($1, $2, 30, $3, $4, now(), now()) returning id`, group, person, c.expires, c.asked)
		if got, err := grant.IsIn(t.Context(), tx, person, []int64{group}, today); err != nil || got != c.in {
			t.Errorf("who %s is in the group: %t, %v", name, got, err)
		}
		if got, err := grant.IsIn(t.Context(), tx, person, []int64{group + 1000}, today); err != nil || got {
			t.Errorf("who %s is in another group: %t, %v", name, got, err)
		}
	}
}
