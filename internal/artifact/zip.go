package artifact

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/sorting"
	"stithy/internal/platform/unpack"
)

const (
	// maxDirectory is how many bytes the list of files of an archive may have.
	maxDirectory = 32 << 20
	// maxEntry is how large one file of an archive may be unpacked.
	maxEntry = 5 << 30
	// maxEntryName is as long as a path may be.
	maxEntryName = 4096
	// scanned is the size of a list up to which it is read from its beginning
	// for each name. A longer one has an index beside it.
	scanned = 1 << 20
)

var errNotZip = fault.WithReason(fault.Rejected, "the file is not an archive that can be read")

// goodName reports whether the name of an entry is a path below the archive,
// and nothing else to anyone who reads it.
func goodName(name string) bool {
	return len(name) <= maxEntryName && name != "." && utf8.ValidString(name) && fs.ValidPath(name) &&
		!strings.ContainsRune(name, '\\') && !strings.ContainsFunc(name, unicode.IsControl)
}

// readable reports whether an entry is a plain file that may be given out:
// neither a folder nor a link, not encrypted, and packed in a known way.
func readable(h *zip.FileHeader) bool {
	return goodName(h.Name) && h.Mode().IsRegular() && h.Flags&1 == 0 && (h.Method == zip.Store || h.Method == zip.Deflate)
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

// directory is the list of files of an archive: where it is, and how far the
// archive is shifted against the places that it names.
type directory struct {
	start, size, shift int64
}

// Sizes and signatures of the parts of an archive.
const (
	endLength     = 22
	endMark       = 0x06054b50
	end64Locator  = 20
	end64Length   = 56
	end64Mark     = 0x06064b50
	locatorMark   = 0x07064b50
	entryLength   = 46
	entryMark     = 0x02014b50
	localLength   = 30
	localMark     = 0x04034b50
	longestRemark = 1<<16 - 1
)

// part reads some bytes of a blob that has them.
func (s *Service) part(ctx context.Context, f File, offset, size int64) ([]byte, error) {
	if offset < 0 || size < 0 || offset > f.Size || size > f.Size-offset {
		return nil, errNotZip
	}
	body, err := s.deps.Blobs.Open(ctx, f.key, offset, size)
	if err != nil {
		return nil, s.lost(ctx, f, err)
	}
	defer func() { _ = body.Close() }()
	text := make([]byte, size)
	_, err = io.ReadFull(body, text)
	return text, told(err)
}

// directory finds the list of files at the end of an archive.
func (s *Service) directory(ctx context.Context, f File) (d directory, err error) {
	if f.Format != Zip {
		return d, errNotZip
	}
	from := max(0, f.Size-endLength-end64Locator-longestRemark)
	tail, err := s.part(ctx, f, from, f.Size-from)
	if err != nil {
		return d, err
	}
	at := endOf(tail)
	if at < 0 {
		return d, errNotZip
	}
	end := from + int64(at)
	size, offset := int64(binary.LittleEndian.Uint32(tail[at+12:])), int64(binary.LittleEndian.Uint32(tail[at+16:]))
	if at >= end64Locator && binary.LittleEndian.Uint32(tail[at-end64Locator:]) == locatorMark {
		where := binary.LittleEndian.Uint64(tail[at-end64Locator+8:])
		if where > 1<<62 {
			return d, errNotZip
		}
		more, err := s.part(ctx, f, int64(where), end64Length)
		if err != nil {
			return d, err
		}
		large, far := binary.LittleEndian.Uint64(more[40:]), binary.LittleEndian.Uint64(more[48:])
		if binary.LittleEndian.Uint32(more) != end64Mark || large > 1<<62 || far > 1<<62 {
			return d, errNotZip
		}
		end, size, offset = int64(where), int64(large), int64(far)
	}
	d = directory{start: end - size, size: size, shift: end - size - offset}
	if d.start < 0 || d.shift < 0 || size > maxDirectory {
		return d, errNotZip
	}
	return d, nil
}

// endOf is where the record at the end of an archive begins, -1 where there is
// none.
func endOf(tail []byte) int {
	for at := len(tail) - endLength; at >= 0; at-- {
		if binary.LittleEndian.Uint32(tail[at:]) == endMark && int(binary.LittleEndian.Uint16(tail[at+20:])) <= len(tail)-at-endLength {
			return at
		}
	}
	return -1
}

// listed is one entry of a list of files.
type listed struct {
	zip.FileHeader
	at   int64 // of the entry itself
	data int64 // of the head of what it is about
}

// entries hands over the entries of a list from a place on, one at a time,
// until no more are wanted. What take is given is good until it returns.
func (s *Service) entries(ctx context.Context, f File, d directory, from int64, take func(name []byte, e *listed) (more bool)) error {
	body, err := s.deps.Blobs.Open(ctx, f.key, from, d.start+d.size-from)
	if err != nil {
		return s.lost(ctx, f, err)
	}
	defer func() { _ = body.Close() }()
	budget := unpack.Budget{Bytes: maxDirectory, Entries: maxDirectory / entryLength}
	in := bufio.NewReaderSize(budget.Reader(body), 64<<10)
	var head [entryLength]byte
	var rest []byte
	var e listed // one for all: there may be many
	for at := from; at < d.start+d.size; {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return cutOff(err)
		}
		if binary.LittleEndian.Uint32(head[:]) != entryMark || budget.Entry() != nil {
			return errNotZip
		}
		half := func(n int) int { return int(binary.LittleEndian.Uint16(head[n:])) }
		word := func(n int) uint32 { return binary.LittleEndian.Uint32(head[n:]) }
		length := half(28) + half(30) + half(32)
		rest = slices.Grow(rest[:0], length)[:length]
		if _, err := io.ReadFull(in, rest); err != nil {
			return cutOff(err)
		}
		e = listed{at: at, data: int64(word(42)), FileHeader: zip.FileHeader{
			CreatorVersion: uint16(half(4)), Flags: uint16(half(8)), Method: uint16(half(10)), CRC32: word(16), CompressedSize64: uint64(word(20)),
			UncompressedSize64: uint64(word(24)), ExternalAttrs: word(38),
		}}
		if !e.widen(rest[half(28) : half(28)+half(30)]) {
			return errNotZip
		}
		e.data += d.shift
		at += entryLength + int64(length)
		if !take(rest[:half(28)], &e) {
			return nil
		}
	}
	return nil
}

