// Package avatar takes and serves the small pictures that people give to
// accounts, groups and projects. What a picture is follows from its content;
// its name and declared type are hearsay.
package avatar

import (
	"bytes"
	"net/http"
	"path"
	"strings"
	"time"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

// Upload is a picture as somebody sends it. One without name and data takes
// the old one away.
type Upload struct {
	Name string
	Size int64 // also where the data was too much to be kept
	Data []byte
}

// Given is what a parameter holds; nil when it is absent.
func Given(o httpapi.Opt[*httpapi.File]) *Upload {
	switch {
	case !o.Given:
		return nil
	case o.Value == nil:
		return &Upload{}
	}
	return &Upload{Name: o.Value.Name, Size: o.Value.Size, Data: o.Value.Data}
}

// Image is one that was taken.
type Image struct {
	Name        string // safe in a path
	ContentType string
	Content     []byte
	UpdatedAt   time.Time
}

const maxSize = 200 << 10

// formats are those that a browser shows and that hold no script.
var formats = []struct {
	magic       string // ? stands for any byte
	contentType string
	extensions  []string
}{
	{"\x89PNG\r\n\x1a\n", "image/png", []string{".png"}},
	{"\xff\xd8\xff", "image/jpeg", []string{".jpg", ".jpeg"}},
	{"GIF87a", "image/gif", []string{".gif"}},
	{"GIF89a", "image/gif", []string{".gif"}},
	{"RIFF????WEBP", "image/webp", []string{".webp"}},
	{"\x00\x00\x01\x00", "image/vnd.microsoft.icon", []string{".ico"}},
	{"BM????\x00\x00\x00\x00", "image/bmp", []string{".bmp"}},
}

// Take checks an upload. The zero Image takes the old one away.
func Take(u Upload) (Image, error) {
	if u.Name == "" && u.Size == 0 && len(u.Data) == 0 {
		return Image{}, nil
	}
	if u.Size > maxSize || len(u.Data) > maxSize {
		return Image{}, fault.Field("avatar", "is too big (should be at most 200 KiB)")
	}
	for _, f := range formats {
		if matches(u.Data, f.magic) {
			return Image{Name: safeName(u.Name, f.extensions), ContentType: f.contentType, Content: u.Data}, nil
		}
	}
	return Image{}, fault.Field("avatar", "file format is not supported. Please try one of the following supported formats: png, jpg, jpeg, gif, bmp, ico, webp")
}

func matches(data []byte, magic string) bool {
	if len(data) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != data[i] {
			return false
		}
	}
	return true
}

// safeName makes a name that is safe in a path and says what the picture is.
func safeName(name string, extensions []string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	stem := strings.TrimSuffix(name, path.Ext(name))
	stem = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, stem), ".")
	if stem == "" {
		stem = "avatar"
	}
	extension := extensions[0]
	for _, e := range extensions {
		if strings.EqualFold(path.Ext(name), e) {
			extension = e
		}
	}
	return stem[:min(len(stem), 200)] + extension
}

// Serve answers with a picture, and lets no browser take it for anything else,
// whatever the bytes are. What is not for everyone is kept by no shared cache.
func Serve(w http.ResponseWriter, r *http.Request, p Image, everyone bool) {
	h := w.Header()
	Guard(h)
	h.Set("Content-Type", p.ContentType)
	h.Set("Content-Disposition", "inline")
	if everyone {
		h.Set("Cache-Control", "public, max-age=300, must-revalidate")
	} else {
		h.Set("Cache-Control", "private, max-age=300, must-revalidate")
	}
	http.ServeContent(w, r, "", p.UpdatedAt, bytes.NewReader(p.Content))
}

// Guard sets what holds for every answer below the address of a picture.
func Guard(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
}
