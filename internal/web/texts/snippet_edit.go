package texts

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/snippet"
	"stithy/internal/web/page"
)

// snippetForm is a form about a snippet.
type snippetForm struct {
	Form   *page.Form // without the files
	Files  []fileForm
	More   bool     // another file may be added
	Now    page.URL // where somebody else was quicker, what they made of it
	Back   page.URL
	Delete *page.Form
}

// fileForm is a file in a form about a snippet.
type fileForm struct {
	Legend string
	Fields *page.Form // its questions
	Note   string
}

// draft is what a form about a snippet says.
type draft struct {
	title, description, visibility string
	files                          []draftFile
}

// draftFile is a file of a draft.
type draftFile struct {
	was     string // the path that it has; empty: it is new
	path    string
	content string
	fixed   bool // a form cannot hold what it holds
	gone    bool // it is to be deleted
	problem string
}

// moreField is the button that adds a file to a form.
const moreField = "more"

// sent reads a form. The files of it are numbered.
func (x *snippetRequest) sent() draft {
	d := draft{
		title: strings.TrimSpace(x.Form.Get("title")), description: typed(x.Form.Get("description"), ""), visibility: x.Form.Get("visibility"),
	}
	for n := range snippet.MaxFiles {
		get := func(field string) string { return x.Form.Get(numbered(field, n)) }
		if x.Form.Has(numbered("path", n)) {
			d.files = append(d.files, draftFile{was: get("was"), path: strings.TrimSpace(get("path")), content: typed(get("content"), ""), gone: get("gone") != ""})
		}
	}
	if x.Form.Has(moreField) && len(d.files) < snippet.MaxFiles {
		d.files = append(d.files, draftFile{})
	}
	return d
}

// numbered is the name of a field about a file.
func numbered(field string, n int) string { return field + "-" + strconv.Itoa(n+1) }

func (f draftFile) blank() bool { return f.was == "" && f.path == "" && f.content == "" }

// check says what is wrong with the names of files.
func (d *draft) check() error {
	bad := false
	for n := range d.files {
		f := &d.files[n]
		switch {
		case f.gone, f.blank() && (n > 0 || !d.empty()):
		case f.path == "":
			f.problem = "is missing"
		case !snippet.ValidPath(f.path):
			f.problem = "is none that a file can have"
		}
		bad = bad || f.problem != ""
	}
	if bad {
		return fault.WithMessage(fault.Rejected, "The name of a file is missing, or is none that a file can have.")
	}
	return nil
}

// empty reports whether no file was filled in.
func (d *draft) empty() bool {
	return !slices.ContainsFunc(d.files, func(f draftFile) bool { return !f.blank() })
}

func (d *draft) describe() *string {
	if d.description == "" {
		return nil
	}
	return &d.description
}

func (d *draft) level() (access.Visibility, error) {
	v, err := access.ParseVisibility(d.visibility)
	if err != nil {
		return v, fault.Field("visibility", "is none that snippets have")
	}
	return v, nil
}

// edits are what makes of the files of a snippet those of the draft. What goes makes room first.
func (d *draft) edits(texts []snippet.Text) (edits []snippet.File, err error) {
	var gone []snippet.File
	for _, f := range d.files {
		if f.was == "" {
			if !f.blank() {
				edits = append(edits, snippet.File{Action: snippet.Create, Path: f.path, Content: new(typed(f.content, ""))})
			}
			continue
		}
		i := slices.IndexFunc(texts, func(t snippet.Text) bool { return t.Path == f.was })
		if i < 0 {
			return nil, fault.WithMessage(fault.Conflict, "The file %s is not there any more.", cut(f.was, maxTitle))
		}
		one := snippet.File{Action: snippet.Update, Path: f.path}
		if text := typed(f.content, texts[i].Content); !f.fixed && text != texts[i].Content {
			one.Content = &text
		}
		switch {
		case f.gone:
			gone = append(gone, snippet.File{Action: snippet.Delete, Path: f.was})
		case f.path != f.was:
			one.Action, one.PreviousPath = snippet.Move, f.was
			edits = append(edits, one)
		case one.Content != nil:
			edits = append(edits, one)
		}
	}
	return append(gone, edits...), nil
}

