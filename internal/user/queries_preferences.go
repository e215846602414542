package user

const preferenceColumns = `u.id as user_id, u.view_diffs_file_by_file, u.show_whitespace_in_diffs, u.pass_user_identities_to_ci_jwt`

const (
	sqlPreferences    = `select ` + preferenceColumns + ` from users u where u.id = $1 and u.removal is null`
	sqlSetPreferences = `
update users u set view_diffs_file_by_file = coalesce($2, view_diffs_file_by_file),
	show_whitespace_in_diffs = coalesce($3, show_whitespace_in_diffs),
	pass_user_identities_to_ci_jwt = coalesce($4, pass_user_identities_to_ci_jwt)
where u.id = $1 and u.removal is null returning ` + preferenceColumns
)
