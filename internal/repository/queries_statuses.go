package repository

// statusColumns are those of Status, from commit_statuses s.
const statusColumns = `s.id, s.sha, s.ref, s.name, s.state, s.target_url, s.description, s.coverage, s.author_id, s.created_at,
	s.started_at, s.finished_at`

const (
	// Two reports about one commit come one after the other.
	sqlLockStatus   = `select pg_advisory_xact_lock(7403, hashtext($1::bigint || $2::text))`
	sqlLatestStatus = `select ` + statusColumns + ` from commit_statuses s
		where s.project_id = $1 and s.sha = $2 and s.ref = $3 and s.name = $4 order by s.id desc limit 1`
	sqlInsertStatus = `
insert into commit_statuses as s (project_id, sha, ref, name, state, target_url, description, coverage, author_id, created_at, started_at, finished_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning ` + statusColumns
	sqlUpdateStatus = `
update commit_statuses set state = $3, target_url = $4, description = $5, coverage = $6, author_id = $7, started_at = $8, finished_at = $9
where project_id = $1 and id = $2`
	sqlLatestStates = `
select distinct on (s.ref, s.name) s.state from commit_statuses s where s.project_id = $1 and s.sha = $2
order by s.ref, s.name, s.id desc limit 1000`

	sqlDigests  = `select project_id, empty, size, commit_count, languages, readme, license from repositories where project_id = any($1::bigint[])`
	sqlSurveyed = `update repositories set size = $2, commit_count = $3, languages = $4, readme = $5, license = $6 where project_id = $1`

	// sqlSameNetwork is whether two projects have a source in common, over any
	// number of steps. union, not union all, ends a circle.
	sqlSameNetwork = `
with recursive a(id) as (
	select $1::bigint union select p.forked_from_id from a join projects p on p.id = a.id where p.forked_from_id is not null
), b(id) as (
	select $2::bigint union select p.forked_from_id from b join projects p on p.id = b.id where p.forked_from_id is not null
)
select exists (select 1 from a join b on b.id = a.id)`
)
