package issue

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/project"
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
		`insert into users (id, username, name, email, projects_limit, created_at, updated_at)
			select n, 'u' || n, 'u', 'u' || n || '@example.com', 10, now(), now() from generate_series(1, 2000) n`,
		`insert into milestones (id, project_id, iid, title, state, created_at, updated_at)
			select n, 1 + n % 1000, n, 'm' || n, 'active', now(), now() from generate_series(1, 3000) n`,
		`insert into labels (id, project_id, name, color, created_at, updated_at)
			select n, 1 + n % 1000, 'l' || n, '#aabbcc', now(), now() from generate_series(1, 5000) n`,
		`insert into issues (id, project_id, iid, author_id, title, type, closed, closed_at, milestone_id, created_at, updated_at)
			select n, 1 + n % 1000, n, 1 + n % 2000, 'title ' || n, 'issue', n % 3 > 0, case when n % 3 > 0 then now() end, 1 + n % 3000,
			timestamptz '2024-01-01' + n * interval '1 minute', timestamptz '2024-01-01' + n * interval '1 minute' from generate_series(1, 60000) n`,
		`insert into issue_labels (issue_id, label_id) select n, 1 + n % 5000 from generate_series(1, 60000) n`,
		`insert into issue_assignees (issue_id, user_id) select n, 1 + n % 1999 from generate_series(1, 60000) n`,
		`analyze`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	now, title := time.Now(), "m7"
	reader := &readers{least: access.Public, guest: project.Standing{Namespaces: []int64{1000002}, Projects: []int64{3}}, reports: project.Standing{Namespaces: []int64{}, Projects: []int64{3}}}
	someone := access.Actor{Person: &access.Person{ID: 7}}
	for where, place := range map[string]listing{
		"a project": {project: &project.Project{ID: 7, Visibility: access.Public}}, "many": {projects: []int64{7, 8, 9}, full: []bool{true, false, false}}, "all": {all: reader},
	} {
		for what, f := range map[string]Filter{
			"a page": {}, "open ones": {Closed: new(bool)}, "by author": {Match: Match{AuthorIDs: []int64{7}}}, "by assignee": {Match: Match{AssigneeIDs: []int64{7}}},
			"by label": {}, "by milestone": {Match: Match{MilestoneID: 7}}, "by title of milestone": {Match: Match{Milestone: &title}}, "by number": {Match: Match{IIDs: []int{6}}},
			"changed": {UpdatedAfter: &now}, "a search": {Search: "title 77"},
		} {
			if where == "all" && (what == "by number" || what == "by title of milestone" || what == "by label") {
				continue // asks for what hardly any issue has, everywhere
			}
			l := place
			l.Filter, l.by, l.today = f, someone, now
			if what == "by title of milestone" {
				l.goals = []int64{7}
			}
			if what == "by label" {
				l.Labels, l.labels = []string{"l7"}, [][]int64{{7}}
			}
			for _, order := range []string{"created_at", "updated_at"} {
				req := paging.Request{Page: 1, PerPage: 20, OrderBy: order, Desc: true}
				for name, q := range map[string]func() (string, []any){
					"the page": l.page(req).Limit(21).SQL, "the count": func() (string, []any) { return l.found(req, 10_001).CountSQL(10_001) },
				} {
					sql, args := q()
					lines, err := explain(t, db, sql, args)
					if err != nil {
						t.Fatalf("%s of %s in %s: %v\n%s", name, what, where, err, sql)
					}
					plan := strings.Join(lines, "\n")
					if counted := name == "the count" && where == "all"; strings.Contains(plan, "Seq Scan on issues") && !counted {
						t.Errorf("%s of %s in %s reads all issues:\n%s", name, what, where, plan)
					}
				}
			}
		}
	}
	for _, sql := range []string{
		`insert into issues (id, project_id, iid, author_id, title, type, closed, closed_at, relative_position, created_at, updated_at)
			select n, 5, n, 1 + n % 2000, 'title ' || n, 'issue', n % 2 > 0, case when n % 2 > 0 then now() end, n * 512, now(), now() from generate_series(100001, 130000) n`,
		`analyze issues`,
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for index, f := range map[string]Filter{
		"issues_open_position":   {Closed: new(bool), Unmarked: Marks{LabelIDs: []int64{7, 8}, AssigneeIDs: []int64{7}, MilestoneIDs: []int64{7}}},
		"issues_closed_position": {Closed: new(true)},
	} {
		l := listing{Filter: f, by: someone, today: now, project: &project.Project{ID: 5, Visibility: access.Public}}
		sql, args := l.page(paging.Request{Page: 1, PerPage: 20, OrderBy: "relative_position"}).Limit(21).SQL()
		lines, err := explain(t, db, sql, args)
		if plan := strings.Join(lines, "\n"); err != nil || !strings.Contains(plan, "Index Scan using "+index) {
			t.Errorf("a list of a board is not read in the order of %s: %v\n%s", index, err, plan)
		}
	}
}

func explain(t testing.TB, db *postgres.DB, sql string, args []any) ([]string, error) {
	t.Helper()
	return postgres.Values[string](t.Context(), db, "explain "+sql, args...)
}

func TestDurationsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"1h": 3600, "1h 30m": 5400, "1h30m": 5400, "2": 7200, "0": 0, "1mo": 576000, "1w": 144000, "1d": 28800, "45s": 45, "-1h": -3600, "1.5h": 5400, "2 hours": 7200, " 3d ": 86400,
	} {
		if got, ok := ParseDuration(text); !ok || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-", "h", "1x", "1h 2", "1h soon", "99999999999999h", "1..5h", strings.Repeat("1h", 60)} {
		if got, ok := ParseDuration(text); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.IntRange(-1<<30, 1<<30).Draw(t, "seconds")
		for _, hours := range []bool{false, true} {
			text := FormatDuration(seconds, hours)
			if got, ok := ParseDuration(text); (text != "" || seconds != 0) && (!ok || got != seconds) {
				t.Fatalf("%d is written %q and read as %d", seconds, text, got)
			}
		}
	})
	if got := FormatDuration(3600*20, true); got != "20h" {
		t.Errorf("in hours it is %q", got)
	}
}

func TestCheckBoxesOfADescriptionAreCounted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		"": {}, "- [ ] a": {1, 0}, "- [x] a\n* [X] b\n+ [ ] c\n1. [x] d\n2) [ ] e": {5, 3}, "  - [ ] deep": {1, 0}, "[ ] no item": {}, "- [y] no box": {}, "-[ ] no space": {},
		"- []": {}, "- [ ]no space": {}, "```\n- [ ] code\n```\n- [x] text": {1, 1}, "~~~~\n- [ ] code\n~~~\n- [ ] code\n~~~~": {}, "````\n```\n- [ ] code\n````\n- [ ] text": {1, 0},
	} {
		if all, done := countTasks(&text); all != want[0] || done != want[1] {
			t.Errorf("%q: got %d of %d", text, done, all)
		}
	}
	if all, _ := countTasks(nil); all != 0 {
		t.Errorf("nothing has %d", all)
	}
}
