package user

import (
	"context"

	"stithy/internal/kit/attribute"
)

// RemoveMarked runs the job on one account.
func RemoveMarked(s *Service, ctx context.Context, id int64) error {
	return s.removeMarked(ctx, RemoveArgs{UserID: id})
}

// Attributes are the custom attributes of accounts.
func (s *Service) Attributes() *attribute.Store[*User] { return s.attributes }