// cutOff is why a list of files could not be read: the store is away, or the
// archive is none.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unpack.ErrTooMuch) {
		return errNotZip
	}
	return told(err)
}

// widen reads the numbers that did not fit into the entry itself.
func (e *listed) widen(extra []byte) bool {
	const none = 1<<32 - 1
	for len(extra) >= 4 {
		kind, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return true // as others do, what is not understood is left out
		}
		if field := extra[:n]; kind == 1 {
			far := uint64(e.data)
			for _, number := range []*uint64{&e.UncompressedSize64, &e.CompressedSize64, &far} {
				if *number != none {
					continue
				}
				if len(field) < 8 {
					return false
				}
				*number, field = binary.LittleEndian.Uint64(field), field[8:]
			}
			if far > 1<<62 {
				return false
			}
			e.data = int64(far)
		}
		extra = extra[n:]
	}
	return true
}

func (e *listed) entry() Entry {
	return Entry{Name: e.Name, Size: int64(min(e.UncompressedSize64, 1<<62)), ContentType: contentType(e.Name)}
}

// Entries are the plain files of an archive, in its order, up to a limit.
func (s *Service) Entries(ctx context.Context, f File, limit int) ([]Entry, error) {
	d, err := s.directory(ctx, f)
	if err != nil {
		return nil, err
	}
	var all []Entry
	err = s.entries(ctx, f, d, d.start, func(name []byte, e *listed) bool {
		if len(all) < limit {
			if e.Name = string(name); readable(&e.FileHeader) {
				all = append(all, e.entry())
			}
		}
		return len(all) < limit
	})
	return all, err
}

// find looks for a name in an archive. One that is there twice means nothing
// certain and is not found.
func (s *Service) find(ctx context.Context, f File, name string) (*listed, error) {
	d, err := s.directory(ctx, f)
	if err != nil {
		return nil, err
	}
	var found listed
	times := 0
	take := func(given []byte, e *listed) bool {
		if string(given) == name {
			times++
			found, found.Name = *e, name
		}
		return times < 2
	}
	if d.size <= scanned {
		err = s.entries(ctx, f, d, d.start, take)
	} else {
		var places []int64
		if places, err = s.places(ctx, f, d, name); err != nil {
			return nil, err
		}
		for _, at := range places {
			if err = s.entries(ctx, f, d, at, func(given []byte, e *listed) bool { take(given, e); return false }); err != nil {
				break
			}
		}
	}
	if err == nil && (times != 1 || !readable(&found.FileHeader)) {
		err = errNoFile
	}
	return &found, err
}

