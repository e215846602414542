package variable

// ownedColumns are those of ownedRow.
const ownedColumns = `v.id, v.namespace_id, v.project_id, v.key, v.environment_scope, v.sealed_value, v.variable_type, v.protected, v.masked, v.hidden,
	v.raw, v.description`

// ofOwner is the condition that a row belongs to an owner, given by its two
// keys, one of which is null.
const ofOwner = `(v.namespace_id = $1 or v.project_id = $2)`

const (
	// Two are enough to know that a key alone does not say which.
	sqlInOwner     = `select ` + ownedColumns + ` from variables v where ` + ofOwner + ` and v.key = $3 and ($4::text is null or v.environment_scope = $4) order by v.id limit 2`
	sqlLockInOwner = `select ` + ownedColumns + ` from variables v where ` + ofOwner + ` and v.id = $3 for update`
	sqlCountIn     = `select count(*) from (select 1 from variables v where ` + ofOwner + ` limit $3) n`
	sqlCreateIn    = `
insert into variables (namespace_id, project_id, key, environment_scope, sealed_value, variable_type, protected, masked, hidden, raw, description,
	created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
returning id`
	sqlUpdateIn = `
update variables set environment_scope = $2, sealed_value = $3, variable_type = $4, protected = $5, masked = $6, raw = $7, description = $8, updated_at = $9
where id = $1`
	sqlDeleteIn = `delete from variables v where ` + ofOwner + ` and v.id = $3`

	// What a job may be given; which of a key's it is follows from the scopes.
	sqlOfProject  = `select ` + ownedColumns + ` from variables v where v.project_id = $1 and ($2 or not v.protected) order by v.id limit 10000`
	sqlOfGroups   = `select ` + ownedColumns + ` from variables v where v.namespace_id = any($1) and ($2 or not v.protected) order by v.id limit 100000`
	sqlOfInstance = `select ` + columns + ` from instance_variables v where $1 or not v.protected order by v.id limit 10000`
)
