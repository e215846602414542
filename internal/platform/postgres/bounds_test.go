package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

// uses are all ways to use a database.
func uses(db *postgres.DB) map[string]func(ctx context.Context) error {
	const sql = "select n from numbers"
	return map[string]func(ctx context.Context) error{
		"exec":  func(ctx context.Context) error { _, err := db.Exec(ctx, "update numbers set n = n"); return err },
		"query": func(ctx context.Context) error { _, err := postgres.Values[int64](ctx, db, sql); return err },
		"row":   func(ctx context.Context) error { var n int64; return db.QueryRow(ctx, sql).Scan(&n) },
		"batch": func(ctx context.Context) error {
			var got []int64
			b := &pgx.Batch{}
			postgres.QueueValues(b, &got, sql)
			return db.SendBatch(ctx, b).Close()
		},
		"copy": func(ctx context.Context) error {
			_, err := db.CopyFrom(ctx, pgx.Identifier{"numbers"}, []string{"n"}, pgx.CopyFromRows([][]any{{int64(7)}}))
			return err
		},
		"transaction": func(ctx context.Context) error {
			return db.InTx(ctx, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "update numbers set n = n"); return err })
		},
		"rows in a transaction": func(ctx context.Context) error {
			return db.InTx(ctx, func(tx pgx.Tx) error { _, err := postgres.Values[int64](ctx, tx, sql); return err })
		},
		"row in a transaction": func(ctx context.Context) error {
			return db.InTx(ctx, func(tx pgx.Tx) error { var n int64; return tx.QueryRow(ctx, sql).Scan(&n) })
		},
		"batch in a transaction": func(ctx context.Context) error {
			return db.InTx(ctx, func(tx pgx.Tx) error {
				var got []int64
				b := &pgx.Batch{}
				postgres.QueueValues(b, &got, sql)
				return tx.SendBatch(ctx, b).Close()
			})
		},
		"copy in a transaction": func(ctx context.Context) error {
			return db.InTx(ctx, func(tx pgx.Tx) error {
				_, err := tx.CopyFrom(ctx, pgx.Identifier{"numbers"}, []string{"n"}, pgx.CopyFromRows([][]any{{int64(7)}}))
				return err
			})
		},
	}
}

// overLine is a database with a table of numbers, over a line that can be cut.
func overLine(t *testing.T, conns int) (*postgres.DB, *postgrestest.Line) {
	t.Helper()
	line := postgrestest.NewLine(t, postgrestest.URL(t))
	db, err := postgres.Open(t.Context(), line.URL, conns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Down(); db.Close() })
	if _, err := db.Exec(t.Context(), "create table numbers (n bigint); insert into numbers values (1)"); err != nil {
		t.Fatal(err)
	}
	return db, line
}

// soon are limits that a test can wait for.
var soon = postgres.Limits{Connection: 300 * time.Millisecond, Statement: 300 * time.Millisecond, Transaction: 300 * time.Millisecond}

func free(t *testing.T, db *postgres.DB) {
	t.Helper()
	if n := db.Pool().Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections were not given back", n)
	}
}

