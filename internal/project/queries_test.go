package project

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

func TestEveryQueryPrepares(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	for _, sql := range []string{
		sqlByID, sqlAmong, sqlLockTied, sqlLockTiedTree, sqlSourceOpenness, sqlLockForks, sqlCutMarked, sqlStanding, sqlSourcesOfTree, sqlNamespaceOf, sqlPersonal, sqlLockCount, sqlCountIn, sqlNameTaken, sqlInsert, sqlUpdate,
		sqlSetArchived, sqlSetSource, sqlAddForks, sqlCutForks, sqlDescends, sqlStar, sqlUnstar, sqlAddStars, sqlMark, sqlMarkedLock,
		sqlDelete, sqlIn, sqlMarkTree, sqlLowerTree, sqlCutTree, sqlRecountTree, sqlRecount, sqlSharesAmong, sqlAccessAmong,
		sqlRelatives, sqlInvited, sqlTargets, sqlCountTargets, sqlReach, sqlAttributes, sqlAttribute,
		sqlOtherAttributes, sqlPutAttribute, sqlDeleteAttribute,
	} {
		if _, err := tx.Prepare(t.Context(), "", sql); err != nil {
			t.Errorf("%v in %s", err, sql)
		}
	}
}

func TestEveryEndpointIsDeclaredInFull(t *testing.T) {
	t.Parallel()
	for _, breach := range httpapi.Check((&Service{}).Endpoints()) {
		t.Error(breach)
	}
}

