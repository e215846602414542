// Package badge owns the badges of projects and groups: small pictures with a link, whose addresses hold placeholders that stand for
// something of the project that shows them. A project shows its own badges and those of all groups above it.
//
// It does not own the pictures, and fetches none.
//
// Tables: badges.
package badge

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/fault"
)

// Badge is a badge of a group or project.
type Badge struct {
	ID          int64
	NamespaceID *int64 // one of the two is nil
	ProjectID   *int64
	Name        *string
	LinkURL     string
	ImageURL    string
}

// Change is what a badge becomes. What is nil stays.
type Change struct {
	Name     **string
	LinkURL  *string
	ImageURL *string
}

func (c Change) apply(b *Badge) {
	if c.Name != nil {
		b.Name = *c.Name
	}
	if c.LinkURL != nil {
		b.LinkURL = *c.LinkURL
	}
	if c.ImageURL != nil {
		b.ImageURL = *c.ImageURL
	}
}

const (
	maxName = 255
	maxURL  = 2048
)

// check says what is wrong with a badge.
func (b *Badge) check() error {
	var f fault.Fields
	if b.Name != nil && (len(*b.Name) > maxName*utf8.UTFMax || utf8.RuneCountInString(*b.Name) > maxName) {
		f.Add("name", "is too long (maximum is %d characters)", maxName)
	}
	checkURL("link_url", b.LinkURL, &f)
	checkURL("image_url", b.ImageURL, &f)
	return f.Err()
}

// placeholder is a name that a value is put in place of. Others are left as they are.
var placeholder = regexp.MustCompile(`%\{(project_path|project_title|project_name|project_id|default_branch|commit_sha)\}`)

// CommitSHA is the one placeholder whose value is in the repository.
const CommitSHA = "commit_sha"

// checkURL wants an address of a page, whatever stands in its placeholders: the scheme is not one of them.
func checkURL(attribute, address string, f *fault.Fields) {
	if len(address) > maxURL {
		f.Add(attribute, "is too long (maximum is %d characters)", maxURL)
		return
	}
	if strings.TrimSpace(address) == "" {
		f.Add(attribute, "can't be blank")
		return
	}
	u, err := url.Parse(placeholder.ReplaceAllLiteralString(address, "x"))
	switch {
	case err != nil || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		f.Add(attribute, "is blocked: URI is invalid")
	case u.Scheme != "http" && u.Scheme != "https":
		f.Add(attribute, "is blocked: Only allowed schemes are http, https")
	case u.Hostname() == "":
		f.Add(attribute, "is blocked: URI is invalid")
	}
}

// Render puts values in place of placeholders, escaped so that they change neither the address before nor after them. A placeholder without a
// value stays.
func Render(address string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(address, func(name string) string {
		value, known := values[name[2:len(name)-1]]
		if !known {
			return name
		}
		return escape(value)
	})
}

// escape writes a value as a part of any address: in a path as in a query. Slashes stay, as paths of projects and names of branches have them.
func escape(value string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// needs reports whether one of some badges holds a placeholder.
func needs(name string, badges []Badge) bool {
	for i := range badges {
		if strings.Contains(badges[i].LinkURL+badges[i].ImageURL, "%{"+name+"}") {
			return true
		}
	}
	return false
}
