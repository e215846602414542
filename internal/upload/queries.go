package upload

const columns = `u.id, u.project_id, u.filename, u.blob_key, u.size`

const (
	sqlStoring = `
insert into uploads (project_id, user_id, state, digest, filename, blob_key, created_at, updated_at)
values ($1, $2, 'storing', $3, $4, $5, $6, $6) returning id`
	sqlStored = `
update uploads as u set state = 'stored', size = $2, sha256 = $3, updated_at = $4
where u.id = $1 and u.state = 'storing'
returning ` + columns
	sqlGiveUp = `update uploads set state = 'removing', updated_at = $2 where id = $1 and state = 'storing'`
	sqlFind   = `select ` + columns + ` from uploads u where u.project_id = $1 and u.digest = $2 and u.state = 'stored'`

	sqlOpenPictures = `select coalesce((settings->>'enforce_auth_checks_on_uploads')::boolean, true) = false from projects where id = $1 and not removal`

	sqlAbandon = `
update uploads set state = 'removing', updated_at = $1 where id in (
	select id from uploads where state = 'storing' and updated_at < $2
	order by updated_at, id limit $3 for update skip locked)`
	sqlDoomed = `
select id, blob_key from uploads where state = 'removing' and updated_at <= $1 order by updated_at, id limit $2`
	sqlForget    = `delete from uploads where id = any($1) and state = 'removing'`
	sqlDoomAllOf = `
update uploads set state = 'removing', updated_at = $2 where id in (
	select id from uploads where project_id = $1 and state <> 'removing' order by id limit $3 for update)`
)
