// Package grant owns who holds which role where: memberships of groups and
// projects, and groups that others are shared with. It answers, in one indexed
// query however deep the tree, which role a person has in a place. It does
// not own the places (group, project), nor who may change a membership
// (member).
//
// Tables: members, shares.
package grant

import (
	"context"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
)

// OnNamespace is the highest role that a person has in a group: their own
// there or in any group above, or one through a group that was let in. In a
// personal namespace its owner has them all.
func OnNamespace(ctx context.Context, q postgres.Querier, userID, namespaceID int64, today time.Time) (access.Role, error) {
	return role(ctx, q, sqlRoleOnNamespace, userID, namespaceID, today)
}

// OnProject is the highest role that a person has in a project.
func OnProject(ctx context.Context, q postgres.Querier, userID, projectID int64, today time.Time) (access.Role, error) {
	return role(ctx, q, sqlRoleOnProject, userID, projectID, today)
}

func role(ctx context.Context, q postgres.Querier, sql string, userID, placeID int64, today time.Time) (access.Role, error) {
	if userID == 0 {
		return access.NoRole, nil
	}
	return postgres.Value[access.Role](ctx, q, sql, userID, today, placeID)
}

// RolesOnProject are the highest roles that some people have in a project, of those who have one.
func RolesOnProject(ctx context.Context, q postgres.Querier, userIDs []int64, projectID int64, today time.Time) (map[int64]access.Role, error) {
	rows, err := postgres.All[struct {
		UserID int64
		Role   access.Role
	}](ctx, q, sqlRolesOnProject, userIDs, today, projectID)
	roles := make(map[int64]access.Role, len(rows))
	for _, r := range rows {
		roles[r.UserID] = r.Role
	}
	return roles, err
}

// IsIn reports whether a person is a member of one of some groups itself, not
// only of one above.
func IsIn(ctx context.Context, q postgres.Querier, userID int64, groupIDs []int64, today time.Time) (bool, error) {
	if len(groupIDs) == 0 {
		return false, nil
	}
	return postgres.Value[bool](ctx, q, sqlIsIn, userID, today, groupIDs)
}