func TestAllUsesGiveTheirConnectionBack(t *testing.T) {
	t.Parallel()
	db, _ := overLine(t, 1)
	for _, ctx := range []context.Context{t.Context(), postgres.Within(t.Context(), postgres.Limits{})} {
		for name, use := range uses(db) {
			if err := use(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			free(t, db)
		}
	}
	ctx := postgres.Within(t.Context(), postgres.Limits{})
	if err := db.QueryRow(ctx, "select n from numbers where false").Scan(new(int64)); !errors.Is(err, postgres.ErrNoRows) {
		t.Errorf("no row: %v", err)
	}
	if err := db.QueryRow(ctx, "select 'text'").Scan(new(int64)); err == nil {
		t.Error("text was read as a number")
	}
	if _, err := postgres.Value[int64](ctx, db, "select 'text'"); err == nil {
		t.Error("text was read as a number")
	}
	if rows, err := db.Query(ctx, "select nonsense"); err == nil {
		rows.Close()
		t.Error("nonsense was taken")
	}
	func() {
		defer func() { _ = recover() }()
		_ = db.InTx(ctx, func(pgx.Tx) error { panic("in a transaction") })
	}()
	free(t, db)
}

func TestAFrozenDatabaseIsGivenUp(t *testing.T) {
	t.Parallel()
	db, line := overLine(t, 4)
	for name, use := range uses(db) {
		line.Up()
		if err := use(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		line.Freeze()
		if err := use(postgres.Within(t.Context(), soon)); !postgres.Unavailable(err) || !errors.Is(err, postgres.ErrTimeout) {
			t.Errorf("%s: %v", name, err)
		}
		line.Down() // those that were given up are closed behind our back
	}
}

func TestADatabaseThatIsAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	db, line := overLine(t, 2)
	for name, use := range uses(db) {
		line.Up()
		if err := use(t.Context()); err != nil && !postgres.Unavailable(err) { // by a connection that was cut
			t.Fatalf("%s: %v", name, err)
		}
		line.Down()
		for range 3 { // the pool's connections first, then new ones
			if err := use(postgres.Within(t.Context(), postgres.Limits{})); !postgres.Unavailable(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestNobodyWaitsLongForAConnection(t *testing.T) {
	t.Parallel()
	db, _ := overLine(t, 1)
	err := db.InTx(t.Context(), func(pgx.Tx) error {
		for name, use := range uses(db) {
			if err := use(postgres.Within(t.Context(), soon)); !errors.Is(err, postgres.ErrTimeout) || !postgres.Unavailable(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestALockedTableIsUnavailable(t *testing.T) {
	t.Parallel()
	db, _ := overLine(t, 4)
	err := db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "lock table numbers in access exclusive mode"); err != nil {
			return err
		}
		for name, use := range uses(db) {
			if err := use(postgres.Within(t.Context(), soon)); !postgres.Unavailable(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// The server gives up by itself as well.
		err := db.InTx(t.Context(), func(other pgx.Tx) error {
			if _, err := other.Exec(t.Context(), "set local lock_timeout = '10ms'"); err != nil {
				t.Error(err)
			}
			_, err := other.Exec(t.Context(), "select from numbers")
			return err
		})
		if !postgres.Unavailable(err) || errors.Is(err, postgres.ErrTimeout) {
			t.Errorf("lock_timeout: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestALongTransactionEnds(t *testing.T) {
	t.Parallel()
	db, _ := overLine(t, 2)
	ctx := postgres.Within(t.Context(), postgres.Limits{Transaction: 300 * time.Millisecond})
	n := 0
	err := db.InTx(ctx, func(tx pgx.Tx) error {
		for ; n < 1000; n++ { // each is short
			if _, err := tx.Exec(ctx, "select pg_sleep(0.01)"); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, postgres.ErrTimeout) || n == 0 || n == 1000 {
		t.Errorf("%v after %d statements", err, n)
	}
	if _, err := db.Exec(postgres.Within(t.Context(), postgres.Limits{}), "select 1"); err != nil {
		t.Error(err)
	}
}

func TestAMistakeIsNotUnavailable(t *testing.T) {
	t.Parallel()
	db, _ := overLine(t, 1)
	gone, cancel := context.WithCancel(postgres.Within(t.Context(), postgres.Limits{}))
	cancel()
	_, syntax := db.Exec(t.Context(), "selec")
	_, left := db.Exec(gone, "select 1")
	_, none := postgres.Value[int64](t.Context(), db, "select n from numbers where false")
	fn := errors.New("the room's own")
	for name, err := range map[string]error{
		"syntax": syntax, "who asked has left": left, "no rows": none, "a room's own": db.InTx(t.Context(), func(pgx.Tx) error { return fn }),
		"somebody else's time is over": fmt.Errorf("calling: %w", context.DeadlineExceeded),
	} {
		if err == nil || postgres.Unavailable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := db.InTx(t.Context(), func(pgx.Tx) error { return fn }); err != fn {
		t.Errorf("the error of a transaction came back as %v", err)
	}
}

// The driver may keep the error of an interruption for the next to read, though the interrupted query ended well.
func TestAConnectionOnWhichAContextEndedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgrestest.URL(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	backend := func(ctx context.Context, read func()) (pid int) {
		rows, err := db.Query(ctx, "select pg_backend_pid() from generate_series(1, 3)")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			read()
			if err := rows.Scan(&pid); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	first := backend(t.Context(), func() {})
	if again := backend(t.Context(), func() {}); again != first {
		t.Errorf("a connection that nobody interrupted was not used again: %d, then %d", first, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if pid := backend(ctx, cancel); pid != first {
		t.Errorf("got %d, want %d", pid, first)
	}
	if next := backend(t.Context(), func() {}); next == first {
		t.Error("the connection was used again")
	}
}
