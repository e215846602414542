package audit

const (
	// One at a time seals; who finds another at it leaves it to them.
	sqlAlone = `select pg_try_advisory_xact_lock(hashtextextended('stithy audit seal', 0))`

	sqlBacklog     = `select past, upto from audit_backlog order by past limit 1 for update`
	sqlBacklogPart = `select max(p.id) from (select id from audit_events where id > $1 and id <= $2 order by id limit $3) p`
	sqlBacklogMove = `
insert into audit_unsealed (event_id, created_at) select id, created_at from audit_events where id > $1 and id <= $2 on conflict do nothing`
	sqlBacklogDone = `update audit_backlog set past = $2 where past = $1`
	sqlBacklogEnd  = `delete from audit_backlog where past >= upto`

	// An event that was taken away before it was sealed stays in the list, for who verifies.
	sqlOldestUnsealed = `
select u.created_at from audit_unsealed u join audit_events e on e.id = u.event_id and e.created_at = u.created_at order by u.event_id, u.created_at limit 1`
	sqlUnsealed = `
select ` + columns + ` from audit_unsealed u join audit_events e on e.id = u.event_id and e.created_at = u.created_at
where u.created_at >= $1 and u.created_at < $2 order by u.event_id, u.created_at limit $3`
	sqlSealed = `
delete from audit_unsealed u using unnest($1::bigint[], $2::timestamptz[]) s(id, created_at) where u.event_id = s.id and u.created_at = s.created_at`

	sqlHeads = `
select h.entity_type, h.entity_id, h.number, h.hash from unnest($1::text[], $2::bigint[]) e(type, id)
join audit_heads h on h.entity_type = e.type and h.entity_id = e.id order by 1, 2 limit 1000`
	sqlPutHeads = `
insert into audit_heads (entity_type, entity_id, number, hash)
select h.type, h.id, h.number, h.hash from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[]) h(type, id, number, hash)
on conflict (entity_type, entity_id) do update set number = excluded.number, hash = excluded.hash`
	sqlPutSeals = `
insert into audit_seals (event_id, created_at, entity_type, entity_id, number, block, content, previous, hash, mac)
select s.id, s.created_at, s.type, s.entity, s.number, s.block, s.content, s.previous, s.hash, s.mac
from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[])
	s(id, created_at, type, entity, number, block, content, previous, hash, mac)`
	sqlLastBlock = `
select number, month, sealed_at, event_ids, content, previous, hash, mac from audit_blocks order by number desc limit 1`
	sqlSealedAt = `select sealed_at from audit_blocks order by number desc limit 1`
	sqlPutBlock = `
insert into audit_blocks (number, month, sealed_at, event_ids, content, previous, hash, mac) values ($1, $2, $3, $4, $5, $6, $7, $8)`
	sqlPutDay = `insert into audit_days (day, block, hash, mac) values ($1, $2, $3, $4) on conflict (day) do nothing`

	sqlRetire   = `insert into audit_retired (month, retired_at, mac) values ($1, $2, $3) on conflict (month) do nothing`
	sqlWaiting  = `select exists (select 1 from audit_unsealed where created_at >= $1 and created_at < $2)`
	sqlOfPast   = `select exists (select 1 from audit_backlog)`
	sqlInStrays = `
select exists (select 1 from audit_events_default where created_at >= $1 and created_at < $2)
	or exists (select 1 from audit_seals_default where created_at >= $1 and created_at < $2)`
)
