package event

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

// PartitionArgs asks for the partitions of the coming months, and for an end of the oldest.
type PartitionArgs struct{}

// Kind names the job.
func (PartitionArgs) Kind() string { return "event_partitions" }

// RemoveArgs names an account or a project that is gone, and whose events are to go.
type RemoveArgs struct {
	AuthorID  int64 `json:"author_id,omitempty"`
	ProjectID int64 `json:"project_id,omitempty"`
}

// Kind names the job.
func (RemoveArgs) Kind() string { return "event_remove" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ PartitionArgs) error {
		if err := s.Prepare(ctx); err != nil {
			return err
		}
		return s.Retire(ctx)
	})
	r.Every(24*time.Hour, PartitionArgs{})
	jobqueue.RegisterTimeout(r, time.Hour, s.Remove)
}

// OnProjectRemoving leaves a job behind that deletes the events of a project when it is gone. Until then nobody reads them.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	return s.deps.Queue.Insert(ctx, tx, RemoveArgs{ProjectID: e.ProjectID}, jobqueue.Unique())
}

// OnUserRemoving leaves a job behind that deletes the events of an account when it is gone.
func (s *Service) OnUserRemoving(ctx context.Context, tx pgx.Tx, e user.Removing) error {
	return s.deps.Queue.Insert(ctx, tx, RemoveArgs{AuthorID: e.UserID}, jobqueue.Unique())
}

// removeBatch is how many events one statement deletes.
const removeBatch = 10_000

// Remove deletes the events of what is gone. It may run any number of times.
func (s *Service) Remove(ctx context.Context, args RemoveArgs) error {
	find, remove, id := sqlOldestOfAuthor, sqlDeleteOfAuthor, args.AuthorID
	if args.ProjectID != 0 {
		find, remove, id = sqlOldestOfProject, sqlDeleteOfProject, args.ProjectID
	}
	for {
		until, err := postgres.Value[*time.Time](ctx, s.deps.DB, find, id, removeBatch)
		if err != nil || until == nil {
			return err
		}
		if _, err := s.deps.DB.Exec(ctx, remove, id, *until); err != nil {
			return err
		}
	}
}
