package overview

import (
	"stithy/internal/group"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

// ownersGroups is how many groups the page of a group shows of those in it.
const ownersGroups = 100

// showGroup is the page of a group: its projects, and those of the groups in it.
func showGroup(x *groupRequest) error {
	g := x.Group
	below, err := x.deps.Groups.List(x.Context(), x.Actor, group.Filter{Below: g, Direct: true, All: true},
		paging.Request{Page: 1, PerPage: ownersGroups})
	if err != nil {
		return err
	}
	body := ownerBody{Name: g.Name, Path: g.FullPath, Description: g.Description, Group: true, Groups: groupRows(x.Request.Request, below.Items)}
	return showOwner(x.Request.Request, x.deps, x.Layout(g.Name, ""), body, x.At(""),
		project.Filter{Group: &project.GroupScope{ID: g.ID, Own: true, Below: true}})
}
