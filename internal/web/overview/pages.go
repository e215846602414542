// Package overview is the pages that people find their way with: their home, people, groups, the first page of a
// project, what happened there, and the pictures of groups and projects.
package overview

import (
	"stithy/internal/event"
	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/member"
	"stithy/internal/pipeline"
	"stithy/internal/project"
	"stithy/internal/upload"
	"stithy/internal/user"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct {
	Users     *user.Service
	Groups    *group.Service
	Projects  *project.Service
	Members   *member.Service
	Pipelines *pipeline.Service
	Uploads   *upload.Service
	Events    *event.Service
}

// Pages are the pages of the area that are about neither a group nor a project.
func Pages(d Deps) []page.Page {
	return []page.Page{
		{Route: "GET /{$}", Do: d.do(showHome)},
		{Route: "GET /{name}", Do: d.do(showPerson)},
		{Route: "GET /users/{username}/activity", Who: page.Readers, Do: d.do(showPersonActivity)},
		{
			Route: "GET /users/{username}/activity.atom", Who: page.Readers, Do: d.do(feedPersonActivity),
			Tokens: &access.Demand{Extra: []access.Scope{access.ScopeReadUser}},
		},
		// Those of people are for everyone and need no session: front has them.
		{Route: "GET /uploads/-/system/group/avatar/{id}/{filename}", Who: page.Readers, Do: d.do(showGroupPicture)},
		{Route: "GET /uploads/-/system/project/avatar/{id}/{filename}", Who: page.Readers, Do: d.do(showProjectPicture)},
		{Route: "GET /-/project/{id}/uploads/{secret}/{filename}", Who: page.Readers, Do: d.do(showUpload)},
	}
}

// GroupPages are the pages about a group.
func GroupPages(d Deps) []grouppage.Page {
	do := func(handle func(*groupRequest) error) func(*grouppage.Request) error {
		return func(x *grouppage.Request) error { return handle(&groupRequest{Request: x, deps: d}) }
	}
	return []grouppage.Page{
		{Route: "GET /{$}", Do: do(showGroup), Nav: page.Nav{Title: "Overview", Icon: ui.IconGroup}},
		{Route: "GET /-/" + activityTab, Do: do(showGroupActivity), Nav: page.Nav{Title: "Activity", Icon: ui.IconHistory}},
		{Route: "GET /-/" + activityTab + feedSuffix, Do: do(feedGroupActivity), Tokens: &access.Demand{}},
	}
}

// ProjectPages are the pages about a project.
func ProjectPages(d Deps) []projectpage.Page {
	do := func(handle func(*projectRequest) error) func(*projectpage.Request) error {
		return func(x *projectpage.Request) error { return handle(&projectRequest{Request: x, deps: d}) }
	}
	nav := func(title string) page.Nav { return page.Nav{List: projectpage.Code, Title: title} }
	return []projectpage.Page{
		{Route: "GET /{$}", Needs: access.ReadProject, Do: do(showProject), Nav: nav("Overview")},
		{Route: "GET /-/" + activityTab, Needs: access.ReadProject, Do: do(showProjectActivity), Nav: nav("Activity")},
		{Route: "GET /-/" + activityTab + feedSuffix, Needs: access.ReadProject, Do: do(feedProjectActivity), Tokens: &access.Demand{}},
	}
}

// request is a request for a page of this area.
type request struct {
	*page.Request
	deps Deps
}

// groupRequest is a request for a page about a group.
type groupRequest struct {
	*grouppage.Request
	deps Deps
}

// projectRequest is a request for a page about a project.
type projectRequest struct {
	*projectpage.Request
	deps Deps
}

// do is what a handler is called by.
func (d Deps) do(handle func(*request) error) func(*page.Request) error {
	return func(r *page.Request) error { return handle(&request{Request: r, deps: d}) }
}