// crowd fills an instance: many projects of every visibility in many
// namespaces, of which one person is in few.
func crowd(t *testing.T, projects int) (db *postgres.DB, userID int64) {
	t.Helper()
	db = postgrestest.NewFresh(t)
	for _, sql := range []string{
		`drop index projects_search`, // faster to make when the rows are there
		`insert into users (username, name, email, projects_limit, created_at, updated_at) values ('crowded', 'x', 'crowded@example.com', 0, now(), now())`,
		`insert into namespaces (id, kind, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
			select 1000000 + n, 'group', array[1000000 + n], 'g' || n, 'g' || n, 'g' || n, 'g' || n, 20, now(), now() from generate_series(1, 300) n`,
		`insert into projects (id, namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
			select n, 1000001 + n % 300, 'name' || md5(n::text), 'p' || n, (array[0, 0, 10, 20])[1 + n % 4], now(), current_timestamp, now() from generate_series(1, ` + strconv.Itoa(projects) + `) n`,
		`insert into members (namespace_id, user_id, access_level, created_at, updated_at)
			select 1000000 + n, (select id from users where username = 'crowded'), 30, now(), now() from generate_series(1, 3) n`,
		`insert into members (project_id, user_id, access_level, created_at, updated_at)
			select n, (select id from users where username = 'crowded'), 30, now(), now() from generate_series(100, 105) n`,
		`create index projects_search on projects using gin (name gin_trgm_ops, path gin_trgm_ops, description gin_trgm_ops)`, `vacuum projects`, `analyze`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	userID, err := postgres.Value[int64](t.Context(), db, `select id from users where username = 'crowded'`)
	if err != nil {
		t.Fatal(err)
	}
	return db, userID
}

func explain(t *testing.T, db *postgres.DB, sql string, args ...any) string {
	t.Helper()
	lines, err := postgres.Values[string](t.Context(), db, `explain `+sql, args...)
	if err != nil {
		t.Fatalf("%v in %s", err, sql)
	}
	return strings.Join(lines, "\n")
}

// What a page costs does not grow with the instance.
func TestNoListReadsTheWholeTable(t *testing.T) {
	t.Parallel()
	db, userID := crowd(t, 30000)
	today := time.Now()
	person := access.Actor{Person: &access.Person{ID: userID}}
	for name, viewer := range map[string]access.Actor{
		"anonymous": {}, "member": person,
		"external": {Person: &access.Person{ID: userID, External: true}}, "administrator": {Person: &access.Person{ID: userID, Admin: true}},
	} {
		for _, order := range []string{"id", "name", "path", "updated_at", "last_activity_at"} {
			for _, f := range []Filter{{}, {Search: "name1234"}, {Search: "x"}, {Search: "a-b%"}, {Search: "%"}, {IDBefore: 20000}, {Membership: true}, {MinRole: access.Maintainer}} {
				for _, wide := range []bool{false, true} {
					l := listing{Filter: f, viewer: viewer, order: orders[order], desc: true, wide: wide}
					if l.role() > access.NoRole && (!viewer.SignedIn() || wide) {
						continue
					}
					req := paging.Request{Page: 1, PerPage: 20, OrderBy: order, Desc: true}
					sql, args := l.page(today, req)
					if plan := explain(t, db, sql, args...); strings.Contains(plan, "Seq Scan on projects") {
						t.Errorf("%s by %s with %+v:\n%s", name, order, f, plan)
					}
				}
			}
		}
	}
	for name, f := range map[string]Filter{
		"of a namespace": {NamespaceID: 1000001}, "of a group": {Group: &GroupScope{ID: 1000001, Own: true, Below: true, Shared: true}},
		"forks": {ForksOf: 7}, "starred": {StarredBy: userID}, "topics": {Topics: []string{"x"}, NamespaceID: 1000001},
		"search in namespaces": {Search: "g12", SearchNamespaces: true},
	} {
		l := listing{Filter: f, viewer: person, desc: true}
		sql, args := l.page(today, paging.Request{Page: 1, PerPage: 20})
		if plan := explain(t, db, sql, args...); strings.Contains(plan, "Seq Scan on projects") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
	for name, plan := range map[string]string{
		"lookup": explain(t, db, sqlByID, userID, today, 5), "lock": explain(t, db, sqlLockTied, []int64{5}, 0), "locking a tree": explain(t, db, sqlLockTiedTree, 1000001, 0), "forks": explain(t, db, sqlLockForks, []int64{5}),
		"name": explain(t, db, sqlNameTaken, 1000001, "x", 5), "marking": explain(t, db, sqlMarkTree, 1000001, today),
		"counting": explain(t, db, sqlCountIn, 1000001), "closing": explain(t, db, sqlLowerTree, 1000001, 0, today),
	} {
		if strings.Contains(plan, "Seq Scan on projects") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}

// The two ways to find a viewer's own projects, and the plain question about
// each project, agree.
func TestTheWaysToListAgree(t *testing.T) {
	t.Parallel()
	db, userID := crowd(t, 3000)
	for _, sql := range []string{
		`update namespaces set lineage = array[1000002, id], parent_id = 1000002 where id between 1000050 and 1000060`,
		`insert into shares (group_id, namespace_id, access_level, created_at) values (1000003, 1000070, 20, now())`,
		`insert into shares (group_id, project_id, access_level, created_at) select 1000001, n, 10, now() from generate_series(200, 210) n`,
		`insert into shares (group_id, project_id, access_level, expires_at, created_at) values (1000001, 220, 10, now() - interval '1 day', now())`,
		`update members set access_level = 5 where namespace_id = 1000001`,
		`update projects set removal = true where id % 17 = 0`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	today := time.Now().UTC()
	for name, person := range map[string]*access.Person{"member": {ID: userID}, "external": {ID: userID, External: true}} {
		viewer := access.Actor{Person: person}
		for _, f := range []Filter{{}, {Membership: true}, {MinRole: access.Reporter}, {MinRole: access.Developer}, {Owned: true}, {Search: "name1"}} {
			for _, order := range []string{"id", "name", "last_activity_at"} {
				for _, desc := range []bool{true, false} {
					narrow := listing{Filter: f, viewer: viewer, order: orders[order], desc: desc}
					wide := listing{Filter: f, viewer: viewer, order: orders[order], desc: desc, wide: true}
					req := paging.Request{Page: 2, PerPage: 10, OrderBy: order, Desc: desc}
					a, err := narrow.fetch(t.Context(), db, today, req)
					if err != nil {
						t.Fatal(err)
					}
					b, err := wide.fetch(t.Context(), db, today, req)
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(idsOf(a.Items), idsOf(b.Items)) || a.Total != b.Total || a.More != b.More {
						t.Errorf("%s, %+v by %s: %v of %d and %v of %d", name, f, order, idsOf(a.Items), a.Total, idsOf(b.Items), b.Total)
					}
					for _, p := range a.Items {
						if !access.Sees(viewer, p.Target()) || p.Role < f.role() {
							t.Errorf("%s, %+v: shows project %d with role %d", name, f, p.ID, p.Role)
						}
					}
					if a.Total == 0 && !f.Owned {
						t.Errorf("%s, %+v: shows nothing", name, f)
					}
				}
			}
		}
	}
	// And against the question itself.
	seen, err := postgres.Values[int64](t.Context(), db, `select p.id from (`+strings.Replace(sqlByID, "p.id = $3 and not p.removal", "not p.removal and $3 = 0", 1)+`) p
		where p.visibility >= 10 or p.role > 0 order by p.id desc limit 1000`, userID, today, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := listing{viewer: access.Actor{Person: &access.Person{ID: userID}}, desc: true}
	page, err := l.fetch(t.Context(), db, today, paging.Request{Page: 1, PerPage: 1000, Desc: true})
	if err != nil || !slices.Equal(idsOf(page.Items), seen) {
		t.Errorf("lists %d projects, sees %d, %v", len(page.Items), len(seen), err)
	}
}

func idsOf(all []Project) (ids []int64) {
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids
}
