package errortracking

const (
	settingsColumns = `project_id, active, integrated, project_name, api_url, personal_data`
	keyColumns      = `id, project_id, public_key, active`
)

const (
	sqlSettings     = `select ` + settingsColumns + ` from error_tracking_settings where project_id = $1`
	sqlLockSettings = sqlSettings + ` for update`
	sqlPutSettings  = `
insert into error_tracking_settings (project_id, active, integrated, personal_data, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)
on conflict (project_id) do update
set active = excluded.active, integrated = excluded.integrated, personal_data = excluded.personal_data, updated_at = excluded.updated_at`

	// What counts against a limit is counted by one at a time.
	sqlLockKeys  = `select pg_advisory_xact_lock(7417, hashint8($1))`
	sqlCountKeys = `select count(*)::integer from (select 1 from error_client_keys where project_id = $1 limit $2) k`
	sqlInsertKey = `
insert into error_client_keys (project_id, digest, public_key, active, created_at) values ($1, $2, $3, true, $4) returning ` + keyColumns
	sqlDeleteKey = `delete from error_client_keys where project_id = $1 and id = $2 returning ` + keyColumns
)

// rowColumns are those of errorRow.
const rowColumns = `id, fingerprint, status, resolved_at, people, last_seen`

const (
	sqlIntake = `
select s.project_id, s.personal_data from error_tracking_settings s join error_client_keys k on k.project_id = s.project_id
join projects p on p.id = s.project_id
where s.project_id = $1 and k.digest = $2 and k.active and s.active and s.integrated and not p.removal`
	sqlLockIntake = `select errors from error_tracking_settings where project_id = $1 and active and integrated for update`

	sqlNoteEvents = `
insert into error_event_ids (project_id, event_id, received_at) select $1, id, $3 from unnest($2::uuid[]) id
on conflict do nothing returning event_id`
	sqlLockErrors  = `select ` + rowColumns + ` from tracked_errors where project_id = $1 and fingerprint = any($2::bytea[]) order by id for update`
	sqlInsertError = `
insert into tracked_errors (project_id, fingerprint, name, message, culprit, platform, level, status, events, people, first_seen, last_seen, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, 'unresolved', $8, 0, $9, $10, $11) returning ` + rowColumns
	sqlCountErrors = `update error_tracking_settings set errors = errors + $2 where project_id = $1`
	// What an error says is what its latest event says, in whatever order they came.
	sqlUpdateError = `
update tracked_errors set events = events + $2, first_seen = least(first_seen, $3), last_seen = greatest(last_seen, $4), status = $5,
	regressed_at = case when $6 then $7 else regressed_at end, updated_at = $7,
	name = case when $4 >= last_seen then $8 else name end, message = case when $4 >= last_seen then $9 else message end,
	culprit = case when $4 >= last_seen then $10 else culprit end, level = case when $4 >= last_seen then $11 else level end
where id = $1`
	sqlCountHour = `
insert into error_hours (error_id, hour, events) values ($1, $2, $3)
on conflict (error_id, hour) do update set events = error_hours.events + excluded.events`
	sqlCountPlace = `
insert into error_places (error_id, kind, value, events, first_seen, last_seen)
select $1, $2, $3, $4, $5, $6 where (select count(*) from error_places where error_id = $1 and kind = $2 and value <> $3) < $7
on conflict (error_id, kind, value) do update set events = error_places.events + excluded.events,
	first_seen = least(error_places.first_seen, excluded.first_seen), last_seen = greatest(error_places.last_seen, excluded.last_seen)`
	sqlCountPeople = `
with known as (insert into error_people (error_id, digest) select distinct $1::bigint, p from unnest($2::bytea[]) p on conflict do nothing returning 1)
update tracked_errors set people = people + (select count(*) from known) where id = $1`
	sqlStoreEvent = `
insert into error_events (error_id, event_id, happened_at, received_at, level, environment, release, payload) values ($1, $2, $3, $4, $5, $6, $7, $8)`
	sqlTrimEvents = `delete from error_events where id in (select id from error_events where error_id = $1 order by id desc offset $2 limit 1000)`
)

const (
	// errorColumns are those of Error, from a table called e.
	errorColumns = `e.id, e.project_id, e.name, e.message, e.culprit, e.platform, e.level, e.status, e.resolved_at, e.regressed_at, e.events, e.people,
	e.first_seen, e.last_seen`
	storedColumns = `id, event_id, happened_at, received_at, level, environment, release, payload`
)

const (
	sqlError     = `select ` + errorColumns + ` from tracked_errors e where e.project_id = $1 and e.id = $2`
	sqlLockError = sqlError + ` for update`
	sqlSetStatus = `update tracked_errors set status = $2, resolved_at = $3, regressed_at = $4, updated_at = $5 where id = $1`
	sqlPlaces    = `select kind, value, events, first_seen, last_seen from error_places where error_id = $1 order by last_seen desc, kind, value limit $2`
	sqlHours     = `
select error_id, hour, events from error_hours where error_id = any($1::bigint[]) and hour >= $2 order by error_id, hour limit $3`

	sqlSweepEvents = `delete from error_events where id in (select id from error_events where received_at < $1 order by received_at limit $2)`
	sqlSweepHours  = `
delete from error_hours where (error_id, hour) in (select error_id, hour from error_hours where hour < $1 order by hour limit $2)`
	sqlSweepEventIDs = `
delete from error_event_ids where (project_id, event_id) in
	(select project_id, event_id from error_event_ids where received_at < $1 order by received_at limit $2)`
	// Whoever writes events of a project holds its settings; so does this, in the order of projects.
	sqlOldErrors = `
select s.project_id from error_tracking_settings s
where s.project_id in (select project_id from (select project_id from tracked_errors where last_seen < $1 order by last_seen limit $2) old)
order by s.project_id limit 1 for update`
	sqlSweepErrors = `
with gone as (
	delete from tracked_errors where id in (select id from tracked_errors where project_id = $3 and last_seen < $1 order by last_seen, id limit $2) returning 1
), counted as (
	update error_tracking_settings set errors = greatest(0, errors - (select count(*) from gone)) where project_id = $3
)
select count(*)::integer from gone`
)
