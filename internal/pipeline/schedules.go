package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/jobqueue"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

// Schedule makes pipelines at set times, as its owner.
type Schedule struct {
	ID           int64
	ProjectID    int64
	OwnerID      *int64
	Description  string
	Ref          string // full name
	Cron         string
	CronTimezone string
	Active       bool
	NextRunAt    *time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

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

// ScheduleDraft is what somebody says of a schedule; nil leaves as it is.
type ScheduleDraft struct {
	Description, Ref, Cron, CronTimezone *string
	Active                               *bool
}

// apply changes a schedule and lists all that is wrong with it.
func (d ScheduleDraft) apply(sc *Schedule, now time.Time) error {
	for _, f := range []struct{ from, into *string }{
		{d.Description, &sc.Description}, {d.Ref, &sc.Ref}, {d.Cron, &sc.Cron}, {d.CronTimezone, &sc.CronTimezone},
	} {
		if f.from != nil {
			*f.into = *f.from
		}
	}
	if d.Active != nil {
		sc.Active = *d.Active
	}
	if sc.Ref != "" && !strings.HasPrefix(sc.Ref, "refs/") {
		sc.Ref = gitstore.Branches + sc.Ref
	}
	var f fault.Fields
	if n := utf8.RuneCountInString(sc.Description); n == 0 {
		f.Add("description", "can't be blank")
	} else if n > 255 {
		f.Add("description", "is too long (maximum is 255 characters)")
	}
	if sc.Ref == "" {
		f.Add("ref", "can't be blank")
	} else if len(sc.Ref) > 1024 {
		f.Add("ref", "is too long (maximum is 1024 characters)")
	}
	cron, err := ParseCron(sc.Cron)
	if err != nil {
		f.Add("cron", " is invalid syntax")
	}
	zone, zoneErr := time.LoadLocation(sc.CronTimezone)
	if zoneErr != nil || sc.CronTimezone == "" || sc.CronTimezone == "Local" {
		f.Add("cron_timezone", " is invalid syntax")
	}
	if err := f.Err(); err != nil {
		return err
	}
	sc.NextRunAt = nil
	if next, ok := cron.Next(now, zone); ok {
		sc.NextRunAt = &next
	}
	return nil
}

// mayScheduleOn refuses who may not run pipelines on the ref.
func (s *Service) mayScheduleOn(ctx context.Context, by access.Actor, p *project.Project, ref string) error {
	may, err := s.deps.Repositories.MayUpdateRef(ctx, by, p, shortRef(ref), strings.HasPrefix(ref, gitstore.Tags))
	if err == nil && !may {
		err = fault.New(fault.Forbidden)
	}
	return err
}

// CreateSchedule makes a schedule that the actor owns.
func (s *Service) CreateSchedule(ctx context.Context, by access.Actor, p *project.Project, d ScheduleDraft) (*Schedule, error) {
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
			return refused(fmt.Sprintf("Maximum number of pipeline schedules (%d) exceeded", maxSchedules))
		}
		sc.ID, err = postgres.Value[int64](ctx, tx, sqlInsertSchedule, sc.ProjectID, sc.OwnerID, sc.Description, sc.Ref, sc.Cron, sc.CronTimezone, sc.Active,
			sc.NextRunAt, sc.CreatedAt)
		return err
	})
	return sc, err
}

// FindSchedule reads a schedule of a project.
func (s *Service) FindSchedule(ctx context.Context, projectID, id int64) (*Schedule, error) {
	return foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlSchedule, projectID, id))
}

// Schedules reads one page of a project's schedules.
func (s *Service) Schedules(ctx context.Context, projectID int64, active *bool, req paging.Request) (paging.Result[Schedule], error) {
	l := postgres.From("pipeline_schedules").Columns(scheduleColumns).Where("project_id = ?", projectID).Order(postgres.Key{Expr: "id"})
	if active != nil {
		l.Where("active = ?", *active)
	}
	return paging.Fetch[Schedule](ctx, s.deps.DB, l, req, nil)
}

