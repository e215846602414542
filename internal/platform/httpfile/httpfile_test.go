package httpfile_test

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"stithy/internal/platform/httpfile"
)

func TestAFileIsServedPlainCompressedAndOnlyWhenItChanged(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("body { margin: 0 } ", 100)
	f := httpfile.New("text/css; charset=utf-8", []byte(text))
	get := func(f httpfile.File, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/x.css", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		return w
	}
	plain := get(f, "Accept-Encoding", "br, gzip;q=0")
	if plain.Body.String() != text || plain.Header().Get("Cache-Control") != "no-cache" || plain.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%v", plain.Header())
	}
	zipped := get(f, "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != text || zipped.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v %v", zipped.Header(), err)
	}
	if w := get(f, "Accept-Encoding", "gzip", "If-None-Match", zipped.Header().Get("Etag")); w.Code != 304 {
		t.Errorf("sent again: %d", w.Code)
	}
	if w := get(f.Forever()); !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || f.Hash() == httpfile.New("", nil).Hash() {
		t.Errorf("%v", w.Header())
	}
}
