package postgrestest

import (
	"testing"

	"stithy/internal/platform/postgres"
)

// WaitForLock returns when a session of this database waits for another. A test may call it in a transaction: it asks on
// a connection of its own, as somebody else.
func WaitForLock(t testing.TB, db *postgres.DB) {
	t.Helper()
	done := make(chan error)
	go func() {
		waiting, err := false, error(nil)
		for !waiting && err == nil {
			waiting, err = postgres.Value[bool](t.Context(), db, `select exists (select 1 from pg_stat_activity
				where datname = current_database() and wait_event_type = 'Lock')`)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error("waiting for a lock:", err)
	}
}
