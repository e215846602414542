package texts

import (
	"net/http"
	"slices"
	"strings"

	"stithy/internal/gitstore"
	"stithy/internal/kit/fault"
	"stithy/internal/web/page"
	"stithy/internal/wiki"
)

// editBody is a form about a page of a wiki.
type editBody struct {
	Form   *page.Form // nil: a form cannot hold the page
	Now    page.URL   // where somebody else was quicker, what they made of it
	Clone  clone
	Back   page.URL
	Delete *page.Form
}

// formatNames are how people call the formats that they write in.
var formatNames = map[wiki.Format]string{wiki.Markdown: "Markdown", "rdoc": "RDoc", "asciidoc": "AsciiDoc", "org": "Org"}

func formatName(f wiki.Format) string {
	if name, known := formatNames[f]; known {
		return name
	}
	return string(f)
}

// formatChoices are the formats that a page can have; one that has another keeps it.
func formatChoices(of wiki.Format) (all []page.Choice) {
	known := wiki.Formats
	if !slices.Contains(known, of) {
		known = append(slices.Clone(known), of)
	}
	for _, f := range known {
		all = append(all, page.Choice{Value: string(f), Label: formatName(f), Chosen: f == of})
	}
	return all
}

func wikiFields(p *wiki.Page) []page.Field {
	where := "To put the page into a folder, write the folder first: docs/Build."
	if p.Slug != "" {
		where += " Another title moves the page."
	}
	return []page.Field{
		{
			Name: "title", Label: "Title", Type: page.Text, Value: p.Slug, Required: true, Length: 1000,
			Hint: where,
		},
		{Name: "content", Label: "Text", Type: page.Textarea, Value: p.Content},
		{
			Name: "format", Label: "Format", Type: page.Select, Options: formatChoices(p.Format),
			Hint: "Pages in other formats than Markdown are shown as they are written.",
		},
		{Name: "message", Label: "What you changed", Type: page.Text, Length: 1000, Hint: "Empty: the history says who changed which page."},
	}
}

func newPage(x *wikiRequest) error {
	if err := x.check(wiki.ToWrite); err != nil {
		return err
	}
	return x.showNew(http.StatusOK, x.newForm(x.Form.Get("title")))
}

func (x *wikiRequest) newForm(title string) *page.Form {
	return x.NewForm(x.at(wikisPath), "Create page", wikiFields(&wiki.Page{Slug: title, Format: wiki.Markdown})...)
}

func (x *wikiRequest) showNew(code int, form *page.Form) error {
	return x.Show(code, x.layout("New page", wikisPath), editWiki(editBody{Form: form, Back: x.Link(x.at(wikisPath))}))
}

func createPage(x *wikiRequest) error {
	p, err := x.deps.Wikis.Create(x.Context(), x.Actor, x.owner.Entity, wiki.Draft{
		Title: x.Form.Get("title"), Content: typed(x.Form.Get("content"), ""), Format: wiki.Format(x.Form.Get("format")),
		Message: strings.TrimSpace(x.Form.Get("message")),
	})
	if err == nil {
		return x.Done(x.shown(p), "Page created.")
	}
	form := x.newForm("")
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return x.showNew(http.StatusUnprocessableEntity, form)
}

func editPage(x *wikiRequest, slug string) error {
	if err := x.check(wiki.ToWrite); err != nil {
		return err
	}
	p, err := x.deps.Wikis.Find(x.Context(), x.owner.Entity, slug, "")
	if fault.Is(err, fault.NotFound) {
		return x.missing(slug)
	}
	if err != nil {
		return err
	}
	body := editBody{Back: x.Link(x.shown(p)), Clone: x.deps.clone(wiki.Path(x.owner))}
	if editable(p.Content, maxEdited) {
		body.Form = x.editForm(p, string(p.ID))
	}
	return x.showEdit(http.StatusOK, slug, body)
}

// editForm is the form for a page that had an ID when somebody began to write.
func (x *wikiRequest) editForm(p *wiki.Page, seen string) *page.Form {
	return x.NewForm(x.path(p.Slug, editAct), "Save page", wikiFields(p)...).With("seen", seen)
}

func (x *wikiRequest) showEdit(code int, slug string, body editBody) error {
	if x.may(wiki.ToDelete) {
		body.Delete = x.Button(x.path(slug, deleteAct), "Delete page", page.Danger, "").
			AskFirst("The page “" + cut(slug, maxSlug) + "” goes from the wiki. What it said stays in the history of the repository.")
	}
	return x.Show(code, x.layout("Edit "+cut(slug, maxSlug), wikisPath), editWiki(body))
}

// errGone is what is said to whoever writes a page that is not there any more.
var errGone = fault.WithMessage(fault.Conflict, "Somebody deleted or moved this page meanwhile. "+
	"Copy what you wrote, and make a new page of it if it is still wanted.")

func updatePage(x *wikiRequest, slug string) error {
	was, err := x.deps.Wikis.Find(x.Context(), x.owner.Entity, slug, "")
	if err == nil {
		var p *wiki.Page
		if p, err = x.update(was); err == nil {
			return x.Done(x.shown(p), "Page saved.")
		}
	}
	if fault.Is(err, fault.NotFound) {
		was, err = &wiki.Page{Slug: slug, Format: wiki.Markdown}, errGone
	}
	if was == nil {
		return err
	}
	body := editBody{Back: x.Link(x.at(wikisPath)), Form: x.editForm(was, x.Form.Get("seen"))}
	if was.ID != "" {
		body.Back = x.Link(x.shown(was))
	}
	if fault.Is(err, fault.Conflict) && was.ID != "" {
		body.Now = body.Back
	}
	if err := x.Refuse(body.Form, err); err != nil {
		return err
	}
	return x.showEdit(http.StatusUnprocessableEntity, slug, body)
}

// update makes of a page what the form says.
func (x *wikiRequest) update(was *wiki.Page) (*wiki.Page, error) {
	c := wiki.Change{
		Content: new(typed(x.Form.Get("content"), was.Content)), Format: new(wiki.Format(x.Form.Get("format"))),
		Message: strings.TrimSpace(x.Form.Get("message")), Seen: gitstore.OID(x.Form.Get("seen")),
	}
	if title := strings.TrimSpace(x.Form.Get("title")); title != was.Slug {
		c.Title = new("/" + title) // from the top
	}
	return x.deps.Wikis.Update(x.Context(), x.Actor, x.owner.Entity, was.Slug, c)
}

func deletePage(x *wikiRequest, slug string) error {
	if err := x.check(wiki.ToDelete); err != nil {
		return err
	}
	if err := x.deps.Wikis.Delete(x.Context(), x.Actor, x.owner.Entity, slug); err != nil {
		return err
	}
	return x.Done(x.at(wikisPath), "Page deleted. The history of the repository has it still.")
}
