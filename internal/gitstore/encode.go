package gitstore

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // the id of an object is defined by it
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/platform/sorting"
)

// object is one to be written.
type object struct {
	id   OID
	kind Kind
	data []byte
}

// newObject names its content.
func newObject(kind Kind, data []byte) object {
	h := sha1.New() //nolint:gosec // the id of an object is defined by it
	h.Write(strconv.AppendInt(append([]byte(kind), ' '), int64(len(data)), 10))
	h.Write([]byte{0})
	h.Write(data)
	return object{id: OID(hex.EncodeToString(h.Sum(nil))), kind: kind, data: data}
}

// treeObject encodes the entries of one directory; of their paths the last part counts.
func treeObject(entries []Entry) (object, error) {
	sorted := slices.Clone(entries)
	sorting.By(sorted, inTreeOrder)
	var data []byte
	for _, e := range sorted {
		id, err := hex.DecodeString(string(e.ID))
		if err != nil || len(id) != sha1.Size {
			return object{}, fmt.Errorf("%w: %q is no object id", ErrInvalid, e.ID)
		}
		data = strconv.AppendUint(data, uint64(e.Mode), 8)
		data = append(data, ' ')
		data = append(data, e.Name()...)
		data = append(data, 0)
		data = append(data, id...)
	}
	return newObject(TreeKind, data), nil
}

// inTreeOrder compares as git does: the name of a directory ends in a slash.
func inTreeOrder(a, b Entry) int {
	x, y := a.Name(), b.Name()
	n := min(len(x), len(y))
	if c := strings.Compare(x[:n], y[:n]); c != 0 {
		return c
	}
	return cmp.Compare(treeByte(x, n, a.Mode), treeByte(y, n, b.Mode))
}

func treeByte(name string, i int, m Mode) byte {
	switch {
	case i < len(name):
		return name[i]
	case m == DirMode:
		return '/'
	}
	return 0
}

// commitObject encodes a commit. A message is kept byte for byte, save that git allows no NUL in it.
func commitObject(tree OID, parents []OID, author, committer Signature, message string) (object, error) {
	if strings.IndexByte(message, 0) >= 0 {
		return object{}, fmt.Errorf("%w: NUL in a message", ErrInvalid)
	}
	var b bytes.Buffer
	b.WriteString("tree " + string(tree) + "\n")
	for _, p := range parents {
		if !IsOID(string(p)) {
			return object{}, fmt.Errorf("%w: %q is no object id", ErrInvalid, p)
		}
		b.WriteString("parent " + string(p) + "\n")
	}
	b.WriteString("author " + author.encode() + "\n")
	b.WriteString("committer " + committer.encode() + "\n\n")
	b.WriteString(message)
	return newObject(CommitKind, b.Bytes()), nil
}

func tagObject(name string, target Object, tagger Signature, message string) (object, error) {
	if strings.ContainsAny(name, "\n\x00") || strings.IndexByte(message, 0) >= 0 {
		return object{}, fmt.Errorf("%w: NUL in a message or a name of two lines", ErrInvalid)
	}
	var b bytes.Buffer
	b.WriteString("object " + string(target.ID) + "\ntype " + string(target.Kind) + "\ntag " + name + "\n")
	b.WriteString("tagger " + tagger.encode() + "\n\n")
	b.WriteString(message)
	if !strings.HasSuffix(message, "\n") {
		b.WriteByte('\n')
	}
	return newObject(TagKind, b.Bytes()), nil
}

// encode writes the line as git would: what could end a name or an address early is left out.
func (s Signature) encode() string {
	seconds := max(s.When.Unix(), 0)
	_, offset := s.When.Zone()
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	minutes := offset / int(time.Minute/time.Second)
	return fmt.Sprintf("%s <%s> %d %c%02d%02d", withoutCrud(s.Name), withoutCrud(s.Email), seconds, sign, minutes/60, minutes%60)
}

// withoutCrud is git's own cleaning of a name.
func withoutCrud(s string) string {
	s = strings.TrimFunc(s, func(c rune) bool { return c <= ' ' || strings.ContainsRune(`.,:;<>"\'`, c) })
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '<' || c == '>' || c == 0 {
			return -1
		}
		return c
	}, s)
}

// writePack writes objects as a pack, each once, whole and without deltas.
func writePack(w io.Writer, objects []object, level int) error {
	objects = distinct(objects)
	sum := sha1.New() //nolint:gosec // the trailer of a pack is defined by it
	out := &packWriter{w: bufio.NewWriterSize(w, 64<<10), sum: sum}
	head := append([]byte("PACK"), 0, 0, 0, 2)
	if _, err := out.Write(binary.BigEndian.AppendUint32(head, uint32(len(objects)))); err != nil {
		return err
	}
	deflate, err := zlib.NewWriterLevel(out, level)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if _, err := out.Write(packHeader(o.kind, len(o.data))); err != nil {
			return err
		}
		deflate.Reset(out)
		if _, err := deflate.Write(o.data); err != nil {
			return err
		}
		if err := deflate.Close(); err != nil {
			return err
		}
	}
	if _, err := out.w.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return out.w.Flush()
}

func distinct(objects []object) []object {
	seen := make(map[OID]bool, len(objects))
	return slices.DeleteFunc(slices.Clone(objects), func(o object) bool {
		again := seen[o.id]
		seen[o.id] = true
		return again
	})
}

type packWriter struct {
	w   *bufio.Writer
	sum hash.Hash
}

func (p *packWriter) Write(b []byte) (int, error) {
	p.sum.Write(b)
	return p.w.Write(b)
}

// packHeader is the type and the size, least significant bits first, four of them in the first byte.
func packHeader(kind Kind, size int) []byte {
	var code byte
	switch kind {
	case CommitKind:
		code = 1
	case TreeKind:
		code = 2
	case BlobKind:
		code = 3
	case TagKind:
		code = 4
	}
	c := code<<4 | byte(size&0x0f)
	var head []byte
	for size >>= 4; size > 0; size >>= 7 {
		head = append(head, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(head, c)
}
