package user

// A claimed address is a secondary one if it has a row there, else the
// primary one.
const sqlHolder = `
select ` + Columns + ` from email_claims c join users u on u.id = c.user_id
where c.address = $1 and u.removal is null and u.kind = 'human'
	and coalesce((select e.confirmed_at is not null from emails e where e.address = c.address), u.confirmed_at is not null)`

const sqlConfirmedOf = `
select c.address from email_claims c join users u on u.id = c.user_id
where u.id = $1 and u.removal is null and u.kind = 'human'
	and coalesce((select e.confirmed_at is not null from emails e where e.address = c.address), u.confirmed_at is not null)
order by c.address limit 1000`
