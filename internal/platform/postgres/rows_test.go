package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

type part struct {
	MadeAt *time.Time
	URL    string `db:"web_url"`
}

type state string

type whole struct {
	part
	Part
	State  state
	Words  []state
	Parts  []Part
	Absent *int
}

// Part is embedded, so that its fields are those of the whole.
type Part struct {
	Size int64 `json:"size"`
}

func TestARowIsReadAsPgxReadsIt(t *testing.T) {
	t.Parallel()
	const sql = `select timestamptz '2024-01-02 03:04:05+01' as made_at, 'http://x' as web_url, 7::bigint as size, 'new' as state,
		array['a', 'b'] as words, '[{"size": 3}]'::jsonb as parts, null::int as absent`
	tx := postgrestest.Tx(t)
	rows, err := tx.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[whole])
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from memory
		got, err := postgres.One[whole](t.Context(), tx, sql)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(whole{})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNullDoesNotBecomeAValue(t *testing.T) {
	t.Parallel()
	_, err := postgres.One[thing](t.Context(), postgrestest.Tx(t), "select 1 as id, null::text as name")
	if err == nil {
		t.Error("null was read as a text")
	}
}

func TestAStatementOutlivesAChangeOfItsColumns(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	const sql = "select id, name from changing"
	for _, change := range []string{
		"create table changing (id int, name text); insert into changing values (1, 'a')",
		"alter table changing alter column id type bigint",
		"alter table changing rename id to old; alter table changing rename name to id; alter table changing rename old to name;" +
			"alter table changing alter column id type smallint using 1, alter column name type varchar using 'a'",
	} {
		if _, err := tx.Exec(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		// A statement that was prepared before would be refused; this one is not kept.
		got, err := postgres.One[thing](t.Context(), tx, sql, pgx.QueryExecModeExec)
		if err != nil || got != (thing{1, "a"}) {
			t.Errorf("after %s: got %v, %v", change, got, err)
		}
	}
}

func TestOneTextMayFillSeveralTypes(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	type other struct {
		Name string
		ID   int64
	}
	const sql = "select 1 as id, 'a' as name"
	for range 2 {
		one, err := postgres.One[thing](t.Context(), tx, sql)
		if err != nil || one != (thing{1, "a"}) {
			t.Errorf("got %v, %v", one, err)
		}
		two, err := postgres.One[other](t.Context(), tx, sql)
		if err != nil || two != (other{"a", 1}) {
			t.Errorf("got %v, %v", two, err)
		}
	}
}

func TestManyStatementsAreReadOnOneConnection(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	for i := range 1100 { // more than are remembered
		got, err := postgres.One[thing](t.Context(), tx, fmt.Sprintf("select %d as id, 'a' as name", i))
		if err != nil || got.ID != i {
			t.Fatalf("%d: got %v, %v", i, got, err)
		}
	}
}
