package note

import (
	"context"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Discuss begins a discussion about a part of what a commit changed. refs are what the caller takes the diff to be between.
func (s *Service) Discuss(ctx context.Context, by access.Actor, at AtCommit, d Draft, refs DiffRefs, p *Position) (*Said, error) {
	if err := p.complete(); err != nil {
		return nil, err
	}
	if refs != at.refs() {
		return nil, errRefs
	}
	diff, err := s.deps.Repositories.CommitDiff(ctx, at.Project, at.Commit)
	if err != nil {
		return nil, err
	}
	if err := p.in(diff); err != nil {
		return nil, err
	}
	d.position = p
	return s.Create(ctx, by, at, d)
}

// Comment says something about a commit, or about a line of a file; p is nil, or names that. A line that the diff shows begins a discussion there. Any
// other is kept as it was told.
func (s *Service) Comment(ctx context.Context, by access.Actor, at AtCommit, text string, p *Position) (*Note, error) {
	d := Draft{Body: text, position: p}
	if why := flaw(text); why != "" {
		return nil, fault.Field("note", "%s", why)
	}
	if p != nil {
		if gitstore.CheckPath(p.NewPath) != nil {
			return nil, fault.WithMessage(fault.BadParams, "path should be a valid file path")
		}
		diff, err := s.deps.Repositories.CommitDiff(ctx, at.Project, at.Commit)
		if err != nil {
			return nil, err
		}
		if d.Thread = p.in(diff) == nil; !d.Thread {
			p.OldPath = p.NewPath
		}
	}
	said, err := s.Create(ctx, by, at, d)
	if err != nil {
		return nil, err
	}
	return said.Note, nil
}
