package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

var (
	errNotRetryable = fault.WithReason(fault.Forbidden, "Job is not retryable")
	errUnplayable   = fault.WithMessage(fault.Rejected, "400 Bad request - Unplayable Job")
	errNotErasable  = fault.WithReason(fault.Forbidden, "Job is not erasable!")
)

// ArchivedBefore is the time before which jobs were made that are kept as they
// are; the zero time when there is no such limit.
func (s *Service) ArchivedBefore() time.Time {
	age := string(s.deps.Settings.Current().ArchiveBuildsInHumanReadable)
	if age == "" {
		return time.Time{}
	}
	d, never, err := ciconfig.ParseDuration(age)
	if err != nil || never || d <= 0 {
		return time.Time{}
	}
	return s.deps.Clock.Now().Add(-d)
}

// Archived reports whether a job is kept as it is.
func (s *Service) Archived(j *Job) bool { return j.CreatedAt.Before(s.ArchivedBefore()) }

// mayUpdate refuses who may not change what runs on a ref.
func (s *Service) mayUpdate(ctx context.Context, by access.Actor, p *project.Project, pl *Pipeline) error {
	may, err := s.MayUpdate(ctx, by, p, pl)
	if err == nil && !may {
		err = fault.New(fault.Forbidden)
	}
	return err
}

// MayUpdate reports whether somebody may change what runs on the ref of a
// pipeline.
func (s *Service) MayUpdate(ctx context.Context, by access.Actor, p *project.Project, pl *Pipeline) (bool, error) {
	if !access.Holds(by, access.UpdateJobs, p.Target()) {
		return false, nil
	}
	return s.deps.Protection.MayUpdateRef(ctx, by, p, pl.Ref, pl.Tag)
}

// act locks the pipeline of a job for somebody who may change it now, and lets
// them.
func (s *Service) act(ctx context.Context, by access.Actor, p *project.Project, jobID int64, do func(t *lockedPipeline, j *Job) (*Job, error)) (*Job, error) {
	j, err := s.FindJob(ctx, p.ID, jobID)
	if err != nil {
		return nil, err
	}
	pl, err := s.ByID(ctx, s.deps.DB, j.PipelineID)
	if err != nil {
		return nil, err
	}
	if err := s.mayUpdate(ctx, by, p, pl); err != nil {
		return nil, err
	}
	if s.Archived(j) {
		return nil, fault.New(fault.Forbidden)
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, latest, err := s.beginOf(ctx, tx, jobID)
		if err != nil {
			return err
		}
		if latest == nil { // another record took its place
			if j, err = s.KnownJob(ctx, tx, jobID); err != nil {
				return err
			}
			latest = j
		}
		if j, err = do(t, latest); err != nil {
			return err
		}
		return t.settle(ctx)
	})
	return j, err
}

// CancelJob ends a job that has not ended. One that has stays as it is.
func (s *Service) CancelJob(ctx context.Context, by access.Actor, p *project.Project, jobID int64) (*Job, error) {
	return s.act(ctx, by, p, jobID, func(t *lockedPipeline, j *Job) (*Job, error) {
		if j.Status.Complete() {
			return j, nil
		}
		if j.DownstreamID != nil {
			if err := s.deps.Queue.Insert(ctx, t.tx, CancelArgs{PipelineID: *j.DownstreamID}, jobqueue.Unique()); err != nil {
				return nil, err
			}
		}
		return j, t.move(j, Cancel)
	})
}

// Retryable reports whether a job may have another try.
func (j *Job) Retryable() bool {
	if !j.Status.Ended() || j.Retried {
		return false
	}
	why := deref(j.FailureReason)
	return !j.Bridge || (why != LoopDetected && why != DescendantsTooDeep)
}

// RetryJob gives a job that has ended another try, as a new record that runs as
// whoever asked.
func (s *Service) RetryJob(ctx context.Context, by access.Actor, p *project.Project, jobID int64) (*Job, error) {
	return s.act(ctx, by, p, jobID, func(t *lockedPipeline, j *Job) (*Job, error) {
		if !j.Retryable() {
			return nil, errNotRetryable
		}
		return t.again(ctx, j, new(by.ID()))
	})
}

// Playable reports whether somebody may start a job that waits for a person or
// for its time, or one of those kinds that has ended.
func (j *Job) Playable() bool {
	return (j.RunWhen == ciconfig.Manual || j.RunWhen == ciconfig.Delayed) &&
		(j.Status == Manual || j.Status == Scheduled || j.Retryable())
}

// PlayJob starts a job that waits for a person, as whoever asked, with variables
// of its own.
func (s *Service) PlayJob(ctx context.Context, by access.Actor, p *project.Project, jobID int64, vars []Variable) (*Job, error) {
	if err := s.checkVariables(by, p, vars); err != nil {
		if len(vars) > 0 && err == errVariables { //nolint:errorlint // it is that very value
			return nil, fault.New(fault.Forbidden)
		}
		return nil, err
	}
	return s.act(ctx, by, p, jobID, func(t *lockedPipeline, j *Job) (*Job, error) {
		if !j.Playable() {
			return nil, errUnplayable
		}
		var err error
		if j.Status.Ended() {
			j, err = t.again(ctx, j, new(by.ID()))
		} else {
			j.UserID = new(by.ID())
			if err = t.enqueue(j); err == nil {
				err = t.reopen(j.ID)
			}
		}
		if err != nil || len(vars) == 0 {
			return j, err
		}
		return j, s.giveVariables(ctx, t.tx, j.ID, vars)
	})
}

func jobVariablesPlace(jobID int64) string { return fmt.Sprintf("job_variables.value:%d", jobID) }

