// Package upload keeps the files that people add to what they write in a project: pictures, recordings, logs. Who has the
// address of one and sees its project gets it. The room does not own the texts that link to them.
//
// Tables: uploads.
package upload

import (
	"crypto/rand"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Upload is a file that is there.
type Upload struct {
	ID        int64
	ProjectID int64
	Filename  string
	BlobKey   string
	Size      int64
}

// maxName is how many bytes the name of a file may have.
const maxName = 200

// CleanName is a name that is safe in an address, in a text and on a disk: letters, digits and a few signs.
func CleanName(given string) string {
	given = path.Base(strings.ReplaceAll(given, `\`, "/"))
	var b strings.Builder
	for _, c := range given {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_.-+", c) || c == unicode.ReplacementChar {
			c = '_'
		}
		if b.Len()+len(string(c)) > maxName {
			break
		}
		b.WriteRune(c)
	}
	name := strings.TrimLeft(b.String(), ".")
	if strings.Trim(name, "_") == "" {
		return "file"
	}
	return name
}

// What browsers show by themselves, by the ending of the name.
var (
	images = []string{"png", "jpg", "jpeg", "gif", "bmp", "tiff", "ico", "webp"}
	videos = []string{"mp4", "m4v", "mov", "webm", "ogv"}
	sounds = []string{"mp3", "oga", "ogg", "spx", "wav"}
)

// ending is what follows the last dot of a name, in small letters.
func ending(name string) string { return strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")) }

// Picture reports whether browsers show the file as a picture in which nothing acts. A drawing in SVG is none.
func (u Upload) Picture() bool { return slices.Contains(images, ending(u.Filename)) }

// Media is the type that browsers are told: that of a picture, or bytes.
func (u Upload) Media() string {
	switch kind := ending(u.Filename); {
	case !u.Picture():
		return "application/octet-stream"
	case kind == "jpg":
		return "image/jpeg"
	case kind == "ico":
		return "image/x-icon"
	default:
		return "image/" + kind
	}
}

// alt is what stands for a file in a text.
func alt(name string) string {
	if kind := ending(name); slices.Contains(images, kind) || slices.Contains(videos, kind) || slices.Contains(sounds, kind) {
		return strings.TrimSuffix(name, path.Ext(name))
	}
	return name
}

// embedded reports whether a text shows the file, rather than a link to it.
func embedded(name string) bool {
	kind := ending(name)
	return kind == "svg" || slices.Contains(images, kind) || slices.Contains(videos, kind) || slices.Contains(sounds, kind)
}

// Markdown is how a text links to a file at an address, or shows it.
func Markdown(name, address string) string {
	link := "[" + alt(name) + "](" + address + ")"
	if embedded(name) {
		link = "!" + link
	}
	return link
}

// newSecret is the word in the address of a file, which nobody guesses.
func newSecret() string {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return hex.EncodeToString(random[:])
}
