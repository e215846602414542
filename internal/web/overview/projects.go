package overview

import (
	"net/http"
	"net/url"

	"stithy/internal/group"
	"stithy/internal/project"
	"stithy/internal/web/page"
)

// ownersProjects is how many projects the page of a person or group shows at a time.
const ownersProjects = 20

// projectRow is a project in a list.
type projectRow struct {
	URL                           page.URL
	Path, Description, Visibility string
	Active                        *page.DisplayTime
}

func projectRows(x *page.Request, projects []project.Project) []projectRow {
	rows := make([]projectRow, 0, len(projects))
	for i := range projects {
		p := &projects[i]
		rows = append(rows, projectRow{
			URL: x.Link("/" + p.FullPath()), Path: p.FullPath(), Description: p.Description, Visibility: p.Visibility.String(),
			Active: x.Time(&p.LastActivityAt),
		})
	}
	return rows
}

// ownerBody is a person or a group, and those of their projects that the reader sees.
type ownerBody struct {
	Name, Path, Description string
	Group                   bool
	Groups                  []groupRow // in it
	Year                    *yearBody  // of a person who did something
	Projects                []projectRow
	Pager                   page.Pager
}

// groupRow is a group in a list.
type groupRow struct {
	URL               page.URL
	Path, Description string
}

func groupRows(x *page.Request, groups []group.Group) (rows []groupRow) {
	for i := range groups {
		g := &groups[i]
		rows = append(rows, groupRow{URL: x.Link("/groups/" + g.FullPath), Path: g.FullPath, Description: g.Description})
	}
	return rows
}

// showOwner shows a person or a group whose page is at a path.
func showOwner(x *page.Request, d Deps, l page.Layout, body ownerBody, path string, f project.Filter) error {
	req := x.Numbered("page", ownersProjects)
	req.OrderBy, req.Desc = "last_activity_at", true
	found, err := d.Projects.List(x.Context(), x.Actor, f, req)
	if err != nil {
		return err
	}
	body.Projects = projectRows(x, found.Items)
	body.Pager = x.NumberedPager(path, url.Values{}, "page", "", req, found.More)
	l.Heading = ownerHeading(body)
	return x.Show(http.StatusOK, l, ownerPage(body))
}
