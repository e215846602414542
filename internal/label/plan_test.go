package label

import (
	"strings"
	"testing"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

// What a page or a lookup costs does not grow with the table.
func TestNoQueryReadsTheWholeTable(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewFresh(t)
	for _, sql := range []string{
		`insert into users (id, username, name, email, projects_limit, created_at, updated_at) values (1, 'u', 'x', 'u@example.com', 0, now(), now())`,
		`insert into namespaces (id, kind, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
			select 1000000 + n, 'group', case when n <= 100 then array[1000000 + n] else array[1000000 + n % 100 + 1, 1000000 + n] end,
			'g' || n, 'g' || n, 'g' || n, 'g' || n, 20, now(), now() from generate_series(1, 2000) n`,
		`insert into projects (id, namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
			select n, 1000001 + n % 2000, 'p' || n, 'p' || n, 20, now(), now(), now() from generate_series(1, 30000) n`,
		`insert into labels (project_id, name, color, created_at, updated_at)
			select 1 + n % 300, 'label ' || n, '#000000', now(), now() from generate_series(1, 60000) n`,
		`insert into labels (namespace_id, name, color, created_at, updated_at)
			select 1000001 + n % 150, 'label ' || n, '#000000', now(), now() from generate_series(1, 30000) n`,
		`insert into labels (project_id, name, color, created_at, updated_at)
			select 7, 'crowded ' || n, '#000000', now(), now() from generate_series(1, 5000) n`,
		`insert into label_priorities select id, project_id, 1 from labels where project_id is not null`,
		`insert into subscriptions select 'label', id, 1, now() from labels`,
		`analyze`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	project, groups := int64(7), []int64{1000001, 1000101}
	page := list(view{userID: 1, projectID: &project}, sources{projects: []int64{project}, groups: groups}, "", 21).Limit(21)
	searched := list(view{userID: 1}, sources{groups: groups}, "label", 21).Limit(21)
	for name, q := range map[string]func() (string, []any){
		"a page": page.SQL, "a search": searched.SQL, "a count": func() (string, []any) { return page.CountSQL(10_001) },
		"by id":      func() (string, []any) { return sqlByID, []any{1, project, project, groups, 5} },
		"by name":    func() (string, []any) { return sqlByName, []any{1, project, project, groups, "label 7"} },
		"taken":      func() (string, []any) { return sqlTaken, []any{"label 7", project, groups, 5} },
		"promote":    func() (string, []any) { return sqlBelow, []any{1000001, "label 7"} },
		"priorities": func() (string, []any) { return sqlMergePriorities, []any{[]int64{1, 2, 3}, 4} },
		"groups":     func() (string, []any) { return sqlGroupsBelow, []any{1, "2024-05-02", 1000001, false, 10} },
		"projects":   func() (string, []any) { return sqlProjectsBelow, []any{1, "2024-05-02", 1000001, false, 10, true} },
	} {
		sql, args := q()
		lines, err := postgres.Values[string](t.Context(), db, "explain "+sql, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan := strings.Join(lines, "\n")
		for _, table := range []string{"labels", "label_priorities", "subscriptions", "projects"} {
			if strings.Contains(plan, "Seq Scan on "+table) {
				t.Errorf("%s reads all of %s:\n%s", name, table, plan)
			}
		}
		// A crowded owner costs a page, too: its labels are read in order and no further.
		if name == "a page" && (strings.Count(plan, "Index Scan using labels_project_key") != 1 || strings.Count(plan, "Index Scan using labels_namespace_key") != 1) {
			t.Errorf("a page is not read in the order of the index:\n%s", plan)
		}
	}
}
