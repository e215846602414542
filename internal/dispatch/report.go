package dispatch

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
)

// refusal says why a runner is not listened to. The status of the job goes
// with it, since that is what ends the job on the other side.
type refusal struct {
	error
	status pipeline.Status
}

func (r *refusal) Unwrap() error { return r.error }

func refused(r *run, why string) error {
	return &refusal{fault.WithReason(fault.Forbidden, "%s", why), r.Status}
}

// runOf finds the running job that a runner speaks of. Everything is 403: a 404
// may come from anything on the way, and would not end a job.
func (s *Service) runOf(ctx context.Context, jobID int64, secret string) (*run, error) {
	r, err := s.run(ctx, secret)
	switch {
	case err != nil:
		return nil, err
	case r == nil || r.JobID != jobID:
		return nil, fault.New(fault.Forbidden)
	case r.Removal:
		return nil, refused(r, "Project has been deleted!")
	case r.Erased:
		return nil, refused(r, "Job has been erased!")
	case r.Status != pipeline.Running:
		return nil, refused(r, "Job is not running")
	}
	return r, s.heard(ctx, r)
}

// contactEvery is how exactly it is known when a runner was last heard of.
const contactEvery = time.Minute

// heard notes that the runner of a job is there. Its first word counts by
// itself: it shows that the runner has the job.
func (s *Service) heard(ctx context.Context, r *run) error {
	now := s.deps.Clock.Now()
	if !r.ContactedAt.Equal(r.StartedAt) && now.Sub(r.ContactedAt) < contactEvery {
		return nil
	}
	_, err := s.deps.DB.Exec(ctx, sqlContact, r.JobID, now)
	return err
}

// Somebody who has just pushed watches; later on few do.
const (
	watchedFor      = time.Minute
	intervalWatched = "3"
	intervalElse    = "60"
)

// interval is how many seconds a runner keeps its log before it sends it.
func (s *Service) interval(r *run) string {
	if s.deps.Clock.Now().Sub(r.StartedAt) < watchedFor {
		return intervalWatched
	}
	return intervalElse
}

// append adds a piece to the log of a job. One that grows too large ends its job.
func (s *Service) append(ctx context.Context, r *run, offset int64, piece []byte) (int64, error) {
	size, err := s.deps.Artifacts.AppendLog(ctx, r.JobID, offset, piece)
	if fault.Is(err, fault.TooLarge) {
		if err := s.drop(ctx, r.JobID, pipeline.TraceSizeExceeded); err != nil {
			return 0, err
		}
		r.Status = pipeline.Failed
		return 0, refused(r, "Job is not running")
	}
	return size, err
}

// finish ends a job as its runner says, once, when all of its log is there.
func (s *Service) finish(ctx context.Context, r *run, o pipeline.Outcome, logSize *int64) (pipeline.Status, error) {
	if o.State == pipeline.Failed && o.Reason == "" {
		o.Reason = pipeline.UnknownFailure
	}
	if logSize != nil {
		have, err := s.deps.Artifacts.LogSize(ctx, r.JobID)
		if err != nil {
			return "", err
		}
		if have < *logSize {
			return "", fault.New(fault.Precondition) // the runner sends the rest
		}
	}
	job, err := s.deps.Pipelines.KnownJob(ctx, s.deps.DB, r.JobID)
	if err != nil {
		return "", err
	}
	spec, err := s.deps.Pipelines.SpecOf(ctx, s.deps.DB, job)
	if err != nil {
		return "", err
	}
	if spec.Job.Coverage != "" {
		if percent, found, err := s.deps.Artifacts.Coverage(ctx, r.JobID, spec.Job.Coverage); err != nil {
			return "", err
		} else if found {
			o.Coverage = &percent
		}
	}
	var ended pipeline.Job
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		ended, err = s.deps.Pipelines.Finish(ctx, tx, r.JobID, o)
		return err
	})
	if errors.Is(err, pipeline.ErrTransition) {
		if now, err := s.deps.Pipelines.KnownJob(ctx, s.deps.DB, r.JobID); err == nil {
			r.Status = now.Status
		}
		return "", refused(r, "Job is not running")
	}
	return ended.Status, err
}

// Upload is a file on its way in.
type Upload struct {
	Type     string
	Format   artifact.Format
	Filename string
	ExpireIn string
	Private  bool
}

// store takes a file of a job in.
func (s *Service) store(ctx context.Context, r *run, u Upload, body io.Reader) error {
	f := artifact.File{
		ProjectID: r.ProjectID, JobID: r.JobID, Type: u.Type, Format: u.Format, Filename: u.Filename,
	}
	var err error
	if f.Access, err = s.audience(ctx, r, u.Private); err != nil {
		return err
	}
	text := u.ExpireIn
	if text == "" {
		text = s.deps.Settings.Current().DefaultArtifactsExpireIn
	}
	if d, never, err := ciconfig.ParseDuration(text); err == nil && !never && d > 0 {
		f.ExpireIn = &d
	}
	if f.Locked, err = s.deps.Pipelines.Locked(ctx, r.PipelineID); err != nil {
		return err
	}
	if _, err := s.deps.Artifacts.Store(ctx, f, body); err != nil || !f.Locked {
		return err
	}
	// A newer pipeline may have come to its end while the bytes came.
	if still, err := s.deps.Pipelines.Locked(ctx, r.PipelineID); err != nil || still {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error { return s.deps.Artifacts.Unlock(ctx, tx, r.JobID) })
}

// audience is who may read a file: whom the configuration of the job says, and
// fewer if its runner says so.
func (s *Service) audience(ctx context.Context, r *run, private bool) (to artifact.Audience, err error) {
	job, err := s.deps.Pipelines.KnownJob(ctx, s.deps.DB, r.JobID)
	if err != nil {
		return "", err
	}
	spec, err := s.deps.Pipelines.SpecOf(ctx, s.deps.DB, job)
	if err != nil {
		return "", err
	}
	if a := spec.Job.Artifacts; a != nil {
		to = artifact.Audience(a.Access)
	}
	if private {
		to = artifact.Smaller(to, artifact.Developers)
	}
	return to, nil
}

// archive finds the archive of a job for one that runs: of the same project,
// or of one where the person behind the job may read and the job's token is
// let in.
func (s *Service) archive(ctx context.Context, secret string, jobID int64) (*artifact.File, error) {
	r, err := s.run(ctx, secret)
	if err != nil {
		return nil, err
	}
	if r == nil || !r.alive() || r.UserID == nil {
		return nil, fault.New(fault.Unauthenticated)
	}
	job, err := s.deps.Pipelines.KnownJob(ctx, s.deps.DB, jobID)
	if err != nil {
		return nil, err
	}
	u, err := s.deps.Users.Find(ctx, *r.UserID)
	if err != nil {
		return nil, err
	}
	actor, err := s.deps.Tokens.Admit(u, access.Credential{Kind: access.JobToken, ID: r.JobID})
	if err != nil {
		return nil, err
	}
	p, err := s.deps.Projects.Find(ctx, actor, job.ProjectID)
	if err != nil {
		return nil, err
	}
	if !access.Holds(actor, access.DownloadArtifacts, p.Target()) {
		return nil, fault.New(fault.Forbidden)
	}
	files, err := s.deps.Pipelines.HandedTo(ctx, actor, r.PipelineID, p, job)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(files, func(f artifact.File) bool { return f.Type == artifact.Archive })
	if i < 0 {
		return nil, fault.New(fault.NotFound)
	}
	return &files[i], nil
}
