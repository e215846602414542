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

// DeliverArgs asks to send a destination what it has not been sent yet.
type DeliverArgs struct {
	DestinationID int64 `json:"destination_id"`
	Group         bool  `json:"group,omitempty"` // it is one of a group
}

// Kind names the job.
func (DeliverArgs) Kind() string { return "audit_deliver" }

// Shares of the workers that send to destinations: those of all groups leave half of them to those of the instance, and the other way round.
const (
	instanceShare = -1
	groupsShare   = -2
)

// Apart sets the job apart: the receiver decides how long it takes.
func (a DeliverArgs) Apart() (queue string, share int64) {
	if a.Group {
		return jobqueue.Streams, groupsShare
	}
	return jobqueue.Streams, instanceShare
}

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.RegisterTimeout(r, time.Hour, func(ctx context.Context, _ PartitionArgs) error {
		if err := s.Prepare(ctx); err != nil {
			return err
		}
		return s.Index(ctx)
	})
	r.Every(24*time.Hour, PartitionArgs{})
	jobqueue.Register(r, func(ctx context.Context, _ SealArgs) error {
		if err := s.Seal(ctx); err != nil {
			return err
		}
		return s.Stream(ctx)
	})
	r.Every(time.Minute, SealArgs{})
	jobqueue.Register(r, func(ctx context.Context, args DeliverArgs) error { return s.Deliver(ctx, args.DestinationID) })
}
