package gitstore

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/sorting"
)

// packCache keeps answers to clients that clone: what they get depends on what
// they ask for and on nothing else. Of many who ask for the same at once one
// makes the answer, and all read it while it is made.
//
// It knows nothing of rights: who is served was let in, and wants what it may
// see, before.
type packCache struct {
	folder
	most int64 // bytes

	mu      sync.Mutex
	answers map[string]*answer
	used    *list.List // of *answer that are whole, the one used last in front
	size    int64      // of those
	byRepo  map[string]int64
	held    int64 // of answers that were dropped and are still read: they fill the disk until then
}

// answer is a file of the cache.
type answer struct {
	key   string
	size  int64
	place *list.Element
	build *packBuild // nil when it is whole

	readers int // who have the whole file open
	dropped bool
}

// repo stands for the repository of an answer.
func (a *answer) repo() string { return a.key[:repoDigits] }

// packBuild is an answer that is being made.
type packBuild struct {
	file    *os.File
	readers int // under the lock of the cache
	cancel  context.CancelFunc
	callers *fairshare.Callers // all who read

	mu    sync.Mutex
	have  int64
	over  bool
	err   error         // why it is over, nil when it is whole
	grown chan struct{} // closed, and replaced, when any of these changed
}

// lookEvery is how often it is looked how far an answer has come. Git writes
// to the file by itself, in thousands of small pieces: to pass on each of them
// costs more than to make them.
const lookEvery = 10 * time.Millisecond

const (
	packCacheSize = 4 << 30
	// packShare of the cache is what one answer may fill. One that is larger is
	// given to those who wait for it, and not kept.
	packShare = 4
	// repoShare of the cache is what the answers of one repository may fill: filters make as many different ones of it as
	// somebody asks for.
	repoShare = 2
	// heldShare of the cache is what answers without a name, and those that are being made, may fill. Beyond that nothing is kept.
	heldShare = 2
	// repoDigits of a key stand for the repository.
	repoDigits = 16
	// unfinished begins the names of files that no other process may use.
	unfinished = "new-"
)

var packName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// openPackCache finds what earlier processes left.
func openPackCache(dir string, most int64, log *slog.Logger) (*packCache, error) {
	c := &packCache{folder: folder{dir: dir, create: createFile, log: log}, most: most, answers: map[string]*answer{}, used: list.New(), byRepo: map[string]int64{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of packs: %w", err)
	}
	inside, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the folder of packs: %w", err)
	}
	var found []fs.FileInfo
	for _, entry := range inside {
		info, err := entry.Info()
		switch {
		case err != nil: // it went in between
		case strings.HasPrefix(entry.Name(), unfinished):
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		case packName.MatchString(entry.Name()):
			found = append(found, info)
		}
	}
	sorting.By(found, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range found {
		a := &answer{key: info.Name(), size: info.Size()}
		c.answers[a.key] = a
		c.keep(a)
	}
	return c, nil
}

// packKey names the answer to a fetchRequest, the repository first. Tags that are to come along make it
// depend on where all of them point.
func (r *Repo) packKey(w *fetchRequest, refs []Ref) string {
	h := sha256.New()
	put(h, r.key.Storage, r.key.Path)
	repo := hex.EncodeToString(h.Sum(nil))[:repoDigits]
	for _, want := range w.wants {
		put(h, string(want))
	}
	rest := slices.Clone(w.rest)
	slices.Sort(rest)
	put(h, slices.Compact(rest)...) // what is said twice makes no other answer
	for _, ref := range refs {
		if w.tags && strings.HasPrefix(ref.Name, Tags) {
			put(h, ref.Name, string(ref.Target))
		}
	}
	return repo + hex.EncodeToString(h.Sum(nil))[repoDigits:]
}

func put(h hash.Hash, parts ...string) {
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
}

// serve gives an answer to one client, from the cache or while it is made. Where
// the cache cannot be written it is made for this client alone.
func (c *packCache) serve(ctx context.Context, key string, out io.Writer, produce producer) error {
	a, b, file, err := c.join(ctx, key, produce)
	if errors.Is(err, errNotKept) {
		return produce(ctx, out)
	}
	if err != nil {
		return err
	}
	if file != nil {
		defer c.close(a, file)
		return copyTo(out, file)
	}
	defer c.leave(a, b)
	sent, err := b.follow(ctx, out)
	if sent == 0 && errors.Is(err, errNotKept) {
		return produce(ctx, out)
	}
	return err
}

// join opens an answer, or takes part in making it.
func (c *packCache) join(ctx context.Context, key string, produce producer) (*answer, *packBuild, *os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.answers[key]
	if a != nil && a.build == nil {
		if file, err := os.Open(filepath.Join(c.dir, key)); err == nil {
			c.used.MoveToFront(a.place)
			a.readers++
			return a, nil, file, nil
		}
		c.drop(a) // somebody emptied the folder
		a = nil
	}
	if a == nil {
		if c.held+c.building() > c.most/heldShare {
			return nil, nil, nil, errNotKept
		}
		file, err := c.file(unfinished + "*")
		if err != nil {
			return nil, nil, nil, err
		}
		callers := fairshare.Of(ctx).Copy()
		a = &answer{key: key, build: &packBuild{file: file, grown: make(chan struct{}), callers: callers}}
		// It is made for all who wait, and ends with the last of them.
		ctx, cancel := context.WithCancel(fairshare.Share(context.WithoutCancel(ctx), callers))
		a.build.cancel = cancel
		c.answers[key] = a
		go c.build(ctx, a, a.build, produce)
	}
	a.build.readers++
	a.build.callers.Join(fairshare.Of(ctx))
	return a, a.build, nil, nil
}

// close ends the reading of a whole answer.
func (c *packCache) close(a *answer, file *os.File) {
	_ = file.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left(a)
}

// building is how much is written to answers that are being made.
func (c *packCache) building() (size int64) {
	for _, a := range c.answers {
		if a.build != nil {
			size += a.build.written()
		}
	}
	return size
}

// leave is called by whoever took part in making an answer.
func (c *packCache) leave(a *answer, b *packBuild) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.readers--
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		c.left(a)
	}
	if b.readers == 0 {
		b.cancel()
		if b.over {
			_ = b.file.Close()
		}
	}
}

