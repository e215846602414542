package subscription

const (
	sqlSet    = `insert into subscriptions (kind, subject_id, user_id, created_at) values ($1, $2, $3, $4) on conflict do nothing`
	sqlSetAll = `
insert into subscriptions (kind, subject_id, user_id, created_at) select $1, $2, a.id, $4 from unnest($3::bigint[]) as a(id)
where not exists (select 1 from unsubscriptions n where n.kind = $1 and n.subject_id = $2 and n.user_id = a.id) on conflict do nothing`
	sqlUnset = `delete from subscriptions where kind = $1 and subject_id = $2 and user_id = $3`
	sqlMerge = `
insert into subscriptions (kind, subject_id, user_id, created_at)
select kind, $3, user_id, min(created_at) from subscriptions where kind = $1 and subject_id = any($2::bigint[]) group by kind, user_id
on conflict do nothing`

	sqlDecline   = `insert into unsubscriptions (kind, subject_id, user_id, created_at) values ($1, $2, $3, $4) on conflict do nothing`
	sqlUndecline = `delete from unsubscriptions where kind = $1 and subject_id = $2 and user_id = $3`
	sqlDeclined  = `select user_id from unsubscriptions where kind = $1 and subject_id = $2 and user_id = any($3::bigint[])`
)
