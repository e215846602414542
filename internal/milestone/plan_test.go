package milestone

import (
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/bus"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

// What a page or a lookup costs does not grow with the table.
func TestNoQueryReadsTheWholeTable(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewFresh(t)
	for _, sql := range []string{
		`insert into namespaces (id, kind, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
			select 1000000 + n, 'group', case when n <= 100 then array[1000000 + n] else array[1000000 + n % 100 + 1, 1000000 + n] end,
			'g' || n, 'g' || n, 'g' || n, 'g' || n, 20, now(), now() from generate_series(1, 2000) n`,
		`insert into projects (id, namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
			select n, 1000001 + n % 2000, 'p' || n, 'p' || n, 20, now(), now(), now() from generate_series(1, 30000) n`,
		`insert into milestones (project_id, iid, title, state, due_date, created_at, updated_at)
			select 1 + n % 300, n, 'm ' || n, 'active', date '2024-01-01' + n % 1000, now(), now() from generate_series(1, 60000) n`,
		`insert into milestones (namespace_id, iid, title, state, due_date, created_at, updated_at)
			select 1000001 + n % 150, n, 'm ' || n, 'closed', date '2024-01-01' + n % 1000, now(), now() from generate_series(1, 30000) n`,
		`analyze`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	project, groups := bus.Entity{Kind: bus.OfProject, ID: 7}, []int64{1000001, 1000101}
	explain := func(name, sql string, args ...any) string {
		lines, err := postgres.Values[string](t.Context(), db, "explain "+sql, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan := strings.Join(lines, "\n")
		for _, table := range []string{"milestones", "projects"} {
			if strings.Contains(plan, "Seq Scan on "+table) {
				t.Errorf("%s reads all of %s:\n%s", name, table, plan)
			}
		}
		return plan
	}
	title, now := "m 7", time.Now()
	for name, f := range map[string]Filter{
		"a page": {}, "active ones": {State: Active}, "by title": {Title: &title}, "a search": {Search: "m"}, "by number": {IIDs: []int{7, 8}}, "changed": {UpdatedAfter: &now},
	} {
		for _, above := range [][]int64{nil, groups} {
			f.Ancestors = above != nil
			l := list(project, above, f, 21).Limit(21)
			sql, args := l.SQL()
			plan := explain(name, sql, args...)
			if name == "a page" && (strings.Count(plan, "_due on milestones") != len(above)+1 || strings.Count(plan, "Index Scan using milestones_") != len(above)+1) {
				t.Errorf("a page is not read in the order of the index:\n%s", plan)
			}
			sql, args = l.CountSQL(10_001)
			explain("the count of "+name, sql, args...)
		}
	}
	explain("a lookup", sqlFind, nil, project.ID, 5)
	explain("a title", sqlTaken, title, project.ID, groups, 5)
	explain("titles below", sqlBelow, groups[0], title)
}
