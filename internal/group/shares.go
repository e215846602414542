package group

import (
	"context"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
)

// Share is a group that another is shared with.
type Share struct {
	GroupID     int64
	Name        string
	FullPath    string
	Visibility  access.Visibility
	AccessLevel access.Role
	ExpiresAt   *time.Time
	Role        access.Role // of the viewer in the group that was let in
}

// maxShares is how many of them a group shows.
const maxShares = 1000

// Shares lists the groups that a group is shared with, as far as the actor may
// know of them.
func (s *Service) Shares(ctx context.Context, a access.Actor, g *Group) ([]Share, error) {
	all, err := postgres.All[Share](ctx, s.deps.DB, sqlShares, a.ID(), s.today(), g.ID, maxShares)
	return slices.DeleteFunc(all, func(sh Share) bool {
		return !access.Sees(a, access.Target{Visibility: sh.Visibility, Role: sh.Role})
	}), err
}
