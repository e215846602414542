package gitstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"

	"stithy/internal/platform/memory"
)

// caches are what a store keeps in memory besides objects. All of it follows from object ids. The repository is part of
// each key, too: an id from one repository must not give what is in another.
type caches struct {
	archives *archives
	diffs    *resultCache[*Diff]
	logs     *resultCache[logPage]
	stats    *resultCache[Stats]
	known    *resultCache[string]
	blobs    *resultCache[int64] // sizes
}

func openCaches(c Config) (caches, error) {
	archives, err := newArchives(c.CacheDir, maxArchives, c.Clock, c.Log)
	return caches{
		archives: archives,
		diffs:    newResultCache(64<<20, (*Diff).bytes),
		logs:     newResultCache(16<<20, logPage.bytes),
		stats:    newResultCache(8<<20, func(Stats) int { return 0 }),
		known:    newResultCache(8<<20, func(s string) int { return len(s) }),
		blobs:    newResultCache(8<<20, func(int64) int { return 0 }),
	}, err
}

// resultCache keeps what was computed from objects, which never changes. It is bounded by bytes.
type resultCache[V any] = memory.Cache[V]

// within is the key of something of a repository.
func (k Key) within(name string) memory.Key {
	return memory.Key{Place: k.Storage, Path: k.Path, Name: name}
}

// overhead is about how many bytes a result costs besides its content.
const overhead = 300

func newResultCache[V any](limit uint64, size func(V) int) *resultCache[V] {
	return memory.New(limit, func(k memory.Key, v V) uint32 { return uint32(overhead + len(k.Name) + size(v)) })
}

// remember computes a result once. Results from a quarantine are not kept: its push may be refused.
func remember[V any](r *Repo, cache *resultCache[V], text string, compute func() (V, error)) (V, error) {
	key := r.key.within(text)
	if v, known := cache.Get(key); known {
		return v, nil
	}
	v, err := compute()
	if err == nil && r.quarantine == (Quarantine{}) {
		cache.Set(key, v)
	}
	return v, err
}

// folder is where a cache keeps its files. If they cannot be written, clients are still answered, without the cache.
type folder struct {
	dir    string
	create func(dir, pattern string) (*os.File, error)
	log    *slog.Logger
	full   atomic.Bool // nothing could be written the last time
}

// spare is how many bytes caches leave free on a disk, for pushes.
const spare = 64 << 20

// errNotKept says that the cache could not take what was made.
var errNotKept = errors.New("gitstore: the cache cannot be written")

func createFile(dir, pattern string) (*os.File, error) {
	var disk syscall.Statfs_t
	if dir != "" && syscall.Statfs(dir, &disk) == nil && int64(disk.Bavail)*disk.Bsize < spare {
		return nil, fmt.Errorf("less than %d MiB are free", spare>>20)
	}
	return os.CreateTemp(dir, pattern)
}

// file makes a file, or says why nothing can be kept.
func (f *folder) file(pattern string) (*os.File, error) {
	file, err := f.create(f.dir, pattern)
	if err != nil {
		return nil, f.failed(err)
	}
	return file, nil
}

// failed notes that the cache cannot be written. That is logged once, until a file is written again.
func (f *folder) failed(err error) error {
	if !f.full.Swap(true) && f.log != nil {
		f.log.Warn("writing to the cache of git; answers are made anew for everyone", "folder", f.dir, "error", err)
	}
	return fmt.Errorf("%w: %w", errNotKept, err)
}

func (f *folder) kept() { f.full.Store(false) }
