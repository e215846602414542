package repository

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/sorting"
	"stithy/internal/project"
)

// CompareQuery says what is compared.
type CompareQuery struct {
	From, To string
	Source   *project.Project // where From is looked up
	Straight bool             // from one to the other, not from where they parted
}

// Comparison is what one commit has that another has not.
type Comparison struct {
	From, To gitstore.OID
	Commits  []*gitstore.Commit // oldest first
	Diff     *gitstore.Diff
	Cut      bool // there is more than is told
}

// maxCompared is how many commits a comparison lists.
const maxCompared = 10_000

// Compare tells how To differs from From.
func (s *Service) Compare(ctx context.Context, p *project.Project, q CompareQuery) (*Comparison, error) {
	c, err := s.compare(ctx, p, q)
	return c, found(err, "Ref")
}

func (s *Service) compare(ctx context.Context, p *project.Project, q CompareQuery) (*Comparison, error) {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	there := repo
	if q.Source.ID != p.ID {
		if there, err = s.Open(ctx, q.Source); err != nil {
			return nil, err
		}
		repo = repo.Beside(there)
	}
	c := &Comparison{Diff: &gitstore.Diff{}}
	if c.From, err = there.Resolve(ctx, q.From); err != nil {
		return nil, err
	}
	if c.To, err = repo.Resolve(ctx, q.To); err != nil {
		return nil, err
	}
	if c.From == c.To {
		return c, nil
	}
	if c.Commits, c.Cut, err = repo.Log(ctx, gitstore.LogQuery{From: []gitstore.OID{c.To}, Not: []gitstore.OID{c.From}, Limit: maxCompared}); err != nil {
		return nil, err
	}
	slices.Reverse(c.Commits)
	// Histories that never met are compared as they are.
	if c.Diff, err = repo.Diff(ctx, c.From, c.To, gitstore.DiffOptions{Parted: !q.Straight}); err != nil {
		return nil, err
	}
	c.Cut = c.Cut || c.Diff.Overflow
	return c, nil
}

// maxFamily is how many generations of forks are asked.
const maxFamily = 20

// Relative finds a project of the same family of forks, of which the actor
// may read the code. given is how the caller named p.
func (s *Service) Relative(ctx context.Context, by access.Actor, p *project.Project, given string, id int64) (*project.Project, error) {
	if id == p.ID {
		return p, nil
	}
	stranger := fault.WithMessage(fault.Rejected, "Target project id:%d is not a fork of project id:%s", id, given)
	other, err := s.deps.Projects.Find(ctx, by, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, stranger
	case err != nil:
		return nil, err
	}
	ours, err := s.eldest(ctx, by, p, other.ID)
	if err != nil {
		return nil, err
	}
	theirs, err := s.eldest(ctx, by, other, p.ID)
	switch {
	case err != nil:
		return nil, err
	case ours != theirs && ours != other.ID && theirs != p.ID:
		return nil, stranger
	case !access.Holds(by, access.ReadCode, other.Target()):
		return nil, fault.WithReason(fault.Forbidden, "You don't have access to this fork's parent project")
	}
	return other, nil
}

// eldest follows sources upwards as far as the actor sees, or to a project
// that is looked for.
func (s *Service) eldest(ctx context.Context, by access.Actor, p *project.Project, wanted int64) (int64, error) {
	at := p
	for range maxFamily {
		if at.ForkedFromID == nil || at.ID == wanted {
			break
		}
		source, err := s.deps.Projects.Find(ctx, by, *at.ForkedFromID)
		if fault.Is(err, fault.NotFound) {
			// Two forks of one hidden source are still of one family.
			return *at.ForkedFromID, nil
		}
		if err != nil {
			return 0, err
		}
		at = source
	}
	return at.ID, nil
}

// Contributor is someone whose commits are in a repository.
type Contributor struct {
	Name    string
	Email   string
	Commits int
}

// countedCommits is how far back contributors are counted.
const countedCommits = 2000

// Contributors counts who wrote the last commits, without merges.
func (s *Service) Contributors(ctx context.Context, p *project.Project, revision, orderBy string, desc bool) ([]Contributor, error) {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	tip, err := s.Revision(ctx, repo, p, revision)
	if isMissing(err) {
		return nil, fault.New(fault.NotFound)
	}
	if err != nil {
		return nil, found(err, "Commit")
	}
	commits, _, err := repo.Log(ctx, gitstore.LogQuery{From: []gitstore.OID{tip}, NoMerges: true, Limit: countedCommits})
	if err != nil {
		return nil, found(err, "Commit")
	}
	return counted(commits, orderBy, desc), nil
}

func counted(commits []*gitstore.Commit, orderBy string, desc bool) (all []Contributor) {
	at := map[string]int{}
	for _, c := range commits {
		i, known := at[c.Author.Email]
		if !known {
			i = len(all)
			at[c.Author.Email] = i
			all = append(all, Contributor{Name: c.Author.Name, Email: c.Author.Email})
		}
		all[i].Commits++
	}
	sorting.Stably(all, func(a, b Contributor) int {
		order := cmp.Compare(a.Commits, b.Commits)
		switch orderBy {
		case "name":
			order = strings.Compare(a.Name, b.Name)
		case "email":
			order = strings.Compare(a.Email, b.Email)
		}
		if desc {
			order = -order
		}
		return cmp.Or(order, strings.Compare(a.Email, b.Email))
	})
	return all
}

// maxBases is how many revisions a common ancestor is looked for.
const maxBases = 100

// MergeBase finds the best common ancestor of several revisions.
func (s *Service) MergeBase(ctx context.Context, p *project.Project, revisions []string) (*gitstore.Commit, error) {
	if len(revisions) < 2 {
		return nil, fault.WithMessage(fault.Rejected, "Provide at least 2 refs")
	}
	if len(revisions) > maxBases {
		return nil, fault.WithMessage(fault.Rejected, "Provide at most %d refs", maxBases)
	}
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	var ids []gitstore.OID
	var unknown []string
	for _, revision := range revisions {
		id, err := repo.Resolve(ctx, revision)
		switch {
		case isMissing(err):
			unknown = append(unknown, revision)
		case err != nil:
			return nil, found(err, "Ref")
		}
		ids = append(ids, id)
	}
	if unknown != nil {
		noun := "ref"
		if len(unknown) > 1 {
			noun = "refs"
		}
		return nil, fault.WithMessage(fault.Rejected, "Could not find %s: %s", noun, strings.Join(unknown, ", "))
	}
	base, err := repo.MergeBase(ctx, ids...)
	if err != nil {
		return nil, found(err, "Merge Base")
	}
	c, err := repo.Commit(ctx, base)
	return c, found(err, "Merge Base")
}
