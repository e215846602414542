package gitstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"stithy/internal/platform/clock"
)

// Format is the form of an archive.
type Format string

const (
	Zip    Format = "zip"
	Tar    Format = "tar"
	TarGz  Format = "tar.gz"
	TarBz2 Format = "tar.bz2"
)

// ArchiveOptions say what goes into an archive.
type ArchiveOptions struct {
	Commit  OID
	Path    string // "" is everything
	Exclude []string
	Prefix  string // directory inside
	Format  Format
	Swap    *Swap // nil leaves every file as it is
}

// Archive opens an archive, from the cache or while it is made; ErrNotFound when the path is not there. Who asks for
// one that is being made reads along. The cache is keyed by repository and ids; authorise before.
func (r *Repo) Archive(ctx context.Context, o ArchiveOptions) (io.ReadCloser, error) {
	c, err := o.call()
	if err != nil {
		return nil, err
	}
	if _, err := r.Find(ctx, o.Commit, o.Path); err != nil {
		return nil, err
	}
	return r.store.archives.open(ctx, o.key(r.key), func(ctx context.Context, w io.Writer) error {
		switch {
		case o.Swap != nil:
			return r.swapped(ctx, o, c, w)
		case o.Format == TarBz2:
			return r.bzip2(ctx, c, w)
		}
		return r.run(ctx, c, w)
	})
}

func (o ArchiveOptions) call() (call, error) {
	c := call{class: archiving, sub: "archive", args: []string{string(o.Commit)}}
	switch o.Format {
	case Zip, Tar, TarGz: // git's own gzip is as good as any, and in one process with the rest
		c.flags = []string{"--format=" + string(o.Format)}
	case TarBz2:
		c.flags = []string{"--format=tar"}
	default:
		return c, fmt.Errorf("%w: no such format", ErrInvalid)
	}
	if o.Swap != nil {
		c.flags = []string{"--format=tar"}
	}
	if err := checkIDs([]OID{o.Commit}); err != nil {
		return c, err
	}
	if prefix := strings.TrimSuffix(o.Prefix, "/"); prefix != "" {
		if strings.HasPrefix(prefix, "/") || slices.Contains(strings.Split(prefix, "/"), "..") {
			return c, fmt.Errorf("%w: a prefix that leads out", ErrInvalid)
		}
		c.flags = append(c.flags, "--prefix="+prefix+"/")
	}
	if o.Path != "" {
		c.paths = []string{o.Path}
	}
	if len(o.Exclude) > 0 {
		// Without the magic of pathspecs nothing can be left out, so every path says that it is meant literally.
		c.env = []string{"GIT_LITERAL_PATHSPECS=0"}
		c.paths = []string{":(top,literal)" + o.Path}
		for _, path := range o.Exclude {
			c.paths = append(c.paths, ":(top,exclude,literal)"+path)
		}
	}
	return c, nil
}

