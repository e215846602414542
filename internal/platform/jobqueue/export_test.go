package jobqueue

import (
	"context"
	"time"

	"github.com/riverqueue/river/rivertype"

	"stithy/internal/platform/postgres"
)

// BeginUnique does what happens around a unique job that has just been fetched.
func BeginUnique(ctx context.Context, db *postgres.DB, id int64, work func(context.Context) error) error {
	return (&middleware{db: db, working: &working{jobs: map[int64]bool{}}}).Work(ctx, &rivertype.JobRow{ID: id, Tags: []string{untilStarted}}, work)
}

// SetOrphanInterval says how often a queue looks for jobs of dead processes.
func (q *Queue) SetOrphanInterval(every time.Duration) { q.orphans = every }

// ID is what the database knows a queue by that has started.
func (q *Queue) ID() string { return q.keeper.id }

// LookForOrphans looks for them now.
func (q *Queue) LookForOrphans(ctx context.Context) error { return q.keeper.look(ctx) }
