package errortracking

const (
	settingsColumns = `project_id, active, integrated, project_name, api_url, personal_data, events_per_minute, sample_percent`
	keyColumns      = `id, project_id, public_key, active`
)

const (
	sqlSettings     = `select ` + settingsColumns + ` from error_tracking_settings where project_id = $1`
	sqlLockSettings = sqlSettings + ` for update`
	sqlPutSettings  = `
insert into error_tracking_settings (project_id, active, integrated, personal_data, events_per_minute, sample_percent, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $7)
on conflict (project_id) do update set active = excluded.active, integrated = excluded.integrated, personal_data = excluded.personal_data,
	events_per_minute = excluded.events_per_minute, sample_percent = excluded.sample_percent, updated_at = excluded.updated_at`

	// What counts against a limit is counted by one at a time.
	sqlLockKeys  = `select pg_advisory_xact_lock(7417, hashint8($1))`
	sqlCountKeys = `select count(*)::integer from (select 1 from error_client_keys where project_id = $1 limit $2) k`
	sqlInsertKey = `
insert into error_client_keys (project_id, digest, public_key, active, created_at) values ($1, $2, $3, true, $4) returning ` + keyColumns
	sqlDeleteKey = `delete from error_client_keys where project_id = $1 and id = $2 returning ` + keyColumns
)

// rowColumns are those of errorRow.
const rowColumns = `id, fingerprint, status, resolved_at, resolved_release, events, people`

const (
	sqlIntake = `
select s.project_id, s.personal_data, s.events_per_minute, s.sample_percent from error_tracking_settings s join error_client_keys k on k.project_id = s.project_id
join projects p on p.id = s.project_id
where s.project_id = $1 and k.digest = $2 and k.active and s.active and s.integrated and not p.removal and not p.archived`
	sqlLockIntake = `select errors, kept_bytes from error_tracking_settings where project_id = $1 and active and integrated for update`

	sqlNoteEvents = `
insert into error_event_ids (project_id, event_id, received_at) select $1, id, $3 from unnest($2::uuid[]) id
on conflict do nothing returning event_id`
	sqlLockErrors = `select ` + rowColumns + ` from tracked_errors where project_id = $1 and fingerprint = any($2::bytea[]) order by id for update`
	// The events of an error that is new are counted with those of the others.
	sqlInsertErrors = `
insert into tracked_errors (project_id, fingerprint, name, message, culprit, platform, level, status, events, people, first_seen, last_seen, updated_at)
select $1::bigint, t.fingerprint, t.name, t.message, t.culprit, t.platform, t.level, 'unresolved', 0, 0, t.first_seen, t.last_seen, $10::timestamptz
from unnest($2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[])
	as t (fingerprint, name, message, culprit, platform, level, first_seen, last_seen)
returning ` + rowColumns
	sqlCountErrors = `update error_tracking_settings set errors = errors + $2 where project_id = $1`
	// What an error says is what its latest event says, in whatever order they came.
	sqlUpdateErrors = `
update tracked_errors e set events = e.events + t.events, first_seen = least(e.first_seen, t.first_seen), last_seen = greatest(e.last_seen, t.last_seen),
	status = t.status, regressed_at = case when t.regressed then $11 else e.regressed_at end, updated_at = $11,
	name = case when t.last_seen >= e.last_seen then t.name else e.name end, message = case when t.last_seen >= e.last_seen then t.message else e.message end,
	culprit = case when t.last_seen >= e.last_seen then t.culprit else e.culprit end, level = case when t.last_seen >= e.last_seen then t.level else e.level end
from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::boolean[], $7::text[], $8::text[], $9::text[], $10::text[])
	as t (id, events, first_seen, last_seen, status, regressed, name, message, culprit, level)
where e.id = t.id`
	sqlCountHours = `
insert into error_hours (error_id, hour, events)
select t.error_id, t.hour, t.events from unnest($1::bigint[], $2::timestamptz[], $3::bigint[]) as t (error_id, hour, events)
on conflict (error_id, hour) do update set events = error_hours.events + excluded.events`
	// Places that are known are counted always, others while there is room for them.
	sqlCountPlaces = `
with sent as (
	select t.*, k.error_id is not null as known from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[])
		as t (error_id, kind, value, events, first_seen, last_seen)
	left join error_places k on k.error_id = t.error_id and k.kind = t.kind and k.value = t.value
), numbered as (
	select *, row_number() over (partition by error_id, kind, known order by value) as number from sent
)
insert into error_places (error_id, kind, value, events, first_seen, last_seen)
select n.error_id, n.kind, n.value, n.events, n.first_seen, n.last_seen from numbered n
where n.known or n.number + (select count(*) from error_places p where p.error_id = n.error_id and p.kind = n.kind) <= $7
on conflict (error_id, kind, value) do update set events = error_places.events + excluded.events,
	first_seen = least(error_places.first_seen, excluded.first_seen), last_seen = greatest(error_places.last_seen, excluded.last_seen)`
	sqlCountPeople = `
with known as (
	insert into error_people (error_id, digest) select distinct * from unnest($1::bigint[], $2::bytea[]) on conflict do nothing returning error_id
)
update tracked_errors e set people = e.people + k.people from (select error_id, count(*) as people from known group by error_id) k where e.id = k.error_id`
	sqlStoreEvents = `
insert into error_events (error_id, event_id, happened_at, received_at, level, environment, release, payload)
select t.error_id, t.event_id, t.happened_at, $8::timestamptz, t.level, t.environment, t.release, t.payload
from unnest($1::bigint[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::bytea[]) with ordinality
	as t (error_id, event_id, happened_at, level, environment, release, payload, number)
order by t.number`
	// Bytes that were kept are counted with those that go.
	sqlTrimEvents = `
with gone as (
	delete from error_events where id in (
		select old.id from unnest($1::bigint[]) as e (id)
		cross join lateral (select v.id from error_events v where v.error_id = e.id order by v.id desc offset $2 limit 1000) old)
	returning octet_length(payload) as size
)
update error_tracking_settings set kept_bytes = greatest(0, kept_bytes + $4 - (select coalesce(sum(size), 0) from gone)) where project_id = $3`
)

