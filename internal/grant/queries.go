package grant

// Each of these is a scalar subquery for the SQL of the rooms above: the role
// of the person $1 on the day $2. It reads one index entry for each group
// along the line of ancestors, and as many for each group that was let in.
const (
	// live is the condition that a membership called m counts.
	live = `m.requested_at is null and (m.expires_at is null or m.expires_at > $2::date)`

	// inherited lists the roles that come with a namespace called n. Minimal
	// access counts in its own group and not below.
	inherited = `
	select m.access_level from members m
	where m.user_id = $1 and m.namespace_id = any(n.lineage) and (m.access_level > 5 or m.namespace_id = n.id) and ` + live + `
	union all
	select least(s.access_level, m.access_level) from shares s join namespaces g on g.id = s.group_id
		join members m on m.user_id = $1 and m.namespace_id = any(g.lineage) and m.access_level > 5
	where s.namespace_id = any(n.lineage) and (s.expires_at is null or s.expires_at > $2::date) and ` + live + `
	union all
	select 50 where n.owner_id = $1`

	// direct lists the roles that come with a project called p.
	direct = `
	select m.access_level from members m where m.user_id = $1 and m.project_id = p.id and ` + live + `
	union all
	select least(s.access_level, m.access_level) from shares s join namespaces g on g.id = s.group_id
		join members m on m.user_id = $1 and m.namespace_id = any(g.lineage) and m.access_level > 5
	where s.project_id = p.id and (s.expires_at is null or s.expires_at > $2::date) and ` + live

	// NamespaceRole is the role in a namespace called n.
	NamespaceRole = `(select coalesce(max(access_level), 0) from (` + inherited + `) r)`

	// ProjectRole is the role in a project called p in a namespace called n.
	ProjectRole = `(select coalesce(max(access_level), 0) from (` + inherited + `
	union all` + direct + `) r where access_level > 5)`

	// SeesBelow is whether the person has a role in something below a
	// namespace called n, which lets them see that it exists.
	SeesBelow = `(exists (select 1 from members m join namespaces d on d.id = m.namespace_id
		where m.user_id = $1 and d.lineage @> array[n.id] and ` + live + `)
	or exists (select 1 from members m join projects p on p.id = m.project_id join namespaces d on d.id = p.namespace_id
		where m.user_id = $1 and d.lineage @> array[n.id] and ` + live + `))`
)

const (
	sqlRoleOnNamespace = `select ` + NamespaceRole + ` from namespaces n where n.id = $3`
	sqlIsIn            = `select exists (select 1 from members m where m.user_id = $1 and m.namespace_id = any($3::bigint[]) and ` + live + `)`
	sqlRoleOnProject   = `select ` + ProjectRole + ` from projects p join namespaces n on n.id = p.namespace_id where p.id = $3`

	// The same as ProjectRole for the people $1 at once.
	sqlRolesOnProject = `
select r.user_id, max(r.access_level) as role from projects p join namespaces n on n.id = p.namespace_id cross join lateral (
	select m.user_id, m.access_level from members m
	where m.user_id = any($1::bigint[]) and (m.project_id = p.id or m.namespace_id = any(n.lineage)) and ` + live + `
	union all
	select m.user_id, least(s.access_level, m.access_level) from shares s join namespaces g on g.id = s.group_id
		join members m on m.user_id = any($1::bigint[]) and m.namespace_id = any(g.lineage) and m.access_level > 5
	where (s.project_id = p.id or s.namespace_id = any(n.lineage)) and (s.expires_at is null or s.expires_at > $2::date) and ` + live + `
	union all
	select n.owner_id, 50 where n.owner_id = any($1::bigint[])
) r where p.id = $3 and r.access_level > 5 group by r.user_id`
)
