package page

import (
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/a-h/templ"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/secretbox"
)

// Deps is what the kit needs from below.
type Deps struct {
	Box         *secretbox.Box // seals what travels in cookies
	ExternalURL *url.URL
	Names       wire.Names
	Throttle    httpapi.Throttle
	Clock       clock.Clock
	Log         *slog.Logger
}

// Kit is what all pages of an instance share.
type Kit struct {
	ExternalURL *url.URL
	Names       wire.Names
	Clock       clock.Clock
	Secure      bool // the external URL is https

	box      *secretbox.Box
	throttle httpapi.Throttle
	large    *fairshare.Slots // of pages that take much memory until their readers have them
	streams  *fairshare.Slots // of answers that are put together while they are sent
	log      *slog.Logger
	base     string
	assets   assetFiles
	lists    map[List][]Page
}

// New makes a kit.
func New(d Deps) *Kit {
	return &Kit{
		ExternalURL: d.ExternalURL, Names: d.Names, Clock: d.Clock, Secure: d.ExternalURL.Scheme == "https",
		box: d.Box, throttle: d.Throttle, large: fairshare.New(largePages, largePages),
		streams: fairshare.New(streams, streams), log: d.Log, base: d.ExternalURL.EscapedPath(), assets: newAssets(), lists: map[List][]Page{},
	}
}

// Join takes the pages into the lists that they belong to, in this order.
func (k *Kit) Join(pages ...Page) {
	for _, p := range pages {
		if p.Nav.List != "" && p.There() {
			k.lists[p.Nav.List] = append(k.lists[p.Nav.List], p)
		}
	}
}

// Listed are the pages of a list.
func (k *Kit) Listed(list List) []Page { return k.lists[list] }

// URL is an address that may stand in a page as it is: of a page here, with the path that the instance lies below. An
// address that somebody else chose stays a string, which templ checks where it is written.
type URL = templ.SafeURL

// Link is the address of a path on this instance, as a browser must ask for it.
func (k *Kit) Link(path string) URL {
	if len(path) == 0 || path[0] != '/' || (len(path) > 1 && (path[1] == '/' || path[1] == '\\')) {
		return "about:invalid"
	}
	return URL(k.base + path)
}

// Files are style sheets, scripts and the like by path.
func (k *Kit) Files() map[string]http.Handler { return k.assets.files }

// Account is the account of whoever is signed in, as far as every page needs it.
type Account struct {
	ID             int64
	Username, Name string
}

// Visitor is whose browser a request came from.
type Visitor struct {
	Actor   access.Actor // who may act; anonymous when nobody is signed in
	Account *Account     // nil when nobody is signed in
	Session string       // the cookie of the session, empty when there is none
	CSRF    string       // what forms of the session carry
	Since   time.Time    // when the person signed in
}

// Request is one request for a page.
type Request struct {
	*Kit
	Visitor
	W       http.ResponseWriter
	R       *http.Request
	Form    url.Values // the body of a POST, else the query
	File    *Upload    // that came with the form, if any
	Address netip.Addr

	policy  policy
	flashed *Flash // what the last page left to say
}

// Upload is a file that comes with a form. It is read as it comes.
type Upload struct {
	Name string
	io.Reader
}

// NewRequest begins a request. Who sent it is not known yet.
func (k *Kit) NewRequest(w http.ResponseWriter, r *http.Request) *Request {
	x := &Request{Kit: k, W: w, R: r, Address: httpapi.RecorderOf(r.Context()).Address}
	x.Actor.Address = x.Address
	return x
}
