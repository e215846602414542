package repository

// textColumns are those of Text.
const textColumns = `id, storage, state, branch, max_files, empty`

const (
	sqlPlanText      = `insert into text_repositories (storage, state, branch, max_files, created_at) values ($1, 'new', $2, $3, $4) returning id`
	sqlFindText      = `select ` + textColumns + ` from text_repositories where id = $1 and state <> 'unneeded'`
	sqlTextReady     = `update text_repositories set state = 'ready' where id = $1 and state = 'new'`
	sqlTextPushed    = `update text_repositories set pushed_at = $2, empty = false where id = $1`
	sqlUnneededTexts = `select ` + textColumns + ` from text_repositories where state = 'unneeded' and id > $1 order by id limit $2`
	sqlDropText      = `delete from text_repositories where id = $1 and state = 'unneeded'`
)
