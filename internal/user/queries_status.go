package user

const (
	sqlStatus = `
select emoji, message, availability, clear_status_at from user_statuses
where user_id = $1 and (clear_status_at is null or clear_status_at > $2)`
	sqlPutStatus = `
insert into user_statuses (user_id, emoji, message, availability, clear_status_at) values ($1, $2, $3, $4, $5)
on conflict (user_id) do update set emoji = excluded.emoji, message = excluded.message, availability = excluded.availability,
	clear_status_at = excluded.clear_status_at`
	sqlDeleteStatus = `delete from user_statuses where user_id = $1`
)
