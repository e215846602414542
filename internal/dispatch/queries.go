package dispatch

// serves is whose runners may take the jobs of a project p in a namespace n.
const serves = `(array[-p.id]
	|| case when coalesce((p.settings->>'shared_runners_enabled')::boolean, true) then array[0::bigint] else '{}' end
	|| case when coalesce((p.settings->>'group_runners_enabled')::boolean, true) then n.lineage else '{}' end)`

const queueColumns = `l.id, l.project_id, l.tags, l.protected, l.serves`

// Queues of pending jobs, and the jobs in them.
const (
	sqlQueue = `select ` + queueColumns + ` from job_lanes l where l.id = $1`

	sqlFindQueue = `select l.id from job_lanes l where l.project_id = $1 and l.protected = $2 and l.tags = $3`

	sqlAddQueue = `
insert into job_lanes (project_id, protected, tags, serves, created_at)
select p.id, $2, $3, ` + serves + `, $4 from projects p join namespaces n on n.id = p.namespace_id where p.id = $1
on conflict (project_id, protected, tags) do nothing`

	// What projects allow may have changed since their queues were made. Those
	// that have no jobs are left as they are.
	sqlRefreshQueues = `
update job_lanes l set serves = now.serves
from (
	select p.id, ` + serves + ` as serves from projects p join namespaces n on n.id = p.namespace_id
	where p.id in (select w.project_id from job_lanes w where exists (select from job_queue q where q.lane_id = w.id))
) now
where now.id = l.project_id and l.serves is distinct from now.serves`

	sqlSetServes = `update job_lanes set serves = $2 where project_id = $1 and serves is distinct from $2`

	sqlEnqueue = `insert into job_queue (job_id, lane_id, queued_at) values ($1, $2, $3) on conflict (job_id) do nothing`
	sqlTell    = `select pg_notify('` + channel + `', $1)`

	// A row that a claim holds is left to it: the claim finds out that the job
	// is no longer pending. Waiting for it would wait in a circle.
	sqlDequeue = `delete from job_queue where job_id in (select job_id from job_queue where job_id = $1 for update skip locked)`

	// The queues that a match may take from, with their oldest jobs. Runners of
	// the instance serve the project first that they serve least; the count, one
	// for each project, has an end, for beyond it nobody is starved.
	sqlRank = `
with mine as materialized (
	select ` + queueColumns + `, h.job_id as head
	from job_lanes l cross join lateral (select q.job_id from job_queue q where q.lane_id = l.id order by q.job_id limit 1) h
	where l.serves && $1 and l.tags <@ $2 and (l.protected or not $3) and ($4 or l.tags <> '{}')
), busy as materialized (
	select p.project_id, (
		select count(*) from (select from job_runs r where r.project_id = p.project_id and r.on_instance and r.ended_at is null limit 1000) r
	) as running
	from (select distinct project_id from mine where $5) p
)
select ` + queueColumns + `, l.head, coalesce(b.running, 0) as running
from mine l left join busy b on b.project_id = l.project_id
order by running, l.head
limit 1000`

	// The claim: one statement, one job, once. What decides at the moment of
	// hand-out comes with it, as it is now, and whether the queue has more.
	sqlTake = `
with t as (
	delete from job_queue where job_id = (
		select q.job_id from job_queue q where q.lane_id = $1 order by q.job_id limit 1 for update skip locked
	) returning job_id, queued_at
)
select t.job_id, t.queued_at, ` + serves + ` as serves, n.lineage, p.removal, coalesce(p.features->>'builds', 'enabled') = 'disabled' as ci_disabled,
	coalesce((p.settings->>'build_timeout')::bigint, 3600) as timeout,
	(select count(*) from (select from job_runs r where r.project_id = p.id and r.on_instance and r.ended_at is null limit 5) r) as running,
	exists (select from job_queue q where q.lane_id = $1 and q.job_id <> t.job_id) as more
from t, projects p join namespaces n on n.id = p.namespace_id where p.id = $2`

	sqlWaiting = `
select ` + queueColumns + ` from job_lanes l where exists (select from job_queue q where q.lane_id = l.id) order by l.id limit 10000`

	sqlDropQueues = `
delete from job_lanes where id in (
	select l.id from job_lanes l
	where l.created_at < $1 and not exists (select from job_queue q where q.lane_id = l.id)
	order by l.id limit $2 for update skip locked
)`
)

