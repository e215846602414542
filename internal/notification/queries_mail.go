package notification

import "stithy/internal/user"

const (
	sqlRecord = `
insert into mail_events (event, project_id, issue_id, note_id, pipeline_id, by_id, people, everyone, detail, happened_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning id`
	// A row that a job reads is left to it. Whom it does not find by this is told by a row of their own.
	sqlAddPeople = `
update mail_events set people = people || $4::bigint[] where id = (
	select id from mail_events where event = $1 and issue_id = $2 and note_id is not distinct from $3::bigint and everyone and reached = 0
		and cardinality(people) <= 500 order by id desc limit 1 for update skip locked)`
	sqlHappening = `
select id, event, project_id, issue_id, note_id, pipeline_id, by_id, people, everyone, detail, happened_at, reached from mail_events where id = $1`
	sqlHold    = `select reached from mail_events where id = $1 for update`
	sqlReached = `update mail_events set reached = $2 where id = $1`
	sqlSpread  = `delete from mail_events where id = $1`

	// Whether somebody can be mailed at all: bots read no mail, and who is not let in is told nothing.
	sqlMailable = `
select ` + user.StandingColumns + ` from users u
where u.id = any($1::bigint[]) and ` + mailable + ` order by u.id`

	// The status that the last pipeline of a branch had which came to an end before the pipeline $1 began.
	sqlStatusBefore = `
select b.status from pipelines p cross join lateral (
	select o.id, o.status from pipelines o where o.project_id = p.project_id and o.ref = p.ref and o.tag = p.tag and o.id < p.id order by o.id desc limit 20
) b where p.id = $1 and b.status in ('success', 'failed') order by b.id desc limit 1`
)

// mailable is the condition that an account called u can be mailed.
const mailable = `u.removal is null and u.state = 'active' and u.kind = 'human' and u.confirmed_at is not null`

// hearing is the condition that a setting called s brings mails about what its person takes no part in.
const hearing = `s.level in ('watch', 'custom')`

// live is the condition that a membership called m counts on the day $4.
const live = `m.requested_at is null and (m.expires_at is null or m.expires_at > $4::date) and m.access_level > 5`

// everywhereHearing joins the settings of members who hear about all projects that they are in.
const everywhereHearing = ` m join notification_settings s on s.user_id = m.user_id and s.namespace_id is null and s.project_id is null and ` + hearing

// watchers are the next $3 people after $2 who chose to hear of the project $1, in it, in a group above or for all that they are members of. Every part
// is read in the order of an index and no further than a page: who comes first in all of them comes first in one.
const watchers = `
	(select s.user_id, false as part from notification_settings s where s.project_id = $1 and ` + hearing + ` and s.user_id > $2 order by s.user_id limit $3)
	union all (select x.user_id, false from line, unnest(line.groups) g cross join lateral (
		select s.user_id from notification_settings s where s.namespace_id = g and ` + hearing + ` and s.user_id > $2 order by s.user_id limit $3) x)
	union all (select m.user_id, false from members` + everywhereHearing + `
		where m.project_id = $1 and m.user_id > $2 and ` + live + ` order by m.user_id limit $3)
	union all (select x.user_id, false from (
			select unnest(line.groups) as id from line
			union select unnest(n.lineage) from line join shares h on h.project_id = $1 or h.namespace_id = any(line.groups) join namespaces n on n.id = h.group_id
		) g cross join lateral (
		select m.user_id from members` + everywhereHearing + `
		where m.namespace_id = g.id and m.user_id > $2 and ` + live + ` order by m.user_id limit $3) x)
	union all (select line.owner_id, false from line where line.owner_id > $2)`

// line are the groups from the top to the project $1, and whose personal namespace it is in.
const line = `line as (select n.lineage as groups, n.owner_id from projects p join namespaces n on n.id = p.namespace_id where p.id = $1)`

