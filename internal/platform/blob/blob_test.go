package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// stores are the kinds of store; every rule holds for each.
func stores(t *testing.T, rule func(t *testing.T, s Store)) {
	t.Helper()
	open := map[string]func(*testing.T) string{
		"folder": func(t *testing.T) string { return "file://" + t.TempDir() },
		"bucket": func(t *testing.T) string {
			backend := s3mem.New()
			if err := backend.CreateBucket("blobs"); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(gofakes3.New(backend).Server())
			t.Cleanup(server.Close)
			return "s3://key:secret@" + strings.TrimPrefix(server.URL, "http://") + "/blobs/below?tls=false&region=eu-1"
		},
	}
	for kind, address := range open {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, err := Open(address(t), "")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			rule(t, s)
		})
	}
}

func put(t *testing.T, s Store, key, body string) {
	t.Helper()
	if err := s.Put(t.Context(), key, strings.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s Store, key string, offset, length int64) string {
	t.Helper()
	body, err := s.Open(t.Context(), key, offset, length)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhatIsPutIsRead(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		put(t, s, "lfs/ab/cd", "0123456789")
		put(t, s, "lfs/empty", "")
		for _, c := range []struct {
			offset, length int64
			want           string
		}{{0, -1, "0123456789"}, {3, -1, "3456789"}, {3, 4, "3456"}, {0, 1, "0"}, {8, 10, "89"}, {2, 0, ""}} {
			if got := read(t, s, "lfs/ab/cd", c.offset, c.length); got != c.want {
				t.Errorf("from %d, %d bytes: %q, want %q", c.offset, c.length, got, c.want)
			}
		}
		if got := read(t, s, "lfs/empty", 0, -1); got != "" {
			t.Errorf("an empty blob reads %q", got)
		}
		info, err := s.Stat(t.Context(), "lfs/ab/cd")
		if err != nil || info.Size != 10 || time.Since(info.Modified).Abs() > time.Hour {
			t.Errorf("%+v, %v", info, err)
		}
		put(t, s, "lfs/ab/cd", "new")
		if got := read(t, s, "lfs/ab/cd", 0, -1); got != "new" {
			t.Errorf("the second blob of a key reads %q", got)
		}
	})
}

func TestABlobAppearsWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		// A reader that knows better only once it has given everything.
		wrong := io.MultiReader(strings.NewReader("8 bytes."), iotest.ErrReader(errors.New("digest differs")))
		broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("cable cut")))
		for name, body := range map[string]io.Reader{
			"short": strings.NewReader("abc"), "long": strings.NewReader("abcdefghij"), "broken": broken, "wrong": wrong,
		} {
			put(t, s, "a/"+name, "before")
			if err := s.Put(t.Context(), "a/"+name, body, 8); err == nil {
				t.Errorf("%s: stored", name)
			}
			if got := read(t, s, "a/"+name, 0, -1); got != "before" {
				t.Errorf("%s: what was there reads %q", name, got)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Put(ctx, "a/late", strings.NewReader("x"), 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled put: %v", err)
		}
		if _, err := s.Stat(t.Context(), "a/late"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a cancelled blob: %v", err)
		}
	})
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		put(t, s, "a/b", "x")
		for _, key := range []string{"a", "a/c", "a/b/c", "b"} {
			if _, err := s.Stat(t.Context(), key); !errors.Is(err, ErrNotFound) && !isNotDir(err) {
				t.Errorf("stat %s: %v", key, err)
			}
			if err := s.Delete(t.Context(), key); err != nil && key != "a" && !isNotDir(err) {
				t.Errorf("delete %s: %v", key, err)
			}
		}
		for range 2 {
			if err := s.Delete(t.Context(), "a/b"); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Open(t.Context(), "a/b", 0, -1); !errors.Is(err, ErrNotFound) {
			t.Errorf("a deleted blob: %v", err)
		}
	})
}

func isNotDir(err error) bool { return err != nil && strings.Contains(err.Error(), "not a directory") }

func TestAListGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		var want []string
		for _, key := range []string{"lfs/a/1", "lfs/a-b", "lfs/a/2", "lfs/b/c/d", "lfs/b/c.d", "lfs/0", "other/x"} {
			put(t, s, key, key)
			if strings.HasPrefix(key, "lfs/") {
				want = append(want, key)
			}
		}
		slices.Sort(want)
		for limit := 1; limit <= 4; limit++ {
			var got []string
			for after := ""; ; {
				page, err := s.List(t.Context(), "lfs/", after, limit)
				if err != nil {
					t.Fatal(err)
				}
				for _, info := range page {
					got = append(got, info.Key)
					if info.Size != int64(len(info.Key)) {
						t.Errorf("%s has %d bytes", info.Key, info.Size)
					}
				}
				if len(page) > limit {
					t.Errorf("a page of %d has %d", limit, len(page))
				}
				if len(page) < limit || len(got) > len(want) {
					break
				}
				after = page[len(page)-1].Key
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d: %v, want %v", limit, got, want)
			}
		}
	})
}

func TestAMarkTellsStoresApartAndIsNoBlob(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		if mark, err := s.Mark(t.Context()); mark != "" || err != nil {
			t.Errorf("before it is marked: %q, %v", mark, err)
		}
		for _, mark := range []string{"one", "two"} {
			if err := s.SetMark(t.Context(), mark); err != nil {
				t.Fatal(err)
			}
			if shown, err := s.Mark(t.Context()); shown != mark || err != nil {
				t.Errorf("%q, %v instead of %q", shown, err, mark)
			}
		}
		put(t, s, "zebra", "x")
		if all, err := s.List(t.Context(), "", "", 1); err != nil || len(all) != 1 || all[0].Key != "zebra" {
			t.Errorf("listed: %v, %v", all, err)
		}
		if s.Place() == "" || strings.Contains(s.Place(), "secret") {
			t.Errorf("its place is called %q", s.Place())
		}
	})
}

