package repository

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
)

// Branch is a branch as one actor stands before it.
type Branch struct {
	Name            string
	Commit          *gitstore.Commit
	Merged          bool // all of it is in the default branch, which has more
	Protected       bool
	DevelopersPush  bool
	DevelopersMerge bool
	MayPush         bool // the actor
	Default         bool
}

// Order of branches and tags.
type Order struct {
	By   string // "name", "updated" or "version"
	Desc bool
}

// RefFilter says which branches or tags are wanted.
type RefFilter struct {
	Search string
	Regex  string
	Order  Order
	After  string // a name, with keyset paging
}

// Branches lists branches.
func (s *Service) Branches(ctx context.Context, by access.Actor, p *project.Project, f RefFilter, req paging.Request) (paging.Result[Branch], error) {
	var none paging.Result[Branch]
	repo, err := s.Open(ctx, p)
	if err != nil {
		return none, err
	}
	refs, err := s.refs(ctx, repo, gitstore.Branches, f, req)
	if err != nil {
		return none, err
	}
	branches, err := s.branches(ctx, by, p, repo, refs.Items)
	return paging.Result[Branch]{Items: branches, Total: refs.Total, More: refs.More, Token: refs.Token}, err
}

// refs is one page of the refs below a prefix. By name nothing but names is
// read; by date every commit is, once.
func (s *Service) refs(ctx context.Context, repo *gitstore.Repo, prefix string, f RefFilter, req paging.Request) (paging.Result[gitstore.Ref], error) {
	var res paging.Result[gitstore.Ref]
	match, err := filter(f.Search, f.Regex)
	if err != nil {
		return res, err
	}
	q := gitstore.RefQuery{Prefix: prefix, Match: match}
	if req.Keyset && f.Order == (Order{By: "name"}) {
		q.Limit = req.PerPage
		if f.After != "" {
			q.After = prefix + f.After
			if _, err := repo.Ref(ctx, q.After); err != nil {
				return res, badToken(err, q.After)
			}
		}
		refs, more, err := repo.Refs(ctx, q)
		if err != nil {
			return res, found(err, "Repository")
		}
		if res.Items = refs; more {
			res.Token = strings.TrimPrefix(refs[len(refs)-1].Name, prefix)
		}
		return res, nil
	}
	all, _, err := repo.Refs(ctx, q)
	if err != nil {
		return res, found(err, "Repository")
	}
	if err := s.order(ctx, repo, prefix, all, f.Order); err != nil {
		return res, err
	}
	if req.Keyset {
		return after(all, prefix, f.After, req.PerPage)
	}
	first(all, prefix+f.Search)
	return paging.Cut(all, req), nil
}

// after turns the page of a list that is in an order of its own.
func after(all []gitstore.Ref, prefix, token string, perPage int) (res paging.Result[gitstore.Ref], err error) {
	if token != "" {
		at := slices.IndexFunc(all, func(r gitstore.Ref) bool { return r.Name == prefix+token })
		if at < 0 {
			return res, badToken(gitstore.ErrNotFound, prefix+token)
		}
		all = all[at+1:]
	}
	if res.Items = all; len(all) > perPage {
		res.Items = all[:perPage]
		res.Token = strings.TrimPrefix(res.Items[perPage-1].Name, prefix)
	}
	return res, nil
}

func badToken(err error, name string) error {
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrInvalid) {
		return fault.WithMessage(fault.Unprocessable, "Invalid page token: %s", name)
	}
	return found(err, "Repository")
}

func (s *Service) order(ctx context.Context, repo *gitstore.Repo, prefix string, refs []gitstore.Ref, o Order) error {
	byName := func(a, b gitstore.Ref) int { return strings.Compare(a.Name, b.Name) }
	compare := byName
	switch o.By {
	case "version":
		compare = func(a, b gitstore.Ref) int {
			return byVersion(strings.TrimPrefix(a.Name, prefix), strings.TrimPrefix(b.Name, prefix))
		}
	case "updated":
		ids := make([]gitstore.OID, len(refs))
		for i, r := range refs {
			ids[i] = r.Peeled
		}
		commits, err := repo.Commits(ctx, ids)
		if err != nil {
			return found(err, "Commit")
		}
		at := make(map[gitstore.OID]int64, len(commits))
		for _, c := range commits {
			if c != nil {
				at[c.ID] = c.Committer.When.Unix()
			}
		}
		compare = func(a, b gitstore.Ref) int { return int(at[a.Peeled] - at[b.Peeled]) }
	}
	sorting.Stably(refs, func(a, b gitstore.Ref) int {
		c := compare(a, b)
		if o.Desc {
			c = -c
		}
		if c == 0 {
			return byName(a, b)
		}
		return c
	})
	return nil
}

// Branch finds a branch by its name.
func (s *Service) Branch(ctx context.Context, by access.Actor, p *project.Project, name string) (*Branch, error) {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	ref, err := branchRef(ctx, repo, name)
	if err != nil {
		return nil, err
	}
	branches, err := s.branches(ctx, by, p, repo, []gitstore.Ref{ref})
	if err != nil {
		return nil, err
	}
	return &branches[0], nil
}

// branchRef reads the ref of a branch.
func branchRef(ctx context.Context, repo *gitstore.Repo, name string) (gitstore.Ref, error) {
	if name == "" {
		return gitstore.Ref{}, fault.NotFoundf("Branch")
	}
	ref, err := repo.Ref(ctx, gitstore.Branches+name)
	return ref, found(err, "Branch")
}

