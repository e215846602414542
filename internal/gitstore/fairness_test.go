package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/platform/clock"
	"stithy/internal/platform/fairshare"
)

// traced is a store that tells which commands it started.
func traced(t *testing.T, change func(*Config)) (*Store, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	s := openAt(t, func(c *Config) {
		c.CacheDir = t.TempDir()
		c.Trace = func(argv, _ []string) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, argv[1])
		}
		if change != nil {
			change(c)
		}
	})
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), all...)
	}
}

// large is a repository with a blob that is not read into memory.
func large(t *testing.T, s *Store) (*Repo, OID, string) {
	t.Helper()
	r := newRepo(t, s, 1)
	text := strings.Repeat("0123456789abcdef", 1<<17)
	commit := commitFiles(t, r, "main", "", content("big", text))
	entry, err := r.Find(t.Context(), commit, "big")
	if err != nil {
		t.Fatal(err)
	}
	return r, entry.ID, text
}

func TestNoProcessWaitsForASlowReaderOfALargeBlob(t *testing.T) {
	t.Parallel()
	s, commands := traced(t, nil)
	r, id, text := large(t, s)
	before := len(commands())
	var open []io.ReadCloser
	for range 20 {
		size, body, err := r.OpenBlob(t.Context(), id)
		if err != nil || size != int64(len(text)) {
			t.Fatal(size, err)
		}
		open = append(open, body)
	}
	for _, body := range open {
		got, err := io.ReadAll(body)
		if err != nil || string(got) != text || body.Close() != nil {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	var read int
	for _, sub := range commands()[before:] {
		if sub == "cat-file" {
			read++
		}
	}
	if read > 2 { // one of the pool, for the size, and one for all readers
		t.Errorf("%d processes read one blob for twenty readers", read)
	}
}

// A client that wants to know which refs there are, or has nothing to say yet, costs no process, in any version.
func TestNoProcessWaitsForAClientThatSaidNothing(t *testing.T) {
	t.Parallel()
	s, commands := traced(t, nil)
	r := newRepo(t, s, 1)
	tip := commitFiles(t, r, "main", "", content("a", "text"))
	before := len(commands())
	count := func(sub string) (n int) {
		for _, other := range commands()[before:] {
			if other == sub {
				n++
			}
		}
		return n
	}
	for _, protocol := range []string{"", "version=2"} {
		in, client := io.Pipe()
		out, server := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := r.Fetch(t.Context(), Fetch{Protocol: protocol, In: in, Out: server})
			_ = server.CloseWithError(err)
			ended <- err
		}()
		heard := make([]byte, 4)
		if _, err := io.ReadFull(out, heard); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if n := count("upload-pack"); n > 0 {
			t.Errorf("%q: a process waits for the first word", protocol)
		}
		_ = client.Close()
		if err := <-ended; err != nil {
			t.Errorf("%q: %v", protocol, err)
		}
	}
	// What is said then reaches git, and git's answer the client, without the refs once more.
	var out bytes.Buffer
	said := bytes.NewReader(appendLine(appendMark(appendLine(nil, "want ", string(tip), "\n"), flush), "done\n"))
	if err := r.Fetch(t.Context(), Fetch{In: said, Out: &out}); err != nil {
		t.Fatal(err)
	}
	_, answer, found := strings.Cut(out.String(), " refs/heads/main\n0000")
	if !found || !strings.HasPrefix(answer, "0008NAK\nPACK") || strings.Contains(answer, "refs/heads/main") || count("upload-pack") != 1 {
		t.Errorf("%.400q", out.String())
	}
	// A pushing client may think about what it sends.
	in, client := io.Pipe()
	pushed := make(chan error, 1)
	go func() { pushed <- r.Push(t.Context(), Push{Stateless: true, In: in, Out: io.Discard}) }()
	head := appendMark(appendLine(nil, string(Zero), " ", string(tip), " refs/heads/x\x00report-status"), flush)
	if _, err := client.Write(head); err != nil {
		t.Fatal(err)
	}
	if n := count("receive-pack"); n > 0 {
		t.Error("a process waits for the first byte of a pack")
	}
	_ = client.CloseWithError(context.Canceled)
	if err := <-pushed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAClientThatTakesNothingLosesItsProcess(t *testing.T) {
	t.Parallel()
	s, _ := traced(t, func(c *Config) { c.MaxSilence = 50 * time.Millisecond })
	r, _, _ := large(t, s)
	tip, err := r.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	out, server := net.Pipe() // nobody reads
	defer out.Close()
	said := bytes.NewReader(appendLine(appendMark(appendLine(nil, "want ", string(tip.Target), "\n"), flush), "done\n"))
	if err := r.Fetch(t.Context(), Fetch{Stateless: true, In: said, Out: patient{server}}); !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
}

// patient is a client's connection as the doors write to it: each write has a deadline, and it is later than the end of the process.
type patient struct{ net.Conn }

func (p patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

func TestAClientMustKeepALeastRate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits []time.Duration
		moved int
		slow  bool
	}{
		"fast":                        {[]time.Duration{time.Second, time.Second, time.Second}, 100, false},
		"just enough":                 {[]time.Duration{5 * time.Second, 5 * time.Second}, 50, false},
		"too slow":                    {[]time.Duration{5 * time.Second, 5 * time.Second}, 49, true},
		"slow for less than a window": {[]time.Duration{9 * time.Second}, 0, false},
		"one long wait":               {[]time.Duration{time.Hour}, 1 << 20, false},
		"one long wait for little":    {[]time.Duration{time.Hour}, 100, true},
	} {
		p := &pace{window: 10 * time.Second, least: 10}
		slow := false
		for _, wait := range c.waits {
			slow = p.slow(wait, c.moved) || slow
		}
		if slow != c.slow {
			t.Errorf("%s: %t", name, slow)
		}
	}
	p := &pace{window: 10 * time.Second, least: 10}
	if p.slow(10*time.Second, 1000) || !p.slow(10*time.Second, 0) {
		t.Error("what was fast once may be slow for ever")
	}
}

// fullDisk makes files that cannot be written.
func fullDisk(dir, _ string) (*os.File, error) {
	name := filepath.Join(dir, fmt.Sprintf("new-%d", time.Now().UnixNano()))
	if err := os.Symlink("/dev/full", name); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDWR, 0)
}

