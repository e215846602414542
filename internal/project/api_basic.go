package project

import (
	"context"

	"stithy/internal/kit/access"
)

// BasicForm is a project as strangers see it, for the forms of other rooms.
type BasicForm = basicForm

// BasicForm presents a project that the viewer sees.
func (s *Service) BasicForm(ctx context.Context, to access.Actor, p *Project) (BasicForm, error) {
	form := shape{simple: true, single: true}
	around, err := s.around(ctx, to, []Project{*p}, form)
	if err != nil {
		return BasicForm{}, err
	}
	return s.basicForm(to, p, around, form), nil
}
