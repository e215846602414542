package postgres

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// shape is how the rows of a statement become structs of a type: where each column goes and how its bytes are read.
// Finding it out costs more than reading a few rows, so each connection remembers the shapes of its statements.
type shape struct {
	columns []column
}

type column struct {
	oid    uint32
	format int16
	field  []int
	plan   pgtype.ScanPlan
}

type shapeKey struct {
	sql  string
	into reflect.Type
}

// maxShapes is as many as there are statements that a connection keeps prepared.
const maxShapes = 512

// readStructs appends every row to a slice of structs whose fields match the columns by name, both ways. It is one function for all types: compiled for
// each, it would be a megabyte of the program.
func readStructs(rows pgx.Rows, sql string, slice any) error {
	defer rows.Close()
	all := reflect.ValueOf(slice).Elem()
	var s *shape
	for n := 0; rows.Next(); n++ {
		if s == nil {
			var err error
			if s, err = shapeOf(rows.Conn(), shapeKey{sql, all.Type().Elem()}, rows.FieldDescriptions()); err != nil {
				return err
			}
		}
		all.Grow(1)
		all.SetLen(n + 1)
		if err := s.read(rows, all.Index(n)); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readStruct reads the only row into a struct.
func readStruct(rows pgx.Rows, sql string, into any) error {
	defer rows.Close()
	if !rows.Next() {
		return cmp.Or(rows.Err(), ErrNoRows)
	}
	row := reflect.ValueOf(into).Elem()
	s, err := shapeOf(rows.Conn(), shapeKey{sql, row.Type()}, rows.FieldDescriptions())
	if err != nil {
		return err
	}
	if err := s.read(rows, row); err != nil {
		return err
	}
	if rows.Next() {
		return pgx.ErrTooManyRows
	}
	return rows.Err()
}

// read reads the row at which rows stand.
func (s *shape) read(rows pgx.Rows, into reflect.Value) error {
	raw := rows.RawValues()
	for i, c := range s.columns {
		if err := c.plan.Scan(raw[i], into.FieldByIndex(c.field).Addr().Interface()); err != nil {
			return fmt.Errorf("reading column %s: %w", rows.FieldDescriptions()[i].Name, err)
		}
	}
	return nil
}

func shapeOf(conn *pgx.Conn, key shapeKey, described []pgconn.FieldDescription) (*shape, error) {
	const name = "stithy: shapes of statements"
	custom := conn.PgConn().CustomData()
	shapes, _ := custom[name].(map[shapeKey]*shape)
	if s := shapes[key]; s != nil && s.fits(described) {
		return s, nil
	}
	s, err := newShape(conn.TypeMap(), key.into, described)
	if err != nil {
		return nil, err
	}
	if shapes == nil || len(shapes) >= maxShapes {
		shapes = map[shapeKey]*shape{}
		custom[name] = shapes
	}
	shapes[key] = s
	return s, nil
}

// fits reports whether the columns are still what they were: a migration may have changed one under its name.
func (s *shape) fits(described []pgconn.FieldDescription) bool {
	return slices.EqualFunc(s.columns, described, func(c column, d pgconn.FieldDescription) bool {
		return c.oid == d.DataTypeOID && c.format == d.Format
	})
}

func newShape(types *pgtype.Map, into reflect.Type, described []pgconn.FieldDescription) (*shape, error) {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(into) {
		if f.IsExported() && !f.Anonymous {
			fields[columnOf(f)] = f
		}
	}
	s := &shape{}
	for _, d := range described {
		name := plainName(d.Name)
		f, ok := fields[name]
		if !ok {
			return nil, fmt.Errorf("%s has no field for column %s", into, d.Name)
		}
		delete(fields, name)
		plan := types.PlanScan(d.DataTypeOID, d.Format, reflect.New(f.Type).Interface())
		s.columns = append(s.columns, column{oid: d.DataTypeOID, format: d.Format, field: f.Index, plan: plan})
	}
	for _, f := range fields {
		return nil, fmt.Errorf("no column for field %s of %s", f.Name, into)
	}
	return s, nil
}

// columnOf is the name of the column that a field is for: its tag, or its own name.
func columnOf(f reflect.StructField) string {
	if name, ok := f.Tag.Lookup("db"); ok {
		return plainName(name)
	}
	return plainName(f.Name)
}

// plainName makes created_at and CreatedAt the same.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
