package acme

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// OrderArgs asks for the certificate of a name, if it is due.
type OrderArgs struct {
	Name string `json:"name"`
}

// Kind names the job.
func (OrderArgs) Kind() string { return "acme_order" }

// DueArgs asks for all that is due.
type DueArgs struct{}

// Kind names the job.
func (DueArgs) Kind() string { return "acme_due" }

const (
	dueEvery = time.Minute
	// dueBatch names are ordered a minute: 500 an hour are far above what authorities allow one account.
	dueBatch   = 8
	sweepBatch = 1000
	// orderTime is how long an order may take; the lease is longer, so that its end is its own.
	orderTime = 5 * time.Minute
	leaseTime = 2 * orderTime
)

// Register adds the workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.RegisterTimeout(r, leaseTime, func(ctx context.Context, a OrderArgs) error { return s.Order(ctx, a.Name) })
	jobqueue.Register(r, func(ctx context.Context, _ DueArgs) error { return s.Due(ctx) })
	r.Every(dueEvery, DueArgs{})
}

// Due has orders done whose time has come, and forgets challenges whose time is over.
func (s *Service) Due(ctx context.Context) error {
	now := s.deps.Clock.Now()
	names, err := postgres.Values[string](ctx, s.deps.DB, sqlDue, now, dueBatch)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
			return s.deps.Queue.Insert(ctx, tx, OrderArgs{Name: name}, jobqueue.Unique())
		})
		if err != nil {
			return err
		}
	}
	return s.deps.DB.InBatches(ctx, sweepBatch, sqlSweep, now)
}
