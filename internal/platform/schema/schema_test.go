package schema_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"stithy/db/migrations"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/schema"
)

// emptyDatabase is one that has never been migrated.
func emptyDatabase(t *testing.T) (url string, db *postgres.DB) {
	t.Helper()
	url = postgrestest.URL(t)
	db, err := postgres.Open(t.Context(), url, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if _, err := db.Exec(t.Context(), "drop schema public cascade"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), "create schema public"); err != nil {
		t.Fatal(err)
	}
	return url, db
}

func TestConcurrentMigrationsOfAFreshDatabaseAllSucceed(t *testing.T) {
	t.Parallel()
	url, db := emptyDatabase(t)
	before, err := schema.Pending(t.Context(), db)
	if before == 0 || err != nil {
		t.Fatalf("pending before: %d, %v", before, err)
	}

	group, ctx := errgroup.WithContext(t.Context())
	for range 3 {
		group.Go(func() error { _, err := schema.Migrate(ctx, url); return err })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if after, err := schema.Pending(t.Context(), db); after != 0 || err != nil {
		t.Fatalf("pending after: %d, %v", after, err)
	}
}

func TestLookingForPendingMigrationsChangesNothing(t *testing.T) {
	t.Parallel()
	_, db := emptyDatabase(t)
	if _, err := schema.Pending(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	tables, err := postgres.Values[string](t.Context(), db, "select tablename::text from pg_tables where schemaname = 'public'")
	if len(tables) != 0 || err != nil {
		t.Fatalf("tables: %v, %v", tables, err)
	}
}

func TestASchemaFromTheFutureIsLeftAlone(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	db, err := postgres.Open(t.Context(), url, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for _, sql := range []string{
		"insert into goose_db_version (version_id, is_applied) values (99999, true)",
		"insert into river_migration (line, version) values ('main', 99999)",
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := schema.Migrate(t.Context(), url); err != nil {
		t.Error(err)
	}
	if n, err := schema.Pending(t.Context(), db); n != 0 || err != nil {
		t.Errorf("pending: %d, %v", n, err)
	}
}

func TestAFailedMigrationLeavesNothingBehindAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	url, db := emptyDatabase(t)
	files := fstest.MapFS{
		"00001_good.sql": {Data: []byte("-- +goose Up\ncreate table good (id int);")},
		"00002_bad.sql":  {Data: []byte("-- +goose Up\ncreate table half (id int);\nselect 1/0;")},
	}
	if err := schema.MigrateFiles(t.Context(), url, files); err == nil {
		t.Fatal("no error")
	}
	if _, err := db.Exec(t.Context(), "select from good where not exists (select from pg_tables where tablename = 'half')"); err != nil {
		t.Fatal(err)
	}
	files["00002_bad.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\ncreate table half (id int);")}
	if err := schema.MigrateFiles(t.Context(), url, files); err != nil {
		t.Fatal(err)
	}
}

// With a lock that blocks in the server, the second process would hold the snapshot that the index build waits for.
func TestAnIndexIsBuiltConcurrentlyWhileAnotherProcessWaitsToMigrate(t *testing.T) {
	t.Parallel()
	url, db := emptyDatabase(t)
	files := fstest.MapFS{
		"00001_table.sql": {Data: []byte("-- +goose Up\ncreate table things (name text);")},
		"00002_index.sql": {Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\nset lock_timeout = 0;\n" +
			"drop index concurrently if exists things_name_idx;\n" +
			"create index concurrently things_name_idx on things (name);\nreset lock_timeout;")},
	}
	group, ctx := errgroup.WithContext(t.Context())
	for range 3 {
		group.Go(func() error { return schema.MigrateFiles(ctx, url, files) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	valid, err := postgres.Value[bool](t.Context(), db, "select indisvalid from pg_index where indexrelid = 'things_name_idx'::regclass")
	if !valid || err != nil {
		t.Fatalf("valid: %t, %v", valid, err)
	}
}

func TestWaitingForTheMigrationLockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	holder, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Close(context.Background()) })
	if _, err := holder.Exec(t.Context(), "select pg_advisory_lock($1)", schema.MigrationLock); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	// Where the time is over while something is sent, the connection says so.
	if _, err := schema.Migrate(ctx, url); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestMigrationsGoOnlyForwards(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(migrations.Files, file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(text)), "+goose down") {
			t.Errorf("%s has a Down section", file)
		}
	}
}
