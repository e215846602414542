package repository

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/failpoint"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// SettleArgs asks for an end of the pushes that nobody works on any more.
type SettleArgs struct{}

// Kind names the job.
func (SettleArgs) Kind() string { return "repository_settle" }

// RemoveArgs names a repository whose project is gone.
type RemoveArgs struct {
	Storage string `json:"storage"`
	Path    string `json:"path"`
}

// Kind names the job.
func (RemoveArgs) Kind() string { return "repository_remove" }

// CopyArgs names a fork whose repository is to be filled.
type CopyArgs struct {
	ProjectID int64 `json:"project_id"`
	UserID    int64 `json:"user_id,omitempty"` // who made it
}

// Kind names the job.
func (CopyArgs) Kind() string { return "repository_copy" }

// Apart shares what is copied by person.
func (a CopyArgs) Apart() (queue string, share int64) { return jobqueue.Imports, a.UserID }

// MaintainArgs names a repository that was pushed to.
type MaintainArgs struct {
	ProjectID int64 `json:"project_id,omitempty"`
	TextID    int64 `json:"text_id,omitempty"` // of a repository of texts, instead of a project
}

// Kind names the job.
func (MaintainArgs) Kind() string { return "repository_maintain" }

const (
	settleEvery   = 30 * time.Second
	settleBatch   = 100
	maintainDelay = 10 * time.Second // so that pushes in a row are followed by one
	longWork      = time.Hour
)

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ SettleArgs) error { return s.SettlePending(ctx) })
	r.Every(settleEvery, SettleArgs{})
	jobqueue.RegisterTimeout(r, longWork, s.remove)
	jobqueue.RegisterTimeout(r, longWork, func(ctx context.Context, _ RemoveTextsArgs) error { return s.RemoveTexts(ctx) })
	r.Every(removeTextsEvery, RemoveTextsArgs{})
	jobqueue.RegisterTimeout(r, longWork, s.fill)
	jobqueue.RegisterTimeout(r, longWork, s.fetch)
	jobqueue.RegisterTimeout(r, longWork, s.maintain)
	jobqueue.RegisterTimeout(r, longWork, s.deleteMerged)
	jobqueue.RegisterTimeout(r, longWork, s.survey)
	jobqueue.Register(r, func(ctx context.Context, args BeginArgs) error { return s.withProject(ctx, args.ProjectID, s.Begin) })
	jobqueue.Register(r, func(ctx context.Context, args HeadArgs) error {
		return s.withProject(ctx, args.ProjectID, s.FollowHead)
	})
}

// SettlePending finishes what a process that died left half done: of every
// pending push that no process works on any more it notes which refs moved. One
// that cannot be settled is tried again the next time, and keeps no other waiting.
func (s *Service) SettlePending(ctx context.Context) error {
	var after int64
	for {
		pending, err := postgres.All[Push](ctx, s.deps.DB, sqlPending, after, settleBatch)
		if err != nil {
			return err
		}
		for _, push := range pending {
			after = push.ID
			if err := s.settleLost(ctx, push); err != nil {
				if ctx.Err() != nil {
					return err
				}
				s.deps.Log.Error("a push cannot be settled", "push_id", push.ID, "error", err.Error())
			}
		}
		if len(pending) < settleBatch {
			return nil
		}
	}
}

func (s *Service) settleLost(ctx context.Context, push Push) error {
	of, repo, err := s.subjectOf(ctx, push)
	if fault.Is(err, fault.NotFound) {
		return nil // it goes with its project
	}
	if err != nil {
		return err
	}
	if held, err := repo.Held(push.ID); held || err != nil {
		return err
	}
	// The row was read before the ticket was looked at; its own process may
	// have settled it in between.
	if _, err := postgres.One[Push](ctx, s.deps.DB, sqlPendingPush, push.ID); err != nil {
		if errors.Is(err, postgres.ErrNoRows) {
			err = nil
		}
		return err
	}
	by := access.Actor{Process: SettleArgs{}.Kind()}
	if push.UserID != nil {
		u, err := s.deps.Users.Find(ctx, *push.UserID)
		switch {
		case err == nil:
			by = access.Actor{Person: u.Person(), Account: u}
		case !fault.Is(err, fault.NotFound):
			return err
		}
	}
	return s.settleFromRefs(ctx, repo, of, by, push)
}