const (
	sqlWatchers = `with ` + line + `
select c.user_id, bool_or(c.part) as participates from (` + watchers + `) c group by c.user_id order by c.user_id limit $3`

	// Also who takes part in the issue $5: subscribers, assignees, who commented on it, and, of a new one ($7), who hears of its labels; and the
	// people $6.
	sqlCandidates = `with ` + line + `
select c.user_id, bool_or(c.part) as participates from (` + watchers + `
	union all (select user_id, true from subscriptions where kind = 'issue' and subject_id = $5 and user_id > $2 order by user_id limit $3)
	union all (select user_id, true from issue_assignees where issue_id = $5 and user_id > $2)
	union all (select distinct author_id, true from notes where issue_id = $5 and not system and author_id > $2 order by author_id limit $3)
	union all (select x.user_id, true from issue_labels l cross join lateral (
		select s.user_id from subscriptions s where s.kind = 'label' and s.subject_id = l.label_id and s.user_id > $2 order by s.user_id limit $3) x
		where $7 and l.issue_id = $5)
	union all (select a.id, false from unnest($6::bigint[]) as a(id) where a.id > $2)
) c group by c.user_id order by c.user_id limit $3`

	sqlQueue = `
insert into mails (user_id, participates, mentioned, thread, thread_id, project_id, event, note_id, by_id, detail, happened_at, created_at, subject_id)
select a.id, a.part, a.named, $4, $5, nullif($6::bigint, 0), $7, $8, $9, $10, $11, $12, a.subject
from unnest($1::bigint[], $2::boolean[], $3::boolean[], $13::bigint[]) as a(id, part, named, subject)`

	// How many mails $1 caused in the hour $2, with $3 more.
	sqlCaused = `
insert into mail_authors as a (by_id, hour, mails) values ($1, $2, $3)
on conflict (by_id, hour) do update set mails = a.mails + $3 returning mails`
)

const (
	sqlWaiting = `
select id, coalesce(project_id, 0) as project_id, subject_id, event, note_id, by_id, participates, mentioned, detail, happened_at, created_at, mail_id, claimed_until, attempts
from mails where user_id = $1 and thread = $2 and thread_id = $3 and failed_at is null order by id limit $4 for update`
	sqlClaim   = `update mails set mail_id = $2, claimed_until = $3 where id = any($1::bigint[])`
	sqlBegin   = `update mails set attempts = attempts + 1 where id = any($1::bigint[]) and mail_id = $2 and failed_at is null`
	sqlRelease = `update mails set claimed_until = null, attempts = attempts - 1 where id = any($1::bigint[]) and mail_id = $2`
	sqlSent    = `delete from mails where id = any($1::bigint[])`
	sqlFail    = `update mails set failed_at = $2, failure = $3 where id = any($1::bigint[])`

	// How many mails $1 got because of each of $2 in the hour $3, this one included.
	sqlCount = `
insert into mail_counts as c (user_id, by_id, hour, mails) select $1, a.id, $3, 1 from unnest($2::bigint[]) as a(id)
on conflict (user_id, by_id, hour) do update set mails = c.mails + 1 returning by_id, mails`

	sqlGiveUp = `
update mails set failed_at = $2, failure = 'no job sent it' where id in (select id from mails where failed_at is null and created_at < $1 order by created_at, id limit $3)`
	sqlForgetFailed = `delete from mails where id in (select id from mails where failed_at < $1 order by failed_at, id limit $2)`
	sqlForgetCounts = `
delete from mail_counts c using (select user_id, by_id, hour from mail_counts where hour < $1 order by hour limit $2) o
where c.user_id = o.user_id and c.by_id = o.by_id and c.hour = o.hour`

	sqlForgetAuthors = `
delete from mail_authors a using (select by_id, hour from mail_authors where hour < $1 order by hour limit $2) o
where a.by_id = o.by_id and a.hour = o.hour`
	sqlForgetReminders = `
delete from mail_reminders r using (select kind, subject_id, day from mail_reminders where day < $1::date order by day limit $2) o
where r.kind = o.kind and r.subject_id = o.subject_id and r.day = o.day`

	sqlFailed = `select count(*) from (select 1 from mails where user_id = $1 and failed_at is not null limit $2) f`

	sqlRefuse = `
insert into refused_addresses (address, answer, refused_at) select a.address, $2, $3 from email_claims a where a.address = $1
on conflict (address) do update set answer = $2, refused_at = $3`
	sqlIsRefused  = `select exists (select 1 from refused_addresses where address = $1)`
	sqlRefusedOf  = `select r.address, r.answer, r.refused_at from refused_addresses r join email_claims c on c.address = r.address where c.user_id = $1 order by r.address limit $2`
	sqlRefusedAll = `select address, answer, refused_at from refused_addresses where address > $1 order by address limit $2`
	sqlClear      = `delete from refused_addresses where address = $1`

	// What somebody declined that has no page of its own to change that.
	sqlDeclinedBy = `select kind, subject_id from unsubscriptions where user_id = $1 and kind in ('alerts', 'pipelines', 'project') order by kind, subject_id limit $2`
	sqlAddresses  = `select c.address from email_claims c where c.user_id = $1 order by c.address limit 200`
)

