package owner

const (
	sqlHoldGroup   = `select 1 from namespaces where id = $1 and not removal for key share`
	sqlHoldProject = `select 1 from projects where id = $1 and not removal for key share`

	sqlLineageOfGroup     = `select lineage from namespaces where id = $1`
	sqlLineageOfProject   = `select n.lineage from projects p join namespaces n on n.id = p.namespace_id where p.id = $1`
	sqlLineagesOfProjects = `select p.id, n.lineage from projects p join namespaces n on n.id = p.namespace_id where p.id = any($1::bigint[])`
	sqlLockNames          = `select pg_advisory_xact_lock(7421, hashint8($1))`
)
