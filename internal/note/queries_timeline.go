package note

const (
	// sqlReplies are the first replies of discussions. What they say shares 2 MB. $4 is whether those of people who were banned are among them.
	sqlReplies = `
select n.id, n.author_id, n.discussion_id, n.first, n.thread,
	left(n.body, greatest(1000, least(65536, 2097152 / (count(*) over ())))::integer) as body, n.bytes, n.system, n.internal, n.position, n.refers_to_id, n.created_at, n.updated_at
from unnest($1::bytea[]) d(id) cross join lateral (
	select ` + columns + ` from notes n where n.discussion_id = d.id and n.issue_id = $2 and not n.first and ($4 or ` + notBanned + `) order by n.created_at, n.id limit $3
) n order by n.created_at, n.id`

	// sqlReactions counts the first thousand emoji of an issue and of each of some notes.
	sqlReactions = `
select coalesce(s.id, 0) as note_id, a.name, count(*)::integer as count, bool_or(a.user_id = $3) as mine
from (select null::bigint as id union all select unnest($2::bigint[])) s cross join lateral (
	(select a.id, a.name, a.user_id from award_emoji a where s.id is null and a.issue_id = $1 order by a.id limit 1000)
	union all
	(select a.id, a.name, a.user_id from award_emoji a where a.note_id = s.id order by a.id limit 1000)
) a group by 1, 2 order by 1, min(a.id)`

	sqlTakeOwn = `
delete from award_emoji where user_id = $4 and name = $5 and (issue_id = $1 or snippet_id = $2 or note_id = $3)`
)
