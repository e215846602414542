package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stithy/internal/gitstore"
	"stithy/internal/group/grouptest"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/project/projecttest"
)

// oneNode is a node with folders of its own.
type oneNode struct {
	cfg  *config.Config
	disk string // of its one storage
}

func newNode(t *testing.T) oneNode {
	t.Helper()
	dir := t.TempDir()
	cfg, err := config.Load("", []string{"STITHY_EXTERNAL_URL=https://forge.example", "STITHY_DATA_DIR=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	return oneNode{cfg, filepath.Join(dir, "repositories")}
}

// open starts the store of the node and closes it again.
func (m oneNode) open(ctx context.Context, db *postgres.DB) error {
	store, err := OpenStore(ctx, m.cfg, db, clock.System(), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return store.Close()
}

// openedStore is the store of a node with a database of its own.
func openedStore(t *testing.T, m oneNode) *gitstore.Store {
	t.Helper()
	store, err := OpenStore(t.Context(), m.cfg, postgrestest.New(t), clock.System(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func (m oneNode) mark(t *testing.T) string {
	t.Helper()
	mark, err := gitstore.ReadMark(m.disk)
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

func marksInDatabase(t *testing.T, db *postgres.DB) string {
	t.Helper()
	marks, err := postgres.Values[string](t.Context(), db, "select name || '=' || mark from storages order by name")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(marks, " ")
}

// DL-06: a storage that was there once is known, and an empty folder in its
// place is refused.
func TestDL06_AStorageThatIsNotMountedIsNotTakenForANewOne(t *testing.T) {
	t.Parallel()
	db, m := postgrestest.New(t), newNode(t)
	for range 2 {
		if err := m.open(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	away := m.disk + ".away"
	if err := os.Rename(m.disk, away); err != nil {
		t.Fatal(err)
	}
	for _, place := range []func() error{func() error { return nil }, func() error { return os.Mkdir(m.disk, 0o700) }} {
		if err := place(); err != nil {
			t.Fatal(err)
		}
		if err := m.open(t.Context(), db); !errors.Is(err, gitstore.ErrUnavailable) || !strings.Contains(err.Error(), "mount the disk") {
			t.Errorf("it is opened: %v", err)
		}
		if inside, err := os.ReadDir(m.disk); err == nil && len(inside) > 0 {
			t.Errorf("it is marked: %v", inside)
		}
	}
	if err := errors.Join(os.RemoveAll(m.disk), os.Rename(away, m.disk)); err != nil {
		t.Fatal(err)
	}
	if err := m.open(t.Context(), db); err != nil {
		t.Errorf("mounted again: %v", err)
	}
}

// DL-06: the database knows the disk, so a second node cannot begin a second
// set of repositories on a disk of its own.
func TestDL06_ANodeWithADiskOfItsOwnIsRefused(t *testing.T) {
	t.Parallel()
	db, first, second := postgrestest.New(t), newNode(t), newNode(t)
	if err := first.open(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := second.open(t.Context(), db); !errors.Is(err, gitstore.ErrUnavailable) || !strings.Contains(err.Error(), "shows no mark") {
		t.Errorf("an empty disk: %v", err)
	}
	if mark := second.mark(t); mark != "" {
		t.Errorf("it was marked %s", mark)
	}
	// The disk of another forge.
	if err := gitstore.WriteMark(second.disk, "another"); err != nil {
		t.Fatal(err)
	}
	if err := second.open(t.Context(), db); !errors.Is(err, gitstore.ErrUnavailable) || !strings.Contains(err.Error(), "shows the mark another") {
		t.Errorf("another disk: %v", err)
	}
	// The same disk under another path is the same storage.
	if err := errors.Join(os.RemoveAll(second.disk), os.Symlink(first.disk, second.disk)); err != nil {
		t.Fatal(err)
	}
	if err := second.open(t.Context(), db); err != nil {
		t.Errorf("the same disk: %v", err)
	}
}

// DL-06: of nodes that start at once on disks of their own one becomes the
// storage; those on one disk all do.
func TestDL06_OfTwoDisksThatStartAtOnceOneIsTheStorage(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		db := postgrestest.New(t)
		nodes := []oneNode{newNode(t), newNode(t), newNode(t)}
		errs := make([]error, len(nodes))
		var all sync.WaitGroup
		for i, m := range nodes {
			if shared {
				m.cfg.Storages[0].Path, nodes[i].disk = nodes[0].disk, nodes[0].disk
			}
			all.Go(func() { errs[i] = m.open(t.Context(), db) })
		}
		all.Wait()
		opened, known := 0, marksInDatabase(t, db)
		for i, err := range errs {
			switch {
			case err == nil:
				opened++
				if got := "default=" + nodes[i].mark(t); got != known {
					t.Errorf("the disk shows %s, the database knows %s", got, known)
				}
			case !errors.Is(err, gitstore.ErrUnavailable):
				t.Error(err)
			case nodes[i].mark(t) != "":
				t.Error("a disk that was refused is marked")
			}
		}
		if want := map[bool]int{false: 1, true: 3}[shared]; opened != want {
			t.Errorf("shared %v: %d of 3 opened: %v", shared, opened, errs)
		}
	}
}

// DL-06: who dies between the mark on the disk and the row starts again, and so
// does who dies while the mark is written.
func TestDL06_AStartThatWasCutOffIsTakenUp(t *testing.T) {
	t.Parallel()
	db, m := postgrestest.New(t), newNode(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.open(ctx, db); err == nil {
		t.Fatal("it started without a database")
	}
	if err := os.MkdirAll(m.disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.disk, ".stithy-storage.HALF"), []byte(`{"id`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.open(t.Context(), db); err != nil {
		t.Fatalf("half a mark stops the start: %v", err)
	}
	if _, err := db.Exec(t.Context(), "delete from storages"); err != nil {
		t.Fatal(err)
	}
	mark := m.mark(t)
	if err := m.open(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if got := marksInDatabase(t, db); got != "default="+mark {
		t.Errorf("the database knows %s, the disk shows %s", got, mark)
	}
}

// DL-06: an earlier release marked the disk and told no database. Its mark is
// taken over once; a disk that cannot be the right one is refused.
func TestDL06_TheMarkOfAnEarlierReleaseIsTakenOver(t *testing.T) {
	t.Parallel()
	db, m := postgrestest.New(t), newNode(t)
	p := projecttest.New(t, db, grouptest.New(t, db).ID)
	if _, err := db.Exec(t.Context(), "insert into repositories (project_id, storage, state, created_at) values ($1, 'default', 'ready', now())", p.ID); err != nil {
		t.Fatal(err)
	}
	if err := m.open(t.Context(), db); !errors.Is(err, gitstore.ErrUnavailable) || !strings.Contains(err.Error(), "knows repositories on it") {
		t.Errorf("an empty disk where repositories are known to be: %v", err)
	}
	if err := gitstore.WriteMark(m.disk, "other"); err != nil {
		t.Fatal(err)
	}
	remembered := filepath.Join(m.cfg.DataDir, "storages.json")
	if err := os.WriteFile(remembered, []byte(`{"default":"old"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.open(t.Context(), db); !errors.Is(err, gitstore.ErrUnavailable) || !strings.Contains(err.Error(), "knows the storage by old") {
		t.Errorf("another disk than the earlier release knew: %v", err)
	}
	if got := marksInDatabase(t, db); got != "" {
		t.Errorf("a refused disk became the storage: %s", got)
	}
	if err := errors.Join(os.RemoveAll(m.disk), gitstore.WriteMark(m.disk, "old")); err != nil {
		t.Fatal(err)
	}
	if err := m.open(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if got := marksInDatabase(t, db); got != "default=old" {
		t.Errorf("the database knows %q", got)
	}
	// From now on the database alone knows.
	if err := os.WriteFile(remembered, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.open(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// DL-06: a disk that goes while the node runs takes it out of service, and the
// probe says why.
func TestDL06_ReadinessFailsWhenADiskIsNoLongerTheStorage(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	look := func() string {
		i.disks.look()
		return i.do("GET", "/-/readiness?all=1", nil, nil).Body.String()
	}
	if got := look(); !strings.Contains(got, `"storage_check":[{"status":"ok"}]`) || !strings.Contains(got, `"status":"ok"}`) {
		t.Fatal(got)
	}
	disk := i.Config.Storages[0].Path
	if err := errors.Join(os.Rename(disk, disk+".away"), os.Mkdir(disk, 0o700)); err != nil {
		t.Fatal(err)
	}
	if got := look(); !strings.Contains(got, "storage default does not show the mark that it had") || !strings.Contains(got, `"status":"failed","storage_check"`) {
		t.Error(got)
	}
}
