package note

import (
	"context"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Discuss begins a discussion about a part of the diff of a commit. It is refused when refs, the commits that the caller compared, are not those
// of that diff: lines would be counted in another one.
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

// Comment makes a comment on a commit, or on the line of a file that p names; p may be nil. A line that is in the diff begins a discussion there.
// Any other position is stored as the client gave it.
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
