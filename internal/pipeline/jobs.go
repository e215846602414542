package pipeline

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/repository"
)

// PushArgs names a ref that a push moved.
type PushArgs struct {
	PushID    int64    `json:"push_id"`
	ProjectID int64    `json:"project_id"`
	UserID    int64    `json:"user_id"`
	Ref       string   `json:"ref"`
	Old       string   `json:"old"`
	New       string   `json:"new"`
	Options   []string `json:"options,omitempty"`
}

// Kind names the job.
func (PushArgs) Kind() string { return "pipeline_create" }

// Apart shares the reading of configurations by person.
func (a PushArgs) Apart() (queue string, share int64) { return jobqueue.Pipelines, a.UserID }

// KeepArgs names a pipeline whose commit is to be held, or not any more.
type KeepArgs struct {
	PipelineID int64  `json:"pipeline_id"`
	ProjectID  int64  `json:"project_id"`
	SHA        string `json:"sha"`
}

// Kind names the job.
func (KeepArgs) Kind() string { return "pipeline_keep_ref" }

// SupersedeArgs names a new pipeline that may make older ones redundant.
type SupersedeArgs struct {
	PipelineID int64 `json:"pipeline_id"`
}

// Kind names the job.
func (SupersedeArgs) Kind() string { return "pipeline_supersede" }

// CancelArgs names a pipeline whose parent was canceled.
type CancelArgs struct {
	PipelineID int64 `json:"pipeline_id"`
	Child      bool  `json:"child,omitempty"` // only if it is a child
}

// Kind names the job.
func (CancelArgs) Kind() string { return "pipeline_cancel" }

// ServeArgs names a resource group that may have become free.
type ServeArgs struct {
	GroupID int64 `json:"group_id"`
}

// Kind names the job.
func (ServeArgs) Kind() string { return "pipeline_resource_serve" }

// BridgeArgs names a bridge that is to make its pipeline.
type BridgeArgs struct {
	JobID int64 `json:"job_id"`
}

// Kind names the job.
func (BridgeArgs) Kind() string { return "pipeline_bridge" }

// Apart lets it wait with others that read a configuration.
func (BridgeArgs) Apart() (queue string, share int64) { return jobqueue.Pipelines, 0 }

// DueArgs names a delayed job whose time has come.
type DueArgs struct {
	JobID int64 `json:"job_id"`
}

// Kind names the job.
func (DueArgs) Kind() string { return "pipeline_job_due" }

// MirrorArgs names a pipeline whose end a bridge waits for.
type MirrorArgs struct {
	PipelineID int64 `json:"pipeline_id"`
}

// Kind names the job.
func (MirrorArgs) Kind() string { return "pipeline_mirror" }

// ClearArgs names a project whose jobs are to have left nothing.
type ClearArgs struct {
	ProjectID int64 `json:"project_id"`
}

// Kind names the job.
func (ClearArgs) Kind() string { return "pipeline_clear_files" }

// UnlockArgs names pipelines of a ref whose files need not outlive their time
// any more.
type UnlockArgs struct {
	ProjectID int64  `json:"project_id"`
	Ref       string `json:"ref"`
	Tag       bool   `json:"tag,omitempty"`
	Before    int64  `json:"before"` // those with a smaller id
}

// Kind names the job.
func (UnlockArgs) Kind() string { return "pipeline_unlock_files" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.FromPush)
	jobqueue.Register(r, s.KeepRef)
	jobqueue.Register(r, func(ctx context.Context, a SupersedeArgs) error { return s.Supersede(ctx, a.PipelineID) })
	jobqueue.Register(r, s.cancelDownstream)
	jobqueue.RegisterTimeout(r, time.Hour, func(ctx context.Context, a ClearArgs) error { return s.ClearFiles(ctx, a.ProjectID) })
	jobqueue.Register(r, func(ctx context.Context, a ServeArgs) error { return s.Serve(ctx, a.GroupID) })
	jobqueue.Register(r, func(ctx context.Context, a BridgeArgs) error { return s.Bridge(ctx, a.JobID) })
	jobqueue.Register(r, func(ctx context.Context, a DueArgs) error { return s.Due(ctx, a.JobID) })
	jobqueue.Register(r, s.Unlock)
	jobqueue.Register(r, func(ctx context.Context, a MirrorArgs) error { return s.Mirror(ctx, a.PipelineID) })
}

// maxPerPush is how many refs of one push get a pipeline.
const maxPerPush = 4