// fix marks the files that a form cannot hold.
func (d *draft) fix(texts []snippet.Text) {
	for n := range d.files {
		f := &d.files[n]
		f.fixed = slices.ContainsFunc(texts, func(t snippet.Text) bool { return t.Path == f.was && !t.Whole })
	}
}

// form is a form that holds a draft, sent to a path.
func (x *snippetRequest) form(action, submit string, d draft) *page.Form {
	levels := page.Field{Name: "visibility", Label: "Who can see it", Type: page.Select}
	private := "Private: you alone"
	if x.project != nil {
		private = "Private: members of the project"
	}
	for _, c := range []page.Choice{
		{Value: "private", Label: private}, {Value: "internal", Label: "Internal: everybody who is signed in"}, {Value: "public", Label: "Public: everybody"},
	} {
		c.Chosen = c.Value == d.visibility
		levels.Options = append(levels.Options, c)
	}
	return x.NewForm(action, submit,
		page.Field{Name: "title", Label: "Title", Type: page.Text, Value: d.title, Required: true, Length: 255},
		page.Field{Name: "description", Label: "Description", Type: page.Textarea, Value: d.description, Hint: "Markdown."}, levels)
}

// rows are the files of a draft in a form.
func rows(d draft) []fileForm {
	all := make([]fileForm, len(d.files))
	for n, f := range d.files {
		name := page.Field{Name: numbered("path", n), Label: "File name", Type: page.Text, Value: f.path, Length: 255}
		if f.was == "" {
			name.Hint = "With folders, if you like, as scripts/build.sh."
		}
		if f.problem != "" {
			name.Problems = []string{f.problem}
		}
		row := fileForm{Legend: fmt.Sprintf("File %d", n+1), Fields: &page.Form{Fields: []page.Field{name}}}
		if f.fixed {
			row.Note = "This file is too large to be changed here, or it is no text. Git can change it."
		} else {
			row.Fields.Fields = append(row.Fields.Fields, page.Field{Name: numbered("content", n), Label: "Content", Type: page.Textarea, Value: f.content})
		}
		if f.was != "" {
			row.Fields.Hidden = []page.Hidden{{Name: numbered("was", n), Value: f.was}}
			row.Fields.Fields = append(row.Fields.Fields, page.Field{
				Name: numbered("gone", n), Label: "Delete this file", Type: page.Checkbox, Value: page.Checked(f.gone),
			})
		}
		all[n] = row
	}
	return all
}

func (x *snippetRequest) show(code int, title string, d draft, body snippetForm) error {
	body.Files, body.More = rows(d), len(d.files) < snippet.MaxFiles
	return x.Show(code, x.layout(title), snippetEdit(body))
}

func newSnippet(x *snippetRequest) error {
	if !x.mayCreate() {
		return fault.New(fault.Forbidden)
	}
	return x.showNew(http.StatusOK, nil, draft{visibility: access.Private.String(), files: []draftFile{{}}})
}

// showNew shows the form for a new snippet, perhaps with what is wrong with it.
func (x *snippetRequest) showNew(code int, wrong error, d draft) error {
	form := x.form(x.path, "Create snippet", d)
	if wrong != nil {
		if err := x.Refuse(form, wrong); err != nil {
			return err
		}
	}
	back := x.path
	if x.project == nil {
		back = ownPath
	}
	return x.show(code, "New snippet", d, snippetForm{Form: form, Back: x.Link(back)})
}

func createSnippet(x *snippetRequest) error {
	d := x.sent()
	if x.Form.Has(moreField) {
		return x.showNew(http.StatusOK, nil, d)
	}
	at, err := x.create(&d)
	if err != nil {
		return x.showNew(http.StatusUnprocessableEntity, err, d)
	}
	return x.Done(snippet.WebPath(at), "Snippet created.")
}

