package oauth

import "stithy/internal/user"

// columns are those of Application, from a table called a.
const columns = `a.id, a.uid, a.owner_id, a.name, a.secret_digest, a.redirect_uri, a.scopes, a.confidential, a.trusted, a.created_at, a.updated_at`

const (
	sqlApplication      = `select ` + columns + ` from oauth_applications a where a.id = $1`
	sqlApplicationByUID = `select ` + columns + ` from oauth_applications a where a.uid = $1`
	sqlLockApplication  = `select ` + columns + ` from oauth_applications a where a.id = $1 for update`

	sqlOfInstance = `select ` + columns + ` from oauth_applications a where a.owner_id is null order by a.id limit $1`
	sqlOfOwner    = `select ` + columns + ` from oauth_applications a where a.owner_id = $1 order by a.id limit $2`

	sqlCreateApplication = `
insert into oauth_applications as a (uid, owner_id, name, secret_digest, redirect_uri, scopes, confidential, trusted, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
returning ` + columns

	// The instance's own application is what it was made as, whoever changed it.
	sqlOwnApplication = `
insert into oauth_applications as a (uid, owner_id, name, secret_digest, redirect_uri, scopes, confidential, trusted, created_at, updated_at)
values ($1, null, $2, $3, $4, $5, true, true, $6, $6)
on conflict (uid) do update set redirect_uri = excluded.redirect_uri, secret_digest = excluded.secret_digest, scopes = excluded.scopes, confidential = true,
	trusted = true, updated_at = excluded.updated_at
where (a.redirect_uri, a.secret_digest, a.scopes, a.confidential, a.trusted) is distinct from
	(excluded.redirect_uri, excluded.secret_digest, excluded.scopes, true, true)`

	sqlUpdateApplication = `
update oauth_applications a set name = $2, redirect_uri = $3, scopes = $4, confidential = $5, trusted = $6, updated_at = $7
where a.id = $1 returning ` + columns

	sqlRenewSecret       = `update oauth_applications a set secret_digest = $2, updated_at = $3 where a.id = $1 returning ` + columns
	sqlDeleteApplication = `delete from oauth_applications where id = $1`
)

// Whatever gives or ends what applications may do for a person waits here, so
// that nothing comes to be while it is being revoked.
// The application stays as long as that takes.
const (
	sqlLockPerson      = `select 1 from users where id = $1 for no key update`
	sqlKeepApplication = `select 1 from oauth_applications where id = $1 for key share`
)

// codeColumns are those of code, from a table called c.
const codeColumns = `c.id, c.application_id, c.user_id, c.redirect_uri, c.scopes, c.code_challenge, c.nonce, c.authenticated_at, c.expires_at,
	c.used_at, c.family_id`

const (
	sqlInsertCode = `
insert into oauth_codes (application_id, user_id, digest, redirect_uri, scopes, code_challenge, nonce, authenticated_at, created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, coalesce((select s.created_at from sessions s where s.id = $8), $9), $9, $10)`

	sqlCode = `select ` + codeColumns + ` from oauth_codes c where c.digest = $1`

	// A code has one use, and then knows the family that came of it.
	sqlUseCode    = `update oauth_codes set used_at = $2 where id = $1 and used_at is null and expires_at > $2`
	sqlMarkFamily = `update oauth_codes set family_id = $2 where id = $1`
	sqlCodeFamily = `select family_id from oauth_codes where id = $1`
	sqlVoidCodes  = `
update oauth_codes set used_at = $3 where user_id = $1 and application_id = $2 and used_at is null`
)

// tokenColumns are those of Token, from a table called t.
const tokenColumns = `t.id, t.application_id, t.user_id, t.scopes, t.redirect_uri, t.authenticated_at, t.family_id, t.created_at, t.expires_at,
	t.revoked_at`