// owns refuses who may not change a schedule: its pipelines run as its owner.
func (sc *Schedule) owns(by access.Actor) error {
	if by.Admin() || (sc.OwnerID != nil && by.Is(*sc.OwnerID)) {
		return nil
	}
	return fault.New(fault.Forbidden)
}

// ChangeSchedule changes a schedule, for its owner and administrators.
func (s *Service) ChangeSchedule(ctx context.Context, by access.Actor, p *project.Project, id int64, d ScheduleDraft) (*Schedule, error) {
	sc, err := s.FindSchedule(ctx, p.ID, id)
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
	return foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlUpdateSchedule, sc.ID, sc.Description, sc.Ref, sc.Cron, sc.CronTimezone, sc.Active,
		sc.NextRunAt, s.deps.Clock.Now()))
}

// TakeSchedule makes the actor the owner of a schedule. What the former owner
// gave to its pipelines stays with the schedule, so only maintainers may.
func (s *Service) TakeSchedule(ctx context.Context, by access.Actor, p *project.Project, id int64) (*Schedule, error) {
	return foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlTakeSchedule, p.ID, id, by.ID(), s.deps.Clock.Now()))
}

// DeleteSchedule removes a schedule, for its owner, maintainers and
// administrators.
func (s *Service) DeleteSchedule(ctx context.Context, by access.Actor, p *project.Project, id int64) error {
	sc, err := s.FindSchedule(ctx, p.ID, id)
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

// PlaySchedule asks for a run now, as whoever asked.
func (s *Service) PlaySchedule(ctx context.Context, by access.Actor, p *project.Project, id int64) error {
	sc, err := s.FindSchedule(ctx, p.ID, id)
	if err != nil {
		return err
	}
	if err := s.mayScheduleOn(ctx, by, p, sc.Ref); err != nil {
		return err
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		return s.deps.Queue.Insert(ctx, tx, ScheduleArgs{ScheduleID: id, UserID: by.ID()}, jobqueue.Unique())
	})
}

func schedulePlace(scheduleID int64, key string) string {
	return fmt.Sprintf("pipeline_schedule_variables.value:%d:%s", scheduleID, key)
}

var (
	errNoVariable    = fault.NotFoundf("Variable")
	errVariableTaken = fault.Field("key", "has already been taken")
)

// SetScheduleVariable gives a schedule a variable, or changes one.
func (s *Service) SetScheduleVariable(ctx context.Context, by access.Actor, p *project.Project, id int64, v Variable, isNew bool) error {
	sc, err := s.FindSchedule(ctx, p.ID, id)
	if err != nil {
		return err
	}
	if err := sc.owns(by); err != nil {
		return err
	}
	if !keyForm.MatchString(v.Key) {
		return fault.Field("key", "can contain only letters, digits and '_'.")
	}
	if len(v.Value) > 65_536 {
		return fault.Field("value", "is too long (maximum is 65536 characters)")
	}
	sealed, err := s.deps.Box.Seal([]byte(v.Value), schedulePlace(id, v.Key))
	if err != nil {
		return err
	}
	sql := sqlUpdateScheduleVariable
	if isNew {
		sql = sqlInsertScheduleVariable
	}
	tag, err := s.deps.DB.Exec(ctx, sql, id, v.Key, sealed, v.File, v.Raw)
	if err == nil && tag.RowsAffected() == 0 {
		return errNoVariable
	}
	return postgres.Faults{"pipeline_schedule_variables_pkey": errVariableTaken}.Translate(err)
}

// RemoveScheduleVariable takes a variable from a schedule, and tells what it was.
func (s *Service) RemoveScheduleVariable(ctx context.Context, by access.Actor, p *project.Project, id int64, key string) (Variable, error) {
	sc, err := s.FindSchedule(ctx, p.ID, id)
	if err != nil {
		return Variable{}, err
	}
	if err := sc.owns(by); err != nil {
		return Variable{}, err
	}
	v, err := s.FindScheduleVariable(ctx, id, key)
	if err != nil {
		return Variable{}, err
	}
	_, err = s.deps.DB.Exec(ctx, sqlDeleteScheduleVariable, id, key)
	return v, err
}

