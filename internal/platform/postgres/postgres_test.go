package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

var (
	_ postgres.Querier = (*postgres.DB)(nil)
	_ postgres.Querier = (pgx.Tx)(nil)
)

func TestConnectionsHaveTimeoutsUnlessTheURLSetsThem(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, query, want string }{
		{"defaults", "", "stithy 30s 1min 10s"},
		{"parameter", "statement_timeout=5s&application_name=other", "other 5s 1min 10s"},
		{"options", "options=-c%20lock_timeout%3D2s", "stithy 30s 1min 2s"},
		{"pooler without prepared statements", "default_query_exec_mode=simple_protocol", "stithy 30s 1min 10s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			u := *address
			u.RawQuery = strings.Trim(u.RawQuery+"&"+test.query, "&")
			db, err := postgres.Open(t.Context(), u.String(), 1)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(db.Close)
			got, err := postgres.Value[string](t.Context(), db, `select concat_ws(' ', current_setting('application_name'),
				current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'),
				current_setting('lock_timeout'))`)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAServerOfTheSameMachineIsSpokenToPlainlyUnlessTheURLSaysHow(t *testing.T) {
	t.Parallel()
	for url, encrypted := range map[string]bool{
		"postgres://127.0.0.1/x":                 false,
		"postgres://localhost/x":                 false,
		"postgres://[::1]/x":                     false,
		"postgres://127.0.0.1/x?sslmode=prefer":  true,
		"postgres://127.0.0.1/x?sslmode=require": true,
		"postgres://db.example/x":                true,
		"postgres://127.0.0.1,db.example/x":      true,
	} {
		db, err := postgres.Open(t.Context(), url, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := db.Pool().Config().ConnConfig.TLSConfig != nil; got != encrypted {
			t.Errorf("%s: first tried with TLS: %v", url, got)
		}
		db.Close()
	}
}

func TestABadURLIsRefusedWithoutShowingItsPassword(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "postgres://root:hunter2@127.0.0.1:port/db", 1)
	if err == nil {
		t.Fatal("accepted")
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Fatal(err)
	}
}

func TestAStatementInBatchesGoesOnUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := db.Exec(t.Context(), "create table things as select generate_series(1, 10) as id"); err != nil {
		t.Fatal(err)
	}
	const sql = "delete from things where id in (select id from things where id > $1 limit $2)"
	for _, want := range []int{4, 0} {
		args := make([]any, 1, 2) // with room that is the caller's
		args[0] = want
		if err := db.InBatches(t.Context(), 2, sql, args...); err != nil {
			t.Fatal(err)
		}
		if args[:2][1] != nil {
			t.Errorf("it wrote %v into the caller's arguments", args[:2][1])
		}
		left, err := postgres.Value[int](t.Context(), db, "select count(*) from things")
		if err != nil || left != want {
			t.Errorf("%d are left, want %d (%v)", left, want, err)
		}
	}
	if err := db.InBatches(t.Context(), 2, "delete from nothing where id > $1 limit $2", 0); err == nil {
		t.Error("a statement that fails is no error")
	}
}

func TestATransactionCommitsOnlyWhenItsFunctionSucceeds(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := db.Exec(t.Context(), "create table things (id int)"); err != nil {
		t.Fatal(err)
	}
	insert := func(tx pgx.Tx, id int) {
		if _, err := tx.Exec(t.Context(), "insert into things values ($1)", id); err != nil {
			t.Error(err)
		}
	}

	if err := db.InTx(t.Context(), func(tx pgx.Tx) error { insert(tx, 1); return nil }); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	if err := db.InTx(t.Context(), func(tx pgx.Tx) error { insert(tx, 2); return refused }); err != refused {
		t.Fatalf("got %v, want the error as it was", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = db.InTx(t.Context(), func(tx pgx.Tx) error { insert(tx, 3); panic("oops") })
	}()
	err := db.InTx(t.Context(), func(tx pgx.Tx) error {
		insert(tx, 4)
		_, _ = tx.Exec(t.Context(), "select 1/0")
		return nil
	})
	if !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Fatalf("a transaction that failed half way claims to be committed: %v", err)
	}

	got, err := postgres.Values[int](t.Context(), db, "select id from things order by id")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1}, got); diff != "" {
		t.Error(diff)
	}
	if n := db.Pool().Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections were not given back", n)
	}
}

type thing struct {
	ID   int
	Name string
}

func TestWhoIsInATransactionAndGoesBesideItIsTold(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgrestest.URL(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	told := 0
	db.Strict(func() { told++ })
	one := func(q postgres.Querier) {
		if _, err := q.Exec(t.Context(), `select 1`); err != nil {
			t.Error(err)
		}
	}
	one(db)
	err = db.InTx(t.Context(), func(tx pgx.Tx) error {
		one(tx)
		if told != 0 {
			t.Error("told of what is in order")
		}
		one(db)
		return nil
	})
	if one(db); err != nil || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
}

func TestRowsAreReadByColumnName(t *testing.T) {
	t.Parallel()
	tx := postgrestest.Tx(t)
	const two = "select * from (values ('a', 1), ('b', 2)) t (name, id) where id <= @max order by id"

	all, err := postgres.All[thing](t.Context(), tx, two, pgx.NamedArgs{"max": 2})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]thing{{1, "a"}, {2, "b"}}, all); diff != "" {
		t.Error(diff)
	}
	one, err := postgres.One[thing](t.Context(), tx, two, pgx.NamedArgs{"max": 1})
	if err != nil || one != (thing{1, "a"}) {
		t.Errorf("got %v, %v", one, err)
	}
	if _, err := postgres.One[thing](t.Context(), tx, two, pgx.NamedArgs{"max": 0}); !errors.Is(err, postgres.ErrNoRows) {
		t.Errorf("no row: got %v", err)
	}
	if _, err := postgres.One[thing](t.Context(), tx, two, pgx.NamedArgs{"max": 2}); !errors.Is(err, pgx.ErrTooManyRows) {
		t.Errorf("two rows: got %v", err)
	}
	if _, err := postgres.Value[int](t.Context(), tx, "select 1 where false"); !errors.Is(err, postgres.ErrNoRows) {
		t.Errorf("no value: got %v", err)
	}
}

func TestAColumnWithoutAFieldAndAFieldWithoutAColumnAreErrors(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{"select 1 as id, 'a' as name, true as extra", "select 1 as id"} {
		if _, err := postgres.One[thing](t.Context(), postgrestest.Tx(t), sql); err == nil {
			t.Errorf("%s: accepted", sql)
		}
	}
}
