// Package schema brings the database's schema up to date and says what it lacks.
//
// It stands apart from platform/postgres, because the migrations are part of it: what only asks the database is not compiled
// anew when one is added.
package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"stithy/db/migrations"
	"stithy/internal/platform/postgres"
)

// migrationLock is the session advisory lock of whoever migrates a database: "stithy" in ASCII.
const migrationLock int64 = 0x737469746879

// Migrate brings the schema up to date: first ours, then the job queue's. Any number of processes may call it at once;
// one does the work and the others wait, as long as ctx allows. A schema newer than this program is left as it is.
//
// applied names what this call did, also where a later step failed.
//
// The lock belongs to a session, so the URL must not lead through a pooler that shares sessions.
func Migrate(ctx context.Context, url string) (applied []string, err error) {
	err = migrate(ctx, url, func(pool *pgxpool.Pool) error {
		if applied, err = applyFiles(ctx, pool, migrations.Files); err != nil {
			return err
		}
		ofQueue, err := applyQueue(ctx, pool)
		applied = append(applied, ofQueue...)
		return err
	})
	return applied, err
}

func migrate(ctx context.Context, url string, apply func(*pgxpool.Pool) error) error {
	cfg, err := postgres.Config(url)
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
		locked, err := postgres.Value[bool](ctx, conn.Conn(), "select pg_try_advisory_lock($1)", migrationLock)
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

func applyFiles(ctx context.Context, pool *pgxpool.Pool, files fs.FS) (applied []string, err error) {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("reading migrations: %w", err)
	}
	results, err := provider.Up(ctx)
	if partial, ok := errors.AsType[*goose.PartialError](err); ok {
		results = partial.Applied
	}
	for _, r := range results {
		applied = append(applied, strings.TrimSuffix(path.Base(r.Source.Path), ".sql"))
	}
	if err != nil {
		return applied, fmt.Errorf("migrating: %w", err)
	}
	return applied, nil
}

func applyQueue(ctx context.Context, pool *pgxpool.Pool) (applied []string, err error) {
	migrator, err := queueMigrator(pool)
	if err != nil {
		return nil, err
	}
	result, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return nil, fmt.Errorf("migrating the job queue: %w", err)
	}
	for _, v := range result.Versions {
		applied = append(applied, fmt.Sprintf("version %d of the job queue", v.Version))
	}
	return applied, nil
}

// Status is which migrations this program knows and which of them a database has had.
type Status struct {
	Known   []int64 // of ours, in order
	Applied []int64 // the same
	queue   int     // how many the job queue lacks
}

// Missing are the versions of ours that are to come, in order.
func (s Status) Missing() []int64 {
	return slices.DeleteFunc(slices.Clone(s.Known), func(v int64) bool { return slices.Contains(s.Applied, v) })
}

// Pending is how many migrations are to come, those of the job queue among them.
func (s Status) Pending() int { return len(s.Missing()) + s.queue }

// Newest is the newest version that was applied, 0 for none.
func (s Status) Newest() int64 {
	if len(s.Applied) == 0 {
		return 0
	}
	return s.Applied[len(s.Applied)-1]
}

// Versions reads what the database has had. It changes nothing.
func Versions(ctx context.Context, db *postgres.DB) (Status, error) {
	var s Status
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return s, fmt.Errorf("listing migrations: %w", err)
	}
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return s, fmt.Errorf("reading version of migration %s: %w", file, err)
		}
		s.Known = append(s.Known, version)
	}
	if s.Applied, err = applied(ctx, db, "select version_id from goose_db_version where is_applied and version_id > 0 order by 1"); err != nil {
		return s, err
	}
	migrator, err := queueMigrator(db.Pool())
	if err != nil {
		return s, err
	}
	done, err := applied(ctx, db, "select version from river_migration where line = 'main' order by 1")
	for _, migration := range migrator.AllVersions() {
		if !slices.Contains(done, int64(migration.Version)) {
			s.queue++
		}
	}
	return s, err
}

// Pending returns how many migrations this program knows that the database has not had. It changes nothing.
func Pending(ctx context.Context, db *postgres.DB) (int, error) {
	s, err := Versions(ctx, db)
	return s.Pending(), err
}

func applied(ctx context.Context, db *postgres.DB, sql string) ([]int64, error) {
	versions, err := postgres.Values[int64](ctx, db, sql)
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "42P01" {
		return nil, nil // no such table: nothing has been migrated yet
	}
	if err != nil {
		return nil, fmt.Errorf("listing applied migrations: %w", err)
	}
	return versions, nil
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
