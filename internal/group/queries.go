package group

import "stithy/internal/grant"

// Columns are those of Group but for the role, from a table called n.
const Columns = `n.id, n.kind, n.parent_id, n.owner_id, n.lineage, n.name, n.path, n.full_name, n.full_path, n.description,
	n.visibility, n.avatar, n.settings::text as settings, n.created_at, n.updated_at`

// withRole are those of Group for the person $1 on the day $2.
const withRole = Columns + `, ` + grant.NamespaceRole + ` as role`

// sqlRoots lists the tops of the trees that the namespaces $1 stand in, in the
// order in which they are locked.
const sqlRoots = `select lineage[1] as root from namespaces where id = any($1::bigint[]) group by 1 order by hashint8(lineage[1])`

const (
	sqlByID      = `select ` + withRole + ` from namespaces n where n.id = $3 and not n.removal`
	sqlInTree    = `select ` + Columns + `, 0 as role from namespaces n where n.id = $1 and not n.removal`
	sqlLock      = sqlInTree + ` for no key update`
	sqlSeesBelow = `select ` + grant.SeesBelow + ` from namespaces n where n.id = $3`
	sqlAmong     = `select ` + withRole + ` from namespaces n where n.id = any($3::bigint[]) and n.kind = 'group' and not n.removal`
	sqlWaysAmong = `select n.id from namespaces n where n.id = any($3::bigint[]) and not n.removal and ` + grant.SeesBelow
	sqlRoles     = `select n.id, ` + grant.NamespaceRole + ` as role from namespaces n where n.id = any($3::bigint[])`

	// sqlWalk follows a path segment by segment, former ones too, each by one
	// entry of the primary key.
	sqlWalk = `
with recursive walk(depth, namespace_id, project_id, former) as (
	select 0, 0::bigint, null::bigint, false
	union all
	select w.depth + 1, r.namespace_id, r.project_id, w.former or r.former
	from walk w join routes r on r.parent_id = w.namespace_id and r.path = ($1::text[])[w.depth + 1]
)
select namespace_id, project_id, former from walk where depth = cardinality($1::text[]) and depth > 0`

	// The tree of a top-level namespace changes its shape under one lock;
	// what is only added to it shares that lock.
	sqlLockTrees  = `select root from (select root, pg_advisory_xact_lock(7401, hashint8(root)) from (` + sqlRoots + `) r) l`
	sqlShareTrees = `select root from (select root, pg_advisory_xact_lock_shared(7401, hashint8(root)) from (` + sqlRoots + `) r) l`

	sqlInsert = `
insert into namespaces (id, kind, parent_id, owner_id, lineage, name, path, full_name, full_path, description, visibility, settings, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)`
	sqlNextID = `select nextval('namespaces_id_seq')`
	sqlUpdate = `update namespaces set description = $2, visibility = $3, settings = $4, updated_at = $5 where id = $1`

	sqlReplant = `update namespaces set parent_id = $2, name = $3, path = $4, updated_at = $5 where id = $1`

	// sqlRewrite gives a group and all below it their new line of ancestors.
	sqlRewrite = `
update namespaces d set
	lineage = $2::bigint[] || d.lineage[$3:],
	full_name = $4 || substr(d.full_name, $5),
	full_path = $6 || substr(d.full_path, $7)
where d.lineage @> array[$1::bigint]`
	sqlDeepest = `select max(cardinality(lineage)) from namespaces where lineage @> array[$1::bigint]`

	sqlLower = `update namespaces set visibility = $2 where lineage @> array[$1::bigint] and visibility > $2`

	sqlRoute       = `select namespace_id, former, left_by, created_at from routes where parent_id = $1 and path = lower($2) for update nowait`
	sqlPutRoute    = `insert into routes (parent_id, path, namespace_id, project_id, created_at) values ($1, lower($2), $3, $4, $5)`
	sqlDropRoute   = `delete from routes where parent_id = $1 and path = lower($2) and former`
	sqlRetireRoute = `update routes set former = true, created_at = $3 where not former and (namespace_id = $1 or project_id = $2)`

	sqlTaken = `select path from routes where parent_id = $1 and path = any($2::text[]) and not former`

	sqlMarkTree     = `update namespaces set removal = true, updated_at = $2 where lineage @> array[$1::bigint]`
	sqlTree         = `select id from namespaces where lineage @> array[$1::bigint] and removal order by cardinality(lineage) desc, id`
	sqlOwnNamespace = `select id from namespaces where owner_id = $1`
	sqlDelete       = `delete from namespaces where id = $1`

	// Paths at the top outlive what stood there, to rest; those below go.
	sqlLeavePaths = `
update routes set namespace_id = null, former = true, left_by = (select id from users where id = $2), created_at = case when former then created_at else $3 end
where parent_id = 0 and namespace_id = $1`
	sqlDropBelow    = `delete from routes where parent_id = $1`
	sqlForgetRested = `delete from routes where former and namespace_id is null and project_id is null and created_at < $1`

	sqlAddOwner = `insert into members (namespace_id, user_id, access_level, created_by_id, created_at, updated_at) values ($1, $2, 50, $2, $3, $3)`

	// sqlKeepOwner gives a group that left its parents an owner, unless it has
	// one of its own.
	sqlKeepOwner = `
insert into members (namespace_id, user_id, access_level, created_by_id, created_at, updated_at)
select $1, $2, 50, $2, $3, $3
where not exists (select 1 from members where namespace_id = $1 and access_level = 50 and requested_at is null and user_id is not null
	and (expires_at is null or expires_at > $3::timestamptz::date))
on conflict (namespace_id, user_id) do update set access_level = 50, requested_at = null, expires_at = null, updated_at = excluded.updated_at`

	sqlSolelyOwned = `
select m.namespace_id from members m
where m.user_id = $1 and m.access_level = 50 and m.namespace_id is not null and m.requested_at is null
	and (m.expires_at is null or m.expires_at > $2::date)
	and exists (select 1 from namespaces n where n.id = m.namespace_id and not n.removal)
	and not exists (select 1 from namespaces n join members o on o.namespace_id = any(n.lineage)
			join users u on u.id = o.user_id and u.kind = 'human'
		where n.id = m.namespace_id and o.user_id <> $1 and o.access_level = 50 and o.requested_at is null
			and (o.expires_at is null or o.expires_at > $2::date))
order by m.namespace_id`

	sqlShares = `
select s.group_id, n.name, n.full_path, n.visibility, s.access_level, s.expires_at, ` + grant.NamespaceRole + ` as role
from shares s join namespaces n on n.id = s.group_id
where s.namespace_id = $3 and not n.removal and (s.expires_at is null or s.expires_at > $2::date)
order by s.id limit $4`

	sqlCountMembers = `
select n.id, (select count(distinct m.user_id) from namespaces d join members m on m.namespace_id = d.id
	where d.lineage @> array[n.id] and m.requested_at is null and (m.expires_at is null or m.expires_at > $2::date)) as members
from namespaces n where n.id = any($1::bigint[])`

	sqlAttributes = `
select a.namespace_id as owner_id, a.key, a.value, a.updated_at from namespace_custom_attributes a
where a.namespace_id = any($1::bigint[]) order by a.namespace_id, a.key limit $2`
	sqlAttribute = `
select a.namespace_id as owner_id, a.key, a.value, a.updated_at from namespace_custom_attributes a where a.namespace_id = $1 and a.key = $2`
	sqlOtherAttributes = `select count(*) from namespace_custom_attributes where namespace_id = $1 and key <> $2`
	sqlPutAttribute    = `
insert into namespace_custom_attributes (namespace_id, key, value, created_at, updated_at) values ($1, $2, $3, $4, $4)
on conflict (namespace_id, key) do update set value = excluded.value, updated_at = excluded.updated_at`
	sqlDeleteAttribute = `delete from namespace_custom_attributes where namespace_id = $1 and key = $2`
)
