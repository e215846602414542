// Package apidocs shows the API to people: one page for each noun, made from
// the registry of endpoints, and the OpenAPI document beside them. It knows no
// endpoint by name and calls none. Its pages need no script.
package apidocs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"stithy/internal/kit/httpapi"
	"stithy/web"
)

// root is where the pages are; links between them are relative, so that a
// proxy may put another path in front.
const root = "/-/api"

// Handler serves the pages. They are made when the first of them is asked for,
// and panic on endpoints that cannot be described.
func Handler(endpoints []httpapi.Endpoint, info httpapi.Info) http.Handler {
	site := sync.OnceValue(func() map[string]file { return build(endpoints, info) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == root+"/" {
			h.Set("Location", "../api")
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		f, found := site()[r.URL.Path]
		if !found {
			http.Error(w, "Not found. The description of the API is at "+root+".", http.StatusNotFound)
			return
		}
		f.serve(w, r)
	})
}

// file is a finished answer, plain and compressed.
type file struct {
	contentType string
	plain       []byte
	gzipped     []byte
	tag         string
	forever     bool // the name holds the hash of the content
}

func newFile(contentType string, content []byte) file {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	_, _ = z.Write(content) // a buffer takes everything
	_ = z.Close()
	return file{contentType: contentType, plain: content, gzipped: zipped.Bytes(), tag: hash(content)}
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.plain, f.tag
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(f.gzipped)))
		body, tag = f.gzipped, f.tag+"-gzip"
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

// build makes every file of the site, by path.
func build(endpoints []httpapi.Endpoint, info httpapi.Info) map[string]file {
	document, err := httpapi.OpenAPI(info, endpoints)
	if err != nil {
		panic("apidocs: " + err.Error())
	}
	site := map[string]file{root + "/openapi.yaml": newFile("application/yaml; charset=utf-8", document)}
	var sheets []string
	for _, name := range []string{"pico.css", "apidocs.css"} {
		content, err := fs.ReadFile(web.Assets, path.Join("assets", name))
		if err != nil {
			panic("apidocs: " + err.Error())
		}
		sheet := "assets/" + strings.TrimSuffix(name, ".css") + "." + hash(content) + ".css"
		f := newFile("text/css; charset=utf-8", content)
		f.forever = true
		site[root+"/"+sheet] = f
		sheets = append(sheets, sheet)
	}
	nouns := nounsOf(endpoints, info.ServerURL)
	site[root] = render(page{Title: info.Title, Server: info.ServerURL, Sheets: sheets, Nouns: nouns, Base: "api/"})
	for i := range nouns {
		noun := &nouns[i]
		site[root+"/"+noun.Name] = render(page{Title: info.Title, Server: info.ServerURL, Sheets: sheets, Nouns: nouns, Noun: noun})
	}
	return site
}
