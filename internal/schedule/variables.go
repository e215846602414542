package schedule

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

func variablePlace(scheduleID int64, key string) string {
	return fmt.Sprintf("pipeline_schedule_variables.value:%d:%s", scheduleID, key)
}

var (
	errNoVariable    = fault.NotFoundf("Variable")
	errVariableTaken = fault.Field("key", "has already been taken")
)

// SetVariable gives a schedule a variable, or changes one.
func (s *Service) SetVariable(ctx context.Context, by access.Actor, p *project.Project, id int64, v pipeline.Variable, isNew bool) error {
	sc, err := s.Find(ctx, p.ID, id)
	if err != nil {
		return err
	}
	if err := sc.owns(by); err != nil {
		return err
	}
	if !pipeline.ValidKey(v.Key) {
		return fault.Field("key", "can contain only letters, digits and '_'.")
	}
	if len(v.Value) > 65_536 {
		return fault.Field("value", "is too long (maximum is 65536 characters)")
	}
	sealed, err := s.deps.Box.Seal([]byte(v.Value), variablePlace(id, v.Key))
	if err != nil {
		return err
	}
	sql := sqlUpdateScheduleVariable
	if isNew {
		sql = sqlInsertScheduleVariable
	}
	return s.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := checkRoom(ctx, tx, p.ID, id, v.Key, len(sealed)); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sql, id, v.Key, sealed, v.File, v.Raw)
		if err == nil && tag.RowsAffected() == 0 {
			return errNoVariable
		}
		return postgres.Faults{"pipeline_schedule_variables_pkey": errVariableTaken}.Translate(err)
	})
}

// Every pipeline of a schedule gets a copy of all its variables, and whoever looks at the schedule gets them in one answer.
const (
	maxVariables     = 1000
	maxVariableBytes = 1 << 20
)

// checkRoom refuses a variable that would be too many or too much beside the others of its schedule. Those of a project are counted by one at
// a time.
func checkRoom(ctx context.Context, tx pgx.Tx, projectID, id int64, key string, size int) error {
	if _, err := tx.Exec(ctx, sqlLockSchedules, projectID); err != nil {
		return err
	}
	others, err := postgres.One[struct {
		Count int
		Bytes int
	}](ctx, tx, sqlOtherVariables, id, key)
	switch {
	case err != nil:
		return err
	case others.Count >= maxVariables:
		return fault.Field("base", "Maximum number of variables of a schedule (%d) exceeded", maxVariables)
	case others.Bytes+size > maxVariableBytes:
		return fault.Field("base", "Variables of a schedule may have %d bytes together", maxVariableBytes)
	}
	return nil
}

// RemoveVariable takes a variable from a schedule, and tells what it was.
func (s *Service) RemoveVariable(
	ctx context.Context, by access.Actor, p *project.Project, id int64, key string,
) (pipeline.Variable, error) {
	sc, err := s.Find(ctx, p.ID, id)
	if err != nil {
		return pipeline.Variable{}, err
	}
	if err := sc.owns(by); err != nil {
		return pipeline.Variable{}, err
	}
	v, err := s.FindVariable(ctx, id, key)
	if err != nil {
		return pipeline.Variable{}, err
	}
	_, err = s.deps.DB.Exec(ctx, sqlDeleteScheduleVariable, id, key)
	return v, err
}

// FindVariable reads a variable of a schedule.
func (s *Service) FindVariable(ctx context.Context, id int64, key string) (pipeline.Variable, error) {
	vars, err := s.variables(ctx, id, sqlScheduleVariable, id, key)
	if err != nil {
		return pipeline.Variable{}, err
	}
	if len(vars) == 0 {
		return pipeline.Variable{}, errNoVariable
	}
	return vars[0], nil
}

// Variables reads what the pipelines of a schedule are given.
func (s *Service) Variables(ctx context.Context, id int64) ([]pipeline.Variable, error) {
	return s.variables(ctx, id, sqlScheduleVariables, id)
}

func (s *Service) variables(ctx context.Context, id int64, sql string, args ...any) ([]pipeline.Variable, error) {
	rows, err := postgres.All[struct {
		Key   string
		Value []byte
		File  bool
		Raw   bool
	}](ctx, s.deps.DB, sql, args...)
	if err != nil {
		return nil, err
	}
	var vars []pipeline.Variable
	for _, r := range rows {
		value, err := s.deps.Box.Open(r.Value, variablePlace(id, r.Key))
		if err != nil {
			return nil, fmt.Errorf("opening a variable of a schedule: %w", err)
		}
		vars = append(vars, pipeline.Variable{Key: r.Key, Value: string(value), File: r.File, Raw: r.Raw})
	}
	return vars, nil
}
