package alert

const (
	integrationColumns = `a.id, a.project_id, a.kind, a.name, a.endpoint, a.active, a.mapping, a.example, a.key_sealed, a.key_digest`
	alertColumns       = `a.id, a.project_id, a.iid, a.integration_id, a.title, a.description, a.service, a.monitoring_tool, a.hosts, a.severity, a.status,
a.events, a.environment, a.runbook, a.query, (select i.iid from issues i where i.id = a.issue_id) as incident, a.started_at, a.ended_at, a.created_at, a.updated_at`
)

const (
	// What counts against a limit is counted by one at a time.
	sqlLockIntegrations  = `select pg_advisory_xact_lock(7419, hashint8($1))`
	sqlCountIntegrations = `select count(*) from alert_integrations where project_id = $1`
	sqlInsertIntegration = `
insert into alert_integrations as a (project_id, kind, name, endpoint, key_sealed, key_digest, active, mapping, example, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) returning ` + integrationColumns
	sqlIntegration       = `select ` + integrationColumns + ` from alert_integrations a where a.project_id = $1 and a.id = $2`
	sqlLockIntegration   = sqlIntegration + ` for update`
	sqlUpdateIntegration = `
update alert_integrations a set name = $2, active = $3, mapping = $4, example = $5, updated_at = $6 where a.id = $1 returning ` + integrationColumns
	sqlReplaceKey        = `update alert_integrations a set key_sealed = $2, key_digest = $3, updated_at = $4 where a.id = $1 returning ` + integrationColumns
	sqlDeleteIntegration = `delete from alert_integrations a where a.project_id = $1 and a.id = $2 returning ` + integrationColumns

	// Where nothing may be written, nothing is taken.
	takesAlerts = ` from alert_integrations a join projects p on p.id = a.project_id where a.project_id = $1 and not p.removal and not p.archived and a.active`

	sqlIntegrationAt    = `select ` + integrationColumns + takesAlerts + ` and a.endpoint = $2`
	sqlFirstIntegration = `select ` + integrationColumns + takesAlerts + ` and a.kind = $2 order by a.id limit 1`
)

const (
	// The row of the counter is held until the commit: those who store alerts of one project come one after another, on all nodes.
	sqlHoldCounter = `
insert into alert_counters (project_id, last) values ($1, 0) on conflict (project_id) do update set last = alert_counters.last returning last`
	sqlSetCounter = `update alert_counters set last = $2 where project_id = $1`
	sqlOpenAlerts = `
select id, iid, title, status, fingerprint from alerts where project_id = $1 and status <> 2 and fingerprint = any($2)`
	sqlInsertAlert = `
insert into alerts (project_id, iid, integration_id, title, description, service, monitoring_tool, hosts, severity, status, fingerprint, events, environment,
	runbook, query, payload, started_at, ended_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19)`
	sqlRepeatAlerts = `
update alerts a set events = a.events + r.events, updated_at = $3
from unnest($1::bigint[], $2::bigint[]) as r (id, events) where a.id = r.id`
	sqlResolveAlerts = `
with done as (
	update alerts a set status = 2, ended_at = r.at, updated_at = $4
	from unnest($1::bigint[], $2::timestamptz[], $3::smallint[]) as r (id, at, was) where a.id = r.id returning a.id, r.was
)
insert into alert_changes (alert_id, old_status, new_status, created_at) select id, was, 2, $4 from done`

	sqlAlert     = `select ` + alertColumns + ` from alerts a where a.project_id = $1 and a.iid = $2::bigint`
	sqlLockAlert = sqlAlert + ` for update`
	sqlSetIssue  = `update alerts set issue_id = $2, updated_at = $3 where id = $1`
	sqlPayload   = `select payload from alerts where id = $1`
	sqlSetStatus = `update alerts a set status = $2, ended_at = $3, updated_at = $4 where a.id = $1 returning ` + alertColumns
	sqlTouch     = `update alerts a set updated_at = $2 where a.id = $1 returning ` + alertColumns
	sqlChange    = `insert into alert_changes (alert_id, user_id, old_status, new_status, created_at) values ($1, $2, $3, $4, $5)`
	sqlChanges   = `select user_id, old_status, new_status, created_at from alert_changes where alert_id = $1 order by id desc limit 100`
	sqlAssignees = `select alert_id, user_id from alert_assignees where alert_id = any($1) order by alert_id, user_id`
	sqlUnassign  = `delete from alert_assignees where alert_id = $1 and not user_id = any($2)`
	sqlAssign    = `insert into alert_assignees (alert_id, user_id) select $1, unnest($2::bigint[]) on conflict do nothing`
)
