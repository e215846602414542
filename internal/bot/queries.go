package bot

import "stithy/internal/token"

// columns are those of Token, from the tables of held.
const columns = token.Columns + `, m.access_level, u.name as bot_name`

// held joins the bots that are members somewhere to their tokens.
const held = `members m
	join users u on u.id = m.user_id and u.kind = 'project_bot' and u.removal is null
	join personal_access_tokens t on t.user_id = u.id and not t.impersonation`

const (
	sqlFind = `select ` + columns + ` from ` + held + ` where (m.namespace_id = $1 or m.project_id = $2) and t.id = $3`

	sqlJoin = `
insert into members (namespace_id, project_id, user_id, access_level, expires_at, created_by_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $7)`

	sqlLeave        = `delete from members where (namespace_id = $1 or project_id = $2) and user_id = $3`
	sqlLeaveGroup   = `delete from members m using users u where m.namespace_id = $1 and u.id = m.user_id and u.kind = 'project_bot' returning u.id`
	sqlLeaveProject = `delete from members m using users u where m.project_id = $1 and u.id = m.user_id and u.kind = 'project_bot' returning u.id`

	sqlIsBot = `select exists (select 1 from users where id = $1 and kind = 'project_bot')`

	sqlHasToken = `
select exists (select 1 from personal_access_tokens
	where user_id = $1 and revoked_at is null and not impersonation and (expires_at is null or expires_at > $2))`

	sqlFollowToken = `
update members m set updated_at = $2, expires_at = (
	select max(t.expires_at) from personal_access_tokens t where t.user_id = $1 and t.revoked_at is null and not t.impersonation)
from users u
where m.user_id = $1 and u.id = $1 and u.kind = 'project_bot'`
)
