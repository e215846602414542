package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/lifecycle"
)

// Stream is the reply of an endpoint that answers with bytes as they are. Such
// bytes were written by others: whatever they hold, no browser runs them in
// our name, and no cache keeps them for the next person.
type Stream struct {
	Name   string            // what the client may call the file
	Type   string            // media type; when empty, the bytes tell plain text from the rest
	Attach bool              // to be saved, not shown. What is not plain text always is.
	Size   int64             // UnknownSize where it shows only at the end
	Tag    string            // names these bytes for ever; "" where nothing does
	Header map[string]string // of this endpoint alone
	// Open starts the bytes. A HEAD does without where the type is known.
	Open func(context.Context) (io.ReadCloser, error)
}

// Body is what the request carries, for an endpoint that Streams. It ends with
// an error when it is larger than limit.
func (c Call[S, P]) Body(limit int64) io.Reader {
	return sentBody{http.MaxBytesReader(c.Via.x.W, c.Via.x.R.Body, limit)}
}

// sentBody says of a body that breaks off or is no HTTP that this is the mistake of whoever sends it.
type sentBody struct{ body io.Reader }

func (b sentBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	if err == nil || errors.Is(err, io.EOF) || tooLarge || errors.Is(err, lifecycle.ErrSlow) {
		return n, err
	}
	return n, errors.Join(fault.WithMessage(fault.BadParams, "The body of the request cannot be read"), err)
}

// Length is the size of the body as the client declared it, UnknownSize if it
// did not.
func (c Call[S, P]) Length() int64 { return c.Via.x.R.ContentLength }

// Header is a header of the request, for what clients say in no other place.
func (c Call[S, P]) Header(name string) string { return c.Via.x.R.Header.Get(name) }

// BasicAuth is the name and the secret that the request carries as HTTP Basic.
func (c Call[S, P]) BasicAuth() (name, secret string, ok bool) { return c.Via.x.R.BasicAuth() }

// Upload is one file of a multipart body that is read as it comes.
type Upload struct {
	Name string
	io.Reader
}

// File finds a file in the multipart body of an endpoint that Streams. Parts
// before it are skipped.
func (c Call[S, P]) File(field string, limit int64) (Upload, error) {
	media, params, err := mime.ParseMediaType(c.Via.x.R.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		return Upload{}, missingParam(field)
	}
	parts := multipart.NewReader(c.Body(limit), params["boundary"])
	for range maxNames {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		if part.FormName() != field {
			continue
		}
		if !cleanText(part.FileName()) {
			return Upload{}, errNotText
		}
		return Upload{Name: part.FileName(), Reader: part}, nil
	}
	return Upload{}, missingParam(field)
}

func missingParam(name string) error {
	return fault.WithMessage(fault.BadParams, "%s is missing", name)
}

// UnknownSize is the size of a stream that is made while it is sent.
const UnknownSize = -1

// WithHeaders is a reply with headers of its own.
type WithHeaders[T any] struct {
	Body   T
	Header map[string]string
}

func (h WithHeaders[T]) headed() (any, map[string]string) { return h.Body, h.Header }

// FaultWith is a failure whose answer has headers of its own.
func FaultWith(err error, header map[string]string) error { return &headedError{err, header} }

type headedError struct {
	error
	header map[string]string
}

func (e *headedError) Unwrap() error { return e.error }

type headed interface {
	headed() (any, map[string]string)
}

// Has reports whether the client holds what a tag names and asked only for
// something else. A handler that can name the tag early asks before it works,
// and answers with Unchanged.
func (c Call[S, P]) Has(tag string) bool { return c.Via.x != nil && c.Via.x.has(tag) }

// Unchanged is the reply to a client that Has what the tag names.
func Unchanged(tag string) Stream { return Stream{Tag: tag} }

func (x *Request) has(tag string) bool {
	candidates := x.R.Header.Get("If-None-Match")
	return candidates != "" && tag != "" && x.reading() && (matches(candidates, quoted(tag)) || matches(candidates, "W/"+quoted(tag)))
}

func quoted(tag string) string { return `"` + tag + `"` }

