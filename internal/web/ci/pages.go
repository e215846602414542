// Package ci is the pages of CI: pipelines, jobs and their logs, the check of a configuration, and the runners and
// variables of projects, groups and the instance.
package ci

import (
	"net/http"
	"slices"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/variable"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct {
	Users     *user.Service
	Pipelines *pipeline.Service
	Artifacts *artifact.Service
	Runners   *runner.Service
	Variables *variable.Service
	Settings  *setting.Service
}

const (
	lintPath          = "ci/lint"
	settingsPath      = "settings/ci_cd"
	instanceRunners   = "/admin/runners"
	instanceVariables = "/admin/variables"
)

// Pages are the runners and variables of the instance.
func Pages(d Deps) []page.Page {
	nav := func(title string, icon ui.IconPath) page.Nav {
		return page.Nav{List: page.AdminList, Title: title, Icon: icon}
	}
	in := func(do func(*ownerRequest) error) func(*page.Request) error {
		return func(x *page.Request) error { return do(ofInstance(x, d)) }
	}
	pages := []page.Page{
		{Route: "GET " + instanceRunners, Who: page.Administrators, Do: in(showSettings), Nav: nav("Runners", ui.IconServer)},
		{Route: "GET " + instanceVariables, Who: page.Administrators, Do: in(showSettings), Nav: nav("Variables", ui.IconSettings)},
	}
	for _, act := range settingsActs {
		pages = append(pages, page.Page{Route: act.method + " /admin/" + act.below, Who: page.Administrators, Do: in(act.do)})
	}
	return pages
}

// GroupPages are the runners and variables of a group.
func GroupPages(d Deps) []grouppage.Page {
	needs := []access.Ability{access.AdminGroupRunners, access.AdminGroupVariables}
	in := func(do func(*ownerRequest) error) func(*grouppage.Request) error {
		return func(x *grouppage.Request) error { return do(ofGroup(x, d)) }
	}
	pages := []grouppage.Page{{
		Route: "GET /-/" + settingsPath, Needs: needs, Do: in(showSettings), Nav: page.Nav{Title: "CI/CD settings", Icon: ui.IconSettings},
	}}
	for _, act := range slices.Concat(settingsActs, sentActs) {
		pages = append(pages, grouppage.Page{Route: act.method + " /-/" + settingsPath + "/" + act.below, Needs: needs, Do: in(act.do)})
	}
	return pages
}

// ProjectPages are the pages about a project.
func ProjectPages(d Deps) []projectpage.Page {
	build := func(title string) page.Nav { return page.Nav{List: projectpage.Build, Title: title} }
	return append([]projectpage.Page{
		{Route: "GET /-/pipelines", Needs: access.ReadPipelines, Do: d.do(showPipelines), Nav: build("Pipelines")},
		{Route: "POST /-/pipelines", Needs: access.CreatePipeline, Do: d.do(runPipeline)},
		{Route: "GET /-/pipelines/{id}", Needs: access.ReadPipelines, Do: d.do(showPipeline)},
		{Route: "POST /-/pipelines/{id}/{act}", Needs: access.UpdateJobs, Do: d.do(changePipeline)},

		{Route: "GET /-/jobs", Needs: access.ViewJobs, Do: d.do(showJobs), Nav: build("Jobs")},
		{Route: "POST /-/jobs/{id}/{act}", Needs: access.UpdateJobs, Do: d.do(changeJob)},
		{Route: "GET /-/jobs/{id}", Needs: access.ViewJobs, Do: d.do(showJob)},
		{Route: "GET /-/jobs/{id}/log", Needs: access.ViewJobs, Do: d.do(followLog)},
		{Route: "GET /-/jobs/{id}/raw", Needs: access.ViewJobs, Do: d.do(rawLog)},
		{Route: "GET /-/jobs/{id}/artifacts/download", Needs: access.DownloadArtifacts, Do: d.do(downloadArchive)},
		{Route: "POST /-/jobs/{id}/erase", Needs: access.EraseJobs, Do: d.do(eraseJob)},

		{Route: "GET /-/" + lintPath, Needs: access.CreatePipeline, Do: d.do(showLint), Nav: build("Lint")},
		{Route: "POST /-/" + lintPath, Needs: access.CreatePipeline, Do: d.do(lint)},
	}, projectSettings(d)...)
}

// projectSettings are the runners and variables of a project.
func projectSettings(d Deps) []projectpage.Page {
	const needs = access.AdminProjectRunners
	in := func(do func(*ownerRequest) error) func(*projectpage.Request) error {
		return func(x *projectpage.Request) error {
			if !x.May(access.AdminProjectVariables) {
				return fault.New(fault.NotFound)
			}
			return do(ofProject(x, d))
		}
	}
	pages := []projectpage.Page{{
		Route: "GET /-/" + settingsPath, Needs: needs, Do: in(showSettings),
		Nav: page.Nav{List: projectpage.Settings, Title: "CI/CD", Icon: ui.IconBuild},
	}}
	for _, act := range slices.Concat(settingsActs, sentActs) {
		pages = append(pages, projectpage.Page{Route: act.method + " /-/" + settingsPath + "/" + act.below, Needs: needs, Do: in(act.do)})
	}
	return pages
}

// settingsAct is a page or form about what belongs to an owner, by what follows the path of its settings.
type settingsAct struct {
	method, below string
	do            func(*ownerRequest) error
}

var settingsActs = []settingsAct{
	{http.MethodPost, "runners", createRunner},
	{http.MethodGet, "runners/{id}", showRunner},
	{http.MethodPost, "runners/{id}", updateRunner},
	{http.MethodPost, "runners/{id}/pause", pauseRunner},
	{http.MethodPost, "runners/{id}/resume", resumeRunner},
	{http.MethodPost, "runners/{id}/reset", resetRunner},
	{http.MethodPost, "runners/{id}/delete", deleteRunner},
	{http.MethodPost, "variables", createVariable},
	{http.MethodGet, "variables/edit", showVariable},
	{http.MethodPost, "variables/update", updateVariable},
	{http.MethodPost, "variables/delete", deleteVariable},
	{http.MethodGet, "variables/update", toVariables},
}

// sentActs lead from where a form was sent, which a browser shows the address of if the form was refused, to its page.
// The instance has a page there.
var sentActs = []settingsAct{
	{http.MethodGet, "runners", toRunners},
	{http.MethodGet, "variables", toVariables},
}

func toRunners(x *ownerRequest) error {
	x.Redirect(x.shown(x.runners))
	return nil
}

func toVariables(x *ownerRequest) error {
	x.Redirect(x.shown(x.variables))
	return nil
}

// request is a request for a page about a project.
type request struct {
	*projectpage.Request
	deps Deps
}

// do is what a handler is called by.
func (d Deps) do(handle func(*request) error) func(*projectpage.Request) error {
	return func(r *projectpage.Request) error { return handle(&request{Request: r, deps: d}) }
}
