package repository

const (
	sqlToCheck = `
select r.project_id as id, r.storage, r.generation, r.empty, n.full_path || '/' || p.path as path
from repositories r join projects p on p.id = r.project_id join namespaces n on n.id = p.namespace_id
where r.project_id > $1 and r.state = 'ready' order by r.project_id limit $2`
	sqlCountToCheck = `select count(*) from repositories where state = 'ready'`
	sqlStillThere   = `select exists (select from repositories where project_id = $1 and storage = $2 and generation = $3)`
	sqlLatestPush   = `select updates from pushes where project_id = $1 and state = 'done' order by id desc limit 1`

	sqlTextsToCheck = `
select id, storage, 0::bigint as generation, empty, 'repository of texts ' || id as path
from text_repositories where id > $1 and state = 'ready' order by id limit $2`
	sqlCountTextsToCheck = `select count(*) from text_repositories where state = 'ready'`
	sqlTextStillThere    = `select exists (select from text_repositories where id = $1 and storage = $2 and state = 'ready' and $3::bigint = 0)`
	sqlLatestTextPush    = `select updates from pushes where text_id = $1 and state = 'done' order by id desc limit 1`
)
