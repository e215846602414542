package app

const (
	sqlPutCanary = `insert into key_canary (fingerprint, canary) values ($1, $2) on conflict do nothing`
	sqlCanary    = `select fingerprint, canary from key_canary`

	sqlKeyMet = `select fingerprint from key_canary`

	sqlLockStorages = `lock table storages in share row exclusive mode`
	sqlStorageMark  = `select mark from storages where name = $1`
	sqlPutStorage   = `insert into storages (name, mark, created_at) values ($1, $2, $3)`
	sqlStorageUsed  = `select exists (select from repositories where storage = $1)`

	sqlLockBlobStore = `lock table blob_store in share row exclusive mode`
	sqlBlobStoreMark = `select mark from blob_store`
	sqlPutBlobStore  = `insert into blob_store (mark, created_at) values ($1, $2)`
	sqlBlobsKnown    = `
select exists (select from job_artifacts)
	or exists (select from uploads where state = 'stored')
	or exists (select from lfs_objects where not removing)
	or exists (select from job_logs where archived_at is not null and erased_at is null)`

	// Each count reads an index and ends at a bound.
	sqlGauges = `
select 'stithy_jobs' as name, s.state::text as label,
	(select count(*) from (select from river_job j where j.state = s.state limit 10001) n) as is
from unnest(array['available', 'retryable', 'running', 'scheduled', 'discarded']::river_job_state[]) s(state)
union all select 'stithy_ci_jobs_pending', '', (select count(*) from (select from job_queue limit 10001) n)
union all select 'stithy_runners_online', '',
	(select count(distinct n.runner_id) from (select m.runner_id from runner_managers m where m.contacted_at > $1 limit 10001) n)`

	sqlServerVersion = `show server_version`
	sqlServerTime    = `select clock_timestamp()`
	sqlConnections   = `
select least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
	(select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user)),
	(select count(*) from pg_stat_activity where backend_type = 'client backend')`
)
