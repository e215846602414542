package user

const (
	sqlAttributes = `
select a.user_id as owner_id, a.key, a.value, a.updated_at from user_custom_attributes a
where a.user_id = any($1::bigint[]) order by a.user_id, a.key limit $2`
	sqlAttribute = `
select a.user_id as owner_id, a.key, a.value, a.updated_at from user_custom_attributes a where a.user_id = $1 and a.key = $2`
	sqlOtherAttributes = `select count(*) from user_custom_attributes where user_id = $1 and key <> $2`
	sqlPutAttribute    = `
insert into user_custom_attributes (user_id, key, value, created_at, updated_at) values ($1, $2, $3, $4, $4)
on conflict (user_id, key) do update set value = excluded.value, updated_at = excluded.updated_at`
	sqlDeleteAttribute = `delete from user_custom_attributes where user_id = $1 and key = $2`
)
