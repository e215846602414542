// Package wiki owns the wikis of projects and groups: pages that are files of
// a git repository, their history, and files that are attached to them.
//
// It does not own the repositories (repository), how git reaches them (githttp,
// gitssh), nor how texts are shown (markdown).
//
// Tables: wikis.
package wiki

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
)

// Format is the language that a page is written in.
type Format string

// Markdown is the format of pages that name no other.
const Markdown Format = "markdown"

// endings are those of the files that are pages; new ones get the first.
var endings = map[Format][]string{
	Markdown: {"md", "markdown", "mkd", "mkdn"}, "rdoc": {"rdoc"}, "asciidoc": {"asciidoc", "adoc", "asc"}, "org": {"org"},
	"textile": {"textile"}, "creole": {"creole"}, "rest": {"rst", "rest"}, "mediawiki": {"mediawiki", "wiki"}, "pod": {"pod"}, "plaintext": {"txt"},
}

// Formats are those that pages are written in. Files that were pushed may have others.
var Formats = []Format{Markdown, "rdoc", "asciidoc", "org"}

// formatOf is the format that the ending of a path stands for; "" where the file is no page.
func formatOf(file string) Format {
	ending := strings.ToLower(strings.TrimPrefix(path.Ext(file), "."))
	for format, known := range endings {
		if slices.Contains(known, ending) {
			return format
		}
	}
	return ""
}

// Page is a page of a wiki.
type Page struct {
	Slug        string // its path without the ending
	Title       string
	Format      Format
	Content     string
	FrontMatter map[string]any // the YAML or JSON block before the text
	Commit      gitstore.OID   // that it was read from
	ID          gitstore.OID   // of the blob, so that it changes with the content

	path string
}

// Home is the page that a wiki opens with.
const Home = "home"

// uploads is the folder of files that are attached to pages.
const uploads = "uploads"

// pageAt is the page that a file holds, without its content; false if the file is no page.
func pageAt(e gitstore.Entry) (Page, bool) {
	format := formatOf(e.Path)
	if format == "" || e.Mode.Kind() != gitstore.BlobKind || strings.HasPrefix(e.Path, uploads+"/") {
		return Page{}, false
	}
	slug := strings.TrimSuffix(e.Path, path.Ext(e.Path))
	return Page{Slug: slug, Title: titleOf(slug), Format: format, path: e.Path, ID: e.ID}, true
}

// titleOf is the title of a page that does not say another.
func titleOf(slug string) string { return strings.ReplaceAll(path.Base(slug), "-", " ") }

// slugOf is the path that a title stands for.
func slugOf(title string) string {
	return strings.Trim(strings.Join(strings.Fields(title), "-"), "/")
}

// Limits of what people write.
const (
	maxName        = 245 // bytes of the last part of a slug
	maxFolder      = 255 // bytes of each part before
	maxFrontMatter = 16 << 10
	maxMessage     = 1000 // characters of what is said about a change
	maxNodes       = 500  // of YAML
)

// checkTitle says what is wrong with the title of a page, as the path that it becomes.
func checkTitle(slug string) error {
	if slug == "" {
		return fault.Field("title", "can't be blank")
	}
	folders, name := path.Split(slug)
	if len(name) > maxName {
		return fault.Field("title", "exceeds the limit of %d bytes", maxName)
	}
	for folder := range strings.SplitSeq(strings.TrimSuffix(folders, "/"), "/") {
		if len(folder) > maxFolder {
			return fault.Field("title", "exceeds the limit of %d bytes for directory name %q", maxFolder, folder)
		}
	}
	if slug == uploads || strings.HasPrefix(slug, uploads+"/") {
		return fault.Field("title", "begins with %s/, where the files are that pages link to", uploads)
	}
	if gitstore.CheckPath(slug+".md") != nil {
		return fault.Field("title", "is not a valid path")
	}
	return nil
}

func checkFormat(f Format) error {
	if len(endings[f]) == 0 {
		return fault.Field("format", "is none that pages have")
	}
	return nil
}

func checkMessage(text string) error {
	if utf8.RuneCountInString(text) > maxMessage {
		return fault.Field("message", "is too long (maximum is %d characters)", maxMessage)
	}
	return nil
}

// renamed is the slug that a page gets with another title. A title without a folder leaves the page in its own; one that begins
// with a slash is seen from the top.
func renamed(slug, title string) string {
	to := slugOf(title)
	if folder := path.Dir(slug); folder != "." && !strings.Contains(title, "/") {
		return folder + "/" + to
	}
	return to
}

// read takes the content of a page, and the title that it gives itself.
func (p *Page) read(text []byte) {
	p.Content, p.FrontMatter = string(text), map[string]any{}
	if p.Format != Markdown {
		return
	}
	head, ok := frontMatter(text)
	if !ok {
		return
	}
	var root yaml.Node
	if yaml.Unmarshal(head, &root) != nil || !small(&root, new(maxNodes)) {
		return
	}
	var values map[string]any
	if root.Decode(&values) != nil || values == nil {
		return
	}
	if _, err := json.Marshal(values); err != nil { // keys that are no strings, numbers that are none
		return
	}
	p.FrontMatter = values
	if title, ok := values["title"].(string); ok && title != "" {
		p.Title = title
	}
}

// small reports whether YAML has no more nodes than are left, and none that stands for others: a few lines of those can become
// anything.
func small(n *yaml.Node, left *int) bool {
	if *left--; *left < 0 || n.Kind == yaml.AliasNode || n.Anchor != "" {
		return false
	}
	return !slices.ContainsFunc(n.Content, func(child *yaml.Node) bool { return !small(child, left) })
}

// frontMatter is the YAML between two lines of dashes at the top of a text.
func frontMatter(text []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	if !ok {
		return nil, false
	}
	head, _, ok := bytes.Cut(rest[:min(len(rest), maxFrontMatter)], []byte("\n---\n"))
	return head, ok
}

// afterFrontMatter is the text of a page that begins with front matter.
func afterFrontMatter(text string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	return rest
}
