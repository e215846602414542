package variable

const columns = `v.id, v.key, v.sealed_value, v.variable_type, v.protected, v.masked, v.raw, v.description`

const (
	sqlByKey = `select ` + columns + ` from instance_variables v where v.key = $1`
	sqlLock  = sqlByKey + ` for update`

	// One writer at a time, so that the count below still holds at the insert. Readers do not wait.
	sqlLockAll = `lock table instance_variables in share row exclusive mode`
	sqlRoom    = `select count(*) as used, coalesce(bool_or(key = $1), false) as taken from instance_variables`
	sqlCreate  = `insert into instance_variables
	(key, sealed_value, variable_type, protected, masked, raw, description, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
returning id`
	sqlUpdate = `update instance_variables
set sealed_value = $2, variable_type = $3, protected = $4, masked = $5, raw = $6, description = $7, updated_at = $8
where id = $1`
	sqlDelete = `delete from instance_variables where key = $1 returning id`
)