// stream sends a Stream. Once the first byte is out a failure can only break
// the connection, which is how the client learns that the rest is missing.
func (x *Request) stream(ctx context.Context, s Stream) error {
	h := x.W.Header()
	if x.has(s.Tag) {
		x.streamHeaders(s)
		x.W.WriteHeader(http.StatusNotModified)
		return nil
	}
	head := x.R.Method == http.MethodHead
	var body io.ReadCloser
	var first []byte
	if !head || s.Type == "" {
		var err error
		if body, err = s.Open(ctx); err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
	}
	if s.Type == "" {
		var err error
		if s.Type, first, err = Sniff(body); err != nil {
			return err
		}
	}
	x.streamHeaders(s)
	h["Content-Type"] = []string{s.Type}
	if s.Size >= 0 {
		h["Content-Length"] = []string{strconv.FormatInt(s.Size, 10)}
	}
	x.W.WriteHeader(x.Endpoint.Status)
	if head {
		return nil
	}
	n, err := x.W.Write(first)
	sent := int64(n)
	if err == nil {
		var rest int64
		rest, err = io.Copy(x.W, body) // a file goes to the socket by itself
		sent += rest
	}
	if err == nil && s.Size >= 0 && sent != s.Size {
		err = fmt.Errorf("sent %d bytes of %d", sent, s.Size)
	}
	if err != nil {
		if ctx.Err() == nil {
			x.log("answer broke off", err, nil)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (x *Request) streamHeaders(s Stream) {
	h := x.W.Header()
	h["Cache-Control"], h["Pragma"], h["Expires"] = keepNowhere, noCache, longAgo
	h["Content-Security-Policy"] = sandbox
	if s.Tag != "" {
		h["Etag"] = []string{quoted(s.Tag)}
	}
	if s.Name != "" {
		h["Content-Disposition"] = []string{disposition(s.Attach || !strings.HasPrefix(s.Type, plainText), s.Name)}
	}
	setHeaders(h, s.Header)
}

func setHeaders(h http.Header, values map[string]string) {
	for name, value := range values {
		h.Set(name, strings.ToValidUTF8(value, "\uFFFD"))
	}
}

var (
	keepNowhere = []string{"max-age=0, private, must-revalidate, no-store, no-cache"}
	noCache     = []string{"no-cache"}
	longAgo     = []string{"Fri, 01 Jan 1990 00:00:00 GMT"}
	sandbox     = []string{"default-src 'none'; sandbox"}
)

const (
	plainText = "text/plain"
	sniffed   = 8000 // bytes that tell text from the rest, as git does it
)

// Sniff reads the first bytes of a file, and says by them which type clients are
// told.
func Sniff(body io.Reader) (media string, first []byte, err error) {
	first = make([]byte, sniffed)
	n, err := io.ReadFull(body, first)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", nil, err
	}
	return plainOr(first[:n]), first[:n], nil
}

// plainOr is the type of bytes of which these are the first: text is shown as
// text, whatever it describes, and everything else is only handed out.
func plainOr(first []byte) string {
	switch {
	case bytes.IndexByte(first, 0) >= 0:
		return "application/octet-stream"
	case utf8.Valid(first), len(first) == sniffed && utf8.Valid(first[:sniffed-partial(first)]):
		return plainText + "; charset=utf-8"
	}
	return plainText
}

// partial is how many bytes at the end begin a character that was cut.
func partial(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// disposition is the one writer of file names into a header (RFC 6266). The
// plain form is what every client reads; the second form has the letters that
// the plain one cannot hold.
func disposition(attach bool, name string) string {
	kind := "inline"
	if attach {
		kind = "attachment"
	}
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == utf8.RuneError || unicode.Is(unicode.C, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	plain := strings.Map(func(r rune) rune {
		if r > '~' || r == '"' || r == '%' {
			return '_'
		}
		return r
	}, name)
	out := kind + `; filename="` + plain + `"`
	if plain != name {
		out += "; filename*=UTF-8''" + strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(name))
	}
	return out
}

// embedded reports whether a page of somebody else fetches this as one of its
// own parts: a script, a picture, a film.
func (x *Request) embedded() bool {
	if slices.Contains([]string{"cors", "no-cors", "websocket"}, x.R.Header.Get("Sec-Fetch-Mode")) {
		return true
	}
	accepts := x.R.Header.Get("Accept")
	first, _, _ := strings.Cut(accepts, ",")
	family, _, _ := strings.Cut(strings.TrimSpace(first), "/")
	return slices.Contains([]string{"image", "video", "audio"}, strings.ToLower(family)) && !strings.Contains(accepts, "application/x-ms-application")
}
