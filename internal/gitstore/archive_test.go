package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"stithy/internal/platform/clock"
)

func TestAnArchiveIsThatOfGit(t *testing.T) {
	t.Parallel()
	r := newRepo(t, openAt(t, func(c *Config) { c.CacheDir = t.TempDir() }), 1)
	commit := commitFiles(t, r, "main", "", content("a", "text"), content("d/b", "more"), content("d/c", "secret"), content("-x", "option"),
		content(".gitattributes", "d/c export-ignore\n"))
	dir := r.dir(t)
	for _, c := range []struct {
		o    ArchiveOptions
		args []string
	}{
		{ArchiveOptions{Format: Tar, Prefix: "app-main"}, []string{"--format=tar", "--prefix=app-main/"}},
		{ArchiveOptions{Format: TarGz, Prefix: "app-main/"}, []string{"--format=tar.gz", "--prefix=app-main/"}},
		{ArchiveOptions{Format: Zip, Prefix: "p q"}, []string{"--format=zip", "--prefix=p q/"}},
		{ArchiveOptions{Format: Tar, Path: "d"}, []string{"--format=tar", "--", "d"}},
		{ArchiveOptions{Format: Tar, Path: "-x"}, []string{"--format=tar", "--", "-x"}},
		{ArchiveOptions{Format: Tar, Exclude: []string{"d", "-x"}}, []string{"--format=tar", "--", "a", ".gitattributes"}},
	} {
		args := []string{"archive", c.args[0]}
		rest := c.args[1:]
		if len(rest) > 0 && strings.HasPrefix(rest[0], "--prefix") {
			args, rest = append(args, rest[0]), rest[1:]
		}
		want := realGit(t, dir, "", append(append(args, string(commit)), rest...)...)
		c.o.Commit = commit
		for _, where := range []string{"made", "kept"} {
			got, err := readArchive(t, r, c.o)
			if err != nil || got != want {
				t.Errorf("%+v, %s: %d bytes, want %d: %v", c.o, where, len(got), len(want), err)
			}
		}
	}
	packed, err := readArchive(t, r, ArchiveOptions{Commit: commit, Format: TarBz2})
	if err != nil || !strings.HasPrefix(packed, "BZh9") {
		t.Errorf("bzip2: %.10q %v", packed, err)
	}
	for _, o := range []ArchiveOptions{{Commit: commit, Format: Tar, Path: "none"}, {Commit: OID(strings.Repeat("1", 40)), Format: Tar}} {
		if _, err := readArchive(t, r, o); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []ArchiveOptions{
		{Commit: commit, Format: "exe"}, {Commit: commit, Format: Tar, Prefix: "../x"}, {Commit: commit, Format: Tar, Prefix: "/x"},
		{Commit: commit, Format: Tar, Prefix: "a\nb"}, {Commit: commit, Format: "--output=x"},
	} {
		if _, err := readArchive(t, r, o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func readArchive(t *testing.T, r *Repo, o ArchiveOptions) (string, error) {
	t.Helper()
	in, err := r.Archive(t.Context(), o)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := io.ReadAll(in)
	return string(out), err
}

func newTestArchives(t *testing.T, limit int64) *archives {
	t.Helper()
	a, err := newArchives(t.TempDir(), limit, clock.System(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestManyWhoWantAnArchiveMakeItOnce(t *testing.T) {
	t.Parallel()
	a := newTestArchives(t, 1<<20)
	var made atomic.Int32
	half := make(chan struct{})
	produce := func(_ context.Context, w io.Writer) error {
		made.Add(1)
		fmt.Fprint(w, strings.Repeat("a", 1000))
		<-half
		fmt.Fprint(w, strings.Repeat("b", 1000))
		return nil
	}
	var all sync.WaitGroup
	begun := make(chan struct{}, 20)
	for range 20 {
		all.Go(func() {
			in, err := a.open(t.Context(), "key", produce)
			if err != nil {
				t.Error(err)
				return
			}
			defer in.Close()
			first := make([]byte, 1000)
			if _, err := io.ReadFull(in, first); err != nil {
				t.Error(err)
			}
			begun <- struct{}{}
			rest, err := io.ReadAll(in)
			if err != nil || len(rest) != 1000 {
				t.Error(len(rest), err)
			}
		})
	}
	for range 20 {
		<-begun
	}
	close(half)
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
	in, err := a.open(t.Context(), "key", produce)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := iotest.TestReader(in, []byte(strings.Repeat("a", 1000)+strings.Repeat("b", 1000))); err != nil {
		t.Error(err)
	}
}

// A reader comes between the two steps of a write again and again: the bytes are in the file and not counted yet.
func TestAReaderOfAGrowingArchiveGetsAllOfIt(t *testing.T) {
	t.Parallel()
	a := newTestArchives(t, 1<<20)
	written, read := make(chan struct{}), make(chan struct{})
	var want strings.Builder
	produce := func(_ context.Context, w io.Writer) error {
		s := w.(*spool)
		for i := range 5 {
			piece := strings.Repeat(string(rune('a'+i)), 100)
			want.WriteString(piece)
			if _, err := io.WriteString(s, piece); err != nil {
				return err
			}
			n, err := s.file.WriteString(piece) // the first half of Write
			if err != nil {
				return err
			}
			want.WriteString(piece)
			written <- struct{}{}
			<-read
			s.count(n) // the second half
		}
		return nil
	}
	in, err := a.open(t.Context(), "key", produce)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var got []byte
	for i := range 5 {
		<-written
		counted := 200 // what was held back the last time, and what was written whole since
		if i == 0 {
			counted = 100
		}
		buffer := make([]byte, 1000)
		n, err := in.Read(buffer)
		if err != nil || n != counted {
			t.Errorf("piece %d: %d bytes, want %d: %v", i, n, counted, err)
		}
		got = append(got, buffer[:n]...)
		read <- struct{}{}
	}
	rest, err := io.ReadAll(in)
	if got = append(got, rest...); err != nil || string(got) != want.String() {
		t.Errorf("%d bytes, want %d: %v", len(got), want.Len(), err)
	}
}

func TestAnArchiveWhoseFileWasCutIsAnError(t *testing.T) {
	t.Parallel()
	a := newTestArchives(t, 1<<20)
	in, err := a.open(t.Context(), "key", func(_ context.Context, w io.Writer) error {
		s := w.(*spool)
		if _, err := s.file.WriteString("half"); err != nil {
			return err
		}
		s.count(8)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if text, err := io.ReadAll(in); string(text) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q %v", text, err)
	}
}

func TestMakingEndsWhenTheLastReaderLeaves(t *testing.T) {
	t.Parallel()
	a := newTestArchives(t, 1<<20)
	ended := make(chan struct{})
	produce := func(ctx context.Context, w io.Writer) error {
		fmt.Fprint(w, "begin")
		<-ctx.Done()
		defer close(ended)
		return ctx.Err()
	}
	first, stop := context.WithCancel(t.Context())
	one, err := a.open(first, "key", produce)
	if err != nil {
		t.Fatal(err)
	}
	two, err := a.open(t.Context(), "key", produce)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := io.ReadAll(one); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader whose request ended: %v", err)
	}
	one.Close()
	one.Close()
	select {
	case <-ended:
		t.Error("it ended while somebody read")
	default:
	}
	two.Close()
	<-ended
	// The next who asks has it made anew and does not hear of the end of the last.
	again, err := a.open(t.Context(), "key", func(_ context.Context, w io.Writer) error { _, err := io.WriteString(w, "whole"); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if text, err := io.ReadAll(again); err != nil || string(text) != "whole" {
		t.Errorf("%q %v", text, err)
	}
}

func TestAnArchiveThatFailsIsNotKept(t *testing.T) {
	t.Parallel()
	a := newTestArchives(t, 1<<20)
	if _, err := a.open(t.Context(), "key", func(context.Context, io.Writer) error { return ErrUnavailable }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("before the first byte: %v", err)
	}
	in, err := a.open(t.Context(), "key", func(_ context.Context, w io.Writer) error { fmt.Fprint(w, "half"); return ErrTimeout })
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if text, err := io.ReadAll(in); string(text) != "half" || !errors.Is(err, ErrTimeout) {
		t.Errorf("%q %v", text, err)
	}
	if left := filesBelow(t, a.dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOldArchivesMakeRoom(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, err := newArchives(t.TempDir(), 250, func() time.Time { return now }, nil)
	if err != nil {
		t.Fatal(err)
	}
	make100 := func(key string) {
		t.Helper()
		in, err := a.open(t.Context(), key, func(_ context.Context, w io.Writer) error {
			_, err := w.Write(bytes.Repeat([]byte("x"), 100))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if _, err := io.Copy(io.Discard, in); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	if err := os.WriteFile(filepath.Join(a.dir, "tmp-crashed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"one", "two", "one", "three"} { // "one" was wanted again
		make100(key)
	}
	if left := filesBelow(t, a.dir); len(left) != 3 || left["one"] != 100 || left["three"] != 100 {
		t.Errorf("%v", left)
	}
	now = now.Add(2 * maxIdle)
	make100("four")
	if left := filesBelow(t, a.dir); len(left) != 1 || left["four"] != 100 {
		t.Errorf("a day later: %v", left)
	}
}