// silenced is the condition that a group called n, or one above it, has its mails turned off.
const silenced = `exists (select 1 from namespaces a where a.id = any(n.lineage) and coalesce((a.settings->>'emails_disabled')::boolean, false))`

const (
	sqlSilentProject = `
select exists (select 1 from projects p join namespaces n on n.id = p.namespace_id
	where p.id = $1 and (coalesce((p.settings->>'emails_disabled')::boolean, false) or ` + silenced + `))`
	sqlSilentGroup = `select exists (select 1 from namespaces n where n.id = $1 and ` + silenced + `)`
)

// Those who decide about access requests to the project or group $1 with the role $3 on the day $2: the $4 seen last of the members of the place itself
// or, where it has none, of the nearest group above. Of a place with very many, some are looked at.
const (
	sqlApproversOfProject = `with ` + line + `, found as (
	(select 100 as depth, m.user_id from members m where m.project_id = $1 and ` + deciding + ` order by m.user_id limit 1000)
	union all ` + decidingAbove + `)` + seenLast
	sqlApproversOfGroup = `with line as (select n.lineage as groups, n.owner_id from namespaces n where n.id = $1), found as (
	` + decidingAbove + `)` + seenLast

	deciding      = `m.requested_at is null and m.user_id is not null and m.access_level >= $3 and (m.expires_at is null or m.expires_at > $2::date)`
	decidingAbove = `(select l.depth, x.user_id from line, unnest(line.groups) with ordinality as l(id, depth) cross join lateral (
		select m.user_id from members m where m.namespace_id = l.id and ` + deciding + ` order by m.user_id limit 1000) x)
	union all (select 0, line.owner_id from line where line.owner_id is not null)`
	seenLast = `, able as (select f.depth, u.id, u.last_activity_on from found f join users u on u.id = f.user_id and ` + mailable + `)
select id from able where depth = (select max(depth) from able) order by last_activity_on desc nulls last, id limit $4`

	sqlAsksProject = `select exists (select 1 from members where project_id = $1 and user_id = $2 and requested_at is not null)`
	sqlAsksGroup   = `select exists (select 1 from members where namespace_id = $1 and user_id = $2 and requested_at is not null)`
)

const (
	sqlDueOn = `
select id, project_id, author_id from issues where not closed and due_date = $1 and id > $2 order by id limit $3`
	sqlExpiring = `
select t.id, t.user_id, t.expires_at from personal_access_tokens t join users u on u.id = t.user_id and ` + mailable + `
where t.revoked_at is null and not t.impersonation and t.expires_at <= $1 and (t.expires_at, t.id) > ($2, $3) order by t.expires_at, t.id limit $4`
	// Which of some things nobody was reminded of yet.
	sqlRemind = `
insert into mail_reminders (kind, subject_id, day) select $1, a.id, a.day from unnest($2::bigint[], $3::date[]) as a(id, day)
on conflict do nothing returning subject_id`
	sqlToken = `
select name, expires_at from personal_access_tokens where id = $1 and user_id = $2 and revoked_at is null and expires_at > $3 and not impersonation`
)
