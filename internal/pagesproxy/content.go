package pagesproxy

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"stithy/internal/pages"
	"stithy/internal/platform/memory"
)

// contents are what is known of a deployment: they never change.
type contents struct {
	index pages.Index
	rules []rule
}

// contents reads the index of a deployment and its redirects, once.
func (s *Server) contents(ctx context.Context, d *pages.Shown) (*contents, error) {
	key := memory.Key{Place: "site", Name: strconv.FormatInt(d.ID, 10)}
	if c, known := s.loaded.Get(key); known {
		return c, nil
	}
	select {
	case s.loading <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.loading }()
	if c, known := s.loaded.Get(key); known {
		return c, nil
	}
	index, err := s.deps.Pages.Index(ctx, d)
	if err != nil {
		return nil, err
	}
	c := &contents{index: index}
	if e, there := index.Find(redirectsFile); there && e.Size <= maxRedirects {
		text, err := io.ReadAll(&reader{ctx: ctx, server: s, shown: d, entry: e})
		if err != nil {
			return nil, err
		}
		c.rules = readRules(string(text))
	}
	s.loaded.Set(key, c)
	return c, nil
}

// file answers with the file that a path leads to in a deployment: itself, the index of a folder, the page that is meant without its ending, what a
// redirect says, or the site's page for what is not there.
func (s *Server) file(x *request, at place) error {
	c, err := s.contents(x.Context(), at.shown)
	if err != nil {
		return err
	}
	if name, e, there := c.find(at.below); there {
		return s.send(x, at, c, name, e)
	}
	if _, folder := c.index.Find(at.below + "/" + indexFile); folder && at.below != "" && !strings.HasSuffix(at.below, "/") {
		goTo(x, http.StatusFound, withQuery((&url.URL{Path: x.URL.Path + "/"}).EscapedPath(), x.URL))
		return nil
	}
	if to, status, applies := redirect(c.rules, x.URL.Path); applies {
		if status != http.StatusOK {
			goTo(x, status, (&url.URL{Path: to}).EscapedPath())
			return nil
		}
		if below, inside := strings.CutPrefix(to, at.base+"/"); inside {
			if name, e, there := c.find(below); there {
				return s.send(x, at, c, name, e)
			}
		}
	}
	e, own := c.index.Find("404.html")
	if !own {
		s.missing(x)
		return nil
	}
	return s.sendMissing(x, at, e)
}

const indexFile = "index.html"

// find is the file that a path means.
func (c *contents) find(below string) (name string, e pages.Entry, there bool) {
	candidates := []string{below, below + ".html"}
	if below == "" || strings.HasSuffix(below, "/") {
		candidates = []string{below + indexFile}
	}
	for _, name := range candidates {
		if e, there := c.index.Find(name); there {
			return name, e, true
		}
	}
	return "", pages.Entry{}, false
}

func (s *Server) headers(x *request, at place, name string) {
	h := x.Header()
	h.Set("Content-Type", contentType(name))
	h.Add("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "max-age=600")
	if !at.site.Public() {
		h.Set("Cache-Control", "private, no-cache")
	}
}

// send answers with a file, as it was packed where the reader can unpack it.
func (s *Server) send(x *request, at place, c *contents, name string, e pages.Entry) error {
	s.headers(x, at, name)
	if strings.Contains(x.Request.Header.Get("Range"), ",") {
		x.Request.Header.Del("Range") // of several parts the whole is sent
	}
	tag := hex.EncodeToString(e.Digest[:])
	if x.Request.Header.Get("Range") == "" {
		accepted := x.Request.Header.Get("Accept-Encoding")
		for _, v := range []struct{ encoding, ending string }{{"br", ".br"}, {"gzip", ".gz"}} {
			if packed, there := c.index.Find(name + v.ending); there && accepts(accepted, v.encoding) {
				x.Header().Set("Content-Encoding", v.encoding)
				x.Header().Set("Content-Length", strconv.FormatInt(packed.Size, 10))
				return s.stream(x, at, hex.EncodeToString(packed.Digest[:])+"-"+v.encoding, packed)
			}
		}
		if e.Deflated && accepts(accepted, "gzip") && compressible(name) {
			return s.sendGzip(x, at, tag+"-gzip", e)
		}
	}
	return s.stream(x, at, tag, e)
}

// stream sends a file, or a part of it.
func (s *Server) stream(x *request, at place, tag string, e pages.Entry) error {
	x.Header().Set("Etag", `"`+tag+`"`)
	body := &reader{ctx: x.Context(), server: s, shown: at.shown, entry: e}
	defer func() { _ = body.Close() }()
	if x.Method == http.MethodGet && x.Request.Header.Get("Range") == "" && x.Request.Header.Get("If-None-Match") == "" {
		if err := body.open(); err != nil { // while another answer is still possible
			clearHeaders(x)
			return err
		}
	}
	http.ServeContent(x.ResponseWriter, x.Request, "", time.Time{}, body)
	return nil
}

func clearHeaders(x *request) {
	for _, name := range []string{"Etag", "Content-Encoding", "Content-Length"} {
		x.Header().Del(name)
	}
}

// sendGzip sends the deflated bytes of a file as they lie in the store, between the head and the end of gzip.
func (s *Server) sendGzip(x *request, at place, tag string, e pages.Entry) error {
	h := x.Header()
	h.Set("Etag", `"`+tag+`"`)
	if matches(x.Request.Header.Get("If-None-Match"), `"`+tag+`"`) {
		h.Del("Content-Type")
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	head := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	end := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, e.CRC32), uint32(e.Size))
	body, err := s.deps.Pages.Open(x.Context(), at.shown, e.Start, e.Packed)
	if err != nil {
		clearHeaders(x)
		return err
	}
	defer func() { _ = body.Close() }()
	h.Set("Content-Encoding", "gzip")
	h.Set("Content-Length", strconv.FormatInt(int64(len(head))+e.Packed+int64(len(end)), 10))
	x.WriteHeader(http.StatusOK)
	if x.Method == http.MethodHead {
		return nil
	}
	_, _ = io.Copy(x.ResponseWriter, io.MultiReader(bytes.NewReader(head), body, bytes.NewReader(end))) // who is cut off sees it by the length
	return nil
}

