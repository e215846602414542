package user

const gpgKeyColumns = `k.id, k.user_id, k.key, k.fingerprint, k.primary_keyid, k.created_at`

const (
	sqlGPGKey       = `select ` + gpgKeyColumns + ` from gpg_keys k where k.user_id = $1 and k.id = $2`
	sqlInsertGPGKey = `
insert into gpg_keys as k (user_id, key, fingerprint, primary_keyid, created_at) values ($1, $2, $3, $4, $5)
on conflict (fingerprint) do nothing returning ` + gpgKeyColumns
	sqlSameGPGKey   = `select exists (select from gpg_keys where fingerprint = $1 and key = $2)`
	sqlDeleteGPGKey = `delete from gpg_keys where user_id = $1 and id = $2`
)
