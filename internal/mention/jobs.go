package mention

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/project"
	"stithy/internal/repository"
)

// CommitsArgs asks to read the new commits of a branch that a push moved.
type CommitsArgs struct {
	PushID      int64  `json:"push_id"` // keeps two pushes apart that move a branch alike
	ProjectID   int64  `json:"project_id"`
	UserID      int64  `json:"user_id"` // who pushed
	Branch      string `json:"branch"`
	Old         string `json:"old"`
	New         string `json:"new"`
	ProjectOnly bool   `json:"within,omitempty"` // name no issues of other projects: the credential was for this project alone, or is not known any more
}

// Kind names the job.
func (CommitsArgs) Kind() string { return "mention_commits" }

// Limits on what is read of one push.
const (
	maxBranches = 4   // the default branch is the first of them
	maxCommits  = 100 // of each, the newest
)

// Register adds the room's worker.
func (s *Service) Register(r *jobqueue.Registry) { jobqueue.Register(r, s.ReadCommits) }

// OnPushed queues a job for each branch that a person pushed to. Commits that the instance makes by itself (ViaJob), such as the first one of a
// project, mention nothing.
func (s *Service) OnPushed(ctx context.Context, tx pgx.Tx, e repository.Pushed) error {
	if !e.By.SignedIn() || e.Push.Via == repository.ViaJob {
		return nil
	}
	var moved []gitstore.RefUpdate
	for _, u := range e.Updates {
		switch branch := (gitstore.Ref{Name: u.Name}).Branch(); {
		case branch == "" || u.New == gitstore.Zero:
		case branch == s.deps.Projects.BranchOf(e.Project):
			moved = slices.Insert(moved, 0, u)
		default:
			moved = append(moved, u)
		}
	}
	kind := e.By.Credential.Kind
	for _, u := range moved[:min(len(moved), maxBranches)] {
		err := s.deps.Queue.Insert(ctx, tx, CommitsArgs{
			PushID: e.Push.ID, ProjectID: e.Project.ID, UserID: e.By.ID(), Branch: (gitstore.Ref{Name: u.Name}).Branch(), Old: string(u.Old), New: string(u.New),
			ProjectOnly: kind == access.DeployKey || kind == access.JobToken || kind == access.NoCredential,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadCommits adds a note to each issue that the new commits of a branch mention, and closes the issues that commits of the default branch say they
// close. It acts as whoever pushed, with the rights they have now. It may run any number of times.
func (s *Service) ReadCommits(ctx context.Context, args CommitsArgs) error {
	by, err := s.deps.Tokens.Later(ctx, args.UserID)
	if _, refused := fault.Of(err); refused {
		return nil
	} else if err != nil {
		return err
	}
	p, err := s.deps.Projects.Find(ctx, by, args.ProjectID)
	if fault.Is(err, fault.NotFound) || (err == nil && !access.Holds(by, access.ReadCode, p.Target())) {
		return nil
	} else if err != nil {
		return err
	}
	repo, err := s.deps.Repositories.Open(ctx, p)
	if fault.Is(err, fault.NotFound) {
		return nil
	} else if err != nil {
		return err
	}
	closes := args.Branch == s.deps.Projects.BranchOf(p)
	ids, err := s.newCommits(ctx, repo, p, args, closes)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil // the branch was moved again, and what it held is gone
	} else if err != nil {
		return err
	}
	for _, id := range ids {
		c, err := repo.Commit(ctx, id)
		if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrTooLarge) {
			continue
		} else if err != nil {
			return err
		}
		if err := s.readMessage(ctx, message{By: by, Project: p, SHA: string(id), Text: c.Message, Closes: closes, ProjectOnly: args.ProjectOnly}); err != nil {
			return err
		}
	}
	return nil
}

// newCommits are the commits that a branch did not have before the push, the oldest first. Unless it is the default branch (main), commits that the
// default branch has are left out: they were read when they came there.
func (s *Service) newCommits(ctx context.Context, repo *gitstore.Repo, p *project.Project, args CommitsArgs, main bool) ([]gitstore.OID, error) {
	q := gitstore.LogQuery{From: []gitstore.OID{gitstore.OID(args.New)}, Limit: maxCommits, Oldest: true}
	if old := gitstore.OID(args.Old); old != gitstore.Zero {
		q.Not = append(q.Not, old)
	}
	if !main {
		tip, err := repo.Ref(ctx, gitstore.Branches+s.deps.Projects.BranchOf(p))
		if err == nil {
			q.Not = append(q.Not, tip.Target)
		} else if !errors.Is(err, gitstore.ErrNotFound) {
			return nil, err
		}
	}
	ids, _, err := repo.LogIDs(ctx, q)
	return ids, err
}
