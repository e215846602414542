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
insert into alert_counters (project_id, last) values ($1, 0) on conflict (project_id) do update set last = alert_counters.last
returning last, told, coalesce((select create_issue from alert_settings where project_id = $1), false) as create_issue,
	coalesce((select send_email from alert_settings where project_id = $1), false) as send_email,
	coalesce((select auto_close_incident from alert_settings where project_id = $1), true) as auto_close_incident`
	// Of what comes while nobody is to be told, nobody is told later.
	sqlSetCounter = `update alert_counters set last = $2, told = case when $3::boolean then told else $2 end where project_id = $1`
	sqlSetTold    = `update alert_counters set told = $2 where project_id = $1`
	sqlOpenAlerts = `
select id, iid, title, status, fingerprint from alerts where project_id = $1 and status <> 2 and fingerprint = any($2)`
	sqlInsertAlert = `
insert into alerts (project_id, iid, integration_id, title, description, service, monitoring_tool, hosts, severity, status, fingerprint, events, environment,
	runbook, query, payload, started_at, ended_at, created_at, updated_at, follow_up)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19, $20)`
	sqlRepeatAlerts = `
update alerts a set events = a.events + r.events, updated_at = $3
from unnest($1::bigint[], $2::bigint[]) as r (id, events) where a.id = r.id`
	// It tells whether something follows from it. The row is read as whoever made an incident of the alert meanwhile left it.
	sqlResolveAlerts = `
with done as (
	update alerts a set status = 2, ended_at = r.at, updated_at = $4, follow_up = a.follow_up | case when $5::boolean and a.issue_id is not null then 2 else 0 end
	from unnest($1::bigint[], $2::timestamptz[], $3::smallint[]) as r (id, at, was) where a.id = r.id returning a.id, r.was, a.follow_up
), noted as (
	insert into alert_changes (alert_id, old_status, new_status, created_at) select id, was, 2, $4 from done
), settled as (
	update todos t set done = true, updated_at = $4 from done where t.alert_id = done.id and not t.done
)
select coalesce(bool_or(follow_up & 2 <> 0), false) from done`

	sqlToFollow = `select id, iid, follow_up from alerts where project_id = $1 and follow_up <> 0 order by id limit $2`
	sqlFollowed = `update alerts set follow_up = follow_up & ~$2::smallint where id = $1`
	sqlSweep    = `delete from alerts where id in (select id from alerts where status = 2 and updated_at < $1 order by updated_at, id limit $2)`

	sqlSettings    = `select create_issue, send_email, auto_close_incident, issue_template_key from alert_settings where project_id = $1`
	sqlPutSettings = `
insert into alert_settings (project_id, create_issue, send_email, auto_close_incident, issue_template_key, updated_at) values ($1, $2, $3, $4, $5, $6)
on conflict (project_id) do update set create_issue = $2, send_email = $3, auto_close_incident = $4, issue_template_key = $5, updated_at = $6`

	sqlAlert     = `select ` + alertColumns + ` from alerts a where a.project_id = $1 and a.iid = $2::bigint`
	sqlLockAlert = sqlAlert + ` for update`
	sqlSetIssue  = `update alerts set issue_id = $2, updated_at = $3, follow_up = follow_up & ~1 where id = $1`
	sqlPayload   = `select payload from alerts where id = $1`
	sqlSetStatus = `update alerts a set status = $2, ended_at = $3, updated_at = $4 where a.id = $1 returning ` + alertColumns
	sqlTouch     = `update alerts a set updated_at = $2 where a.id = $1 returning ` + alertColumns
	sqlChange    = `insert into alert_changes (alert_id, user_id, old_status, new_status, created_at) values ($1, $2, $3, $4, $5)`
	sqlChanges   = `select user_id, old_status, new_status, created_at from alert_changes where alert_id = $1 order by id desc limit 100`
	sqlAssignees = `select alert_id, user_id from alert_assignees where alert_id = any($1) order by alert_id, user_id`
	sqlUnassign  = `delete from alert_assignees where alert_id = $1 and not user_id = any($2) returning user_id`
	sqlAssign    = `insert into alert_assignees (alert_id, user_id) select $1, unnest($2::bigint[]) on conflict do nothing returning user_id`
)
