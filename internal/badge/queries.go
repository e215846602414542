package badge

// columns are those of Badge, from a table called b.
const columns = `b.id, b.namespace_id, b.project_id, b.name, b.link_url, b.image_url`

// ofOwner is the condition that a row belongs to an owner, given by its two keys, one of which is null.
const ofOwner = `(b.namespace_id = $1 or b.project_id = $2)`

const (
	sqlFind   = `select ` + columns + ` from badges b where b.id = $3 and ` + ofOwner
	sqlLock   = sqlFind + ` for update`
	sqlInsert = `
insert into badges as b (namespace_id, project_id, name, link_url, image_url, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $6)
returning ` + columns
	sqlUpdate = `update badges set name = $2, link_url = $3, image_url = $4, updated_at = $5 where id = $1`
	sqlDelete = `delete from badges b where b.id = $3 and ` + ofOwner + ` returning ` + columns
)
