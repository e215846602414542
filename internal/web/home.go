package web

import (
	"net/http"

	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

func (d *Door) homePages() []page {
	return []page{{route: "GET /{$}", do: (*visit).home}}
}

// homeProjects is how many projects the home page shows.
const homeProjects = 20

// homeBody is what a signed-in person sees first.
type homeBody struct {
	Projects []homeProject
	More     bool
	API      string
	Invited  int
}

type homeProject struct {
	Path, Description, Visibility string
	Active                        *moment
}

func (x *visit) home() error {
	found, err := x.Projects.List(x.r.Context(), x.actor, project.Filter{Membership: true},
		paging.Request{Page: 1, PerPage: homeProjects, OrderBy: "last_activity_at", Desc: true})
	if err != nil {
		return err
	}
	invited, err := x.Members.Received(x.r.Context(), x.account.ID)
	if err != nil {
		return err
	}
	body := homeBody{More: found.More, API: x.ExternalURL.String() + "/api/v4", Invited: len(invited)}
	for i := range found.Items {
		body.Projects = append(body.Projects, x.projectRow(&found.Items[i]))
	}
	return x.show(http.StatusOK, "home", "Home", body)
}
