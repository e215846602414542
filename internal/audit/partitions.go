package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
)

// monthsAhead is how long the instance may stand without its jobs before rows
// go to the default partition.
const monthsAhead = 4

// month is the first moment of the month of a time.
func month(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// Prepare makes the partitions of this month and the next ones. Months whose
// rows went to the default partition stay there: moving them would lock the
// trail, and reading does not care.
func (s *Service) Prepare(ctx context.Context) error {
	first := month(s.deps.Clock.Now())
	for i := range monthsAhead {
		of := first.AddDate(0, i, 0)
		if err := s.define(ctx, sqlMakeMonth, of); err != nil {
			return fmt.Errorf("making the partitions of %s: %w", of.Format("2006-01"), err)
		}
	}
	return nil
}

// define changes a table, and gives up when it is in use for long: else all who write would wait behind. The job comes again.
func (s *Service) define(ctx context.Context, sql string, of time.Time) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlWaitShortly); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sql, of)
		return err
	})
}

// indexes are those of a month that its table does not have from the partitioned one, by the end of their names.
var indexes = map[string]string{"kind": "entity_type, id", "own": "entity_type, entity_id, author_id, id"}

// Index builds the indexes of months that an earlier release made, while others write. A month that is new has them already.
func (s *Service) Index(ctx context.Context) error {
	months, err := postgres.Values[string](ctx, s.deps.DB, sqlMonths)
	if err != nil {
		return err
	}
	for _, of := range months {
		if err := s.define(ctx, sqlMakeMonth, monthOf(of)); err != nil {
			return fmt.Errorf("completing the month %s: %w", of, err)
		}
		for name, on := range indexes {
			built, err := postgres.Value[bool](ctx, s.deps.DB, sqlHasIndex, fmt.Sprintf("audit_events_%s_%s", of, name))
			if err != nil {
				return err
			}
			if built {
				continue
			}
			if err := s.build(ctx, of, name, on); err != nil {
				return fmt.Errorf("building an index of the month %s: %w", of, err)
			}
		}
	}
	return nil
}

// build makes an index on a connection that has time, and is not used again.
func (s *Service) build(ctx context.Context, of, name, on string) error {
	lent, err := s.deps.DB.Pool().Acquire(ctx)
	if err != nil {
		return err
	}
	conn := lent.Hijack()
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, sqlPatientSession); err != nil {
		return err
	}
	// Names are made of digits and constants; DDL takes no arguments. What was left half built is gone by now.
	_, err = conn.Exec(ctx, fmt.Sprintf(`create index concurrently if not exists audit_events_%s_%s on audit_events_%s (%s)`, of, name, of, on))
	return err
}

// monthOf reads the month that the name of a partition says.
func monthOf(digits string) time.Time {
	t, _ := time.Parse("200601", digits) // the query gives nothing else
	return t
}
