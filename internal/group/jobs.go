package group

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/user"
)

// RemoveArgs names a group that is marked for removal.
type RemoveArgs struct {
	GroupID int64 `json:"group_id"`
	ByID    int64 `json:"by_id"` // who may take its path again at once
}

// Kind names the job.
func (RemoveArgs) Kind() string { return "group_remove" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) { jobqueue.Register(r, s.removeMarked) }

// removeMarked takes a marked tree apart, the deepest group first and each in
// a transaction of its own: one that was interrupted goes on where it was.
func (s *Service) removeMarked(ctx context.Context, args RemoveArgs) error {
	ids, err := postgres.Values[int64](ctx, s.deps.DB, sqlTree, args.GroupID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.delete(ctx, tx, id, args.ByID) }); err != nil {
			return err
		}
	}
	_, err = s.deps.DB.Exec(ctx, sqlForgetRested, s.deps.Clock.Now().Add(-restingTime))
	return err
}

func (s *Service) delete(ctx context.Context, tx pgx.Tx, id, byID int64) error {
	if err := lockTrees(ctx, tx, sqlLockTrees, id); err != nil {
		return err
	}
	if err := s.deps.Bus.Publish(ctx, tx, Removing{NamespaceID: id}); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlLeavePaths, id, byID, s.deps.Clock.Now()); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlDropBelow, id); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlDelete, id)
	return err
}

// OnUser keeps the personal namespace in step with its account.
func (s *Service) OnUser(ctx context.Context, tx pgx.Tx, e user.Event) error {
	if e.Action != user.Created || e.User.Kind != user.Human {
		return nil
	}
	u := e.User
	g := &Group{
		ID: u.NamespaceID, Kind: Personal, OwnerID: &u.ID, Lineage: []int64{u.NamespaceID}, Name: u.Name, Path: u.Username,
		FullName: u.Name, FullPath: u.Username, Visibility: access.Public, Settings: defaults(), CreatedAt: u.CreatedAt,
	}
	return named(s.insert(ctx, tx, e.By, g))
}

// named says in the words of accounts that a path is taken.
func named(err error) error {
	if errors.Is(err, errTaken) {
		return fault.Field("base", "A user, alias, or group already exists with that username.")
	}
	return err
}

// OnUserUpdated renames the personal namespace with its account.
func (s *Service) OnUserUpdated(ctx context.Context, tx pgx.Tx, e user.Updated) error {
	u := e.After
	if u.Kind != user.Human || (e.Before.Username == u.Username && e.Before.Name == u.Name) {
		return nil
	}
	g, err := s.change(ctx, tx, u.NamespaceID)
	if err != nil {
		return err
	}
	before := *g
	g.Name, g.Path, g.UpdatedAt = u.Name, u.Username, u.UpdatedAt
	return named(s.replant(ctx, tx, e.By, &before, g, &Group{}))
}

// OnUserRemoving takes the personal namespace away with its account, and the
// groups that nobody else owns if what the person made is to go.
func (s *Service) OnUserRemoving(ctx context.Context, tx pgx.Tx, e user.Removing) error {
	ids, err := postgres.Values[int64](ctx, tx, sqlOwnNamespace, e.UserID)
	if err != nil {
		return err
	}
	if e.Hard {
		groups, err := postgres.Values[int64](ctx, tx, sqlSolelyOwned, e.UserID, s.today())
		if err != nil {
			return err
		}
		// All trees at once: the order in which they are locked is everyone's.
		if err := lockTrees(ctx, tx, sqlLockTrees, append(groups, ids...)...); err != nil {
			return err
		}
		for _, id := range groups {
			if err := s.remove(ctx, tx, access.Actor{}, id); err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
	}
	for _, id := range ids {
		if err := s.delete(ctx, tx, id, 0); err != nil {
			return err
		}
	}
	return nil
}

// OnUserLeaving keeps a person from leaving groups behind without an owner,
// unless those are to go as well.
func (s *Service) OnUserLeaving(ctx context.Context, tx pgx.Tx, e user.Leaving) error {
	if e.Hard {
		return nil
	}
	groups, err := postgres.Values[int64](ctx, tx, sqlSolelyOwned, e.UserID, s.today())
	if err == nil && len(groups) > 0 {
		err = fault.WithMessage(fault.Conflict, "User cannot be removed while is the sole-owner of a group")
	}
	return err
}
