package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
)

func (m oneNode) openBlobs(ctx context.Context, db *postgres.DB) error {
	_, err := OpenBlobs(ctx, m.cfg, db, clock.System())
	return err
}

func (m oneNode) blobs() string { return filepath.Join(m.cfg.DataDir, "blobs") }

func isRefused(err error, words string) bool {
	return errors.Is(err, blob.ErrUnavailable) && strings.Contains(err.Error(), words)
}

// DL-06: a folder of blobs that was there once is known, and another in its
// place is refused, at the start and in doctor.
func TestDL06_AFolderOfBlobsThatIsNotMountedIsNotTakenForANewOne(t *testing.T) {
	t.Parallel()
	db, m := postgrestest.New(t), newNode(t)
	for range 2 {
		if err := m.openBlobs(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	away := m.blobs() + ".away"
	if err := os.Rename(m.blobs(), away); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time the folder is there, empty
		if err := m.openBlobs(t.Context(), db); !isRefused(err, "it shows no mark") {
			t.Errorf("it is opened: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(m.blobs(), ".mark"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.openBlobs(t.Context(), db); !isRefused(err, "it shows the mark another") {
		t.Errorf("that of another forge is opened: %v", err)
	}
	if err := errors.Join(os.RemoveAll(m.blobs()), os.Rename(away, m.blobs())); err != nil {
		t.Fatal(err)
	}
	if err := m.openBlobs(t.Context(), db); err != nil {
		t.Errorf("mounted again: %v", err)
	}
	if second := newNode(t); !isRefused(second.openBlobs(t.Context(), db), "it shows no mark") {
		t.Error("a second node keeps blobs of its own")
	}
}

// An earlier release marked nothing: a folder with blobs is the one, an empty
// one is where the database knows none.
func TestDL06_AnEmptyFolderIsNotTakenWhereBlobsAreKnown(t *testing.T) {
	t.Parallel()
	for what, sql := range map[string]string{
		"large files": `insert into lfs_objects (oid, size, created_at) values (repeat('a', 64), 1, now())`,
		"artifacts": `insert into job_artifacts (project_id, job_id, state, file_type, file_format, filename, blob_key, created_at, updated_at)
			values (1, 1, 'removing', 'archive', 'zip', 'a', 'a', now(), now())`,
		"logs": `insert into job_logs (job_id, project_id, archived_at, created_at, updated_at) values (1, 1, now(), now(), now())`,
		"uploads": `insert into uploads (project_id, state, digest, sha256, filename, blob_key, created_at, updated_at)
			values (1, 'stored', sha256(''), sha256(''), 'a', 'a', now(), now())`,
	} {
		db, m := postgrestest.New(t), newNode(t)
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(what, err)
		}
		if err := m.openBlobs(t.Context(), db); !isRefused(err, "it is empty") {
			t.Errorf("%s: it is opened: %v", what, err)
		}
		if _, err := os.Stat(filepath.Join(m.blobs(), ".mark")); err == nil {
			t.Errorf("%s: it is marked", what)
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(m.blobs(), "lfs"), 0o700), os.WriteFile(filepath.Join(m.blobs(), "lfs", "a"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := m.openBlobs(t.Context(), db); err != nil {
			t.Errorf("%s: with blobs: %v", what, err)
		}
	}
	// What is gone or going is no reason.
	db, m := postgrestest.New(t), newNode(t)
	if _, err := db.Exec(t.Context(), `insert into job_logs (job_id, project_id, erased_at, archived_at, created_at, updated_at) values (1, 1, now(), now(), now(), now())`); err != nil {
		t.Fatal(err)
	}
	if err := m.openBlobs(t.Context(), db); err != nil {
		t.Errorf("with a log that was erased: %v", err)
	}
}

// A word that somebody wrote to it says that a folder is to be taken.
func TestDL06_AFolderKeepsTheMarkThatItHas(t *testing.T) {
	t.Parallel()
	db, m := postgrestest.New(t), newNode(t)
	mark := filepath.Join(m.blobs(), ".mark")
	if err := os.MkdirAll(mark, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := m.openBlobs(t.Context(), db); !isRefused(err, m.blobs()) {
		t.Errorf("a mark that cannot be read: %v", err)
	}
	if err := errors.Join(os.Remove(mark), os.WriteFile(mark, []byte("word\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := m.openBlobs(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if known, err := blobMark(t.Context(), db); known != "word" || err != nil {
		t.Errorf("the database knows %q, %v", known, err)
	}
	if err := errors.Join(os.Remove(mark), os.Mkdir(mark, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := m.openBlobs(t.Context(), db); !isRefused(err, m.blobs()) {
		t.Errorf("a mark that cannot be read any more: %v", err)
	}
}

// A node that starts waits for one that is about to mark its folder, and then knows.
func TestDL06_ANodeWaitsForAnotherThatStarts(t *testing.T) {
	t.Parallel()
	db, m := postgrestest.New(t), newNode(t)
	opened := make(chan error, 1)
	err := db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), sqlLockBlobStore); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), sqlPutBlobStore, "another", time.Now()); err != nil {
			return err
		}
		go func() { opened <- m.openBlobs(t.Context(), db) }()
		for waits := false; !waits; {
			var err error
			if waits, err = postgres.Value[bool](t.Context(), tx, "select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)))"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-opened; !isRefused(err, "the database knows the blobs by another") {
		t.Errorf("it is opened: %v", err)
	}
	if _, err := os.Stat(filepath.Join(m.blobs(), ".mark")); err == nil {
		t.Error("it is marked")
	}
}

func TestDL06_OfFoldersThatStartAtOnceOneHasTheBlobs(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	errs := make([]error, 3)
	var all sync.WaitGroup
	for i := range errs {
		m := newNode(t)
		all.Go(func() { errs[i] = m.openBlobs(t.Context(), db) })
	}
	all.Wait()
	taken := 0
	for _, err := range errs {
		switch {
		case err == nil:
			taken++
		case !isRefused(err, "it shows no mark"):
			t.Error(err)
		}
	}
	if taken != 1 {
		t.Errorf("%d folders became the store", taken)
	}
}

func TestAStorageThatIsReadOnlyIsCalledSo(t *testing.T) {
	t.Parallel()
	if got := problemOf("default", gitstore.ErrReadOnly); !strings.Contains(got, "storage default is read-only") {
		t.Error(got)
	}
	if got := problemOf("default", gitstore.ErrUnavailable); !strings.Contains(got, "storage default does not show the mark") {
		t.Error(got)
	}
}

// A disk that goes while the node runs, or is mounted over, shows in readiness.
func TestDL06_ANodeWhoseBlobsAreAwayIsNotReady(t *testing.T) {
	t.Parallel()
	m := newNode(t)
	store, err := blob.Open("", m.cfg.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	d := newDisks(m.cfg, openedStore(t, m), store, clock.System())
	if d.look(); d.checkStorages(t.Context()) != nil {
		t.Fatalf("not ready: %v", d.checkStorages(t.Context()))
	}
	if err := os.RemoveAll(filepath.Join(m.blobs(), ".incoming")); err != nil {
		t.Fatal(err)
	}
	if d.look(); d.checkStorages(t.Context()) != nil {
		t.Errorf("a folder of unfinished blobs that was tidied away: %v", d.checkStorages(t.Context()))
	}
	if err := errors.Join(os.Rename(m.blobs(), m.blobs()+".away"), os.Mkdir(m.blobs(), 0o700)); err != nil {
		t.Fatal(err)
	}
	d.look()
	if err := d.checkStorages(t.Context()); err == nil || !strings.Contains(err.Error(), "blobs cannot be kept in the folder "+m.blobs()) {
		t.Errorf("ready with another folder: %v", err)
	}
	if err := errors.Join(os.RemoveAll(m.blobs()), os.Rename(m.blobs()+".away", m.blobs())); err != nil {
		t.Fatal(err)
	}
	if d.look(); d.checkStorages(t.Context()) != nil {
		t.Errorf("mended, and not ready: %v", d.checkStorages(t.Context()))
	}
}

// A disk that hangs answers nobody, so its silence has to.
func TestADiskThatHasNotAnsweredForAMinuteHangs(t *testing.T) {
	t.Parallel()
	m := newNode(t)
	now := time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)
	d := newDisks(m.cfg, openedStore(t, m), nil, func() time.Time { return now })
	if err := d.checkStorages(t.Context()); err != nil {
		t.Errorf("before the node has started: %v", err)
	}
	d.look()
	now = now.Add(diskHangs)
	if err := d.checkStorages(t.Context()); err != nil {
		t.Errorf("after a minute: %v", err)
	}
	now = now.Add(time.Second)
	if d.checkStorages(t.Context()) == nil {
		t.Error("ready with a disk that hangs")
	}
	if d.look(); d.checkStorages(t.Context()) != nil {
		t.Error("not ready when it answers again")
	}
}

func TestTheDisksOfANodeAreThoseItKeepsThingsOn(t *testing.T) {
	t.Parallel()
	m := newNode(t)
	store, err := blob.Open("", m.cfg.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	d := newDisks(m.cfg, openedStore(t, m), store, clock.System())
	var names []string
	for _, disk := range d.all {
		names = append(names, disk.name)
	}
	if got := strings.Join(names, ", "); got != "data, cache, storage default" {
		t.Error(got)
	}
	d.look()
	free, total, err := space(m.cfg.DataDir)
	if err != nil || free <= 0 || free > total {
		t.Fatal(free, total, err)
	}
	shown := map[string]float64{}
	for _, s := range d.samples() {
		shown[s.Name+" "+s.Value] = s.Is
	}
	if shown["stithy_disk_size_bytes data"] != float64(total) || shown["stithy_disk_free_bytes data"] > float64(total) || shown["stithy_disk_free_bytes data"] == float64(total) && free != total {
		t.Errorf("%v of %d", shown, total)
	}
	d.least = 1 << 62
	if d.look(); d.checkSpace(t.Context()) == nil {
		t.Error("a full disk has room")
	}
	d.least = 0
	if d.look(); d.checkSpace(t.Context()) != nil {
		t.Error("a disk that was emptied is full")
	}
	for address, kept := range map[string]bool{"file:///blobs": true, "s3://key:secret@host/bucket": false} {
		m.cfg.BlobURL = secretbox.Secret(address)
		if d := newDisks(m.cfg, nil, store, clock.System()); (d.blobs != nil) != kept {
			t.Errorf("%s is on a disk: %v", address, d.blobs != nil)
		}
	}
	for size, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1_500_000_000: "1.5 GB", 250_000_000_000: "250 GB", 5e18: "5000 PB"} {
		if got := bytesInWords(size); got != want {
			t.Errorf("%d is %s, not %s", size, got, want)
		}
	}
}
