package gitstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stithy/internal/platform/clock"
)

// openAt opens a store with one storage "default" in a new directory.
func openAt(t testing.TB, change func(*Config)) *Store {
	t.Helper()
	c := Config{Storages: []Storage{{Name: "default", Root: filepath.Join(t.TempDir(), "disk")}}, Clock: clock.System()}
	if change != nil {
		change(&c)
	}
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// newRepo is an empty repository.
func newRepo(t testing.TB, s *Store, id int64) *Repo {
	t.Helper()
	r := s.Repo(KeyOf("default", id, 0))
	if err := r.Create(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Repo) dir(t testing.TB) string {
	t.Helper()
	_, dir, err := r.place()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestARepositoryIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := openAt(t, nil)
	r := s.Repo(KeyOf("default", 7, 0))
	if there, err := r.Exists(t.Context()); there || err != nil {
		t.Fatal(there, err)
	}
	for range 2 {
		if err := r.Create(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		if there, err := r.Exists(t.Context()); !there || err != nil {
			t.Fatal(there, err)
		}
	}
	out, err := r.output(t.Context(), call{sub: "fsck", flags: []string{"--full"}}, 1000)
	if err != nil || len(out) != 0 {
		t.Errorf("fsck: %s %v", out, err)
	}
	left, err := os.ReadDir(filepath.Join(s.Storages[0].Root, tmpDir))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestCreateTakesNoHostileNames(t *testing.T) {
	t.Parallel()
	s := openAt(t, nil)
	for _, head := range []string{"", "-x", "a..b", "../../etc/passwd", "a\nb", "a\x00b", "a b", "--upload-pack=touch x", "HEAD"} {
		if err := s.Repo(KeyOf("default", 1, 0)).Create(t.Context(), head); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", head, err)
		}
	}
	for _, path := range []string{"", "../x.git", "/etc", "@hashed/../../x.git", "@hashed/aa/bb/cc.git", "@tmp"} {
		if err := s.Repo(Key{"default", path}).Create(t.Context(), "main"); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := s.Repo(KeyOf("other", 1, 0)).Create(t.Context(), "main"); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

func TestDL06_AStorageIsKnownByItsMark(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "disk")
	s := openAt(t, func(c *Config) { c.Storages[0].Root = root })
	id, err := s.Identity("default")
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	r := newRepo(t, s, 1)

	link := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Storages: []Storage{{Name: "a", Root: root}, {Name: "b", Root: link}}})
	if err == nil || !strings.Contains(err.Error(), "same place") {
		t.Errorf("an alias was taken: %v", err)
	}
	_, err = Open(t.Context(), Config{Storages: []Storage{{Name: "a", Root: root, Identity: "another"}}})
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("another disk was taken: %v", err)
	}

	// The disk is unmounted while the server runs: what was there is unavailable, not absent.
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if there, err := r.Exists(t.Context()); there || !errors.Is(err, ErrUnavailable) {
		t.Errorf("an unmounted disk answers %v, %v", there, err)
	}
	if err := s.Repo(KeyOf("default", 2, 0)).Create(t.Context(), "main"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a repository was made on an unmounted disk: %v", err)
	}
	// A server that knows the disk does not start on an empty mount point, and none starts on one with other things in it.
	if _, err := Open(t.Context(), Config{Storages: []Storage{{Name: "a", Root: root, Identity: id}}}); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(root, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Storages: []Storage{{Name: "a", Root: root}}}); err == nil {
		t.Error("a directory with strange files was taken for a storage")
	}
}

func TestGI08_AnOldGitIsRefused(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"git version 2.39.5":           true,
		"git version 2.39.4":           true,
		"git version 2.39.3":           false,
		"git version 2.38.9":           false,
		"git version 2.40.1":           false,
		"git version 2.40.2.dirty":     true,
		"git version 2.45.0":           false,
		"git version 2.46.0":           true,
		"git version 2.50.1 (Apple 1)": true,
		"git version 2.47.GIT":         true,
		"git version 3.0.0":            true,
		"git version 1.9.9":            false,
		"":                             false,
		"hub version 2.39.5":           false,
		"git version -1.2":             false,
	} {
		if err := checkVersion(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAStorageThatCannotBeWrittenToIsReported(t *testing.T) {
	t.Parallel()
	s := openAt(t, func(*Config) {})
	for name, err := range s.Check() {
		if err != nil {
			t.Errorf("storage %s: %v", name, err)
		}
		s.storages[name].failed.Store(true)
	}
	for name, err := range s.Check() {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("storage %s had a disk error: %v", name, err)
		}
	}
}
