package pipeline

const (
	sqlNextIID = `insert into pipeline_counters (project_id, last) values ($1, 1)
		on conflict (project_id) do update set last = pipeline_counters.last + 1 returning last`
	sqlInsertPipeline = `
insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, name, failure_reason, yaml_errors, auto_cancel, fail_fast, user_id,
	push_id, schedule_id, parent_id, root_id, child, depth, committed_at, created_at, updated_at, locked)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $22, $23) returning id`
	sqlPipelineOfPush = `select ` + pipelineColumns + ` from pipelines where push_id = $1 and tag = $2 and ref = $3`
	sqlInsertJob      = `
with spec as (insert into job_specs (pipeline_id, document) values ($2, $3) returning id)
insert into jobs (project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, run_when, allow_failure, needs, tags,
	interruptible, start_in, environment, resource_group_id, created_at, updated_at)
select $1, $2, spec.id, $4, $5, $6, $7, $8, 'created', $9, $10, $11, $12, $13, $14, $15, $16, $17, $17 from spec`
	sqlInsertVariable = `insert into pipeline_variables (pipeline_id, key, value, file, raw, position) values ($1, $2, $3, $4, $5, $6)`
	sqlVariables      = `select key, value, file, raw from pipeline_variables where pipeline_id = $1 order by position, key limit 1000`

	sqlResourceID = `
insert into resource_groups (project_id, key, process_mode, created_at, updated_at) values ($1, $2, 'unordered', $3, $3)
on conflict (project_id, key) do update set key = excluded.key returning id`
	sqlInsertEnvironment = `
insert into environments (project_id, name, slug, state, tier, created_at, updated_at) values ($1, $2, $3, 'available', $4, $5, $5)
on conflict (project_id, name) do nothing`

	sqlRecentPipelines = `select count(*) from (select 1 from pipelines where project_id = $1 and user_id = $2 and sha = $3 and created_at > $4 limit $5) r`
	sqlRedundant       = `
select id from pipelines where project_id = $1 and ref = $2 and tag = $3 and id < $4 and sha <> $5 and created_at > $6 and not child
	and status in ('created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'manual', 'scheduled')
order by id limit 1000`
)
