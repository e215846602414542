package gitstore

import (
	"os"
	"path/filepath"
	"testing"
)

// Quarantined is the repository with an empty quarantine.
func Quarantined(t testing.TB, r *Repo) *Repo {
	t.Helper()
	const name = "tmp_objdir-test"
	if err := os.Mkdir(filepath.Join(r.dir(t), "objects", name), 0o700); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return r.In(Quarantine{dir: name})
}
