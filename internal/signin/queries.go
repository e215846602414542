package signin

const (
	// A period begins with the first try in it.
	sqlCountInPeriod = `
insert into sign_in_tries as t (key, tries, expires_at) values ($1, 1, $3)
on conflict (key) do update set
	tries = case when t.expires_at <= $2 then 1 else least(t.tries + 1, 1000000) end,
	expires_at = case when t.expires_at <= $2 then $3 else t.expires_at end
returning tries`

	// Tries in a row are forgotten a while after the last one that was allowed.
	sqlCountInARow = `
insert into sign_in_tries as t (key, tries, expires_at) values ($1, 1, $3)
on conflict (key) do update set
	tries = case when t.expires_at <= $2 then 1 else least(t.tries + 1, 1000000) end,
	expires_at = case when t.expires_at > $2 and t.tries >= $4 then t.expires_at else $3 end
returning tries`

	// The name starts afresh; the address gets this one try back.
	sqlGiveBack = `
with forgotten as (delete from sign_in_tries where key = $1)
update sign_in_tries set tries = greatest(tries - 1, 0) where key = $2`

	sqlForgetTriesOf = `delete from sign_in_tries where key = $1`

	sqlForgetTries = `delete from sign_in_tries where key = any (array(select key from sign_in_tries where expires_at <= $1 limit $2))`
	sqlForgetHalf  = `delete from half_sign_ins where id = any (array(select id from half_sign_ins where expires_at <= $1 limit $2))`
	sqlForgetLinks = `delete from mailed_links where digest = any (array(select digest from mailed_links where expires_at <= $1 limit $2))`
)

const sqlSessionAddresses = `select distinct address from sessions where user_id = $1 and expires_at > $2 and address <> '' limit 1000`

const (
	// What the same account left half done is dropped.
	sqlBeginHalf = `
with stale as (delete from half_sign_ins where user_id = $1 and expires_at <= $3)
insert into half_sign_ins (user_id, digest, created_at, expires_at) values ($1, $2, $3, $4)`

	sqlHalf      = `select user_id from half_sign_ins where digest = $1 and expires_at > $2`
	sqlEndHalf   = `delete from half_sign_ins where digest = $1 returning user_id`
	sqlEndHalves = `delete from half_sign_ins where user_id = $1`
)

const (
	sqlSecret = `select sealed, last_step, confirmed_at from one_time_secrets where user_id = $1`

	// A secret that is in use is not replaced.
	sqlPutSecret = `
insert into one_time_secrets as o (user_id, sealed, created_at) values ($1, $2, $3)
on conflict (user_id) do update set sealed = excluded.sealed, last_step = 0, created_at = excluded.created_at
where o.confirmed_at is null`

	// Of all who show one code at once, one finds the step unused.
	sqlUseStep       = `update one_time_secrets set last_step = $2 where user_id = $1 and last_step < $2 and confirmed_at is not null`
	sqlConfirmSecret = `
update one_time_secrets set last_step = $2, confirmed_at = $3 where user_id = $1 and confirmed_at is null and sealed = $4`
	sqlDropSecret = `delete from one_time_secrets where user_id = $1`

	sqlUseRecovery   = `delete from recovery_codes where user_id = $1 and digest = $2`
	sqlDropRecovery  = `delete from recovery_codes where user_id = $1`
	sqlAddRecovery   = `insert into recovery_codes (user_id, digest) select $1, unnest($2::bytea[])`
	sqlCountRecovery = `select count(*) from recovery_codes where user_id = $1`
)

const (
	sqlPutLink = `
insert into mailed_links (user_id, purpose, address, digest, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)
on conflict (user_id, purpose, address) do update set digest = excluded.digest, created_at = excluded.created_at,
	expires_at = excluded.expires_at, sent_at = null`

	sqlLinkSent  = `update mailed_links set sent_at = $2 where digest = $1`
	sqlLinkLives = `
select exists (select 1 from mailed_links
	where user_id = $1 and purpose = $2 and address = $3 and expires_at > $4 and sent_at is not null)`

	sqlLink      = `select user_id, address from mailed_links where digest = $1 and purpose = $2 and expires_at > $3`
	sqlUseLink   = `delete from mailed_links where digest = $1 and purpose = $2 and expires_at > $3`
	sqlDropLinks = `delete from mailed_links where user_id = $1 and purpose = $2`
)

const (
	sqlKeys       = `select id, name, created_at, last_used_at from security_keys where user_id = $1 order by id limit $2`
	sqlLockKeys   = `select id, name, created_at, last_used_at from security_keys where user_id = $1 order by id limit $2 for update`
	sqlStoredKeys = `
select id, credential_id, public_key, sign_count, backup_eligible, transports from security_keys where user_id = $1 order by id limit $2`

	sqlAddKey = `
insert into security_keys (user_id, name, credential_id, public_key, sign_count, backup_eligible, transports, created_at)
select $1, $2, $3, $4, $5, $6, $7, $8 where (select count(*) from security_keys where user_id = $1) < $9`
	sqlRemoveKey = `delete from security_keys where id = $1`
	sqlDropKeys  = `delete from security_keys where user_id = $1`

	// A counter goes up; a key without one stays at zero.
	sqlUseKey = `
update security_keys set sign_count = $3, last_used_at = $4
where user_id = $1 and credential_id = $2 and (sign_count < $3 or sign_count = 0 and $3 = 0)`

	sqlHasKey    = `select exists (select 1 from security_keys where user_id = $1)`
	sqlHasApp    = `select exists (select 1 from one_time_secrets where user_id = $1 and confirmed_at is not null)`
	sqlHasFactor = `
select exists (select 1 from security_keys where user_id = $1)
	or exists (select 1 from one_time_secrets where user_id = $1 and confirmed_at is not null)`

	sqlAsk = `
insert into key_challenges (holder, user_id, purpose, challenge, expires_at) values ($1, $2, $3, $4, $5)
on conflict (holder) do update set user_id = excluded.user_id, purpose = excluded.purpose, challenge = excluded.challenge,
	expires_at = excluded.expires_at`
	sqlAsked    = `select challenge from key_challenges where holder = $1 and user_id = $2 and expires_at > $3`
	sqlAnswered = `delete from key_challenges where holder = $1 and user_id = $2 and expires_at > $3 returning challenge`

	sqlForgetChallenges = `
delete from key_challenges where holder = any (array(select holder from key_challenges where expires_at <= $1 limit $2))`
	sqlDropChallenges = `delete from key_challenges where user_id = $1`
)
