package oauth

import (
	"context"
	"fmt"
	"time"

	"stithy/internal/platform/jobqueue"
)

// SweepArgs asks for the removal of dead codes and tokens.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "oauth_sweep" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, func(ctx context.Context, _ SweepArgs) error { return s.Sweep(ctx) })
	r.Every(24*time.Hour, SweepArgs{})
}

const (
	sweepBatch = 1000 // keeps each statement, and the locks that it takes, short

	// How long the dead are remembered, to notice who presents them again.
	rememberCodes  = 24 * time.Hour
	rememberTokens = 30 * 24 * time.Hour
)

// Sweep removes what has been dead for long.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.deps.Clock.Now()
	for _, dead := range []struct {
		sql    string
		before time.Time
	}{
		{sqlSweepCodes, now.Add(-rememberCodes)},
		{sqlSweepRevoked, now.Add(-rememberTokens)},
		{sqlSweepSpent, now.Add(-rememberCodes)},
	} {
		if err := s.deps.DB.InBatches(ctx, sweepBatch, dead.sql, dead.before); err != nil {
			return fmt.Errorf("sweeping codes and tokens: %w", err)
		}
	}
	return nil
}
