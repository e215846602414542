package member

// columns are those of Member, from a table called m.
const columns = `m.id, m.user_id, m.access_level, m.expires_at, m.requested_at, m.created_by_id, m.created_at, m.updated_at`

// ofSource is the condition that a row called m belongs to a source, given by
// its two keys, one of which is null.
const ofSource = `(m.namespace_id = $1 or m.project_id = $2)`

const (
	sqlLockGroup = `select 1 from namespaces where id = $1 and not removal for no key update`
	sqlLock      = `
select ` + columns + `, u.name as user_name from members m join users u on u.id = m.user_id and u.removal is null
where ` + ofSource + ` and m.user_id = $3 and m.requested_at is null and (m.expires_at is null or m.expires_at > $4::date)
for update of m`
	sqlLockRequest = `
select ` + columns + ` from members m join users u on u.id = m.user_id and u.removal is null
where ` + ofSource + ` and m.user_id = $3 and m.requested_at is not null
for update of m`

	sqlInsert = `
insert into members as m (namespace_id, project_id, user_id, access_level, expires_at, requested_at, created_by_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
returning ` + columns
	sqlUpdate = `
update members m set access_level = $2, expires_at = $3, updated_at = $4 where m.id = $1
returning ` + columns
	sqlDelete = `delete from members where id = $1`

	// What no longer counts, or not yet, makes room for what does.
	sqlMakeRoom = `
delete from members m
where ` + ofSource + ` and m.user_id = $3 and (m.requested_at is not null or m.expires_at <= $4::date)`

	sqlExpiredMember = `
delete from members m
where ` + ofSource + ` and m.user_id = $3 and m.requested_at is null and m.expires_at <= $4::date`

	sqlInherited = `
select m.access_level, a.name from namespaces n
join members m on m.user_id = $1 and m.namespace_id = any(n.lineage)
join namespaces a on a.id = m.namespace_id
where n.id = $2 and m.namespace_id <> $3 and m.access_level > 5 and m.requested_at is null
	and (m.expires_at is null or m.expires_at > $4::date)
order by m.access_level desc, cardinality(a.lineage) desc, m.id
limit 1`

	// Bots come and go with their tokens: they do not keep a group in hand.
	sqlOtherOwner = `
select exists (
	select 1 from namespaces n
	join members m on m.namespace_id = any(n.lineage)
	join users u on u.id = m.user_id and u.removal is null and u.kind = 'human'
	where n.id = $1 and m.id <> $2 and m.access_level = 50 and m.requested_at is null
		and (m.expires_at is null or m.expires_at > $3::date))`

	sqlAbove = `
select coalesce(bool_or((a.settings ->> 'membership_lock')::boolean), false) as membership_lock,
	coalesce(bool_or((a.settings ->> 'share_with_group_lock')::boolean), false) as share_lock,
	coalesce(bool_or((a.settings ->> 'prevent_sharing_groups_outside_hierarchy')::boolean) filter (where a.parent_id is null), false) as closed,
	array_agg(a.id order by cardinality(a.lineage)) as lineage
from namespaces n join namespaces a on a.id = any(n.lineage)
where n.id = $1`

	// What someone holds below a group goes with what they hold in it.
	sqlDeleteInGroups = `
delete from members m using namespaces d
where m.user_id = $1 and d.id = m.namespace_id and d.lineage @> array[$2::bigint] and d.id <> $2
returning 'Group' as kind, d.id, d.full_path as path, d.name, m.user_id, m.access_level, m.requested_at`
	sqlDeleteInProjects = `
delete from members m using projects p, namespaces d
where m.user_id = $1 and p.id = m.project_id and d.id = p.namespace_id and d.lineage @> array[$2::bigint]
returning 'Project' as kind, p.id, d.full_path || '/' || p.path as path, p.name, m.user_id, m.access_level, m.requested_at`
)

