package user

// StandingColumns are those of AccountState, from a table called u.
const StandingColumns = `u.id, u.username, u.name, u.email, u.confirmed_at, u.state, u.kind, u.admin, u.auditor, u.external,
	u.can_create_group, u.password_expires_at, u.last_activity_on`

// Columns are those of User, from a table called u.
const Columns = `u.id, u.namespace_id, u.username, u.name, u.email, u.unconfirmed_email, u.confirmed_at, u.state, u.kind,
	u.admin, u.auditor, u.external, u.private_profile, u.locked_at, u.password_expires_at, u.two_factor_enabled,
	u.bio, u.location, u.public_email, u.commit_email, u.skype, u.linkedin, u.twitter, u.discord, u.website_url,
	u.organization, u.job_title, u.pronouns, u.timezone, u.note, u.avatar, u.theme_id, u.color_scheme_id,
	u.projects_limit, u.can_create_group, u.view_diffs_file_by_file, u.show_whitespace_in_diffs,
	u.pass_user_identities_to_ci_jwt, u.shared_runners_minutes_limit, u.extra_shared_runners_minutes_limit,
	u.followers, u.following, u.last_activity_on, u.last_sign_in_at, u.current_sign_in_at, u.last_sign_in_ip,
	u.current_sign_in_ip, u.sign_in_count, u.email_reset_offered_at, u.created_by_id, u.created_at, u.updated_at,
	(select coalesce(jsonb_agg(jsonb_build_object('provider', i.provider, 'extern_uid', i.extern_uid,
		'saml_provider_id', i.saml_provider_id) order by i.id), '[]') from identities i where i.user_id = u.id) as identities`

// briefColumns are those of Brief, from a table called u.
const briefColumns = `u.id, u.username, u.name, u.state, u.kind, u.locked_at, u.avatar`

const (
	sqlByID       = `select ` + Columns + ` from users u where u.id = $1 and u.removal is null`
	sqlByUsername = `select ` + Columns + ` from users u where lower(u.username) = lower($1) and u.removal is null`
	sqlLock       = `select ` + Columns + ` from users u where u.id = $1 and u.removal is null for no key update of u`

	sqlAmong  = `select ` + Columns + ` from users u where u.id = any($1::bigint[]) and u.removal is null`
	sqlBriefs = `select ` + briefColumns + ` from users u where u.id = any($1::bigint[])`

	sqlInsert = `
insert into users (username, name, email, confirmed_at, state, kind, admin, auditor, external, private_profile, password_hash,
	password_expires_at, bio, location, public_email, commit_email, skype, linkedin, twitter, discord, website_url, organization,
	job_title, pronouns, note, theme_id, color_scheme_id, projects_limit, can_create_group, view_diffs_file_by_file,
	shared_runners_minutes_limit, extra_shared_runners_minutes_limit, group_id_for_saml, created_by_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
	$27, $28, $29, $30, $31, $32, $33, $34, $35, $35)
returning id, namespace_id`

	sqlUpdate = `
update users set username = $2, name = $3, email = $4, unconfirmed_email = $5, confirmed_at = $6, admin = $7, auditor = $8,
	external = $9, private_profile = $10, bio = $11, location = $12, public_email = $13, commit_email = $14, skype = $15,
	linkedin = $16, twitter = $17, discord = $18, website_url = $19, organization = $20, job_title = $21, pronouns = $22, note = $23,
	theme_id = $24, color_scheme_id = $25, projects_limit = $26, can_create_group = $27, view_diffs_file_by_file = $28,
	shared_runners_minutes_limit = $29, extra_shared_runners_minutes_limit = $30, updated_at = $31
where id = $1`

	sqlSetPassword     = `update users set password_hash = $2, password_expires_at = $3 where id = $1`
	sqlSetState        = `update users set state = $2, updated_at = $3 where id = $1`
	sqlMarkRemoval     = `update users set state = 'blocked', removal = $2, updated_at = $3 where id = $1`
	sqlLockRemoval     = `select removal from users where id = $1 and removal is not null for update`
	sqlDelete          = `delete from users where id = $1 and removal is not null`
	sqlPendingRemovals = `select id from users where removal is not null order by id limit $1`
	sqlOwnID           = `select id from users where kind = $1`

	sqlClaimAddress  = `insert into email_claims (address, user_id) values ($1, $2)`
	sqlAddressOwner  = `select user_id from email_claims where address = $1`
	sqlSecondary     = `select id, email, confirmed_at from emails where user_id = $1 and address = $2`
	sqlSwapSecondary = `update emails set email = $3, address = $4, confirmed_at = $5, updated_at = $6 where id = $1 and user_id = $2`
	sqlVerified      = `select address from emails where user_id = $1 and confirmed_at is not null limit 1000`
	sqlUsernameTaken = `select exists (select 1 from users where lower(username) = lower($1) and id <> $2)`
	sqlPutIdentity   = `
insert into identities (user_id, provider, extern_uid, created_at, updated_at) values ($1, $2, $3, $4, $4)
on conflict (user_id, provider) do update set extern_uid = excluded.extern_uid, updated_at = excluded.updated_at`
	sqlDeleteIdentity = `delete from identities where user_id = $1 and provider = $2`

	sqlFollowedAmong = `select followed_id from follows where follower_id = $1 and followed_id = any($2::bigint[])`
)
