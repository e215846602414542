package schedule

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
)

// RunArgs names a schedule that is to run, and as whom.
type RunArgs struct {
	ScheduleID int64 `json:"schedule_id"`
	UserID     int64 `json:"user_id"`
}

// Kind names the job.
func (RunArgs) Kind() string { return "pipeline_schedule" }

// Apart shares the reading of configurations by person.
func (a RunArgs) Apart() (queue string, share int64) { return jobqueue.Pipelines, a.UserID }

// TickArgs asks for a look at the clock.
type TickArgs struct{}

// Kind names the job.
func (TickArgs) Kind() string { return "pipeline_schedule_tick" }

// Register adds the room's workers.
func (s *Service) Register(r *jobqueue.Registry) {
	jobqueue.Register(r, s.Run)
	jobqueue.Register(r, func(ctx context.Context, _ TickArgs) error { return s.Tick(ctx) })
	r.Every(30*time.Second, TickArgs{})
}

const (
	tickBatch = 1000 // schedules that one look at the clock starts
	tickShare = 20   // of them those of one owner
)

// Tick asks for the runs of schedules whose time has come, and sets their next.
func (s *Service) Tick(ctx context.Context) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		now := s.deps.Clock.Now()
		due, err := postgres.All[Schedule](ctx, tx, sqlDueSchedules, now, tickBatch, tickShare)
		if err != nil {
			return err
		}
		for _, sc := range due {
			var next *time.Time
			when, err := parseCron(sc.Cron)
			zone, zoneErr := time.LoadLocation(sc.CronTimezone)
			if err == nil && zoneErr == nil {
				if at, ok := when.next(now, zone); ok {
					next = &at
				}
			}
			if _, err := tx.Exec(ctx, sqlSetNextRun, sc.ID, next); err != nil {
				return err
			}
			if sc.OwnerID == nil {
				continue
			}
			if err := s.deps.Queue.Insert(ctx, tx, RunArgs{ScheduleID: sc.ID, UserID: *sc.OwnerID}, jobqueue.Unique()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Run makes the pipeline of a schedule, as somebody and with the rights they have
// now.
func (s *Service) Run(ctx context.Context, args RunArgs) error {
	sc, err := foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlScheduleByID, args.ScheduleID))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	by, err := s.deps.Tokens.Later(ctx, args.UserID)
	if _, refused := fault.Of(err); refused {
		return nil // who is kept out acts no more
	}
	if err != nil {
		return err
	}
	p, err := s.deps.Projects.Find(ctx, by, sc.ProjectID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	vars, err := s.Variables(ctx, sc.ID)
	if err != nil {
		return err
	}
	_, err = s.deps.Pipelines.Create(ctx, by, p, pipeline.CreateRequest{
		Source: pipeline.FromSchedule, Ref: sc.Ref, Variables: vars, ScheduleID: &sc.ID,
	})
	if _, refused := fault.Of(err); refused {
		return nil // nobody waits for the answer
	}
	return err
}
