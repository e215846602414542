package deploykey

// columns are those of Key, from deploy_keys k joined to deploy_key_projects p.
const columns = `k.id, k.title, k.key, k.fingerprint_md5, k.fingerprint_sha256, k.created_by_id, k.expires_at, k.created_at, p.can_push`

const (
	sqlFind = `select ` + columns + `
from deploy_key_projects p join deploy_keys k on k.id = p.deploy_key_id where p.project_id = $1 and k.id = $2`

	sqlByFingerprint = `select k.id, k.title, k.key, k.fingerprint_md5, k.fingerprint_sha256, k.created_by_id, k.expires_at, k.created_at,
	false as can_push
from ssh_fingerprints f join deploy_keys k on k.id = f.deploy_key_id where f.fingerprint = $1`

	sqlInsert = `
with k as (insert into deploy_keys (title, key, fingerprint_md5, fingerprint_sha256, created_by_id, expires_at, created_at)
		values ($2, $3, $4, $5, $6, $7, $8) returning *),
	p as (insert into deploy_key_projects (project_id, deploy_key_id, can_push, created_at) select $1, k.id, $9, $8 from k returning *)
select ` + columns + ` from k join p on p.deploy_key_id = k.id`

	sqlRename  = `update deploy_keys set title = $2 where id = $1`
	sqlAllow   = `update deploy_key_projects set can_push = $3 where project_id = $1 and deploy_key_id = $2`
	sqlEnable  = `insert into deploy_key_projects (project_id, deploy_key_id, created_at) values ($1, $2, $3) on conflict do nothing`
	sqlDisable = `delete from deploy_key_projects where project_id = $1 and deploy_key_id = $2`

	// A key that no project has proves nothing any more, unless it is for all.
	sqlForget = `
delete from deploy_keys k where k.id = $1 and not k.open
	and not exists (select 1 from deploy_key_projects p where p.deploy_key_id = k.id)`

	// The projects of a key, a few: whoever maintains one of them may take it.
	sqlHomes = `select p.project_id from deploy_key_projects p where p.deploy_key_id = $1 order by p.project_id limit 100`

	sqlOpen = `select exists (select 1 from deploy_keys where id = $1 and open)`

	// Other projects than this one have the key.
	sqlShared = `select exists (select 1 from deploy_key_projects where deploy_key_id = $1 and project_id <> $2)`
)
