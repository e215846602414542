package pages

const deploymentColumns = `id, project_id, job_id, path_prefix, root_directory, state, error, blob_key, active, files, size, expire_in, expire_at, created_at`

const (
	sqlDefaultBranch = `select coalesce(default_branch, $2) from projects where id = $1 and not removal`

	sqlWantDeployment = `
insert into pages_deployments (project_id, job_id, path_prefix, root_directory, state, blob_key, expire_in, created_at, updated_at)
values ($1, $2, $3, $4, 'wanted', $5, $6, $7, $7)
on conflict (job_id) do nothing returning id`
	sqlDeployment     = `select ` + deploymentColumns + ` from pages_deployments where id = $1`
	sqlFailDeployment = `update pages_deployments set state = 'failed', error = $2, updated_at = $3 where id = $1 and state = 'wanted'`

	// What is shown of a site is changed by one at a time.
	sqlLockSite      = `select pg_advisory_xact_lock(7423, hashint8($1))`
	sqlCountPrefixes = `
select count(*)::integer from (
	select 1 from pages_deployments where project_id = $1 and active and path_prefix <> '' and path_prefix <> $2 limit $3
) d`
	sqlOvertaken = `
select exists (select from pages_deployments where project_id = $1 and path_prefix = $2 and state = 'ready' and job_id > $3)`
	sqlHideActive = `update pages_deployments set active = false, updated_at = $3 where project_id = $1 and path_prefix = $2 and active`
	sqlDeployed   = `
update pages_deployments set state = 'ready', active = $2, files = $3, size = $4, expire_at = $5, updated_at = $6 where id = $1 and state = 'wanted'`
	sqlActivate = `update pages_deployments set active = true, updated_at = $2 where id = $1 and state = 'ready'`

	sqlDropEarlier = `
update pages_deployments set state = 'removing', updated_at = $4 where id in (
	select id from pages_deployments where project_id = $1 and path_prefix = $2 and not active and state in ('ready', 'failed') order by id desc offset $3)`
	sqlDropDeployment = `update pages_deployments set state = 'removing', active = false, updated_at = $2 where id = $1`
	sqlDropSite       = `update pages_deployments set state = 'removing', active = false, updated_at = $2 where project_id = $1 and state <> 'removing'`
	sqlDropExpired    = `
update pages_deployments set state = 'removing', active = false, updated_at = $1 where id in (
	select id from pages_deployments where expire_at <= $1 and state = 'ready' order by expire_at, id limit $2 for update skip locked)`
	// What nobody finished: the job that would have done it was tried as often as jobs are.
	sqlDropUnfinished = `
update pages_deployments set state = 'failed', error = 'it could not be finished; run the job again', updated_at = $1 where id in (
	select id from pages_deployments where state = 'wanted' and updated_at <= $2 order by updated_at, id limit $3 for update skip locked)`
	sqlRemovable = `
select ` + deploymentColumns + ` from pages_deployments where state = 'removing' and updated_at <= $1 order by updated_at, id limit $2`
	sqlForgetDeployments = `delete from pages_deployments where id = any($1) and state = 'removing'`

	sqlDeployments = `
select ` + deploymentColumns + ` from pages_deployments
where project_id = $1 and state <> 'removing' and (expire_at is null or expire_at > $2) order by id desc limit $3`
	sqlDeploymentOf = `
select ` + deploymentColumns + ` from pages_deployments
where project_id = $1 and id = $2 and state <> 'removing' and (expire_at is null or expire_at > $3) for update`
	sqlActive = `
select ` + deploymentColumns + ` from pages_deployments
where project_id = $1 and active and (expire_at is null or expire_at > $2) order by path_prefix limit $3`
)

const siteColumns = `p.id as project_id, p.visibility, p.features::text as features, coalesce(s.unique_domain_enabled, false) as unique_domain_enabled, s.unique_domain,
	coalesce(s.https_only, false) as https_only`

const (
	sqlSite = `
select ` + siteColumns + ` from projects p left join pages_settings s on s.project_id = p.id where p.id = $1 and not p.removal`
	sqlSiteByLabel = `
select ` + siteColumns + ` from pages_settings s join projects p on p.id = s.project_id
where s.unique_domain = $1 and s.unique_domain_enabled and not p.removal`
	sqlShown = `
select id, path_prefix, blob_key, files from pages_deployments
where project_id = $1 and active and (expire_at is null or expire_at > $2) order by path_prefix limit $3`
)
