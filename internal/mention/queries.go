package mention

import (
	"stithy/internal/grant"
	"stithy/internal/project"
	"stithy/internal/user"
)

// live is the condition that a membership called m counts on the day $2.
const live = `m.user_id is not null and m.requested_at is null and (m.expires_at is null or m.expires_at > $2::date) and m.access_level > 5`

const (
	sqlNamed  = `select u.id, lower(u.username) as name from users u where lower(u.username) = any($1::text[]) and u.removal is null`
	sqlPeople = `select ` + user.StandingColumns + ` from users u where u.id = any($1::bigint[]) and u.removal is null and u.state = 'active' and u.kind <> 'ghost'`

	// A group as the person $1 sees it on the day $2.
	sqlGroup = `
select n.visibility, coalesce((n.settings->>'mentions_disabled')::boolean, false) as quiet, ` + grant.NamespaceRole + ` as role
from namespaces n where n.id = $3 and n.kind = 'group' and not n.removal`
	sqlMembers = `select m.user_id from members m where m.namespace_id = $1 and ` + live + ` order by m.user_id limit $3`
	// Whoever has a role in a project itself or in a group above it.
	sqlTeam = `
select m.user_id from members m
where (m.project_id = $1 or m.namespace_id = any((select n.lineage from projects p join namespaces n on n.id = p.namespace_id where p.id = $1)::bigint[])) and ` + live + `
group by m.user_id order by m.user_id limit $3`

	sqlProjects = `
select ` + project.Columns + `, ` + grant.ProjectRole + ` as role from projects p join namespaces n on n.id = p.namespace_id
where p.id = any($3::bigint[]) and not p.removal`

	sqlMentioned = `select user_id from issue_mentions where issue_id = $1 and note_id is null`
	sqlInNote    = `select user_id from issue_mentions where note_id = $1`
	sqlRemember  = `insert into issue_mentions (issue_id, note_id, user_id) select $1, $2, unnest($3::bigint[]) on conflict do nothing`
	sqlForget    = `delete from issue_mentions where issue_id = $1 and note_id is not distinct from $2::bigint and user_id = any($3::bigint[])`
	sqlMove      = `update issue_mentions set issue_id = $2 where issue_id = $1`
	sqlCopy      = `insert into issue_mentions (issue_id, user_id) select $2, user_id from issue_mentions where issue_id = $1 and note_id is null`

	// The author, assignees, those who commented or gave an emoji and those who are named; with $2 internal notes count.
	sqlParticipants = `
select user_id from (
	(select author_id as user_id from issues where id = $1 and author_id is not null)
	union (select user_id from issue_assignees where issue_id = $1)
	union (select author_id from notes where issue_id = $1 and not system and author_id is not null and ($2 or not internal))
	union (select user_id from award_emoji where issue_id = $1 order by user_id limit 5000)
	union (select m.user_id from issue_mentions m left join notes n on n.id = m.note_id where m.issue_id = $1 and ($2 or n.id is null or not n.internal)
		order by m.user_id limit 5000)
) p order by user_id limit ` + maxListed

	maxListed = `1000`
)
