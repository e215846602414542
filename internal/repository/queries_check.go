package repository

const (
	sqlToCheck = `
select r.project_id, r.storage, r.generation, r.state, r.read_only, r.empty, r.pushed_at, n.full_path || '/' || p.path as path
from repositories r join projects p on p.id = r.project_id join namespaces n on n.id = p.namespace_id
where r.project_id > $1 and r.state = 'ready' order by r.project_id limit $2`
	sqlCountToCheck = `select count(*) from repositories where state = 'ready'`
	sqlStillThere   = `select exists (select from repositories where project_id = $1 and storage = $2 and generation = $3)`
	sqlLatestPush   = `select updates from pushes where project_id = $1 and state = 'done' order by id desc limit 1`
)