// left counts one reader less of an answer that is no longer made.
func (c *packCache) left(a *answer) {
	if a.readers--; a.readers == 0 && a.dropped {
		c.held -= a.size
	}
}

// build makes an answer and keeps it, if it is whole and not too large.
func (c *packCache) build(ctx context.Context, a *answer, b *packBuild, produce producer) {
	ended := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { b.watch(ended) })
	err := produce(ctx, b.file)
	if diskFull(err) {
		err = c.failed(err)
	}
	close(ended)
	watcher.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	name := b.file.Name()
	a.readers = b.readers // they read on
	if a.size = b.have; err == nil && a.size <= c.most/packShare && os.Rename(name, filepath.Join(c.dir, a.key)) == nil {
		a.build = nil
		c.keep(a)
		c.kept()
	} else {
		delete(c.answers, a.key)
		_ = os.Remove(name)
		c.forget(a)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.err = true, err
	close(b.grown)
	if b.readers == 0 {
		_ = b.file.Close()
	}
}

// keep counts a whole answer, and lets those go that were not used for long: first of its repository, then of all.
func (c *packCache) keep(a *answer) {
	a.place = c.used.PushFront(a)
	c.size += a.size
	c.byRepo[a.repo()] += a.size
	for at := c.used.Back(); at != nil && c.byRepo[a.repo()] > c.most/repoShare; {
		old := at.Value.(*answer)
		at = at.Prev()
		if old.repo() == a.repo() {
			c.drop(old)
		}
	}
	for c.size+c.held > c.most && c.used.Len() > 0 {
		c.drop(c.used.Back().Value.(*answer))
	}
}

// drop forgets a whole answer. Those who read it have it open.
func (c *packCache) drop(a *answer) {
	c.used.Remove(a.place)
	c.size -= a.size
	if c.byRepo[a.repo()] -= a.size; c.byRepo[a.repo()] == 0 {
		delete(c.byRepo, a.repo())
	}
	delete(c.answers, a.key)
	_ = os.Remove(filepath.Join(c.dir, a.key))
	c.forget(a)
}

// forget notes that an answer has no name any more. Its bytes stay on the disk as long as somebody reads them.
func (c *packCache) forget(a *answer) {
	if a.dropped = true; a.readers > 0 {
		c.held += a.size
	}
}

// watch tells how far an answer has come until it has ended.
func (b *packBuild) watch(ended chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.look()
		case <-ended:
			b.look()
			return
		}
	}
}

func (b *packBuild) written() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.have
}

func (b *packBuild) look() {
	info, err := b.file.Stat()
	if err != nil {
		return // it is ours and open
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if info.Size() > b.have {
		b.have = info.Size()
		close(b.grown)
		b.grown = make(chan struct{})
	}
}

// buffers are for copying files to clients.
var buffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// copyTo copies in large pieces.
func copyTo(out io.Writer, in io.Reader) error {
	buffer := buffers.Get().(*[128 << 10]byte)
	defer buffers.Put(buffer)
	_, err := io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, buffer[:])
	return err
}

// follow copies an answer as it grows, and says how much it copied.
func (b *packBuild) follow(ctx context.Context, out io.Writer) (at int64, err error) {
	for {
		b.mu.Lock()
		have, over, err, grown := b.have, b.over, b.err, b.grown
		b.mu.Unlock()
		switch {
		case at < have:
			if err := copyTo(out, io.NewSectionReader(b.file, at, have-at)); err != nil {
				return have, err
			}
			at = have
		case over:
			return at, err
		default:
			select {
			case <-grown:
			case <-ctx.Done():
				return at, context.Cause(ctx)
			}
		}
	}
}

// diskFull reports whether git, or we, could not write.
func diskFull(err error) bool {
	failure, ok := errors.AsType[*commandError](err)
	return ok && errors.Is(failure.kind, ErrUnavailable) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}
