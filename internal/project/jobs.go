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
	return s.DB.InTx(ctx, func(tx pgx.Tx) error {
		p, err := s.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlMark, id, s.Clock.Now()); err != nil {
			return err
		}
		if p.ForkedFromID != nil {
			if _, err := tx.Exec(ctx, sqlAddForks, *p.ForkedFromID, -1); err != nil {
				return err
			}
		}
		if err := s.Queue.Insert(ctx, tx, RemoveArgs{ProjectID: id}, jobqueue.Unique()); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, tx, Event{What: Destroyed, By: by, Project: p.Project})
	})
}

// removeMarked takes a marked project apart. It may run any number of times.
func (s *Service) removeMarked(ctx context.Context, args RemoveArgs) error {
	return s.DB.InTx(ctx, func(tx pgx.Tx) error {
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

func (s *Service) delete(ctx context.Context, tx pgx.Tx, id int64) error {
	if err := s.Bus.Publish(ctx, tx, Removing{ProjectID: id}); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlDelete, id)
	return err
}

// OnGroupMarked marks all projects of a group that is to go, and of all groups
// below it. The group's own job takes them apart.
func (s *Service) OnGroupMarked(ctx context.Context, tx pgx.Tx, e group.Marked) error {
	if _, err := tx.Exec(ctx, sqlMarkTree, e.GroupID, e.At); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlRecount, e.GroupID)
	return err
}

// OnGroupLowering closes the projects of a group and of all groups below it
// that are more open than the group is to be. Forks elsewhere that stay more
// open than their source are cut from it.
func (s *Service) OnGroupLowering(ctx context.Context, tx pgx.Tx, e group.Lowering) error {
	if _, err := tx.Exec(ctx, sqlLowerTree, e.GroupID, e.To, s.Clock.Now()); err != nil {
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
	ids, err := postgres.Values[int64](ctx, tx, sqlIn, e.NamespaceID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.delete(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}