// OnPushed asks for a pipeline for each ref that a person moved.
func (s *Service) OnPushed(ctx context.Context, tx pgx.Tx, e repository.Pushed) error {
	for _, u := range e.Updates {
		ref := gitstore.Ref{Name: u.Name}
		if name := cmp.Or(ref.Branch(), ref.TagName()); u.New == gitstore.Zero && name != "" {
			if err := s.outlived(ctx, tx, UnlockArgs{ProjectID: e.Project.ID, Ref: name, Tag: ref.Branch() == "", Before: math.MaxInt64}); err != nil {
				return err
			}
		}
	}
	if !e.By.SignedIn() || e.Push.Via == repository.ViaJob {
		return nil
	}
	asked := 0
	for _, u := range e.Updates {
		ref := gitstore.Ref{Name: u.Name}
		if u.New == gitstore.Zero || (ref.Branch() == "" && ref.TagName() == "") || asked == maxPerPush {
			continue
		}
		asked++
		err := s.deps.Queue.Insert(ctx, tx, PushArgs{
			PushID: e.Push.ID, ProjectID: e.Project.ID, UserID: e.By.ID(), Ref: u.Name, Old: string(u.Old), New: string(u.New), Options: e.Push.Options,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FromPush makes the pipeline of a ref that was pushed, as whoever pushed it and
// with the rights they have now. Who may not run pipelines gets none.
func (s *Service) FromPush(ctx context.Context, args PushArgs) error {
	by, may, err := s.actorOf(ctx, &args.UserID)
	if err != nil || !may {
		return err
	}
	p, err := s.deps.Projects.Find(ctx, by, args.ProjectID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !access.Holds(by, access.CreatePipeline, p.Target()) {
		return nil
	}
	target := args.New
	if strings.HasPrefix(args.Ref, gitstore.Tags) {
		repo, err := s.deps.Repositories.Open(ctx, p)
		if err != nil {
			return err
		}
		ref, err := repo.Ref(ctx, args.Ref)
		if errors.Is(err, gitstore.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		target = string(ref.Peeled)
	}
	_, err = s.Create(ctx, by, p, CreateRequest{
		Source: FromPush, Ref: args.Ref, SHA: target, Before: args.Old, PushID: &args.PushID, Options: args.Options,
		Variables: pushVariables(args.Options),
	})
	if _, refused := fault.Of(err); refused {
		return nil // nobody waits for the answer
	}
	return err
}

// pushVariables are those that were given with a push: ci.variable="KEY=value".
func pushVariables(options []string) []Variable {
	var vars []Variable
	for _, o := range options {
		text, ok := strings.CutPrefix(o, "ci.variable=")
		if !ok {
			continue
		}
		key, value, ok := strings.Cut(strings.Trim(text, `"`), "=")
		if ok && ValidKey(key) {
			vars = append(vars, Variable{Key: key, Value: value})
		}
	}
	return vars
}

// outlived asks for the files of older pipelines to go in their time, if any of
// them was kept.
func (s *Service) outlived(ctx context.Context, tx pgx.Tx, args UnlockArgs) error {
	older, err := postgres.Values[int64](ctx, tx, sqlLocked, args.ProjectID, args.Ref, args.Tag, args.Before, 1)
	if err != nil || len(older) == 0 {
		return err
	}
	return s.deps.Queue.Insert(ctx, tx, args, jobqueue.Unique())
}

// Unlock lets the files of older pipelines go in their time. It may run any
// number of times.
func (s *Service) Unlock(ctx context.Context, args UnlockArgs) error {
	for {
		done := true
		err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			ids, err := postgres.Values[int64](ctx, tx, sqlUnlock, args.ProjectID, args.Ref, args.Tag, args.Before, clearBatch)
			if err != nil || len(ids) == 0 {
				return err
			}
			done = false
			jobs, err := postgres.Values[int64](ctx, tx, sqlJobsAmong, ids)
			if err != nil {
				return err
			}
			return s.deps.Artifacts.Unlock(ctx, tx, jobs...)
		})
		if err != nil || done {
			return err
		}
	}
}

// Locked reports whether the files of a pipeline outlive their time, as those
// of the latest of each ref do. Whoever is changing that is waited for.
func (s *Service) Locked(ctx context.Context, pipelineID int64) (bool, error) {
	locked, err := found(postgres.Value[bool](ctx, s.deps.DB, sqlIsLocked, pipelineID))
	return deref(locked), err
}

func (s *Service) cancelDownstream(ctx context.Context, args CancelArgs) error {
	pl, err := s.ByID(ctx, s.deps.DB, args.PipelineID)
	if fault.Is(err, fault.NotFound) || (err == nil && args.Child && !pl.Child) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Stop(ctx, args.PipelineID)
}

// early is how much a timer may be before the time that it was set to: clocks
// of machines differ.
const early = time.Minute

// Due starts a delayed job whose time has come.
func (s *Service) Due(ctx context.Context, jobID int64) error {
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		t, j, err := s.beginOf(ctx, tx, jobID)
		if err != nil || j == nil || j.Status != Scheduled || j.ScheduledAt.After(t.now.Add(early)) {
			return err
		}
		if err := t.enqueue(j); err != nil {
			return err
		}
		return t.settle(ctx)
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
