package app

const (
	sqlPutCanary = `insert into key_canary (fingerprint, canary) values ($1, $2) on conflict do nothing`
	sqlCanary    = `select fingerprint, canary from key_canary`

	sqlKeyMet = `select fingerprint from key_canary`

	sqlServerVersion = `show server_version`
)
