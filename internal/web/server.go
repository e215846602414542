// Package web serves the pages for people, which the server renders and which work without script. It joins the areas
// (account, admin, ci, monitor, overview, planning, sites, texts), finds the page of a request, and holds every request against what all pages share:
// headers, who is signed in and may see the page, origin and CSRF checks, throttles. No page decides a rule of a room.
//
// To add a page see docs/guides/add-a-page.md. The kit is in package page, the components are in package ui.
package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"stithy/internal/alert"
	"stithy/internal/artifact"
	"stithy/internal/audit"
	"stithy/internal/board"
	"stithy/internal/errortracking"
	"stithy/internal/event"
	"stithy/internal/group"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/wire"
	"stithy/internal/label"
	"stithy/internal/markdown"
	"stithy/internal/member"
	"stithy/internal/milestone"
	"stithy/internal/note"
	"stithy/internal/notification"
	"stithy/internal/oauth"
	"stithy/internal/pages"
	"stithy/internal/pipeline"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/signin"
	"stithy/internal/snippet"
	"stithy/internal/template"
	"stithy/internal/todo"
	"stithy/internal/token"
	"stithy/internal/upload"
	"stithy/internal/user"
	"stithy/internal/variable"
	"stithy/internal/web/account"
	"stithy/internal/web/admin"
	"stithy/internal/web/ci"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/monitor"
	"stithy/internal/web/overview"
	"stithy/internal/web/page"
	"stithy/internal/web/planning"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/sites"
	"stithy/internal/web/texts"
	"stithy/internal/wiki"
)

// Deps is what the pages need from below. Each area is given its part.
type Deps struct {
	Users         *user.Service
	Tokens        *token.Service
	SignIns       *signin.Service
	Groups        *group.Service
	Projects      *project.Service
	Members       *member.Service
	Pipelines     *pipeline.Service
	Alerts        *alert.Service
	Artifacts     *artifact.Service
	Runners       *runner.Service
	Variables     *variable.Service
	OAuth         *oauth.Service
	Uploads       *upload.Service
	Markdown      *markdown.Service
	Labels        *label.Service
	Milestones    *milestone.Service
	Templates     *template.Service
	Issues        *issue.Service
	Notes         *note.Service
	Boards        *board.Service
	Todos         *todo.Service
	Wikis         *wiki.Service
	Snippets      *snippet.Service
	Settings      *setting.Service
	Throttle      httpapi.Throttle
	Box           *secretbox.Box
	ExternalURL   *url.URL
	Names         wire.Names
	Clock         clock.Clock
	Log           *slog.Logger
	Notifications *notification.Service
	Events        *event.Service
	Audit         *audit.Service
	Errors        *errortracking.Service
	Repositories  *repository.Service
	Sites         *pages.Service
}

// Server serves the pages.
type Server struct {
	deps    Deps
	kit     *page.Kit
	origins *http.CrossOriginProtection
	tables  []table
}

// table is routes of one kind.
type table struct {
	mux   *http.ServeMux
	below func(*http.Request) *http.Request // the request as the routes know it, nil when it cannot be one of them
	whole func(*http.Request) *http.Request // takes back what below cut off
	label string                            // stands for what was cut off in logs and metrics
}

// New puts the server together. It panics on a page that cannot be served.
func New(d Deps) *Server {
	s := &Server{
		deps: d, origins: http.NewCrossOriginProtection(),
		kit: page.New(page.Deps{Box: d.Box, ExternalURL: d.ExternalURL, Names: d.Names, Throttle: d.Throttle, Clock: d.Clock, Log: d.Log}),
	}
	// A proxy may have changed the Host that the origin is compared with.
	if err := s.origins.AddTrustedOrigin(d.ExternalURL.Scheme + "://" + d.ExternalURL.Host); err != nil {
		panic("web: " + err.Error())
	}
	areas := d.areas()
	own := areas.pages()
	s.kit.Join(own...)
	same := func(r *http.Request) *http.Request { return r }
	s.add(table{below: same, whole: same}, own)
	groups := grouppage.New(d.Groups, areas.groupPages()...)
	s.add(table{below: grouppage.Below, whole: grouppage.Whole, label: "/groups/{group}"}, groups.Pages())
	projects := projectpage.New(projectpage.Deps{Projects: d.Projects, Groups: d.Groups}, areas.projectPages()...)
	s.add(table{below: projectpage.Below, whole: projectpage.Whole, label: "/{project}"}, projects.Pages())
	return s
}

// areas are what each area is given.
type areas struct {
	account  account.Deps
	admin    admin.Deps
	ci       ci.Deps
	monitor  monitor.Deps
	overview overview.Deps
	planning planning.Deps
	sites    sites.Deps
	texts    texts.Deps
}

