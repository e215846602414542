package crowd

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// Estate is where to look in a database that Settle filled.
type Estate struct {
	Typical     int64 // a person with some 25 memberships
	Busy        int64 // a person with a hundredth of all projects' number of memberships, 10,000 of a million
	Deep        int64 // a person with one membership, at the top of a tree
	DeepProject int64 // a private project 20 levels below that membership
	DeepPath    string
	BusyProject int64  // one where the busy person has a role
	Middle      int64  // the project in the middle
	Name, Word  string // its name, and a word of it that one in a thousand has
}

// Settle adds projects, a tenth as many groups in trees of 20 levels, and five
// times as many memberships, for a fifth as many people.
//
// A tree has 100 groups: the first 20 stand below each other, the others are
// leaves below those. Seven of ten projects are in groups.
func Settle(ctx context.Context, url string, projects int) (Estate, error) {
	people, groups := projects/5, projects/10
	if err := Fill(ctx, url, people); err != nil {
		return Estate{}, err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return Estate{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	fill := func() error {
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{plainPeople, []any{[]int{people, people - 1, people / 2}}},
			{insertHomes, nil},
			{makeHomes, nil},
			{makeWords, nil},
			{insertGroups, []any{groups}},
			{insertProjects, []any{projects, groups}},
			{insertProjectMembers, []any{people - 2}},
			{insertGroupMembers, []any{people - 2}},
			{insertBusy, []any{people, projects / 100}},
			{insertDeep, []any{people - 1}},
			{insertShares, []any{groups}},
			{insertRoutes, nil},
			{insertProjectRoutes, nil},
		} {
			if _, err := conn.Exec(ctx, step.sql, step.args...); err != nil {
				return fmt.Errorf("%.60s: %w", strings.TrimSpace(step.sql), err)
			}
		}
		return nil
	}
	if err := bare(ctx, conn, []string{"namespaces", "projects", "members", "shares", "routes"}, fill); err != nil {
		return Estate{}, err
	}
	if err := run(ctx, conn, `select setval('namespaces_id_seq', (select max(id) from namespaces))`,
		`vacuum (freeze, analyze) namespaces, projects, members, shares, routes`); err != nil {
		return Estate{}, err
	}
	return postgres.One[Estate](ctx, conn, `
		select $1::bigint / 2 as typical, $1::bigint as busy, $1::bigint - 1 as deep, p.id as deep_project, n.full_path || '/' || p.path as deep_path,
			(select project_id from members where user_id = $1 and project_id is not null order by id limit 1) as busy_project,
			m.id as middle, m.name, split_part(m.name, ' ', 2) as word
		from projects p join namespaces n on n.id = p.namespace_id join projects m on m.id = (select max(id) / 2 from projects)
		where p.visibility = 0 and n.lineage[1] = (select namespace_id from members where user_id = $1 - 1)
		order by cardinality(n.lineage) desc, p.id limit 1`, people)
}

const (
	plainPeople = `update users set state = 'active', kind = 'human', admin = false, auditor = false, external = false where id = any($1)`

	insertHomes = `
insert into namespaces (id, kind, owner_id, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
select namespace_id, 'user', id, array[namespace_id], name, username, name, username, 20, created_at, updated_at
from users where kind = 'human'`

	makeHomes = `create temp table homes as select row_number() over (order by id) - 1 as nr, id from namespaces`
	// makeWords makes 20 words that everyone uses, and 2,000 that few do.
	makeWords = `create temp table words as select row_number() over () - 1 as nr, word from (
	select unnest(string_to_array(
		'service api web tool data core client server mobile docs infra deploy billing search mail report queue proxy agent portal', ' ')) as word
	union all
	select translate(substr(md5(i::text), 1, 7), '0123456789', 'ghijklmnop') from generate_series(1, 2000) i) w`

	// insertGroups makes $1 groups. A third of the trees is private, and so is all in them.
	insertGroups = `
insert into namespaces (id, kind, parent_id, lineage, name, path, full_name, full_path, visibility, created_at, updated_at)
select id, 'group', case when cardinality(line) > 1 then line[cardinality(line) - 1] end, line, 'Group ' || id, 'g' || id,
	'Group ' || array_to_string(line, ' / Group '), 'g' || array_to_string(line, '/g'), open, now(), now()
from (select max(id) as first from namespaces) n, generate_series(0, $1 - 1) i,
	lateral (select first + 1 + i as id, first + 1 + i / 100 * 100 as top, i % 100 as at) g,
	lateral (select case when at < 20 then array(select top + k from generate_series(0, at) k)
		else array(select top + k from generate_series(0, at % 19) k) || id end as line, (array[0, 10, 20])[i / 100 % 3 + 1] as open) l`

	// insertProjects makes $1 projects in the homes of people and in $2 groups.
	insertProjects = `
insert into projects (namespace_id, creator_id, name, path, description, visibility, archived, topics, star_count, last_activity_at, created_at, updated_at)
select n.id, n.owner_id, a.word || ' ' || b.word || ' ' || i, a.word || '-' || b.word || '-' || i, 'The ' || b.word || ' of the ' || a.word || ', part ' || i % 1000,
	least((array[0, 0, 0, 0, 0, 0, 10, 10, 20, 20])[(i * 31) % 10 + 1], n.visibility), i % 50 = 0, case when i % 4 = 0 then array[a.word] else '{}' end,
	i % 7, at + interval '1 day' * (i * 7919 % 300), at, at + interval '1 day' * (i * 6007 % 300)
from generate_series(0, $1::bigint - 1) i
	cross join lateral (select timestamptz '2020-01-01' + interval '2000 days' * i / $1 as at) t
	join words a on a.nr = i * 7907 % 2020 join words b on b.nr = 20 + i * 104723 % 2000
	join homes h on h.nr = i * 104729 % (select count(*) from homes)
	join namespaces n on n.id = case when i % 10 < 7 then (select min(id) from namespaces where kind = 'group') + i * 7919 % $2 else h.id end`

	// Some memberships ended, and some are access requests.
	ended = `case when (s.id + k) % 50 = 0 then date '2020-01-01' end, case when (s.id + k) % 97 = 0 then now() end, now(), now()`

	insertProjectMembers = `
insert into members (project_id, user_id, access_level, expires_at, requested_at, created_at, updated_at)
select s.id, 1 + (s.id * 48271 + k * 37) % $1::bigint, (array[50, 30, 20, 40])[k + 1], ` + ended + `
from projects s, generate_series(0, 3) k`

	insertGroupMembers = `
insert into members (namespace_id, user_id, access_level, expires_at, requested_at, created_at, updated_at)
select s.id, 1 + (s.id * 69621 + k * 41) % $1::bigint, (array[50, 40, 30, 30, 30, 30, 20, 20, 10, 10])[k + 1], ` + ended + `
from namespaces s, generate_series(0, 9) k where s.kind = 'group'`

	// insertBusy gives the person $1 a role in many single projects and many groups, $2 together.
	insertBusy = `
insert into members (project_id, namespace_id, user_id, access_level, created_at, updated_at)
(select id, null::bigint, $1::bigint, 30, now(), now() from projects where id % 7 = 3 order by id * 48271 % 1000003 limit $2 * 9 / 10)
union all
(select null, id, $1, 30, now(), now() from namespaces where kind = 'group' order by id * 48271 % 1000003 limit $2 / 10)`

	insertDeep = `
insert into members (namespace_id, user_id, access_level, created_at, updated_at)
select max(id), $1, 30, now(), now() from namespaces where kind = 'group' and parent_id is null and visibility = 0`

	insertShares = `
insert into shares (group_id, namespace_id, project_id, access_level, created_at)
select first + i * 6007 % $1, first + i * 7919 % $1, null::bigint, 20, now()
from (select min(id) as first from namespaces where kind = 'group') n, generate_series(0, $1::bigint / 20) i where i * 6007 % $1 <> i * 7919 % $1
union all
select first + i * 6007 % $1, null, 1 + i * 10, 20, now()
from (select min(id) as first from namespaces where kind = 'group') n, generate_series(0, $1::bigint / 2) i`

	insertRoutes = `
insert into routes (parent_id, path, namespace_id, created_at) select coalesce(parent_id, 0), lower(path), id, created_at from namespaces`
	insertProjectRoutes = `insert into routes (parent_id, path, project_id, created_at) select namespace_id, lower(path), id, created_at from projects`
)
