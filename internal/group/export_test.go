package group

import "context"

// RemoveMarked runs the job on one group.
func RemoveMarked(ctx context.Context, s *Service, id, byID int64) error {
	return s.removeMarked(ctx, RemoveArgs{GroupID: id, ByID: byID})
}
