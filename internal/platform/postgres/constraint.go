package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// Constraint reports which constraint a statement violated: its name, or the column's name where a value must not be
// null. In a partitioned table, PostgreSQL names the unique index of the partition.
func Constraint(err error) (name string, ok bool) {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return "", false
	}
	switch pgErr.Code {
	case "23505", "23514", "23503", "23001", "23P01": // unique, check, foreign key, restrict, exclusion
		return pgErr.ConstraintName, true
	case "23502": // not null
		return pgErr.ColumnName, true
	}
	return "", false
}

// Faults says what the violation of each constraint means; it stands beside the query that can cause it.
type Faults map[string]error

// Translate returns the error for the constraint that err reports, or err itself.
func (f Faults) Translate(err error) error {
	if name, ok := Constraint(err); ok {
		if fault, known := f[name]; known {
			return fault
		}
	}
	return err
}
