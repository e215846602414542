package schema_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
)

var update = flag.Bool("update", false, "write db/schema.sql")

func TestTheSchemaFileIsFresh(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pg_dump"); err != nil {
		t.Skip("pg_dump is not installed")
	}
	url := postgrestest.URL(t)
	removeQueue(t, url)
	dump, err := exec.CommandContext(t.Context(), "pg_dump", "--schema-only", "--no-owner", "--no-privileges",
		"--exclude-table=goose_db_version*", "--dbname="+url).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	got := "-- The schema that db/migrations make, for reading. Generated; do not edit.\n\n" + tidy(string(dump))

	path := filepath.Join("..", "..", "..", "db", "schema.sql")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("db/schema.sql is stale; run: go test ./internal/platform/schema -run TheSchemaFile -update\n%s", diff)
	}
}

// removeQueue takes the job queue's own tables away: they are not ours to read or change.
func removeQueue(t *testing.T, url string) {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(db.Pool()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(t.Context(), rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: -1}); err != nil {
		t.Fatal(err)
	}
}

// tidy removes what differs between releases of pg_dump and says nothing about the schema.
func tidy(dump string) string {
	noise := regexp.MustCompile(`(?m)^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n`)
	dump = noise.ReplaceAllString(dump, "")
	dump = regexp.MustCompile(`\n{3,}`).ReplaceAllString(dump, "\n\n")
	return strings.TrimSpace(dump) + "\n"
}