func (s *Service) giveVariables(ctx context.Context, tx pgx.Tx, jobID int64, vars []Variable) error {
	document, err := json.Marshal(vars)
	if err != nil {
		return err
	}
	sealed, err := s.deps.Box.Seal(document, jobVariablesPlace(jobID))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlGiveVariables, jobID, sealed)
	return err
}

// JobVariables reads what a job was given when it was played.
func (s *Service) JobVariables(ctx context.Context, q postgres.Querier, jobID int64) ([]Variable, error) {
	documents, err := postgres.Values[[]byte](ctx, q, sqlJobVariables, jobID)
	if err != nil {
		return nil, err
	}
	return s.openPlayed(jobID, documents)
}

func (s *Service) openPlayed(jobID int64, documents [][]byte) ([]Variable, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	document, err := s.deps.Box.Open(documents[0], jobVariablesPlace(jobID))
	if err != nil {
		return nil, fmt.Errorf("opening the variables of a job: %w", err)
	}
	var vars []Variable
	return vars, json.Unmarshal(document, &vars)
}

// EraseJob removes the log and the files of a job that has ended: its own user's
// on a ref that is not protected, or any for maintainers.
func (s *Service) EraseJob(ctx context.Context, by access.Actor, p *project.Project, jobID int64) (*Job, error) {
	j, err := s.FindJob(ctx, p.ID, jobID)
	if err != nil {
		return nil, err
	}
	pl, err := s.ByID(ctx, s.deps.DB, j.PipelineID)
	if err != nil {
		return nil, err
	}
	protected, err := s.deps.Protection.ProtectedRef(ctx, s.deps.DB, p.ID, pl.Ref, pl.Tag)
	if err != nil {
		return nil, err
	}
	if p.Role < access.Maintainer && !by.Admin() && (protected || j.UserID == nil || !by.Is(*j.UserID)) {
		return nil, fault.New(fault.Forbidden)
	}
	if s.Archived(j) {
		return nil, fault.New(fault.Forbidden)
	}
	left, err := s.deps.Artifacts.Files(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	size, err := s.deps.Artifacts.LogSize(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	if !j.Status.Complete() || j.ErasedAt != nil || (len(left) == 0 && size == 0) {
		return nil, errNotErasable
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		erased, err := postgres.One[Job](ctx, tx, sqlErase, j.ID, s.deps.Clock.Now())
		if errors.Is(err, postgres.ErrNoRows) {
			return errNotErasable // somebody else was quicker
		}
		if err != nil {
			return err
		}
		j = &erased
		if err := s.deps.Artifacts.EraseAll(ctx, tx, j.ID); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, JobErased{Job: *j})
	})
	return j, err
}

// CancelPipeline ends whatever of a pipeline has not ended, and its children.
func (s *Service) CancelPipeline(ctx context.Context, by access.Actor, p *project.Project, id int64) (*Pipeline, error) {
	pl, err := s.Find(ctx, p.ID, id)
	if err != nil {
		return nil, err
	}
	if err := s.mayUpdate(ctx, by, p, pl); err != nil {
		return nil, err
	}
	if err := s.Stop(ctx, id); err != nil {
		return nil, err
	}
	return s.Find(ctx, p.ID, id)
}

// Stop is CancelPipeline for whoever may. It may run any number of times.
func (s *Service) Stop(ctx context.Context, id int64) error {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, err := s.begin(ctx, tx, id)
		if err != nil {
			return err
		}
		t.cancelAll()
		for _, j := range t.jobs {
			if j.DownstreamID == nil {
				continue
			}
			if err := s.deps.Queue.Insert(ctx, tx, CancelArgs{PipelineID: *j.DownstreamID, Child: true}, jobqueue.Unique()); err != nil {
				return err
			}
		}
		return t.settle(ctx)
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// RetryPipeline gives every job that failed or was canceled another try, in the
// order of the pipeline.
func (s *Service) RetryPipeline(ctx context.Context, by access.Actor, p *project.Project, id int64) (*Pipeline, error) {
	pl, err := s.Find(ctx, p.ID, id)
	if err != nil {
		return nil, err
	}
	if err := s.mayUpdate(ctx, by, p, pl); err != nil {
		return nil, err
	}
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, err := s.begin(ctx, tx, id)
		if err != nil {
			return err
		}
		for _, j := range slices.Clone(t.jobs) {
			if (j.Status != Failed && j.Status != Canceled) || !j.Retryable() || s.Archived(j) {
				continue
			}
			fresh, err := t.copy(ctx, j, new(by.ID()))
			if err != nil {
				return err
			}
			if err := t.reopen(fresh.ID); err != nil {
				return err
			}
		}
		if err := t.settle(ctx); err != nil {
			return err
		}
		pl = &t.pipeline
		return nil
	})
	return pl, err
}

// Delete removes a pipeline with its jobs, their logs and files. Its children
// stay.
func (s *Service) Delete(ctx context.Context, by access.Actor, p *project.Project, id int64) error {
	if _, err := s.Find(ctx, p.ID, id); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, err := s.begin(ctx, tx, id)
		if err != nil {
			return err
		}
		t.cancelAll() // nothing of it waits, runs or holds a resource any more
		if err := t.settle(ctx); err != nil {
			return err
		}
		jobs, err := postgres.Values[int64](ctx, tx, sqlJobIDs, id)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if err := s.deps.Artifacts.EraseAll(ctx, tx, job); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, sqlDeletePipeline, id); err != nil {
			return err
		}
		if err := s.deps.Bus.Publish(ctx, tx, PipelineDeleted{By: by, In: p.Entity(), ID: id}); err != nil {
			return err
		}
		return s.deps.Queue.Insert(ctx, tx, KeepArgs{PipelineID: id, ProjectID: p.ID, SHA: t.pipeline.SHA})
	})
}
