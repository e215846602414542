package user

const (
	sqlPutAvatar = `
with put as (
	insert into avatars (user_id, content_type, content) values ($1, $2, $3)
	on conflict (user_id) do update set content_type = excluded.content_type, content = excluded.content
)
update users set avatar = $4 where id = $1`
	sqlDropAvatar = `
with dropped as (delete from avatars where user_id = $1) update users set avatar = '' where id = $1`
	sqlAvatar = `
select u.avatar as name, a.content_type, a.content, u.updated_at from avatars a join users u on u.id = a.user_id
where u.id = $1 and u.avatar = $2 and u.removal is null`
)
