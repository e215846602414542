package texts

import (
	"net/http"
	"net/url"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
	"stithy/internal/wiki"
)

const (
	wikisPath    = "wikis"
	sidebarSlug  = "_sidebar" // of the page that is shown beside all others
	versionParam = "version_id"
)

// wikiRoute is a page about the wiki of a project and the same about that of a group.
type wikiRoute struct {
	route string
	needs owner.Needs
	do    func(*wikiRequest) error
	large bool
	title string // with one, other pages link to it
}

// wikiRoutes are few: a slug has any number of folders, so what is done to a page is found behind it.
func wikiRoutes() []wikiRoute {
	return []wikiRoute{
		{route: "GET /-/wikis", needs: wiki.ToRead, do: openWiki, title: "Wiki"},
		{route: "POST /-/wikis", needs: wiki.ToWrite, do: createPage, large: true},
		{route: "GET /-/wikis/{slug...}", needs: wiki.ToRead, do: readWiki},
		{route: "POST /-/wikis/{slug...}", needs: wiki.ToWrite, do: writeWiki, large: true},
	}
}

func projectWikis(d Deps) (all []projectpage.Page) {
	for _, r := range wikiRoutes() {
		p := projectpage.Page{Route: r.route, Needs: r.needs.Project, Large: r.large, Do: func(x *projectpage.Request) error {
			return r.do(&wikiRequest{Request: x.Request, deps: d, owner: owner.OfProject(x.Project), at: x.At, layout: x.Layout})
		}}
		if r.title != "" {
			p.Nav = page.Nav{List: projectpage.Wiki, Title: r.title}
		}
		all = append(all, p)
	}
	return all
}

func groupWikis(d Deps) (all []grouppage.Page) {
	for _, r := range wikiRoutes() {
		p := grouppage.Page{
			Route: r.route, Needs: []access.Ability{r.needs.Group}, Large: r.large, Has: func() bool { return d.Wikis.ForGroups() },
			Do: func(x *grouppage.Request) error {
				return r.do(&wikiRequest{Request: x.Request, deps: d, owner: owner.OfGroup(x.Group), at: x.At, layout: x.Layout})
			},
		}
		if r.title != "" {
			p.Nav = page.Nav{Title: r.title, Icon: ui.IconBook}
		}
		all = append(all, p)
	}
	return all
}

// wikiRequest is a request for a page about the wiki of a project or group.
type wikiRequest struct {
	*page.Request
	deps   Deps
	owner  *owner.Owner
	at     func(below string) string
	layout func(title, tab string) page.Layout
}

func (x *wikiRequest) may(n owner.Needs) bool { return n.Held(x.Actor, x.owner) }

// check refuses who does not hold what a part of the wiki needs; strangers may sign in.
func (x *wikiRequest) check(n owner.Needs) error {
	switch {
	case x.may(n):
		return nil
	case x.Account == nil && x.Reading():
		x.AskToSignIn()
		return page.ErrAnswered
	}
	return fault.New(fault.NotFound)
}

// path is that of a page, and of what is done to it.
func (x *wikiRequest) path(slug, act string) string {
	return x.at(wikisPath + "/" + wiki.Escaped(slug) + act)
}

// What follows a slug in an address, and what stands in the place of one.
const (
	editAct    = "/edit"
	historyAct = "/history"
	deleteAct  = "/delete"
	newSlug    = "new"
	pagesSlug  = "pages"
)

// shown is the path where a page is looked at. One that is called like something else is told apart by the commit that it is read from.
func (x *wikiRequest) shown(p *wiki.Page) string {
	if p.Slug == newSlug || p.Slug == pagesSlug || strings.HasSuffix(p.Slug, editAct) || strings.HasSuffix(p.Slug, historyAct) {
		return x.version(p.Slug, string(p.Commit))
	}
	return x.path(p.Slug, "")
}

// version is the path where a page is looked at as it was in a commit.
func (x *wikiRequest) version(slug, commit string) string {
	return x.path(slug, "") + "?" + url.Values{versionParam: {commit}}.Encode()
}

// readWiki finds out what is looked at: a page as it was once, a form, a list, or a page.
func readWiki(x *wikiRequest) error {
	slug := x.R.PathValue("slug")
	if x.Form.Has(versionParam) {
		return showPage(x, slug)
	}
	switch slug {
	case newSlug:
		return newPage(x)
	case pagesSlug:
		return showPages(x)
	}
	if of, found := strings.CutSuffix(slug, editAct); found {
		return editPage(x, of)
	}
	if of, found := strings.CutSuffix(slug, historyAct); found {
		return showHistory(x, of)
	}
	return showPage(x, slug)
}

// writeWiki finds out what is done to a page.
func writeWiki(x *wikiRequest) error {
	slug := x.R.PathValue("slug")
	if of, found := strings.CutSuffix(slug, editAct); found {
		return updatePage(x, of)
	}
	if of, found := strings.CutSuffix(slug, deleteAct); found {
		return deletePage(x, of)
	}
	return fault.New(fault.NotFound)
}

