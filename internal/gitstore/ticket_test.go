package gitstore

import (
	"os"
	"path/filepath"
	"testing"
)

func TestQuarantinesGoWhenNoPushIsAlive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tickets, left := filepath.Join(dir, "pushes"), filepath.Join(dir, "objects", "tmp_objdir-incoming-x")
	for _, d := range []string{tickets, left} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	there := func() bool { _, err := os.Stat(left); return err == nil }
	held, err := takeTicket(tickets)
	if err != nil {
		t.Fatal(err)
	}
	if sweepQuarantines(tickets); !there() {
		t.Fatal("that of a push that is alive is gone")
	}
	if err := held.file.Close(); err != nil { // as death does
		t.Fatal(err)
	}
	if sweepQuarantines(tickets); there() {
		t.Error("that of a dead push is still there")
	}
}
