package project

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// RemoveArgs names a project that is marked for removal.
type RemoveArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (RemoveArgs) Kind() string { return "project_remove" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) { jobqueue.Register(r, s.removeMarked) }

// Remove marks a project, which is not found from then on, and queues the job
// that takes it apart. Its path stays taken until that is done.
func (s *Service) Remove(ctx context.Context, by access.Actor, id int64) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		p, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlMark, id, s.deps.Clock.Now()); err != nil {
			return err
		}
		if p.ForkedFromID != nil {
			if _, err := tx.Exec(ctx, sqlAddForks, *p.ForkedFromID, -1); err != nil {
				return err
			}
		}
		if err := s.deps.Queue.Insert(ctx, tx, RemoveArgs{ProjectID: id}, jobqueue.Unique()); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: Destroyed, By: by, Project: p.Project})
	})
}

// removeMarked takes a marked project apart. It may run any number of times.
func (s *Service) removeMarked(ctx context.Context, args RemoveArgs) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := cutMarked(ctx, tx, args.ProjectID); err != nil {
			return err
		}
		id, err := postgres.Value[int64](ctx, tx, sqlMarkedLock, args.ProjectID)
		if errors.Is(err, postgres.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.delete(ctx, tx, id)
	})
}

// cutMarked takes their forks from projects that are about to be deleted.
func cutMarked(ctx context.Context, tx pgx.Tx, ids ...int64) error {
	for _, sql := range []string{sqlLockForks, sqlCutMarked} {
		if _, err := tx.Exec(ctx, sql, ids); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) delete(ctx context.Context, tx pgx.Tx, id int64) error {
	if err := s.deps.Bus.Publish(ctx, tx, Removing{ProjectID: id}); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlDelete, id)
	return err
}

// OnGroupMarked marks all projects of a group that is to go, and of all groups
// below it. The group's own job takes them apart.
func (s *Service) OnGroupMarked(ctx context.Context, tx pgx.Tx, e group.Marked) error {
	if err := lockTied(ctx, tx, sqlLockTiedTree, sqlTiedTree, e.GroupID, access.Public); err != nil {
		return err
	}
	sources, err := postgres.Values[int64](ctx, tx, sqlSourcesOfTree, e.GroupID)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlMarkTree, e.GroupID, e.At); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlRecount, sources)
	return err
}

// OnGroupLowering closes the projects of a group and of all groups below it
// that are more open than the group is to be. Forks elsewhere that stay more
// open than their source are cut from it.
func (s *Service) OnGroupLowering(ctx context.Context, tx pgx.Tx, e group.Lowering) error {
	if err := lockTied(ctx, tx, sqlLockTiedTree, sqlTiedTree, e.GroupID, e.To); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlLowerTree, e.GroupID, e.To, s.deps.Clock.Now()); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlCutTree, e.GroupID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlRecountTree, e.GroupID)
	return err
}

// OnNamespaceRemoving deletes the projects that stand in a namespace, with it.
func (s *Service) OnNamespaceRemoving(ctx context.Context, tx pgx.Tx, e group.Removing) error {
	ids, err := postgres.Values[int64](ctx, tx, sqlStanding, e.NamespaceID)
	if err != nil {
		return err
	}
	if err := cutMarked(ctx, tx, ids...); err != nil {
		return err
	}
	if ids, err = postgres.Values[int64](ctx, tx, sqlIn, e.NamespaceID); err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.delete(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}
