package event

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stithy/internal/platform/postgres"
)

const (
	keptYears = 3
	// strays is how many events the default partition loses in a day.
	strays = 10_000
)

// Retire drops the partitions whose last event is older than three years. Of the default partition, which has events only when partitions were
// missing, single rows go.
func (s *Service) Retire(ctx context.Context) error {
	oldest := s.deps.Clock.Now().AddDate(-keptYears, 0, 0)
	tables, err := postgres.Values[string](ctx, s.deps.DB, sqlPartitions)
	if err != nil {
		return err
	}
	for _, table := range tables {
		from, err := time.Parse(inName, strings.TrimPrefix(table, "events_"))
		if err != nil || from.AddDate(0, 1, 0).After(oldest) {
			continue // the default partition, or one that is still wanted
		}
		// The name is made of a number alone; DDL takes no arguments.
		if err := s.define(ctx, fmt.Sprintf(`drop table if exists events_%s`, from.Format(inName))); err != nil {
			return fmt.Errorf("dropping the partition of %s: %w", from.Format("2006-01"), err)
		}
	}
	_, err = s.deps.DB.Exec(ctx, sqlDropStrays, oldest, strays)
	return err
}
