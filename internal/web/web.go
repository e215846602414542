// Package web is the door for people: pages that the server renders and that
// work without script. It owns the layout, the forms and what every page must
// keep (headers, origin and CSRF checks, who may see it). What a page shows and
// does is a call of a room's service; no page decides a rule.
//
// To add a page: declare it in a list of pages (see pages), write what it shows
// in templates/<name>.html as the template "content", and answer with
// visit.show, visit.redirect or an error. Forms come from visit.form, so that
// none lacks its CSRF value. A page about a project is declared in a list of
// projectPages instead, with what a reader must hold there; see project.go.
package web

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"stithy/internal/artifact"
	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/wire"
	"stithy/internal/member"
	"stithy/internal/oauth"
	"stithy/internal/pipeline"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/signin"
	"stithy/internal/token"
	"stithy/internal/user"
	"stithy/internal/variable"
)

// Deps is what the door needs from below.
type Deps struct {
	Users       *user.Service
	Tokens      *token.Service
	SignIns     *signin.Service
	Groups      *group.Service
	Projects    *project.Service
	Members     *member.Service
	Pipelines   *pipeline.Service
	Artifacts   *artifact.Service
	Runners     *runner.Service
	Variables   *variable.Service
	OAuth       *oauth.Service
	Settings    *setting.Service
	Throttle    httpapi.Throttle
	Box         *secretbox.Box
	ExternalURL *url.URL
	Names       wire.Names
	Clock       clock.Clock
	Log         *slog.Logger
}

// Door serves the pages.
type Door struct {
	Deps
	base       string // path of the external URL, before every link
	secure     bool   // the external URL is https
	origins    *http.CrossOriginProtection
	templates  templates
	assets     map[string]http.Handler
	keyScript  string // path of the script that talks to security keys
	liveScript string // path of the script that keeps a page fresh
	logScript  string // path of the script that follows a log
	mux        *http.ServeMux
	below      *http.ServeMux // pages about a project, by what comes after its path
	tabs       []page         // those of them that every page about a project links to
}

// New puts the door together. It panics on a page that cannot be served.
func New(d Deps) *Door {
	door := &Door{
		Deps: d, base: d.ExternalURL.EscapedPath(), secure: d.ExternalURL.Scheme == "https",
		origins: http.NewCrossOriginProtection(), mux: http.NewServeMux(), below: http.NewServeMux(),
	}
	// A proxy may have changed the Host that the origin is compared with.
	if err := door.origins.AddTrustedOrigin(d.ExternalURL.Scheme + "://" + d.ExternalURL.Host); err != nil {
		panic("web: " + err.Error())
	}
	var sheet string
	door.assets, sheet, door.keyScript, door.liveScript, door.logScript = assetFiles()
	door.templates = parseTemplates(door.link, sheet)
	for _, p := range door.pages() {
		door.mux.HandleFunc(p.route, func(w http.ResponseWriter, r *http.Request) { door.serve(w, r, p) })
	}
	for _, p := range door.projectPages() {
		if strings.HasPrefix(p.route, "GET ") {
			p.who = readers
		}
		if p.tab != "" {
			door.tabs = append(door.tabs, p)
		}
		door.below.HandleFunc(p.route, func(w http.ResponseWriter, r *http.Request) { door.serve(w, whole(r), p) })
	}
	return door
}

// audience is who may see a page.
type audience int

const (
	signedIn       audience = iota // everybody else is sent to sign in, and back
	anyone                         // also strangers
	administrators                 // to everybody else it does not exist
	mustChange                     // also whose password has to be changed first
	mustEnroll                     // also who has to set up a second factor first
	readers                        // also strangers, as far as a project is open to them
)

// page is one thing that people can look at or send.
type page struct {
	route string // method and path, in the words of http.ServeMux
	who   audience
	do    func(*visit) error
	many  []string // the fields that may be sent more than once

	needs access.Ability // of a page about a project: what its readers hold there
	tab   string         // of such a page: how the others link to it
}

// title is the path of a page for logs and metrics.
func (p page) title() string {
	_, path, _ := strings.Cut(p.route, " ")
	if p.needs != "" {
		return "/{project}" + strings.TrimSuffix(path, "/{$}")
	}
	return path
}

// pages are all pages, each list from the file that holds its handlers.
func (d *Door) pages() []page {
	return slices.Concat(
		d.homePages(), d.signInPages(), d.recoveryPages(), d.settingsPages(), d.emailPages(), d.factorPages(), d.adminPages(),
		d.consentPages(), d.applicationPages(), d.picturePages(), d.ciPages(), d.ownerPages(), d.invitationPages(),
	)
}

// projectPages are all pages about a project. Their routes begin after its path.
func (d *Door) projectPages() []page {
	return slices.Concat(d.projectHome(), d.pipelinePages(), d.jobPages(), d.oneJobPages(), d.lintPages(), d.ciProjectPages())
}

// ProjectRoutes are the routes of all pages about a project, after its path.
func ProjectRoutes() []string {
	var routes []string
	for _, p := range (&Door{}).projectPages() {
		routes = append(routes, p.route)
	}
	return routes
}

// Handler serves the pages, their style sheets, and a page that says so for
// whatever is not there.
func (d *Door) Handler() http.Handler { return http.HandlerFunc(d.route) }

// link is a path on this instance as a browser must ask for it.
func (d *Door) link(path string) string { return d.base + path }
