package audit

const (
	sqlInsert = `
insert into audit_events (created_at, event_type, author_id, author_name, entity_type, entity_id, entity_path, target_type,
	target_id, target_details, ip_address, details)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

	sqlStrays = `select exists (select 1 from audit_events_default where created_at >= $1 and created_at < $2)`
)
