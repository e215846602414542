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
}

// Kind names the job.
func (DeliverArgs) Kind() string { return "audit_deliver" }

// deliverShare is one for all destinations: however slow they are, half of the workers go on with mails.
const deliverShare = -1

// Apart sets the job apart: the receiver decides how long it takes.
func (DeliverArgs) Apart() (queue string, share int64) { return jobqueue.Mails, deliverShare }

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
