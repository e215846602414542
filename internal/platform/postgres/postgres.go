// Package postgres is the door to PostgreSQL: the connection pool, explicit transactions, reading rows into structs,
// constraint names as errors, and the builder of filtered lists.
//
// It knows no table. SQL lives in the rooms, as constants; [List] is the only place where SQL text depends on input.
package postgres

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNoRows is what a query for one row returns when there is none.
var ErrNoRows = pgx.ErrNoRows

// Querier runs SQL. A *DB runs each statement on its own, a pgx.Tx inside its transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// DB is a pool of connections to one database.
type DB struct {
	pool   *pgxpool.Pool
	strict *strict // nil but in tests
}

// Open returns a pool of at most maxConns connections. Connections are made when they are needed, so an unreachable
// server shows at the first query or [DB.Ping].
//
// The URL may set any server parameter, and it may set default_query_exec_mode for a connection pooler that does not
// keep prepared statements.
func Open(ctx context.Context, url string, maxConns int) (*DB, error) {
	cfg, err := Config(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(maxConns)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening connection pool: %w", err)
	}
	return &DB{pool: pool}, nil
}

// Config is what every pool of ours is made of. What the URL says wins.
func Config(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("parsing database URL: %w", err)
	}
	plainOnLoopback(&cfg.ConnConfig.Config, url)
	useUninterrupted(cfg)
	cfg.MaxConnIdleTime = 5 * time.Minute // each idle connection costs the server several megabytes
	params := cfg.ConnConfig.RuntimeParams
	for name, value := range map[string]string{
		"application_name":                    "stithy",
		"statement_timeout":                   "30s",
		"idle_in_transaction_session_timeout": "60s",
		"lock_timeout":                        "10s",
		"jit":                                 "off", // compiling takes longer than any statement of ours may
		"synchronize_seqscans":                "off", // a list that takes the first rows of a table takes the same ones each time
	} {
		if _, set := params[name]; !set && !strings.Contains(params["options"], name) {
			params[name] = value
		}
	}
	return cfg, nil
}

// plainOnLoopback tries a server of the same machine without TLS first, unless the operator said which way: nobody is
// between, and to encrypt what both sides then decrypt on the same cores is a fifth of a small request.
func plainOnLoopback(cfg *pgconn.Config, url string) {
	address, err := netip.ParseAddr(cfg.Host)
	local := cfg.Host == "localhost" || (err == nil && address.IsLoopback())
	if !local || strings.Contains(url, "sslmode") || os.Getenv("PGSSLMODE") != "" || len(cfg.Fallbacks) != 1 || cfg.Fallbacks[0].TLSConfig != nil {
		return
	}
	cfg.TLSConfig, cfg.Fallbacks[0].TLSConfig = nil, cfg.TLSConfig
}

// Pool is for libraries that need the pool itself.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Ping reports whether the server answers.
func (db *DB) Ping(ctx context.Context) error { return db.pool.Ping(ctx) }

// Close waits for borrowed connections and closes them all.
func (db *DB) Close() { db.pool.Close() }

// One reads the only row of a query into a struct whose fields match the columns by name, both ways.
// It returns [ErrNoRows] when there is no row.
func One[T any](ctx context.Context, q Querier, sql string, args ...any) (T, error) {
	var row T
	rows, _ := q.Query(ctx, sql, args...) // the error comes back from reading
	err := readStruct(rows, sql, &row)
	return row, err
}

// All reads every row of a query into structs whose fields match the columns by name, both ways.
func All[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	all := []T{}
	rows, _ := q.Query(ctx, sql, args...)
	err := readStructs(rows, sql, &all)
	return all, err
}

// Value reads the only row of a query of one column. It returns [ErrNoRows] when there is no row.
func Value[T any](ctx context.Context, q Querier, sql string, args ...any) (T, error) {
	rows, _ := q.Query(ctx, sql, args...)
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
}

// Values reads every row of a query of one column.
func Values[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...)
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// Queue adds a query to a batch, whose rows are read into structs like those of [All] when the results are closed.
func Queue[T any](b *pgx.Batch, into *[]T, sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		*into = []T{}
		return readStructs(rows, sql, into)
	})
}

// QueueValues adds a query of one column to a batch.
func QueueValues[T any](b *pgx.Batch, into *[]T, sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowTo[T])
		return err
	})
}
