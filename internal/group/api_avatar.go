package group

import (
	"context"

	"stithy/internal/kit/httpapi"
)

func (s *Service) handleAvatar(ctx context.Context, call httpapi.Call[*Group, Ref]) (httpapi.Stream, error) {
	found, err := avatars.Find(ctx, s.deps.DB, call.Subject.ID)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return found.Stream(), nil
}
