package group

const (
	sqlPutAvatar = `
with put as (
	insert into namespace_avatars (namespace_id, content_type, content) values ($1, $2, $3)
	on conflict (namespace_id) do update set content_type = excluded.content_type, content = excluded.content
)
update namespaces set avatar = $4 where id = $1`
	sqlDropAvatar = `
with dropped as (delete from namespace_avatars where namespace_id = $1) update namespaces set avatar = '' where id = $1`
	sqlAvatar = `
select t.avatar as name, a.content_type, a.content, t.updated_at from namespace_avatars a join namespaces t on t.id = a.namespace_id
where a.namespace_id = $1`
)
