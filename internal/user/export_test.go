package user

import "context"

// RemoveMarked runs the job on one account.
func RemoveMarked(s *Service, ctx context.Context, id int64) error {
	return s.removeMarked(ctx, RemoveArgs{UserID: id})
}
