package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"stithy/internal/platform/sorting"
)

// incoming is where blobs wait until they are whole. No key begins with a dot.
const incoming = ".incoming"

// abandoned is how old an unfinished blob is before it is swept: longer than
// any upload takes.
const abandoned = 48 * time.Hour

// folder keeps each blob as a file whose path is its key. os.Root sees to it
// that no key and no link leads out.
type folder struct {
	root  *os.Root
	dir   string               // where root was opened
	fsync func(*os.File) error // makes a file or the names in a folder durable
}

func openFolder(dir string) (Store, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of blobs: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of blobs: %w", err)
	}
	f := &folder{root: root, dir: dir, fsync: (*os.File).Sync}
	if err := root.MkdirAll(incoming, 0o750); err != nil {
		return nil, err
	}
	return f, f.sweep()
}

// sweep removes what uploads left behind that a crash ended.
func (f *folder) sweep() error {
	entries, err := fs.ReadDir(f.root.FS(), incoming)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > abandoned {
			err = f.root.Remove(path.Join(incoming, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *folder) Put(ctx context.Context, key string, body io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return f.put(ctx, key, body, size)
}

// create opens a new file to write to. The folder of unfinished blobs is made
// again if somebody tidied it away.
func (f *folder) create() (name string, file *os.File, err error) {
	name = path.Join(incoming, rand.Text())
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if file, err = f.root.OpenFile(name, flags, 0o640); !errors.Is(err, fs.ErrNotExist) {
		return name, file, err
	}
	if err = f.root.MkdirAll(incoming, 0o750); err == nil {
		file, err = f.root.OpenFile(name, flags, 0o640)
	}
	return name, file, err
}

func (f *folder) put(ctx context.Context, key string, body io.Reader, size int64) error {
	name, file, err := f.create()
	if err != nil {
		return err
	}
	defer func() { _ = f.root.Remove(name) }() // gone already when it became the blob
	_, err = io.Copy(file, measured(&cancellable{ctx: ctx, from: body}, size))
	if err == nil {
		err = f.fsync(file)
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("writing a blob: %w", err)
	}
	if err := f.root.MkdirAll(path.Dir(key), 0o750); err != nil {
		return err
	}
	if err := f.root.Rename(name, key); err != nil {
		return err
	}
	return f.sync(key)
}

// sync makes the names on the way to a key durable.
func (f *folder) sync(key string) error {
	for dir := path.Dir(key); ; dir = path.Dir(dir) {
		d, err := f.root.Open(dir)
		if err != nil {
			return err
		}
		err = f.fsync(d)
		if closing := d.Close(); err == nil {
			err = closing
		}
		if err != nil || dir == "." {
			return err
		}
	}
}

func (f *folder) Open(_ context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	file, err := f.root.Open(key)
	if err != nil {
		return nil, missing(err)
	}
	if offset > 0 {
		if _, err := file.Seek(offset, io.SeekStart); err != nil {
			_ = file.Close()
			return nil, err
		}
	}
	if length < 0 {
		return file, nil // a file is copied to a socket without passing through us
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(file, length), file}, nil
}

func (f *folder) Stat(_ context.Context, key string) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	info, err := f.root.Stat(key)
	if err != nil {
		return Info{}, missing(err)
	}
	if !info.Mode().IsRegular() {
		return Info{}, ErrNotFound
	}
	return Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

func (f *folder) Delete(_ context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := f.root.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List reads the folders that can hold a match. Keys in a folder are in the
// order of their names with a "/" behind those of folders.
func (f *folder) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	var found []Info
	err := f.list(ctx, "", prefix, after, limit, &found)
	return found, err
}

func (f *folder) list(ctx context.Context, dir, prefix, after string, limit int, found *[]Info) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(f.root.FS(), path.Clean("./"+dir))
	if err != nil {
		return missing(err)
	}
	name := func(e fs.DirEntry) string {
		if e.IsDir() {
			return dir + e.Name() + "/"
		}
		return dir + e.Name()
	}
	sorting.By(entries, func(a, b fs.DirEntry) int { return strings.Compare(name(a), name(b)) })
	for _, e := range entries {
		key := name(e)
		switch {
		case len(*found) == limit:
			return nil
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			last := key + "\xff" // behind everything in it
			if last > after && (strings.HasPrefix(key, prefix) || strings.HasPrefix(prefix, key)) {
				if err := f.list(ctx, key, prefix, after, limit, found); err != nil && !errors.Is(err, ErrNotFound) {
					return err
				}
			}
		case key > after && strings.HasPrefix(key, prefix):
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			*found = append(*found, Info{Key: key, Size: info.Size(), Modified: info.ModTime()})
		}
	}
	return nil
}

// Ping also fails where another disk was mounted over the folder: what is
// written to the old one would not be found by the next process.
func (f *folder) Ping(context.Context) error {
	opened, err := f.root.Stat(".")
	if err != nil {
		return err
	}
	named, err := os.Stat(f.dir)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return fmt.Errorf("%s is not the folder that was opened", f.dir)
	}
	name, file, err := f.create()
	if err != nil {
		return err
	}
	_ = file.Close()
	return f.root.Remove(name)
}

func (f *folder) Mark(context.Context) (string, error) {
	file, err := f.root.Open(markName)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return readMark(file)
}

func (f *folder) SetMark(ctx context.Context, mark string) error {
	return f.put(ctx, markName, strings.NewReader(mark), int64(len(mark)))
}

func (f *folder) Place() string { return "the folder " + f.dir }

func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return ErrNotFound
	}
	return err
}

// cancellable ends a copy when the context does.
type cancellable struct {
	ctx  context.Context
	from io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.from.Read(p)
}
