package user

const (
	sqlPutAvatar = `
insert into avatars (user_id, content_type, content) values ($1, $2, $3)
on conflict (user_id) do update set content_type = excluded.content_type, content = excluded.content`
	sqlDropAvatar = `
with dropped as (delete from avatars where user_id = $1) update users set avatar = '' where id = $1`
	sqlNameAvatar = `update users set avatar = $2 where id = $1`
	sqlAvatar     = `
select a.content_type, a.content, u.updated_at from avatars a join users u on u.id = a.user_id
where u.id = $1 and u.avatar = $2 and u.removal is null`
)
