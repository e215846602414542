package texts

import (
	"net/http"
	"net/url"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
	"stithy/internal/snippet"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
)

const (
	snippetsPath    = "snippets"
	ownPath         = "/dashboard/snippets"
	explorePath     = "/explore/snippets"
	snippetsPerPage = 20
)

// snippetRoute is a page about the snippets of a project and the same about those of people.
type snippetRoute struct {
	route string
	needs access.Ability // in a project
	do    func(*snippetRequest) error
	large bool
}

func snippetRoutes() []snippetRoute {
	return []snippetRoute{
		{route: "POST /-/snippets", needs: access.CreateSnippets, do: createSnippet, large: true},
		{route: "GET /-/snippets/new", needs: access.CreateSnippets, do: newSnippet},
		{route: "GET /-/snippets/{id}", needs: access.ReadSnippets, do: showSnippet},
		{route: "POST /-/snippets/{id}", needs: access.EditSnippets, do: updateSnippet, large: true},
		{route: "GET /-/snippets/{id}/edit", needs: access.EditSnippets, do: editSnippet},
		{route: "POST /-/snippets/{id}/delete", needs: access.EditSnippets, do: deleteSnippet},
		{route: "GET /-/snippets/{id}/raw", needs: access.ReadSnippets, do: rawSnippet},
		{route: "GET /-/snippets/{id}/raw/{file...}", needs: access.ReadSnippets, do: rawSnippet},
	}
}

func projectSnippets(d Deps) []projectpage.Page {
	in := func(do func(*snippetRequest) error) func(*projectpage.Request) error {
		return func(x *projectpage.Request) error {
			return do(&snippetRequest{Request: x.Request, deps: d, project: x.Project, path: x.At(snippetsPath), layout: func(title string) page.Layout {
				return x.Layout(title, snippetsPath)
			}})
		}
	}
	all := []projectpage.Page{{
		Route: "GET /-/snippets", Needs: access.ReadSnippets, Do: in(showSnippets), Nav: page.Nav{List: projectpage.Code, Title: "Snippets"},
	}}
	for _, r := range snippetRoutes() {
		all = append(all, projectpage.Page{Route: r.route, Needs: r.needs, Large: r.large, Do: in(r.do)})
	}
	return all
}

func ownSnippets(d Deps) []page.Page {
	in := func(do func(*snippetRequest) error) func(*page.Request) error {
		return func(x *page.Request) error {
			return do(&snippetRequest{Request: x, deps: d, path: "/-/" + snippetsPath, layout: func(title string) page.Layout { return ownLayout(x, title) }})
		}
	}
	all := []page.Page{
		{Route: "GET " + ownPath, Do: in(showOwn), Nav: page.Nav{List: page.OwnMenu, Title: "Snippets", Icon: ui.IconSnippet}},
		{Route: "GET " + explorePath, Who: page.Readers, Do: in(explore)},
		{Route: "GET /-/snippets", Do: in(toOwn)},
	}
	for _, r := range snippetRoutes() {
		p := page.Page{Route: r.route, Large: r.large, Do: in(r.do)}
		if p.Reads() && r.needs == access.ReadSnippets {
			p.Who = page.Readers
		}
		all = append(all, p)
	}
	return all
}

// ownLayout is that of pages about snippets of people.
func ownLayout(x *page.Request, title string) page.Layout {
	list := ownPath
	if x.Account == nil {
		list = explorePath
	}
	way := []page.NavLink{{Title: "Snippets", URL: x.Link(list), Icon: ui.IconSnippet, Here: true}}
	return page.Layout{Title: title, Header: &page.Header{Name: "Snippets", Crumbs: way}}
}

// snippetRequest is a request for a page about snippets of a project, or of people.
type snippetRequest struct {
	*page.Request
	deps    Deps
	project *project.Project // nil: of people
	path    string           // where the snippets are
	layout  func(title string) page.Layout
}

// at is the path of a snippet and what follows it.
func (x *snippetRequest) at(s *snippet.Snippet, rest string) string {
	return x.path + "/" + strconv.FormatInt(s.ID, 10) + rest
}

