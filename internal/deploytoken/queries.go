package deploytoken

// columns are those of Token, from a table called t.
const columns = `t.id, t.name, t.username, t.scopes, t.expires_at, t.revoked_at`

// ofOwner is the condition that a row belongs to an owner, given by its two
// keys, one of which is null.
const ofOwner = `(t.namespace_id = $1 or t.project_id = $2)`

const (
	sqlFind = `select ` + columns + ` from deploy_tokens t where ` + ofOwner + ` and t.id = $3`

	// A username that was not chosen ends in the id.
	sqlInsert = `
insert into deploy_tokens as t (id, namespace_id, project_id, name, username, digest, scopes, expires_at, created_by_id, created_at)
select n.id, $1, $2, $3, coalesce(nullif($4, ''), $5::text || n.id), $6, $7, $8, $9, $10
from (select nextval(pg_get_serial_sequence('deploy_tokens', 'id')) as id) n
returning ` + columns

	sqlBearer = `
select ` + columns + `, t.namespace_id, t.project_id from deploy_tokens t
where t.digest = $1 and t.username = $2 and t.revoked_at is null and (t.expires_at is null or t.expires_at > $3)`
	// Whether the project $1 stands in the group $2, at any depth.
	sqlInGroup = `select exists (select 1 from projects p join namespaces n on n.id = p.namespace_id
where p.id = $1 and n.lineage @> array[$2::bigint])`

	sqlDelete = `delete from deploy_tokens t where ` + ofOwner + ` and t.id = $3 returning ` + columns
)
