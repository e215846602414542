package badge

import (
	"strings"
	"testing"

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
			select 1000000 + n, 'group', array[1000000 + n], 'g' || n, 'g' || n, 'g' || n, 'g' || n, 20, now(), now() from generate_series(1, 100) n`,
		`insert into projects (id, namespace_id, name, path, visibility, last_activity_at, created_at, updated_at)
			select n, 1000001 + n % 100, 'p' || n, 'p' || n, 20, now(), now(), now() from generate_series(1, 1000) n`,
		`insert into badges (project_id, link_url, image_url, created_at, updated_at)
			select 1 + n % 1000, 'https://example.com', 'https://example.com', now(), now() from generate_series(1, 30000) n`,
		`insert into badges (namespace_id, link_url, image_url, created_at, updated_at)
			select 1000001 + n % 100, 'https://example.com', 'https://example.com', now(), now() from generate_series(1, 3000) n`,
		`analyze`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	name, project := "x", bus.Entity{Kind: bus.OfProject, ID: 7}
	page, named := list(project, []int64{1000001, 1000002}, nil, 21).Limit(21), list(project, []int64{1000001}, &name, 21).Limit(21)
	for what, q := range map[string]func() (string, []any){
		"a page": page.SQL, "a name": named.SQL, "a count": func() (string, []any) { return page.CountSQL(10_001) },
		"a lookup": func() (string, []any) { return sqlFind, []any{nil, project.ID, 5} },
	} {
		sql, args := q()
		lines, err := postgres.Values[string](t.Context(), db, "explain "+sql, args...)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan on badges") {
			t.Errorf("%s reads the whole table:\n%s", what, plan)
		}
	}
}
