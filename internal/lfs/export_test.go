package lfs

import "context"

// Sweep runs the job.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx, SweepArgs{}) }
