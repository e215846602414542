package event

// columns are those of Event, from a table called e.
const columns = `e.id, e.created_at, e.author_id, e.project_id, e.action, coalesce(e.target_type, '') as target_type, e.target_id, e.imported,
	coalesce(e.push_action, '') as push_action, coalesce(e.ref_type, '') as ref_type, e.ref_count, coalesce(e.commit_count, 0) as commit_count,
	e.commit_from, e.commit_to, coalesce(e.ref, '') as ref, coalesce(e.title, '') as title, coalesce(e.format, '') as format`

const (
	// What an event does not have takes no room.
	sqlInsert = `
insert into events (created_at, author_id, project_id, action, target_type, target_id, imported, push_action, ref_type, ref_count, commit_count,
	commit_from, commit_to, ref, title, format)
values ($1, $2, $3, $4, nullif($5, ''), $6, $7, nullif($8, ''), nullif($9, ''), $10, nullif($11::integer, 0), $12, $13, nullif($14, ''), nullif($15, ''),
	nullif($16, ''))`

	// That something happened in a project. It is exact to an hour, and whoever finds the row taken leaves it: many who work in one project wait neither
	// for it nor for each other.
	sqlActive = `
update projects set last_activity_at = $2 where id = (
	select p.id from projects p where p.id = $1 and p.last_activity_at <= $2::timestamptz - interval '1 hour' for no key update skip locked)`

	// The projects of somebody in which something happened last. Of those that have namespaces in common with many, the others are not looked at.
	sqlProjectsOf = `
select p.id from projects p where (p.namespace_id = any($1::bigint[]) or p.id = any($2::bigint[])) and not p.removal
order by p.last_activity_at desc, p.id desc limit $3`
	// When the oldest event of some projects within a time was.
	sqlFirstOf = `
select min(f.created_at) from unnest($1::bigint[]) p(id) cross join lateral (
	select e.created_at from events e where e.project_id = p.id and e.created_at >= $2 and e.created_at < $3 order by e.created_at, e.id limit 1) f`

	// How many events of an author there were on each day that have the same readers. Of an issue that is confidential, these are its own; of comments
	// and issues that are gone, nobody.
	sqlDaily = `
select (e.created_at at time zone 'UTC')::date as day, e.project_id, e.pushed, coalesce(e.target_type, '') as target_type, coalesce(i.project_id, 0) as place_id,
	coalesce(n.commit_project_id, 0) as commit_in, coalesce(n.snippet_id, 0) as snippet_id, case when i.confidential then i.id else 0 end as secret_id,
	u.id is not null as hidden, coalesce(n.internal, false) as internal, max(e.target_id) as target_id, count(*)::integer as events
from (
	select e.created_at, e.project_id, e.action = 'pushed' as pushed, e.target_type, e.target_id from events e
	where e.author_id = $1 and e.created_at >= $2 and e.created_at < $3 order by e.created_at desc, e.id desc limit $4) e
left join notes n on n.id = e.target_id and e.target_type in ('Note', 'DiscussionNote', 'DiffNote')
left join issues i on i.id = case e.target_type when 'Issue' then e.target_id else n.issue_id end
left join users u on u.id = i.author_id and u.state = 'banned'
group by day, e.project_id, e.pushed, e.target_type, place_id, commit_in, n.snippet_id, secret_id, hidden, n.internal
order by day desc, e.project_id limit $4`

	// What a page of events is about, and what says who reads it.
	sqlNotes = `
select n.id, n.issue_id, n.snippet_id, n.commit_project_id, n.commit_sha, n.author_id, n.thread, n.system, n.internal, left(n.body, 4000) as body, n.created_at, n.updated_at
from notes n where n.id = any($1::bigint[])`
	sqlIssues = `
select i.id, i.project_id, i.iid, i.author_id, i.title, i.confidential, coalesce((select u.state = 'banned' from users u where u.id = i.author_id), false) as hidden,
	exists (select 1 from issue_assignees a where a.issue_id = i.id and a.user_id = $2) as given
from issues i where i.id = any($1::bigint[])`
	sqlSnippets = `
select s.id, s.project_id, s.author_id, s.title, s.visibility, exists (select 1 from users u where u.id = s.author_id and u.state = 'banned') as hidden
from snippets s where s.id = any($1::bigint[]) and s.project_id is not null and s.ready`
	sqlMilestones = `select m.id, m.iid, m.title from milestones m where m.id = any($1::bigint[])`

	// The time up to which the oldest events of an author, or of a project, are deleted at once. Partitions are chosen by it; a list of keys would
	// be looked for in each.
	sqlOldestOfAuthor  = `select max(o.created_at) from (select created_at from events where author_id = $1 order by created_at limit $2) o`
	sqlOldestOfProject = `select max(o.created_at) from (select created_at from events where project_id = $1 order by created_at limit $2) o`
	sqlDeleteOfAuthor  = `delete from events where author_id = $1 and created_at <= $2`
	sqlDeleteOfProject = `delete from events where project_id = $1 and created_at <= $2`

	sqlStrays     = `select exists (select 1 from events_default where created_at >= $1 and created_at < $2)`
	sqlPartitions = `
select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'events'::regclass order by 1 limit 1000`
	sqlDropStrays = `
delete from events_default where ctid = any(array(select ctid from events_default where created_at < $1 order by created_at limit $2))`
	// Whoever waits for the table lets nobody pass who comes later.
	sqlWaitShortly = `select set_config('lock_timeout', '3s', true)`
)
