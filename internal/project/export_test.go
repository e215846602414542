package project

import "context"

// RemoveMarked runs the job on one project.
func RemoveMarked(ctx context.Context, s *Service, id int64) error {
	return s.removeMarked(ctx, RemoveArgs{ProjectID: id})
}
