package group

import "context"

// RemoveMarked runs the job on one group.
func RemoveMarked(ctx context.Context, s *Service, id, byID int64) error {
	return s.removeMarked(ctx, RemoveArgs{GroupID: id, ByID: byID})
}

// ListWith lets a test answer for the room of projects.
func (s *Service) ListWith(projects ProjectLister) { s.deps.Projects = projects }
