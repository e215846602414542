package project

import "stithy/internal/grant"

// Columns are those of Project but for the role, from projects p joined to
// namespaces n.
const Columns = `p.id, p.namespace_id, p.creator_id, p.name, p.path, p.description, p.visibility, p.archived, p.default_branch, p.topics,
	p.avatar, p.features::text as features, p.settings::text as settings, p.storage, p.star_count, p.forks_count, p.forked_from_id,
	p.import_status, p.import_error, p.last_activity_at, p.created_at, p.updated_at,
	n.kind as namespace_kind, n.name as namespace_name, n.path as namespace_path, n.full_name as namespace_full_name,
	n.full_path as namespace_full_path, n.parent_id as namespace_parent_id, n.owner_id as namespace_owner_id,
	n.visibility as namespace_visibility, n.avatar as namespace_avatar`

// withRole are those of Project for the person $1 on the day $2.
const withRole = Columns + `, ` + grant.ProjectRole + ` as role`

// groupColumns are those of relative, from namespaces n, for the person $1 on
// the day $2.
const groupColumns = `n.id, n.name, n.full_name, n.full_path, n.avatar, n.visibility, n.lineage, ` + grant.NamespaceRole + ` as role, ` +
	grant.SeesBelow + ` as sees_below`

// ReadsJobs is whether somebody reads the jobs of a project called p in a
// namespace called n: what access.Holds says of ReadJobs, for lists that are
// filtered before they are counted. Its arguments $1 to $4 are JobsReader.
const ReadsJobs = `(not p.removal and coalesce(p.features->>'repository', '') <> 'disabled' and coalesce(p.features->>'builds', '') <> 'disabled'
	and ($4::boolean
		or (p.visibility >= $3::smallint and coalesce(p.features->>'repository', '') <> 'private' and coalesce(p.features->>'builds', '') <> 'private'
			and coalesce((p.settings->>'public_jobs')::boolean, true))
		or ` + grant.ProjectRole + ` >= case when coalesce((p.settings->>'public_jobs')::boolean, true) then 10 else 20 end))`

const (
	sqlByID  = `select ` + withRole + ` from projects p join namespaces n on n.id = p.namespace_id where p.id = $3 and not p.removal`
	sqlAmong = `select ` + withRole + ` from projects p join namespaces n on n.id = p.namespace_id
		where p.id = any($3::bigint[]) and not p.removal`
	sqlKnown = `select ` + Columns + `, 0 as role from projects p join namespaces n on n.id = p.namespace_id
		where p.id = $1 and not p.removal`
	sqlNotePush = `update projects set last_activity_at = greatest(last_activity_at, $2), default_branch = coalesce(nullif($3, ''), default_branch)
		where id = $1`
	sqlImportBegins = `update projects set import_status = 'started' where id = $1 and import_status = 'scheduled'`
	sqlImportFailed = `update projects set import_status = 'failed', import_error = $2 where id = $1`

	sqlImported       = `update projects set import_status = 'finished' where id = $1`
	sqlSourceOpenness = `select visibility from projects where id = $1 and not removal`
	sqlNamespaceOf    = `select namespace_id from projects where id = $1 and not removal`
	sqlPersonal       = `select id from namespaces where owner_id = $1 and not removal`

	// What counts against a limit is counted by one at a time.
	sqlLockCount = `select pg_advisory_xact_lock(7402, hashint8($1))`
	sqlCountIn   = `select count(*) from projects where namespace_id = $1 and not removal`
	sqlNameTaken = `select exists (select 1 from projects where namespace_id = $1 and name = $2 and id <> $3)`

	sqlInsert = `
insert into projects (namespace_id, creator_id, name, path, description, visibility, default_branch, topics, features, settings,
	forked_from_id, import_status, last_activity_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $13) returning id`
	sqlUpdate = `
update projects set namespace_id = $2, name = $3, path = $4, description = $5, visibility = $6, default_branch = $7, topics = $8,
	features = $9, settings = $10, updated_at = $11
where id = $1`
	sqlSetArchived = `update projects set archived = $2, updated_at = $3 where id = $1`

	sqlSetSource = `update projects set forked_from_id = $2, updated_at = $3 where id = $1`
	sqlAddForks  = `update projects set forks_count = greatest(forks_count + $2, 0) where id = $1 and not removal`
	sqlCutForks  = `update projects set forked_from_id = null where forked_from_id = $1 and visibility > $2`
	// sqlDescends is whether the project $1 was forked, over any number of
	// steps, from the project $2. union, not union all, ends a circle.
	sqlDescends = `
with recursive up(id) as (
	select $1::bigint
	union
	select p.forked_from_id from up join projects p on p.id = up.id where p.forked_from_id is not null
)
select exists (select 1 from up where id = $2)`

	sqlLockStars = `select id from projects where id = $1 for no key update`
	sqlStar      = `insert into project_stars (project_id, user_id, created_at) values ($1, $2, $3) on conflict do nothing`
	sqlUnstar    = `delete from project_stars where project_id = $1 and user_id = $2`
	sqlAddStars  = `update projects set star_count = greatest(star_count + $2, 0) where id = $1`

	sqlMark       = `update projects set removal = true, forked_from_id = null, updated_at = $2 where id = $1`
	sqlMarkedLock = `select id from projects where id = $1 and removal for update`
	sqlDelete     = `delete from projects where id = $1`
	sqlIn         = `select id from projects where namespace_id = $1 order by id for update`
	sqlMarkTree   = `update projects set removal = true, forked_from_id = null, updated_at = $2
		where namespace_id = any(array(select id from namespaces where lineage @> array[$1::bigint])) and not removal`
	sqlLowerTree = `update projects set visibility = $2, updated_at = $3
		where namespace_id = any(array(select id from namespaces where lineage @> array[$1::bigint])) and visibility > $2 and not removal`
	sqlCutTree = `update projects f set forked_from_id = null from projects s
		where s.id = f.forked_from_id and f.visibility > s.visibility
			and s.namespace_id = any(array(select id from namespaces where lineage @> array[$1::bigint]))`
	sqlRecountTree = `update projects s set forks_count = (select count(*) from projects f where f.forked_from_id = s.id and not f.removal)
		where s.namespace_id = any(array(select id from namespaces where lineage @> array[$1::bigint])) and s.forks_count > 0 and not s.removal`
	sqlSourcesOfTree = `select distinct forked_from_id from projects
		where namespace_id = any(array(select id from namespaces where lineage @> array[$1::bigint])) and not removal and forked_from_id is not null`
	// sqlRecount sets right what the sources of a marked tree count.
	sqlRecount = `update projects s set forks_count = (select count(*) from projects f where f.forked_from_id = s.id and not f.removal)
		where s.id = any($1::bigint[]) and not s.removal`

	// What the forms of a page of projects show beyond the rows.
	sqlSharesAmong = `
select s.project_id, s.access_level, s.expires_at, ` + groupColumns + `
from shares s join namespaces n on n.id = s.group_id
where s.project_id = any($3::bigint[]) and not n.removal and (s.expires_at is null or s.expires_at > $2::date)
order by s.project_id, s.id limit 1000`
	sqlAccessAmong = `
select p.id,
	(select m.access_level from members m where m.user_id = $1 and m.project_id = p.id and m.requested_at is null
		and (m.expires_at is null or m.expires_at > $2::date)) as direct,
	(select max(m.access_level) from members m where m.user_id = $1 and m.namespace_id = any(n.lineage) and m.requested_at is null
		and (m.expires_at is null or m.expires_at > $2::date)) as through_group
from projects p join namespaces n on n.id = p.namespace_id where p.id = any($3::bigint[])`

	// sqlRelatives are the groups above a project.
	sqlRelatives = `
select ` + groupColumns + ` from namespaces n
where n.id = any((select a.lineage from namespaces a join projects p on p.namespace_id = a.id where p.id = $3)::bigint[])
	and n.kind = 'group' and not n.removal
order by n.full_path, n.id limit 1000`
	// sqlInvited are the groups that a project is shared with, or with $5 also
	// into a group above it.
	sqlInvited = `
select ` + groupColumns + ` from namespaces n
where n.id in (select s.group_id from shares s
		where (s.project_id = $3 or ($5::boolean and s.namespace_id = any((select a.lineage from namespaces a join projects p on p.namespace_id = a.id where p.id = $3)::bigint[])))
			and s.access_level >= $4 and (s.expires_at is null or s.expires_at > $2::date))
	and not n.removal
order by n.full_path, n.id limit 1000`
)

