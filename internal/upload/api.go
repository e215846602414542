package upload

import (
	"context"
	"net/http"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST /projects/{id}/uploads", Needs: access.UploadFiles, Status: http.StatusCreated, Streams: true, Limit: "project_uploads",
			Summary: "Add a file to a project, to link to it in texts.", Note: "The file is the part `file` of a multipart body.",
		}, s.handleUpload),
	}
}

// uploadForm is a file as texts link to it.
type uploadForm struct {
	Alt      string `json:"alt"`
	URL      string `json:"url"`
	FullPath string `json:"full_path"`
	Markdown string `json:"markdown"`
}

// around is what a multipart body adds to its file.
const around = 64 << 10

func (s *Service) handleUpload(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (uploadForm, error) {
	file, err := call.File("file", s.MaxSize()+around)
	if err != nil {
		return uploadForm{}, err
	}
	u, secret, err := s.Store(ctx, call.Actor, call.Subject, file.Name, file)
	if err != nil {
		return uploadForm{}, err
	}
	url := "/uploads/" + secret + "/" + u.Filename
	return uploadForm{Alt: alt(u.Filename), URL: url, FullPath: Path(u.ProjectID, secret, u.Filename), Markdown: Markdown(u.Filename, url)}, nil
}

// Path is where browsers find a file.
func Path(projectID int64, secret, name string) string {
	return "/-/project/" + strconv.FormatInt(projectID, 10) + "/uploads/" + secret + "/" + name
}
