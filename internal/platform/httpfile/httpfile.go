// Package httpfile serves content that is finished before the first request for
// it: style sheets, documents, pages that are the same for everyone. It keeps
// them plain and compressed. It does not own where they are found.
package httpfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// File is a finished answer.
type File struct {
	contentType string
	plain       []byte
	gzipped     []byte
	hash        string
	forever     bool
}

// New prepares an answer that clients ask for anew each time, and get only
// when it changed.
func New(contentType string, content []byte) File {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	_, _ = z.Write(content) // a buffer takes everything
	_ = z.Close()
	sum := sha256.Sum256(content)
	return File{contentType: contentType, plain: content, gzipped: zipped.Bytes(), hash: hex.EncodeToString(sum[:8])}
}

// Forever is the file for a name that holds its Hash: clients keep it.
func (f File) Forever() File {
	f.forever = true
	return f
}

// Hash tells one content from another.
func (f File) Hash() string { return f.hash }

// ServeHTTP answers with the file.
func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.plain, f.hash
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(f.gzipped)))
		body, tag = f.gzipped, f.hash+"-gzip"
	}
	h.Set("Etag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func acceptsGzip(accepted string) bool {
	for encoding := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(encoding, ";")
		if strings.TrimSpace(name) == "gzip" {
			q, given := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			value, _ := strconv.ParseFloat(q, 64)
			return !given || value > 0
		}
	}
	return false
}
