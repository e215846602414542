package notification

import (
	"context"
	"time"

	"stithy/internal/platform/jobqueue"
)

// SpreadArgs asks to find the people who are to be mailed about something.
type SpreadArgs struct {
	EventID int64 `json:"event_id"`
	ByID    int64 `json:"by_id,omitempty"` // who caused it
}

// Kind names the job.
func (SpreadArgs) Kind() string { return "notification_spread" }

// Apart sets the job apart: there may be one for each comment of a busy day. What one person causes leaves workers to others.
func (a SpreadArgs) Apart() (queue string, share int64) { return jobqueue.Mails, a.ByID }

// MailArgs asks to send a person what waits for them of a thread.
type MailArgs struct {
	UserID   int64  `json:"user_id"`
	Thread   thread `json:"thread"`
	ThreadID int64  `json:"thread_id"`
}

// Kind names the job.
func (MailArgs) Kind() string { return "notification_mail" }

// Apart sets the job apart: the mail server decides how long it takes.
func (MailArgs) Apart() (queue string, share int64) { return jobqueue.Mails, 0 }

// SweepArgs asks to give up what waits for too long and to forget what failed long ago.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "notification_sweep" }

// RemindArgs asks to remind people of what is due tomorrow and of what expires within a week.
type RemindArgs struct{}

// Kind names the job.
func (RemindArgs) Kind() string { return "notification_remind" }

// sendTimeout is how long a job may take to write and send mails. It is shorter than lease: a job that has rows is over before another takes them.
const sendTimeout = 2 * time.Minute

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.Spread)
	jobqueue.Register(r, s.SpreadAlerts)
	jobqueue.RegisterTimeout(r, sendTimeout, s.Send)
	jobqueue.Register(r, func(ctx context.Context, _ SweepArgs) error { return s.Sweep(ctx) })
	r.Every(24*time.Hour, SweepArgs{})
	jobqueue.RegisterTimeout(r, remindTimeout, func(ctx context.Context, _ RemindArgs) error { return s.Remind(ctx) })
	r.Every(24*time.Hour, RemindArgs{})
}

const (
	sweepBatch = 1_000
	keepFailed = 30 * 24 * time.Hour
	keepCounts = 24 * time.Hour

	remindTimeout = time.Hour
)

// Sweep marks as failed what no job sent for too long, and deletes what failed long ago, and what was counted or reminded of on days before.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.deps.Clock.Now()
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{sqlGiveUp, []any{now.Add(-2 * patience), now}},
		{sqlForgetFailed, []any{now.Add(-keepFailed)}},
		{sqlForgetCounts, []any{now.Add(-keepCounts)}},
		{sqlForgetAuthors, []any{now.Add(-keepCounts)}},
		{sqlForgetReminders, []any{now.UTC()}},
	} {
		if err := s.deps.DB.InBatches(ctx, sweepBatch, step.sql, step.args...); err != nil {
			return err
		}
	}
	return nil
}