// The index of a long list of files has, for every name, a digest of it and
// where its entry is, in the order of the digests. Before that it says for each
// beginning of a digest with which record it begins.
const (
	fanBits    = 12
	fanLength  = (1<<fanBits + 1) * 4
	recordSize = 16
	// mostAlike is how many entries of one digest are looked at. Names do not
	// come to have the same by chance.
	mostAlike = 8
)

func nameIndexKey(f File) string { return f.key + ".names" }

func digestOf(name []byte) uint64 {
	sum := sha256.Sum256(name)
	return binary.BigEndian.Uint64(sum[:])
}

// places are where entries may be that have a name, by the index of the list.
// The first who asks makes it.
func (s *Service) places(ctx context.Context, f File, d directory, name string) ([]int64, error) {
	digest := digestOf([]byte(name))
	bucket := int64(digest >> (64 - fanBits))
	span, err := s.indexPart(ctx, f, bucket*4, 8)
	if errors.Is(err, blob.ErrNotFound) {
		if err = s.indexNames(ctx, f, d); err == nil {
			span, err = s.indexPart(ctx, f, bucket*4, 8)
		}
	}
	if err != nil {
		return nil, told(err)
	}
	from, to := int64(binary.BigEndian.Uint32(span)), int64(binary.BigEndian.Uint32(span[4:]))
	body, err := s.deps.Blobs.Open(ctx, nameIndexKey(f), fanLength+from*recordSize, (to-from)*recordSize)
	if err != nil {
		return nil, told(err)
	}
	defer func() { _ = body.Close() }()
	in := bufio.NewReader(body)
	var record [recordSize]byte
	var places []int64
	for range to - from {
		if _, err := io.ReadFull(in, record[:]); err != nil {
			return nil, told(err)
		}
		if binary.BigEndian.Uint64(record[:]) != digest {
			continue
		}
		if places = append(places, int64(binary.BigEndian.Uint64(record[8:]))); len(places) > mostAlike {
			return nil, errNoFile
		}
	}
	return places, nil
}

func (s *Service) indexPart(ctx context.Context, f File, offset, size int64) ([]byte, error) {
	body, err := s.deps.Blobs.Open(ctx, nameIndexKey(f), offset, size)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	text := make([]byte, size)
	_, err = io.ReadFull(body, text)
	return text, err
}

// indexNames makes the index of an archive and stores it beside it. One at a
// time on a node: who waited finds it made.
func (s *Service) indexNames(ctx context.Context, f File, d directory) error {
	leave, err := s.enter(ctx, f)
	if err != nil {
		return err
	}
	defer leave()
	if _, err := s.deps.Blobs.Stat(ctx, nameIndexKey(f)); err == nil {
		return nil
	}
	type record struct{ digest, at uint64 }
	var records []record
	if err := s.entries(ctx, f, d, d.start, func(name []byte, e *listed) bool {
		records = append(records, record{digestOf(name), uint64(e.at)})
		return true
	}); err != nil {
		return err
	}
	sorting.By(records, func(a, b record) int { return cmp.Or(cmp.Compare(a.digest, b.digest), cmp.Compare(a.at, b.at)) })
	fan := make([]byte, 0, fanLength)
	next := 0
	for bucket := range uint64(1 << fanBits) {
		for next < len(records) && records[next].digest>>(64-fanBits) < bucket {
			next++
		}
		fan = binary.BigEndian.AppendUint32(fan, uint32(next))
	}
	fan = binary.BigEndian.AppendUint32(fan, uint32(len(records)))
	next = 0
	rest := pieces(func(into []byte) []byte {
		for ; next < len(records) && cap(into)-len(into) >= recordSize; next++ {
			into = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(into, records[next].digest), records[next].at)
		}
		return into
	})
	if err := s.deps.Blobs.Put(ctx, nameIndexKey(f), io.MultiReader(bytes.NewReader(fan), rest), int64(fanLength+len(records)*recordSize)); err != nil {
		return fmt.Errorf("storing the index of an archive: %w", told(err))
	}
	return s.beside(ctx, f)
}

