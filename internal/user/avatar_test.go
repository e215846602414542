package user_test

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/httpapi/httpapitest"
)

func pngBytes(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// upload sends a picture of ada as an administrator does.
func (b *topicFixture) upload(t *testing.T, name string, data []byte) *httpapitest.Reply {
	t.Helper()
	return b.as(b.root).Upload(t, "PUT", path("users", b.ada), "avatar", name, data)
}

func (b *topicFixture) get(t *testing.T, target, since string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", target, nil)
	if since != "" {
		r.Header.Set("If-Modified-Since", since)
	}
	w := httptest.NewRecorder()
	b.AvatarHandler().ServeHTTP(w, r)
	return w.Result()
}

func TestAnAvatarIsServedAsThePictureItIs(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	data := pngBytes(t)
	shown := httpapitest.JSON[struct {
		AvatarURL string `json:"avatar_url"`
	}](t, b.upload(t, `C:\me\ä face.html`, data).WantStatus(t, http.StatusOK))
	base := path("uploads", "-", "system", "user", "avatar", b.ada)
	if shown.AvatarURL != "https://forge.example"+base+"/__face.png" {
		t.Fatal(shown.AvatarURL)
	}
	r := b.get(t, base+"/__face.png", "")
	got, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || !bytes.Equal(got, data) {
		t.Fatalf("%d, %v, %d bytes", r.StatusCode, err, len(got))
	}
	for name, want := range map[string]string{
		"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
		"Content-Disposition": "inline", "Last-Modified": b.now.Format(http.TimeFormat),
	} {
		if r.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, r.Header.Get(name), want)
		}
	}
	if r := b.get(t, base+"/__face.png", b.now.Format(http.TimeFormat)); r.StatusCode != http.StatusNotModified {
		t.Errorf("seen before: %d", r.StatusCode)
	}
	seen := b.now.Format(http.TimeFormat)
	b.pass(time.Hour)
	b.upload(t, "other.gif", append([]byte("GIF89a"), data...)).WantStatus(t, http.StatusOK)
	if r := b.get(t, base+"/other.gif", seen); r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "image/gif" {
		t.Errorf("a new one: %d", r.StatusCode)
	}
	for _, target := range []string{base + "/__face.png", base, base + "/", "/uploads/-/system/user/avatar/x/other.gif", "/uploads/-/system/user/avatar/987654/other.gif",
		path("uploads", "-", "system", "user", "avatar", b.bob) + "/other.gif", base + "/other.gif/x"} {
		if r := b.get(t, target, ""); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", target, r.StatusCode)
		}
	}
}

func TestWhatIsNoPictureIsNoAvatar(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	const unsupported = `{"message":{"avatar":["file format is not supported. Please try one of the following supported formats: png, jpg, jpeg, gif, bmp, ico, webp"]}}`
	for name, data := range map[string]string{
		"a.svg": `<svg xmlns="http://www.w3.org/2000/svg"/>`, "a.png": "<html>", "b.png": "", "c.webp": "RIFF1234WAVE", "a.bmp": "BM is how this text begins",
	} {
		b.upload(t, name, []byte(data)).Want(t, http.StatusBadRequest, unsupported)
	}
	big := append(pngBytes(t), make([]byte, 200<<10)...)
	b.upload(t, "a.png", big).Want(t, http.StatusBadRequest, `{"message":{"avatar":["is too big (should be at most 200 KiB)"]}}`)
	b.upload(t, "a.png", big[:200<<10]).WantStatus(t, http.StatusOK)
	if !strings.HasSuffix(b.reload(t, b.ada).Avatar, ".png") {
		t.Error(b.reload(t, b.ada).Avatar)
	}
}
