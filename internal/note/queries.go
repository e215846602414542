package note

// maxChanges is how many changes of an issue are noted, and so many of its labels, milestones and states. Whoever makes more of them is a program that
// went wrong, or wants to fill the disk.
const (
	maxChanges = `10000`
	fewChanges = `(select count(*) from (select 1 from resource_events where issue_id = $1 limit ` + maxChanges + `) noted) < ` + maxChanges
)

// of is the condition that a note called n is about the thing that the first four arguments name.
const of = `(n.issue_id, n.snippet_id, n.commit_project_id, n.commit_sha) is not distinct from ($1::bigint, $2::bigint, $3::bigint, $4::bytea)`

// notBanned is the condition on a note called n that its author is not banned.
const notBanned = `not exists (select 1 from users u where u.id = n.author_id and u.state = 'banned')`

const (
	columns = `n.id, n.author_id, n.discussion_id, n.first, n.thread, n.body, octet_length(n.body) as bytes,
	n.system, n.internal, n.position, n.refers_to_id, n.created_at, n.updated_at`
	// In lists bodies are cut: each after 65,536 characters, and further when those before it take two megabytes.
	listColumns = `n.id, n.author_id, n.discussion_id, n.first, n.thread,
	left(n.body, case when sum(least(octet_length(n.body), 262144)) over (order by n.id) <= 2097152 then 65536 else 200 end) as body, octet_length(n.body) as bytes,
	n.system, n.internal, n.position, n.refers_to_id, n.created_at, n.updated_at`

	sqlFind        = `select ` + columns + ` from notes n where ` + of + ` and n.id = $5 and ($6 or ` + notBanned + `)`
	sqlFirst       = `select ` + columns + ` from notes n where ` + of + ` and n.discussion_id = $5 and n.first and ($6 or ` + notBanned + `)`
	sqlReferences  = `select distinct refers_to_id from notes where issue_id = $1 and refers_to_id is not null limit 1000`
	sqlDiscussions = `
select ` + listColumns + ` from notes n where ` + of + ` and n.discussion_id = any($5::bytea[]) and ($6 or ` + notBanned + `) order by n.created_at, n.id`
	// Two who say something about one commit come one after the other.
	sqlHoldCommit = `select pg_advisory_xact_lock(7406, hashtext($1::bigint || $2::text))`

	sqlInsert = `
insert into notes as n (issue_id, snippet_id, commit_project_id, commit_sha, author_id, discussion_id, first, thread, body, internal, position, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12) returning ` + columns
	sqlUpdate    = `update notes as n set body = $2, updated_at = $3 where id = $1 returning ` + columns
	sqlThread    = `update notes set thread = true where discussion_id = $1 and not thread`
	sqlDelete    = `delete from notes where id = $1`
	sqlNextFirst = `
update notes set first = true where id = (select id from notes where discussion_id = $1 order by created_at, id limit 1)`

	sqlInsertSystem = `
insert into notes (issue_id, author_id, discussion_id, first, thread, body, system, refers_to_id, created_at, updated_at)
select $1::bigint, $2::bigint, $3::bytea, true, false, $4::text, true, $5::bigint, $6::timestamptz, $6
where (select count(*) from (select 1 from notes where issue_id = $1 and system limit ` + maxChanges + `) noted) < ` + maxChanges
	// Once for two issues, and not more often than a reader's list looks at.
	sqlInsertMention = `
insert into notes (issue_id, author_id, discussion_id, first, thread, body, system, refers_to_id, created_at, updated_at)
select $1, $2, $3, true, false, 'mentioned in issue ' || $4::text, true, $5, $6, $6
where not exists (select 1 from notes where issue_id = $1 and refers_to_id = $5 and body like 'mentioned in issue %')
	and (select count(*) from (select 1 from notes where issue_id = $1 and refers_to_id is not null limit 1000) named) < 1000`
	sqlUsernames = `select id, username from users where id = any($1::bigint[])`

	sqlMoveNotes = `update notes set issue_id = $2 where issue_id = $1`
	// What may name issues by a number alone, as far as it is two megabytes.
	sqlNaming = `
select id, body from (
	select n.id, n.body, sum(octet_length(n.body)) over (order by n.id) as bytes from notes n where n.issue_id = $1 and n.body ~ '#[0-9]'
) named where bytes <= 2097152 order by id`
	sqlRename      = `update notes n set body = r.body from unnest($1::bigint[], $2::text[]) r(id, body) where n.id = r.id`
	sqlNameCommits = `
update notes n set body = 'mentioned in commit ' || $3::text || '@' || c.sha from issue_commits c
where c.issue_id = $1 and c.project_id = $2 and n.id = c.note_id and n.body = 'mentioned in commit ' || c.sha`
	sqlMoveAwards  = `update award_emoji set issue_id = $2 where issue_id = $1`
	sqlMoveEvents  = `update resource_events set issue_id = $2 where issue_id = $1`
	sqlMoveCommits = `update issue_commits set issue_id = $2 where issue_id = $1`
	sqlNoVotes     = `update issues set upvotes = 0, downvotes = 0 where id = $1`
	// A copy has the first comments, as far as they are two megabytes. It says how many of them everybody reads.
	sqlCopyNotes = `
with said as (
	select n.id, n.author_id, n.discussion_id, n.first, n.thread, n.body, n.internal, n.created_at, n.updated_at, sum(octet_length(n.body)) over (order by n.created_at, n.id) as bytes from notes n where n.issue_id = $1 and not n.system
), threads as (
	select discussion_id, decode(md5(encode(discussion_id, 'hex') || $2::bigint::text) || substr(md5($2::bigint::text || encode(discussion_id, 'hex')), 1, 8), 'hex') as copy
	from said group by discussion_id
), copied as (
	insert into notes (issue_id, author_id, discussion_id, first, thread, body, internal, created_at, updated_at)
	select $2::bigint, s.author_id, t.copy, s.first, s.thread, s.body, s.internal, s.created_at, s.updated_at
	from said s join threads t using (discussion_id) where s.bytes <= 2097152 order by s.created_at, s.id returning internal
)
select count(*) from copied where not internal`

	awardColumns = `a.id, a.user_id, a.issue_id, a.snippet_id, a.note_id, a.name, a.created_at`
	// awarded is the condition that an emoji called a belongs to the subject that the first three arguments name.
	awarded        = `(a.issue_id, a.snippet_id, a.note_id) is not distinct from ($1::bigint, $2::bigint, $3::bigint)`
	sqlFindAward   = `select ` + awardColumns + ` from award_emoji a where ` + awarded + ` and a.id = $4`
	sqlInsertAward = `
insert into award_emoji as a (issue_id, snippet_id, note_id, user_id, name, created_at) values ($1, $2, $3, $4, $5, $6) returning ` + awardColumns
	sqlOwnAward    = `select a.id from award_emoji a where ` + awarded + ` and a.user_id = $4 and a.name = $5`
	sqlDeleteAward = `delete from award_emoji where id = $1`

	eventColumns   = `e.id, e.issue_id, e.user_id, e.kind, e.action, e.label_id, e.milestone_id, e.closed, e.created_at`
	sqlFindEvent   = `select ` + eventColumns + ` from resource_events e where e.id = $1 and e.issue_id = $2 and e.kind = $3`
	sqlInsertEvent = `
insert into resource_events (issue_id, user_id, kind, action, label_id, milestone_id, closed, created_at)
select $1::bigint, $2::bigint, $3::text, $4::text, $5::bigint, $6::bigint, $7::boolean, $8::timestamptz where ` + fewChanges
	sqlInsertLabelEvents = `
insert into resource_events (issue_id, user_id, kind, action, label_id, closed, created_at)
select $1, $2, 'label', $3, id, $5, $6 from unnest($4::bigint[]) id where ` + fewChanges
	sqlRelabel = `update resource_events set label_id = $2 where label_id = any($1::bigint[])`
	sqlReplan  = `update resource_events set milestone_id = $2 where milestone_id = any($1::bigint[])`
)
