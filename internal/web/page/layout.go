package page

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"stithy/internal/kit/wire"
	"stithy/internal/web/ui"
)

// Layout is how a page is laid out around what it shows.
type Layout struct {
	Title   string
	Heading templ.Component // the heading where it is more than the title
	Facts   templ.Component // the line below the heading
	Actions templ.Component // the buttons beside it
	Narrow  bool            // the page is one form
	Wide    bool            // the page takes the whole width
	Header  *Header         // of a page about a project or group
	Sidebar *Sidebar
	Script  Script
	Live    *Live
	Feed    URL // of what the page shows, for programs that follow it
}

// NavLink is a link in a list of pages.
type NavLink struct {
	Title string
	URL   URL // empty: there is no page
	Icon  ui.IconPath
	Here  bool
	Count string // how much waits there
}

// Header is what stands above a page about a project or group.
type Header struct {
	Name   string    // of the project or group, in the title of the window
	Kind   string    // "Project" or "Group"
	Crumbs []NavLink // the way there
	Tabs   []NavLink // sections
	Sub    []NavLink // pages of the section
}

// Sidebar is the pages beside one.
type Sidebar struct {
	Title string
	Links []NavLink
}

// Live is a page that changes by itself.
type Live struct {
	Says    string // for those who hear the page, when it changes
	Seconds int    // until it may have changed; 0: it will not
}

// Sidebar is a list of pages; here is the path of the one that is shown.
func (x *Request) Sidebar(list List, here string) *Sidebar {
	s := &Sidebar{Title: string(list)}
	for _, p := range x.Listed(list) {
		s.Links = append(s.Links, NavLink{Title: p.Nav.Title, URL: x.Link(p.Path()), Icon: p.Nav.Icon, Here: p.Path() == here})
	}
	return s
}

// Crumbs is the way to a project or group, a step for each group on it.
func (k *Kit) Crumbs(full string) []NavLink {
	var crumbs []NavLink
	var at string
	for name := range strings.SplitSeq(full, "/") {
		at += "/" + name
		crumbs = append(crumbs, NavLink{Title: name, URL: k.Link(at)})
	}
	return crumbs
}

// view is what the layout is given.
type view struct {
	Layout
	Brand     string
	Home      URL
	Sheet     URL
	ScriptURL URL
	Flash     *Flash
	Account   *Account  // nil: nobody is signed in, or may do nothing yet
	Tools     []NavLink // in the bar
	Menu      []NavLink
	SignOut   *Form // nil: nobody is signed in
	SignIn    URL   // for strangers who may read but would see more
	API       URL
}

// window is what the browser shows above the page.
func (v view) window() string {
	title := v.Title
	if v.Header != nil {
		title += " · " + v.Header.Name
	}
	return title + " · " + v.Brand
}

// crumbs is the way to the page.
func (v view) crumbs() []NavLink {
	switch {
	case v.Header != nil:
		return v.Header.Crumbs
	case v.Sidebar != nil && len(v.Sidebar.Links) > 0:
		return []NavLink{{Title: v.Sidebar.Title, URL: v.Sidebar.Links[0].URL, Here: true}}
	}
	return nil
}

// frame is the class of what stands below the header.
func (v view) frame() string {
	switch {
	case v.Narrow:
		return "frame narrow"
	case v.Wide:
		return "frame wide"
	case v.Sidebar != nil:
		return "frame sided"
	}
	return "frame"
}

// bare reports whether the page is one form for somebody who is not signed in.
func (v view) bare() bool { return v.Narrow && v.SignOut == nil && v.Header == nil }

func newView(x *Request, l Layout, status int) view {
	v := view{Layout: l, Brand: wire.Brand, Home: x.Link("/"), Sheet: x.Link(x.assets.sheet), Flash: x.Flash(), API: x.Link("/-/api")}
	if l.Script != "" {
		x.policy.script = true
		v.ScriptURL = x.Link(x.assets.scripts[l.Script])
	}
	if x.Account == nil {
		v.SignIn = x.SignInAndBack()
		return v
	}
	v.SignOut = x.Button("/users/sign_out", "Sign out", Secondary, "")
	v.SignOut.Icon = ui.IconSignOut
	if !x.Actor.SignedIn() {
		return v
	}
	v.Account = x.Account
	for _, p := range x.Listed(OwnList) {
		v.Tools = append(v.Tools, NavLink{Title: p.Nav.Title, URL: x.Link(p.Path()), Icon: p.Nav.Icon, Count: waiting(x, p, status)})
	}
	v.Menu = menuLinks(x)
	return v
}

// maxWaiting is how far a count in the bar is shown: it has room for two digits.
const maxWaiting = 99

// waiting is how much waits on a page, and nothing if it is nothing. A page is not lost for a number: where the count fails, it is shown without,
// and a page that says that something failed does not ask for what may fail as well.
func waiting(x *Request, p Page, status int) string {
	if p.Nav.Count == nil || status >= http.StatusInternalServerError {
		return ""
	}
	n, err := p.Nav.Count(x)
	switch {
	case err != nil && x.Context().Err() == nil:
		x.LogError("counting what waits failed", err, nil)
		return ""
	case err != nil || n == 0:
		return ""
	case n > maxWaiting:
		return strconv.Itoa(maxWaiting) + "+"
	}
	return strconv.Itoa(n)
}

// menuLinks is what the menu of the account leads to: what somebody has, the first page of each list, and those that are needed often.
func menuLinks(x *Request) []NavLink {
	var links []NavLink
	for _, p := range x.Listed(OwnMenu) {
		links = append(links, NavLink{Title: p.Nav.Title, URL: x.Link(p.Path()), Icon: p.Nav.Icon})
	}
	for i, p := range x.Listed(AccountList) {
		if i == 0 || slices.Contains([]string{"Access tokens", "Invitations"}, p.Nav.Title) {
			links = append(links, NavLink{Title: p.Nav.Title, URL: x.Link(p.Path()), Icon: p.Nav.Icon})
		}
	}
	if admin := x.Listed(AdminList); x.Actor.Admin() && len(admin) > 0 {
		links = append(links, NavLink{Title: string(AdminList), URL: x.Link(admin[0].Path()), Icon: ui.IconShield})
	}
	return links
}
