package owner

import (
	"context"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/platform/deps"
	"stithy/internal/project"
)

// Deps is what the room needs from below.
type Deps struct {
	Groups   *group.Service
	Projects *project.Service
}

// Service finds owners.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// FindGroup reads the group that a reference names, for an actor who sees it.
func (s *Service) FindGroup(ctx context.Context, a access.Actor, ref string) (*Owner, error) {
	g, err := s.deps.Groups.FindByRef(ctx, a, ref)
	if err != nil {
		return nil, err
	}
	return OfGroup(g), nil
}

// FindProject reads the project that a reference names, for an actor who sees it. A former path sends readers to the present one.
func (s *Service) FindProject(ctx context.Context, a access.Actor, ref string) (*Owner, error) {
	p, err := s.deps.Projects.FindPresent(ctx, a, ref)
	if err != nil {
		return nil, err
	}
	return OfProject(p), nil
}