func (o ArchiveOptions) key(repo Key) string {
	sum := sha256.New()
	parts := []string{repo.Storage, repo.Path, string(o.Commit), string(o.Format), o.Prefix, o.Path}
	if o.Swap != nil {
		parts = append(parts, "", o.Swap.Name)
	}
	for _, part := range append(parts, o.Exclude...) {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// bzip2 packs what a command writes.
func (r *Repo) bzip2(ctx context.Context, c call, w io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tar, err := r.stream(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = tar.Close() }()
	return bzip2(ctx, tar, w)
}

// bzip2 packs what is read.
func bzip2(ctx context.Context, from io.Reader, w io.Writer) error {
	cmd := exec.CommandContext(ctx, "bzip2", "-c")
	cmd.Env = []string{"LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// What went wrong with git is told by its reader, whether bzip2 made something of it or not.
	in := &failing{Reader: from}
	cmd.Stdin, cmd.Stdout = in, w
	if err := cmd.Run(); err != nil || in.err != nil {
		return fmt.Errorf("packing an archive: %w", errors.Join(in.err, err))
	}
	return nil
}

// failing remembers why reading ended.
type failing struct {
	io.Reader
	err error
}

func (f *failing) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// archives are files that can be made again. Each is made once, however many ask for it, and may be read from its
// first byte on.
type archives struct {
	dir   string // "" keeps nothing
	limit int64  // bytes of all
	clock clock.Clock

	mu     sync.Mutex
	making map[string]*spool
}

const (
	maxArchives = 4 << 30
	maxIdle     = 24 * time.Hour // an archive that nobody wanted for so long goes
	maxMaking   = time.Hour      // what is half made and older was left by a crash
)

func newArchives(dir string, limit int64, clock clock.Clock) (*archives, error) {
	a := &archives{limit: limit, clock: clock, making: map[string]*spool{}}
	if dir == "" {
		return a, nil
	}
	a.dir = filepath.Join(dir, "archives")
	return a, os.MkdirAll(a.dir, 0o700)
}

// producer writes an archive.
type producer func(context.Context, io.Writer) error

// open finds an archive or has it made. It returns when there is something to read, so that what cannot be made is an
// error and not an empty file.
func (a *archives) open(ctx context.Context, key string, produce producer) (io.ReadCloser, error) {
	found, reader, err := a.join(ctx, key, produce)
	if found != nil || err != nil {
		return found, err
	}
	if err := reader.ready(); err != nil {
		_ = reader.Close()
		return nil, err
	}
	return reader, nil
}

// join opens a finished archive, or one that is being made.
func (a *archives) join(ctx context.Context, key string, produce producer) (found io.ReadCloser, growing *spoolReader, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.making[key]
	if s == nil && a.dir != "" {
		if f, err := os.Open(filepath.Join(a.dir, key)); err == nil {
			now := a.clock.Now()
			_ = os.Chtimes(f.Name(), now, now) // it stays the longer
			return f, nil, nil
		}
	}
	if s == nil {
		if s, err = a.begin(ctx, key, produce); err != nil {
			return nil, nil, err
		}
	}
	file, err := os.Open(s.file.Name())
	if err != nil {
		return nil, nil, fmt.Errorf("reading an archive: %w", err)
	}
	s.readers++
	return nil, &spoolReader{spool: s, ctx: ctx, file: file,
		awake: context.AfterFunc(ctx, s.wake),
		leave: sync.OnceFunc(func() { a.leave(key, s) }),
	}, nil
}

// leave ends the making of what nobody reads any more.
func (a *archives) leave(key string, s *spool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.readers--; s.readers == 0 && a.making[key] == s {
		delete(a.making, key)
		s.stop()
	}
}

// begin starts making an archive. It outlives the request that asked first, as long as anybody reads.
func (a *archives) begin(ctx context.Context, key string, produce producer) (*spool, error) {
	file, err := os.CreateTemp(a.dir, "tmp-*")
	if err != nil {
		return nil, fmt.Errorf("making an archive: %w: %w", ErrUnavailable, err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &spool{file: file, stop: stop}
	s.grown.L = &s.mu
	a.making[key] = s
	go func() {
		defer stop()
		err := produce(ctx, s)
		s.finish(a.end(key, s, err))
	}()
	return s, nil
}

// end gives a whole archive its place and removes any other.
func (a *archives) end(key string, s *spool, err error) error {
	defer s.file.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.making[key] == s {
		delete(a.making, key)
	}
	if err != nil || a.dir == "" {
		_ = os.Remove(s.file.Name())
		return err
	}
	now := a.clock.Now()
	_ = os.Chtimes(s.file.Name(), now, now)
	if err := os.Rename(s.file.Name(), filepath.Join(a.dir, key)); err != nil {
		return err
	}
	a.sweep(now)
	return nil
}

// sweep removes what nobody wanted for long, more where there is too much, and what a crash left half made.
func (a *archives) sweep(now time.Time) {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	var sum int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			sum += info.Size()
		}
	}
	slices.SortFunc(files, func(x, y fs.FileInfo) int {
		return cmp.Or(x.ModTime().Compare(y.ModTime()), strings.Compare(x.Name(), y.Name()))
	})
	for _, f := range files {
		age := now.Sub(f.ModTime())
		old := age > maxIdle || sum > a.limit
		if strings.HasPrefix(f.Name(), "tmp-") {
			old = age > maxMaking
		}
		if old && os.Remove(filepath.Join(a.dir, f.Name())) == nil {
			sum -= f.Size()
		}
	}
}

// spool is a file that is written once and read by many meanwhile.
type spool struct {
	file    *os.File
	stop    func()
	readers int // guarded by archives.mu

	mu    sync.Mutex
	grown sync.Cond
	size  int64
	done  bool
	err   error
}

func (s *spool) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size += int64(n)
	s.grown.Broadcast()
	return n, err
}

func (s *spool) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.err = true, err
	s.grown.Broadcast()
}

func (s *spool) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grown.Broadcast()
}

type spoolReader struct {
	spool *spool
	ctx   context.Context
	file  *os.File
	at    int64
	awake func() bool // stops watching the context
	leave func()
}

// ready waits for the next byte, the end, or the end of the reader's patience.
func (r *spoolReader) ready() error {
	s := r.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	for r.at == s.size && !s.done && r.ctx.Err() == nil {
		s.grown.Wait()
	}
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case r.at == s.size:
		return s.err
	}
	return nil
}

func (r *spoolReader) Read(b []byte) (int, error) {
	if err := r.ready(); err != nil {
		return 0, err
	}
	n, err := r.file.Read(b) // its end is the end: all is written by now
	r.at += int64(n)
	return n, err
}

func (r *spoolReader) Close() error {
	r.awake()
	r.leave()
	return r.file.Close()
}