// Runs, and the tokens that prove them.
const (
	sqlAddRun = `
insert into job_runs (job_id, project_id, runner_id, on_instance, digest, started_at, contacted_at, deadline)
values ($1, $2, $3, $4, $5, $6, $6, $7)`

	sqlEndRun = `update job_runs set ended_at = $2 where job_id = $1 and ended_at is null`

	// The token is good for what it was given for, whatever became of the job;
	// whether it is alive is the job's status.
	sqlRun = `
select r.job_id, r.project_id, r.runner_id, r.started_at, r.contacted_at, r.deadline, j.status, j.user_id, j.pipeline_id, j.erased_at is not null as erased, p.removal
from job_runs r join jobs j on j.id = r.job_id join projects p on p.id = r.project_id
where r.digest = $1`

	sqlContact = `update job_runs set contacted_at = $2 where job_id = $1 and ended_at is null`

	// Runs that may have lapsed: never heard of, silent, or beyond their time.
	sqlLapsed = `
select r.job_id, r.started_at, r.contacted_at, r.deadline from (
	(select job_id, started_at, contacted_at, deadline from job_runs where ended_at is null and contacted_at < $1 and contacted_at = started_at order by contacted_at limit $4)
	union
	(select job_id, started_at, contacted_at, deadline from job_runs where ended_at is null and contacted_at < $2 order by contacted_at limit $4)
	union
	(select job_id, started_at, contacted_at, deadline from job_runs where ended_at is null and deadline < $3 order by deadline limit $4)
) r join jobs j on j.id = r.job_id and j.status = 'running' order by r.job_id`

	// Pending for too long, or for long without any runner that is not paused
	// and has been heard of and could take it.
	sqlStuck = `
select q.job_id from job_queue q join job_lanes l on l.id = q.lane_id
where q.queued_at < $1 or (q.queued_at < $2 and not exists (
	select from runners r
	where not r.paused and r.contacted_at > $3 and l.tags <@ r.tags and (l.tags <> '{}' or r.run_untagged)
	and (l.protected or r.access_level <> 'ref_protected')
	and case r.runner_type
		when 'instance_type' then l.serves @> array[0::bigint]
		when 'group_type' then l.serves @> array[r.namespace_id]
		else exists (select from runner_projects rp where rp.runner_id = r.id and rp.project_id = l.project_id)
	end
))
order by q.queued_at limit $4`
	sqlLateSchedules = `select id from jobs where status = 'scheduled' and scheduled_at < $1 order by scheduled_at, id limit $2`

	// A job that is in the queue but not pending, or pending but not in the
	// queue, is one that a transaction was lost for: none should be found.
	sqlStray = `delete from job_queue where job_id in (
	select q.job_id from job_queue q left join jobs j on j.id = q.job_id
	where q.queued_at < $1 and (j.id is null or j.status <> 'pending') order by q.job_id limit $2 for update of q skip locked
)`
	sqlLost = `
select j.id, j.project_id, j.tags, p.ref, p.tag from jobs j join pipelines p on p.id = j.pipeline_id
where j.status = 'pending' and not j.bridge and j.updated_at < $1 and not exists (select from job_queue q where q.job_id = j.id)
order by j.updated_at, j.id limit $2`

	sqlForgetRuns = `delete from job_runs where job_id in (
	select job_id from job_runs where ended_at < $1 order by ended_at limit $2 for update skip locked
)`
)

// What a job gets from others.
const (
	// The latest records of jobs of the same pipeline that come before, by
	// stage or by name.
	sqlEarlier = `
select id, name, erased_at is not null as erased from jobs
where pipeline_id = $1 and not retried and not bridge and id <> $2
and case when $3::text[] is null then stage_index < $4 else name = any($3) end
order by stage_index, id limit 1000`

	// A job of another pipeline of the same tree, by name.
	sqlFromPipeline = `
select j.id, j.name, j.erased_at is not null as erased from jobs j join pipelines p on p.id = j.pipeline_id
where p.id = $1 and p.project_id = $2 and j.name = $3 and not j.retried and not j.bridge and j.status = 'success' order by j.id desc limit 1`

	// The job of the newest pipeline of a ref in which it succeeded.
	sqlFromRef = `
select j.id, j.name, j.erased_at is not null as erased from pipelines p join jobs j on j.pipeline_id = p.id
where p.project_id = $1 and p.ref = $2 and p.status = 'success' and j.name = $3 and not j.retried and not j.bridge and j.status = 'success'
order by p.id desc, j.id desc limit 1`
)

// Scope of job tokens, and agents.
const (
	sqlInbound    = `select coalesce((select inbound from job_token_scopes where project_id = $1), true)`
	sqlSetInbound = `
insert into job_token_scopes (project_id, inbound) values ($1, $2) on conflict (project_id) do update set inbound = excluded.inbound`
	// Whether a project lets the jobs of another in, and that one lets them out.
	sqlLetsIn = `
select not coalesce((select (settings->>'ci_job_token_scope_enabled')::boolean from projects where id = $2), false)
and (not coalesce((select inbound from job_token_scopes where project_id = $1), true)
	or exists (select from job_token_allowlist where project_id = $1 and target_id = $2))`
	sqlCountAllow = `select count(*) from job_token_allowlist where project_id = $1`
	sqlAllow      = `insert into job_token_allowlist (project_id, target_id, created_by_id, created_at) values ($1, $2, $3, $4) on conflict do nothing`
	sqlDisallow   = `delete from job_token_allowlist where project_id = $1 and target_id = $2`

	sqlGroupsAbove = `
select g.id from projects p join namespaces n on n.id = p.namespace_id join namespaces g on g.id = any(n.lineage)
where p.id = $1 and g.kind = 'group' order by g.id`

	// The agents of the project itself and those that were lent to it or to a
	// group above it.
	sqlAgents = `
select a.id, a.name, a.project_id from cluster_agents a
where a.project_id = $1 or exists (
	select from cluster_agent_grants g where g.agent_id = a.id and (g.project_id = $1 or g.namespace_id = any($2))
) order by a.id limit 1000`
)
