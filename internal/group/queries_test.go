package group

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestTheLockOfATreeIsHeldInOneOrder(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	ids, err := postgres.Values[int64](t.Context(), tx, `
		insert into namespaces (id, kind, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
		select n, 'group', array[n], 'x', 'x', 'x', 'x', 0, now(), now() from generate_series(900001, 900005) n returning id`)
	if err != nil {
		t.Fatal(err)
	}
	if err := lockTrees(t.Context(), tx, sqlLockTrees, ids...); err != nil {
		t.Fatal(err)
	}
	held, err := postgres.Value[int](t.Context(), tx,
		`select count(*) from pg_locks where locktype = 'advisory' and classid = 7401 and pid = pg_backend_pid() and mode = 'ExclusiveLock'`)
	if err != nil || held != len(ids) {
		t.Errorf("holds %d locks, %v", held, err)
	}
	order, err := postgres.Values[int64](t.Context(), tx, sqlLockTrees, ids)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(ids)
	again, err := postgres.Values[int64](t.Context(), tx, sqlShareTrees, ids)
	if err != nil || !slices.Equal(order, again) {
		t.Errorf("locked in the order %v, then %v, %v", order, again, err)
	}
}

// However many groups there are, what someone is a member of is found from
// their memberships.
func TestOnesOwnGroupsAreFoundOverAnIndex(t *testing.T) {
	t.Parallel()
	tx, err := postgrestest.NewFresh(t).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "set local enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	s := &Service{deps: Deps{Clock: time.Now}}
	l := groups()
	s.whereSeen(l, access.Actor{Person: &access.Person{ID: 1}}, Filter{})
	sql, args := l.Order(postgres.Key{Expr: "n.name"}, postgres.Key{Expr: "n.id"}).Limit(20).SQL()
	plan, err := postgres.Values[string](t.Context(), tx, "explain "+sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "namespaces_lineage") || strings.Contains(text, "Seq Scan on namespaces n") {
		t.Error(text)
	}
}
