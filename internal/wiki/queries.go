package wiki

const (
	// The first is the group or personal namespace, the second the project; one of them is null.
	sqlFind         = `select repository_id from wikis where namespace_id = $1 or project_id = $2`
	sqlInsert       = `insert into wikis (namespace_id, project_id, repository_id, created_at) values ($1, $2, $3, $4) on conflict do nothing`
	sqlOfRepository = `select namespace_id, project_id from wikis where repository_id = $1`
)
