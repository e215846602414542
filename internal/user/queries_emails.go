package user

const emailColumns = `e.id, e.user_id, e.email, e.address, e.confirmed_at, e.created_at, e.updated_at`

const (
	sqlEmail       = `select ` + emailColumns + ` from emails e where e.user_id = $1 and e.id = $2`
	sqlInsertEmail = `
insert into emails as e (user_id, email, address, confirmed_at, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)
returning ` + emailColumns
	// The row in emails goes with its claim.
	sqlReleaseAddress = `delete from email_claims where address = $1 and user_id = $2`
	sqlHoldAddress    = `
select u.email as primary, exists (select 1 from emails e where e.user_id = u.id and e.address = c.address and e.confirmed_at is not null) as confirmed
from email_claims c join users u on u.id = c.user_id where c.user_id = $1 and c.address = $2 for key share of c`
	sqlForgetAddress = `update users set public_email = $2, commit_email = $3, unconfirmed_email = $4, updated_at = $5 where id = $1`
)
