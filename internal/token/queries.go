package token

import "stithy/internal/user"

// Columns are those of Token, from a table called t.
const Columns = `t.id, t.user_id, t.name, t.scopes, t.impersonation, t.expires_at, t.revoked_at, t.last_used_at, t.family_id,
	t.created_at, t.updated_at`

// bearerColumns are those of bearer.
const bearerColumns = `t.id as token_id, t.scopes, t.impersonation, t.expires_at, t.revoked_at, t.last_used_at, t.family_id`

const (
	// The one query of most requests, and that of requests for the account
	// itself.
	sqlBearer        = `select ` + bearerColumns + `, ` + user.StandingColumns + byDigest
	sqlBearerAccount = `select ` + bearerColumns + `, ` + user.Columns + byDigest

	byDigest = ` from personal_access_tokens t join users u on u.id = t.user_id where t.digest = $1 and u.removal is null`

	sqlFind = `select ` + Columns + ` from personal_access_tokens t where t.id = $1`

	// Rotations of one family wait for each other at its first token, so that
	// whoever looks for the newest one after that finds it.
	sqlLockFamily = `
select 1 from personal_access_tokens first
where first.id = (select coalesce(t.family_id, t.id) from personal_access_tokens t where t.id = $1)
for update`

	sqlLock = `
select ` + Columns + `, u.username as owner_username, u.name as owner_name
from personal_access_tokens t join users u on u.id = t.user_id
where t.id = $1
for update of t`

	sqlNewestActive = `
select t.id from personal_access_tokens t
where t.family_id = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > $2)
order by t.id desc limit 1`

	sqlExpiry = `select expires_at from personal_access_tokens where id = $1`

	sqlInsert = `
insert into personal_access_tokens as t (user_id, name, digest, scopes, impersonation, expires_at, replaces_id, family_id,
	created_by_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
returning ` + Columns

	sqlRevoke = `update personal_access_tokens set revoked_at = $2, updated_at = $2 where id = $1`
)

const (
	sqlSession = `
select s.id as session_id, s.created_at as began_at, s.last_seen_at, ` + user.Columns + `
from sessions s join users u on u.id = s.user_id
where s.digest = $1 and s.expires_at > $2 and u.removal is null`

	// A person's dead sessions go when the next one begins.
	sqlStartSession = `
with dead as (delete from sessions where user_id = $1 and expires_at <= $5)
insert into sessions (user_id, digest, address, user_agent, created_at, last_seen_at, expires_at)
values ($1, $2, $3, $4, $5, $5, $6)`

	sqlSessions = `
select id, address, user_agent, created_at, last_seen_at from sessions
where user_id = $1 and expires_at > $2 order by last_seen_at desc, id desc limit $3`

	sqlEndSession   = `delete from sessions where digest = $1`
	sqlEndSessionOf = `delete from sessions where user_id = $1 and id = $2`
	sqlEndSessions  = `delete from sessions where user_id = $1`
)

// Nobody waits for these, and they wait for nobody: a row that is locked is
// passed over and touched again by its next use.
const (
	sqlTouchTokens = `
with free as (select id from personal_access_tokens where id = any($1::bigint[]) for no key update skip locked)
update personal_access_tokens t set last_used_at = used.at
from free, unnest($1::bigint[], $2::timestamptz[]) as used (id, at)
where t.id = free.id and t.id = used.id`

	sqlTouchSessions = `
with free as (select id from sessions where id = any($1::bigint[]) for no key update skip locked)
update sessions s set last_seen_at = seen.at, expires_at = seen.at + $3::interval
from free, unnest($1::bigint[], $2::timestamptz[]) as seen (id, at)
where s.id = free.id and s.id = seen.id`

	// The first use in a day counts as a sign-in, too.
	sqlTouchPeople = `
with free as (select id from users where id = any($1::bigint[]) for no key update skip locked)
update users u set last_activity_on = (seen.at at time zone 'utc')::date, current_sign_in_at = seen.at
from free, unnest($1::bigint[], $2::timestamptz[]) as seen (id, at)
where u.id = free.id and u.id = seen.id
	and (u.last_activity_on is null or u.last_activity_on < (seen.at at time zone 'utc')::date)`
)
