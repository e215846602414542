package user

// sshKeyColumns are those of SSHKey, from ssh_keys k joined to users u.
const sshKeyColumns = `k.id, k.user_id, u.name as owner_name, k.title, k.key, k.fingerprint_md5, k.fingerprint_sha256, k.usage_type,
	k.expires_at, k.created_at, k.updated_at`

const (
	sqlSSHKeyOf       = `select ` + sshKeyColumns + ` from ssh_keys k join users u on u.id = k.user_id where k.user_id = $1 and k.id = $2`
	sqlSSHKey         = `select ` + sshKeyColumns + ` from ssh_keys k join users u on u.id = k.user_id where k.id = $1 and u.removal is null`
	sqlSSHKeyBySHA256 = `select ` + sshKeyColumns + ` from ssh_keys k join users u on u.id = k.user_id
where k.fingerprint_sha256 = $1 and u.removal is null`
	sqlSSHKeyByMD5 = `select ` + sshKeyColumns + ` from ssh_keys k join users u on u.id = k.user_id
where k.fingerprint_md5 = $1 and u.removal is null order by k.id limit 1`
	sqlInsertSSHKey = `
with k as (insert into ssh_keys (user_id, title, key, fingerprint_md5, fingerprint_sha256, usage_type, expires_at, created_at, updated_at)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $8) returning *)
select ` + sshKeyColumns + ` from k join users u on u.id = k.user_id`
	sqlDeleteSSHKey = `delete from ssh_keys where user_id = $1 and id = $2`
)
