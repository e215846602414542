package overview

import (
	"strconv"

	"stithy/internal/group"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
)

// showPerson is the address of a person. That of a group leads to its page.
func showPerson(x *request) error {
	ctx, name := x.Context(), x.R.PathValue("name")
	if group.ReservedAtTop(name) {
		return fault.New(fault.NotFound)
	}
	if _, err := strconv.Atoi(name); err != nil { // a number would be taken for an id
		g, err := x.deps.Groups.FindByRef(ctx, x.Actor, name)
		if err == nil {
			x.Redirect("/groups/" + g.FullPath)
			return nil
		}
		if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	u, err := x.deps.Users.FindByUsername(ctx, name)
	if err != nil {
		return err
	}
	body := ownerBody{Name: u.Name, Path: u.Username, Description: u.Bio}
	if x.Form.Get("page") == "" { // of their projects
		done, err := x.deps.Events.CalendarOf(ctx, x.Actor, u)
		if err != nil {
			return err
		}
		body.Year = yearOf(done)
	}
	return showOwner(x.Request, x.deps, personLayout(x, u, ""), body, "/"+u.Username, project.Filter{NamespaceID: u.NamespaceID})
}
