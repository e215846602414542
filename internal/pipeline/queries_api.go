package pipeline

const (
	sqlPipelinesAmong = `select ` + pipelineColumns + ` from pipelines where id = any($1::bigint[])`

	sqlLatest           = `select ` + pipelineColumns + ` from pipelines where project_id = $1 and ref = $2 and not child order by id desc limit 1`
	sqlLatestOfSchedule = `select ` + pipelineColumns + ` from pipelines where schedule_id = $1 order by id desc limit 1`
	sqlLatestSuccessful = `select ` + pipelineColumns + ` from pipelines
		where project_id = $1 and ref = $2 and status = 'success' and not child order by id desc limit 1`
	sqlNamedIn = `select ` + jobColumns + ` from jobs
		where pipeline_id in (select $1::bigint union all (select id from pipelines where parent_id = $1 and child order by id desc limit 1000))
		and name = $2 and not retried and not bridge order by id desc limit 1`
	sqlBuildsOf = `select ` + jobColumns + ` from jobs where pipeline_id = $1 and not retried and not bridge order by id limit 5000`
	sqlWarnings = `select exists (select from jobs where pipeline_id = $1 and not retried and not bridge and allow_failure
		and status in ('failed', 'canceled'))`
	sqlWarned = `select distinct pipeline_id from jobs where pipeline_id = any($1::bigint[]) and not retried and not bridge and allow_failure
		and status in ('failed', 'canceled')`
	// sqlSpans are the times that something of pipelines ran, the retried records too.
	sqlSpans = `select pipeline_id, started_at, coalesce(finished_at, $2) as finished_at from jobs where pipeline_id = any($1) and started_at is not null
		order by pipeline_id, started_at, id limit 100000`
	sqlCoverage = `select avg(coverage) from jobs where pipeline_id = $1 and not retried and coverage is not null`

	// Whether a pipeline is another one of the same project, or a child of it, at
	// any depth.
	sqlFollows = `
with recursive up(id, parent_id, level) as (
	select id, parent_id, 1 from pipelines where id = $1 and project_id = $3
	union all
	select p.id, p.parent_id, up.level + 1 from up join pipelines p on p.id = up.parent_id and p.project_id = $3 where up.level < 100
)
select exists (select from up where id = $2)`

	sqlJobIDsAfter = `select id from jobs where project_id = $1 and id > $2 order by id limit $3`
)