// noFolder is a cache folder that is read-only, or gone.
func noFolder(string, string) (*os.File, error) { return nil, os.ErrPermission }

func TestClonesAndArchivesNeedNoCache(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(string, string) (*os.File, error){"a full disk": fullDisk, "no folder": noFolder} {
		var log bytes.Buffer
		s, _ := traced(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		r, id, text := large(t, s)
		s.answers.create, s.archives.create = create, create
		tip, err := r.Ref(t.Context(), "refs/heads/main")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var out bytes.Buffer
			w := fetchRequest{wants: []OID{tip.Target}, rest: []string{"done"}}
			if err := r.Fetch(t.Context(), Fetch{Protocol: "version=2", Stateless: true, In: bytes.NewReader(w.command()), Out: &out}); err != nil ||
				!strings.Contains(out.String(), "PACK") || !strings.HasSuffix(out.String(), "0000") {
				t.Errorf("%s: a clone: %d bytes, %v", name, out.Len(), err)
			}
			want := realGit(t, r.dir(t), "", "archive", "--format=tar", string(tip.Target))
			if got, err := readArchive(t, r, ArchiveOptions{Commit: tip.Target, Format: Tar}); err != nil || got != want {
				t.Errorf("%s: an archive: %d bytes, want %d: %v", name, len(got), len(want), err)
			}
			_, body, err := r.OpenBlob(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(body); err != nil || string(got) != text || body.Close() != nil {
				t.Errorf("%s: a blob: %d bytes, %v", name, len(got), err)
			}
		}
		if n := strings.Count(log.String(), "writing to the cache"); n != 2 { // once for each cache
			t.Errorf("%s: %d lines in the log: %s", name, n, log.String())
		}
		if left := filesBelow(t, s.CacheDir); len(left) > 0 {
			for file := range left {
				if strings.Contains(file, "new-") || strings.Contains(file, "tmp-") {
					t.Errorf("%s: left behind: %s", name, file)
				}
			}
		}
	}
}

// A disk that becomes full while an archive is made: whoever reads it gets the rest all the same.
func TestAnArchiveGoesOnWhenTheDiskIsFull(t *testing.T) {
	t.Parallel()
	a := newTestArchives(t, 1<<20)
	half := make(chan struct{})
	produce := func(_ context.Context, w io.Writer) error {
		for i := range 10 {
			if s, ok := w.(*spool); ok && i == 5 {
				<-half
				_ = s.file.Close() // nothing can be written any more
			}
			if _, err := fmt.Fprintf(w, "part %d, ", i); err != nil {
				return errors.New("git was ended by a broken pipe")
			}
		}
		return nil
	}
	in, err := a.open(t.Context(), "key", produce)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	first := make([]byte, 20)
	if _, err := io.ReadFull(in, first); err != nil {
		t.Fatal(err)
	}
	close(half)
	rest, err := io.ReadAll(in)
	if got := string(first) + string(rest); err != nil || got != "part 0, part 1, part 2, part 3, part 4, part 5, part 6, part 7, part 8, part 9, " {
		t.Errorf("%q %v", got, err)
	}
	broken, err := newArchives(t.TempDir(), 1<<20, clock.System(), nil)
	if err != nil {
		t.Fatal(err)
	}
	broken.create = noFolder
	if _, err := broken.open(t.Context(), "key", func(context.Context, io.Writer) error { return ErrTimeout }); !errors.Is(err, ErrTimeout) {
		t.Errorf("what cannot be made at all: %v", err)
	}
}

// Who asks for what another waits for does not wait for that other's share.
func TestAnAnswerIsMadeWithTheShareOfWhoeverWantsIt(t *testing.T) {
	t.Parallel()
	s := openAt(t, func(c *Config) { c.CacheDir, c.MaxProcesses = t.TempDir(), 64 })
	r := newRepo(t, s, 1)
	other := newRepo(t, s, 2)
	tip := commitFiles(t, r, "main", "", content("a", "text"))
	greedy := fairshare.With(t.Context(), fairshare.Caller{Who: "greedy", From: "192.0.2.1"})
	for range 7 { // half of fourteen
		free, err := other.take(greedy, moving, other.cacheKey())
		if err != nil {
			t.Fatal(err)
		}
		defer free()
	}
	clone := func(ctx context.Context) error {
		w := fetchRequest{wants: []OID{tip}, rest: []string{"done"}}
		return r.Fetch(ctx, Fetch{Protocol: "version=2", Stateless: true, In: bytes.NewReader(w.command()), Out: io.Discard})
	}
	waits, leave := context.WithCancel(greedy)
	first := make(chan error, 1)
	go func() { first <- clone(waits) }()
	if err := clone(fairshare.With(t.Context(), fairshare.Caller{Who: "another", From: "192.0.2.2"})); err != nil {
		t.Error(err)
	}
	leave()
	<-first
}
