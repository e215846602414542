package note

// maxCommits is how many commits are noted at an issue: as many as a reader's list looks at. Half of them may be of other projects, few of each, so
// that strangers leave room for those of the issue's own. More than maxChanges close no issue.
const (
	maxCommits  = `1000`
	maxForeign  = `500`
	maxOfOthers = `50` // of one other project
)

const (
	// What the release before this one kept of a comment on a commit: the discussion that was made of it is named after it.
	keptComment       = `project_id = $1 and sha = $2 and decode(md5('comment ' || id) || substr(md5(id || ' comment'), 1, 8), 'hex') = $3`
	sqlForgetComment  = `delete from commit_comments where ` + keptComment
	sqlReplaceComment = `update commit_comments set note = $4 where ` + keptComment

	sqlKeepCommit = `
insert into issue_commits (issue_id, project_id, sha, created_at) select $1::bigint, $2::bigint, $3::text, $4::timestamptz
where (select count(*) from (select 1 from issue_commits where issue_id = $1 and note_id is not null limit ` + maxCommits + `) noted) < ` + maxCommits + ` and ($2 = $5::bigint or (
	(select count(*) from (select 1 from issue_commits where issue_id = $1 and project_id <> $5 and note_id is not null limit ` + maxForeign + `) f) < ` + maxForeign + `
	and (select count(*) from (select 1 from issue_commits where issue_id = $1 and project_id = $2 and note_id is not null limit ` + maxOfOthers + `) s) < ` + maxOfOthers + `))
on conflict do nothing`
	sqlInsertCommitNote = `
with noted as (
	insert into notes (issue_id, author_id, discussion_id, first, thread, body, system, created_at, updated_at)
	values ($1::bigint, $4, $5, true, false, 'mentioned in commit ' || $6::text, true, $7, $7) returning id
)
update issue_commits c set note_id = noted.id from noted where c.issue_id = $1::bigint and c.project_id = $2 and c.sha = $3`

	sqlObeyCommit = `
insert into issue_commits as c (issue_id, project_id, sha, obeyed, created_at) select $1::bigint, $2::bigint, $3::text, true, $4::timestamptz
where (select count(*) from (select 1 from issue_commits where issue_id = $1 and obeyed limit ` + maxChanges + `) done) < ` + maxChanges + `
on conflict (issue_id, project_id, sha) do update set obeyed = true where not c.obeyed`
	sqlInsertClosing = `
with noted as (
	insert into resource_events (issue_id, user_id, kind, action, closed, created_at)
	select $1::bigint, $4::bigint, 'state', 'closed', true, $5::timestamptz where ` + fewChanges + ` returning id
)
update issue_commits c set event_id = noted.id from noted where c.issue_id = $1::bigint and c.project_id = $2 and c.sha = $3`

	sqlCommitProjects = `select distinct project_id from issue_commits where issue_id = $1 and note_id is not null limit ` + maxCommits
	sqlCommitProject  = `select project_id from issue_commits where note_id = $1`
	sqlForgetCommits  = `delete from notes where id in (select note_id from issue_commits where project_id = $1 and note_id is not null)`
	sqlClosings       = `select event_id, project_id, sha from issue_commits where event_id = any($1::bigint[])`
)
