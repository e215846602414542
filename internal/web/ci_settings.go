package web

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/runner"
)

// ciPlace is what runners and variables belong to: a project, a group, or the
// instance, which has a page for each.
type ciPlace struct {
	of         bus.Entity
	namespace  int64 // whose runners serve it, too
	target     runner.Target
	mayCreate  bool   // runners
	page       string // path of the page that shows both; empty for the instance
	runners    string // paths of what is done to runners
	variables  string // and to variables
	laid       func(here string) option
	whom, noun string
}

func (p ciPlace) instance() bool { return p.page == "" }

// shown is the page that lists what belongs to the place, below a heading.
func (p ciPlace) shown(list string) string {
	if p.instance() {
		return list
	}
	return p.page
}

// ciAct is a page or form about what belongs to a place.
type ciAct struct {
	method, below string
	do            func(*visit, ciPlace) error
}

var ciActs = []ciAct{
	{"POST", "runners", (*visit).createRunner},
	{"GET", "runners/{id}", (*visit).showRunner},
	{"POST", "runners/{id}", (*visit).updateRunner},
	{"POST", "runners/{id}/pause", func(x *visit, p ciPlace) error { return x.pauseRunner(p, true) }},
	{"POST", "runners/{id}/resume", func(x *visit, p ciPlace) error { return x.pauseRunner(p, false) }},
	{"POST", "runners/{id}/reset", (*visit).resetRunner},
	{"POST", "runners/{id}/delete", (*visit).deleteRunner},
	{"POST", "variables", (*visit).createVariable},
	{"GET", "variables/edit", (*visit).showVariable},
	{"POST", "variables/update", (*visit).updateVariable},
	{"POST", "variables/delete", (*visit).deleteVariable},
}

const (
	ciBelow           = "settings/ci_cd"
	instanceRunners   = "/admin/runners"
	instanceVariables = "/admin/variables"
)

// ciProjectPages are the settings of a project.
func (d *Door) ciProjectPages() []page {
	const needs = access.AdminProjectRunners // as AdminProjectVariables does
	pages := []page{{
		route: "GET /-/" + ciBelow, needs: needs, tab: "CI/CD settings",
		do: func(x *visit) error { return x.showPlace(http.StatusOK, x.ciOfProject(), nil, nil) },
	}}
	for _, act := range ciActs {
		pages = append(pages, page{
			route: act.method + " /-/" + ciBelow + "/" + act.below, needs: needs,
			do: func(x *visit) error {
				if !x.may(access.AdminProjectVariables) {
					return fault.New(fault.NotFound)
				}
				return act.do(x, x.ciOfProject())
			},
		})
	}
	return pages
}

func (x *visit) ciOfProject() ciPlace {
	p, at := x.project, x.at(ciBelow)
	return ciPlace{
		of: p.Entity(), namespace: p.NamespaceID, target: runner.Target{Type: runner.Project, ProjectID: p.ID}, mayCreate: x.may(access.CreateProjectRunner),
		page: at, runners: at + "/runners", variables: at + "/variables", noun: "project", whom: p.FullPath(),
		laid: func(here string) option {
			if here == at {
				return x.within(ciBelow)
			}
			return x.within(ciBelow, place{Title: "Edit"})
		},
	}
}

// ciPages are the settings of groups and of the instance.
func (d *Door) ciPages() []page {
	pages := []page{
		{route: "GET " + instanceRunners, who: administrators, do: func(x *visit) error { return x.showPlace(http.StatusOK, x.ciOfInstance(), nil, nil) }},
		{route: "GET " + instanceVariables, who: administrators, do: func(x *visit) error { return x.showPlace(http.StatusOK, x.ciOfInstance(), nil, nil) }},
		{route: "GET /groups/{rest...}", who: readers, do: (*visit).ofGroup},
		{route: "POST /groups/{rest...}", do: (*visit).ofGroup},
	}
	for _, act := range ciActs {
		pages = append(pages, page{
			route: act.method + " /admin/" + act.below, who: administrators, do: func(x *visit) error { return act.do(x, x.ciOfInstance()) },
		})
	}
	return pages
}

