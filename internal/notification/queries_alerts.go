package notification

// sqlMaintainers are the next $3 people after $2 who may have the role $5 in the project $1 on the day $4. Every part is read in the order of an index and no
// further than a page, as of those who watch. Which role they have is asked of all that is found.
const sqlMaintainers = `with ` + line + `
select distinct c.user_id from (
	(select m.user_id from members m where m.project_id = $1 and m.user_id > $2 and m.access_level >= $5 and ` + live + ` order by m.user_id limit $3)
	union all (select x.user_id from (
			select unnest(line.groups) as id from line
			union select unnest(n.lineage) from line join shares h on h.project_id = $1 or h.namespace_id = any(line.groups) join namespaces n on n.id = h.group_id
		) g cross join lateral (
		select m.user_id from members m where m.namespace_id = g.id and m.user_id > $2 and m.access_level >= $5 and ` + live + ` order by m.user_id limit $3) x)
	union all (select line.owner_id from line where line.owner_id > $2)
) c order by c.user_id limit $3`
