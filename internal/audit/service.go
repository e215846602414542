package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/bus"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// Deps is what the room needs.
type Deps struct {
	DB    *postgres.DB
	Clock clock.Clock
	Names wire.Names
}

// Service writes the trail.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// Record writes down every event that says what was done. It runs in the
// transaction of the act.
func (s *Service) Record(ctx context.Context, tx pgx.Tx, e bus.Event) error {
	audited, ok := e.(bus.Audited)
	if !ok {
		return nil
	}
	d := audited.AuditRecord()
	r, err := newRecord(d, s.deps.Names)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlInsert, s.deps.Clock.Now(), d.Type, r.authorID, r.authorName, d.Entity.Kind, d.Entity.ID,
		r.entityPath, r.targetType, r.targetID, r.targetDetails, r.address, r.details)
	return err
}

// PartitionArgs asks for the partitions of the coming months.
type PartitionArgs struct{}

// Kind names the job.
func (PartitionArgs) Kind() string { return "audit_partitions" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ PartitionArgs) error { return s.Prepare(ctx) })
	r.Every(24*time.Hour, PartitionArgs{})
}

// monthsAhead is how long the instance may stand without its jobs before rows
// go to the default partition.
const monthsAhead = 4

// Prepare makes the partitions of this month and the next ones. Months whose
// rows went to the default partition stay there: moving them would lock the
// trail, and reading does not care.
func (s *Service) Prepare(ctx context.Context) error {
	now := s.deps.Clock.Now().UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	for i := range monthsAhead {
		from := first.AddDate(0, i, 0)
		stray, err := postgres.Value[bool](ctx, s.deps.DB, sqlStrays, from, from.AddDate(0, 1, 0))
		if err != nil {
			return err
		}
		if stray {
			continue
		}
		// Names and bounds are made of numbers alone; DDL takes no arguments.
		ddl := fmt.Sprintf(`create table if not exists audit_events_%s partition of audit_events for values from ('%s') to ('%s')`,
			from.Format("200601"), from.Format(time.RFC3339), from.AddDate(0, 1, 0).Format(time.RFC3339))
		if _, err := s.deps.DB.Exec(ctx, ddl); err != nil {
			return fmt.Errorf("making the partition of %s: %w", from.Format("2006-01"), err)
		}
	}
	return nil
}
