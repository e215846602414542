package repository

import "context"

// Fill works the job that fills a fork.
func (s *Service) Fill(ctx context.Context, projectID int64) error {
	return s.fill(ctx, CopyArgs{ProjectID: projectID})
}

// Pointer is the digest that a blob stands for.
func Pointer(text []byte) string { return pointer(text) }

// WorkMerged works the job that removes merged branches.
func (s *Service) WorkMerged(ctx context.Context, projectID, userID int64) error {
	return s.deleteMerged(ctx, MergedArgs{ProjectID: projectID, UserID: userID})
}
