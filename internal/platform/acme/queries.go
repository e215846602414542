package acme

const certificateColumns = `name, chain, key_sealed, not_before, not_after, due_at, failures, problem, version`

const (
	sqlWant   = `insert into acme_certificates (name, due_at) values ($1, $2) on conflict (name) do nothing`
	sqlForget = `delete from acme_certificates where name = $1`
	sqlFind   = `select ` + certificateColumns + ` from acme_certificates where name = $1`
	sqlDue    = `select name from acme_certificates where due_at <= $1 and leased_until <= $1 order by due_at limit $2`

	// One order at a time: whoever takes the lease has the name until it ends.
	sqlTake = `
update acme_certificates set leased_until = $3 where name = $1 and due_at <= $2 and leased_until <= $2 returning ` + certificateColumns
	sqlIssued = `
update acme_certificates set chain = $3, key_sealed = $4, not_before = $5, not_after = $6, due_at = $7, failures = 0, problem = '', version = version + 1,
	leased_until = '-infinity'
where name = $1 and leased_until = $2`
	sqlFailed = `
update acme_certificates set failures = failures + 1, problem = $3, due_at = $4, leased_until = '-infinity' where name = $1 and leased_until = $2`

	sqlAccount    = `select key_sealed from acme_accounts where directory = $1`
	sqlNewAccount = `insert into acme_accounts (directory, key_sealed) values ($1, $2) on conflict (directory) do nothing`

	sqlPose = `
insert into acme_challenges (name, token, kind, answer, expires_at) values ($1, $2, $3, $4, $5)
on conflict (name, token) do update set kind = excluded.kind, answer = excluded.answer, expires_at = excluded.expires_at`
	sqlAnswer    = `select answer from acme_challenges where name = $1 and token = $2 and kind = 'http-01' and expires_at > $3`
	sqlHandshake = `
select token from acme_challenges where name = $1 and kind = 'tls-alpn-01' and expires_at > $2 order by expires_at desc limit 1`
	sqlSweep = `delete from acme_challenges where (name, token) in (select name, token from acme_challenges where expires_at <= $1 order by expires_at limit $2)`
)