// FindScheduleVariable reads a variable of a schedule.
func (s *Service) FindScheduleVariable(ctx context.Context, id int64, key string) (Variable, error) {
	vars, err := s.ScheduleVariables(ctx, id)
	if err != nil {
		return Variable{}, err
	}
	for _, v := range vars {
		if v.Key == key {
			return v, nil
		}
	}
	return Variable{}, errNoVariable
}

// ScheduleVariables reads what the pipelines of a schedule are given.
func (s *Service) ScheduleVariables(ctx context.Context, id int64) ([]Variable, error) {
	rows, err := postgres.All[variableRow](ctx, s.deps.DB, sqlScheduleVariables, id)
	if err != nil {
		return nil, err
	}
	var vars []Variable
	for _, r := range rows {
		value, err := s.deps.Box.Open(r.Value, schedulePlace(id, r.Key))
		if err != nil {
			return nil, fmt.Errorf("opening a variable of a schedule: %w", err)
		}
		vars = append(vars, Variable{Key: r.Key, Value: string(value), File: r.File, Raw: r.Raw})
	}
	return vars, nil
}

// giver is who gave a pipeline its variables: whoever made it, or the owner of the
// schedule that it or the first of its line came from, whoever played that;
// nobody once the schedule is gone.
func (s *Service) giver(ctx context.Context, pl *Pipeline) (*int64, error) {
	first := pl
	if pl.RootID != nil {
		var err error
		if first, err = s.ByID(ctx, s.deps.DB, *pl.RootID); err != nil {
			return nil, notFoundIsNil(err)
		}
	}
	switch {
	case first.Source != FromSchedule:
		return pl.UserID, nil
	case first.ScheduleID == nil:
		return nil, nil
	}
	sc, err := foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlScheduleByID, *first.ScheduleID))
	if err != nil {
		return nil, notFoundIsNil(err)
	}
	return sc.OwnerID, nil
}

// scheduleBatch is how many schedules one look at the clock starts.
const scheduleBatch = 1000

// Tick asks for the runs of schedules whose time has come, and sets their next.
func (s *Service) Tick(ctx context.Context) error {
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		now := s.deps.Clock.Now()
		due, err := postgres.All[Schedule](ctx, tx, sqlDueSchedules, now, scheduleBatch)
		if err != nil {
			return err
		}
		for _, sc := range due {
			var next *time.Time
			cron, err := ParseCron(sc.Cron)
			zone, zoneErr := time.LoadLocation(sc.CronTimezone)
			if err == nil && zoneErr == nil {
				if at, ok := cron.Next(now, zone); ok {
					next = &at
				}
			}
			if _, err := tx.Exec(ctx, sqlSetNextRun, sc.ID, next); err != nil {
				return err
			}
			if sc.OwnerID == nil {
				continue
			}
			if err := s.deps.Queue.Insert(ctx, tx, ScheduleArgs{ScheduleID: sc.ID, UserID: *sc.OwnerID}, jobqueue.Unique()); err != nil {
				return err
			}
		}
		return nil
	})
}

// FromSchedule makes the pipeline of a schedule, as somebody and with the rights
// they have now.
func (s *Service) FromSchedule(ctx context.Context, args ScheduleArgs) error {
	sc, err := foundSchedule(postgres.One[Schedule](ctx, s.deps.DB, sqlScheduleByID, args.ScheduleID))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	by, may, err := s.actorOf(ctx, &args.UserID)
	if err != nil || !may {
		return err
	}
	p, err := s.deps.Projects.Find(ctx, by, sc.ProjectID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	vars, err := s.ScheduleVariables(ctx, sc.ID)
	if err != nil {
		return err
	}
	_, err = s.Create(ctx, by, p, CreateRequest{Source: FromSchedule, Ref: sc.Ref, Variables: vars, ScheduleID: &sc.ID})
	if _, refused := fault.Of(err); refused {
		return nil // nobody waits for the answer
	}
	return err
}
