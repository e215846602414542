// Package planning is the pages of planning: issues and what is said about them, boards, labels, milestones and to-dos.
package planning

import (
	"slices"
	"strconv"

	"stithy/internal/board"
	"stithy/internal/group"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/label"
	"stithy/internal/markdown"
	"stithy/internal/milestone"
	"stithy/internal/note"
	"stithy/internal/owner"
	"stithy/internal/project"
	"stithy/internal/setting"
	"stithy/internal/template"
	"stithy/internal/todo"
	"stithy/internal/upload"
	"stithy/internal/user"
	"stithy/internal/web/grouppage"
	"stithy/internal/web/page"
	"stithy/internal/web/projectpage"
	"stithy/internal/web/ui"
)

// Deps is what the pages call.
type Deps struct {
	Users      *user.Service
	Labels     *label.Service
	Milestones *milestone.Service
	Templates  *template.Service
	Issues     *issue.Service
	Notes      *note.Service
	Boards     *board.Service
	Todos      *todo.Service
	Markdown   *markdown.Service
	Projects   *project.Service
	Groups     *group.Service
	Uploads    *upload.Service
	Settings   *setting.Service
}

const (
	issuesPath     = "issues"
	milestonesPath = "milestones"
	labelsPath     = "labels"
)

// ProjectPages are the pages about a project.
func ProjectPages(d Deps) []projectpage.Page {
	nav := func(title string) page.Nav { return page.Nav{List: projectpage.Issues, Title: title} }
	issues := []projectpage.Page{
		{Route: "GET /-/issues", Needs: access.ReadIssues, Do: d.do(showIssues), Many: manyParams, Nav: nav("List")},
		{Route: "POST /-/issues", Needs: access.CreateIssues, Do: d.do(createIssue), Many: []string{"labels"}, File: true},
		{Route: "GET /-/issues/new", Needs: access.CreateIssues, Do: d.do(newIssue)},
		{Route: "GET /-/issues/{id}", Needs: access.ReadIssues, Do: d.do(showIssue)},
		{Route: "POST /-/issues/{id}", Needs: access.EditIssues, Do: d.do(updateIssue), Many: []string{"labels"}, File: true},
		{Route: "GET /-/issues/{id}/{act}", Needs: access.ReadIssues, Do: d.do(belowIssue)},
		{Route: "POST /-/issues/{id}/close", Needs: access.EditIssues, Do: d.do(closeIssue)},
		{Route: "POST /-/issues/{id}/reopen", Needs: access.EditIssues, Do: d.do(reopenIssue)},
		{Route: "POST /-/issues/{id}/delete", Needs: access.DeleteIssues, Do: d.do(deleteIssue)},
		{Route: "POST /-/issues/{id}/subscribe", Needs: access.SubscribeToIssues, Do: d.do(subscribe)},
		{Route: "POST /-/issues/{id}/unsubscribe", Needs: access.SubscribeToIssues, Do: d.do(unsubscribe)},
		{Route: "POST /-/issues/{id}/todo", Needs: access.MarkIssues, Do: d.do(markIssue)},
		{Route: "POST /-/issues/{id}/links", Needs: access.PlanIssues, Do: d.do(addLink)},
		{Route: "POST /-/issues/{id}/links/{link}/delete", Needs: access.PlanIssues, Do: d.do(removeLink)},
		{Route: "POST /-/issues/{id}/estimate", Needs: access.PlanIssues, Do: d.do(estimate)},
		{Route: "POST /-/issues/{id}/spend", Needs: access.PlanIssues, Do: d.do(spend)},
		{Route: "POST /-/issues/{id}/move", Needs: access.CreateIssues, Do: d.do(moveIssue)},
		{Route: "POST /-/issues/{id}/tasks", Needs: access.EditIssues, Do: d.do(tickTasks), Many: []string{"done"}},
		{Route: "POST /-/issues/{id}/react", Needs: access.AwardEmoji, Do: d.do(react)},
		{Route: "POST /-/issues/{id}/notes", Needs: access.CreateNotes, Do: d.do(comment), File: true},
		{Route: "GET /-/issues/{id}/notes/{note}", Needs: access.ReadNotes, Do: d.do(showNote)},
		{Route: "POST /-/issues/{id}/notes/{note}", Needs: access.EditNotes, Do: d.do(updateNote), File: true},
		{Route: "GET /-/issues/{id}/notes/{note}/edit", Needs: access.EditNotes, Do: d.do(editNote)},
		{Route: "GET /-/issues/{id}/notes/{note}/raw", Needs: access.ReadNotes, Do: d.do(rawNote)},
		{Route: "POST /-/issues/{id}/notes/{note}/delete", Needs: access.EditNotes, Do: d.do(deleteNote)},

		// Addresses that people and clients have from before.
		{Route: "GET /-/issues/incident/{id}", Needs: access.ReadIssues, Do: d.do(redirectIssue)},
		{Route: "GET /-/work_items/{id}", Needs: access.ReadIssues, Do: d.do(redirectIssue)},
	}
	return slices.Concat(issues, projectPages(d, boardRoutes()), projectPages(d, milestoneRoutes()), projectPages(d, labelRoutes()))
}