const (
	// errorColumns are those of Error, from a table called e.
	errorColumns = `e.id, e.project_id, e.name, e.message, e.culprit, e.platform, e.level, e.status, e.resolved_at, e.resolved_release, e.regressed_at, e.events, e.people,
	e.first_seen, e.last_seen`
	storedColumns = `id, event_id, happened_at, received_at, level, environment, release, payload`
)

const (
	sqlError     = `select ` + errorColumns + ` from tracked_errors e where e.project_id = $1 and e.id = $2`
	sqlLockError = sqlError + ` for update`
	sqlSetStatus = `update tracked_errors set status = $2, resolved_at = $3, regressed_at = $4, updated_at = $5, resolved_release = $6 where id = $1`
	sqlPlaces    = `select kind, value, events, first_seen, last_seen from error_places where error_id = $1 order by last_seen desc, kind, value limit $2`
	sqlHours     = `
select error_id, hour, events from error_hours where error_id = any($1::bigint[]) and hour >= $2 order by error_id, hour limit $3`

	sqlSweepHours = `
delete from error_hours where (error_id, hour) in (select error_id, hour from error_hours where hour < $1 order by hour limit $2)`
	sqlSweepEventIDs = `
delete from error_event_ids where (project_id, event_id) in
	(select project_id, event_id from error_event_ids where received_at < $1 order by received_at limit $2)`
	// Whoever writes events of a project holds its settings; so do these, in the order of projects.
	sqlOldEvents = `
select s.project_id from error_tracking_settings s
where s.project_id in (
	select e.project_id from (select error_id from error_events where received_at < $1 order by received_at limit $2) old join tracked_errors e on e.id = old.error_id)
order by s.project_id limit 1 for update`
	sqlSweepEvents = `
with gone as (
	delete from error_events where id in (
		select old.id from (select id, error_id from error_events where received_at < $1 order by received_at limit $2) old
		join tracked_errors e on e.id = old.error_id and e.project_id = $3)
	returning octet_length(payload) as size
), counted as (
	update error_tracking_settings set kept_bytes = greatest(0, kept_bytes - (select coalesce(sum(size), 0) from gone)) where project_id = $3
)
select count(*)::integer from gone`
	sqlOldErrors = `
select s.project_id from error_tracking_settings s
where s.project_id in (select project_id from (select project_id from tracked_errors where last_seen < $1 order by last_seen limit $2) old)
order by s.project_id limit 1 for update`
	// Those that happened longest ago go, but for some that are needed.
	sqlRemoveErrors = `
with old as (
	select id from tracked_errors where project_id = $3 and last_seen < $1 and id <> all($4::bigint[]) order by last_seen, id limit $2
), kept as (
	select coalesce(sum(octet_length(payload)), 0) as size from error_events where error_id in (select id from old)
), gone as (
	delete from tracked_errors where id in (select id from old) returning 1
), counted as (
	update error_tracking_settings set errors = greatest(0, errors - (select count(*) from gone)), kept_bytes = greatest(0, kept_bytes - (select size from kept))
	where project_id = $3
)
select count(*)::integer from gone`
)
