package audit

// columns are those of Event, from a table called e.
const columns = `e.id, e.created_at, e.event_type, e.author_id, e.author_name, e.entity_type, e.entity_id, e.entity_path, e.target_type, e.target_id,
	e.target_details, e.ip_address, e.details, e.top_id, e.mac`

const (
	// The id is part of what is signed, so it is asked for first, with the group at the top of the entity $2 of the kind $1. Of one that is gone already,
	// it is the group whose path $3 its own begins with: nobody else can have that in the transaction that removes it.
	sqlNextID = `
select nextval('audit_events_id_seq'), case when $1::text in ('Group', 'Project') then coalesce(
	(select n.lineage[1] from namespaces n
		where n.id = case $1 when 'Group' then $2::bigint else (select p.namespace_id from projects p where p.id = $2) end),
	(select r.namespace_id from routes r where r.parent_id = 0 and r.path = $3 and not r.former)) end`
	sqlInsert = `
insert into audit_events (id, created_at, event_type, author_id, author_name, entity_type, entity_id, entity_path, target_type, target_id,
	target_details, ip_address, details, mac, top_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

	sqlFind = `select ` + columns + ` from audit_events e where e.id = $1 order by e.created_at limit 1`

	// Ids that stand outside of a time: the nearest event after it, and the nearest before.
	sqlFirstAfter = `select e.id from audit_events e where e.created_at > $1 order by e.created_at, e.id limit 1`
	sqlLastBefore = `select e.id from audit_events e where e.created_at < $1 order by e.created_at desc, e.id desc limit 1`

	sqlMakeMonth = `select make_audit_month($1::date)`
	sqlDropMonth = `select drop_audit_month($1::date)`
	sqlMonths    = `
select substring(c.relname from 14)::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'audit_events'::regclass and c.relname ~ '^audit_events_[0-9]{6}$' order by 1 limit 10000`
	sqlHasIndex = `select coalesce((select indisvalid from pg_index where indexrelid = to_regclass($1)), false)`
	// An index takes as long as it takes, also to wait for transactions that are older.
	sqlPatientSession = `select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)`
	// Whoever waits for the table lets nobody pass who comes later.
	sqlWaitShortly = `select set_config('lock_timeout', '3s', true)`
)
