package pipeline

const groupColumns = `id, project_id, key, process_mode, created_at, updated_at`

const (
	sqlResourceGroup    = `select ` + groupColumns + ` from resource_groups where project_id = $1 and key = $2`
	sqlSetResourceGroup = `update resource_groups set process_mode = $3, updated_at = $4 where project_id = $1 and key = $2 returning ` + groupColumns
)
