package schedule

const (
	scheduleColumns = `id, project_id, owner_id, description, ref, cron, cron_timezone, active, next_run_at, created_at, updated_at`
	triggerColumns  = `id, project_id, owner_id, description, hint, last_used, created_at, updated_at`
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
	sqlTakeSchedule = `
update pipeline_schedules set owner_id = $3, updated_at = $4 where project_id = $1 and id = $2 returning ` + scheduleColumns
	sqlDeleteSchedule = `delete from pipeline_schedules where id = $1`
	// Of one owner only the first $3 are taken at a time, so that others need not wait for all of them; the look is bounded, too.
	sqlDueSchedules = `
select ` + scheduleColumns + ` from pipeline_schedules where id in (
	select d.id from (
		select id, next_run_at, row_number() over (partition by owner_id order by next_run_at, id) as place from (
			select id, owner_id, next_run_at from pipeline_schedules where active and next_run_at <= $1 order by next_run_at, id limit 100000
		) due
	) d where d.place <= $3 order by d.next_run_at, d.id limit $2
) and active and next_run_at <= $1
order by next_run_at, id for no key update skip locked`
	sqlSetNextRun = `update pipeline_schedules set next_run_at = $2 where id = $1`

	sqlScheduleVariables = `select key, value, file, raw from pipeline_schedule_variables where schedule_id = $1 order by key limit 1000`
	sqlScheduleVariable  = `select key, value, file, raw from pipeline_schedule_variables where schedule_id = $1 and key = $2`
	sqlOtherVariables    = `
select count(*) as count, coalesce(sum(length(value)), 0)::bigint as bytes from pipeline_schedule_variables where schedule_id = $1 and key <> $2`
	sqlInsertScheduleVariable = `insert into pipeline_schedule_variables (schedule_id, key, value, file, raw) values ($1, $2, $3, $4, $5)`
	sqlUpdateScheduleVariable = `update pipeline_schedule_variables set value = $3, file = $4, raw = $5 where schedule_id = $1 and key = $2`
	sqlDeleteScheduleVariable = `delete from pipeline_schedule_variables where schedule_id = $1 and key = $2`

	sqlInsertTrigger = `insert into trigger_tokens (project_id, owner_id, description, digest, hint, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $6) returning ` + triggerColumns
	sqlTrigger         = `select ` + triggerColumns + ` from trigger_tokens where project_id = $1 and id = $2`
	sqlTriggerByDigest = `select ` + triggerColumns + ` from trigger_tokens where digest = $1`
	sqlUpdateTrigger   = `update trigger_tokens set description = $2, updated_at = $3 where id = $1 returning ` + triggerColumns
	sqlDeleteTrigger   = `delete from trigger_tokens where project_id = $1 and id = $2`
	sqlTriggerUsed     = `update trigger_tokens set last_used = $2 where id = $1`
)
