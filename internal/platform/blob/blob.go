// Package blob keeps large immutable things by key: in a folder on one box, in
// an S3 bucket where there are several nodes. A blob appears whole or not at
// all, and once Put returned it is durable. It knows neither what the bytes
// mean nor who may read them.
package blob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

var (
	// ErrNotFound says that there is no blob of that key.
	ErrNotFound = errors.New("blob: not found")
	// ErrSize says that a reader gave another number of bytes than was announced.
	ErrSize = errors.New("blob: size is not what was announced")
	// ErrUnavailable says that the store failed, not who asked: it cannot be
	// reached, or has no room. The same may work later.
	ErrUnavailable error = unavailable("blob: the store is not available")
)

// unavailable is an error of the store, which doors tell from one of the program.
type unavailable string

func (u unavailable) Error() string { return string(u) }
func (unavailable) Unavailable()    {}

// Info is what a store knows of a blob.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time
}

// Store keeps blobs. Its methods may be called at the same time.
type Store interface {
	// Put stores exactly size bytes of body under a key, in the place of what
	// may be there. A negative size is all that body gives. On any error, also
	// one of the body, nothing changes.
	Put(ctx context.Context, key string, body io.Reader, size int64) error
	// Open reads length bytes from offset on; a negative length is the rest.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Stat says whether a blob is there.
	Stat(ctx context.Context, key string) (Info, error)
	// Delete removes a blob. One that is not there is no error.
	Delete(ctx context.Context, key string) error
	// List is blobs whose keys begin with a prefix and come after a key, in
	// the order of their keys.
	List(ctx context.Context, prefix, after string, limit int) ([]Info, error)
	// Ping reports whether the store can be reached and written to, and is
	// still the one that was opened.
	Ping(ctx context.Context) error
	// Mark is what tells this store from others, "" where nobody marked it.
	Mark(ctx context.Context) (string, error)
	// SetMark marks the store.
	SetMark(ctx context.Context, mark string) error
	// Place is where the blobs are, for people. It holds no secret.
	Place() string
}

// markName is the mark in a store. No key begins with a dot.
const markName = ".mark"

// maxMark is more than any mark has.
const maxMark = 255

// readMark is the mark that a store holds under its name.
func readMark(body io.ReadCloser) (string, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxMark))
	return strings.TrimSpace(string(text)), errors.Join(err, body.Close())
}

// Open is the store that a URL names: file:///folder or
// s3://key:secret@host/bucket?region=r. Without one it is a folder of the data
// directory.
func Open(address, dataDir string) (Store, error) {
	s, err := open(address, dataDir)
	if err != nil {
		return nil, err
	}
	return blamed{s}, nil
}

func open(address, dataDir string) (Store, error) {
	if address == "" {
		return openFolder(filepath.Join(dataDir, "blobs"))
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("blob_url is not a URL") // the error would quote it, and with it a password
	}
	switch u.Scheme {
	case "file":
		return openFolder(filepath.FromSlash(u.Path))
	case "s3":
		return openBucket(u)
	}
	return nil, fmt.Errorf("blob_url: %s is none of file and s3", u.Scheme)
}

// blamed tells failures of the store from those of whoever asked.
type blamed struct{ Store }

func (b blamed) Put(ctx context.Context, key string, body io.Reader, size int64) error {
	seen := &checkedBody{from: body}
	err := b.Store.Put(ctx, key, seen, size)
	if seen.failed.Load() {
		return err
	}
	return blame(ctx, key, err)
}

func (b blamed) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	body, err := b.Store.Open(ctx, key, offset, length)
	return body, blame(ctx, key, err)
}

func (b blamed) Stat(ctx context.Context, key string) (Info, error) {
	info, err := b.Store.Stat(ctx, key)
	return info, blame(ctx, key, err)
}

func (b blamed) Delete(ctx context.Context, key string) error {
	return blame(ctx, key, b.Store.Delete(ctx, key))
}

// blame marks an error that is neither of the key, nor of what was sent, nor of
// somebody who did not wait.
func blame(ctx context.Context, key string, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrSize) || checkKey(key) != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// checkedBody knows whether a body failed by itself.
type checkedBody struct {
	from   io.Reader
	failed atomic.Bool // a client of HTTP may read on by itself
}

func (w *checkedBody) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.failed.Store(true)
	}
	return n, err
}

// maxKey leaves room for the folder that a key lies in.
const maxKey = 512

// checkKey refuses keys that could leave the store or mean two things. Keys
// are made by rooms; one that fails here is a mistake, not an input.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("blob: key of %d bytes", len(key))
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || strings.HasPrefix(part, ".") {
			return fmt.Errorf("blob: bad key %q", key)
		}
	}
	for _, c := range []byte(key) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("/-_.", rune(c)) {
			return fmt.Errorf("blob: bad key %q", key)
		}
	}
	return nil
}

// NewKey is a place in a folder that nobody guesses and nothing else has.
func NewKey(folder string) string {
	var random [32]byte
	_, _ = rand.Read(random[:])
	name := hex.EncodeToString(random[:])
	return folder + "/" + name[:2] + "/" + name[2:4] + "/" + name
}

// measured gives the bytes of a reader, as many as were announced.
func measured(body io.Reader, size int64) io.Reader {
	if size < 0 {
		return struct{ io.Reader }{body}
	}
	return &exactly{from: body, left: size}
}

// exactly gives the bytes of a reader and fails where these are not as many
// as announced. What follows the last byte is looked at together with it: who
// knows the size may not ask again.
type exactly struct {
	from io.Reader
	left int64
	done error
}

func (e *exactly) Read(p []byte) (n int, err error) {
	if e.done != nil {
		return 0, e.done
	}
	if e.left > 0 {
		n, err = e.from.Read(p[:min(int64(len(p)), e.left)])
		e.left -= int64(n)
		switch {
		case e.left == 0:
			err = nil
		case errors.Is(err, io.EOF):
			err = ErrSize
		}
	}
	if e.left == 0 && err == nil {
		if _, err = io.ReadFull(e.from, make([]byte, 1)); err == nil {
			err = ErrSize
		}
		if !errors.Is(err, io.EOF) {
			n = 0 // the end is withheld: who has all they wanted overlooks an error
		}
	}
	e.done = err
	return n, err
}
