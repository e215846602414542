package issue

// columns are those of Issue, from a table called i. In lists, descriptions are cut: each after 65,536 characters, and further when those before it
// take two megabytes. To decide who reads an issue takes none.
const (
	columns     = before + `i.description` + after
	listColumns = before + `left(i.description, case when ` + listedBytes + ` <= 2097152 then 65536 else 1000 end) as description` + after
	bareColumns = before + `null::text as description` + after
)

const (
	listedBytes = `sum(least(octet_length(i.description), 262144)) over (order by i.id)`
	before      = `i.id, i.project_id, i.iid, i.author_id, i.title, `
	after       = `, i.type, i.severity, i.closed, i.closed_at, i.closed_by_id, i.confidential,
	i.discussion_locked, i.milestone_id, i.due_date, i.weight, i.health_status, i.time_estimate, i.time_spent, i.tasks, i.tasks_done, i.notes_count,
	i.upvotes, i.downvotes, i.moved_to_id, i.duplicate_of_id, i.created_at, i.updated_at,
	coalesce((select u.state = 'banned' from users u where u.id = i.author_id), false) as hidden,
	array(select a.user_id from issue_assignees a where a.issue_id = i.id order by a.user_id) as assignee_ids,
	array(select l.label_id from issue_labels l where l.issue_id = i.id order by l.label_id) as label_ids`
)

