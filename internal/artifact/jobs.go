package artifact

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// ArchiveArgs asks for one blob to be made of a log.
type ArchiveArgs struct {
	JobID int64 `json:"job_id"`
}

// Kind names the job.
func (ArchiveArgs) Kind() string { return "job_log_archive" }

// EraseArgs asks for the bytes of a job to be removed that nobody sees any
// more.
type EraseArgs struct {
	JobID int64 `json:"job_id"`
}

// Kind names the job.
func (EraseArgs) Kind() string { return "job_erase" }

// ProjectGoneArgs asks for all that jobs of a project left to be removed.
type ProjectGoneArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (ProjectGoneArgs) Kind() string { return "job_leftovers_of_project" }

// SweepArgs asks for expired files to be removed, and for what was cut off.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "job_artifact_sweep" }

const (
	archiveTimeout = 30 * time.Minute
	sweepEvery     = 10 * time.Minute
	sweepBatch     = 500
	// abandoned is when an upload is taken for cut off: no upload lasts as long.
	abandoned = 24 * time.Hour
	// remembered is how long an erased log keeps its row.
	remembered = 30 * 24 * time.Hour
)

func uniqueJob() jobqueue.Option { return jobqueue.Unique() }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.RegisterTimeout(r, archiveTimeout, func(ctx context.Context, a ArchiveArgs) error { return s.ArchiveLog(ctx, a.JobID) })
	jobqueue.Register(r, func(ctx context.Context, a EraseArgs) error { return s.removeBytes(ctx, a.JobID) })
	jobqueue.RegisterTimeout(r, archiveTimeout, func(ctx context.Context, a ProjectGoneArgs) error { return s.removeOf(ctx, a.ProjectID) })
	jobqueue.RegisterTimeout(r, archiveTimeout, func(ctx context.Context, _ SweepArgs) error { return s.Sweep(ctx) })
	jobqueue.RegisterTimeout(r, archiveTimeout, func(ctx context.Context, a ReportArgs) error { return s.ReadReport(ctx, a.FileID) })
	r.Every(sweepEvery, SweepArgs{})
}

type doomed struct {
	ID       int64
	FileType string
	BlobKey  string
}

// removeBytes removes what was taken out of sight: of the log, which is the
// archiver's business, and of the files.
func (s *Service) removeBytes(ctx context.Context, jobID int64) error {
	l, found, err := s.log(ctx, jobID)
	if err != nil {
		return err
	}
	if found && l.ErasedAt != nil {
		if err := s.ArchiveLog(ctx, jobID); err != nil {
			return err
		}
	}
	return s.removeDoomed(ctx, sqlDoomedOf, jobID)
}

// removeBeside removes what was made of a file and is stored beside it.
func (s *Service) removeBeside(ctx context.Context, kind, key string) error {
	switch f := (File{key: key}); kind {
	case Archive:
		return s.deps.Blobs.Delete(ctx, nameIndexKey(f))
	case JUnit:
		return s.deps.Blobs.Delete(ctx, casesKey(f))
	}
	return nil
}

// removeDoomed removes bytes first and their rows afterwards, so that no blob
// is forgotten.
func (s *Service) removeDoomed(ctx context.Context, sql string, of any) error {
	for {
		files, err := postgres.All[doomed](ctx, s.deps.DB, sql, of, sweepBatch)
		if err != nil {
			return err
		}
		ids := make([]int64, 0, len(files))
		for _, f := range files {
			if err := s.removeBeside(ctx, f.FileType, f.BlobKey); err != nil {
				return err
			}
			if err := s.deps.Blobs.Delete(ctx, f.BlobKey); err != nil {
				return err
			}
			ids = append(ids, f.ID)
		}
		if _, err := s.deps.DB.Exec(ctx, sqlRemember, ids, s.deps.Clock.Now()); err != nil {
			return err
		}
		if _, err := s.deps.DB.Exec(ctx, sqlForget, ids); err != nil {
			return err
		}
		if len(files) < sweepBatch {
			return nil
		}
	}
}

// Sweep removes files that have expired, what uploads left that were cut off,
// and rows of logs that were erased long ago.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.deps.Clock.Now()
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{sqlExpire, []any{now}}, {sqlAbandon, []any{now, now.Add(-abandoned)}}, {sqlForgetLogs, []any{now.Add(-remembered)}},
	} {
		if err := s.deps.DB.InBatches(ctx, sweepBatch, step.sql, step.args...); err != nil {
			return err
		}
	}
	return s.removeDoomed(ctx, sqlDoomed, now)
}

// OnProjectRemoving has all removed that the jobs of a project left.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	return s.deps.Queue.Insert(ctx, tx, ProjectGoneArgs{ProjectID: e.ProjectID})
}

func (s *Service) removeOf(ctx context.Context, projectID int64) error {
	for {
		jobs, err := postgres.Values[int64](ctx, s.deps.DB, sqlJobsOf, projectID, sweepBatch)
		if err != nil || len(jobs) == 0 {
			return err
		}
		for _, id := range jobs {
			if err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.EraseAll(ctx, tx, id) }); err != nil {
				return err
			}
		}
	}
}
