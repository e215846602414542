package group

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
)

// Namespaces lists those in which the actor has a role, their own one among
// them; to an administrator all there are.
func (s *Service) Namespaces(ctx context.Context, a access.Actor, search string, ownedOnly, topLevel bool, req paging.Request) (paging.Result[Group], error) {
	l := postgres.From("namespaces n").Columns(Columns + ", 0 as role").Where("not n.removal")
	switch {
	case ownedOnly:
		l.Where("n.owner_id = ? or "+owned, a.ID(), a.ID(), s.today())
	case !a.Admin():
		l.Where("n.owner_id = ? or "+held, append([]any{a.ID()}, s.heldArgs(a, access.Guest)...)...)
	}
	if topLevel {
		l.Where("n.parent_id is null")
	}
	if search != "" {
		whereMatches(l, search)
	}
	l.Order(postgres.Key{Expr: "n.id"})
	page, err := paging.Fetch[Group](ctx, s.deps.DB, l, req, nil)
	if err != nil {
		return page, err
	}
	return page, s.addRoles(ctx, a, page.Items)
}

// addRoles says which role the actor has in each.
func (s *Service) addRoles(ctx context.Context, a access.Actor, groups []Group) error {
	ids := make([]int64, len(groups))
	for i, g := range groups {
		ids[i] = g.ID
	}
	rows, err := postgres.All[struct {
		ID   int64
		Role access.Role
	}](ctx, s.deps.DB, sqlRoles, a.ID(), s.today(), ids)
	roles := make(map[int64]access.Role, len(rows))
	for _, r := range rows {
		roles[r.ID] = r.Role
	}
	for i := range groups {
		groups[i].Role = roles[groups[i].ID]
	}
	return err
}

// Namespace reads a group or personal namespace by id or full path, for an
// actor who has a role in it.
func (s *Service) Namespace(ctx context.Context, a access.Actor, ref string) (*Group, error) {
	g, err := s.NamespaceByRef(ctx, a, ref)
	if fault.Is(err, fault.NotFound) || (err == nil && g.Role == access.NoRole && !a.Admin() && !a.Auditor()) {
		return nil, fault.NotFoundf("Namespace")
	}
	return g, err
}

// Exists reports whether a path below a parent (0 at the top) is in use, and
// what is free instead. Below a parent that the actor does not see, nothing is.
func (s *Service) Exists(ctx context.Context, a access.Actor, parentID int64, path string) (exists bool, instead string, err error) {
	if parentID != 0 {
		if _, err := s.Find(ctx, a, parentID); err != nil {
			if fault.Is(err, fault.NotFound) {
				err = nil
			}
			return false, "", err
		}
	}
	path = strings.ToLower(path)
	candidates := []string{path}
	for i := range 100 {
		candidates = append(candidates, path+strconv.Itoa(i+1))
	}
	taken, err := postgres.Values[string](ctx, s.deps.DB, sqlTaken, parentID, candidates)
	if err != nil || !slices.Contains(taken, path) {
		return false, "", err
	}
	for _, c := range candidates {
		if !slices.Contains(taken, c) {
			return true, c, nil
		}
	}
	return true, "", nil
}

// MembersBelow counts the people in some groups and all below each.
func (s *Service) MembersBelow(ctx context.Context, ids []int64) (map[int64]int, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := postgres.All[struct {
		ID      int64
		Members int
	}](ctx, s.deps.DB, sqlCountMembers, ids, s.today())
	counts := make(map[int64]int, len(rows))
	for _, r := range rows {
		counts[r.ID] = r.Members
	}
	return counts, err
}
