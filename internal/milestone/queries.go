package milestone

// columns are those of Milestone, from a table called m.
const columns = `m.id, m.namespace_id, m.project_id, m.iid, m.title, m.description, m.state, m.start_date, m.due_date, m.created_at, m.updated_at`

// ofOwner is the condition that a row belongs to an owner, given by its two keys, one of which is null.
const ofOwner = `(m.namespace_id = $1 or m.project_id = $2)`

const (
	sqlAmong    = `select ` + columns + ` from milestones m where m.id = any($1::bigint[])`
	sqlReferred = `
select ` + columns + ` from milestones m
where (m.project_id = $2 and (m.title = any($1::text[]) or m.iid = any($4::bigint[]))) or (m.namespace_id = any($3::bigint[]) and m.title = any($1::text[]))
order by m.project_id nulls last, array_position($3::bigint[], m.namespace_id) desc, m.id limit 5000`
	sqlTitle   = `select title from milestones where id = $1`
	sqlFindFor = `select ` + columns + ` from milestones m where m.id = $3 and (m.project_id = $1 or m.namespace_id = any($2::bigint[]))`
	// A transfer may bring two of one title together: the nearer one is meant.
	sqlFindTitled = `
select ` + columns + ` from milestones m where m.title = $3 and (m.project_id = $1 or m.namespace_id = any($2::bigint[]))
order by m.project_id nulls last, array_position($2::bigint[], m.namespace_id) desc limit 1`
	sqlFind = `select ` + columns + ` from milestones m where m.id = $3 and ` + ofOwner
	sqlLock = `select ` + columns + ` from milestones m where m.id = $1 for update`

	// Whether a title is given in a project, or in groups: others than to the milestone $4.
	sqlTaken = `select exists (select 1 from milestones m where m.title = $1 and m.id <> $4 and (m.project_id = $2 or m.namespace_id = any($3::bigint[])))`
	// The milestones of a title below a group, by one entry of an index for each group and project there.
	sqlBelow = `
select m.id from namespaces n join milestones m on m.namespace_id = n.id and m.title = $2 where n.lineage @> array[$1::bigint] and n.id <> $1
union all
select m.id from namespaces n join projects p on p.namespace_id = n.id join milestones m on m.project_id = p.id and m.title = $2
where n.lineage @> array[$1::bigint]
order by id`
	sqlOfGroup = `select ` + columns + ` from milestones m where m.namespace_id = $1 and m.title = $2 for update`

	sqlNextOfGroup = `
insert into milestone_counters (namespace_id, last) values ($1, 1)
on conflict (namespace_id) where namespace_id is not null do update set last = milestone_counters.last + 1 returning last`
	sqlNextOfProject = `
insert into milestone_counters (project_id, last) values ($1, 1)
on conflict (project_id) where project_id is not null do update set last = milestone_counters.last + 1 returning last`

	sqlInsert = `
insert into milestones as m (namespace_id, project_id, iid, title, description, state, start_date, due_date, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) returning ` + columns
	sqlUpdate = `
update milestones set title = $2, description = $3, state = $4, start_date = $5, due_date = $6, updated_at = $7 where id = $1`
	sqlDelete = `delete from milestones where id = any($1::bigint[])`

	sqlPaths = `select id, full_path from namespaces where id = any($1::bigint[])`
)
