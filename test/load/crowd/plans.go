package crowd

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Planned is where most of the issues are.
type Planned struct {
	Project   int64 // has every other issue
	Group     int64 // of that project
	Label     string
	Rare      string // of one in ten thousand
	Milestone string
	Author    int64
}

// Plan fills a database that Settle filled with issues, every other one of them in the first project: two in three are closed, one in ten is
// confidential, each has a label, an author and somebody whom it is given to. Notes are spread evenly over all issues, every other one of them a system
// note; the first issue has LongTalk comments beside.
func Plan(ctx context.Context, url string, issues, notes, projects int) (Planned, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return Planned{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	fill := func() error {
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{insertLabels, []any{projects}}, {insertMilestones, []any{projects}}, {insertIssues, []any{issues, projects}}, {insertIssueLabels, nil}, {insertAssignees, nil},
			{insertCounters, nil}, {insertNotes, []any{notes, issues}}, {insertTalk, []any{notes, LongTalk}},
			{`update issues set notes_count = $1 where id = 1`, []any{LongTalk}},
		} {
			if _, err := conn.Exec(ctx, step.sql, step.args...); err != nil {
				return fmt.Errorf("%.60s: %w", strings.TrimSpace(step.sql), err)
			}
		}
		return nil
	}
	if err := bare(ctx, conn, []string{"labels", "milestones", "issues", "issue_labels", "issue_assignees", "issue_counters", "notes"}, fill); err != nil {
		return Planned{}, err
	}
	if err := run(ctx, conn, `update projects set archived = false where id = 1`, `vacuum (freeze, analyze) labels, milestones, issues, issue_labels, issue_assignees, issue_counters, notes`); err != nil {
		return Planned{}, err
	}
	return FindPlanned(ctx, url)
}

// FindPlanned says where most of the issues are in a database that Plan filled.
func FindPlanned(ctx context.Context, url string) (Planned, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return Planned{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	p := Planned{Project: 1, Label: "label 3", Rare: "rare", Milestone: "milestone 1"}
	err = conn.QueryRow(ctx, `select (select namespace_id from projects where id = 1), (select author_id from issues where project_id = 1 order by id limit 1)`).Scan(&p.Group, &p.Author)
	return p, err
}

// LongTalk is how many comments the first issue has.
const LongTalk = 2000

const (
	insertLabels = `
insert into labels (id, project_id, name, color, created_at, updated_at)
select (p - 1) * 10 + n, p, case when n = 10 then 'rare' else 'label ' || n end, '#6699cc', now(), now() from generate_series(1, $1::int) p, generate_series(1, 10) n`
	insertMilestones = `
insert into milestones (id, project_id, iid, title, state, created_at, updated_at)
select p, p, 1, 'milestone 1', 'active', now(), now() from generate_series(1, $1::int) p`
	insertIssues = `
insert into issues (id, project_id, iid, author_id, title, description, type, closed, closed_at, confidential, milestone_id, created_at, updated_at)
select n, p, n, (select min(id) from users) + n % 100, 'The ' || (array['door', 'roof', 'floor', 'wall', 'gate'])[1 + n % 5] || ' of number ' || n,
	'What is to be done about ' || md5(n::text), 'issue', n % 3 > 0, case when n % 3 > 0 then at end, n % 10 = 0, case when n % 50 = 1 then p end, at, at
from (select n, case when n % 2 = 1 then 1 else 1 + (n / 2) % $2::int end as p, timestamptz '2020-01-01' + n * interval '7 seconds' as at from generate_series(1, $1::int) n) i`
	insertIssueLabels = `
insert into issue_labels (issue_id, label_id, project_id, created_at)
select id, (project_id - 1) * 10 + 1 + (id / 2) % 9, project_id, created_at from issues
union all
select id, (project_id - 1) * 10 + 10, project_id, created_at from issues where id % 10000 = 1`
	insertAssignees = `
insert into issue_assignees (issue_id, user_id, project_id, created_at) select id, (select min(id) from users) + id % 97, project_id, created_at from issues`
	insertCounters = `insert into issue_counters (project_id, last) select project_id, max(iid) from issues group by project_id`
	insertNotes    = `
insert into notes (id, issue_id, author_id, discussion_id, first, thread, body, system, created_at, updated_at)
select n, 1 + (n - 1) % $2::int, (select min(id) from users) + n % 100, decode(md5(n::text) || substr(md5((-n)::text), 1, 8), 'hex'), true, false,
	case when n % 2 = 0 then 'changed the description' else 'It is ' || md5(n::text) || ', as was said.' end, n % 2 = 0, at, at
from (select n, timestamptz '2023-01-01' + n * interval '1 second' as at from generate_series(1, $1::int) n) said`
	insertTalk = `
insert into notes (id, issue_id, author_id, discussion_id, first, thread, body, created_at, updated_at)
select $1::int + 1 + n, 1, (select min(id) from users) + n % 100, decode(md5('talk' || n / 4) || '00000000', 'hex'), n % 4 = 0, true,
	'A **comment** about #' || n || ' for @user' || n, at, at
from (select n, timestamptz '2025-01-01' + n * interval '1 minute' as at from generate_series(0, $2::int - 1) n) said`
)
