package artifact

const (
	sqlBeginLog = `
insert into job_logs (job_id, project_id, sealed_masks, created_at, updated_at) values ($1, $2, $3, $4, $4)
on conflict (job_id) do nothing`

	sqlLog = `
select l.project_id, l.size, l.held_secret, l.held_bytes, l.held_masked, l.sealed_masks, l.closed_at, l.archived_at, l.erased_at
from job_logs l where l.job_id = $1`

	// One statement, so that a piece and the size that acknowledges it are one
	// commit. What is held back follows from what was stored before: who sees
	// another size has read another past.
	sqlAppend = `
with grown as (
	update job_logs set size = $3, held_secret = $4, held_bytes = $5, held_masked = $6, updated_at = $7
	where job_id = $1 and size = $2 and closed_at is null and erased_at is null
	returning job_id
), kept as (
	insert into job_log_chunks (job_id, start, content)
	select g.job_id, c.start, c.content from grown g, unnest($8::bigint[], $9::bytea[]) as c (start, content)
)
select count(*) from grown`

	// The pieces from the one that holds an offset on.
	sqlChunks = `
select c.start, c.content from job_log_chunks c
where c.job_id = $1 and c.start < $3
	and c.start >= coalesce((select max(b.start) from job_log_chunks b where b.job_id = $1 and b.start <= $2), 0)
order by c.start limit $4`

	sqlCloseLog = `update job_logs set closed_at = coalesce(closed_at, $2), updated_at = $2 where job_id = $1 and erased_at is null`

	sqlArchived = `
update job_logs set archived_at = $2, sha256 = $3, sealed_masks = null, held_secret = 0, held_bytes = 0, held_masked = 0, updated_at = $2
where job_id = $1 and archived_at is null and erased_at is null`

	sqlDropChunks = `
delete from job_log_chunks where job_id = $1 and start in (select start from job_log_chunks where job_id = $1 order by start limit $2)`

	sqlEraseLog = `
update job_logs set erased_at = coalesce(erased_at, $2), closed_at = coalesce(closed_at, $2), size = 0, sealed_masks = null,
	held_secret = 0, held_bytes = 0, held_masked = 0, updated_at = $2
where job_id = $1`

	// Erased logs whose bytes are long gone.
	sqlForgetLogs = `
delete from job_logs where job_id in (
	select l.job_id from job_logs l where l.erased_at < $1 order by l.erased_at, l.job_id limit $2)`

	// Some jobs of a project that still have something.
	sqlJobsOf = `
select job_id from (
	(select l.job_id from job_logs l where l.project_id = $1 and l.erased_at is null order by l.job_id limit $2)
	union
	(select a.job_id from job_artifacts a where a.project_id = $1 and a.state <> 'removing' order by a.id limit $2)
) j order by job_id limit $2`
)

// fileColumns are those of fileRow.
const fileColumns = `a.id, a.project_id, a.job_id, a.file_type, a.file_format, a.filename, a.blob_key, a.size, a.sha256, a.public, a.access, a.kept,
	a.expire_at, a.created_at`

const (
	sqlStoring = `
insert into job_artifacts as a
	(project_id, job_id, state, file_type, file_format, filename, blob_key, public, access, locked, created_at, updated_at)
select $1, $2, 'storing', $3, $4, $5, $6, $7, $8, $9, $10, $10
where (select count(*) from job_artifacts b where b.job_id = $2 and b.file_type = $3 and b.state = 'storing') < $11
returning a.id`
	sqlStored = `
update job_artifacts as a set state = 'stored', size = $2, sha256 = $3, expire_at = $4, updated_at = $5
where a.id = $1 and a.state = 'storing'
returning ` + fileColumns

	sqlFiles = `
select ` + fileColumns + ` from job_artifacts a
where a.job_id = any($1) and a.state = 'stored' and (a.kept or a.locked or a.expire_at is null or a.expire_at > $2)
order by a.job_id, a.id limit $3`
	sqlFileOfType = `select ` + fileColumns + ` from job_artifacts a where a.job_id = $1 and a.file_type = $2 and a.state = 'stored'`

	sqlStillThere = `select exists (select from job_artifacts a where a.id = $1 and a.state = 'stored')`

	sqlReports = `
select ` + fileColumns + `, r.passed, r.failed, r.skipped, r.errored, r.seconds, r.error
from job_artifacts a left join job_test_reports r on r.artifact_id = a.id
where a.job_id = any($1) and a.file_type = 'junit' and a.state = 'stored' and (a.kept or a.locked or a.expire_at is null or a.expire_at > $2)
order by a.job_id, a.id limit $3`
	sqlReport = `
select ` + fileColumns + `, r.passed, r.failed, r.skipped, r.errored, r.seconds, r.error
from job_artifacts a left join job_test_reports r on r.artifact_id = a.id
where a.id = $1 and a.file_type = 'junit' and a.state = 'stored'`
	sqlReportRead = `
insert into job_test_reports (artifact_id, passed, failed, skipped, errored, seconds, error, read_at)
select a.id, $2, $3, $4, $5, $6, $7, $8 from job_artifacts a where a.id = $1 and a.state = 'stored'
on conflict do nothing`

	sqlKeep   = `update job_artifacts set kept = true, updated_at = $2 where job_id = $1 and state = 'stored'`
	sqlUnlock = `update job_artifacts set locked = false, updated_at = $2 where job_id = any($1) and locked`
	// What people removed did not expire: nothing is to be remembered of it.
	sqlRemoveFiles = `update job_artifacts set state = 'removing', expire_at = null, updated_at = $2 where job_id = $1 and state <> 'removing'`

	// Jobs whose archive was there and had its time.
	sqlExpired = `
select distinct job_id from job_artifacts
where job_id = any($1) and file_type = 'archive' and not kept and not locked and expire_at <= $2`

	sqlExpire = `
update job_artifacts set state = 'removing', updated_at = $1 where id in (
	select a.id from job_artifacts a
	where a.state = 'stored' and a.expire_at is not null and not a.kept and not a.locked and a.expire_at <= $1
	order by a.expire_at, a.id limit $2 for update skip locked)`
	// Uploads that nobody finished.
	sqlGiveUp  = `update job_artifacts set state = 'removing', updated_at = $2 where id = $1 and state = 'storing'`
	sqlAbandon = `
update job_artifacts set state = 'removing', updated_at = $1 where id in (
	select a.id from job_artifacts a where a.state = 'storing' and a.updated_at < $2
	order by a.updated_at, a.id limit $3 for update skip locked)`
	sqlDoomed = `
select a.id, a.file_type, a.blob_key from job_artifacts a where a.state = 'removing' and a.updated_at <= $1
order by a.updated_at, a.id limit $2`
	sqlDoomedOf = `select a.id, a.file_type, a.blob_key from job_artifacts a where a.job_id = $1 and a.state = 'removing' order by a.id limit $2`
	// That there was an archive is remembered without its bytes: who depends on
	// it has to hear that it is gone.
	sqlRemember = `
update job_artifacts set state = 'expired', updated_at = $2
where id = any($1) and state = 'removing' and file_type = 'archive' and expire_at <= $2`
	sqlForget = `delete from job_artifacts where id = any($1) and state = 'removing'`
)
