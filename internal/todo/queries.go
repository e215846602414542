package todo

// columns are those of Todo, from tables called t, i, its issue, and e, its alert. Bodies are cut, so that a page of them is not
// more than an answer should hold.
const columns = `t.id, t.user_id, t.project_id, coalesce(t.issue_id, 0) as issue_id, t.alert_id, e.iid as alert_iid, t.note_id, t.author_id, t.action, t.done,
	t.created_at, t.updated_at, coalesce((select left(n.body, 4000) from notes n where n.id = t.note_id), i.title, e.title) as body`

const (
	sqlAdd = `
insert into todos (user_id, project_id, issue_id, note_id, author_id, action, created_at, updated_at)
select unnest($1::bigint[]), $2, $3, $4, $5, $6, $7, $7 on conflict (issue_id, user_id) where not done do nothing`
	sqlAddAlert = `
insert into todos (user_id, project_id, alert_id, author_id, action, created_at, updated_at)
select unnest($1::bigint[]), $2, $3, $4, $5, $6, $6 on conflict (alert_id, user_id) where alert_id is not null and not done do nothing`
	sqlFinishAlert = `update todos set done = true, updated_at = $3 where alert_id = $1 and user_id = any($2::bigint[]) and not done`
	sqlEndAlert    = `update todos set done = true, updated_at = $2 where alert_id = $1 and not done`

	// What a person does at an issue marks their to-dos for it as done, except one that they added themselves.
	sqlFinishOwn  = `update todos set done = true, updated_at = $3 where issue_id = $1 and user_id = $2 and not done and action <> 'marked'`
	sqlFinish     = `update todos set done = true, updated_at = $3 where issue_id = $1 and user_id = $2 and not done`
	sqlUnassigned = `update todos set done = true, updated_at = $3 where issue_id = $1 and user_id = any($2::bigint[]) and not done and action = 'assigned'`
	sqlMove       = `update todos set issue_id = $2, project_id = $3 where issue_id = $1`

	sqlPendingOf = `
select t.project_id, t.alert_id is not null as alert, i.author_id, coalesce(i.confidential, false) as confidential, coalesce((select u.state = 'banned' from users u where u.id = i.author_id), false) as hidden,
	exists (select 1 from issue_assignees a where a.issue_id = i.id and a.user_id = $1) as given,
	coalesce((select n.internal from notes n where n.id = t.note_id), false) as internal
from todos t left join issues i on i.id = t.issue_id where t.user_id = $1 and not t.done order by t.id desc limit $2`
	sqlPending = `select id from todos where issue_id = $1 and user_id = $2 and not done`
	sqlDone    = `update todos set done = true, updated_at = $3 where id = $1 and user_id = $2 and not done`
	sqlDoneAll = `
update todos set done = true, updated_at = $2 where id in (select id from todos where user_id = $1 and not done order by id desc limit $3)`
)
