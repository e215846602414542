package gitstore

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"stithy/internal/platform/clock"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/sorting"
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
	parts := []string{repo.Storage, repo.Path, string(o.Commit), string(o.Format), o.Prefix, o.Path}
	if o.Swap != nil {
		parts = append(parts, "", o.Swap.Name)
	}
	return fileKey(append(parts, o.Exclude...)...)
}

// fileKey is the name of a file that follows from parts.
func fileKey(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
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

// archives are files that can be made again: archives, and large blobs. Each is made once, however many ask for it, and may be read from its
// first byte on.
type archives struct {
	folder       // without a name it keeps nothing
	limit  int64 // bytes of all
	clock  clock.Clock

	mu     sync.Mutex
	making map[string]*spool
}

const (
	maxArchives = 4 << 30
	maxIdle     = 24 * time.Hour // an archive that nobody wanted for so long goes
	maxMaking   = time.Hour      // what is half made and older was left by a crash
)

func newArchives(dir string, limit int64, clock clock.Clock, log *slog.Logger) (*archives, error) {
	a := &archives{folder: folder{create: createFile, log: log}, limit: limit, clock: clock, making: map[string]*spool{}}
	if dir == "" {
		return a, nil
	}
	a.dir = filepath.Join(dir, "archives")
	return a, os.MkdirAll(a.dir, 0o700)
}

// producer writes an archive.
type producer func(context.Context, io.Writer) error

// open finds an archive or has it made. It returns when there is something to read, so that what cannot be made is an
// error and not an empty file. Where nothing can be kept the reader has it made alone.
func (a *archives) open(ctx context.Context, key string, produce producer) (io.ReadCloser, error) {
	found, reader, err := a.join(ctx, key, produce)
	switch {
	case errors.Is(err, errNotKept):
		return direct(ctx, produce, 0)
	case found != nil || err != nil:
		return found, err
	}
	if _, err := reader.ready(); errors.Is(err, errNotKept) {
		_ = reader.Close()
		return direct(ctx, produce, 0)
	} else if err != nil {
		_ = reader.Close()
		return nil, err
	}
	return reader, nil
}

// direct is what a producer writes behind the first bytes, and kept by nobody. The same is produced every time.
func direct(ctx context.Context, produce producer, skip int64) (io.ReadCloser, error) {
	ctx, stop := context.WithCancel(ctx)
	out, in := io.Pipe()
	go func() { _ = in.CloseWithError(produce(ctx, in)) }()
	r := &directReader{Reader: bufio.NewReader(out), stop: func() { stop(); _ = out.Close() }}
	_, err := io.CopyN(io.Discard, r, skip)
	if err == nil {
		if _, err = r.Peek(1); errors.Is(err, io.EOF) {
			err = nil // it is empty
		}
	}
	if err != nil {
		r.stop()
		return nil, noEOF(err)
	}
	return r, nil
}

type directReader struct {
	*bufio.Reader
	stop func()
}

func (r *directReader) Close() error {
	r.stop()
	return nil
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
		return nil, nil, a.failed(err)
	}
	s.readers++
	s.callers.Join(fairshare.Of(ctx))
	return nil, &spoolReader{spool: s, ctx: ctx, file: file, produce: produce,
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
	file, err := a.file("tmp-*")
	if err != nil {
		return nil, err
	}
	callers := fairshare.Of(ctx).Copy()
	ctx, stop := context.WithCancel(fairshare.Share(context.WithoutCancel(ctx), callers))
	s := &spool{file: file, stop: stop, callers: callers}
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
	if s.failed != nil {
		err = a.folder.failed(s.failed)
	}
	if err != nil || a.dir == "" {
		_ = os.Remove(s.file.Name())
		return err
	}
	now := a.clock.Now()
	_ = os.Chtimes(s.file.Name(), now, now)
	if err := os.Rename(s.file.Name(), filepath.Join(a.dir, key)); err != nil {
		_ = a.folder.failed(err) // who reads it has it open
		return nil
	}
	a.kept()
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
	sorting.By(files, func(x, y fs.FileInfo) int {
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
	callers *fairshare.Callers // all who read
	failed  error              // why the file could not be written; the producer's
	readers int                // guarded by archives.mu

	mu    sync.Mutex
	grown sync.Cond
	size  int64
	done  bool
	err   error
}

func (s *spool) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	s.count(n)
	if err != nil {
		s.failed = err
	}
	return n, err
}

// count lets readers have what was written. Until then it is in the file and not theirs.
func (s *spool) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size += int64(n)
	s.grown.Broadcast()
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

	produce producer
	rest    io.ReadCloser // what the file could not take
}

// ready waits for the next byte, the end, or the end of the reader's patience. It says how many bytes may be read; none
// is the end of the archive.
func (r *spoolReader) ready() (left int64, err error) {
	s := r.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	for r.at == s.size && !s.done && r.ctx.Err() == nil {
		s.grown.Wait()
	}
	switch {
	case r.ctx.Err() != nil:
		return 0, context.Cause(r.ctx)
	case r.at == s.size:
		return 0, s.err
	}
	return s.size - r.at, nil
}

// Read never takes more than was counted: the file may hold bytes whose count is still to come, and its end says
// nothing about the end of the archive.
func (r *spoolReader) Read(b []byte) (int, error) {
	if r.rest != nil {
		return r.rest.Read(b)
	}
	left, err := r.ready()
	switch {
	case errors.Is(err, errNotKept):
		if r.rest, err = direct(r.ctx, r.produce, r.at); err != nil {
			return 0, err
		}
		return r.rest.Read(b)
	case err != nil:
		return 0, err
	case left == 0:
		return 0, io.EOF
	}
	n, err := r.file.Read(b[:min(int64(len(b)), left)])
	r.at += int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (r *spoolReader) Close() error {
	r.awake()
	r.leave()
	if r.rest != nil {
		_ = r.rest.Close()
	}
	return r.file.Close()
}
