package project

import (
	"bytes"
	"context"
	"io"

	"stithy/internal/kit/httpapi"
)

func (s *Service) handleAvatar(ctx context.Context, call httpapi.Call[*Project, Ref]) (httpapi.Stream, error) {
	found, err := s.avatar(ctx, call.Subject)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return httpapi.Stream{
		Name: found.Name, Type: found.ContentType, Attach: true, Size: int64(len(found.Content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(found.Content)), nil },
	}, nil
}
