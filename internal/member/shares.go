package member

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
)

// Share is a group that a group or project is shared with.
type Share struct {
	ID        int64
	GroupID   int64
	Level     access.Role
	ExpiresAt *time.Time
}

// Share lets a group into a source: its members have their role in it there
// too, up to the level of the share. The actor must see the group; what they
// do not see is missing.
func (s *Service) Share(ctx context.Context, by access.Actor, src *Source, groupID int64, t Terms) (Share, error) {
	if err := t.check(by, src, s.today()); err != nil {
		return Share{}, err
	}
	g, err := s.deps.Groups.Find(ctx, by, groupID)
	if err == nil && g.Kind != group.Shared {
		err = fault.NotFoundf("Group")
	}
	if err != nil {
		return Share{}, err
	}
	share := Share{GroupID: g.ID, Level: t.Level, ExpiresAt: t.ExpiresAt}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.checkShare(ctx, tx, src, g); err != nil {
			return err
		}
		namespaceID, projectID := owner.Keys(src.Entity)
		if _, err := tx.Exec(ctx, sqlExpiredShare, namespaceID, projectID, g.ID, s.today()); err != nil {
			return err
		}
		share.ID, err = postgres.Value[int64](ctx, tx, sqlShare, g.ID, namespaceID, projectID, t.Level, t.ExpiresAt, s.deps.Clock.Now())
		if err != nil {
			return postgres.Faults{
				"shares_project_group_key":   fault.WithMessage(fault.Conflict, "Group already shared with this group"),
				"shares_namespace_group_key": fault.WithMessage(fault.Conflict, "Shared group The group has already been shared with this group"),
			}.Translate(err)
		}
		what := ProjectShared
		if src.isGroup() {
			what = GroupShared
		}
		return s.deps.Bus.Publish(ctx, tx, ShareEvent{Action: what, By: by, Source: src.Entity, GroupID: g.ID, Name: g.Name, Level: t.Level})
	})
	return share, err
}

// checkShare holds a share against what the groups above have decided.
func (s *Service) checkShare(ctx context.Context, tx pgx.Tx, src *Source, g *group.Group) error {
	above, err := readAbove(ctx, tx, src.NamespaceID)
	switch {
	case err != nil:
		return err
	case above.Closed && g.Root() != above.Lineage[0]:
		return fault.NotFoundf("Group")
	case src.isGroup() && g.ID == src.Entity.ID:
		return fault.WithMessage(fault.Conflict, "Group cannot be shared with itself")
	case !src.isGroup() && above.ShareLock:
		return fault.WithMessage(fault.Rejected, "The project sharing with group is disabled")
	case !src.isGroup() && slices.Contains(above.Lineage, g.ID):
		return fault.WithMessage(fault.Conflict, "Project cannot be shared with the group it is in or one of its ancestors.")
	}
	return nil
}

// Unshare keeps a group out again.
func (s *Service) Unshare(ctx context.Context, by access.Actor, src *Source, groupID int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		namespaceID, projectID := owner.Keys(src.Entity)
		name, err := postgres.Value[string](ctx, tx, sqlUnshare, namespaceID, projectID, groupID, s.today())
		if errors.Is(err, postgres.ErrNoRows) {
			return fault.NotFoundf("Group Link")
		}
		if err != nil {
			return err
		}
		what := ProjectUnshared
		if src.isGroup() {
			what = GroupUnshared
		}
		return s.deps.Bus.Publish(ctx, tx, ShareEvent{Action: what, By: by, Source: src.Entity, GroupID: groupID, Name: name})
	})
}
