package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Pages about a project are found by its path, which has any depth, and what
// follows it after "/-/". A page of them is declared in a list that projectPages
// joins, by what follows: {route: "GET /-/things", needs: access.ReadThings}.
// Whoever does not hold what it needs is told that there is nothing, strangers
// that they may sign in. Its handler finds the project in x.project, writes
// paths with x.at, and is laid out by the option x.within.

// pathOfProject is under which name the path of the project travels from route
// to enterProject.
const pathOfProject = "project"

// belowProject is a request for a page about a project as the mux of such pages
// knows it, or nil when the path cannot be one.
func belowProject(r *http.Request) *http.Request {
	full, rest, deep := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/-/")
	top, _, nested := strings.Cut(full, "/")
	if !nested || group.ReservedAtTop(top) || strings.Contains(full, "%") {
		return nil
	}
	u := *r.URL
	if u.RawPath = "/"; deep {
		u.RawPath = "/-/" + rest
	}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil
	}
	short := r.WithContext(r.Context())
	short.URL = &u
	short.SetPathValue(pathOfProject, full)
	return short
}

// whole takes back what belowProject cut off.
func whole(r *http.Request) *http.Request {
	u, full := *r.URL, "/"+r.PathValue(pathOfProject)
	u.Path, u.RawPath = strings.TrimSuffix(full+u.Path, "/"), strings.TrimSuffix(full+u.RawPath, "/")
	r.URL = &u
	return r
}

// enterProject finds the project of a page for a reader who holds what the page
// needs. A former path, or the address that git clones, leads to the present one.
func (x *visit) enterProject(needs access.Ability) error {
	asked := x.r.PathValue(pathOfProject)
	plain := strings.TrimSuffix(asked, ".git")
	p, moved, err := x.Projects.FindByRef(x.r.Context(), x.actor, plain)
	if err == nil && !access.Holds(x.actor, needs, p.Place()) {
		err = fault.New(fault.NotFound)
	}
	if fault.Is(err, fault.NotFound) && x.reading() && x.r.URL.Path == "/"+asked {
		if g, err := x.Groups.FindByRef(x.r.Context(), x.actor, plain); err == nil {
			x.redirect("/groups/" + g.FullPath)
			return errSent
		}
	}
	switch {
	case fault.Is(err, fault.NotFound) && x.account == nil && x.reading():
		x.askToSignIn()
		return errSent
	case err != nil:
		return err
	case (moved || plain != asked) && x.reading():
		u := *x.r.URL
		u.Path = "/" + p.FullPath() + strings.TrimPrefix(u.Path, "/"+asked)
		u.RawPath = "/" + p.FullPath() + strings.TrimPrefix(x.r.URL.EscapedPath(), "/"+asked)
		x.redirect(u.RequestURI())
		return errSent
	}
	x.project = p
	return nil
}

// may reports whether the reader holds an ability in the project of the page.
func (x *visit) may(can access.Ability) bool { return access.Holds(x.actor, can, x.project.Place()) }

// at is the path of a page about the project: "pipelines", or "" for its first.
func (x *visit) at(below string) string {
	path := "/" + x.project.FullPath()
	if below != "" {
		path += "/-/" + below
	}
	return path
}

// within lays a page out as one about the project: the way there, and links to
// the others. tab is what follows the path of the tab that it belongs to, and
// steps are pages between that one and this.
func (x *visit) within(tab string, steps ...place) option {
	a := &around{Name: x.project.FullPath(), Crumbs: []place{
		{Title: x.project.NamespaceFullName}, {Title: x.project.Name, Path: x.at(""), Here: tab == ""},
	}}
	for _, p := range x.tabs {
		_, path, _ := strings.Cut(p.route, " /-/")
		if x.may(p.needs) {
			a.Tabs = append(a.Tabs, place{Title: p.tab, Path: x.at(path), Here: path == tab})
		}
		if path == tab && len(steps) > 0 {
			a.Crumbs = append(a.Crumbs, place{Title: p.tab, Path: x.at(path)})
		}
	}
	a.Crumbs = append(a.Crumbs, steps...)
	return func(v *view) {
		v.Place = a
		if x.account == nil {
			v.SignIn = x.signInAndBack()
		}
	}
}

func (d *Door) projectHome() []page {
	return []page{{route: "GET /{$}", needs: access.ReadProject, do: (*visit).showProject}}
}

// projectBody is the first page of a project.
type projectBody struct {
	Description, Visibility string
	Archived, Empty         bool
	Importing, ImportError  string
	HTTP, SSH, Branch       string // of the repository, for those who may read it
	Active                  *moment
	Latest                  *latestPipeline
}

// latestPipeline is how the default branch fares.
type latestPipeline struct {
	ID     int64
	Path   string
	Status status
	When   *moment
}

func (x *visit) showProject() error {
	p := x.project
	body := projectBody{
		Description: p.Description, Visibility: p.Visibility.String(), Archived: p.Archived, Empty: p.DefaultBranch == nil,
		Active: x.moment(&p.LastActivityAt), ImportError: p.ImportError,
	}
	if p.ImportStatus == "scheduled" || p.ImportStatus == "started" {
		body.Importing = p.ImportStatus
	}
	if x.may(access.ReadCode) {
		body.HTTP, body.SSH, body.Branch = x.Projects.HTTPAddress(p), x.Projects.SSHAddress(p), x.Projects.BranchOf(p)
	}
	if x.may(access.ReadPipelines) {
		latest, err := x.Pipelines.Latest(x.r.Context(), p, "")
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err == nil {
			body.Latest = &latestPipeline{
				ID: latest.ID, Path: x.at("pipelines/" + strconv.FormatInt(latest.ID, 10)), Status: statusOf(latest.Status), When: x.moment(&latest.CreatedAt),
			}
		}
	}
	return x.show(http.StatusOK, "project", p.Name, body, x.within(""))
}