// sendMissing answers with the site's own page for what is not there.
func (s *Server) sendMissing(x *request, at place, e pages.Entry) error {
	body := &reader{ctx: x.Context(), server: s, shown: at.shown, entry: e}
	defer func() { _ = body.Close() }()
	if err := body.open(); err != nil {
		return err
	}
	s.headers(x, at, "404.html")
	x.Header().Set("Cache-Control", "no-cache")
	x.Header().Set("Content-Length", strconv.FormatInt(e.Size, 10))
	x.WriteHeader(http.StatusNotFound)
	if x.Method == http.MethodGet {
		_, _ = io.Copy(x.ResponseWriter, body)
	}
	return nil
}

func matches(ifNoneMatch, tag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		if candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/"); candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}

// accepts reports whether a reader unpacks an encoding.
func accepts(accepted, encoding string) bool {
	for one := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			q, given := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			value, _ := strconv.ParseFloat(q, 64)
			return !given || value > 0
		}
	}
	return false
}

// reader reads a file of a deployment from any place of it. Of what is deflated, all before that place is unpacked too.
type reader struct {
	ctx    context.Context
	server *Server
	shown  *pages.Shown
	entry  pages.Entry

	at   int64 // what is read next
	raw  io.ReadCloser
	from io.Reader // at next, if it is open
	next int64
}

func (r *reader) open() error {
	start, length := r.entry.Start, r.entry.Packed
	if !r.entry.Deflated {
		start, length = start+r.at, length-r.at
	}
	raw, err := r.server.deps.Pages.Open(r.ctx, r.shown, start, length)
	if err != nil {
		return err
	}
	r.raw, r.from, r.next = raw, raw, r.at
	if r.entry.Deflated {
		r.from, r.next = flate.NewReader(raw), 0
	}
	return nil
}

// Read reads on.
func (r *reader) Read(p []byte) (int, error) {
	if r.at >= r.entry.Size {
		return 0, io.EOF
	}
	if r.from != nil && r.next > r.at || r.from != nil && r.next < r.at && !r.entry.Deflated {
		if err := r.Close(); err != nil {
			return 0, err
		}
	}
	if r.from == nil {
		if err := r.open(); err != nil {
			return 0, err
		}
	}
	if r.next < r.at {
		skipped, err := io.CopyN(io.Discard, r.from, r.at-r.next)
		r.next += skipped
		if err != nil {
			return 0, unexpected(err)
		}
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.entry.Size-r.at)])
	r.at, r.next = r.at+int64(n), r.next+int64(n)
	if r.at < r.entry.Size {
		err = unexpected(err)
	}
	return n, err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Seek says what is read next.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.entry.Size
	}
	if offset < 0 {
		return 0, errors.New("pagesproxy: seeking before the beginning")
	}
	r.at = offset
	return offset, nil
}

// Close gives back what is open.
func (r *reader) Close() error {
	raw := r.raw
	r.raw, r.from = nil, nil
	if raw == nil {
		return nil
	}
	return raw.Close()
}

// types are what files are called by their endings. No table of the machine is asked, and no browser guesses.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".xhtml": "application/xhtml+xml", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".json": "application/json", ".map": "application/json",
	".webmanifest": "application/manifest+json", ".xml": "application/xml", ".rss": "application/rss+xml", ".atom": "application/atom+xml",
	".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".yaml": "text/plain; charset=utf-8",
	".yml": "text/plain; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".avif": "image/avif", ".ico": "image/x-icon", ".bmp": "image/bmp", ".woff": "font/woff", ".woff2": "font/woff2",
	".ttf": "font/ttf", ".otf": "font/otf", ".wasm": "application/wasm", ".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip",
	".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".wav": "audio/wav", ".mp4": "video/mp4", ".webm": "video/webm",
}

func contentType(name string) string {
	if t, ok := types[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}

// compressible reports whether a file gains by being sent packed.
func compressible(name string) bool {
	t := contentType(name)
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "json") || strings.HasSuffix(t, "xml") || t == "application/wasm" || strings.HasPrefix(t, "font/ttf")
}
