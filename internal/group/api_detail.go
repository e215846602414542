package group

import (
	"context"

	"stithy/internal/kit/access"
)

// Detail is a single group, for the replies of other rooms.
type Detail = detailForm

// Detail presents a single group with its projects.
func (s *Service) Detail(ctx context.Context, a access.Actor, id int64) (Detail, error) {
	g, err := s.Find(ctx, a, id)
	if err != nil {
		return Detail{}, err
	}
	return s.detail(ctx, a, g, true, false)
}