// find reads the snippet that the path names. One of a project is looked at there.
func (x *snippetRequest) find() (snippet.Place, error) {
	id, err := x.ID()
	var at snippet.Place
	switch {
	case err != nil:
	case x.project != nil:
		at, err = x.deps.Snippets.FindIn(x.Context(), x.Actor, x.project, id)
	default:
		at, err = x.deps.Snippets.Find(x.Context(), x.Actor, id)
	}
	if fault.Is(err, fault.NotFound) && x.Account == nil && x.Reading() {
		x.AskToSignIn()
		return at, page.ErrAnswered
	}
	if err == nil && x.project == nil && at.Project != nil {
		if !x.Reading() {
			return at, fault.New(fault.NotFound)
		}
		x.Redirect(snippet.WebPath(at))
		return at, page.ErrAnswered
	}
	return at, err
}

// findToEdit is find for those who change a snippet.
func (x *snippetRequest) findToEdit() (snippet.Place, error) {
	at, err := x.find()
	if err == nil && !snippet.MayEdit(x.Actor, at.Project, at.Snippet) {
		err = fault.New(fault.NotFound)
	}
	return at, err
}

// mayCreate reports whether somebody is offered to make a snippet.
func (x *snippetRequest) mayCreate() bool {
	if x.project != nil {
		return access.Holds(x.Actor, access.CreateSnippets, x.project.Target())
	}
	return snippet.MayKeep(x.Actor)
}

// snippetsBody is one page of a list of snippets.
type snippetsBody struct {
	Lists    []listLink
	Snippets []snippetRow
	Pager    page.Pager
	None     string
}

// listLink leads to a list.
type listLink struct {
	Title string
	URL   page.URL
	Here  bool
}

// snippetRow is a snippet in a list.
type snippetRow struct {
	URL        page.URL
	Title      string
	In         string // the project, where the list is of several
	Files      string
	Visibility string
	Author     *person
	When       *page.DisplayTime
}

// person is somebody as a page shows them.
type person struct{ Name, Username string }

func personOf(b *user.Brief) *person {
	if b == nil {
		return nil
	}
	return &person{Name: b.Name, Username: b.Username}
}

func (p person) avatar() ui.AvatarOf { return ui.AvatarOf{Name: p.Name, Key: p.Username} }

func showSnippets(x *snippetRequest) error {
	return x.list("Snippets", x.path, snippet.Filter{ProjectID: x.project.ID}, snippetsBody{
		None: "There are no snippets that you can see. A snippet is a few files that are kept beside the code: a script, a log, an example.",
	})
}

func showOwn(x *snippetRequest) error {
	return x.list("Your snippets", ownPath, snippet.Filter{AuthorID: x.Actor.ID()}, snippetsBody{
		Lists: x.lists(ownPath), None: "You have no snippets yet. A snippet is a few files that you keep and show to others: a script, a log, an example.",
	})
}

func explore(x *snippetRequest) error {
	return x.list("Public snippets", explorePath, snippet.Filter{Public: true}, snippetsBody{
		Lists: x.lists(explorePath), None: "Nobody has a public snippet yet.",
	})
}

// lists are those of snippets of people; somebody who is not signed in has none.
func (x *snippetRequest) lists(here string) []listLink {
	if x.Account == nil {
		return nil
	}
	return []listLink{
		{Title: "Yours", URL: x.Link(ownPath), Here: here == ownPath}, {Title: "Public", URL: x.Link(explorePath), Here: here == explorePath},
	}
}

// list shows one part of a list at a path.
func (x *snippetRequest) list(title, path string, f snippet.Filter, body snippetsBody) error {
	req, err := x.ByCursor(snippetsPerPage)
	if err != nil {
		return err
	}
	found, err := x.deps.Snippets.List(x.Context(), x.Actor, f, req)
	if err != nil {
		return err
	}
	shown, err := x.deps.Snippets.Beside(x.Context(), x.Actor, x.project, found.Items...)
	if err != nil {
		return err
	}
	for _, s := range shown {
		row := snippetRow{
			URL: x.Link(snippet.WebPath(s.Place)), Title: s.Title, Files: counted(len(s.Files), "file"), Visibility: s.Visibility.String(),
			Author: personOf(s.Author), When: x.Time(&s.CreatedAt),
		}
		if x.project == nil && s.Project != nil {
			row.In = s.Project.FullPath()
		}
		body.Snippets = append(body.Snippets, row)
	}
	body.Pager = x.CursorPager(path, url.Values{}, req, found.Next)
	l := x.layout(title)
	if x.mayCreate() {
		l.Actions = primaryLink(x.Link(x.path+"/new"), "New snippet")
	}
	return x.Show(http.StatusOK, l, snippetsPage(body))
}

// toOwn leads from where a form was sent to the list.
func toOwn(x *snippetRequest) error {
	x.Redirect(ownPath)
	return nil
}
