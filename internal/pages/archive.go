package pages

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"stithy/internal/artifact"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/sorting"
)

const (
	// maxFiles is how many files a site may have.
	maxFiles = 200_000
	// hugeSite bounds the bytes of a site where the instance sets no limit.
	hugeSite = 1 << 40
)

// siteFile is a file of a site on its way into the store.
type siteFile struct {
	artifact.Packed
	path   string
	start  int64 // among the packed bytes of the site
	digest [sha256.Size]byte
}

// store puts what is published into the store: the packed bytes of the files one after another, and an index that says which are where. What the
// archive holds beside the published folder is left out. Every file is unpacked on the way, so that what is served is what the archive said.
func (s *Service) store(ctx context.Context, d *Deployment) ([]siteFile, error) {
	root := rootDirectory(d.RootDirectory)
	if root == "" {
		return nil, refuse("%q is no folder below the job's archive; name one in pages:publish", d.RootDirectory)
	}
	handed, err := s.deps.Artifacts.Files(ctx, d.JobID)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(handed, func(f artifact.File) bool { return f.Type == artifact.Archive })
	if at < 0 {
		return nil, refuse("the job left no archive; name the folder %s in artifacts:paths", root)
	}
	files, err := s.published(ctx, handed[at], root)
	if err != nil {
		return nil, err
	}
	var packed int64
	for i := range files {
		packed += files[i].Packed.Packed
	}
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.pack(ctx, handed[at], files, writer)
		done <- err
		writer.CloseWithError(err)
	}()
	err = s.deps.Blobs.Put(ctx, d.BlobKey, reader, packed)
	_ = reader.CloseWithError(errors.New("the store takes no more"))
	if failed := readable(<-done); failed != nil && (err == nil || isRefusal(failed)) {
		return nil, failed
	}
	if err != nil {
		return nil, fmt.Errorf("storing a site: %w", err)
	}
	index := indexOf(files)
	if err := s.deps.Blobs.Put(ctx, indexKey(d.BlobKey), bytes.NewReader(index), int64(len(index))); err != nil {
		return nil, fmt.Errorf("storing the index of a site: %w", err)
	}
	return files, nil
}

func isRefusal(err error) bool { _, ok := errors.AsType[refusal](err); return ok }

// readable is a failure of reading an archive, as a refusal where the archive is to blame.
func readable(err error) error {
	if _, told := fault.Of(err); told && !errors.Is(err, blob.ErrUnavailable) {
		return refuse("the archive of the job cannot be read: %v", err)
	}
	return err
}

// published are the files of an archive below a folder, if all of them can be served.
func (s *Service) published(ctx context.Context, f artifact.File, root string) (files []siteFile, err error) {
	most := int64(hugeSite)
	if limit := s.deps.Settings.Current().MaxPagesSize; limit > 0 {
		most = int64(limit) << 20
	}
	left := most
	var bad error
	walked := s.deps.Artifacts.Walk(ctx, f, func(e artifact.Packed) bool {
		below, ok := strings.CutPrefix(e.Name, root+"/")
		switch {
		case !ok || e.Folder && e.Size == 0:
			return true
		case !e.Plain:
			bad = refuse("%q in the archive is a link, or no plain file; publish files only", shorten(e.Name))
		case len(files) >= maxFiles:
			bad = refuse("the site has more than %d files", maxFiles)
		case e.Size > left || e.Packed > most:
			bad = refuse("the site has more than %d MB, which is all that this instance publishes", most>>20)
		}
		left -= e.Size
		files = append(files, siteFile{Packed: e, path: below})
		return bad == nil
	})
	if err := readable(walked); err != nil || bad != nil {
		return nil, cmp.Or(err, bad)
	}
	if len(files) == 0 {
		return nil, refuse("the archive of the job has no files below %s; name the folder in pages:publish and in artifacts:paths", root)
	}
	sorting.By(files, func(a, b siteFile) int { return cmp.Compare(a.path, b.path) })
	for i := 1; i < len(files); i++ {
		if files[i].path == files[i-1].path {
			return nil, refuse("%q is twice in the archive", shorten(files[i].Name))
		}
	}
	return files, nil
}

func shorten(name string) string { return strings.ToValidUTF8(name[:min(len(name), 255)], "?") }