// The members of a source. An origin is where a membership comes from: the
// source itself, the groups above it, and the groups that these are shared with
// and those above them. Each origin gives its first members by user id, as many
// as the page may need: nobody who comes before the end of the page can be
// missing, however many origins their memberships have.
//
// $1 is the namespace, $2 the day, $3 the project or null, $4 whether all
// origins count or only the source itself, $5 the least visibility that a group
// must have to count as one it is shared with.
const (
	origins = `
with n as (select id, lineage, owner_id, created_at from namespaces where id = $1),
origins (namespace_id, project_id, cap, own) as (
	select a, null::bigint, 50, a = n.id and $3::bigint is null from n, unnest(n.lineage) a
	union all
	select null, $3, 50, true
	union all
	select a, null, s.access_level, false
	from n join shares s on s.namespace_id = any(n.lineage) join namespaces g on g.id = s.group_id, unnest(g.lineage) a
	where (s.expires_at is null or s.expires_at > $2::date) and g.visibility >= $5
	union all
	select a, null, s.access_level, false
	from shares s join namespaces g on g.id = s.group_id, unnest(g.lineage) a
	where s.project_id = $3 and (s.expires_at is null or s.expires_at > $2::date) and g.visibility >= $5
)
select distinct on (e.user_id) e.id, e.user_id, e.access_level, e.expires_at, e.requested_at, e.created_by_id, e.created_at, e.updated_at
from (
	select r.id, r.user_id, least(r.access_level, d.cap) as access_level, r.expires_at, r.requested_at, r.created_by_id, r.created_at, r.updated_at
	from origins d cross join lateral (`
	throughGroup = `
		(select ` + columns + ` from members m join users u on u.id = m.user_id and u.removal is null
		where m.namespace_id = d.namespace_id and m.requested_at is null and (m.expires_at is null or m.expires_at > $2::date)
			and (m.access_level > 5 or d.own)`
	throughProject = `
		(select ` + columns + ` from members m join users u on u.id = m.user_id and u.removal is null
		where m.project_id = d.project_id and m.requested_at is null and (m.expires_at is null or m.expires_at > $2::date)`
	throughOwner = `
	) r where d.own or $4
	union all
	select 0, n.owner_id, 50, null, null, null, n.created_at, n.created_at from n join users u on u.id = n.owner_id and u.removal is null
	where true`
	asChosen = ` and ($6 = '' or u.username ilike $6 or u.name ilike $6 or (u.public_email <> '' and lower(u.public_email) = lower($7)) or u.id = $8)
			and ($9::bigint[] is null or u.id = any($9)) and u.id <> all($10::bigint[])`
	highestOf = `
) e
order by e.user_id, e.access_level desc, e.id`

	chosen = origins + throughGroup + asChosen + ` order by m.user_id limit $11)
		union all` + throughProject + asChosen + ` order by m.user_id limit $11)` + throughOwner + asChosen + highestOf

	// $6 to $10 choose people, $11 is how many each origin gives.
	sqlList  = chosen + ` limit $12 offset $13`
	sqlCount = `select count(*) from (` + chosen + ` limit $11) bounded`

	// $6 is the person.
	sqlOne = origins + throughGroup + ` and m.user_id = $6)
		union all` + throughProject + ` and m.user_id = $6)` + throughOwner + ` and u.id = $6` + highestOf
)

