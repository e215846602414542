package overview

import (
	"net/http"

	"stithy/internal/group"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
	"stithy/internal/web/page"
)

// The home page shows as many as these.
const (
	homeProjects = 20
	homeGroups   = 20
)

// homeBody is what a signed-in person sees first.
type homeBody struct {
	Projects    []projectRow
	More        bool
	Groups      []groupRow
	MoreGroups  bool
	API         string
	Tokens      page.URL
	Invited     int
	Invitations page.URL
}

func showHome(x *request) error {
	found, err := x.deps.Projects.List(x.Context(), x.Actor, project.Filter{Membership: true},
		paging.Request{Page: 1, PerPage: homeProjects, OrderBy: "last_activity_at", Desc: true})
	if err != nil {
		return err
	}
	groups, err := x.deps.Groups.List(x.Context(), x.Actor, group.Filter{}, paging.Request{Page: 1, PerPage: homeGroups})
	if err != nil {
		return err
	}
	invited, err := x.deps.Members.Received(x.Context(), x.Account.ID)
	if err != nil {
		return err
	}
	return x.Show(http.StatusOK, page.Layout{Title: "Home"}, homePage(homeBody{
		Projects: projectRows(x.Request, found.Items), More: found.More, API: x.ExternalURL.String() + "/api/v4",
		Groups: groupRows(x.Request, groups.Items), MoreGroups: groups.More,
		Tokens: x.Link("/-/user_settings/personal_access_tokens"), Invited: len(invited), Invitations: x.Link("/-/invitations"),
	}))
}