// subjectOf finds what a push is to.
func (s *Service) subjectOf(ctx context.Context, push Push) (subject, *gitstore.Repo, error) {
	if push.TextID != nil {
		t, err := s.FindText(ctx, *push.TextID)
		if err != nil {
			return nil, nil, err
		}
		return texts{s: s, row: t}, s.deps.Store.Repo(t.Key()), nil
	}
	p, err := s.deps.Projects.Known(ctx, *push.ProjectID)
	if err != nil {
		return nil, nil, err
	}
	row, err := s.Find(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	return code{s, p, row}, s.deps.Store.Repo(row.Key()), nil
}

// OnProjectRemoving leaves a job behind that takes the repository from its
// disk when the project is gone.
func (s *Service) OnProjectRemoving(ctx context.Context, tx pgx.Tx, e project.Removing) error {
	r, err := postgres.One[Repository](ctx, tx, sqlOnDisk, e.ProjectID)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	key := r.Key()
	return s.deps.Queue.Insert(ctx, tx, RemoveArgs{Storage: key.Storage, Path: key.Path}, jobqueue.Unique())
}

func (s *Service) remove(ctx context.Context, args RemoveArgs) error {
	failpoint.Here(failpoint.RemoveBegun)
	err := s.deps.Store.Repo(gitstore.Key{Storage: args.Storage, Path: args.Path}).Remove(ctx)
	failpoint.Here(failpoint.RemoveDone)
	return err
}

// OnForked plans the repository of a fork, which a job fills.
func (s *Service) OnForked(ctx context.Context, tx pgx.Tx, e project.ForkMade) error {
	if _, err := tx.Exec(ctx, sqlPlan, e.Fork.ID, s.storage(), Copying, s.deps.Clock.Now()); err != nil {
		return err
	}
	return s.deps.Queue.Insert(ctx, tx, CopyArgs{ProjectID: e.Fork.ID, UserID: creator(e.Fork)}, jobqueue.Unique())
}

// fill copies a repository into that of a fork.
func (s *Service) fill(ctx context.Context, args CopyArgs) error {
	fork, err := s.deps.Projects.Known(ctx, args.ProjectID)
	if err != nil {
		return gone(err)
	}
	row, err := s.Find(ctx, fork)
	if err != nil || row.State != Copying {
		return err
	}
	failpoint.Here(failpoint.CopyBegun)
	to := s.deps.Store.Repo(row.Key())
	from, err := s.source(ctx, fork)
	if err != nil {
		return err
	}
	if from == nil {
		err = to.Create(ctx, s.deps.Projects.BranchOf(fork))
	} else {
		err = to.Copy(ctx, s.deps.Store.Repo(from.Key()), false)
	}
	if err != nil {
		return err
	}
	failpoint.Here(failpoint.CopyDone)
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		var pushedAt *time.Time
		empty := true
		if from != nil {
			pushedAt, empty = from.PushedAt, from.Empty
		}
		if _, err := tx.Exec(ctx, sqlFilled, fork.ID, empty, pushedAt); err != nil {
			return err
		}
		return s.deps.Projects.Imported(ctx, tx, fork.ID)
	})
}

// source is the repository that a fork is a copy of, nil where there is
// nothing to copy.
func (s *Service) source(ctx context.Context, fork *project.Project) (*Repository, error) {
	if fork.ForkedFromID == nil {
		return nil, nil
	}
	r, err := postgres.One[Repository](ctx, s.deps.DB, sqlFind, *fork.ForkedFromID)
	switch {
	case errors.Is(err, postgres.ErrNoRows), err == nil && r.State == Planned:
		return nil, nil
	case err == nil && r.State != Ready:
		return nil, errFilling // later
	}
	return &r, err
}

// gone takes a project that is not there any more for work that is done.
func gone(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// maintain keeps a repository quick after pushes.
func (s *Service) maintain(ctx context.Context, args MaintainArgs) error {
	if args.TextID != 0 {
		return s.maintainText(ctx, args.TextID)
	}
	p, err := s.deps.Projects.Known(ctx, args.ProjectID)
	if err != nil {
		return gone(err)
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	return repo.Maintain(ctx)
}
