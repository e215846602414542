package project

const (
	sqlPutAvatar = `
with put as (
	insert into project_avatars (project_id, content_type, content) values ($1, $2, $3)
	on conflict (project_id) do update set content_type = excluded.content_type, content = excluded.content
)
update projects set avatar = $4 where id = $1`
	sqlDropAvatar = `
with dropped as (delete from project_avatars where project_id = $1) update projects set avatar = '' where id = $1`
	sqlAvatar = `
select t.avatar as name, a.content_type, a.content, t.updated_at from project_avatars a join projects t on t.id = a.project_id
where a.project_id = $1`
)
