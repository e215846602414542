package repository

import (
	"context"
	"errors"
	"strings"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

// CommitFilter says which commits are wanted.
type CommitFilter struct {
	Revision    string // or a range a..b; the default branch when empty
	Path        string
	Author      string
	Since       time.Time
	Until       time.Time
	All         bool
	FirstParent bool
	Topological bool
}

// Commits lists commits, newest first. They are not counted.
func (s *Service) Commits(ctx context.Context, p *project.Project, f CommitFilter, req paging.Request) (paging.Result[*gitstore.Commit], error) {
	none := paging.Result[*gitstore.Commit]{Total: paging.MaxTotal + 1}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return none, err
	}
	q := gitstore.LogQuery{
		Path: strings.Trim(f.Path, "/"), Author: f.Author, Since: f.Since, Until: f.Until, All: f.All, FirstParent: f.FirstParent,
		Topological: f.Topological, Skip: req.Offset(), Limit: req.PerPage,
	}
	if q.Path != "" && gitstore.CheckPath(q.Path) != nil {
		return none, nil // nothing is there, and never was
	}
	if !f.All {
		from, to, isRange := strings.Cut(f.Revision, "..")
		if !isRange {
			from, to = "", f.Revision
		}
		tip, err := s.Revision(ctx, repo, p, to)
		if errors.Is(err, gitstore.ErrNotFound) && to == "" {
			return none, nil // nothing was pushed yet
		}
		if err != nil {
			return none, found(err, "Commit")
		}
		q.From = []gitstore.OID{tip}
		if isRange {
			not, err := s.Revision(ctx, repo, p, from)
			if err != nil {
				return none, found(err, "Commit")
			}
			q.Not = []gitstore.OID{not}
		}
	}
	commits, more, err := repo.Log(ctx, q)
	if err != nil {
		return none, found(err, "Commit")
	}
	none.Items, none.More = commits, more
	return none, nil
}

// commit finds the commit that a person means.
func (s *Service) commit(ctx context.Context, p *project.Project, revision string) (*gitstore.Repo, *gitstore.Commit, error) {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if revision == "" {
		return nil, nil, fault.NotFoundf("Commit")
	}
	id, err := repo.Resolve(ctx, revision)
	if err != nil {
		return nil, nil, found(err, "Commit")
	}
	c, err := repo.Commit(ctx, id)
	return repo, c, found(err, "Commit")
}

// parent is what a commit is compared with.
func parent(c *gitstore.Commit) gitstore.OID {
	if len(c.Parents) == 0 {
		return gitstore.EmptyTree
	}
	return c.Parents[0]
}

// CommitDiff is what a commit changed, as the API shows it: limits may have cut it.
func (s *Service) CommitDiff(ctx context.Context, p *project.Project, c *gitstore.Commit) (*gitstore.Diff, error) {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return commitDiff(ctx, repo, c)
}

func commitDiff(ctx context.Context, repo *gitstore.Repo, c *gitstore.Commit) (*gitstore.Diff, error) {
	diff, err := repo.Diff(ctx, parent(c), c.ID, gitstore.DiffOptions{})
	return diff, found(err, "Commit")
}

// stats counts the changed lines of commits.
func stats(ctx context.Context, repo *gitstore.Repo, commits []*gitstore.Commit) ([]gitstore.Stats, error) {
	ids := make([]gitstore.OID, len(commits))
	for i, c := range commits {
		ids[i] = c.ID
	}
	counted, err := repo.CommitStats(ctx, ids)
	return counted, found(err, "Commit")
}

var errNotInto = fault.WithReason(fault.Forbidden, "You are not allowed to push into this branch")

// Pick is a commit that is to be repeated or taken back on a branch.
type Pick struct {
	Revision string
	Branch   string
	Message  string // in place of the usual one
	Back     bool   // take it back
	DryRun   bool
}

// verb names the act in messages.
func (k Pick) verb() string {
	if k.Back {
		return "revert"
	}
	return "cherry-pick"
}

func (k Pick) message(c *gitstore.Commit) string {
	switch {
	case k.Message != "":
		return k.Message
	case k.Back:
		return "Revert \"" + title(c.Message) + "\"\n\nThis reverts commit " + string(c.ID)
	}
	return strings.TrimRight(c.Message, "\n") + "\n\n(cherry picked from commit " + string(c.ID) + ")"
}

// refusal is why a pick cannot be made by itself.
func (k Pick) refusal(err error) error {
	var code string
	switch {
	case errors.Is(err, gitstore.ErrUnmergeable):
		code = "conflict"
	case errors.Is(err, gitstore.ErrEmpty):
		code = "empty"
	default:
		return found(err, "Commit")
	}
	f := &fault.Error{
		Kind: fault.Rejected, Extra: map[string]string{"error_code": code},
		Text: "Commit " + k.verb() + " failed: Can't perform this action automatically. It may have already been done, " +
			"or a more recent commit may have updated some of this content. Please perform this action locally.",
	}
	if k.DryRun {
		f.Extra["dry_run"] = "error"
	}
	return f
}

// PickOnto repeats a commit on a branch, or takes it back there. A dry run only
// tries.
func (s *Service) PickOnto(ctx context.Context, by access.Actor, p *project.Project, k Pick) (*gitstore.Commit, error) {
	repo, c, err := s.commit(ctx, p, k.Revision)
	if err != nil {
		return nil, err
	}
	branch, err := branchRef(ctx, repo, k.Branch)
	if err != nil {
		return nil, err
	}
	may, err := s.deps.Protection.MayPushTo(ctx, by, p, k.Branch)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, errNotInto
	}
	who, err := s.Signature(ctx, by)
	if err != nil {
		return nil, err
	}
	d := gitstore.Draft{Parents: []gitstore.OID{branch.Target}, Author: c.Author, Committer: who, Message: k.message(c)}
	var staged gitstore.Staged
	if k.Back {
		d.Author = who
		staged, err = repo.StageRevert(ctx, c.ID, branch.Target, d)
	} else {
		staged, err = repo.StagePick(ctx, c.ID, branch.Target, d)
	}
	if err != nil {
		return nil, k.refusal(err)
	}
	defer repo.Discard(staged.Quarantine)
	if k.DryRun {
		return nil, nil //nolint:nilnil // it would have worked, and there is nothing to show
	}
	err = s.Push(ctx, by, p, staged.Quarantine, gitstore.RefUpdate{Name: branch.Name, Old: branch.Target, New: staged.ID})
	if err != nil {
		return nil, moved(err)
	}
	made, err := repo.Commit(ctx, staged.ID)
	return made, found(err, "Commit")
}

// moved is the answer to someone who built on what is no more the tip.
func moved(err error) error {
	if errors.Is(err, gitstore.ErrConflict) {
		return fault.WithMessage(fault.Rejected, "Could not update the branch. Please refresh and try again.")
	}
	return err
}
