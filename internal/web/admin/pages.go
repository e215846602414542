// Package admin is the pages of those who administer the instance, as far as no other area shows the same to others:
// its applications are in account, its runners and variables in ci.
package admin

import (
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct {
	Users *user.Service
}

// usersPath is the list of accounts.
const usersPath = "/admin/users"

// Pages are the pages of the area.
func Pages(d Deps) []page.Page {
	return []page.Page{
		{
			Route: "GET " + usersPath, Who: page.Administrators, Do: d.do(showUsers),
			Nav: page.Nav{List: page.AdminList, Title: "Users", Icon: ui.IconUser},
		},
		{Route: "GET /admin", Who: page.Administrators, Do: leadToFirst},
		{Route: "POST " + usersPath + "/{id}/{move}", Who: page.Administrators, Do: d.do(moveUser)},
	}
}

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
