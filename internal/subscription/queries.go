package subscription

const (
	sqlSet    = `insert into subscriptions (kind, subject_id, user_id, created_at) values ($1, $2, $3, $4) on conflict do nothing`
	sqlSetAll = `
insert into subscriptions (kind, subject_id, user_id, created_at) select $1, $2, unnest($3::bigint[]), $4 on conflict do nothing`
	sqlUnset = `delete from subscriptions where kind = $1 and subject_id = $2 and user_id = $3`
	sqlMerge = `
insert into subscriptions (kind, subject_id, user_id, created_at)
select kind, $3, user_id, min(created_at) from subscriptions where kind = $1 and subject_id = any($2::bigint[]) group by kind, user_id
on conflict do nothing`
)
