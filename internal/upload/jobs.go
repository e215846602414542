package upload

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// SweepArgs asks for the bytes to be removed that nobody is given any more.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "upload_sweep" }

// ProjectGoneArgs asks for the files of a project to be removed.
type ProjectGoneArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (ProjectGoneArgs) Kind() string { return "uploads_of_project" }

const (
	sweepEvery = 10 * time.Minute
	sweepBatch = 500
	// abandoned is when an upload is taken for cut off: no upload lasts as long.
	abandoned = 24 * time.Hour
)

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ SweepArgs) error { return s.Sweep(ctx) })
	jobqueue.Register(r, func(ctx context.Context, a ProjectGoneArgs) error { return s.RemoveOf(ctx, a.ProjectID) })
	r.Every(sweepEvery, SweepArgs{})
}

// OnProjectRemoving has the files of a project removed.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	return s.deps.Queue.Insert(ctx, tx, ProjectGoneArgs{ProjectID: e.ProjectID})
}

// RemoveOf removes the files of a project.
func (s *Service) RemoveOf(ctx context.Context, projectID int64) error {
	if err := s.deps.DB.InBatches(ctx, sweepBatch, sqlDoomAllOf, projectID, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.removeDoomed(ctx)
}

// Sweep removes what uploads left that failed or were cut off.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.deps.Clock.Now()
	if err := s.deps.DB.InBatches(ctx, sweepBatch, sqlAbandon, now, now.Add(-abandoned)); err != nil {
		return err
	}
	return s.removeDoomed(ctx)
}

type doomed struct {
	ID      int64
	BlobKey string
}

// removeDoomed removes the bytes before the rows that name them.
func (s *Service) removeDoomed(ctx context.Context) error {
	for {
		files, err := postgres.All[doomed](ctx, s.deps.DB, sqlDoomed, s.deps.Clock.Now(), sweepBatch)
		if err != nil {
			return err
		}
		ids := make([]int64, 0, len(files))
		for _, f := range files {
			if err := s.deps.Blobs.Delete(ctx, f.BlobKey); err != nil {
				return err
			}
			ids = append(ids, f.ID)
		}
		if _, err := s.deps.DB.Exec(ctx, sqlForget, ids); err != nil {
			return err
		}
		if len(files) < sweepBatch {
			return nil
		}
	}
}
