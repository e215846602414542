package jobqueue

import (
	"context"

	"github.com/riverqueue/river/rivertype"

	"stithy/internal/platform/postgres"
)

// BeginUnique does what happens around a unique job that has just been fetched.
func BeginUnique(ctx context.Context, db *postgres.DB, id int64, work func(context.Context) error) error {
	return (&middleware{db: db}).Work(ctx, &rivertype.JobRow{ID: id, Tags: []string{untilStarted}}, work)
}