func (x *visit) ciOfInstance() ciPlace {
	return ciPlace{
		of: bus.Instance(), target: runner.Target{Type: runner.Instance}, mayCreate: true, runners: instanceRunners, variables: instanceVariables,
		noun: "instance", laid: func(here string) option {
			if strings.HasPrefix(here, instanceVariables) {
				return administration(instanceVariables)
			}
			return administration(instanceRunners)
		},
	}
}

// ofGroup finds the group of a page in its path, which has any depth, and what
// the page is about behind it.
func (x *visit) ofGroup() error {
	full, below, found := strings.Cut(x.r.PathValue("rest"), "/-/"+ciBelow)
	if !found && x.reading() {
		return x.showGroup(full)
	}
	if !found {
		return fault.New(fault.NotFound)
	}
	if x.account == nil {
		x.askToSignIn()
		return errSent
	}
	g, err := x.Groups.FindByRef(x.r.Context(), x.actor, full)
	if err == nil && (!access.Holds(x.actor, access.AdminGroupRunners, g.Place()) || !access.Holds(x.actor, access.AdminGroupVariables, g.Place()) || g.FullPath != full) {
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	at := "/groups/" + g.FullPath + "/-/" + ciBelow
	p := ciPlace{
		of: g.Entity(), namespace: g.ID, target: runner.Target{Type: runner.Group, GroupID: g.ID}, mayCreate: true,
		page: at, runners: at + "/runners", variables: at + "/variables", noun: "group", whom: g.FullPath,
		laid: func(here string) option {
			crumbs := []place{{Title: g.FullName}, {Title: "CI/CD settings", Path: at, Here: here == at}}
			if here != at {
				crumbs = append(crumbs, place{Title: "Edit"})
			}
			return func(v *view) { v.Place = &around{Name: g.FullPath, Crumbs: crumbs} }
		},
	}
	if below == "" && x.reading() {
		return x.showPlace(http.StatusOK, p, nil, nil)
	}
	for _, act := range ciActs {
		if (act.method == http.MethodGet) == x.reading() && x.matches(act.below, strings.TrimPrefix(below, "/")) {
			return act.do(x, p)
		}
	}
	return fault.New(fault.NotFound)
}

// matches compares a path with a pattern, and takes the id out of it.
func (x *visit) matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != "{id}" && want[i] != got[i] {
			return false
		}
		if want[i] == "{id}" {
			x.r.SetPathValue("id", got[i])
		}
	}
	return true
}

// ciBody is the runners and variables of a place, or one of the two.
type ciBody struct {
	Whom      string
	Noun      string
	Runners   *runnersBody
	Variables *variablesBody
}

const ciPerPage = 50

// turned is which page of a list is asked for, and the ways to its neighbours.
func (x *visit) turned(name string) (paging.Request, func(more bool) (prev, next string)) {
	n, err := strconv.Atoi(x.form.Get(name))
	if err != nil || n < 1 || n > paging.MaxTotal/ciPerPage || !x.reading() {
		n = 1
	}
	at := func(n int) string {
		return x.r.URL.Path + "?" + name + "=" + strconv.Itoa(n) + "#" + strings.TrimSuffix(name, "_page")
	}
	return paging.Request{Page: n, PerPage: ciPerPage, OrderBy: "id"}, func(more bool) (prev, next string) {
		if n > 1 {
			prev = at(n - 1)
		}
		if more {
			next = at(n + 1)
		}
		return prev, next
	}
}

// showPlace shows what belongs to a place, with forms that were refused.
func (x *visit) showPlace(code int, p ciPlace, newRunner, newVariable *form) (err error) {
	body := ciBody{Whom: p.whom, Noun: p.noun}
	title, here := "CI/CD settings", p.page
	onVariables := strings.HasPrefix(x.r.URL.Path, instanceVariables)
	if !p.instance() || !onVariables {
		if body.Runners, err = x.runners(p, newRunner); err != nil {
			return err
		}
	}
	if !p.instance() || onVariables {
		if body.Variables, err = x.variables(p, newVariable); err != nil {
			return err
		}
	}
	switch {
	case p.instance() && onVariables:
		title, here = "Variables", instanceVariables
	case p.instance():
		title, here = "Runners", instanceRunners
	}
	return x.show(code, "ci_settings", title, body, p.laid(here))
}
