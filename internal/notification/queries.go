package notification

// columns are those of Setting, from what from holds.
const columns = `s.level, s.events_set, s.events_on, ` + email

// email is the address of a setting as it is spelled: the primary one, if what was chosen is that, or may not be mailed any more.
const email = `case when s.address is not null then coalesce(e.email, u.email) end as email`

// from are the settings with their people and the secondary addresses that they name.
const from = ` from notification_settings s join users u on u.id = s.user_id` + secondary

const secondary = ` left join emails e on e.address = s.address and e.user_id = u.id and e.confirmed_at is not null`

// The setting of the person $1.
const (
	sqlFind          = `select ` + columns + from + ` where s.user_id = $1 and s.namespace_id is null and s.project_id is null`
	sqlFindOfGroup   = `select ` + columns + from + ` where s.user_id = $1 and s.namespace_id = $2`
	sqlFindOfProject = `select ` + columns + from + ` where s.user_id = $1 and s.project_id = $2`
)

// What the person $1 chose: the level $4, the events that they set, those of them that are on, whether they chose an address and which, and when.
// What they did not choose stays; the level is $10 where there is none yet. Of two that are the first at the same time, the later one changes
// what the other made.
const (
	sqlPut          = `insert into ` + given + `(user_id) where namespace_id is null and project_id is null` + over
	sqlPutOfGroup   = `insert into ` + given + `(namespace_id, user_id) where namespace_id is not null` + over
	sqlPutOfProject = `insert into ` + given + `(project_id, user_id) where project_id is not null` + over

	given = `notification_settings as s (user_id, namespace_id, project_id, level, events_set, events_on, address, created_at, updated_at)
values ($1, $2, $3, coalesce($4, $10), $5, $6, case when $7 then $8 end, $9, $9) on conflict `
	over = ` do update set level = coalesce($4, s.level), events_set = s.events_set | $5, events_on = (s.events_on & (~ $5::bigint)) | $6,
	address = case when $7 then $8 else s.address end, updated_at = $9`
)

// sqlOwn lists where the person $1 chose something for a group or project.
const sqlOwn = `
select s.namespace_id, s.project_id, s.level, ` + email + from + `
where s.user_id = $1 and num_nonnulls(s.namespace_id, s.project_id) = 1 and (s.level <> 'global' or s.address is not null) order by s.id desc limit $2`

// sqlResolve reads what the people $1 chose along the way to the project $2. Each setting is found by an index of one person in one place: it costs
// what these people are, whatever others chose. There is a row without a setting for whoever chose nothing. sqlResolveInGroup does so on the way to
// a group.
const (
	sqlResolve = `
select ` + resolvedColumns + ` from projects p join namespaces n on n.id = p.namespace_id
` + onTheWay + `
	union all
	select g.level, g.events_set, g.events_on, g.address, 100 from notification_settings g where g.project_id = p.id and g.user_id = u.id
) s on true` + secondary + `
where p.id = $2 order by u.id, s.place desc`
	sqlResolveInGroup = `
select ` + resolvedColumns + ` from namespaces n
` + onTheWay + `
) s on true` + secondary + `
where n.id = $2 order by u.id, s.place desc`

	resolvedColumns = `u.id as user_id, u.email as "primary", s.place, coalesce(s.level, 'global') as level, coalesce(s.events_set, 0) as events_set,
	coalesce(s.events_on, 0) as events_on, ` + email
	onTheWay = `cross join unnest($1::bigint[]) as asked(id) join users u on u.id = asked.id
left join lateral (
	select g.level, g.events_set, g.events_on, g.address, 0 as place from notification_settings g
	where g.user_id = u.id and g.namespace_id is null and g.project_id is null
	union all
	select g.level, g.events_set, g.events_on, g.address, l.place from unnest(n.lineage) with ordinality as l(id, place)
	join notification_settings g on g.namespace_id = l.id and g.user_id = u.id`
)
