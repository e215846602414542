package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/upload"
)

// WB-09: whatever somebody uploads, browsers show pictures alone and run nothing.
func TestWB09_AnUploadIsAPictureOrKept(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	guest := d.people[access.Guest]
	by := access.Actor{Person: guest.Person()}
	const polyglot = "GIF89a/*<script>alert(1)</script>*/=1;"
	for name, want := range map[string]struct{ media, how string }{
		"a.png": {"image/png", "inline"}, "a.JPG": {"image/jpeg", "inline"}, "a.gif": {"image/gif", "inline"}, "a.webp": {"image/webp", "inline"},
		"a.svg": {"application/octet-stream", "attachment"}, "a.html": {"application/octet-stream", "attachment"}, "a.xml": {"application/octet-stream", "attachment"},
		"a.js": {"application/octet-stream", "attachment"}, "a.pdf": {"application/octet-stream", "attachment"}, "a.png.html": {"application/octet-stream", "attachment"},
		"a": {"application/octet-stream", "attachment"}, "a.mp4": {"application/octet-stream", "attachment"},
	} {
		u, secret, err := d.Uploads.Store(t.Context(), by, d.open, name, strings.NewReader(polyglot))
		if err != nil {
			t.Fatal(err)
		}
		w := d.do("GET", upload.Path(u.ProjectID, secret, u.Filename), nil, nil)
		h := w.Header()
		if w.Code != 200 || w.Body.String() != polyglot || h.Get("Content-Type") != want.media || !strings.HasPrefix(h.Get("Content-Disposition"), want.how+"; filename=") {
			t.Errorf("%s: %d %q %q", name, w.Code, h.Get("Content-Type"), h.Get("Content-Disposition"))
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(h.Get("Content-Security-Policy"), "script-src") {
			t.Errorf("%s: %v", name, h)
		}
	}
}

func TestAnUploadIsForThoseWhoSeeItsProject(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	guest := d.people[access.Guest]
	u, secret, err := d.Uploads.Store(t.Context(), access.Actor{Person: guest.Person()}, d.hidden, "a.png", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	path := upload.Path(u.ProjectID, secret, u.Filename)
	b, _ := d.signedIn(t, access.Guest, d.hidden)
	out, _ := d.signedIn(t, access.NoRole)
	for who, w := range map[string]*httptest.ResponseRecorder{
		"a guest": b.send("GET", path, nil), "somebody else": out.send("GET", path, nil), "nobody": d.do("GET", path, nil, nil),
		"another name": b.send("GET", strings.TrimSuffix(path, "a.png")+"b.png", nil), "no number": b.send("GET", "/-/project/x/uploads/"+secret+"/a.png", nil),
	} {
		want := http.StatusNotFound
		if who == "a guest" {
			want = http.StatusOK
		}
		if w.Code != want {
			t.Errorf("%s: %d, not %d", who, w.Code, want)
		}
	}
}
