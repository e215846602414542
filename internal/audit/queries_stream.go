package audit

// destinationColumns are those of Destination, from a table called d.
const destinationColumns = `d.id, d.namespace_id, d.name, d.url, d.sealed_token, d.event_types, d.active, d.created_at, d.updated_at, d.block, d.position, d.sent_at,
	d.failures, d.failed_at, d.reason, d.retry_at, d.dropped, d.retried_at`

// inTree keeps events e to those that happened in a group, $1, with everything that was in it then, or to all where that is null. Those of an earlier
// release, which did not note that, are where their entity is now.
const inTree = `($1::bigint is null or e.top_id = $1 or (e.top_id is null and n.lineage[1] = $1))`

// atTop is the condition that a destination d is of the instance, or of a group that stands at the top.
const atTop = `(d.namespace_id is null or exists (select 1 from namespaces n where n.id = d.namespace_id and n.parent_id is null))`

// withPlace finds where the entity of an event of an earlier release stands.
const withPlace = `left join projects p on e.entity_type = 'Project' and p.id = e.entity_id
left join namespaces n on n.id = case e.entity_type when 'Group' then e.entity_id when 'Project' then p.namespace_id end`

const (
	sqlDestinationsOf = `
select ` + destinationColumns + ` from audit_event_destinations d where d.namespace_id is not distinct from $1::bigint order by d.id limit 100`
	sqlDestination = `
select ` + destinationColumns + ` from audit_event_destinations d where d.id = $1 and d.namespace_id is not distinct from $2::bigint`
	sqlLockDestination = sqlDestination + ` for update`
	// The limit of an owner is looked at by one at a time.
	sqlLockDestinations  = `select pg_advisory_xact_lock(hashtextextended('stithy audit destinations', coalesce($1::bigint, 0)))`
	sqlCountDestinations = `select count(*) from audit_event_destinations where namespace_id is not distinct from $1::bigint`
	sqlDestinationID     = `select nextval('audit_event_destinations_id_seq')`
	// It begins behind what is sealed already.
	sqlPutDestination = `
insert into audit_event_destinations (id, namespace_id, name, url, sealed_token, event_types, active, created_at, updated_at, block, position)
select $1, $2, $3, $4, $5, $6, $7, $8, $8, coalesce(b.number, 0), coalesce(cardinality(b.event_ids), 0)
from (select 1) one left join (select number, event_ids from audit_blocks order by number desc limit 1) b on true`
	// Whoever changes something wants to see whether it helped: it is tried again at once. Who sends now ends with what is under way.
	sqlChangeDestination = `
update audit_event_destinations set name = $2, url = $3, sealed_token = $4, event_types = $5, active = $6, updated_at = $7, failures = 0, retry_at = null,
	lease = null, leased_until = null
where id = $1`
	sqlRemoveDestination = `delete from audit_event_destinations where id = $1`
	sqlTryAtOnce         = `update audit_event_destinations set failures = 0, retry_at = null, retried_at = $2 where id = $1`
	sqlSendAgain         = `update audit_event_dead_letters set again = true where destination_id = $1`
	sqlCountLetters      = `select count(*) from audit_event_dead_letters where destination_id = $1`
	sqlLetters           = `
select event_id, failed_at, reason, again from audit_event_dead_letters where destination_id = $1 order by event_id desc limit $2`

	// Destinations for which there is something to do.
	sqlDue = `
select d.id, d.namespace_id, d.failures from audit_event_destinations d
where d.active and ` + atTop + ` and (d.retry_at is null or d.retry_at <= $1) and (d.leased_until is null or d.leased_until <= $1) and (
	exists (select 1 from audit_blocks b where b.number > d.block)
	or exists (select 1 from audit_blocks b where b.number = d.block and cardinality(b.event_ids) > d.position)
	or exists (select 1 from audit_event_dead_letters l where l.destination_id = d.id and l.again))
order by d.id limit 10000`
	sqlTakeLease = `
update audit_event_destinations d set lease = $2, leased_until = $4
where d.id = $1 and d.active and ` + atTop + ` and (d.retry_at is null or d.retry_at <= $3) and (d.leased_until is null or d.leased_until <= $3)
returning ` + destinationColumns
	sqlKeepLease = `update audit_event_destinations set leased_until = $3 where id = $1 and lease = $2`
	sqlEndLease  = `update audit_event_destinations set lease = null, leased_until = null where id = $1 and lease = $2`

	sqlBlock        = `select number, month, event_ids from audit_blocks where number = $1`
	sqlHasBlock     = `select exists (select 1 from audit_blocks where number = $1)`
	sqlStreamEvents = `
select ` + columns + ` from audit_events e
` + withPlace + `
where ` + inTree + ` and e.id = any($2::bigint[]) and e.created_at >= $3 and e.created_at < $4
	and (cardinality($5::text[]) = 0 or e.event_type = any($5::text[])) order by e.id limit 1000`

	sqlSent = `
update audit_event_destinations set block = $3, position = $4, retry_at = null, leased_until = $7,
	sent_at = case when $5 then $6 else sent_at end, failures = case when $5 then 0 else failures end, reason = case when $5 then '' else reason end
where id = $1 and lease = $2`
	sqlFailed = `
update audit_event_destinations set failures = failures + 1, failed_at = $3, reason = $4, retry_at = $5, leased_until = $6 where id = $1 and lease = $2`
	sqlGiveUp = `
update audit_event_destinations set block = $3, position = $4, failures = 0, failed_at = $5, reason = $6, retry_at = null, leased_until = $7
where id = $1 and lease = $2`
	sqlPutLetter = `
insert into audit_event_dead_letters (destination_id, event_id, failed_at, reason) values ($1, $2, $3, $4)
on conflict (destination_id, event_id) do update set failed_at = excluded.failed_at, reason = excluded.reason, again = false`
	sqlDropLetters = `
with dropped as (
	delete from audit_event_dead_letters where destination_id = $1 and event_id in (
		select event_id from audit_event_dead_letters where destination_id = $1 order by event_id desc offset $2)
	returning 1)
update audit_event_destinations set dropped = dropped + (select count(*) from dropped) where id = $1`
	sqlLettersAgain = `
select event_id from audit_event_dead_letters where destination_id = $1 and again order by event_id limit $2`
	sqlLettersSent   = `delete from audit_event_dead_letters where destination_id = $1 and event_id = any($2::bigint[])`
	sqlLettersFailed = `
update audit_event_dead_letters set again = false, failed_at = $3, reason = $4 where destination_id = $1 and event_id = any($2::bigint[])`

	// What is behind, among the next blocks.
	sqlBehind = `
select count(*) as count, min(e.created_at) as since,
	coalesce((select max(number) from audit_blocks), 0) >= $3 + $5 as more
from (select number, month, event_ids from audit_blocks where number >= $3 order by number limit $5) b
cross join lateral unnest(case when b.number = $3 then b.event_ids[$4 + 1 :] else b.event_ids end) u(event_id)
join audit_events e on e.id = u.event_id and e.created_at >= b.month::timestamp at time zone 'UTC'
	and e.created_at < (b.month + interval '1 month')::timestamp at time zone 'UTC'
` + withPlace + `
where ` + inTree + ` and (cardinality($2::text[]) = 0 or e.event_type = any($2::text[]))`
)
