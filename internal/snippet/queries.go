package snippet

// columns are those of Snippet, from a table called s.
const columns = `s.id, s.author_id, s.project_id, s.repository_id, s.title, s.description, s.visibility, s.files,
	(select r.branch from text_repositories r where r.id = s.repository_id) as branch,
	exists (select 1 from users u where u.id = s.author_id and u.state = 'banned') as hidden, s.created_at, s.updated_at`

const (
	sqlFind   = `select ` + columns + ` from snippets s where s.id = $1 and s.ready`
	sqlLock   = sqlFind + ` for no key update of s`
	sqlInsert = `
insert into snippets (author_id, project_id, repository_id, title, description, visibility, user_agent, ip_address, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) returning id`
	sqlUpdate = `update snippets set title = $2, description = $3, visibility = $4, updated_at = $5 where id = $1`
	// Whoever saw the snippet as it is now passes, once.
	sqlClaim = `
update snippets set updated_at = greatest($3::timestamptz, updated_at + interval '1 microsecond') where id = $1 and ready and updated_at = $2 returning updated_at`
	sqlUnclaim = `update snippets set updated_at = $3 where id = $1 and updated_at = $2`
	sqlDelete  = `delete from snippets where id = $1`
	// Whether the first files came with it.
	sqlPushed = `
with was as (select id, ready from snippets where repository_id = $1 for no key update)
update snippets s set ready = true, files = $2, updated_at = $3 from was where s.id = was.id returning s.id, was.ready`
	sqlUserAgent = `select user_agent, ip_address from snippets where id = $1 and ready`

	sqlDropPersonal = `delete from snippets where author_id = $1 and project_id is null`
	sqlAbandoned    = `delete from snippets where id in (select id from snippets where not ready and created_at < $1 order by created_at limit $2)`
)
