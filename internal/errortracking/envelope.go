package errortracking

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/unpack"
)

// What a report may cost. Real ones have some 20 kB; with a screenshot, which is passed over, a few hundred.
const (
	maxPacked   = 2 << 20  // bytes of a request
	maxUnpacked = 10 << 20 // bytes that come out of it
	maxEvent    = 1 << 20  // bytes of one event, which alone are held
	maxHeader   = 16 << 10 // bytes of the header of an envelope or an item
	maxItems    = 100      // of an envelope; SDKs send a few
	maxEvents   = 10       // of them
)

// eventItem is the kind of items that are read.
const eventItem = "event"

var (
	errUnreadable = errors.New("the envelope cannot be read")
	errTooLarge   = fault.New(fault.TooLarge)
)

// envelope reads items one after another, and holds only what it was asked for: how much comes is for the sender to say.
type envelope struct {
	in     *bufio.Reader
	budget unpack.Budget
}

func newEnvelope(from io.Reader) *envelope {
	e := &envelope{budget: unpack.Budget{Bytes: maxUnpacked, Entries: maxItems}}
	e.in = bufio.NewReaderSize(e.budget.Reader(from), maxHeader)
	return e
}

// envelopeHeader is what is said once for all items.
type envelopeHeader struct {
	EventID string `json:"event_id"`
	DSN     string `json:"dsn"`
}

// key is the key in the connection string that some programs send along instead of a header.
func (h envelopeHeader) key() string {
	at, err := url.Parse(h.DSN)
	if err != nil || at.User == nil {
		return ""
	}
	return at.User.Username()
}

// header reads the first line.
func (e *envelope) header() (h envelopeHeader, err error) {
	line, err := e.line()
	if errors.Is(err, io.EOF) {
		err = errUnreadable
	}
	if err == nil {
		err = readHeader(line, &h)
	}
	return h, err
}

// readHeader takes members that it does not know, or of another type, for absent: SDKs add some all the time.
func readHeader(line []byte, into any) error {
	mismatch := new(json.UnmarshalTypeError)
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' {
		return errUnreadable
	}
	if err := json.Unmarshal(line, into); err != nil && !errors.As(err, &mismatch) {
		return errUnreadable
	}
	return nil
}

// line reads a header. It is gone with the next read.
func (e *envelope) line() ([]byte, error) {
	line, err := e.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errTooLarge
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	}
	return line, spent(err)
}

// spent tells a sender whose report is too large so.
func spent(err error) error {
	switch {
	case errors.Is(err, unpack.ErrTooMuch):
		return errTooLarge
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errUnreadable
	}
	return err
}

type itemHeader struct {
	Type   string `json:"type"`
	Length *int64 `json:"length"`
}

// next reads one item, the payload only of an event. The last one is followed by io.EOF.
func (e *envelope) next() (kind string, payload []byte, err error) {
	var line []byte
	for len(bytes.TrimSpace(line)) == 0 {
		if line, err = e.line(); err != nil {
			return "", nil, err
		}
	}
	var h itemHeader
	if err := readHeader(line, &h); err != nil {
		return "", nil, err
	}
	if e.budget.Entry() != nil {
		return "", nil, errTooLarge
	}
	if h.Type == "" || (h.Length != nil && *h.Length < 0) {
		return "", nil, errUnreadable
	}
	kind = strings.ToLower(h.Type)
	payload, err = e.payload(h, kind == eventItem)
	return kind, payload, err
}

// payload reads or passes over as much as was announced, or else what is left of the line.
func (e *envelope) payload(h itemHeader, keep bool) ([]byte, error) {
	if h.Length == nil {
		return e.rest(keep)
	}
	if keep && *h.Length > maxEvent {
		return nil, errTooLarge
	}
	if !keep {
		_, err := io.CopyN(io.Discard, e.in, *h.Length)
		return nil, short(err)
	}
	text := make([]byte, *h.Length)
	_, err := io.ReadFull(e.in, text)
	return text, short(err)
}

// short is the error of a payload that ends before its length.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return errUnreadable
	}
	return spent(err)
}

func (e *envelope) rest(keep bool) ([]byte, error) {
	var text []byte
	for {
		piece, err := e.in.ReadSlice('\n')
		if keep {
			if len(text)+len(piece) > maxEvent {
				return nil, errTooLarge
			}
			text = append(text, piece...)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return bytes.TrimSuffix(text, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, spent(err)
		}
	}
}
