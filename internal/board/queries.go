package board

// columns are those of Board, from a table called b, and listColumns those of List, from a table called l.
const (
	columns     = `b.id, b.namespace_id, b.project_id, b.name, b.hide_backlog_list, b.hide_closed_list, b.created_at, b.updated_at`
	listColumns = `l.id, l.board_id, l.position, l.label_id, l.milestone_id, l.user_id`
)

// ofOwner is the condition that a board belongs to an owner, given by its two keys, one of which is null.
const ofOwner = `(b.namespace_id = $1 or b.project_id = $2)`

const (
	sqlFind  = `select ` + columns + ` from boards b where b.id = $3 and ` + ofOwner
	sqlLock  = `select ` + columns + ` from boards b where b.id = $3 and ` + ofOwner + ` for update`
	sqlFirst = `select ` + columns + ` from boards b where ` + ofOwner + ` order by b.id limit 1`
	sqlCount = `select count(*) from boards b where ` + ofOwner

	sqlInsert = `
insert into boards as b (namespace_id, project_id, name, created_at, updated_at) values ($1, $2, $3, $4, $4) returning ` + columns
	sqlUpdate = `update boards set name = $2, hide_backlog_list = $3, hide_closed_list = $4, updated_at = $5 where id = $1`
	sqlDelete = `delete from boards where id = $1`

	// No board has more lists than may be made on it.
	sqlLists    = `select ` + listColumns + ` from board_lists l where l.board_id = any($1::bigint[]) order by l.board_id, l.position, l.id`
	sqlFindList = `select ` + listColumns + ` from board_lists l where l.board_id = $1 and l.id = $2`

	sqlCountLists = `select count(*) from board_lists where board_id = $1`
	sqlInsertList = `
insert into board_lists as l (board_id, position, label_id, milestone_id, user_id, created_at) values ($1, $2, $3, $4, $5, $6) returning ` + listColumns
	sqlDeleteList = `delete from board_lists where board_id = $1 and id = $2`
	// The list $2 goes from $3 to $4; those between make room.
	sqlMoveList = `
update board_lists set position = case when id = $2 then $4::integer when $3::integer < $4::integer then position - 1 else position + 1 end
where board_id = $1 and position between least($3::integer, $4::integer) and greatest($3::integer, $4::integer)`

	// What a list is to stand for, which the project $2 or the groups $3 have, is kept from going. It is held before the board, by everyone.
	sqlHoldLabel     = `select id from labels where id = $1 and (project_id = $2 or namespace_id = any($3::bigint[])) for key share`
	sqlHoldMilestone = `select id from milestones where id = $1 and (project_id = $2 or namespace_id = any($3::bigint[])) for key share`
	sqlHoldUser      = `select id from users where id = $1 for key share`

	// What becomes another is held, so that no list comes to stand for it meanwhile.
	sqlEndLabels     = `select id from labels where id = any($1::bigint[]) order by id for update`
	sqlEndMilestones = `select id from milestones where id = any($1::bigint[]) order by id for update`

	// The boards with lists of some labels, milestones or people.
	sqlLockByLabels     = `select id from boards where id in (select board_id from board_lists where label_id = any($1::bigint[])) order by id for update`
	sqlLockByMilestones = `select id from boards where id in (select board_id from board_lists where milestone_id = any($1::bigint[])) order by id for update`
	sqlLockByUser       = `select id from boards where id in (select board_id from board_lists where user_id = $1) order by id for update`

	// A board keeps the first of the lists that become one.
	sqlDropDoubleLabels = `
delete from board_lists l using board_lists o
where l.board_id = o.board_id and l.position > o.position and (l.label_id = any($1::bigint[]) or l.label_id = $2)
	and (o.label_id = any($1::bigint[]) or o.label_id = $2)`
	sqlDropDoubleMilestones = `
delete from board_lists l using board_lists o
where l.board_id = o.board_id and l.position > o.position and (l.milestone_id = any($1::bigint[]) or l.milestone_id = $2)
	and (o.milestone_id = any($1::bigint[]) or o.milestone_id = $2)`
	sqlRelabel = `update board_lists set label_id = $2 where label_id = any($1::bigint[])`
	sqlReplan  = `update board_lists set milestone_id = $2 where milestone_id = any($1::bigint[])`

	sqlDropLabel     = `delete from board_lists where label_id = $1`
	sqlDropMilestone = `delete from board_lists where milestone_id = $1`
	sqlDropUser      = `delete from board_lists where user_id = $1`
)
