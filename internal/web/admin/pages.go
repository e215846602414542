// Package admin is the pages of those who administer: the accounts of the instance, and the audit trails of the instance, of groups and of
// projects. What other areas show to others as well is there: applications in account, runners and variables in ci.
package admin

import (
	"slices"

	"stithy/internal/audit"
	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/project"
	"stithy/internal/user"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct {
	Users    *user.Service
	Groups   *group.Service
	Projects *project.Service
	Audit    *audit.Service
}

const (
	usersPath    = "/admin/users"        // the list of accounts
	instanceActs = "/admin/audit_events" // the audit trail of all
	actsPath     = "audit_events"        // below a group or project
)

// Pages are the pages of the instance.
func Pages(d Deps) []page.Page {
	pages := []page.Page{
		{
			Route: "GET " + usersPath, Who: page.Administrators, Do: d.do(showUsers),
			Nav: page.Nav{List: page.AdminList, Title: "Users", Icon: ui.IconUser},
		},
		{Route: "GET /admin", Who: page.Administrators, Do: leadToFirst},
		{Route: "POST " + usersPath + "/{id}/{move}", Who: page.Administrators, Do: d.do(moveUser)},
	}
	for _, p := range slices.Concat(trailPages, streamPages) {
		one := page.Page{
			Route: p.method + " " + instanceActs + p.below, Who: page.Administrators, Has: d.trails, Do: func(x *page.Request) error { return p.do(ofInstance(x, d)) },
		}
		if p.below == "" {
			one.Nav = page.Nav{List: page.AdminList, Title: trailTitle, Icon: ui.IconList}
		}
		pages = append(pages, one)
	}
	return pages
}

// GroupPages are the audit trail of a group.
func GroupPages(d Deps) []grouppage.Page {
	var pages []grouppage.Page
	for _, p := range slices.Concat(trailPages, streamPages) {
		one := grouppage.Page{
			Route: p.method + " /-/" + actsPath + p.below, Needs: []access.Ability{access.ReadGroupAudit}, Has: d.trails,
			Do: func(x *grouppage.Request) error { return p.do(ofGroup(x, d)) },
		}
		if p.below == "" {
			one.Nav = page.Nav{Title: trailTitle, Icon: ui.IconList}
		}
		pages = append(pages, one)
	}
	return pages
}

// ProjectPages are the audit trail of a project.
func ProjectPages(d Deps) []projectpage.Page {
	var pages []projectpage.Page
	for _, p := range trailPages {
		one := projectpage.Page{
			Route: p.method + " /-/" + actsPath + p.below, Needs: access.ReadProjectAudit, Has: d.trails,
			Do: func(x *projectpage.Request) error { return p.do(ofProject(x, d)) },
		}
		if p.below == "" {
			one.Nav = page.Nav{List: projectpage.Settings, Title: trailTitle, Icon: ui.IconList}
		}
		pages = append(pages, one)
	}
	return pages
}

// trails reports whether the instance shows audit trails.
func (d Deps) trails() bool { return d.Audit.Kept() }

// leadToFirst sends the browser to the first page of administration.
func leadToFirst(x *page.Request) error {
	x.Redirect(x.Listed(page.AdminList)[0].Path())
	return nil
}

// request is a request for a page of this area.
type request struct {
	*page.Request
	deps Deps
}

// do is what a handler is called by.
func (d Deps) do(handle func(*request) error) func(*page.Request) error {
	return func(r *page.Request) error { return handle(&request{Request: r, deps: d}) }
}
