// Package grouppage is the kit of pages about a group. They are found at /groups/, the path of the group, which has any
// depth, and what follows it after "/-/". An area declares such a page by what follows, as it does with those about a
// project (package projectpage).
package grouppage

import (
	"net/http"
	"strings"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// Page is a page about a group.
type Page struct {
	Route string           // method and what follows the path of the group
	Needs []access.Ability // that its readers hold there; none: who sees the group sees the page
	Has   func() bool      // whether groups of this instance have it; nil: they have
	Do    func(*Request) error
	Many  []string // the fields that may be sent more than once
	Large bool     // its form may hold texts as large as those of a repository
	Nav   page.Nav // with a title, all pages about a group link to it

	Tokens *access.Demand // what a token must carry so that a program may look with it; nil: only browsers look
}

// Site is all pages about groups.
type Site struct {
	groups *group.Service
	pages  []Page
}

// New joins the pages about groups.
func New(groups *group.Service, pages ...Page) *Site { return &Site{groups: groups, pages: pages} }

// Pages are the pages as others are declared. Their routes begin after the path of the group.
func (s *Site) Pages() []page.Page {
	all := make([]page.Page, 0, len(s.pages))
	for _, p := range s.pages {
		one := page.Page{Route: p.Route, Many: p.Many, Large: p.Large, Tokens: p.Tokens, Do: func(x *page.Request) error { return s.serve(x, p) }}
		// A page that strangers may not see asks them to sign in all the same.
		if len(p.Needs) == 0 || one.Reads() {
			one.Who = page.Readers
		}
		all = append(all, one)
	}
	return all
}

// Request is a request for a page about a group.
type Request struct {
	*page.Request
	Group *group.Group
	site  *Site
}

const (
	prefix    = "/groups/"
	pathValue = "group" // under which name the path of the group travels from Below to serve
)

// Below is a request for a page about a group as the routes of such pages know it, or nil when the path cannot be one.
func Below(r *http.Request) *http.Request {
	full, rest, deep := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), prefix), "/-/")
	if full == "" || !strings.HasPrefix(r.URL.EscapedPath(), prefix) || strings.Contains(full, "%") {
		return nil
	}
	return page.Below(r, pathValue, full, rest, deep)
}

// Whole takes back what Below cut off.
func Whole(r *http.Request) *http.Request {
	return page.Whole(r, prefix+r.PathValue(pathValue))
}

// serve finds the group of a page for a reader who holds what the page needs.
func (s *Site) serve(x *page.Request, p Page) error {
	full := x.R.PathValue(pathValue)
	g, err := s.groups.FindByRef(x.Context(), x.Actor, full)
	// A number would be taken for an id. Settings have one address.
	if err == nil && (!strings.EqualFold(g.FullPath, full) || (len(p.Needs) > 0 && g.FullPath != full) || !holds(x, g, p)) {
		err = fault.New(fault.NotFound)
	}
	if fault.Is(err, fault.NotFound) && x.Account == nil {
		x.AskToSignIn()
		return nil
	}
	if err != nil {
		return err
	}
	return p.Do(&Request{Request: x, Group: g, site: s})
}

func holds(x *page.Request, g *group.Group, p Page) bool {
	if p.Has != nil && !p.Has() {
		return false
	}
	for _, can := range p.Needs {
		if !access.Holds(x.Actor, can, g.Target()) {
			return false
		}
	}
	return true
}

// At is the path of a page about the group: "settings/ci_cd", or "" for its first.
func (x *Request) At(below string) string {
	path := prefix + x.Group.FullPath
	if below != "" {
		path += "/-/" + below
	}
	return path
}

// Layout is that of a page about the group. tab is what follows the path of the listed page that it belongs to.
func (x *Request) Layout(title, tab string) page.Layout {
	h := &page.Header{Name: x.Group.FullPath, Kind: "Group", Crumbs: x.Crumbs(x.Group.FullPath)}
	last := &h.Crumbs[len(h.Crumbs)-1]
	last.Here, last.Icon = true, ui.IconGroup
	for _, p := range x.site.pages {
		if p.Nav.Title == "" || !holds(x.Request, x.Group, p) {
			continue
		}
		_, path, _ := strings.Cut(p.Route, " /-/")
		h.Tabs = append(h.Tabs, page.NavLink{Title: p.Nav.Title, URL: x.Link(x.At(path)), Icon: p.Nav.Icon, Here: path == tab})
	}
	return page.Layout{Title: title, Header: h}
}
