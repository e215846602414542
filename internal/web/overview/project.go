package overview

import (
	"net/http"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/web/jobstatus"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// projectBody is the first page of a project.
type projectBody struct {
	Name, Path              string
	Description, Visibility string
	Archived, Empty         bool
	Importing               bool
	ImportError             string
	HTTP, SSH, Branch       string // of the repository, for those who may read it; SSH where it is served
	Active                  *page.DisplayTime
	Latest                  *latestPipeline
}

// latestPipeline is how the default branch fares.
type latestPipeline struct {
	ID     int64
	URL    page.URL
	Status ui.Status
	When   *page.DisplayTime
}

func showProject(x *projectRequest) error {
	p := x.Project
	body := projectBody{
		Name: p.Name, Path: p.FullPath(), Description: p.Description, Visibility: p.Visibility.String(), Archived: p.Archived,
		Empty: p.DefaultBranch == nil, Active: x.Time(&p.LastActivityAt), ImportError: p.ImportError,
		Importing: p.ImportStatus == "scheduled" || p.ImportStatus == "started",
	}
	if x.May(access.ReadCode) {
		body.HTTP, body.Branch = x.deps.Projects.HTTPAddress(p), x.Branch()
		if x.deps.Projects.ServesSSH() {
			body.SSH = x.deps.Projects.SSHAddress(p)
		}
	}
	if x.May(access.ReadPipelines) {
		latest, err := x.deps.Pipelines.Latest(x.Context(), p, "")
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err == nil {
			body.Latest = &latestPipeline{
				ID: latest.ID, URL: x.LinkTo("pipelines/" + strconv.FormatInt(latest.ID, 10)),
				Status: jobstatus.Of(latest.Status), When: x.Time(&latest.CreatedAt),
			}
		}
	}
	l := x.Layout(p.Name, "")
	l.Heading = projectHeading(body)
	return x.Show(http.StatusOK, l, projectPage(body))
}
