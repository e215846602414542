package event

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// monthsAhead is how long the instance may stand without its jobs before rows go to the default partition.
const monthsAhead = 4

// month is the first moment of the month of a time.
func month(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// Prepare makes the partitions of this month and the next ones. Months whose rows went to the default partition stay there: moving them would lock
// the table, and reading does not care.
func (s *Service) Prepare(ctx context.Context) error {
	first := month(s.deps.Clock.Now())
	for i := range monthsAhead {
		if err := s.makePartition(ctx, first.AddDate(0, i, 0)); err != nil {
			return fmt.Errorf("making the partition of %s: %w", first.AddDate(0, i, 0).Format("2006-01"), err)
		}
	}
	return nil
}

func (s *Service) makePartition(ctx context.Context, from time.Time) error {
	to := from.AddDate(0, 1, 0)
	if stray, err := postgres.Value[bool](ctx, s.deps.DB, sqlStrays, from, to); err != nil || stray {
		return err
	}
	// Names and bounds are made of numbers alone; DDL takes no arguments.
	return s.define(ctx, fmt.Sprintf(`create table if not exists events_%s partition of events for values from ('%s') to ('%s')`,
		from.Format(inName), from.Format(time.RFC3339), to.Format(time.RFC3339)))
}

// inName is how the name of a partition says its month.
const inName = "200601"

// define changes the table, and gives up when it is in use for long: else all who write would wait behind. The job comes again.
func (s *Service) define(ctx context.Context, ddl string) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlWaitShortly); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, ddl)
		return err
	})
}
