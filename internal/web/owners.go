package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"stithy/internal/group"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

const (
	ownersProjects = 20  // that the page of a person or group shows at a time
	ownersGroups   = 100 // that the page of a group shows of those in it
)

// ownerBody is a person or a group, and those of their projects that the reader sees.
type ownerBody struct {
	Path, Description string
	Groups            []string // in it, by their paths
	Projects          []homeProject
	Prev, Next        string
}

func (d *Door) ownerPages() []page {
	return []page{{route: "GET /{name}", do: (*visit).showPerson}}
}

// showPerson is the address of a person. That of a group leads to its page.
func (x *visit) showPerson() error {
	ctx, name := x.r.Context(), x.r.PathValue("name")
	if group.ReservedAtTop(name) {
		return fault.New(fault.NotFound)
	}
	if _, err := strconv.Atoi(name); err != nil { // a number would be taken for an id
		g, err := x.Groups.FindByRef(ctx, x.actor, name)
		if err == nil {
			x.redirect("/groups/" + g.FullPath)
			return nil
		}
		if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	u, err := x.Users.FindByUsername(ctx, name)
	if err != nil {
		return err
	}
	return x.showOwner(u.Name, ownerBody{Path: u.Username, Description: u.Bio}, "/"+u.Username, project.Filter{NamespaceID: u.NamespaceID})
}

// showGroup is the page of a group: its projects, and those of the groups in it.
func (x *visit) showGroup(full string) error {
	g, err := x.Groups.FindByRef(x.r.Context(), x.actor, full)
	if err == nil && !strings.EqualFold(g.FullPath, full) {
		err = fault.New(fault.NotFound) // it was found by its number
	}
	if fault.Is(err, fault.NotFound) && x.account == nil {
		x.askToSignIn()
		return errSent
	}
	if err != nil {
		return err
	}
	below, err := x.Groups.List(x.r.Context(), x.actor, group.Filter{Below: g, Direct: true, All: true}, paging.Request{Page: 1, PerPage: ownersGroups})
	if err != nil {
		return err
	}
	body := ownerBody{Path: g.FullPath, Description: g.Description}
	for i := range below.Items {
		body.Groups = append(body.Groups, below.Items[i].FullPath)
	}
	return x.showOwner(g.Name, body, "/groups/"+g.FullPath,
		project.Filter{Group: &project.GroupScope{ID: g.ID, Own: true, Below: true}})
}

func (x *visit) showOwner(title string, body ownerBody, path string, f project.Filter) error {
	number, err := strconv.Atoi(x.form.Get("page"))
	if err != nil || number < 1 || number > paging.MaxTotal {
		number = 1
	}
	found, err := x.Projects.List(x.r.Context(), x.actor, f, paging.Request{Page: number, PerPage: ownersProjects, OrderBy: "last_activity_at", Desc: true})
	if err != nil {
		return err
	}
	for i := range found.Items {
		body.Projects = append(body.Projects, x.projectRow(&found.Items[i]))
	}
	turn := func(to int) string { return path + "?" + url.Values{"page": {strconv.Itoa(to)}}.Encode() }
	if number > 1 {
		body.Prev = turn(number - 1)
	}
	if found.More {
		body.Next = turn(number + 1)
	}
	return x.show(http.StatusOK, "owner", title, body, func(v *view) {
		if x.account == nil {
			v.SignIn = x.signInAndBack()
		}
	})
}

// projectRow is a project in a list.
func (x *visit) projectRow(p *project.Project) homeProject {
	return homeProject{Path: p.FullPath(), Description: p.Description, Visibility: p.Visibility.String(), Active: x.moment(&p.LastActivityAt)}
}
