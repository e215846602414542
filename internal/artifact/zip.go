package artifact

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
)

const (
	// maxDirectory is how many bytes of an archive may be read to find its
	// list of files.
	maxDirectory = 32 << 20
	// maxEntry is how large one file of an archive may be unpacked.
	maxEntry = 5 << 30
	// window is how much of a blob is fetched when some of it is wanted.
	window = 256 << 10
	// maxEntryName is as long as a path may be.
	maxEntryName = 4096
)

var (
	errNotZip    = fault.Because(fault.Rejected, "the file is not an archive that can be read")
	errDirectory = errors.New("artifact: the list of files is too long")
)

// goodName reports whether the name of an entry is a path below the archive,
// and nothing else to anyone who reads it.
func goodName(name string) bool {
	return len(name) <= maxEntryName && name != "." && utf8.ValidString(name) && fs.ValidPath(name) &&
		!strings.ContainsRune(name, '\\') && !strings.ContainsFunc(name, unicode.IsControl)
}

// readable reports whether an entry is a plain file that may be given out:
// neither a folder nor a link, not encrypted, and packed in a known way.
func readable(f *zip.File) bool {
	return goodName(f.Name) && f.Mode().IsRegular() && f.Flags&1 == 0 && (f.Method == zip.Store || f.Method == zip.Deflate)
}

// safeTypes are shown by a browser without running anything.
var safeTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".txt": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8",
	".json": "application/json", ".csv": "text/plain; charset=utf-8",
}

// contentType is what a file may be called on the main origin. What a browser
// could run is bytes, whatever its name says.
func contentType(name string) string {
	if t, ok := safeTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}

// list reads the list of files of an archive.
func (s *Service) list(ctx context.Context, f File) (*zip.Reader, error) {
	if f.Format != Zip {
		return nil, errNotZip
	}
	at := &windowed{ctx: ctx, blobs: s.Blobs, key: f.key, size: f.Size, left: maxDirectory}
	r, err := zip.NewReader(at, f.Size)
	switch {
	case at.failed != nil:
		return nil, told(at.failed)
	case errors.Is(err, zip.ErrInsecurePath):
		err = nil // each name is judged when it is asked for
	case err != nil:
		return nil, errNotZip
	}
	at.left = maxDirectory // for the head of the entry
	return r, err
}

// Entries are the plain files of an archive, in its order, up to a limit.
func (s *Service) Entries(ctx context.Context, f File, limit int) ([]Entry, error) {
	r, err := s.list(ctx, f)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, z := range r.File {
		if len(entries) == limit {
			break
		}
		if readable(z) {
			entries = append(entries, entryOf(z))
		}
	}
	return entries, nil
}

func entryOf(z *zip.File) Entry {
	return Entry{Name: z.Name, Size: int64(min(z.UncompressedSize64, 1<<62)), ContentType: contentType(z.Name)}
}

// OpenEntry reads one file of an archive, without the rest. A name that the
// archive has twice means nothing certain and is not given out.
func (s *Service) OpenEntry(ctx context.Context, f File, name string) (io.ReadCloser, Entry, error) {
	if !goodName(name) {
		return nil, Entry{}, errNoFile
	}
	r, err := s.list(ctx, f)
	if err != nil {
		return nil, Entry{}, err
	}
	var found *zip.File
	for _, z := range r.File {
		if z.Name != name {
			continue
		}
		if found != nil {
			return nil, Entry{}, errNoFile
		}
		found = z
	}
	if found == nil || !readable(found) {
		return nil, Entry{}, errNoFile
	}
	if found.UncompressedSize64 > maxEntry {
		return nil, Entry{}, errTooLarge
	}
	start, err := found.DataOffset()
	packed := int64(min(found.CompressedSize64, 1<<62))
	if err != nil || start < 0 || packed > f.Size-start {
		return nil, Entry{}, errNotZip
	}
	body, err := s.Blobs.Open(ctx, f.key, start, packed)
	if err != nil {
		return nil, Entry{}, told(err)
	}
	e := &entry{raw: body, from: body, left: int64(found.UncompressedSize64), crc: crc32.NewIEEE(), want: found.CRC32}
	if found.Method == zip.Deflate {
		e.from = flate.NewReader(body)
	}
	return e, entryOf(found), nil
}

// entry unpacks a file and fails where it is not what the archive said.
type entry struct {
	raw  io.Closer
	from io.Reader
	left int64
	crc  hash.Hash32
	want uint32
}

func (e *entry) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.left -= int64(n)
	e.crc.Write(p[:n])
	switch {
	case e.left < 0:
		return 0, zip.ErrFormat
	case errors.Is(err, io.EOF) && e.left > 0:
		return n, io.ErrUnexpectedEOF
	case errors.Is(err, io.EOF) && e.crc.Sum32() != e.want:
		return n, zip.ErrChecksum
	}
	return n, err
}

func (e *entry) Close() error { return e.raw.Close() }

// windowed reads a blob in parts, each once for many small reads, and not
// more than it may.
type windowed struct {
	ctx    context.Context
	blobs  blob.Store
	key    string
	size   int64
	left   int64
	start  int64
	have   []byte
	failed error // of the store, not of the archive
}

func (w *windowed) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 || offset >= w.size {
		return 0, io.EOF
	}
	read := 0
	for read < len(p) && offset < w.size {
		if offset < w.start || offset >= w.start+int64(len(w.have)) {
			if err := w.fetch(offset, int64(len(p)-read)); err != nil {
				return read, err
			}
		}
		n := copy(p[read:], w.have[offset-w.start:])
		read, offset = read+n, offset+int64(n)
	}
	if read < len(p) {
		return read, io.EOF
	}
	return read, nil
}

func (w *windowed) fetch(offset, want int64) error {
	n := min(max(want, window), w.size-offset)
	if w.left -= n; w.left < 0 {
		return errDirectory
	}
	body, err := w.blobs.Open(w.ctx, w.key, offset, n)
	if err == nil {
		have := make([]byte, n)
		_, err = io.ReadFull(body, have)
		_ = body.Close()
		w.start, w.have = offset, have
	}
	if errors.Is(err, blob.ErrNotFound) {
		err = errNoFile
	}
	if err != nil {
		w.failed, w.have = err, nil
	}
	return err
}