// pack writes the packed bytes of all files and notes where each begins.
func (s *Service) pack(ctx context.Context, f artifact.File, files []siteFile, to io.Writer) error {
	entries := make([]artifact.Packed, len(files))
	for i := range files {
		entries[i] = files[i].Packed
	}
	at := int64(0)
	return s.deps.Artifacts.Each(ctx, f, entries, func(i int, packed io.Reader) error {
		files[i].start = at
		at += files[i].Packed.Packed
		return files[i].check(io.TeeReader(packed, to))
	})
}

// check unpacks a file and refuses one that is not what the archive says, to the byte. It holds none of it.
func (f *siteFile) check(packed io.Reader) error {
	in := bufio.NewReader(packed)
	var from io.Reader = in
	if f.Deflated {
		from = flate.NewReader(in)
	}
	sum, crc := sha256.New(), crc32.NewIEEE()
	n, err := io.Copy(io.MultiWriter(sum, crc), io.LimitReader(from, f.Size+1))
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if err != nil && !corrupt && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	_, more := in.ReadByte()
	if err != nil || n != f.Size || crc.Sum32() != f.CRC32 || !errors.Is(more, io.EOF) {
		return refuse("%q in the archive is not what the archive says of it", shorten(f.Name))
	}
	copy(f.digest[:], sum.Sum(nil))
	return nil
}

// The index of a site has one record for each file, in the order of the digests of their paths: the digest of the path, the digest of the file, where its
// packed bytes begin, how many there are, how many bytes it has, its CRC, and how it is packed.
const (
	recordSize   = 64
	digestLength = 16
)

func indexKey(key string) string { return key + ".index" }

func pathDigest(path string) [digestLength]byte {
	sum := sha256.Sum256([]byte(path))
	return [digestLength]byte(sum[:digestLength])
}

func indexOf(files []siteFile) []byte {
	records := make([][recordSize]byte, len(files))
	for i := range files {
		f := &files[i]
		digest := pathDigest(f.path)
		b := append(records[i][:0], digest[:]...)
		b = append(b, f.digest[:digestLength]...)
		for _, n := range []int64{f.start, f.Packed.Packed, f.Size} {
			b = binary.BigEndian.AppendUint64(b, uint64(n))
		}
		b = binary.BigEndian.AppendUint32(b, f.CRC32)
		if f.Deflated {
			records[i][len(b)] = 1
		}
	}
	sorting.By(records, func(a, b [recordSize]byte) int { return bytes.Compare(a[:digestLength], b[:digestLength]) })
	index := make([]byte, 0, len(records)*recordSize)
	for i := range records {
		index = append(index, records[i][:]...)
	}
	return index
}

// Index finds the files of a site.
type Index []byte

// Entry is where a file of a site is.
type Entry struct {
	Start, Packed, Size int64
	CRC32               uint32
	Deflated            bool
	Digest              [digestLength]byte // of the file
}

// Find looks a path up.
func (x Index) Find(path string) (Entry, bool) {
	want := pathDigest(path)
	low, high := 0, len(x)/recordSize
	for low < high {
		middle := (low + high) / 2
		record := x[middle*recordSize : (middle+1)*recordSize]
		switch order := bytes.Compare(record[:digestLength], want[:]); {
		case order < 0:
			low = middle + 1
		case order > 0:
			high = middle
		default:
			number := func(at int) int64 { return int64(binary.BigEndian.Uint64(record[at:])) }
			return Entry{
				Digest: [digestLength]byte(record[digestLength:]), Start: number(32), Packed: number(40), Size: number(48),
				CRC32: binary.BigEndian.Uint32(record[56:]), Deflated: record[60] == 1,
			}, true
		}
	}
	return Entry{}, false
}

// Index reads the index of a deployment.
func (s *Service) Index(ctx context.Context, d *Shown) (Index, error) {
	body, err := s.deps.Blobs.Open(ctx, indexKey(d.BlobKey), 0, int64(d.Files)*recordSize)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	index := make(Index, d.Files*recordSize)
	_, err = io.ReadFull(body, index)
	return index, err
}

// Open reads packed bytes of a deployment.
func (s *Service) Open(ctx context.Context, d *Shown, start, length int64) (io.ReadCloser, error) {
	return s.deps.Blobs.Open(ctx, d.BlobKey, start, length)
}
