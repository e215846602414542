package user

const (
	// The order of ids keeps two who follow each other from waiting for each
	// other.
	sqlLockPair    = `select id, following from users where id in ($1, $2) and removal is null order by id for no key update`
	sqlFollows     = `select exists (select from follows where follower_id = $1 and followed_id = $2)`
	sqlFollow      = `insert into follows (follower_id, followed_id, created_at) values ($1, $2, $3)`
	sqlUnfollow    = `delete from follows where follower_id = $1 and followed_id = $2`
	sqlCountFollow = `
update users set following = following + case when id = $1 then $3 else 0 end, followers = followers + case when id = $2 then $3 else 0 end
where id in ($1, $2)`

	sqlLockPeers = `
select id from users where id in (
	select followed_id from follows where follower_id = $1 union select follower_id from follows where followed_id = $1
) order by id for no key update`
	sqlDropFollowed = `
with gone as (delete from follows where follower_id = $1 returning followed_id)
update users set followers = followers - 1 where id in (select followed_id from gone)`
	sqlDropFollowers = `
with gone as (delete from follows where followed_id = $1 returning follower_id)
update users set following = following - 1 where id in (select follower_id from gone)`
)
