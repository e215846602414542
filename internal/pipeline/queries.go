package pipeline

const (
	pipelineColumns = `id, project_id, iid, sha, before_sha, ref, tag, status, source, name, failure_reason, yaml_errors, auto_cancel, fail_fast,
	user_id, push_id, schedule_id, parent_id, root_id, child, depth, committed_at, started_at, finished_at, created_at, updated_at`
	jobColumns = `id, project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, failure_reason, exit_code, run_when,
	allow_failure, needs, tags, interruptible, retried, retries, start_in, scheduled_at, environment, resource_group_id, downstream_id,
	runner_id, coverage, debug_log, created_at, queued_at, started_at, finished_at, erased_at, updated_at`
)

const (
	sqlPipeline   = `select ` + pipelineColumns + ` from pipelines where id = $1`
	sqlPipelineOf = `select ` + pipelineColumns + ` from pipelines where project_id = $1 and id = $2`
	sqlJob        = `select ` + jobColumns + ` from jobs where id = $1`
	sqlJobOf      = `select ` + jobColumns + ` from jobs where project_id = $1 and id = $2`
	sqlSpec       = `select document from job_specs where id = $1`
	sqlPipelineID = `select pipeline_id from jobs where id = $1`

	// sqlRules are the rules that added some jobs, in words.
	sqlRules = `select id, coalesce(convert_from(document, 'UTF8')::json->>'because', '') as because from job_specs where id = any($1::bigint[])`
	sqlHeld  = `
select g.id, g.key, coalesce(j.name || ' of pipeline #' || j.pipeline_id, '') as holder
from resource_groups g left join jobs j on j.id = g.holder_id and not j.retried and j.status in ('pending', 'preparing', 'running')
where g.id = any($1::bigint[])`
	sqlShownJobs = `select ` + jobColumns + ` from jobs where pipeline_id = $1 and not retried order by stage_index, id limit $2`

	// The pipeline is locked before any of its jobs is looked at.
	sqlLockPipeline = `select ` + pipelineColumns + ` from pipelines where id = $1 for no key update`
	sqlLatestJobs   = `select ` + jobColumns + ` from jobs where pipeline_id = $1 and not retried order by id limit 100000`

	// What a claim reads and writes of a job: the lock first.
	sqlLockPipelineOf = `select ` + pipelineColumns + ` from pipelines where id = (select pipeline_id from jobs where id = $1) for no key update`
	// Whoever starts a job of a pipeline that runs changes nothing of the pipeline,
	// and so need not wait for others who do the same: one of them starts the job.
	// A row that came to a halt while the lock was waited for is locked although it
	// is not found, until the share is undone.
	sqlBeginShare     = `savepoint share`
	sqlUndoShare      = `rollback to savepoint share`
	sqlShareRunningOf = `select ` + pipelineColumns + ` from pipelines where id = (select pipeline_id from jobs where id = $1)
		and status = 'running' and started_at is not null for share`
	sqlWaitingJob = `select ` + jobColumns + ` from jobs where id = $1 and status = 'pending' and not retried and not bridge`
	sqlSpecOf     = `select s.document from jobs j join job_specs s on s.id = j.spec_id where j.id = $1`
	sqlStart      = `update jobs set status = $2, runner_id = $3, started_at = $4, updated_at = $4, debug_log = false where id = $1 and status = 'pending'`

	// Nothing takes the mark away again.
	sqlMarkDebugLog = `update jobs set debug_log = true where id = $1 and debug_log is not true`

	sqlUpdateJob = `
update jobs set status = $2, failure_reason = $3, exit_code = $4, allow_failure = $5, retried = $6, scheduled_at = $7, downstream_id = $8,
	runner_id = $9, coverage = $10, queued_at = $11, started_at = $12, finished_at = $13, updated_at = $14, user_id = $15
where id = $1`
	sqlUpdatePipeline = `update pipelines set status = $2, started_at = $3, finished_at = $4, updated_at = $5 where id = $1`

	sqlCopyJob = `
insert into jobs (project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, run_when, allow_failure, needs, tags,
	interruptible, retries, start_in, environment, resource_group_id, created_at, updated_at)
select project_id, pipeline_id, spec_id, $2, bridge, name, stage, stage_index, 'created', run_when, $3, needs, tags, interruptible, $4, start_in,
	environment, resource_group_id, $5, $5
from jobs where id = $1 returning ` + jobColumns

	sqlLineage = `select n.lineage from projects p join namespaces n on n.id = p.namespace_id where p.id = $1`

	// A resource is taken by one job at a time.
	sqlTakeResource    = `update resource_groups set holder_id = $2 where id = $1 and holder_id is null and process_mode = 'unordered'`
	sqlReleaseResource = `update resource_groups set holder_id = null where holder_id = $2 and id = $1`
)
