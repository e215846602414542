package grant

// Each of these is a subquery of ids for the SQL of the rooms above: where the
// person $1 has a role of at least $3, which is no less than Guest, on the day
// $2. It reads what the person has and never what others have, so that it
// stays small however large the instance is.
const (
	// invited joins a membership called m to the live shares called s that it
	// opens.
	invited = `members m join namespaces g on g.lineage @> array[m.namespace_id] join shares s on s.group_id = g.id
	where m.user_id = $1 and m.namespace_id is not null and m.access_level >= $3 and s.access_level >= $3
		and (s.expires_at is null or s.expires_at > $2::date) and ` + live

	// Namespaces lists where a role comes with the namespace: the groups of the
	// person, the groups that let those in, all below either, and their own
	// namespace.
	Namespaces = `
	select d.id from (
		select m.namespace_id as id from members m where m.user_id = $1 and m.namespace_id is not null and m.access_level >= $3 and ` + live + `
		union
		select s.namespace_id from ` + invited + ` and s.namespace_id is not null
	) top join namespaces d on d.lineage @> array[top.id]
	union
	select o.id from namespaces o where o.owner_id = $1`

	// Projects lists where a role comes with the project itself.
	Projects = `
	select m.project_id as id from members m where m.user_id = $1 and m.project_id is not null and m.access_level >= $3 and ` + live + `
	union
	select s.project_id from ` + invited + ` and s.project_id is not null`
)