const (
	sqlFind     = `select ` + columns + ` from issues i where i.project_id = $1 and i.iid = $2::bigint`
	sqlAmong    = `select ` + bareColumns + ` from issues i where i.id = any($1::bigint[])`
	sqlListed   = `select ` + listColumns + ` from issues i where i.id = any($1::bigint[])`
	sqlNumbered = `
select ` + bareColumns + ` from unnest($1::bigint[], $2::integer[]) k(project_id, iid) join issues i on i.project_id = k.project_id and i.iid = k.iid`
	sqlThere    = `select iid from issues where project_id = $1 and iid = any($2::bigint[])`
	sqlFindByID = `select ` + columns + ` from issues i where i.id = $1`
	// Keys do not change, so that notes at other issues may name one that is held: who would wait for it may hold those.
	sqlHold    = `select id from issues where project_id = $1 and iid = $2::bigint for no key update`
	sqlHoldAll = `select id from issues where id = any($1::bigint[]) order by id for no key update`

	// The row is locked until the transaction ends, so that the number of one that fails is given to the next.
	sqlNext = `
insert into issue_counters (project_id, last) values ($1, 1) on conflict (project_id) do update set last = issue_counters.last + 1 returning last`
	sqlAtLeast = `
insert into issue_counters (project_id, last) values ($1, $2) on conflict (project_id) do update set last = greatest(issue_counters.last, $2)`

	// Whether more numbers were given in a project, or there are more issues in all, than so many.
	sqlNumbersBeyond = `select coalesce((select last > $2 from issue_counters where project_id = $1), false)`
	sqlIssuesBeyond  = `select count(*) > $1 from (select 1 from issues limit $1::bigint + 1) bounded`

	// How many issues are open in each of some projects, of the first $3 of each. Confidential ones come after the others in the index, and count where
	// the reader reads them; those of banned people do with $4.
	sqlCountOpen = `
select p.id, (
	select count(*) from (
		select i.author_id from issues i where i.project_id = p.id and not i.closed and i.confidential <= p.readable limit $3::bigint
	) i where $4 or not exists (select 1 from users u where u.id = i.author_id and u.state = 'banned')
) as open from unnest($1::bigint[], $2::boolean[]) p(id, readable)`

	sqlInsert = `
insert into issues (project_id, iid, author_id, title, description, type, severity, confidential, discussion_locked, milestone_id, due_date, weight,
	health_status, time_estimate, time_spent, tasks, tasks_done, upvotes, downvotes, relative_position, created_at, updated_at)
values ($1, $2::integer, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $2::integer::bigint * 512, $20, $20) returning id`
	sqlUpdate = `
update issues set title = $2, description = $3, type = $4, severity = $5, closed = $6, closed_at = $7, closed_by_id = $8, confidential = $9,
	discussion_locked = $10, milestone_id = $11, due_date = $12, weight = $13, health_status = $14, time_estimate = $15, time_spent = $16, tasks = $17,
	tasks_done = $18, moved_to_id = $19, duplicate_of_id = $20, updated_at = $21
where id = $1`
	sqlDelete = `delete from issues where id = $1`

	sqlKeepAgent = `insert into issue_agents (issue_id, user_id, user_agent, ip_address) values ($1, $2, $3, $4)`
	sqlAgent     = `select user_agent, ip_address from issue_agents where issue_id = $1`

	sqlAssign     = `insert into issue_assignees (issue_id, user_id) select $1, unnest($2::bigint[])`
	sqlUnassign   = `delete from issue_assignees where issue_id = $1 and user_id = any($2::bigint[])`
	sqlLabel      = `insert into issue_labels (issue_id, label_id) select $1, unnest($2::bigint[])`
	sqlHoldLabels = `select id from labels where id = any($1::bigint[]) order by id for key share`
	sqlUnlabel    = `delete from issue_labels where issue_id = $1 and label_id = any($2::bigint[])`

	sqlSubscribed = `select exists (select 1 from subscriptions where kind = 'issue' and subject_id = $1 and user_id = $2)`

	// The labels of a name that issues of a project, or of some projects or of all, may have. An issue may have kept one of a group that its
	// project has left: nobody is told of that.
	sqlNamedFor = `select id from labels where name = $1 and (project_id = $2 or namespace_id = any($3::bigint[]))`
	sqlNamedIn  = `select id from labels where name = $1 and ($2 or namespace_id = any($4::bigint[]) or project_id = any($3::bigint[]))`

	// So for the milestones of a title.
	sqlTitledFor = `select id from milestones where title = $1 and (project_id = $2 or namespace_id = any($3::bigint[]))`
	sqlTitledIn  = `select id from milestones where title = $1 and ($2 or namespace_id = any($4::bigint[]) or project_id = any($3::bigint[]))`

	// The groups above and below one, and those above some projects.
	sqlGroupsAround = `select lineage || array(select n.id from namespaces n where n.lineage @> array[$1::bigint]) from namespaces where id = $1`
	sqlGroupsAbove  = `
select coalesce(array_agg(distinct above), '{}') from projects p join namespaces n on n.id = p.namespace_id, unnest(n.lineage) above where p.id = any($1::bigint[])`

	// Labels and milestones that become others.
	sqlRelabel = `insert into issue_labels (issue_id, label_id) select distinct issue_id, $2::bigint from issue_labels where label_id = any($1::bigint[]) on conflict do nothing`
	sqlReplan  = `update issues set milestone_id = $2 where milestone_id = any($1::bigint[])`

	sqlLinked = `
select l.id as link_id, l.kind, l.source_id, l.target_id, l.created_at as link_created_at, l.updated_at as link_updated_at, ` + listColumns + `
from (
	select id, kind, source_id, target_id, created_at, updated_at, target_id as other from issue_links where source_id = $1
	union all
	select id, kind, source_id, target_id, created_at, updated_at, source_id from issue_links where target_id = $1
) l join issues i on i.id = l.other order by l.id limit ` + maxLinksText
	sqlFindLink   = `select id, source_id, target_id, kind, created_at, updated_at from issue_links where id = $2 and (source_id = $1 or target_id = $1)`
	sqlInsertLink = `
insert into issue_links (source_id, target_id, kind, created_at, updated_at) values ($1, $2, $3, $4, $4)
returning id, source_id, target_id, kind, created_at, updated_at`
	sqlLinkOf     = `select id, source_id, target_id, kind, created_at, updated_at from issue_links where (source_id = $1 and target_id = $2) or (source_id = $2 and target_id = $1)`
	sqlDeleteLink = `delete from issue_links where id = $1`
	sqlCountLinks = `select (select count(*) from issue_links where source_id = $1) + (select count(*) from issue_links where target_id = $1)`
	sqlMoveLinks  = `
update issue_links set source_id = case when source_id = $1 then $2 else source_id end, target_id = case when target_id = $1 then $2 else target_id end
where source_id = $1 or target_id = $1`

	sqlLogTime           = `insert into issue_time_logs (issue_id, user_id, seconds, summary, spent_at, created_at) values ($1, $2, $3, $4, $5, $6)`
	sqlMoveTime          = `update issue_time_logs set issue_id = $2 where issue_id = $1`
	sqlMoveSubscriptions = `
insert into subscriptions (kind, subject_id, user_id, created_at) select kind, $2, user_id, created_at from subscriptions
where kind = 'issue' and subject_id = $1 on conflict do nothing`

	sqlPosition = `select relative_position from issues where id = $1`
	sqlPlace    = `update issues set relative_position = $2 where id = $1`
	sqlAcross   = `select exists (select 1 from issues where id = any($1::bigint[]) and project_id <> $2)`
	// The nearest ones on either side of a position, for what comes to stand between.
	sqlPositionAfter  = `select relative_position from issues where project_id = $1 and relative_position > $2 order by relative_position limit 1`
	sqlPositionBefore = `select relative_position from issues where project_id = $1 and relative_position < $2 order by relative_position desc limit 1`
	sqlSpread         = `
update issues i set relative_position = o.place * 512 from (
	select id, row_number() over (order by relative_position, id desc) as place from issues where project_id = $1 and relative_position is not null
) o where o.id = i.id`

	sqlCount = `update issues set notes_count = notes_count + $2, updated_at = $3 where id = $1`
)

const maxLinksText = `100`
