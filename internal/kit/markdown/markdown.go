// Package markdown turns what people write into HTML that no page need fear: CommonMark with tables, strikethrough,
// task lists, footnotes, alerts, formulas and bare addresses as links, cleaned of everything that acts.
//
// A text is rendered once, whoever reads it. References to other things (an issue, a person, a commit) stay apart in
// the [Document]: whether they become links depends on the reader, and is asked each time, by who knows. The package
// knows no room.
//
// What a text may cost is bounded before it is parsed. One that is too large, nested too deeply, or too tangled is
// shown as it was written.
package markdown

import (
	"context"
	"encoding/hex"
	"html"
	"strings"

	"crypto/sha256"
)

// MaxText is how many bytes of a text are rendered; a longer one is shown as it was written.
const MaxText = 1 << 20

// Kind says what a reference names.
type Kind string

const (
	Issue        Kind = "issue"
	MergeRequest Kind = "merge_request"
	Snippet      Kind = "snippet"
	Label        Kind = "label"
	Milestone    Kind = "milestone"
	Commit       Kind = "commit"
	Range        Kind = "commit_range"
	Mention      Kind = "user" // or a group
	Project      Kind = "project"
	Alert        Kind = "alert"
	Upload       Kind = "upload" // a file of the project, by the address that a text has of it
)

// Reference is something that a text names in a short form.
type Reference struct {
	Kind Kind
	Text string // as it was written
	Path string // of the project, "" for the one that the text belongs to; "p" for one beside it
	Name string // a number, a name, a digest or two of them
	Show string // "+" asks for the title as well, "+s" for a summary

	Direct bool // of a mention: the text begins with it, or with others before it
}

// Link is what a reference becomes for one reader.
type Link struct {
	URL   string
	Text  string // instead of what was written, if not empty
	Title string
}

// Resolver says what each reference is to a reader. A nil link is one that stays text: it names nothing, or nothing
// that the reader may see.
type Resolver func(context.Context, []Reference) ([]*Link, error)

// Document is a rendered text: pieces of HTML with a reference between each two of them.
type Document struct {
	Pieces     []string
	References []Reference
}

// Digest names a text.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Plain is the HTML of a document without any link for its references.
func (d *Document) Plain() string { return d.join(make([]*Link, len(d.References))) }

// HTML is the document as a reader sees it.
func (d *Document) HTML(ctx context.Context, resolve Resolver) (string, error) {
	if len(d.References) == 0 {
		return d.Plain(), nil
	}
	links, err := resolve(ctx, d.References)
	if err != nil {
		return "", err
	}
	return d.join(links), nil
}

func (d *Document) join(links []*Link) string {
	var b strings.Builder
	for i, piece := range d.Pieces {
		b.WriteString(piece)
		if i < len(d.References) {
			writeReference(&b, d.References[i], links[i])
		}
	}
	return b.String()
}

func writeReference(b *strings.Builder, r Reference, l *Link) {
	if r.Kind == Upload && l != nil { // it stands in an attribute
		b.WriteString(html.EscapeString(l.URL))
		return
	}
	if l == nil {
		b.WriteString(html.EscapeString(r.Text))
		return
	}
	text := r.Text
	if l.Text != "" {
		text = l.Text
	}
	b.WriteString(`<a class="reference ` + string(r.Kind) + `" href="` + html.EscapeString(l.URL) + `"`)
	if l.Title != "" {
		b.WriteString(` title="` + html.EscapeString(l.Title) + `"`)
	}
	b.WriteString(`>` + html.EscapeString(text) + `</a>`)
}

// maxWritten is how many bytes are shown of a text that is not rendered: a page holds them in memory until its reader has them.
const maxWritten = 256 << 10

// asWritten is the beginning of a text that is not rendered.
func asWritten(text string) *Document {
	rest := ""
	if len(text) > maxWritten {
		text = strings.ToValidUTF8(text[:maxWritten], "") // not half a letter
		rest = "\n<p>This text is too long to be shown as a whole. What follows is left out.</p>"
	}
	return &Document{Pieces: []string{`<pre class="as-written">` + html.EscapeString(text) + `</pre>` + rest}}
}
