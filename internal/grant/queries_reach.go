package grant

// Each of these is a subquery of ids for the SQL of the rooms above: where the
// person $1 has a role of at least $3, which is no less than Guest, on the day
// $2. It reads what the person has and never what others have, so that it
// stays small however large the instance is.
const (
	// below lists the namespaces called d that a namespace called top.id holds,
	// itself among them. It is planned on its own: how many there are is
	// unknown, and taken for many they would be looked for in a whole table.
	below = ` cross join lateral (select n.id from namespaces n where n.lineage @> array[top.id] offset 0) d`

	// invited joins a membership to the live shares called s that it opens.
	invited = `(select m.namespace_id as id from members m
		where m.user_id = $1 and m.namespace_id is not null and m.access_level >= $3 and ` + live + `) top` + below + `
	cross join lateral (select s.namespace_id, s.project_id from shares s
		where s.group_id = d.id and s.access_level >= $3 and (s.expires_at is null or s.expires_at > $2::date) offset 0) s`

	// Namespaces lists where a role comes with the namespace: the groups of the
	// person, the groups that let those in, all below either, and their own
	// namespace.
	Namespaces = `
	select d.id from (
		select m.namespace_id as id from members m where m.user_id = $1 and m.namespace_id is not null and m.access_level >= $3 and ` + live + `
		union
		select s.namespace_id from ` + invited + ` where s.namespace_id is not null
	) top` + below + `
	union
	select o.id from namespaces o where o.owner_id = $1`

	// Projects lists where a role comes with the project itself.
	Projects = `
	select m.project_id as id from members m where m.user_id = $1 and m.project_id is not null and m.access_level >= $3 and ` + live + `
	union
	select s.project_id from ` + invited + ` where s.project_id is not null`
)
