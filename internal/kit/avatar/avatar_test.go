package avatar

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheNameOfAPictureIsSafeInAPath(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*\.jpe?g$`)
	rapid.Check(t, func(t *rapid.T) {
		got := safeName(rapid.String().Draw(t, "name"), []string{".jpg", ".jpeg"})
		if !safe.MatchString(got) || len(got) > 255 {
			t.Fatalf("got %q", got)
		}
	})
	for name, want := range map[string]string{
		"me.jpeg": "me.jpeg", "ME.JPG": "ME.jpg", "me.png": "me.jpg", "../../etc/passwd": "passwd.jpg", "": "avatar.jpg", ".htaccess": "avatar.jpg",
		strings.Repeat("a", 300) + ".jpg": strings.Repeat("a", 200) + ".jpg",
	} {
		if got := safeName(name, []string{".jpg", ".jpeg"}); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestAPictureIsWhatItsBytesSay(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"GIF89a...": "image/gif", "\x89PNG\r\n\x1a\n": "image/png", "RIFF1234WEBP": "image/webp",
		"<svg onload=alert(1)>": "", "<html>": "", "GIF": "", "RIFF1234WAVE": "",
	} {
		p, err := Take(Upload{Name: "a.png", Data: []byte(data)})
		if p.ContentType != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", data, p.ContentType, err)
		}
	}
	if _, err := Take(Upload{Name: "a.gif", Data: []byte("GIF89a" + strings.Repeat("x", maxSize))}); err == nil {
		t.Error("a large one was taken")
	}
	if p, err := Take(Upload{}); err != nil || p.Name != "" {
		t.Errorf("nothing is %v, %v", p, err)
	}
}

func TestAPictureRunsNothing(t *testing.T) {
	t.Parallel()
	for everyone, cache := range map[bool]string{true: "public", false: "private"} {
		w := httptest.NewRecorder()
		Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), Image{ContentType: "image/gif", Content: []byte("GIF89a<script>")}, everyone)
		h := w.Header()
		if h.Get("Content-Type") != "image/gif" || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || !strings.HasPrefix(h.Get("Cache-Control"), cache) {
			t.Errorf("for everyone %v: %v", everyone, h)
		}
	}
}
