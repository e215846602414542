package repository

import (
	"context"
	"errors"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

// Tag is a tag and the commit behind it.
type Tag struct {
	Name      string
	Target    gitstore.OID
	Commit    *gitstore.Commit // nil where it points to something else
	Annotated *gitstore.Tag    // nil for a plain one
	Protected bool
}

// Tags lists tags.
func (s *Service) Tags(ctx context.Context, p *project.Project, f RefFilter, req paging.Request) (paging.Result[Tag], error) {
	var none paging.Result[Tag]
	repo, err := s.Open(ctx, p)
	if err != nil {
		return none, err
	}
	refs, err := s.refs(ctx, repo, gitstore.Tags, f, req)
	if err != nil {
		return none, err
	}
	tags, err := s.tags(ctx, p, repo, refs.Items)
	return paging.Result[Tag]{Items: tags, Total: refs.Total, More: refs.More, Token: refs.Token}, err
}

// Tag finds a tag by its name.
func (s *Service) Tag(ctx context.Context, p *project.Project, name string) (*Tag, error) {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	ref, err := tagRef(ctx, repo, name)
	if err != nil {
		return nil, err
	}
	tags, err := s.tags(ctx, p, repo, []gitstore.Ref{ref})
	if err != nil {
		return nil, err
	}
	return &tags[0], nil
}

func tagRef(ctx context.Context, repo *gitstore.Repo, name string) (gitstore.Ref, error) {
	if name == "" {
		return gitstore.Ref{}, fault.NotFoundf("Tag")
	}
	ref, err := repo.Ref(ctx, gitstore.Tags+name)
	return ref, found(err, "Tag")
}

func (s *Service) tags(ctx context.Context, p *project.Project, repo *gitstore.Repo, refs []gitstore.Ref) ([]Tag, error) {
	rules, err := s.deps.Protection.Rules(ctx, p, false)
	if err != nil {
		return nil, err
	}
	tags := make([]Tag, len(refs))
	for i, r := range refs {
		t := Tag{Name: r.TagName(), Target: r.Target, Protected: rules.ProtectsTag(r.TagName())}
		if r.Target != r.Peeled {
			if t.Annotated, err = repo.Tag(ctx, r.Target); err != nil {
				return nil, found(err, "Tag")
			}
		}
		// A tag may name a file or a tree; then there is no commit to show.
		if t.Commit, err = repo.Commit(ctx, r.Peeled); err != nil && !isMissing(err) {
			return nil, found(err, "Commit")
		}
		tags[i] = t
	}
	return tags, nil
}

// CreateTag makes a tag where a revision is; with a message it is an object of
// its own.
func (s *Service) CreateTag(ctx context.Context, by access.Actor, p *project.Project, name, revision, message string) (*Tag, error) {
	full := gitstore.Tags + name
	switch {
	case gitstore.CheckRefName(full) != nil:
		return nil, fault.WithMessage(fault.Rejected, "Tag name invalid")
	case strings.TrimSpace(revision) == "":
		return nil, fault.WithMessage(fault.Rejected, "Target is empty")
	}
	exists := fault.WithMessage(fault.Rejected, "Tag %s already exists", name)
	repo, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	switch _, err := repo.Ref(ctx, full); {
	case err == nil:
		return nil, exists
	case !errors.Is(err, gitstore.ErrNotFound):
		return nil, found(err, "Tag")
	}
	target, err := repo.Resolve(ctx, revision)
	if isMissing(err) {
		return nil, fault.WithMessage(fault.Rejected, "Target %s is invalid", revision)
	}
	if err != nil {
		return nil, found(err, "Commit")
	}
	staged := gitstore.Staged{ID: target}
	if message = strings.TrimSpace(message); message != "" {
		who, err := s.Signature(ctx, by)
		if err != nil {
			return nil, err
		}
		if staged, err = repo.StageTag(ctx, name, target, who, message); err != nil {
			return nil, found(err, "Tag")
		}
		defer repo.Discard(staged.Quarantine)
	}
	err = s.Push(ctx, by, p, staged.Quarantine, gitstore.RefUpdate{Name: full, Old: gitstore.Zero, New: staged.ID})
	if errors.Is(err, gitstore.ErrConflict) {
		return nil, exists
	}
	if err != nil {
		return nil, err
	}
	return s.Tag(ctx, p, name)
}

// DeleteTag removes a tag.
func (s *Service) DeleteTag(ctx context.Context, by access.Actor, p *project.Project, name string) error {
	repo, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	ref, err := tagRef(ctx, repo, name)
	if err != nil {
		return err
	}
	err = s.Push(ctx, by, p, gitstore.Quarantine{}, gitstore.RefUpdate{Name: ref.Name, Old: ref.Target, New: gitstore.Zero})
	return found(err, "Tag")
}
