package user

const (
	sqlLoginByID = `select ` + Columns + `, u.password_hash from users u where u.id = $1 and u.removal is null`

	sqlLoginByUsername = `select ` + Columns + `, u.password_hash from users u where lower(u.username) = lower($1) and u.removal is null`

	// Every address is claimed once; a secondary one counts when it is confirmed.
	sqlLoginByAddress = `
select ` + Columns + `, u.password_hash
from email_claims c join users u on u.id = c.user_id
where c.address = $1 and u.removal is null
	and not exists (select 1 from emails e where e.user_id = c.user_id and e.address = c.address and e.confirmed_at is null)`

	sqlSignedIn = `
update users set last_sign_in_at = current_sign_in_at, last_sign_in_ip = current_sign_in_ip, current_sign_in_at = $2,
	current_sign_in_ip = $3, sign_in_count = sign_in_count + 1, locked_at = null, last_activity_on = ($2::timestamptz at time zone 'utc')::date
where id = $1`

	sqlLockOut      = `update users set locked_at = $2 where id = $1`
	sqlSetTwoFactor = `update users set two_factor_enabled = $2, updated_at = $3 where id = $1`

	sqlUnconfirmed = `
select email from (
	select u.email, 0 as place from users u where u.id = $1 and u.confirmed_at is null and u.removal is null
	union all
	select e.email, e.id from emails e where e.user_id = $1 and e.confirmed_at is null
) addresses order by place limit 100`

	sqlConfirmPrimary   = `update users set confirmed_at = $2, updated_at = $2 where id = $1 and confirmed_at is null`
	sqlConfirmSecondary = `update emails set confirmed_at = $3, updated_at = $3 where user_id = $1 and address = $2 and confirmed_at is null`

	sqlAdministrators = `
select id from users where admin and kind = $1 and state = $2 and confirmed_at is not null and removal is null
order by last_activity_on desc nulls last, id limit $3`

	sqlCountPending = `
select count(*) from (select from users where state <> 'active' and state = $1 and removal is null limit $2) waiting`

	sqlUnlock = `update users set locked_at = null where id = $1 and locked_at <= $2`
)
