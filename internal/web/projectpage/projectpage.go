// Package projectpage is the kit of pages about a project. They are found by the path of the project, which has any
// depth, and what follows it after "/-/". An area declares such a page by what follows, with what its readers must hold:
//
//	{Route: "GET /-/things", Needs: access.ReadThings, Do: showThings, Nav: page.Nav{List: projectpage.Build, Title: "Things"}}
//
// Whoever does not hold it is told that there is nothing, strangers that they may sign in. The handler finds the project
// in its request, writes paths with At and is laid out by Layout.
package projectpage

import (
	"net/http"
	"strings"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// Page is a page about a project.
type Page struct {
	Route string // method and what follows the path of the project
	Needs access.Ability
	Has   func() bool // whether projects of this instance have it; nil: they have
	Do    func(*Request) error
	Many  []string // the fields that may be sent more than once
	File  bool     // its form may hold a file, behind everything else
	Large bool     // its form may hold texts as large as those of a repository
	Nav   page.Nav // with a title, all pages about a project link to it

	Tokens *access.Demand // what a token must carry so that a program may look with it; nil: only browsers look
}

// The sections of a project, each a list of pages.
const (
	Code     page.List = "Code"
	Issues   page.List = "Issues"
	Build    page.List = "Build"
	Monitor  page.List = "Monitor"
	Wiki     page.List = "Wiki"
	Settings page.List = "Settings"
)

// sections are in the order of the tabs. One is shown to those who hold what it needs, if it needs anything, and see a page of it.
var sections = []struct {
	list  page.List
	icon  ui.IconPath
	needs access.Ability
}{
	{Code, ui.IconSnippet, ""}, {Issues, ui.IconIssue, access.ReadIssues}, {Build, ui.IconBuild, ""}, {Monitor, ui.IconMonitor, ""}, {Wiki, ui.IconBook, ""},
	{Settings, ui.IconSettings, ""},
}

// Deps is what finding a project needs.
type Deps struct {
	Projects *project.Service
	Groups   *group.Service
}

// Site is all pages about projects.
type Site struct {
	deps  Deps
	pages []Page
}

// New joins the pages about projects.
func New(d Deps, pages ...Page) *Site { return &Site{deps: d, pages: pages} }

// Pages are the pages as others are declared. Their routes begin after the path of the project.
func (s *Site) Pages() []page.Page {
	all := make([]page.Page, 0, len(s.pages))
	for _, p := range s.pages {
		one := page.Page{Route: p.Route, Many: p.Many, Large: p.Large, File: p.File, Tokens: p.Tokens, Do: func(x *page.Request) error { return s.serve(x, p) }}
		if one.Reads() {
			one.Who = page.Readers
		}
		all = append(all, one)
	}
	return all
}

// Request is a request for a page about a project.
type Request struct {
	*page.Request
	Project *project.Project // with the reader's role in it
	site    *Site
}

// pathValue is under which name the path of the project travels from Below to serve.
const pathValue = "project"

// Below is a request for a page about a project as the routes of such pages know it, or nil when the path cannot be one.
func Below(r *http.Request) *http.Request {
	full, rest, deep := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/-/")
	top, _, nested := strings.Cut(full, "/")
	if !nested || group.ReservedAtTop(top) || strings.Contains(full, "%") {
		return nil
	}
	return page.Below(r, pathValue, full, rest, deep)
}

// Whole takes back what Below cut off.
func Whole(r *http.Request) *http.Request {
	return page.Whole(r, "/"+r.PathValue(pathValue))
}

// serve finds the project of a page for a reader who holds what the page needs. A former path, or the address that git
// clones, leads to the present one.
func (s *Site) serve(x *page.Request, page Page) error {
	asked := x.R.PathValue(pathValue)
	plain := strings.TrimSuffix(asked, ".git")
	p, moved, err := s.deps.Projects.FindByRef(x.Context(), x.Actor, plain)
	if err == nil && (!access.Holds(x.Actor, page.Needs, p.Target()) || (page.Has != nil && !page.Has())) {
		err = fault.New(fault.NotFound)
	}
	if fault.Is(err, fault.NotFound) && x.Reading() && x.R.URL.Path == "/"+asked {
		if g, err := s.deps.Groups.FindByRef(x.Context(), x.Actor, plain); err == nil {
			x.Redirect("/groups/" + g.FullPath)
			return nil
		}
	}
	switch {
	case fault.Is(err, fault.NotFound) && x.Account == nil && x.Reading():
		x.AskToSignIn()
		return nil
	case err != nil:
		return err
	case (moved || plain != asked) && x.Reading():
		u := *x.R.URL
		u.Path = "/" + p.FullPath() + strings.TrimPrefix(u.Path, "/"+asked)
		u.RawPath = "/" + p.FullPath() + strings.TrimPrefix(x.R.URL.EscapedPath(), "/"+asked)
		x.Redirect(u.RequestURI())
		return nil
	}
	return page.Do(&Request{Request: x, Project: p, site: s})
}

// May reports whether the reader holds an ability in the project.
func (x *Request) May(can access.Ability) bool { return access.Holds(x.Actor, can, x.Project.Target()) }

// At is the path of a page about the project: "pipelines", or "" for its first.
func (x *Request) At(below string) string {
	path := "/" + x.Project.FullPath()
	if below != "" {
		path += "/-/" + below
	}
	return path
}

// LinkTo is the address of a page about the project.
func (x *Request) LinkTo(below string) page.URL { return x.Link(x.At(below)) }

// Branch is the default branch of the project, or the one that it would have.
func (x *Request) Branch() string { return x.site.deps.Projects.BranchOf(x.Project) }

// Layout is that of a page about the project: the way there, its sections, and the other pages of the section. tab is
// what follows the path of the listed page that it belongs to.
func (x *Request) Layout(title, tab string) page.Layout {
	h := &page.Header{Name: x.Project.FullPath(), Kind: "Project", Crumbs: x.Crumbs(x.Project.FullPath())}
	last := &h.Crumbs[len(h.Crumbs)-1]
	last.Here, last.Icon = true, ui.VisibilityIcon(x.Project.Visibility.String())
	l := page.Layout{Title: title, Header: h}
	for _, s := range sections {
		links := x.section(s.list, tab)
		if len(links) == 0 || (s.needs != "" && !x.May(s.needs)) {
			continue
		}
		t := page.NavLink{Title: string(s.list), URL: links[0].URL, Icon: s.icon}
		for _, link := range links {
			t.Here = t.Here || link.Here
		}
		h.Tabs = append(h.Tabs, t)
		switch {
		case t.Here && s.list == Settings:
			l.Sidebar = &page.Sidebar{Title: "Project settings", Links: links}
		case t.Here:
			h.Sub = links
		}
	}
	return l
}

// section is the pages of a section that the reader may see.
func (x *Request) section(list page.List, tab string) []page.NavLink {
	var links []page.NavLink
	for _, p := range x.site.pages {
		if p.Nav.List != list || !x.May(p.Needs) || (p.Has != nil && !p.Has()) {
			continue
		}
		_, path, _ := strings.Cut(p.Route, " /-/")
		links = append(links, page.NavLink{Title: p.Nav.Title, URL: x.LinkTo(path), Icon: p.Nav.Icon, Here: path == tab})
	}
	return links
}
