package group

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/grant"
	"stithy/internal/kit/access"
	"stithy/internal/kit/avatar"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// MayCreate reports whether someone may make top-level groups.
func MayCreate(a access.Actor) bool {
	u := user.FromActor(a)
	return a.Admin() || (u != nil && u.CanCreateGroup && !u.External)
}

// Draft is what a new group is made of.
type Draft struct {
	Name, Path, Description string
	ParentID                *int64
	Visibility              *access.Visibility
	Avatar                  *avatar.Upload
	Change                  func(*Settings)
}

// Create makes a group. Whoever makes it owns it, if not already by a group
// above.
func (s *Service) Create(ctx context.Context, by access.Actor, d Draft) (*Group, error) {
	g := &Group{Kind: Shared, Name: d.Name, Path: d.Path, Description: d.Description, Settings: defaults(), CreatedAt: s.deps.Clock.Now()}
	g.UpdatedAt = g.CreatedAt
	if d.Change != nil {
		d.Change(&g.Settings)
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.setBelow(ctx, tx, g, d); err != nil {
			return err
		}
		var f fault.Fields
		validate(g, &f)
		s.checkRestricted(by, g.Visibility, &f)
		if err := f.Err(); err != nil {
			return err
		}
		if err := s.insert(ctx, tx, by, g); err != nil {
			return err
		}
		if err := setAvatar(ctx, tx, g, d.Avatar); err != nil {
			return err
		}
		var err error
		if g.Role, err = grant.OnNamespace(ctx, tx, by.ID(), g.ID, g.CreatedAt); err != nil {
			return err
		}
		if by.SignedIn() && g.Role < access.Owner {
			g.Role = access.Owner
			if _, err := tx.Exec(ctx, sqlAddOwner, g.ID, by.ID(), g.CreatedAt); err != nil {
				return err
			}
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Created, By: by, Group: g})
	})
	return g, err
}

// setBelow gives a new group its parent's line, and an openness no greater
// than the parent's.
func (s *Service) setBelow(ctx context.Context, tx pgx.Tx, g *Group, d Draft) error {
	id, err := postgres.Value[int64](ctx, tx, sqlNextID)
	if err != nil {
		return err
	}
	g.ID, g.Lineage, g.FullName, g.FullPath = id, []int64{id}, g.Name, g.Path
	if d.ParentID == nil {
		if d.Visibility != nil {
			g.Visibility = *d.Visibility
			return nil
		}
		g.Visibility, err = access.ParseVisibility(s.deps.Settings.Current().DefaultGroupVisibility)
		return err
	}
	parent, err := s.Parent(ctx, tx, *d.ParentID)
	if err != nil {
		return err
	}
	if parent.Kind != Shared {
		return fault.Field("parent_id", "a user namespace cannot have subgroups")
	}
	g.ParentID = &parent.ID
	g.Lineage = append(slices.Clone(parent.Lineage), id)
	g.FullName, g.FullPath = parent.FullName+" / "+g.Name, parent.FullPath+"/"+g.Path
	if g.Visibility = parent.Visibility; d.Visibility != nil {
		g.Visibility = *d.Visibility
	}
	if g.Visibility > parent.Visibility {
		return tooOpen(g.Visibility, parent.Visibility)
	}
	return nil
}

func tooOpen(v, parent access.Visibility) error {
	return fault.Field("visibility_level", "%s is not allowed since the parent group has a %s visibility.", v, parent)
}

// checkRestricted keeps levels that an administrator closed from everyone
// else.
func (s *Service) checkRestricted(by access.Actor, v access.Visibility, f *fault.Fields) {
	if !by.Admin() && slices.Contains(s.deps.Settings.Current().RestrictedVisibilityLevels, v.String()) {
		f.Add("visibility_level", "%s has been restricted by your %s administrator", v, s.deps.Settings.Instance().Names.Text())
	}
}

func (s *Service) insert(ctx context.Context, tx pgx.Tx, by access.Actor, g *Group) error {
	_, err := tx.Exec(ctx, sqlInsert, g.ID, g.Kind, g.ParentID, g.OwnerID, g.Lineage, g.Name, g.Path, g.FullName, g.FullPath,
		g.Description, g.Visibility, g.Settings, g.CreatedAt)
	if err != nil {
		return err
	}
	return s.Claim(ctx, tx, by, parentOf(g), g.Path, &g.ID, nil)
}

