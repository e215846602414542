package label

import "stithy/internal/grant"

// columns are those of Label, from a table called l.
const columns = `l.id, l.namespace_id, l.project_id, l.name, l.description, l.color, l.created_at, l.updated_at`

// seenColumns are those of Seen, for the person $1 in the project $2, or null in a group.
const seenColumns = columns + `,
	exists (select 1 from subscriptions s where s.kind = 'label' and s.subject_id = l.id and s.user_id = $1) as subscribed,
	(select p.priority from label_priorities p where p.label_id = l.id and p.project_id = $2) as priority`

// within is the condition that a label belongs to one of some owners: the project $3, or the groups $4.
const within = `(l.project_id = $3 or l.namespace_id = any($4::bigint[]))`

// planned is whether a project called p has something that labels sort, and open whether others than its members use it.
const (
	planned = `(coalesce(p.features->>'issues', '') <> 'disabled' or coalesce(p.features->>'merge_requests', '') <> 'disabled')`
	open    = `(coalesce(p.features->>'issues', 'enabled') = 'enabled' or coalesce(p.features->>'merge_requests', 'enabled') = 'enabled')`
)

// maxBelow is how many groups and projects below a group a list of its labels holds those of.
const maxBelow = `100000`

const (
	sqlByID = `select ` + seenColumns + ` from labels l where l.id = $5 and ` + within
	// What is nearest is meant: the project's own, then that of the group closest to it.
	sqlByName = `select ` + seenColumns + ` from labels l where l.name = $5 and ` + within + `
order by l.project_id nulls last, array_position($4::bigint[], l.namespace_id) desc limit 1`
	sqlNamed = `
select distinct on (l.name) ` + columns + ` from labels l where l.name = any($1::text[]) and (l.project_id = $2 or l.namespace_id = any($3::bigint[]))
order by l.name, l.project_id nulls last, array_position($3::bigint[], l.namespace_id) desc`
	sqlReferred = `
select ` + columns + ` from labels l where (l.name = any($1::text[]) or l.id = any($4::bigint[])) and (l.project_id = $2 or l.namespace_id = any($3::bigint[]))
order by l.project_id nulls last, array_position($3::bigint[], l.namespace_id) desc, l.id limit 5000`
	sqlAmong = `select ` + columns + ` from labels l where l.id = any($1::bigint[])`
	sqlLock  = `select ` + columns + ` from labels l where l.id = $1 for update`
	sqlHold  = `select id from labels where id = $1 for key share`

	// Whether a name is taken in the owner given by its two keys, or above it.
	sqlTaken = `select exists (select 1 from labels l where l.name = $1 and l.id <> $4 and (l.project_id = $2 or l.namespace_id = any($3::bigint[])))`

	sqlInsert = `
insert into labels as l (namespace_id, project_id, name, description, color, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $6)
returning ` + columns
	sqlUpdate = `update labels set name = $2, description = $3, color = $4, updated_at = $5 where id = $1`
	sqlDelete = `delete from labels where id = any($1::bigint[])`

	sqlSetPriority = `
insert into label_priorities (label_id, project_id, priority) values ($1, $2, $3)
on conflict (label_id, project_id) do update set priority = excluded.priority`
	sqlUnsetPriority = `delete from label_priorities where label_id = $1 and project_id = $2`

	// The label of a name that a group itself has.
	sqlOfGroup = `select ` + columns + ` from labels l where l.namespace_id = $1 and l.name = $2 for update`
	// The labels of a name below a group, by one entry of an index for each group and project there.
	sqlBelow = `
select l.id from labels l where l.id in (
	select l.id from namespaces n join labels l on l.namespace_id = n.id and l.name = $2 where n.lineage @> array[$1::bigint] and n.id <> $1
	union all
	select l.id from namespaces n join projects p on p.namespace_id = n.id join labels l on l.project_id = p.id and l.name = $2
	where n.lineage @> array[$1::bigint])
order by l.id for update`
	// A project's priority of its own label counts before that of a label above it.
	sqlMergePriorities = `
insert into label_priorities (label_id, project_id, priority)
select distinct on (p.project_id) $2, p.project_id, p.priority from label_priorities p join labels l on l.id = p.label_id
where p.label_id = any($1::bigint[]) order by p.project_id, l.project_id nulls last, p.priority
on conflict do nothing`

	// What is below the group $3 and has labels that the person $1 may see on the day $2: all of it with $4, else what is as open
	// as $5 or where they have a role.
	sqlGroupsBelow = `
select n.id from namespaces n
where n.lineage @> array[$3::bigint] and n.id <> $3 and not n.removal and ($4 or n.visibility >= $5 or ` + grant.NamespaceRole + ` >= 10)
order by n.id limit ` + maxBelow
	sqlProjectsBelow = `
select p.id from projects p join namespaces n on n.id = p.namespace_id
where p.namespace_id = any(array(select id from namespaces where lineage @> array[$3::bigint] and ($6 or id = $3))) and not p.removal and ` + planned + `
	and ($4 or (p.visibility >= $5 and ` + open + `) or ` + grant.ProjectRole + ` >= 10)
order by p.id limit ` + maxBelow
)
