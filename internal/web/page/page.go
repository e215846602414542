// Package page is the kit that pages are made with: how a page is declared, the request that its handler is given, forms,
// messages after a redirect, the layout, lists in parts, times. It knows no room. What a page shows and does is a call
// of a room's service, in the area that the page belongs to (internal/web/account and its neighbours).
//
// An area declares its pages in pages.go. A handler answers with Request.Show, Request.Redirect, Request.Done or an
// error. Forms come from Request.NewForm, so that none lacks its CSRF value, and addresses from Request.Link, so that
// they work where the instance lies below a path.
package page

import (
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/web/ui"
)

// Page is one thing that people can look at or send.
type Page struct {
	Route string // method and path, in the words of http.ServeMux
	Who   Audience
	Do    func(*Request) error
	Many  []string    // the fields that may be sent more than once
	Large bool        // its form may hold texts as large as those of a repository
	File  bool        // its form may hold a file, behind everything else
	Has   func() bool // whether this instance has it; nil: it has
	Nav   Nav

	// Tokens is what a token must carry so that a program may look with it. Nil: only browsers look.
	Tokens *access.Demand
}

// Nav is where other pages link to a page.
type Nav struct {
	List  List // none, if it is empty
	Title string
	Icon  ui.IconPath
	Count func(*Request) (int, error) // how much waits there for who is signed in, asked on every page; nil: nothing is counted
}

// List is a list of pages that link to each other.
type List string

// The lists that stand beside their pages.
const (
	OwnList     List = "You"   // in the bar of every page
	OwnMenu     List = "Yours" // in the menu of the account
	AccountList List = "Settings"
	AdminList   List = "Administration"
)

// Audience is who may see a page.
type Audience int

// The audiences.
const (
	SignedIn       Audience = iota // everybody else is sent to sign in, and back
	Anyone                         // also strangers
	Administrators                 // to everybody else it does not exist
	MustChange                     // also whose password has to be changed first
	MustEnroll                     // also who has to set up a second factor first
	Readers                        // also strangers, as far as what they ask for is open to them
)

// Path is what follows the method in the route.
func (p Page) Path() string {
	_, path, _ := strings.Cut(p.Route, " ")
	return path
}

// There reports whether this instance has the page.
func (p Page) There() bool { return p.Has == nil || p.Has() }

// Reads reports whether the page is looked at, rather than sent.
func (p Page) Reads() bool { return strings.HasPrefix(p.Route, "GET ") }
