package pages

// domainColumns are those of Domain, from a table called d.
const domainColumns = `d.id, d.project_id, d.domain, d.auto_ssl_enabled, d.auto_ssl_error, d.certificate, d.certificate_expires_at, d.certificate_source,
	d.verification_code, d.verified_at, d.proven, d.enabled_until, d.remove_at, d.check_at, d.checked_at, d.check_error, d.created_at, d.updated_at`

const (
	sqlDomain     = `select ` + domainColumns + ` from pages_domains d where d.project_id = $1 and d.domain = $2`
	sqlLockDomain = sqlDomain + ` for update`
	sqlDomainByID = `select ` + domainColumns + ` from pages_domains d where d.id = $1`

	// What counts against a limit is counted by one at a time.
	sqlLockDomains  = `select pg_advisory_xact_lock(7421, hashint8($1))`
	sqlCountDomains = `select count(*)::integer from (select 1 from pages_domains where project_id = $1 limit $2) d`
	// A host is claimed and released by one at a time.
	sqlLockHost = `select pg_advisory_xact_lock(7422, hashtext($1))`
	sqlResting  = `select released_at from pages_released_domains where domain = $1 and project_id <> $2 and released_at > $3`

	sqlInsertDomain = `
insert into pages_domains as d (project_id, domain, auto_ssl_enabled, certificate, certificate_key, certificate_expires_at, certificate_source,
	verification_code, check_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, 'user_provided', $7, $8, $8, $8) returning ` + domainColumns
	sqlUpdateDomain = `
update pages_domains d set auto_ssl_enabled = $2, auto_ssl_error = $3, certificate = $4, certificate_key = $5, certificate_expires_at = $6,
	certificate_source = $7, updated_at = $8
where d.id = $1 returning ` + domainColumns
	sqlDeleteDomain = `delete from pages_domains d where d.id = $1 returning ` + domainColumns
	sqlKey          = `select certificate_key from pages_domains where id = $1 and certificate_key is not null`

	sqlRelease = `
insert into pages_released_domains (domain, project_id, released_at) values (lower($1), $2, $3)
on conflict (domain) do update set project_id = excluded.project_id, released_at = excluded.released_at`
	sqlReleaseAll = `
insert into pages_released_domains (domain, project_id, released_at)
select lower(domain), project_id, $2 from pages_domains where project_id = $1 and (proven or $3)
on conflict (domain) do update set project_id = excluded.project_id, released_at = excluded.released_at`
	sqlSweepReleased = `
delete from pages_released_domains where domain in (select domain from pages_released_domains where released_at <= $1 order by released_at limit $2)`

	// Whoever takes a claim to be looked at puts it off, so that no other node looks at it, and it comes again if this one dies.
	sqlTakeDue = `
update pages_domains d set check_at = $2 where d.id in (
	select id from pages_domains where check_at <= $1 order by check_at, id limit $3 for update skip locked
) returning ` + domainColumns
	// What was found counts for the claim that was looked at, as long as it is there.
	sqlSetStanding = `
update pages_domains d set verified_at = $2, proven = $3, enabled_until = $4, remove_at = $5, check_at = $6, checked_at = $7, check_error = $8
where d.id = $1 returning ` + domainColumns
	sqlLockByID = sqlDomainByID + ` for update`
	sqlToRemove = `select id from pages_domains where remove_at <= $1 order by remove_at, id limit $2`

	sqlEntity = `select p.id, '' as kind, n.full_path || '/' || p.path as path, p.name from projects p join namespaces n on n.id = p.namespace_id where p.id = $1`

	sqlServed = `
select ` + domainColumns + `, d.certificate_key from pages_domains d join projects p on p.id = d.project_id
where lower(d.domain) = $1 and not p.removal and (d.enabled_until > $2 or $3)`
)

const settingsColumns = `project_id, unique_domain_enabled, unique_domain, https_only`

const (
	sqlSettings    = `select ` + settingsColumns + ` from pages_settings where project_id = $1`
	sqlPutSettings = `
insert into pages_settings (project_id, unique_domain_enabled, unique_domain, https_only, updated_at) values ($1, $2, $3, $4, $5)
on conflict (project_id) do update set unique_domain_enabled = excluded.unique_domain_enabled, unique_domain = excluded.unique_domain,
	https_only = excluded.https_only, updated_at = excluded.updated_at`
)
