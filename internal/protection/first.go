package protection

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// What a group, or the instance, wants for new default branches.
const (
	unprotected     = 0
	developersPush  = 1
	protected       = 2
	developersMerge = 3
	developersBegin = 4 // they make the first commit, and are kept out after it
)

// protectionLevel is that of the group that a project stands in, if the
// owners of groups may decide, or of the instance.
func (s *Service) protectionLevel(ctx context.Context, q postgres.Querier, p *project.Project) (int, error) {
	set := s.deps.Settings.Current()
	if !set.GroupOwnersCanManageDefaultBranchProtection {
		return set.DefaultBranchProtection, nil
	}
	level, err := postgres.Value[*int](ctx, q, sqlLevelOf, p.NamespaceID)
	if errors.Is(err, postgres.ErrNoRows) || (err == nil && level == nil) {
		return set.DefaultBranchProtection, nil
	}
	if err != nil {
		return 0, err
	}
	return *level, nil
}

// firstRole is the least role that may push to an empty repository.
func (s *Service) firstRole(ctx context.Context, p *project.Project) (access.Role, error) {
	level, err := s.protectionLevel(ctx, s.deps.DB, p)
	if err != nil {
		return access.NoRole, err
	}
	if level == unprotected || level == developersPush || level == developersBegin {
		return access.Developer, nil
	}
	return access.Maintainer, nil
}

// ProtectFirst gives the first default branch of a repository the rule that
// its group asks for. A rule that is there stays.
func (s *Service) ProtectFirst(ctx context.Context, tx pgx.Tx, p *project.Project, branch string) error {
	level, err := s.protectionLevel(ctx, tx, p)
	if err != nil || level == unprotected {
		return err
	}
	_, err = postgres.Value[int64](ctx, tx, sqlLockBranchRule, p.ID, branch)
	if !errors.Is(err, postgres.ErrNoRows) {
		return err
	}
	rule := BranchRule{Name: branch, Push: []Grant{{Role: access.Maintainer}}, Merge: []Grant{{Role: access.Maintainer}}}
	switch level {
	case developersPush:
		rule.Push[0].Role = access.Developer
	case developersMerge:
		rule.Merge[0].Role = access.Developer
	}
	return s.insertRule(ctx, tx, p.ID, &rule)
}