// branches reads what there is to say about some branches. The rules are read
// once for all of them.
func (s *Service) branches(ctx context.Context, by access.Actor, p *project.Project, repo *gitstore.Repo, refs []gitstore.Ref) ([]Branch, error) {
	rules, w, err := s.deps.Protection.Standing(ctx, by, p)
	if err != nil {
		return nil, err
	}
	ids := make([]gitstore.OID, len(refs))
	for i, r := range refs {
		ids[i] = r.Target
	}
	commits, err := repo.Commits(ctx, ids)
	if err != nil {
		return nil, found(err, "Commit")
	}
	root, err := repo.Ref(ctx, gitstore.Branches+rules.Default)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, found(err, "Branch")
	}
	merged := map[gitstore.OID]bool{}
	if root.Target != "" {
		if merged, err = repo.Merged(ctx, refs, root.Target); err != nil {
			return nil, found(err, "Commit")
		}
	}
	branches := make([]Branch, len(refs))
	for i, r := range refs {
		name := r.Branch()
		branches[i] = Branch{
			Name: name, Commit: commits[i], Protected: rules.HasRule(name), MayPush: rules.MayPush(w, name), Default: name == rules.Default,
			DevelopersPush: rules.DevelopersMayPush(name), DevelopersMerge: rules.DevelopersMayMerge(name),
			Merged: r.Target != root.Target && merged[r.Target],
		}
	}
	return branches, nil
}

// CreateBranch makes a branch where a revision is.
func (s *Service) CreateBranch(ctx context.Context, by access.Actor, p *project.Project, name, revision string) (*Branch, error) {
	full := gitstore.Branches + name
	if gitstore.CheckRefName(full) != nil {
		return nil, fault.WithMessage(fault.Rejected, "Branch name is invalid")
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	switch _, err := repo.Ref(ctx, full); {
	case err == nil:
		return nil, fault.WithMessage(fault.Rejected, "Branch already exists")
	case !errors.Is(err, gitstore.ErrNotFound):
		return nil, found(err, "Branch")
	}
	target, err := repo.Resolve(ctx, revision)
	if isMissing(err) {
		return nil, fault.WithMessage(fault.Rejected, "Failed to create branch '%s': invalid reference name '%s'", name, revision)
	}
	if err != nil {
		return nil, found(err, "Commit")
	}
	err = s.Push(ctx, by, p, gitstore.Quarantine{}, gitstore.RefUpdate{Name: full, Old: gitstore.Zero, New: target})
	if errors.Is(err, gitstore.ErrConflict) {
		return nil, fault.WithMessage(fault.Rejected, "Branch already exists")
	}
	if err != nil {
		return nil, err
	}
	return s.Branch(ctx, by, p, name)
}

// DeleteBranch removes a branch that stands where the caller last saw it.
func (s *Service) DeleteBranch(ctx context.Context, by access.Actor, p *project.Project, ref gitstore.Ref) error {
	err := s.Push(ctx, by, p, gitstore.Quarantine{}, gitstore.RefUpdate{Name: ref.Name, Old: ref.Target, New: gitstore.Zero})
	return found(err, "Branch")
}

// MergedArgs asks for the removal of a project's merged branches on behalf of
// a person.
type MergedArgs struct {
	ProjectID int64 `json:"project_id"`
	UserID    int64 `json:"user_id"`
}

// Kind names the job.
func (MergedArgs) Kind() string { return "repository_delete_merged" }

// OrderMerged queues the removal of merged branches.
func (s *Service) OrderMerged(ctx context.Context, by access.Actor, p *project.Project) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		return s.deps.Queue.Insert(ctx, tx, MergedArgs{ProjectID: p.ID, UserID: by.ID()}, jobqueue.Unique())
	})
}

// deleteMerged removes branches on behalf of someone who may have lost the
// right in the meantime, or the account.
func (s *Service) deleteMerged(ctx context.Context, args MergedArgs) error {
	by, err := s.deps.Tokens.Later(ctx, args.UserID)
	if _, refused := fault.Of(err); refused {
		return nil
	}
	if err != nil {
		return err
	}
	by.Process = args.Kind()
	p, err := s.deps.Projects.Find(ctx, by, args.ProjectID)
	if fault.Is(err, fault.NotFound) || (err == nil && !access.Holds(by, access.PushCode, p.Target())) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.DeleteMerged(ctx, by, p)
}

// DeleteMerged removes the branches that are wholly in the default branch,
// but for protected ones. Each goes by itself: one that moved meanwhile stays.
func (s *Service) DeleteMerged(ctx context.Context, by access.Actor, p *project.Project) error {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	rules, _, err := s.deps.Protection.Standing(ctx, by, p)
	if err != nil {
		return err
	}
	root, err := repo.Ref(ctx, gitstore.Branches+rules.Default)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	refs, _, err := repo.Refs(ctx, gitstore.RefQuery{Prefix: gitstore.Branches, Match: func(name string) bool {
		return name != rules.Default && !rules.ProtectsBranch(name)
	}})
	if err != nil {
		return err
	}
	merged, err := repo.Merged(ctx, refs, root.Target)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.Target == root.Target || !merged[ref.Target] {
			continue
		}
		if err := s.DeleteBranch(ctx, by, p, ref); err != nil && !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return nil
}
