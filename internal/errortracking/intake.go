package errortracking

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/unpack"
)

// unpackers is how many bodies are unpacked and read at a time. It takes a few milliseconds of one core and, of hostile ones, some 30 MB each.
const unpackers = 8

// unpackersEach is how many of them work for one project.
const unpackersEach = 2

// packed is the body of a request, in memory.
type packed struct {
	encoding string
	body     []byte
}

// open is the body as it was before the SDK packed it. Some do not say that they did.
func (p packed) open() (io.Reader, error) {
	body := bytes.NewReader(p.body)
	encoding := strings.ToLower(strings.TrimSpace(p.encoding))
	if (encoding == "" || encoding == "identity") && bytes.HasPrefix(p.body, []byte{0x1f, 0x8b}) {
		encoding = "gzip"
	}
	var from io.Reader = body
	var err error
	switch encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		from, err = gzip.NewReader(body)
	case "deflate":
		if len(p.body) > 0 && p.body[0]&0x0f == 8 {
			from, err = zlib.NewReader(body)
		} else { // without the frame that the standard asks for
			from = flate.NewReader(body)
		}
	case "br":
		from = brotli.NewReader(body)
	default:
		return nil, fault.New(fault.UnsupportedMedia)
	}
	return readable{from}, damaged(err)
}

// readable tells that a body is packed badly.
type readable struct{ from io.Reader }

func (r readable) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	return n, damaged(err)
}

func damaged(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnreadable, err)
}

// reading does something with a body when few others are being read, and few of the same project. It says how many bytes were read of what was packed.
func (s *Service) reading(ctx context.Context, project string, p packed, do func(body io.Reader) error) (size int64, err error) {
	release, err := s.unpacking.Take(ctx, project)
	if err != nil {
		return 0, err
	}
	defer release()
	body, err := p.open()
	if err != nil {
		return 0, err
	}
	counted := &counter{from: body}
	err = do(counted)
	return counted.bytes, err
}

// counter counts what is read.
type counter struct {
	from  io.Reader
	bytes int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.bytes += int64(n)
	return n, err
}

// keyIn is the key that an envelope holds.
func (s *Service) keyIn(ctx context.Context, project string, p packed) (key string, err error) {
	_, err = s.reading(ctx, project, p, func(body io.Reader) error {
		h, err := newEnvelope(body).header()
		key = h.key()
		return err
	})
	return key, err
}

// readEnvelope reads the events of an envelope. Items of other kinds are passed over: SDKs send sessions, traces, logs and pictures without being
// asked, and would complain to their programs about every refusal.
func readEnvelope(body io.Reader) (all []*Report, err error) {
	e := newEnvelope(body)
	header, err := e.header()
	if err != nil {
		return nil, err
	}
	for {
		kind, text, err := e.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if kind != eventItem {
			continue
		}
		r, err := parse(text, header.EventID)
		if err != nil {
			return nil, err
		}
		if all = append(all, r); len(all) > maxEvents {
			return nil, errTooLarge
		}
	}
}

// readEvent reads a body that is one event.
func readEvent(body io.Reader) ([]*Report, error) {
	budget := unpack.Budget{Bytes: maxEvent}
	text, err := io.ReadAll(budget.Reader(body))
	if err != nil {
		return nil, spent(err)
	}
	r, err := parse(text, "")
	return []*Report{r}, err
}
