package audit

import (
	"context"
	"time"

	"stithy/internal/platform/jobqueue"
)

// PartitionArgs asks for the partitions of the coming months.
type PartitionArgs struct{}

// Kind names the job.
func (PartitionArgs) Kind() string { return "audit_partitions" }

// SealArgs asks for the seals of what was written since.
type SealArgs struct{}

// Kind names the job.
func (SealArgs) Kind() string { return "audit_seal" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.RegisterTimeout(r, time.Hour, func(ctx context.Context, _ PartitionArgs) error {
		if err := s.Prepare(ctx); err != nil {
			return err
		}
		return s.Index(ctx)
	})
	r.Every(24*time.Hour, PartitionArgs{})
	jobqueue.Register(r, func(ctx context.Context, _ SealArgs) error { return s.Seal(ctx) })
	r.Every(time.Minute, SealArgs{})
}