// emptyBody is a wiki that nobody wrote yet.
type emptyBody struct {
	Of    string // "project" or "group"
	New   page.URL
	Clone clone
}

// openWiki opens the wiki with the page that is made for that, or else with what there is.
func openWiki(x *wikiRequest) error {
	home, err := x.deps.Wikis.Find(x.Context(), x.owner.Entity, wiki.Home, "")
	if err == nil {
		x.Redirect(x.path(home.Slug, ""))
		return nil
	}
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	pages, _, err := x.deps.Wikis.Contents(x.Context(), x.owner.Entity, 1)
	if err != nil {
		return err
	}
	if len(pages) > 0 {
		x.Redirect(x.path(pagesSlug, ""))
		return nil
	}
	body := emptyBody{Of: owner.Noun(x.owner.Entity), Clone: x.deps.clone(wiki.Path(x.owner))}
	if x.may(wiki.ToWrite) {
		body.New = x.Link(x.newPath(wiki.Home))
	}
	return x.Show(http.StatusOK, x.layout("Wiki", wikisPath), emptyWiki(body))
}

// newPath is the path of the form for a page that is to have a title.
func (x *wikiRequest) newPath(title string) string {
	return x.path(newSlug, "") + "?" + url.Values{"title": {title}}.Encode()
}

// wikiBody is a page of a wiki.
type wikiBody struct {
	HTML    []byte
	Old     *oldVersion // nil: it is what the page says now
	Author  string
	When    *page.DisplayTime
	Edit    page.URL
	History page.URL
	New     page.URL
	Side    wikiSide
}

// oldVersion is said of a page that is shown as it was once.
type oldVersion struct {
	When *page.DisplayTime
	Now  page.URL // empty: the page is not there any more
}

func showPage(x *wikiRequest, slug string) error {
	version := x.Form.Get(versionParam)
	p, err := x.deps.Wikis.Find(x.Context(), x.owner.Entity, slug, version)
	if fault.Is(err, fault.NotFound) {
		if version == "" {
			return sendFile(x, slug)
		}
		return x.missing(slug)
	}
	if err != nil {
		return err
	}
	body, err := x.body(p)
	if err != nil {
		return err
	}
	if version != "" {
		if body.Old, err = x.old(p, body.When); err != nil {
			return err
		}
	}
	body.History = x.Link(x.path(slug, historyAct))
	if x.may(wiki.ToWrite) {
		body.New = x.Link(x.path(newSlug, ""))
		if body.Old == nil {
			body.Edit = x.Link(x.path(slug, editAct))
		}
	}
	l := x.layout(cut(p.Title, maxTitle), wikisPath)
	l.Facts, l.Actions = wikiFacts(body), wikiActions(body)
	return x.Show(http.StatusOK, l, wikiPage(body))
}

// body is what a page says, and who made it so.
func (x *wikiRequest) body(p *wiki.Page) (body wikiBody, err error) {
	shown, err := x.deps.Wikis.Show(x.Context(), x.Actor, x.owner, p)
	if err != nil {
		return body, err
	}
	last, err := x.deps.Wikis.History(x.Context(), x.owner.Entity, p, paging.Request{Page: 1, PerPage: 1})
	if err != nil {
		return body, err
	}
	body.HTML = []byte(shown)
	for _, v := range last.Items {
		body.Author, body.When = v.Author, x.Time(&v.When)
	}
	body.Side, err = x.side(p.Slug)
	return body, err
}

// old says that a page is another one now, if it is.
func (x *wikiRequest) old(p *wiki.Page, when *page.DisplayTime) (*oldVersion, error) {
	now, err := x.deps.Wikis.Find(x.Context(), x.owner.Entity, p.Slug, "")
	switch {
	case fault.Is(err, fault.NotFound):
		return &oldVersion{When: when}, nil
	case err != nil:
		return nil, err
	case now.ID == p.ID:
		return nil, nil
	}
	return &oldVersion{When: when, Now: x.Link(x.shown(now))}, nil
}

// sendFile answers with a file that pages link to. Where there is none the page is missing.
func sendFile(x *wikiRequest, file string) error {
	u, body, err := x.deps.Wikis.Open(x.Context(), x.owner.Entity, file)
	if fault.Is(err, fault.NotFound) {
		return x.missing(file)
	}
	if err != nil {
		return err
	}
	return x.Send(body, u.Size, u.Media(), u.Filename, !u.Picture())
}

// missingBody is a page that nobody wrote, or that is gone.
type missingBody struct {
	Slug string
	New  page.URL
	Side wikiSide
}

func (x *wikiRequest) missing(slug string) error {
	side, err := x.side(slug)
	if err != nil {
		return err
	}
	body := missingBody{Slug: cut(slug, maxSlug), Side: side}
	if x.may(wiki.ToWrite) && !x.Form.Has(versionParam) {
		body.New = x.Link(x.newPath(slug))
	}
	return x.Show(http.StatusNotFound, x.layout("Page not found", wikisPath), missingPage(body))
}

// How many letters are repeated of what a page is called.
const (
	maxSlug  = 200
	maxTitle = 255
)