func (d Deps) areas() areas {
	return areas{
		account: account.Deps{
			Users: d.Users, Tokens: d.Tokens, SignIns: d.SignIns, Groups: d.Groups, Projects: d.Projects, Members: d.Members,
			Notifications: d.Notifications, OAuth: d.OAuth, Settings: d.Settings,
		},
		admin: admin.Deps{Users: d.Users, Groups: d.Groups, Projects: d.Projects, Audit: d.Audit},
		ci: ci.Deps{
			Users: d.Users, Pipelines: d.Pipelines, Artifacts: d.Artifacts, Runners: d.Runners, Variables: d.Variables, Settings: d.Settings,
		},
		monitor: monitor.Deps{Users: d.Users, Alerts: d.Alerts, Errors: d.Errors, Repositories: d.Repositories, Templates: d.Templates},
		overview: overview.Deps{
			Users: d.Users, Groups: d.Groups, Projects: d.Projects, Members: d.Members, Pipelines: d.Pipelines, Uploads: d.Uploads, Events: d.Events,
		},
		planning: planning.Deps{
			Users: d.Users, Labels: d.Labels, Milestones: d.Milestones, Templates: d.Templates, Issues: d.Issues, Notes: d.Notes, Boards: d.Boards,
			Todos: d.Todos, Markdown: d.Markdown, Projects: d.Projects, Groups: d.Groups, Uploads: d.Uploads, Settings: d.Settings,
		},
		sites: sites.Deps{Sites: d.Sites},
		texts: texts.Deps{Projects: d.Projects, Wikis: d.Wikis, Snippets: d.Snippets, Markdown: d.Markdown},
	}
}

func (a areas) pages() []page.Page {
	return slices.Concat(admin.Pages(a.admin), account.Pages(a.account), ci.Pages(a.ci), planning.Pages(a.planning), texts.Pages(a.texts), overview.Pages(a.overview))
}

func (a areas) groupPages() []grouppage.Page {
	return slices.Concat(overview.GroupPages(a.overview), planning.GroupPages(a.planning), texts.GroupPages(a.texts), ci.GroupPages(a.ci), admin.GroupPages(a.admin))
}

func (a areas) projectPages() []projectpage.Page {
	return slices.Concat(overview.ProjectPages(a.overview), planning.ProjectPages(a.planning), texts.ProjectPages(a.texts), ci.ProjectPages(a.ci),
		monitor.ProjectPages(a.monitor), sites.ProjectPages(a.sites), admin.ProjectPages(a.admin))
}

// Routes are the routes of all pages that are not about a project.
func Routes() []string {
	var routes []string
	for _, p := range (areas{}).pages() {
		routes = append(routes, p.Route)
	}
	for _, p := range (areas{}).groupPages() {
		method, path, _ := strings.Cut(p.Route, " ")
		routes = append(routes, method+" /groups/{group...}"+path)
	}
	return routes
}

// ProjectRoutes are the routes of all pages about a project, after its path.
func ProjectRoutes() []string {
	var routes []string
	for _, p := range (areas{}).projectPages() {
		routes = append(routes, p.Route)
	}
	return routes
}

func (s *Server) add(t table, pages []page.Page) {
	t.mux = http.NewServeMux()
	for _, p := range pages {
		label := t.label + p.Path()
		if t.label != "" {
			label = strings.TrimSuffix(label, "/{$}")
		}
		t.mux.HandleFunc(p.Route, func(w http.ResponseWriter, r *http.Request) { s.serve(w, t.whole(r), p, label) })
	}
	s.tables = append(s.tables, t)
}

// Handler serves the pages, their style sheets, and a page that says so for whatever is not there.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.route) }

// route finds the page. What the mux would clean and redirect is not found: nothing on this instance links to such a
// path.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if file, ok := s.kit.Files()[r.URL.Path]; ok && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		s.kit.FileHeaders(w.Header())
		httpapi.RecorderOf(r.Context()).SetRoute("/assets", access.Actor{})
		file.ServeHTTP(w, r)
		return
	}
	kind := fault.NotFound
	if path.Clean(r.URL.Path) == r.URL.Path {
		for _, t := range s.tables {
			at := t.below(r)
			if at == nil || !known(t.mux, at) {
				continue
			}
			if _, pattern := t.mux.Handler(at); pattern != "" {
				t.mux.ServeHTTP(w, at)
				return
			}
			kind = fault.NotAllowed
			break
		}
	}
	s.serve(w, r, page.Page{Who: page.Anyone, Do: func(*page.Request) error { return fault.New(kind) }}, "(none)")
}

// known reports whether the path has a page, for whatever method.
func known(mux *http.ServeMux, r *http.Request) bool {
	other := *r
	for _, other.Method = range []string{http.MethodGet, http.MethodPost} {
		if _, pattern := mux.Handler(&other); pattern != "" {
			return true
		}
	}
	return false
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, p page.Page, label string) {
	x := s.kit.NewRequest(w, r)
	defer recovered(x)
	err := s.enter(x, p)
	httpapi.RecorderOf(r.Context()).SetRoute(label, x.Actor)
	if err == nil && !p.There() {
		err = fault.New(fault.NotFound)
	}
	x.R = x.R.WithContext(fairshare.With(x.Context(), x.Actor.Caller()))
	if err == nil {
		err = p.Do(x)
	}
	if err != nil {
		x.Fail(err)
	}
}

func recovered(x *page.Request) {
	what := recover()
	if what == nil {
		return
	}
	if what == http.ErrAbortHandler {
		panic(what)
	}
	x.LogError("page panicked", fmt.Errorf("%v", what), debug.Stack())
	x.Fail(fault.New(fault.Internal))
}
