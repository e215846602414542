package ci

import (
	"net/http"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/paging"
	"stithy/internal/runner"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
)

// owner is what runners and variables belong to: a project, a group, or the instance, which has a page for each.
type owner struct {
	of        bus.Entity
	namespace int64 // whose runners serve it, too
	target    runner.Target
	mayCreate bool   // runners
	settings  string // path of the page that shows both; empty for the instance
	runners   string // paths of what is done to runners
	variables string // and to variables
	noun      string
	layout    func(title string) page.Layout
}

// ownerRequest is a request for a page about the runners or variables of an owner.
type ownerRequest struct {
	*page.Request
	deps Deps
	owner
}

func (p owner) instance() bool { return p.settings == "" }

// shown is the page that lists what belongs to the owner, below a heading.
func (p owner) shown(list string) string {
	if p.instance() {
		return list
	}
	return p.settings
}

func ofProject(x *projectpage.Request, d Deps) *ownerRequest {
	p, at := x.Project, x.At(settingsPath)
	return &ownerRequest{Request: x.Request, deps: d, owner: owner{
		of: p.Entity(), namespace: p.NamespaceID, target: runner.Target{Type: runner.Project,
			ProjectID: p.ID}, mayCreate: x.May(access.CreateProjectRunner),
		settings: at, runners: at + "/runners", variables: at + "/variables", noun: "project",
		layout: func(title string) page.Layout { return x.Layout(title, settingsPath) },
	}}
}

func ofGroup(x *grouppage.Request, d Deps) *ownerRequest {
	g, at := x.Group, x.At(settingsPath)
	return &ownerRequest{Request: x.Request, deps: d, owner: owner{
		of: g.Entity(), namespace: g.ID, target: runner.Target{Type: runner.Group, GroupID: g.ID}, mayCreate: true,
		settings: at, runners: at + "/runners", variables: at + "/variables", noun: "group",
		layout: func(title string) page.Layout { return x.Layout(title, settingsPath) },
	}}
}

func ofInstance(x *page.Request, d Deps) *ownerRequest {
	return &ownerRequest{Request: x, deps: d, owner: owner{
		of: bus.Instance(), target: runner.Target{Type: runner.Instance}, mayCreate: true, runners: instanceRunners,
		variables: instanceVariables, noun: "instance",
		layout: func(title string) page.Layout {
			here := instanceRunners
			if strings.HasPrefix(x.R.URL.Path, instanceVariables) {
				here = instanceVariables
			}
			return page.Layout{Title: title, Sidebar: x.Sidebar(page.AdminList, here)}
		},
	}}
}

// settingsBody is the runners and variables of an owner, or one of the two.
type settingsBody struct {
	Noun      string
	Runners   *runnersBody
	Variables *variablesBody
}

const settingsPerPage = 50

// numbered is which page of a list is asked for, and the pager to its neighbours.
func (x *ownerRequest) numbered(name string) (paging.Request, func(more bool) page.Pager) {
	req := x.Numbered(name, settingsPerPage)
	req.OrderBy = "id"
	return req, func(more bool) page.Pager {
		p := x.NumberedPager(x.R.URL.Path, nil, name, "#"+strings.TrimSuffix(name, "_page"), req, more)
		p.BackText, p.OnwardText = "Earlier", "Later"
		return p
	}
}

func showSettings(x *ownerRequest) error { return settingsWith(x, http.StatusOK, nil, nil) }

// settingsWith shows what belongs to an owner, with forms that were refused.
func settingsWith(x *ownerRequest, code int, newRunner, newVariable *page.Form) (err error) {
	body := settingsBody{Noun: x.noun}
	title := "CI/CD settings"
	onVariables := strings.HasPrefix(x.R.URL.Path, instanceVariables)
	if !x.instance() || !onVariables {
		if body.Runners, err = runnersOf(x, newRunner); err != nil {
			return err
		}
	}
	if !x.instance() || onVariables {
		if body.Variables, err = variablesOf(x, newVariable); err != nil {
			return err
		}
	}
	switch {
	case x.instance() && onVariables:
		title = "Variables"
	case x.instance():
		title = "Runners"
	}
	return x.Show(code, x.layout(title), settingsPage(body))
}