const (
	sqlInsertInvitation = `
insert into members as m (namespace_id, project_id, invite_email, access_level, expires_at, created_by_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $7)
returning ` + invitationColumns
	sqlLockInvitation = `
select ` + invitationColumns + ` from members m where ` + ofSource + ` and lower(m.invite_email) = lower($3) for update`
	sqlUpdateInvitation = `
update members m set access_level = $2, expires_at = $3, updated_at = $4 where m.id = $1
returning ` + invitationColumns
	sqlExpiredInvitation = `
delete from members m where ` + ofSource + ` and lower(m.invite_email) = lower($3) and m.expires_at <= $4::date`

	received = `m.id, m.invite_email, m.access_level, m.expires_at, m.created_at, coalesce(i.username, '') as inviter,
	case when p.id is null then 'Group' else 'Project' end as kind, coalesce(p.id, n.id) as source_id,
	n.full_path || coalesce('/' || p.path, '') as path, coalesce(p.name, n.name) as name, n.id as namespace_id, coalesce(n.owner_id, 0) as holder
from members m left join projects p on p.id = m.project_id join namespaces n on n.id = coalesce(m.namespace_id, p.namespace_id)
left join users i on i.id = m.created_by_id and i.removal is null
where not n.removal and not coalesce(p.removal, false)`
	toAddresses = ` and lower(m.invite_email) = any($1::text[]) and (m.expires_at is null or m.expires_at > $2::date)`

	sqlReceived     = `select ` + received + toAddresses + ` order by m.id desc limit $3`
	sqlLockReceived = `select ` + received + toAddresses + ` and m.id = $3 for update of m`
	sqlInvitation   = `select ` + received + ` and m.invite_email is not null and m.id = $1`
	sqlAccept       = `update members set user_id = $2, invite_email = null, invite_digest = null, updated_at = $3 where id = $1`
	// How many invitations an address got since a time, up to a limit.
	sqlInvitedSince = `
select count(*) from (select 1 from members m where lower(m.invite_email) = lower($1) and m.created_at > $2 limit $3) n`

	invitationColumns = `m.id, m.invite_email, m.access_level, m.expires_at, m.created_by_id, m.created_at, m.updated_at`
)

const (
	sqlShare = `
insert into shares (group_id, namespace_id, project_id, access_level, expires_at, created_at)
values ($1, $2, $3, $4, $5, $6)
returning id`
	sqlExpiredShare = `
delete from shares m where ` + ofSource + ` and m.group_id = $3 and m.expires_at <= $4::date`
	sqlUnshare = `
delete from shares m using namespaces g
where ` + ofSource + ` and m.group_id = $3 and g.id = m.group_id and (m.expires_at is null or m.expires_at > $4::date)
returning g.name`
)

// Expired rows, the oldest first, with the source whose trail tells of them.
const (
	sqlExpired = `
select m.id as row_id, coalesce(m.user_id, 0) as user_id, coalesce(u.name, m.invite_email) as details, m.access_level,
	case when p.id is null then 'Group' else 'Project' end as kind, coalesce(p.id, n.id) as id,
	n.full_path || coalesce('/' || p.path, '') as path, coalesce(p.name, n.name) as name
from members m left join projects p on p.id = m.project_id join namespaces n on n.id = coalesce(m.namespace_id, p.namespace_id)
left join users u on u.id = m.user_id
where m.expires_at <= $1::date
order by m.expires_at, m.id
limit $2
for update of m skip locked`
	sqlDeleteRows = `delete from members where id = any($1::bigint[])`

	sqlExpiredShares = `
select m.id as row_id, m.group_id as user_id, g.name as details, m.access_level,
	case when p.id is null then 'Group' else 'Project' end as kind, coalesce(p.id, n.id) as id,
	n.full_path || coalesce('/' || p.path, '') as path, coalesce(p.name, n.name) as name
from shares m left join projects p on p.id = m.project_id join namespaces n on n.id = coalesce(m.namespace_id, p.namespace_id)
join namespaces g on g.id = m.group_id
where m.expires_at <= $1::date
order by m.expires_at, m.id
limit $2
for update of m skip locked`
	sqlDeleteShares = `delete from shares where id = any($1::bigint[])`
)

const sqlAssociations = `
select (select count(*) from members m join namespaces n on n.id = m.namespace_id
		where m.user_id = $1 and m.requested_at is null and (m.expires_at is null or m.expires_at > $2::date) and not n.removal),
	(select count(*) from members m join projects p on p.id = m.project_id
		where m.user_id = $1 and m.requested_at is null and (m.expires_at is null or m.expires_at > $2::date) and not p.removal) +
	(select count(*) from projects p join namespaces n on n.id = p.namespace_id where n.owner_id = $1 and not p.removal)`
