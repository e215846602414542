package texts

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/fault"
	"stithy/internal/markdown"
	"stithy/internal/snippet"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	maxShown = 512 << 10 // bytes of all files of a snippet that a page shows
	maxLines = 1_000     // of them
	maxWidth = 64 << 10  // bytes of these
)

// snippetBody is a snippet.
type snippetBody struct {
	Title       string
	Visibility  string
	Icon        ui.IconPath
	Author      *person
	When        *page.DisplayTime
	Edited      *page.DisplayTime
	Description []byte // HTML
	Files       []fileBody
	Clone       clone
	Edit        page.URL
}

// fileBody is a file of a snippet.
type fileBody struct {
	ID     string // of its title
	Path   string
	Facts  string
	Raw    page.URL
	Prefix string // of the ids of its lines
	Lines  int
	Text   string
	Note   string // what is not shown
}

func showSnippet(x *snippetRequest) error {
	at, err := x.find()
	if err != nil {
		return err
	}
	body := snippetBody{
		Title: at.Title, Visibility: at.Visibility.String(), Icon: ui.VisibilityIcon(at.Visibility.String()), When: x.Time(&at.CreatedAt),
		Clone: x.deps.clone(snippet.Path(at)),
	}
	if at.UpdatedAt.Sub(at.CreatedAt) >= editedAfter {
		body.Edited = x.Time(&at.UpdatedAt)
	}
	author, err := x.deps.Snippets.Author(x.Context(), at.Snippet)
	if err != nil {
		return err
	}
	body.Author = personOf(author)
	if at.Description != nil {
		shown, err := x.deps.Markdown.Show(x.Context(), markdown.Context{Reader: x.Actor, Project: at.Project}, *at.Description)
		if err != nil {
			return err
		}
		body.Description = []byte(shown)
	}
	texts, err := x.deps.Snippets.Texts(x.Context(), at.Snippet, maxShown)
	if err != nil {
		return err
	}
	body.Files = x.files(at, texts)
	if snippet.MayEdit(x.Actor, at.Project, at.Snippet) {
		body.Edit = x.Link(x.at(at.Snippet, "/edit"))
	}
	l := x.layout(at.Title)
	l.Facts, l.Actions = snippetFacts(body), snippetActions(body)
	return x.Show(http.StatusOK, l, snippetPage(body))
}

// editedAfter is how long it takes until something counts as edited: its files come a moment after it.
const editedAfter = time.Minute

// files are those of a snippet, with as many lines together as a page holds.
func (x *snippetRequest) files(at snippet.Place, texts []snippet.Text) []fileBody {
	all := make([]fileBody, len(texts))
	lines, width := maxLines, maxWidth
	for i, t := range texts {
		f := fileBody{ID: "file-" + strconv.Itoa(i+1), Path: t.Path, Facts: size(t.Size), Raw: x.Link(snippet.RawPath(at, t.Path))}
		if i > 0 {
			f.Prefix = fmt.Sprintf("f%d-", i+1)
		}
		switch {
		case !t.Whole:
			f.Note = "This file is too large to show, or it is no text."
		case t.Content == "":
			f.Note = "This file is empty."
		default:
			var count int
			f.Text, f.Lines, count = beginning(t.Content, lines, width)
			f.Facts = counted(count, "line") + " · " + f.Facts
			if lines, width = lines-f.Lines, width-len(f.Text); f.Lines < count {
				f.Note = fmt.Sprintf("These are the first %s of %s lines.", grouped(f.Lines), grouped(count))
			}
			if f.Lines == 0 {
				f.Note = "The page has no room for this file."
			}
		}
		all[i] = f
	}
	return all
}

// beginning is the first lines of a text, within a number of lines and of bytes, how many these are, and how many the text has.
func beginning(text string, lines, width int) (shown string, n, all int) {
	end := 0
	for line := range strings.Lines(text) {
		if all++; n == all-1 && n < lines && end+len(line) <= width {
			n, end = n+1, end+len(line)
		}
	}
	return strings.TrimSuffix(text[:end], "\n"), n, all
}

// size is a number of bytes as people read it.
func size(bytes int64) string {
	const unit = 1 << 10
	switch {
	case bytes < unit:
		return counted(int(bytes), "byte")
	case bytes < unit*unit:
		return fmt.Sprintf("%.1f KB", float64(bytes)/unit)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/unit/unit)
}

// rawSnippet answers with a file of a snippet, behind the branch or commit that it is read from; with the first one if none is named.
func rawSnippet(x *snippetRequest) error {
	at, err := x.find()
	if err != nil {
		return err
	}
	named := x.R.PathValue("file")
	file, found := strings.CutPrefix(named, at.Branch+"/") // a branch may have slashes
	revision := ""
	if !found {
		revision, file, found = strings.Cut(named, "/")
	}
	if named != "" && !found {
		return fault.New(fault.NotFound)
	}
	c, err := x.deps.Snippets.Open(x.Context(), at.Snippet, revision, file)
	if err != nil {
		return err
	}
	body, err := c.Read(x.Context())
	if err != nil {
		return err
	}
	return x.Send(body, c.Size, "", c.Entry.Name(), false)
}