func (x *snippetRequest) create(d *draft) (at snippet.Place, err error) {
	if err := d.check(); err != nil {
		return at, err
	}
	level, err := d.level()
	if err != nil {
		return at, err
	}
	files, err := d.edits(nil)
	if err != nil {
		return at, err
	}
	if err := page.Within(x.Request, "snippets_create"); err != nil {
		return at, err
	}
	return x.deps.Snippets.Create(x.Context(), x.Actor, x.project, snippet.Draft{
		Title: d.title, Description: d.describe(), Visibility: level, Files: files, UserAgent: x.R.UserAgent(),
	})
}

// seenField is when the snippet had changed last that a form is about.
const seenField = "seen"

func editSnippet(x *snippetRequest) error {
	at, err := x.findToEdit()
	if err != nil {
		return err
	}
	texts, err := x.deps.Snippets.Texts(x.Context(), at.Snippet, maxEdited)
	if err != nil {
		return err
	}
	d := draft{title: at.Title, visibility: at.Visibility.String()}
	if at.Description != nil {
		d.description = *at.Description
	}
	for _, t := range texts {
		d.files = append(d.files, draftFile{was: t.Path, path: t.Path, content: t.Content, fixed: !t.Whole})
	}
	return x.showEdit(http.StatusOK, at, nil, d, strconv.FormatInt(at.UpdatedAt.UnixMicro(), 10))
}

// showEdit shows the form for a snippet that was seen at a time, perhaps with what is wrong with it.
func (x *snippetRequest) showEdit(code int, at snippet.Place, wrong error, d draft, seen string) error {
	body := snippetForm{Form: x.form(x.at(at.Snippet, ""), "Save snippet", d).With(seenField, seen), Back: x.Link(x.at(at.Snippet, ""))}
	if wrong != nil {
		if err := x.Refuse(body.Form, wrong); err != nil {
			return err
		}
	}
	if fault.Is(wrong, fault.Conflict) {
		body.Now = body.Back
	}
	body.Delete = x.Button(x.at(at.Snippet, "/delete"), "Delete snippet", page.Danger, "").
		AskFirst("The snippet goes at once, with its files and their history. It cannot be brought back.")
	return x.show(code, "Edit snippet", d, body)
}

func updateSnippet(x *snippetRequest) error {
	at, err := x.findToEdit()
	if err != nil {
		return err
	}
	texts, err := x.deps.Snippets.Texts(x.Context(), at.Snippet, maxEdited)
	if err != nil {
		return err
	}
	d := x.sent()
	d.fix(texts)
	if x.Form.Has(moreField) {
		return x.showEdit(http.StatusOK, at, nil, d, x.Form.Get(seenField))
	}
	if err := x.update(at, &d, texts); err != nil {
		return x.showEdit(http.StatusUnprocessableEntity, at, err, d, x.Form.Get(seenField))
	}
	return x.Done(snippet.WebPath(at), "Snippet saved.")
}

func (x *snippetRequest) update(at snippet.Place, d *draft, texts []snippet.Text) error {
	if err := d.check(); err != nil {
		return err
	}
	level, err := d.level()
	if err != nil {
		return err
	}
	c := snippet.Change{Title: &d.title, Description: new(d.describe()), Visibility: &level}
	if seen, err := strconv.ParseInt(x.Form.Get(seenField), 10, 64); err == nil {
		c.Seen = time.UnixMicro(seen)
	}
	if c.Files, err = d.edits(texts); err != nil {
		return err
	}
	_, err = x.deps.Snippets.Update(x.Context(), x.Actor, at, c)
	return err
}

func deleteSnippet(x *snippetRequest) error {
	at, err := x.findToEdit()
	if err != nil {
		return err
	}
	if err := x.deps.Snippets.Delete(x.Context(), x.Actor, at); err != nil {
		return err
	}
	list := x.path
	if x.project == nil {
		list = ownPath
	}
	return x.Done(list, "Snippet deleted.")
}