// tied are the projects of a set, their sources, and those of their forks that
// are more open than $2.
const tied = ` from projects where not removal and id = any(array(
	select id from own
	union select forked_from_id from own
	union select f.id from projects f where f.forked_from_id = any(array(select id from own)) and f.visibility > $2
)) order by id`

const (
	sqlTied     = `with own as (select id, forked_from_id from projects where id = any($1::bigint[])) select id` + tied
	sqlTiedTree = `with own as (select id, forked_from_id from projects
		where namespace_id = any(array(select id from namespaces where lineage @> array[$1::bigint])) and not removal) select id` + tied
	sqlLockTied     = sqlTied + ` for no key update`
	sqlLockTiedTree = sqlTiedTree + ` for no key update`

	// sqlCutMarked cuts forks from what is about to be deleted.
	sqlLockForks = `select id from projects where forked_from_id = any($1::bigint[]) order by id for no key update`
	sqlCutMarked = `update projects set forked_from_id = null where forked_from_id = any($1::bigint[])`
	sqlStanding  = `select id from projects where namespace_id = $1 order by id`
)

// fromTargets are the groups where the person $1 may create projects, or all of
// them with $4; not the one $5, and only those that match $6 unless it is
// empty. $3 is Developer.
const fromTargets = ` from namespaces n
where n.kind = 'group' and not n.removal and n.id <> $5 and ($6::text = '' or n.name ilike $6 or n.path ilike $6)
	and ($4::boolean or (n.id = any(array(` + grant.Namespaces + `)) and ` + grant.NamespaceRole + ` >=
		case n.settings->>'project_creation_level' when 'noone' then 60 when 'maintainer' then 40 else 30 end))`

const (
	sqlTargets      = `select ` + groupColumns + fromTargets + ` order by n.name, n.id limit $7 offset $8`
	sqlCountTargets = `select count(*) from (select 1` + fromTargets + ` limit $7) bounded`
)

const (
	sqlAttributes = `
select a.project_id as owner_id, a.key, a.value, a.updated_at from project_custom_attributes a
where a.project_id = any($1::bigint[]) order by a.project_id, a.key limit $2`
	sqlAttribute = `
select a.project_id as owner_id, a.key, a.value, a.updated_at from project_custom_attributes a where a.project_id = $1 and a.key = $2`
	sqlOtherAttributes = `select count(*) from project_custom_attributes where project_id = $1 and key <> $2`
	sqlPutAttribute    = `
insert into project_custom_attributes (project_id, key, value, created_at, updated_at) values ($1, $2, $3, $4, $4)
on conflict (project_id, key) do update set value = excluded.value, updated_at = excluded.updated_at`
	sqlDeleteAttribute = `delete from project_custom_attributes where project_id = $1 and key = $2`
)