// pieces reads what a function appends to a buffer, until it appends nothing.
func pieces(fill func(into []byte) []byte) io.Reader {
	return &filled{fill: fill, buffer: make([]byte, 0, 64<<10)}
}

type filled struct {
	fill   func([]byte) []byte
	buffer []byte
	ready  []byte
}

func (f *filled) Read(p []byte) (int, error) {
	if len(f.ready) == 0 {
		if f.ready = f.fill(f.buffer[:0]); len(f.ready) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// Packed is one entry of an archive, as its list of files describes it. What is said of its bytes has not been checked.
type Packed struct {
	Name         string
	Packed, Size int64
	CRC32        uint32
	Deflated     bool
	Plain        bool // a file of a good name that can be read; links are none
	Folder       bool

	header int64
}

// Walk hands over the entries of an archive in the order of its list, until no more are wanted.
func (s *Service) Walk(ctx context.Context, f File, take func(Packed) (more bool)) error {
	d, err := s.directory(ctx, f)
	if err != nil {
		return err
	}
	return s.entries(ctx, f, d, d.start, func(name []byte, e *listed) bool {
		e.Name = string(name)
		return take(Packed{
			Name: e.Name, Packed: int64(min(e.CompressedSize64, 1<<62)), Size: int64(min(e.UncompressedSize64, 1<<62)), CRC32: e.CRC32,
			Deflated: e.Method == zip.Deflate, Plain: readable(&e.FileHeader), Folder: strings.HasSuffix(e.Name, "/"), header: e.data,
		})
	})
}

// Each hands over the packed bytes of some entries in one pass over the archive, in the order in which they lie there. An archive whose entries
// share bytes is refused: it could be far larger than it is.
func (s *Service) Each(ctx context.Context, f File, entries []Packed, take func(i int, packed io.Reader) error) error {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	sorting.By(order, func(a, b int) int { return cmp.Compare(entries[a].header, entries[b].header) })
	body, err := s.Open(ctx, f)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	in := bufio.NewReaderSize(body, 64<<10)
	skip := func(n int64) error { _, err := io.CopyN(io.Discard, in, n); return cutOff(err) }
	at := int64(0)
	for _, i := range order {
		e := &entries[i]
		if e.header < at || e.header > f.Size || e.Packed > f.Size {
			return errNotZip
		}
		if err := skip(e.header - at); err != nil {
			return err
		}
		var head [localLength]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return cutOff(err)
		}
		names := int64(binary.LittleEndian.Uint16(head[26:])) + int64(binary.LittleEndian.Uint16(head[28:]))
		if binary.LittleEndian.Uint32(head[:]) != localMark {
			return errNotZip
		}
		if err := skip(names); err != nil {
			return err
		}
		packed := &io.LimitedReader{R: in, N: e.Packed}
		if err := take(i, packed); err != nil {
			return err
		}
		if err := skip(packed.N); err != nil {
			return err
		}
		at = e.header + localLength + names + e.Packed
	}
	return nil
}

// OpenEntry reads one file of an archive, without the rest.
func (s *Service) OpenEntry(ctx context.Context, f File, name string) (io.ReadCloser, Entry, error) {
	if !goodName(name) {
		return nil, Entry{}, errNoFile
	}
	found, err := s.find(ctx, f, name)
	if err != nil {
		return nil, Entry{}, err
	}
	if found.UncompressedSize64 > maxEntry {
		return nil, Entry{}, errTooLarge
	}
	head, err := s.part(ctx, f, found.data, localLength)
	if err != nil {
		return nil, Entry{}, err
	}
	start := found.data + localLength + int64(binary.LittleEndian.Uint16(head[26:])) + int64(binary.LittleEndian.Uint16(head[28:]))
	packed := int64(min(found.CompressedSize64, 1<<62))
	if binary.LittleEndian.Uint32(head) != localMark || packed > f.Size-start {
		return nil, Entry{}, errNotZip
	}
	body, err := s.deps.Blobs.Open(ctx, f.key, start, packed)
	if err != nil {
		return nil, Entry{}, s.lost(ctx, f, err)
	}
	e := &entry{raw: body, from: body, left: int64(found.UncompressedSize64), crc: crc32.NewIEEE(), want: found.CRC32}
	if found.Method == zip.Deflate {
		e.from = flate.NewReader(body)
	}
	return e, found.entry(), nil
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