// GroupPages are the pages about a group.
func GroupPages(d Deps) []grouppage.Page {
	issues := grouppage.Page{
		Route: "GET /-/issues", Do: d.doInGroup(showGroupIssues), Many: manyParams,
		Nav: page.Nav{Title: "Issues", Icon: ui.IconIssue},
	}
	return slices.Concat([]grouppage.Page{issues}, groupPages(d, boardRoutes()), groupPages(d, milestoneRoutes()), groupPages(d, labelRoutes()))
}

// ownerRoute is a page about what projects and groups have alike.
type ownerRoute struct {
	route string
	needs owner.Needs
	do    func(*ownerRequest) error
	many  []string
	title string      // with one, other pages link to it
	icon  ui.IconPath // of that link, where it has one
}

func projectPages(d Deps, routes []ownerRoute) (all []projectpage.Page) {
	for _, r := range routes {
		p := projectpage.Page{Route: r.route, Needs: r.needs.Project, Many: r.many, Do: func(x *projectpage.Request) error {
			return r.do(&ownerRequest{Request: x.Request, deps: d, owner: owner.OfProject(x.Project), at: x.At, layout: x.Layout})
		}}
		if r.title != "" {
			p.Nav = page.Nav{List: projectpage.Issues, Title: r.title}
		}
		all = append(all, p)
	}
	return all
}

func groupPages(d Deps, routes []ownerRoute) (all []grouppage.Page) {
	for _, r := range routes {
		p := grouppage.Page{Route: r.route, Needs: []access.Ability{r.needs.Group}, Many: r.many, Do: func(x *grouppage.Request) error {
			return r.do(&ownerRequest{Request: x.Request, deps: d, owner: owner.OfGroup(x.Group), at: x.At, layout: x.Layout})
		}}
		if r.title != "" {
			p.Nav = page.Nav{Title: r.title, Icon: r.icon}
		}
		all = append(all, p)
	}
	return all
}

// ownerRequest is a request for a page about something of a project or group.
type ownerRequest struct {
	*page.Request
	deps   Deps
	owner  *owner.Owner
	at     func(below string) string
	layout func(title, tab string) page.Layout
}

func (x *ownerRequest) may(n owner.Needs) bool { return n.Held(x.Actor, x.owner) }

func (x *ownerRequest) linkTo(below string) page.URL { return x.Link(x.at(below)) }

func (x *ownerRequest) scope() issue.Scope {
	return issue.Scope{Project: x.owner.Project, Group: x.owner.Group}
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

// groupRequest is a request for a page about a group.
type groupRequest struct {
	*grouppage.Request
	deps Deps
}

func (d Deps) doInGroup(handle func(*groupRequest) error) func(*grouppage.Request) error {
	return func(r *grouppage.Request) error { return handle(&groupRequest{Request: r, deps: d}) }
}

// number is the one in the path, of an issue or milestone in its project.
func number(x *page.Request) (int, error) {
	id, err := x.ID()
	if err == nil && id > maxNumber {
		err = fault.New(fault.NotFound)
	}
	return int(id), err
}

// maxNumber is greater than any that something has.
const maxNumber = 1<<31 - 1

// below is the path of what has a number.
func below(list string, n int) string { return list + "/" + strconv.Itoa(n) }