const (
	// The one query of most requests of applications.
	sqlBearer = `
select t.id as token_id, t.scopes, t.expires_at, t.revoked_at, ` + user.Columns + `
from oauth_tokens t join users u on u.id = t.user_id
where t.digest = $1 and u.removal is null`

	sqlToken       = `select ` + tokenColumns + ` from oauth_tokens t where t.id = $1`
	sqlByDigest    = `select ` + tokenColumns + ` from oauth_tokens t where t.digest = $1`
	sqlByRefresh   = `select ` + tokenColumns + ` from oauth_tokens t where t.refresh_digest = $1`
	sqlInsertToken = `
insert into oauth_tokens as t (id, application_id, user_id, digest, refresh_digest, scopes, redirect_uri, authenticated_at, family_id,
	created_at, expires_at)
select n.id, $1, $2, $3, $4, $5, $6, $7, coalesce($8, n.id), $9, $10
from (select nextval(pg_get_serial_sequence('oauth_tokens', 'id')) as id) n
returning ` + tokenColumns

	// Of several who spend one refresh token exactly one succeeds.
	sqlSpend = `update oauth_tokens set revoked_at = $2 where id = $1 and revoked_at is null`

	sqlRevokeFamily = `update oauth_tokens set revoked_at = $2 where family_id = $1 and revoked_at is null`
	sqlRevokeOf     = `update oauth_tokens set revoked_at = $3 where user_id = $1 and application_id = $2 and revoked_at is null`

	// Who agreed once is not asked again for the same: the same scopes, sent
	// to the same address, and nothing revoked since.
	sqlConsented = `
select exists (select 1 from oauth_tokens t
	where t.user_id = $1 and t.application_id = $2 and t.revoked_at is null and t.redirect_uri = $3 and t.scopes @> $4 and t.scopes <@ $4)`

	sqlAuthorized = `
select a.id, a.name, a.uid, a.owner_id, min(t.created_at) as since, array(
	select distinct s from oauth_tokens o cross join unnest(o.scopes) s
	where o.user_id = $1 and o.application_id = a.id and o.revoked_at is null order by s) as scopes
from oauth_tokens t join oauth_applications a on a.id = t.application_id
where t.user_id = $1 and t.revoked_at is null
group by a.id order by a.id limit $2`
)

const (
	sqlAnyApplication = `select exists (select 1 from oauth_applications where uid = any($1))`

	sqlActiveKey = `select kid, algorithm, sealed_key from signing_keys where purpose = $1 and retired_at is null`
	sqlKeys      = `select kid, algorithm, sealed_key from signing_keys where purpose = $1 order by id desc limit 8`
	// Nodes that make the first key at the same time agree on one.
	sqlAddKey = `
insert into signing_keys (kid, purpose, algorithm, sealed_key, created_at) values ($1, $2, $3, $4, $5)
on conflict (purpose) where retired_at is null do nothing`
)

// What is dead is kept for a while, to know who presents it again.
const (
	sqlSweepCodes = `
delete from oauth_codes where id in (select id from oauth_codes where expires_at <= $1 order by expires_at, id limit $2)`
	sqlSweepRevoked = `
delete from oauth_tokens where id in (
	select id from oauth_tokens where revoked_at is not null and revoked_at <= $1 order by revoked_at, id limit $2)`
	sqlSweepSpent = `
delete from oauth_tokens where id in (
	select id from oauth_tokens where refresh_digest is null and expires_at <= $1 order by expires_at, id limit $2)`
)

// The groups that a person belongs to: with the role given there, and with all that lie below.
const (
	sqlDirectGroups = `
select n.full_path as path, m.access_level as role
from members m join namespaces n on n.id = m.namespace_id
where m.user_id = $1 and m.access_level >= 10 and m.requested_at is null and (m.expires_at is null or m.expires_at > $2::date)
	and not n.removal
order by n.full_path, n.id limit 1000`

	sqlGroups = `
select n.full_path from namespaces n
where n.kind = 'group' and not n.removal and n.lineage && array(
	select m.namespace_id from members m
	where m.user_id = $1 and m.namespace_id is not null and m.access_level >= 10 and m.requested_at is null
		and (m.expires_at is null or m.expires_at > $2::date))
order by n.full_path, n.id limit 1000`
)
