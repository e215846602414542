package schedule

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/wire"
	"stithy/internal/pipeline"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/deps"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/protection"
	"stithy/internal/token"
	"stithy/internal/user"
)

// Deps is what the room needs from below.
type Deps struct {
	DB         *postgres.DB
	Bus        *bus.Bus
	Queue      *jobqueue.Queue
	Box        *secretbox.Box
	Users      *user.Service
	Tokens     *token.Service
	Projects   *project.Service
	Protection *protection.Service
	Pipelines  *pipeline.Service
	Clock      clock.Clock
	Names      wire.Names
	JobTokens  JobTokens
}

// JobTokens is the room above that knows tokens of jobs.
type JobTokens interface {
	// Caller says which job a token is of, 0 for none, and whom it speaks for:
	// nobody unless the job runs.
	Caller(ctx context.Context, token string) (jobID int64, by access.Actor, err error)
}

// Service is the use cases of schedules and trigger tokens.
type Service struct{ deps Deps }

// New puts the room together.
func New(d Deps) *Service { return &Service{deps: deps.Complete(d)} }

// maxSchedules is how many a project may have.
const maxSchedules = 10

var errNoSchedule = fault.NotFoundf("Pipeline Schedule")

func foundSchedule(row Schedule, err error) (*Schedule, error) {
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, errNoSchedule
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// mayScheduleOn refuses who may not run pipelines on the ref.
func (s *Service) mayScheduleOn(ctx context.Context, by access.Actor, p *project.Project, ref string) error {
	may, err := s.deps.Protection.MayUpdateRef(ctx, by, p, gitstore.ShortRef(ref), strings.HasPrefix(ref, gitstore.Tags))
	if err == nil && !may {
		err = fault.New(fault.Forbidden)
	}
	return err
}

// Create makes a schedule that the actor owns.
func (s *Service) Create(ctx context.Context, by access.Actor, p *project.Project, d Draft) (*Schedule, error) {
	now := s.deps.Clock.Now()
	sc := &Schedule{ProjectID: p.ID, OwnerID: new(by.ID()), CronTimezone: "UTC", Active: true, CreatedAt: now, UpdatedAt: now}
	if err := d.apply(sc, now); err != nil {
		return nil, err
	}
	if err := s.mayScheduleOn(ctx, by, p, sc.Ref); err != nil {
		return nil, err
	}
	err := s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockSchedules, p.ID); err != nil {
			return err
		}
		n, err := postgres.Value[int](ctx, tx, sqlCountSchedules, p.ID)
		if err != nil {
			return err
		}
		if n >= maxSchedules {
			return fault.Field("base", "Maximum number of pipeline schedules (%d) exceeded", maxSchedules)
		}
		sc.ID, err = postgres.Value[int64](ctx, tx, sqlInsertSchedule, sc.ProjectID, sc.OwnerID, sc.Description, sc.Ref, sc.Cron,
			sc.CronTimezone, sc.Active, sc.NextRunAt, sc.CreatedAt)
		return err
	})
	return sc, err
}

// Find reads a schedule of a project.
func (s *Service) Find(ctx context.Context, projectID, id int64) (*Schedule, error) {
	return foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlSchedule, projectID, id))
}

// Owner says whose a schedule is; nobody's once it is gone.
func (s *Service) Owner(ctx context.Context, id int64) (*int64, error) {
	sc, err := foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlScheduleByID, id))
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sc.OwnerID, nil
}

// Change changes a schedule, for its owner and administrators.
func (s *Service) Change(ctx context.Context, by access.Actor, p *project.Project, id int64, d Draft) (*Schedule, error) {
	sc, err := s.Find(ctx, p.ID, id)
	if err != nil {
		return nil, err
	}
	if err := sc.owns(by); err != nil {
		return nil, err
	}
	if err := d.apply(sc, s.deps.Clock.Now()); err != nil {
		return nil, err
	}
	if err := s.mayScheduleOn(ctx, by, p, sc.Ref); err != nil {
		return nil, err
	}
	return foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlUpdateSchedule, sc.ID, sc.Description, sc.Ref, sc.Cron, sc.CronTimezone,
		sc.Active, sc.NextRunAt, s.deps.Clock.Now()))
}

// Take makes the actor the owner of a schedule. What the former owner gave to its
// pipelines stays with the schedule, so only maintainers may.
func (s *Service) Take(ctx context.Context, by access.Actor, p *project.Project, id int64) (sc *Schedule, err error) {
	err = s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if sc, err = foundSchedule(postgres.One[Schedule](ctx, tx, sqlTakeSchedule, p.ID, id, by.ID(), s.deps.Clock.Now())); err != nil {
			return err
		}
		return s.deps.Bus.Publish(ctx, tx, Event{Action: ScheduleTaken, By: by, In: p.Entity(), ID: sc.ID, Description: sc.Description})
	})
	return sc, err
}

// Delete removes a schedule, for its owner, maintainers and administrators.
func (s *Service) Delete(ctx context.Context, by access.Actor, p *project.Project, id int64) error {
	sc, err := s.Find(ctx, p.ID, id)
	if err != nil {
		return err
	}
	if p.Role < access.Maintainer {
		if err := sc.owns(by); err != nil {
			return err
		}
	}
	_, err = s.deps.DB.Exec(ctx, sqlDeleteSchedule, id)
	return err
}

// Play asks for a run now, as whoever asked.
func (s *Service) Play(ctx context.Context, by access.Actor, p *project.Project, id int64) error {
	sc, err := s.Find(ctx, p.ID, id)
	if err != nil {
		return err
	}
	if err := s.mayScheduleOn(ctx, by, p, sc.Ref); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		return s.deps.Queue.Insert(ctx, tx, RunArgs{ScheduleID: id, UserID: by.ID()}, jobqueue.Unique())
	})
}