// People write a mark with what writes lines.
func TestTheEndOfALineIsNoPartOfAMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open("file://"+dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mark"), []byte("word\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if mark, err := s.Mark(t.Context()); mark != "word" || err != nil {
		t.Errorf("%q, %v", mark, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mark"), []byte(strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if mark, err := s.Mark(t.Context()); len(mark) != maxMark || err != nil {
		t.Errorf("%d bytes, %v", len(mark), err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, ".mark")), os.Mkdir(filepath.Join(dir, ".mark"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if mark, err := s.Mark(t.Context()); err == nil {
		t.Errorf("a mark that cannot be read is %q", mark)
	}
}

// left are the names of files that wait to become blobs.
func left(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(dir, incoming))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAFolderAnswersAsLongAsItCanBeWrittenTo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	s, err := Open("file://"+dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // also without the folder of what is unfinished
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if files := left(t, dir); len(files) > 0 {
			t.Errorf("%v are left", files)
		}
		if err := os.Remove(filepath.Join(dir, incoming)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, "a", "x")
	if err := errors.Join(os.Remove(filepath.Join(dir, incoming)), os.WriteFile(filepath.Join(dir, incoming), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if s.Ping(t.Context()) == nil {
		t.Error("a folder answers that takes no blob")
	}
	if err := os.Remove(filepath.Join(dir, incoming)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if s.Ping(t.Context()) == nil {
		t.Error("a folder answers that another was mounted over")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if s.Ping(t.Context()) == nil {
		t.Error("a folder answers that has no name any more")
	}
}

func TestABucketThatIsNotThereDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(server.Close)
	s, err := Open("s3://key:secret@"+strings.TrimPrefix(server.URL, "http://")+"/blobs?tls=false&region=eu-1", "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Ping(t.Context()) == nil {
		t.Error("a bucket answers that is not there")
	}
	if _, err := s.Stat(t.Context(), "a"); err == nil {
		t.Error("it holds a blob")
	}
}

func TestABlobThatWasNotStoredLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open("file://"+dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []io.Reader{strings.NewReader("abc"), iotest.ErrReader(errors.New("cable cut"))} {
		if err := s.Put(t.Context(), "a", body, 8); err == nil {
			t.Error("half a blob is stored")
		}
	}
	put(t, s, "a", "whole")
	if files := left(t, dir); len(files) > 0 {
		t.Errorf("%v are left", files)
	}
}

// What breaks off on the way is the store's doing, unless nobody waits for it any more.
func TestAStoreIsBlamedForWhatBreaksOff(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = io.WriteString(w, "half.")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	s, err := Open("s3://key:secret@"+strings.TrimPrefix(server.URL, "http://")+"/blobs?tls=false&region=eu-1", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, waits := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		body, err := s.Open(ctx, "a", 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		if !waits {
			cancel()
		}
		if _, err := io.ReadAll(body); err == nil || errors.Is(err, ErrUnavailable) != waits {
			t.Errorf("somebody waits: %v: %v", waits, err)
		}
		_ = body.Close()
		cancel()
	}
}

func TestAMeterCountsUpToItsLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "1234": false, "12345": false, "123456": true} {
		m := NewMeter(iotest.OneByteReader(strings.NewReader(text)), 5)
		got, err := io.ReadAll(m)
		if over := errors.Is(err, ErrSize); over != want || m.Over() != want {
			t.Errorf("%q: %v, over: %v", text, err, m.Over())
		}
		sum := sha256.Sum256([]byte(text))
		if !want && (string(got) != text || m.Size() != int64(len(text)) || !bytes.Equal(m.Sum(), sum[:])) {
			t.Errorf("%q reads %q, %d bytes", text, got, m.Size())
		}
		if len(got) > 5 {
			t.Errorf("%d bytes came through", len(got))
		}
	}
	if _, err := io.ReadAll(NewMeter(iotest.ErrReader(errors.New("cable cut")), 5)); err == nil || errors.Is(err, ErrSize) {
		t.Errorf("a body that breaks: %v", err)
	}
}

func TestNoTwoKeysAreTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		key := NewKey("uploads")
		if seen[key] || checkKey(key) != nil || !strings.HasPrefix(key, "uploads/") || len(key) < 64 {
			t.Errorf("a key is %s", key)
		}
		seen[key] = true
	}
}

func TestKeysCannotLeaveTheStore(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		for _, key := range []string{
			"", "/", "/etc/passwd", "..", "../x", "a/../../x", "a//b", "a/", ".incoming/x", "a/.hidden", "a\x00b", "a\nb", `a\b`, "A", "a b",
			strings.Repeat("a", maxKey+1), "%2e%2e/x",
		} {
			_, stat := s.Stat(t.Context(), key)
			_, open := s.Open(t.Context(), key, 0, -1)
			for verb, err := range map[string]error{
				"put": s.Put(t.Context(), key, strings.NewReader("x"), 1), "open": open, "stat": stat, "delete": s.Delete(t.Context(), key),
			} {
				if err == nil || errors.Is(err, ErrNotFound) {
					t.Errorf("%s %q: %v", verb, key, err)
				}
			}
		}
	})
}

func TestALinkInTheFolderLeadsNowhere(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	s, err := Open("file://"+dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "link/x", strings.NewReader("x"), 1); err == nil {
		t.Error("a blob was written through a link")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Error("something is outside of the folder")
	}
}

func TestUnfinishedBlobsAreSweptOnceTheyAreOld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Open("file://"+dir, ""); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(dir, incoming, "old"), filepath.Join(dir, incoming, "young")
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-abandoned - time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("file://"+dir, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young one: %v", err)
	}
}

func TestALargeBlobSurvivesTheWay(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s Store) {
		body := bytes.Repeat([]byte("0123456789abcdef"), (partSize+partSize/2)/16) // more than one part
		for _, size := range []int64{int64(len(body)), -1} {                       // announced or not
			if err := s.Put(t.Context(), "large", bytes.NewReader(body), size); err != nil {
				t.Fatal(err)
			}
			if got := read(t, s, "large", 0, -1); got != string(body) {
				t.Errorf("%d bytes came back of %d", len(got), len(body))
			}
		}
	})
}

func TestAnAddressThatIsNoStoreIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ftp://a:CANARY@b/c", "s3://", "s3://a:CANARY@host", "s3://a:CANARY@ho st/b"} {
		_, err := Open(address, "")
		if err == nil || strings.Contains(fmt.Sprint(err), "CANARY") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// What a store cannot do is told from what was wrongly asked of it: the one may
// work later.
func TestAStoreThatFailsIsBlamedAndNobodyElse(t *testing.T) {
	t.Parallel()
	backend := s3mem.New()
	if err := backend.CreateBucket("blobs"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	dir := t.TempDir()
	for kind, c := range map[string]struct {
		address string
		fell    func()
	}{
		"bucket": {"s3://key:secret@" + strings.TrimPrefix(server.URL, "http://") + "/blobs?tls=false&region=eu-1", server.Close},
		"folder": {"file://" + dir, func() { _ = os.RemoveAll(dir) }},
	} {
		s, err := Open(c.address, "")
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "a/b", "there")
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for what, err := range map[string]error{
			"a body that breaks": s.Put(t.Context(), "a/c", iotest.ErrReader(errors.New("cable cut")), 8),
			"a body too short":   s.Put(t.Context(), "a/c", strings.NewReader("abc"), 8),
			"a bad key":          s.Put(t.Context(), "../c", strings.NewReader("abc"), 3),
			"who did not wait":   s.Put(canceled, "a/c", strings.NewReader("abc"), 3),
		} {
			if err == nil || errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %s: %v", kind, what, err)
			}
		}
		if _, err := s.Stat(t.Context(), "a/none"); !errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: what is not there: %v", kind, err)
		}
		c.fell()
		if err := s.Put(t.Context(), "a/c", strings.NewReader("abc"), 3); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: putting: %v", kind, err)
		}
		if kind == "folder" {
			continue // a file of a folder that is gone is not there
		}
		if _, err := s.Open(t.Context(), "a/b", 0, -1); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: opening: %v", kind, err)
		}
		if _, err := s.Stat(t.Context(), "a/b"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: looking: %v", kind, err)
		}
		if err := s.Delete(t.Context(), "a/b"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: removing: %v", kind, err)
		}
	}
}

func TestAConnectionOnWhichNothingMovesBreaks(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	defer time.AfterFunc(10*time.Second, func() { _ = far.Close() }).Stop()
	c := &impatient{Conn: near, most: 20 * time.Millisecond}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading: %v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing: %v", err)
	}
	go func() { _, _ = io.CopyN(far, far, 1) }()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Errorf("writing to somebody who reads again: %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("reading what is there: %v", err)
	}
}

// A blob is on the disk before it has its name, and so are all names on the way
// to it before Put returns: a power cut leaves it whole or not there.
func TestABlobIsDurableBeforeItIsThere(t *testing.T) {
	t.Parallel()
	s, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := s.(*folder)
	root := f.root.Name()
	var synced []string
	f.fsync = func(file *os.File) error {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		_, missing := f.Stat(t.Context(), "a/b/key")
		switch there := missing == nil; {
		case info.IsDir():
			name, err := filepath.Rel(root, file.Name())
			if err != nil {
				return err
			}
			if !there {
				t.Errorf("the folder %s is written out before the blob has its name", name)
			}
			synced = append(synced, name)
		case there || info.Size() != 7:
			t.Errorf("%d bytes are written out; the blob has its name: %v", info.Size(), there)
		default:
			synced = append(synced, "content")
		}
		return file.Sync()
	}
	put(t, s, "a/b/key", "content")
	if want := []string{"content", "a/b", "a", "."}; !slices.Equal(synced, want) {
		t.Errorf("written out: %q, want %q", synced, want)
	}
	// What cannot be written out is not there.
	f.fsync = func(*os.File) error { return errors.New("no such luck") }
	if err := s.Put(t.Context(), "other", strings.NewReader("x"), 1); err == nil {
		t.Error("a blob that is not durable counts as stored")
	}
	if _, err := s.Stat(t.Context(), "other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
}
