package setting

// The row of settings is the lock of this room: whoever changes a setting or a
// flag changes its version, and tells every node in the same transaction.
const (
	sqlState = `select s.changed, s.version, s.updated_at,
	(select coalesce(jsonb_object_agg(f.name, f.gates), '{}') from features f) as features
from settings s`
	sqlLock    = `select changed from settings for update`
	sqlUpdate  = `update settings set changed = changed || $1::jsonb, version = version + 1, updated_at = $2`
	sqlTouch   = `update settings set version = version + 1`
	sqlNotify  = `select pg_notify('` + channel + `', '')`
	sqlFeature = `select gates from features where name = $1`

	sqlSetFeature = `insert into features (name, gates, updated_at)
select $1::text, $2::jsonb, $3::timestamptz
where exists (select from features where name = $1) or (select count(*) from features) < $4
on conflict (name) do update set gates = excluded.gates, updated_at = excluded.updated_at`
	sqlRemoveFeature = `delete from features where name = $1 returning gates`
)

const channel = "stithy_settings"
