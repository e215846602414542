package lfs

const (
	sqlHas = `select o.oid, o.size from lfs_project_objects p join lfs_objects o on o.oid = p.oid where p.project_id = $1 and p.oid = any($2)`

	sqlHasAny = `select exists (select 1 from lfs_project_objects where project_id = $1)`

	// The intent to store bytes, whose size nobody knows yet. What no project
	// has is kept for a while from now on, so that nobody takes it away before
	// it is linked.
	sqlExpect = `
insert into lfs_objects as o (oid, size, created_at, left_at) values ($1, 0, $2, $2)
on conflict (oid) do update set left_at = case when o.left_at is null then null else excluded.left_at end
returning o.removing`

	// The bytes came.
	sqlProved = `update lfs_objects set size = $2, left_at = case when removing then left_at end where oid = $1 and (left_at is not null or size <> $2)`
	sqlLink   = `insert into lfs_project_objects (project_id, oid, created_at) values ($1, $2, $3) on conflict do nothing`

	sqlLinkAll = `
insert into lfs_project_objects (project_id, oid, created_at)
select $2, oid, $3 from lfs_project_objects where project_id = $1 on conflict do nothing`

	// What a project that goes leaves to nobody else.
	sqlLeave = `
update lfs_objects o set left_at = $2
from lfs_project_objects p
where p.project_id = $1 and o.oid = p.oid
	and not exists (select 1 from lfs_project_objects other where other.oid = p.oid and other.project_id <> $1)`

	// Some of what nobody has had for long enough, and what an earlier run did
	// not finish.
	sqlCondemn = `
update lfs_objects set removing = true where oid in (
	select o.oid from lfs_objects o
	where o.left_at < $1 and not exists (select 1 from lfs_project_objects p where p.oid = o.oid)
	order by o.left_at, o.oid limit $2 for update)
returning oid, size`
	sqlForget = `delete from lfs_objects where oid = $1 and removing`

	lockColumns = `l.id, l.user_id, u.name as owner_name, l.path, l.created_at`

	sqlLock = `
with l as (insert into lfs_locks (project_id, user_id, path, created_at) values ($1, $2, $3, $4) on conflict do nothing returning *)
select ` + lockColumns + ` from l join users u on u.id = l.user_id`
	sqlLockAt = `select ` + lockColumns + ` from lfs_locks l join users u on u.id = l.user_id where l.project_id = $1 and l.path = $2`
	sqlLocks  = `select ` + lockColumns + ` from lfs_locks l join users u on u.id = l.user_id
where l.project_id = $1 and l.id > $2 and ($3 = '' or l.path = $3) order by l.id limit $4`
	sqlFindLock = `select ` + lockColumns + ` from lfs_locks l join users u on u.id = l.user_id where l.project_id = $1 and l.id = $2 for update of l`
	sqlUnlock   = `delete from lfs_locks where project_id = $1 and id = $2`
)
