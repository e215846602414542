package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"stithy/db/migrations"
)

// migrationLock is the session advisory lock of whoever migrates a database: "stithy" in ASCII.
const migrationLock int64 = 0x737469746879

// Migrate brings the schema up to date: first ours, then the job queue's. Any number of processes may call it at once;
// one does the work and the others wait, as long as ctx allows. A schema newer than this program is left as it is.
//
// The lock belongs to a session, so the URL must not lead through a pooler that shares sessions.
func Migrate(ctx context.Context, url string) error {
	return migrate(ctx, url, func(pool *pgxpool.Pool) error {
		if err := applyFiles(ctx, pool, migrations.Files); err != nil {
			return err
		}
		return applyQueue(ctx, pool)
	})
}

func migrate(ctx context.Context, url string, apply func(*pgxpool.Pool) error) error {
	cfg, err := config(url)
	if err != nil {
		return err
	}
	cfg.MaxConns = 2 // one holds the lock, one does the work
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("opening connection pool: %w", err)
	}
	defer pool.Close() // ends the session, and with it the lock

	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connecting to migrate: %w", err)
	}
	defer conn.Release()
	if err := lock(ctx, conn); err != nil {
		return fmt.Errorf("waiting for the migration lock: %w", err)
	}
	return apply(pool)
}

// lock polls, because a session that blocks in pg_advisory_lock holds a snapshot, and a concurrent index build in the
// session that has the lock would wait for that snapshot for ever.
func lock(ctx context.Context, conn *pgxpool.Conn) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		locked, err := Value[bool](ctx, conn.Conn(), "select pg_try_advisory_lock($1)", migrationLock)
		if locked || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func applyFiles(ctx context.Context, pool *pgxpool.Pool, files fs.FS) error {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("reading migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	return nil
}

func applyQueue(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := queueMigrator(pool)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrating the job queue: %w", err)
	}
	return nil
}

// Pending returns how many migrations this program knows that the database has not had. It changes nothing.
func Pending(ctx context.Context, db *DB) (int, error) {
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("listing migrations: %w", err)
	}
	var known []int64
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return 0, fmt.Errorf("reading version of migration %s: %w", file, err)
		}
		known = append(known, version)
	}
	pending, err := missing(ctx, db, "select version_id from goose_db_version where is_applied", known)
	if err != nil {
		return 0, err
	}

	migrator, err := queueMigrator(db.pool)
	if err != nil {
		return 0, err
	}
	known = nil
	for _, migration := range migrator.AllVersions() {
		known = append(known, int64(migration.Version))
	}
	queuePending, err := missing(ctx, db, "select version from river_migration where line = 'main'", known)
	return pending + queuePending, err
}

func missing(ctx context.Context, db *DB, sql string, known []int64) (int, error) {
	applied, err := Values[int64](ctx, db, sql)
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "42P01" {
		return len(known), nil // no such table: nothing has been migrated yet
	}
	if err != nil {
		return 0, fmt.Errorf("listing applied migrations: %w", err)
	}
	known = slices.DeleteFunc(known, func(v int64) bool { return slices.Contains(applied, v) })
	return len(known), nil
}

func queueMigrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{
		Logger: slog.New(slog.DiscardHandler), // the default writes to standard output
	})
	if err != nil {
		return nil, fmt.Errorf("reading job queue migrations: %w", err)
	}
	return migrator, nil
}
