package schema

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
)

const MigrationLock = migrationLock

// MigrateFiles migrates with other files than the embedded ones.
func MigrateFiles(ctx context.Context, url string, files fs.FS) error {
	return migrate(ctx, url, func(pool *pgxpool.Pool) error { _, err := applyFiles(ctx, pool, files); return err })
}
