package pipeline

const (
	scheduleColumns = `id, project_id, owner_id, description, ref, cron, cron_timezone, active, next_run_at, created_at, updated_at`
	triggerColumns  = `id, project_id, owner_id, description, hint, last_used, created_at, updated_at`
	groupColumns    = `id, project_id, key, process_mode, created_at, updated_at`
)

const (
	// What counts against a limit is counted by one at a time.
	sqlLockSchedules  = `select pg_advisory_xact_lock(7415, hashint8($1))`
	sqlCountSchedules = `select count(*) from pipeline_schedules where project_id = $1`
	sqlInsertSchedule = `
insert into pipeline_schedules (project_id, owner_id, description, ref, cron, cron_timezone, active, next_run_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) returning id`
	sqlSchedule       = `select ` + scheduleColumns + ` from pipeline_schedules where project_id = $1 and id = $2`
	sqlScheduleByID   = `select ` + scheduleColumns + ` from pipeline_schedules where id = $1`
	sqlUpdateSchedule = `
update pipeline_schedules set description = $2, ref = $3, cron = $4, cron_timezone = $5, active = $6, next_run_at = $7, updated_at = $8
where id = $1 returning ` + scheduleColumns
	sqlTakeSchedule   = `update pipeline_schedules set owner_id = $3, updated_at = $4 where project_id = $1 and id = $2 returning ` + scheduleColumns
	sqlDeleteSchedule = `delete from pipeline_schedules where id = $1`
	sqlDueSchedules   = `select ` + scheduleColumns + ` from pipeline_schedules where active and next_run_at <= $1
		order by next_run_at, id limit $2 for no key update skip locked`
	sqlSetNextRun = `update pipeline_schedules set next_run_at = $2 where id = $1`

	sqlScheduleVariables      = `select key, value, file, raw from pipeline_schedule_variables where schedule_id = $1 order by key limit 1000`
	sqlInsertScheduleVariable = `insert into pipeline_schedule_variables (schedule_id, key, value, file, raw) values ($1, $2, $3, $4, $5)`
	sqlUpdateScheduleVariable = `update pipeline_schedule_variables set value = $3, file = $4, raw = $5 where schedule_id = $1 and key = $2`
	sqlDeleteScheduleVariable = `delete from pipeline_schedule_variables where schedule_id = $1 and key = $2`
	sqlLatestOfSchedule       = `select ` + pipelineColumns + ` from pipelines where schedule_id = $1 order by id desc limit 1`

	sqlInsertTrigger = `insert into trigger_tokens (project_id, owner_id, description, digest, hint, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $6) returning ` + triggerColumns
	sqlTrigger         = `select ` + triggerColumns + ` from trigger_tokens where project_id = $1 and id = $2`
	sqlTriggerByDigest = `select ` + triggerColumns + ` from trigger_tokens where digest = $1`
	sqlUpdateTrigger   = `update trigger_tokens set description = $2, updated_at = $3 where id = $1 returning ` + triggerColumns
	sqlDeleteTrigger   = `delete from trigger_tokens where project_id = $1 and id = $2`
	sqlTriggerUsed     = `update trigger_tokens set last_used = $2 where id = $1`

	sqlResourceGroup    = `select ` + groupColumns + ` from resource_groups where project_id = $1 and key = $2`
	sqlSetResourceGroup = `update resource_groups set process_mode = $3, updated_at = $4 where project_id = $1 and key = $2 returning ` + groupColumns
)
