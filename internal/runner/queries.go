package runner

import "stithy/internal/grant"

// columns are those of row, from a table called r. A project runner carries
// its projects, the owner first; the machine that was seen last speaks for it.
const columns = `r.id, r.runner_type, r.namespace_id, r.creator_id, r.token_expires_at, r.registered, r.description, r.maintenance_note,
	r.name, r.tags, r.run_untagged, r.access_level, r.maximum_timeout, r.paused, r.locked, r.contacted_at, r.created_at,
	array(select p.project_id from runner_projects p where p.runner_id = r.id order by p.id limit 5000) as project_ids`

// projectsServed are the projects of runners.
const projectsServed = `runner_projects rp join projects p on p.id = rp.project_id join namespaces n on n.id = p.namespace_id`

const (
	sqlFind    = `select ` + columns + ` from runners r where r.id = $1`
	sqlFindAll = `select ` + columns + ` from runners r where r.id = any($1)`
	sqlLock    = `select ` + columns + ` from runners r where r.id = $1 for update of r`

	// Who presents a token, and the machine that does.
	sqlBearer = `
select ` + columns + `, coalesce(m.id, 0) as manager_id, coalesce(m.version, '') as version, coalesce(m.revision, '') as revision,
	coalesce(m.platform, '') as platform, coalesce(m.architecture, '') as architecture, coalesce(m.executor, '') as executor,
	coalesce(m.address, '') as address, coalesce(m.contacted_at, r.created_at) as manager_contacted_at,
	coalesce(m.created_at, r.created_at) as manager_created_at
from runners r left join runner_managers m on m.runner_id = r.id and m.system_id = $2
where r.digest = $1 and (r.token_expires_at is null or r.token_expires_at > $3)`

	// A machine that was not seen before. One more than there may be is not
	// remembered by itself.
	sqlMeet = `
insert into runner_managers as m (runner_id, system_id, version, revision, platform, architecture, executor, address, contacted_at, created_at)
select $1::bigint, case when (select count(*) from (select 1 from runner_managers x where x.runner_id = $1 limit $10) n) < $10 then $2::text else $3::text end,
	$4, $5, $6, $7, '', $8, $9, $9
on conflict (runner_id, system_id) do update set contacted_at = excluded.contacted_at
returning m.id`

	sqlSeen = `
update runner_managers m set contacted_at = greatest(m.contacted_at, s.at), version = s.version, revision = s.revision,
	platform = s.platform, architecture = s.architecture, executor = s.executor, address = s.address
from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
	as s (id, at, version, revision, platform, architecture, executor, address)
where m.id = s.id`
	sqlSeenRunners = `
update runners r set contacted_at = greatest(r.contacted_at, s.at), name = coalesce(nullif(s.name, ''), r.name)
from (select id, max(at) as at, max(name) as name from unnest($1::bigint[], $2::timestamptz[], $3::text[]) as u (id, at, name) group by id) s
where r.id = s.id`

	sqlMachine = `
select m.id, m.runner_id, m.system_id, m.version, m.revision, m.platform, m.architecture, m.executor, m.address, m.contacted_at, m.created_at
from runner_managers m where m.runner_id = $1 order by m.contacted_at desc, m.id desc limit 1`
	sqlAddresses = `
select distinct on (m.runner_id) m.runner_id, m.address from runner_managers m where m.runner_id = any($1)
order by m.runner_id, m.contacted_at desc`
	sqlForgetMachine = `delete from runner_managers where runner_id = $1 and system_id = $2`
	sqlForgetOld     = `
delete from runner_managers where id in (select m.id from runner_managers m where m.contacted_at < $1 order by m.contacted_at, m.id limit $2)`

	sqlCreate = `
insert into runners as r (runner_type, namespace_id, creator_id, digest, token_expires_at, registered, description, maintenance_note, name, tags,
	run_untagged, access_level, maximum_timeout, paused, locked, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16)
returning r.id`
	sqlUpdate = `
update runners set description = $2, maintenance_note = $3, tags = $4, run_untagged = $5, access_level = $6, maximum_timeout = $7,
	paused = $8, locked = $9, updated_at = $10
where id = $1`
	sqlDelete     = `delete from runners where id = $1`
	sqlResetToken = `update runners set digest = $2, token_expires_at = $3, updated_at = $4 where id = $1`

	sqlAssign   = `insert into runner_projects (runner_id, project_id, owner, created_at) values ($1, $2, $3, $4)`
	sqlUnassign = `delete from runner_projects where runner_id = $1 and project_id = $2`
	// Runners that serve this project and no other.
	sqlOnlyOf = `
delete from runners r using runner_projects p
where p.project_id = $1 and r.id = p.runner_id and not exists (select 1 from runner_projects o where o.runner_id = r.id and o.project_id <> $1)`

	// How many runners of a place are in use or new.
	sqlRecentOfGroup = `
select count(*) from (select 1 from runners r where r.namespace_id = $1 and greatest(r.created_at, r.contacted_at) > $2 limit $3) n`
	sqlRecentOfProject = `
select count(*) from (select 1 from runner_projects p join runners r on r.id = p.runner_id
where p.project_id = $1 and greatest(r.created_at, r.contacted_at) > $2 limit $3) n`

	sqlRegistration = `
select t.namespace_id, t.project_id from runner_registration_tokens t where t.digest = $1`
	// One for each place: the new one takes the place of the old.
	sqlRenewRegistration = `
update runner_registration_tokens set digest = $3, created_at = $4
where namespace_id is not distinct from $1 and project_id is not distinct from $2`
	sqlNewRegistration = `
insert into runner_registration_tokens (namespace_id, project_id, digest, created_at) values ($1, $2, $3, $4) on conflict do nothing`

	sqlLineage = `select n.lineage from namespaces n where n.id = $1`

	// Whether the person $1 maintains one of the projects of a runner.
	sqlMaintains = `select exists (select 1 from ` + projectsServed + ` where rp.runner_id = $3 and not p.removal and ` + grant.ProjectRole + ` >= 40)`
	// The runners among $3 that the person $1 manages: they maintain the
	// project that it was made for, or every project that it serves.
	sqlManaged = `
select r.id from runners r
where r.id = any($3) and (
	exists (select 1 from ` + projectsServed + ` where rp.runner_id = r.id and rp.owner and not p.removal and ` + grant.ProjectRole + ` >= 40)
	or exists (select 1 from ` + projectsServed + ` where rp.runner_id = r.id and not p.removal and ` + grant.ProjectRole + ` >= 40)
	and not exists (select 1 from ` + projectsServed + ` where rp.runner_id = r.id and not p.removal and ` + grant.ProjectRole + ` < 40))
order by r.id limit 1000`
	// The runners of the groups that a person owns, and of the projects that
	// they maintain.
	sqlOwnedOfGroups = `
select r.id from runners r where r.namespace_id in (` + grant.Namespaces + `) order by r.id limit $4`
	sqlOwnedOfProjects = `
select distinct rp.runner_id from runner_projects rp join projects p on p.id = rp.project_id
where p.namespace_id in (` + grant.Namespaces + `) or p.id in (` + grant.Projects + `) order by rp.runner_id limit $4`

	// The projects of a runner that the person $1 has a role in; all of them
	// where $4 says so.
	sqlProjectsOf = `
select p.id, p.name, n.full_name || ' / ' || p.name as name_with_namespace, p.path, n.full_path || '/' || p.path as path_with_namespace,
	p.created_at
from runner_projects rp join projects p on p.id = rp.project_id join namespaces n on n.id = p.namespace_id
where rp.runner_id = $3 and not p.removal and ($4 or ` + grant.ProjectRole + ` > 0)
order by rp.id limit 100`
	sqlGroupOf = `select n.id, n.name, n.full_path from namespaces n where n.id = $1`

	sqlServing = `
select ` + columns + ` from runners r
where r.runner_type = 'instance_type' or r.namespace_id = any($2)
	or r.id in (select p.runner_id from runner_projects p where p.project_id = $1)
order by (r.runner_type = 'instance_type'), r.id limit $3`
)
