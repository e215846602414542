package repository

const (
	sqlPlanImport    = `insert into repository_imports (project_id, url, login, created_at) values ($1, $2, $3, $4)`
	sqlPendingImport = `select project_id, url, login from repository_imports where project_id = $1`
	sqlForgetImport  = `delete from repository_imports where project_id = $1`
	sqlEndImport     = `update repositories set state = $2, empty = $3 where project_id = $1 and state = 'importing'`
)
