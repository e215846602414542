package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

// planning are tables that are worth an index: 30,000 projects in 2,000 groups, 60,000 issues, as many labels and milestones of projects, half as many of groups.
// Project 7 stands in group 1000008, has 5,000 labels more than others, and project 5 has 30,000 issues.
var planning = []string{
	`insert into users (id, username, name, email, projects_limit, created_at, updated_at)
		select 1000 + n, 'u' || n, 'u', 'u' || n || '@example.com', 10, now(), now() from generate_series(1, 2000) n`,
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
	`insert into subscriptions select 'label', id, 1001, now() from labels`,
	`insert into milestones (project_id, iid, title, state, due_date, created_at, updated_at)
		select 1 + n % 300, n, 'm ' || n, 'active', date '2024-01-01' + n % 1000, now(), now() from generate_series(1, 60000) n`,
	`insert into milestones (namespace_id, iid, title, state, due_date, created_at, updated_at)
		select 1000001 + n % 150, n, 'm ' || n, 'closed', date '2024-01-01' + n % 1000, now(), now() from generate_series(1, 30000) n`,
	`insert into badges (project_id, link_url, image_url, created_at, updated_at)
		select 1 + n % 1000, 'https://example.com', 'https://example.com', now(), now() from generate_series(1, 30000) n`,
	`insert into badges (namespace_id, link_url, image_url, created_at, updated_at)
		select 1000001 + n % 100, 'https://example.com', 'https://example.com', now(), now() from generate_series(1, 30000) n`,
	`insert into issues (id, project_id, iid, author_id, title, type, closed, closed_at, milestone_id, created_at, updated_at)
		select n, 1 + n % 1000, n, 1001 + n % 2000, 'title ' || n, 'issue', n % 3 > 0, case when n % 3 > 0 then now() end, 1 + n % 60000,
		timestamptz '2024-01-01' + n * interval '1 minute', timestamptz '2024-01-01' + n * interval '1 minute' from generate_series(1, 60000) n`,
	`insert into issues (id, project_id, iid, author_id, title, type, closed, closed_at, relative_position, created_at, updated_at)
		select n, 5, n, 1001 + n % 2000, 'title ' || n, 'issue', n % 2 > 0, case when n % 2 > 0 then now() end, n * 512, now(), now() from generate_series(100001, 130000) n`,
	`insert into issue_labels (issue_id, label_id) select n, 1 + n % 50000 from generate_series(1, 60000) n`,
	`insert into issue_assignees (issue_id, user_id) select n, 1001 + n % 1999 from generate_series(1, 60000) n`,
	`insert into boards (id, project_id, name, created_at, updated_at) values (1, 5, 'b', now(), now())`,
	`analyze`,
}

// maxRead is how many of the ninety thousand rows of a table one request may read: its page, and a total that is counted up to ten thousand, of an owner that has
// thirty thousand.
const maxRead = 35_000

// What a page, a lookup or a change of plans costs does not grow with the tables: PostgreSQL counts what it read for each request.
func TestDO05_NoRequestAboutPlansReadsAWholeTable(t *testing.T) {
	t.Parallel()
	i := newInstanceOn(t, postgrestest.URL(t), 1) // one connection, whose counters are asked for on the same
	for _, sql := range planning {
		if _, err := i.DB.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	secret := i.token(t, i.root, access.ScopeAPI)
	ask := func(method, target string, body any, most int64) {
		t.Helper()
		before := i.rowsRead(t)
		w := i.do(method, "/api/v4"+target, body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) })
		if w.Code >= 500 || (method == http.MethodGet && w.Code != http.StatusOK) {
			t.Errorf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		for table, rows := range i.rowsRead(t) {
			if read := rows - before[table]; read > most {
				t.Errorf("%s %s reads %d rows of %s", method, target, read, table)
			}
		}
	}
	const few = 500 // of a list that is read in the order of an index, without a total
	for _, path := range []string{
		"/labels", "/labels?search=label", "/labels?include_ancestor_groups=false", "/labels?page=10", "/milestones", "/milestones?include_ancestors=true", "/milestones?state=active",
		"/milestones?title=m+7", "/milestones?search=m", "/milestones?iids[]=7&iids[]=8", "/milestones?updated_after=2024-01-01T00:00:00Z", "/badges", "/badges?name=x",
	} {
		ask("GET", "/projects/7"+path, nil, maxRead)
		if !strings.Contains(path, "ancestor") {
			ask("GET", "/groups/1000001"+path, nil, maxRead)
		}
	}
	for _, path := range []string{"/projects/7/labels/label%206", "/groups/1000001/labels/label%20150", "/projects/7/milestones/306", "/projects/7/badges/1006"} {
		ask("GET", path, nil, few)
	}
	ask("POST", "/projects/7/labels", map[string]any{"name": "label 306", "color": "#ffffff"}, few)
	ask("POST", "/projects/7/milestones", map[string]any{"title": "m 306"}, few)
	ask("PUT", "/projects/7/labels/label%20306/promote", nil, maxRead)
	ask("POST", "/projects/7/milestones/306/promote", nil, maxRead)
	filters := []string{
		"", "state=opened", "author_id=1008", "assignee_id=1008", "labels=label+6", "milestone=m+6", "iids[]=6", "updated_after=2024-02-01T00:00:00Z", "search=title+77",
	}
	for _, in := range []string{"/projects/7/issues", "/projects/5/issues", "/groups/1000008/issues", "/issues?scope=all"} {
		for _, filter := range filters {
			if in == "/issues?scope=all" && (strings.HasPrefix(filter, "iids") || strings.HasPrefix(filter, "milestone") || strings.HasPrefix(filter, "labels")) {
				continue // asks for what hardly any issue has, everywhere
			}
			for _, order := range []string{"created_at", "updated_at"} {
				ask("GET", fmt.Sprintf("%s%s%s&order_by=%s", in, map[bool]string{true: "&", false: "?"}[strings.Contains(in, "?")], filter, order), nil, maxRead)
			}
		}
		if in != "/issues?scope=all" {
			ask("GET", in+"?pagination=keyset&order_by=created_at&per_page=20", nil, few)
		}
	}
	ask("GET", "/projects/5/boards/1/lists", nil, few)
}

// rowsRead are the rows that statements of this session have read, by table.
func (i *instance) rowsRead(t *testing.T) map[string]int64 {
	t.Helper()
	if _, err := i.DB.Exec(t.Context(), `select pg_stat_force_next_flush()`); err != nil {
		t.Fatal(err)
	}
	type count struct {
		Name string
		Rows int64
	}
	counts, err := postgres.All[count](t.Context(), i.DB,
		`select relname::text as name, seq_tup_read + coalesce(idx_tup_fetch, 0) as rows from pg_stat_user_tables where schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]int64{}
	for _, c := range counts {
		read[c.Name] = c.Rows
	}
	return read
}
