package protection

import "stithy/internal/grant"

// grantsOf are the grants of a rule as one document, from protection_grants g.
const grantsOf = `coalesce(json_agg(json_build_object('id', g.id, 'act', g.act, 'role', g.access_level, 'user_id', g.user_id,
	'group_id', g.group_id, 'deploy_key', g.deploy_key_id, 'name', coalesce(u.name, n.name)) order by g.id), '[]')::text
	from protection_grants g left join users u on u.id = g.user_id left join namespaces n on n.id = g.group_id`

const (
	branchRuleColumns = `b.id, b.name, b.allow_force_push as force_push, b.code_owners,
	(select ` + grantsOf + ` where g.protected_branch_id = b.id) as grants`
	tagRuleColumns = `t.id, t.name, (select ` + grantsOf + ` where g.protected_tag_id = t.id) as grants`
)

// maxRules is how many rules of a kind one project may have.
const maxRules = 1000

const (
	sqlBranchRules = `select ` + branchRuleColumns + ` from protected_branches b where b.project_id = $1 order by b.id limit 1000`
	sqlTagRules    = `select ` + tagRuleColumns + ` from protected_tags t where t.project_id = $1 order by t.id limit 1000`
	sqlBranchRule  = `select ` + branchRuleColumns + ` from protected_branches b where b.project_id = $1 and b.name = $2`
	sqlTagRule     = `select ` + tagRuleColumns + ` from protected_tags t where t.project_id = $1 and t.name = $2`

	sqlBranchRuleNames = `select name from protected_branches where project_id = $1 order by id limit 1000`
	sqlTagRuleNames    = `select name from protected_tags where project_id = $1 order by id limit 1000`

	sqlCountBranchRules = `select count(*) from protected_branches where project_id = $1`
	sqlCountTagRules    = `select count(*) from protected_tags where project_id = $1`

	sqlInsertBranchRule = `insert into protected_branches (project_id, name, allow_force_push, code_owners, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $5) returning id`
	sqlUpdateBranchRule = `update protected_branches set allow_force_push = $3, code_owners = $4, updated_at = $5 where project_id = $1 and id = $2`
	sqlLockBranchRule   = `select id from protected_branches where project_id = $1 and name = $2 for update`
	sqlDeleteBranchRule = `delete from protected_branches where project_id = $1 and id = $2`
	sqlInsertTagRule    = `insert into protected_tags (project_id, name, created_at, updated_at) values ($1, $2, $3, $3) returning id`
	sqlDeleteTagRule    = `delete from protected_tags where project_id = $1 and id = $2`

	sqlInsertGrant = `insert into protection_grants (protected_branch_id, protected_tag_id, act, access_level, user_id, group_id, deploy_key_id)
		values ($1, $2, $3, $4, $5, $6, $7)`
	sqlCutGrants = `delete from protection_grants where protected_branch_id = $1 and act = $2`
	sqlCutGrant  = `delete from protection_grants where protected_branch_id = $1 and act = $2 and id = $3`

	// sqlLevelOf is what a group decided about the default branches in it.
	sqlLevelOf = `select (settings->>'default_branch_protection')::int from namespaces where id = $1 and kind = 'group'`

	// sqlMemberOf are those of some groups that a person is in.
	sqlMemberOf = `select n.id from namespaces n where n.id = any($3::bigint[]) and not n.removal and ` + grant.NamespaceRole + ` >= 10`
	// sqlStanding is the role of the person $1 in the project $3.
	sqlStanding = `select ` + grant.ProjectRole + ` from projects p join namespaces n on n.id = p.namespace_id where p.id = $3`
	// sqlLetIn is whether a group stands above a project or has a share in it.
	sqlLetIn = `select exists (select 1 from shares s where s.project_id = $1 and s.group_id = $2)
		or exists (select 1 from projects p join namespaces n on n.id = p.namespace_id where p.id = $1 and n.lineage @> array[$2::bigint])`
)