func parentOf(g *Group) int64 {
	if g.ParentID == nil {
		return 0
	}
	return *g.ParentID
}

// Attributes are what an owner may change. Nil leaves things as they are.
type Attributes struct {
	Name, Path, Description *string
	Visibility              *access.Visibility
	Avatar                  *avatar.Upload
	Change                  func(*Settings)
}

func (a Attributes) apply(g *Group) {
	if a.Name != nil {
		g.Name = *a.Name
	}
	if a.Path != nil {
		g.Path = *a.Path
	}
	if a.Description != nil {
		g.Description = *a.Description
	}
	if a.Visibility != nil {
		g.Visibility = *a.Visibility
	}
	if a.Change != nil {
		a.Change(&g.Settings)
	}
}

// Update changes a group, and everything below it that carries its name.
func (s *Service) Update(ctx context.Context, by access.Actor, id int64, a Attributes) (*Group, error) {
	var g *Group
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		var err error
		if g, err = s.change(ctx, tx, id); err != nil {
			return err
		}
		before := *g
		a.apply(g)
		g.UpdatedAt = s.deps.Clock.Now()
		var f fault.Fields
		validate(g, &f)
		if g.Visibility != before.Visibility {
			s.checkRestricted(by, g.Visibility, &f)
		}
		if err := f.Err(); err != nil {
			return err
		}
		above, err := s.above(ctx, tx, g)
		if err != nil {
			return err
		}
		if g.ParentID != nil && g.Visibility > above.Visibility {
			return tooOpen(g.Visibility, above.Visibility)
		}
		if _, err := tx.Exec(ctx, sqlUpdate, g.ID, g.Description, g.Visibility, g.Settings, g.UpdatedAt); err != nil {
			return visibilityFaults(g.Visibility).Translate(err)
		}
		if err := setAvatar(ctx, tx, g, a.Avatar); err != nil {
			return err
		}
		if err := s.replant(ctx, tx, by, &before, g, above); err != nil {
			return err
		}
		return s.publishChanges(ctx, tx, by, &before, g)
	})
	return g, err
}

func visibilityFaults(v access.Visibility) postgres.Faults {
	return postgres.Faults{
		"visibility_of_projects":  fault.Field("visibility_level", "%s is not allowed since this group contains projects with higher visibility.", v),
		"visibility_of_subgroups": fault.Field("visibility_level", "%s is not allowed since there are sub-groups with higher visibility.", v),
	}
}

// above is the parent of a group; at the top, a group that is nowhere.
func (s *Service) above(ctx context.Context, tx pgx.Tx, g *Group) (*Group, error) {
	if g.ParentID == nil {
		return &Group{}, nil
	}
	return s.read(ctx, tx, *g.ParentID)
}

var errTooDeep = fault.Field("parent_id", "has too deep level of nesting")

// replant moves or renames a group with all that is below it. The caller
// holds the locks of the trees.
func (s *Service) replant(ctx context.Context, tx pgx.Tx, by access.Actor, before, g, above *Group) error {
	moves := parentOf(before) != parentOf(g)
	if before.Name == g.Name && before.Path == g.Path && !moves {
		return nil
	}
	if moves {
		deepest, err := postgres.Value[int](ctx, tx, sqlDeepest, g.ID)
		if err != nil {
			return err
		}
		if deepest-len(before.Lineage)+len(above.Lineage) > MaxDepth {
			return errTooDeep
		}
	}
	if moves || !strings.EqualFold(before.Path, g.Path) {
		if err := s.Retire(ctx, tx, &g.ID, nil); err != nil {
			return err
		}
		if err := s.Claim(ctx, tx, by, parentOf(g), g.Path, &g.ID, nil); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, sqlReplant, g.ID, g.ParentID, g.Name, g.Path, g.UpdatedAt); err != nil {
		return err
	}
	g.Lineage, g.FullName, g.FullPath = append(slices.Clone(above.Lineage), g.ID), g.Name, g.Path
	if g.ParentID != nil {
		g.FullName, g.FullPath = above.FullName+" / "+g.Name, above.FullPath+"/"+g.Path
	}
	_, err := tx.Exec(ctx, sqlRewrite, g.ID, g.Lineage, len(before.Lineage)+1,
		g.FullName, len([]rune(before.FullName))+1, g.FullPath, len([]rune(before.FullPath))+1)
	return err
}

