package pipeline

const (
	sqlGiveVariables = `insert into job_variables (job_id, value) values ($1, $2) on conflict (job_id) do update set value = excluded.value`
	sqlJobVariables  = `select value from job_variables where job_id = $1`

	sqlErase          = `update jobs set erased_at = $2, updated_at = $2 where id = $1 and erased_at is null returning ` + jobColumns
	sqlJobIDs         = `select id from jobs where pipeline_id = $1 order by id limit 100000`
	sqlDeletePipeline = `delete from pipelines where id = $1`

	// Whose turn it is. Who goes by the order of pipelines waits for those that
	// have not come so far.
	sqlNextWaiting = `select id, status from jobs where resource_group_id = $1 and not retried and status = 'waiting_for_resource'
		order by pipeline_id, id limit 1`
	sqlOldestFirst = `select id, status from jobs where resource_group_id = $1 and not retried
		and status in ('created', 'scheduled', 'waiting_for_resource') order by pipeline_id, id limit 1`
	sqlNewestFirst = `select id, status from jobs where resource_group_id = $1 and not retried
		and status in ('created', 'scheduled', 'waiting_for_resource') order by pipeline_id desc, id limit 1`
	sqlResourceMode = `select process_mode from resource_groups where id = $1`
	sqlHoldResource = `
update resource_groups g set holder_id = $2 where g.id = $1 and (g.holder_id is null or not exists (
	select 1 from jobs j where j.id = g.holder_id and not j.retried and j.status in ('pending', 'preparing', 'running')))`

	sqlLocked = `select id from pipelines where project_id = $1 and ref = $2 and tag = $3 and id < $4 and locked order by id limit $5`
	sqlUnlock = `
update pipelines set locked = false where id in (
	select id from pipelines where project_id = $1 and ref = $2 and tag = $3 and id < $4 and locked order by id limit $5 for no key update
) returning id`
	sqlJobsAmong = `select id from jobs where pipeline_id = any($1) order by id limit 1000000`
	sqlIsLocked  = `select locked from pipelines where id = $1 for share`

	sqlBridgeOf  = `select id from jobs where downstream_id = $1 order by id desc limit 1`
	sqlTreeSize  = `select count(*) from (select 1 from pipelines where root_id = $1 limit 1001) t`
	sqlUpstreams = `
with recursive up(id, parent_id, project_id, ref, source, level) as (
	select id, parent_id, project_id, ref, source, 1 from pipelines where id = $1
	union all
	select p.id, p.parent_id, p.project_id, p.ref, p.source, up.level + 1 from up join pipelines p on p.id = up.parent_id where up.level < 100
)
select count(*) from up where project_id = $2 and ref = $3 and source = $4`
	sqlLatestNamed = `select ` + jobColumns + ` from jobs where pipeline_id = $1 and name = $2 and not retried`
)
