package audit

const (
	// Everything is read as it was at one moment.
	sqlOneMoment = `set transaction isolation level repeatable read read only`
	// A long trail takes as long as it takes.
	sqlPatient = `select set_config('statement_timeout', '0', true)`

	sqlBlocks = `
select number, month, sealed_at, event_ids, content, previous, hash, mac from audit_blocks where number > $1 order by number limit $2`
	sqlEventsOf = `select ` + columns + ` from audit_events e where e.id = any($1::bigint[]) order by e.id, e.created_at limit 10000`
	sqlSealsOf  = `
select event_id, created_at, entity_type, entity_id, number, block, content, previous, hash, mac from audit_seals
where event_id = any($1::bigint[]) order by event_id, created_at limit 10000`
	sqlEndsOf = `
select h.entity_type, h.entity_id, h.number, h.hash from unnest($1::text[], $2::bigint[]) e(type, id)
join audit_heads h on h.entity_type = e.type and h.entity_id = e.id order by 1, 2 limit 100000`
	sqlRetired = `select month, retired_at, mac from audit_retired order by month limit 10000`
	sqlDays    = `select day, block, hash, mac from audit_days order by day limit 100000`

	// Seals that do not follow the one before them in their chain. Where a month was retired, numbers may be missing.
	sqlBreaks = `
select c.entity_type, c.entity_id, c.number, coalesce(c.number_before, 0) as before, c.event_id from (
	select s.entity_type, s.entity_id, s.number, s.event_id, s.previous,
		lag(s.number) over chain as number_before, lag(s.hash) over chain as hash_before
	from audit_seals s window chain as (partition by s.entity_type, s.entity_id order by s.number)
) c
where case
	when c.number_before is null then c.number <> 1 and not $1
	when c.number = c.number_before + 1 then c.previous <> c.hash_before
	else not $1 or c.number <= c.number_before end
order by c.entity_type, c.entity_id, c.number limit $2`
	// Chains whose end is not what is kept as their end.
	sqlEnds = `
select coalesce(h.entity_type, l.entity_type) as entity_type, coalesce(h.entity_id, l.entity_id) as entity_id, coalesce(h.number, 0) as number,
	coalesce(l.number, 0) as last
from audit_heads h full join (
	select distinct on (s.entity_type, s.entity_id) s.entity_type, s.entity_id, s.number, s.hash from audit_seals s
	order by s.entity_type, s.entity_id, s.number desc
) l on l.entity_type = h.entity_type and l.entity_id = h.entity_id
where h.number is null or (l.number is null and not $1) or l.number > h.number or (l.number < h.number and not $1) or (l.number = h.number and l.hash <> h.hash)
order by 1, 2 limit $2`

	// Events that nobody sealed and nobody is about to.
	sqlUnknown = `
select e.id, e.created_at, e.entity_type, e.entity_id from audit_events e
where not exists (select 1 from audit_seals s where s.event_id = e.id and s.created_at = e.created_at)
	and not exists (select 1 from audit_unsealed u where u.event_id = e.id and u.created_at = e.created_at)
	and not exists (select 1 from audit_backlog b where e.id > b.past and e.id <= b.upto)
order by e.id, e.created_at limit $1`
	sqlCountSeals = `select count(*) from audit_seals`
	// Seals of events that no block names. Asked for only when there are more seals than blocks name.
	sqlStraySeals = `
select s.event_id as id, s.created_at, s.entity_type, s.entity_id from audit_seals s left join audit_blocks b on b.number = s.block
where b.number is null or not s.event_id = any(b.event_ids) order by s.event_id, s.created_at limit $1`
	sqlWaitingEvents = `
select ` + columns + ` from audit_unsealed u join audit_events e on e.id = u.event_id and e.created_at = u.created_at
where (u.event_id, u.created_at) > ($1::bigint, $2::timestamptz) order by u.event_id, u.created_at limit $3`
	sqlGone = `
select u.event_id from audit_unsealed u where not exists (select 1 from audit_events e where e.id = u.event_id and e.created_at = u.created_at)
order by 1 limit $1`
)