func transferFailed(why string) error {
	return fault.WithMessage(fault.Rejected, "Transfer failed: %s", why)
}

var errNoTransfer = transferFailed("You don't have enough permissions.")

// Transfer moves a group below another, or to the top when target is nil. The
// actor owns the group and may create groups at the target.
func (s *Service) Transfer(ctx context.Context, by access.Actor, id int64, target *Group) (*Group, error) {
	var g *Group
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		ids := []int64{id}
		if target != nil {
			ids = append(ids, target.ID)
		}
		err := lockTrees(ctx, tx, sqlLockTrees, ids...)
		if err != nil {
			return err
		}
		if g, err = s.read(ctx, tx, id); err != nil {
			return err
		}
		before := *g
		if g.ParentID = nil; target != nil {
			g.ParentID = &target.ID
		}
		g.UpdatedAt = s.deps.Clock.Now()
		above, err := s.above(ctx, tx, g)
		if err != nil {
			return err
		}
		if err := s.move(ctx, tx, by, &before, g, above); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Moved, By: by, Group: g, Change: &bus.Change{What: "namespace", From: before.FullPath, To: g.FullPath}})
	})
	return g, err
}

func (s *Service) move(ctx context.Context, tx pgx.Tx, by access.Actor, before, g, above *Group) error {
	switch {
	case g.ParentID == nil && before.ParentID == nil:
		return transferFailed("Group is already a root group.")
	case equal(g.ParentID, before.ParentID):
		return transferFailed("Group is already associated to the parent group.")
	case slices.Contains(above.Lineage, g.ID):
		return transferFailed("Cannot transfer group to one of its subgroup.")
	case above.Kind == Personal:
		return errNoTransfer
	}
	var f fault.Fields
	checkPath(g.Path, g.ParentID == nil, &f)
	err := f.Err()
	if err == nil && g.ParentID != nil && g.Visibility > above.Visibility {
		err = s.lower(ctx, tx, g, above.Visibility)
	}
	if err == nil {
		err = s.replant(ctx, tx, by, before, g, above)
	}
	if err == nil && g.ParentID == nil && by.SignedIn() {
		_, err = tx.Exec(ctx, sqlKeepOwner, g.ID, by.ID(), g.UpdatedAt)
	}
	if errors.Is(err, errTaken) {
		return transferFailed("The parent group already has a subgroup or a project with the same path.")
	}
	if refused, ok := fault.Of(err); ok {
		return transferFailed(refused.Error())
	}
	return err
}

// lower closes a group, with all below it that is more open than that.
func (s *Service) lower(ctx context.Context, tx pgx.Tx, g *Group, to access.Visibility) error {
	if err := s.deps.Bus.Publish(ctx, tx, Lowering{GroupID: g.ID, To: to}); err != nil {
		return err
	}
	g.Visibility = to
	_, err := tx.Exec(ctx, sqlLower, g.ID, to)
	return visibilityFaults(to).Translate(err)
}

// Remove marks a group with all below it, which is not found from then on,
// and queues the job that takes it apart.
func (s *Service) Remove(ctx context.Context, by access.Actor, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.remove(ctx, tx, by, id) })
}

func (s *Service) remove(ctx context.Context, tx pgx.Tx, by access.Actor, id int64) error {
	g, err := s.change(ctx, tx, id)
	if err != nil {
		return err
	}
	now := s.deps.Clock.Now()
	if _, err := tx.Exec(ctx, sqlMarkTree, g.ID, now); err != nil {
		return err
	}
	if err := s.deps.Bus.Publish(ctx, tx, Marked{GroupID: g.ID, At: now}); err != nil {
		return err
	}
	if err := s.deps.Queue.Insert(ctx, tx, RemoveArgs{GroupID: g.ID, ByID: by.ID()}, jobqueue.Unique()); err != nil {
		return err
	}
	return s.deps.Bus.Publish(ctx, tx, Event{Action: Destroyed, By: by, Group: g})
}
