package repository

// columns are those of Repository.
const columns = `project_id, storage, generation, state, read_only, empty, pushed_at`

// pushColumns are those of Push.
const pushColumns = `id, project_id, text_id, user_id, via, state, updates, options, created_at`

const (
	sqlFind = `select ` + columns + ` from repositories where project_id = $1`
	// The project shows where its repository lies.
	sqlPlan = `
with chosen as (update projects set storage = $2 where id = $1 and storage <> $2)
insert into repositories (project_id, storage, state, created_at) values ($1, $2, $3, $4) on conflict (project_id) do nothing`
	sqlSetState = `update repositories set state = $3 where project_id = $1 and state = $2`
	sqlFilled   = `update repositories set state = 'ready', empty = $2, pushed_at = $3 where project_id = $1 and state = 'copying'`
	sqlOnDisk   = `select ` + columns + ` from repositories where project_id = $1 for update`
	// It says whether the repository was empty before.
	sqlMarkPushed = `
with was as (select empty from repositories where project_id = $1 for update)
update repositories set pushed_at = $2, empty = false from was where project_id = $1 returning was.empty`
)

const (
	sqlNextPush = `select nextval(pg_get_serial_sequence('pushes', 'id'))`
	sqlIntend   = `
insert into pushes (id, project_id, text_id, user_id, via, state, updates, options, created_at)
values ($1, $2, $3, $4, $5, 'pending', $6, $7, $8)`
	sqlSettle      = `update pushes set state = $2, updates = $3, settled_at = $4 where id = $1 and state = 'pending'`
	sqlPending     = `select ` + pushColumns + ` from pushes where state = 'pending' and id > $1 order by id limit $2`
	sqlHasCode     = `select exists (select 1 from repositories where project_id = $1 and state = 'ready' and not empty)`
	sqlPushed      = `select exists (select 1 from pushes where user_id = $2 and project_id = $1 and state = 'done')`
	sqlPendingPush = `select ` + pushColumns + ` from pushes where id = $1 and state = 'pending'`
	// What others did to a repository since a push was begun.
	sqlSince     = `select ` + pushColumns + ` from pushes where project_id = $1 and ` + since
	sqlTextSince = `select ` + pushColumns + ` from pushes where text_id = $1 and ` + since
	since        = `id <> $2 and (id > $2 or settled_at >= $3 or state = 'pending') order by id desc limit $4`
)
