package alert

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

func (s *Service) imageEndpoints() []httpapi.Endpoint {
	spec := func(method, below string, needs access.Ability, status int, summary string) httpapi.Spec {
		return httpapi.Spec{
			Route: method + " /projects/{id}/alert_management_alerts/{alert_iid:digits}/metric_images" + below, Needs: needs, Status: status, Summary: summary,
		}
	}
	in := s.deps.Projects
	add := spec("POST", "", access.UpdateAlerts, http.StatusCreated, "Add a picture to an alert.")
	add.MaxBody, add.Note = 2*MaxImage, "Up to 1 MB: png, jpg, gif, bmp, webp or ico, by what it holds."
	return []httpapi.Endpoint{
		project.On(in, spec("GET", "", access.ReadAlerts, 0, "List the pictures of an alert."), s.handleImages),
		project.On(in, add, s.handleAddImage),
		project.On(in, spec("POST", "/authorize", access.UpdateAlerts, 0, "Ask whether a picture may be added to an alert, and how large it may be."), s.handleAuthorizeImage),
		project.On(in, spec("PUT", "/{image_id:digits}", access.UpdateAlerts, 0, "Say where a picture of an alert is from."), s.handleChangeImage),
		project.On(in, spec("DELETE", "/{image_id:digits}", access.UpdateAlerts, http.StatusNoContent, "Take a picture of an alert away."), s.handleRemoveImage),
	}
}

type imageForm struct {
	ID        int64        `json:"id"`
	CreatedAt httpapi.Time `json:"created_at"`
	Filename  string       `json:"filename"`
	FilePath  string       `json:"file_path"`
	URL       *string      `json:"url"`
	URLText   *string      `json:"url_text"`
}

// ImagePath is where browsers find a picture of an alert.
func ImagePath(p *project.Project, a *Alert, i *MetricImage) string {
	return fmt.Sprintf("/%s/-/alert_management/%d/metric_images/%d/%s", p.FullPath(), a.IID, i.ID, i.Filename)
}

func presentImage(p *project.Project, a *Alert, i *MetricImage) imageForm {
	f := imageForm{ID: i.ID, CreatedAt: httpapi.Time(i.CreatedAt), Filename: i.Filename, FilePath: ImagePath(p, a, i)}
	if i.URL != "" {
		f.URL = &i.URL
	}
	if i.URLText != "" {
		f.URLText = &i.URLText
	}
	return f
}

// alertOf is the alert that a picture belongs to.
func (s *Service) alertOf(ctx context.Context, p *project.Project, iid int64) (*Alert, error) {
	a, err := s.Find(ctx, p.ID, iid)
	if fault.Is(err, fault.NotFound) {
		err = errNoAlert
	}
	return a, err
}

func (s *Service) handleImages(ctx context.Context, call httpapi.Call[*project.Project, alertRef]) ([]imageForm, error) {
	a, err := s.alertOf(ctx, call.Subject, call.Params.AlertIID)
	if err != nil {
		return nil, err
	}
	images, err := s.Images(ctx, a)
	forms := make([]imageForm, len(images))
	for n := range images {
		forms[n] = presentImage(call.Subject, a, &images[n])
	}
	return forms, err
}

type addImageParams struct {
	alertRef
	File    *httpapi.File       `param:"file" required:"true" doc:"The picture"`
	URL     httpapi.Opt[string] `param:"url" doc:"Where it is from: a web address of at most 255 characters"`
	URLText httpapi.Opt[string] `param:"url_text" doc:"What the link to there says, at most 128 characters"`
}

func (s *Service) handleAddImage(ctx context.Context, call httpapi.Call[*project.Project, addImageParams]) (imageForm, error) {
	p := call.Params
	a, err := s.alertOf(ctx, call.Subject, p.AlertIID)
	switch {
	case err != nil:
		return imageForm{}, err
	case p.File.Size > MaxImage:
		return imageForm{}, errImageTooBig
	}
	i, err := s.AddImage(ctx, call.Actor, a, p.File.Name, p.File.Data, Source{URL: p.URL.Or(""), Text: p.URLText.Or("")})
	if err != nil {
		return imageForm{}, err
	}
	return presentImage(call.Subject, a, i), nil
}

// roomForm is how large a picture may be.
type roomForm struct {
	MaximumSize int `json:"MaximumSize"`
}

func (s *Service) handleAuthorizeImage(ctx context.Context, call httpapi.Call[*project.Project, alertRef]) (roomForm, error) {
	_, err := s.alertOf(ctx, call.Subject, call.Params.AlertIID)
	return roomForm{MaximumSize: MaxImage}, err
}

type imageRef struct {
	alertRef
	ImageID int64 `param:"image_id" doc:"ID of the picture"`
}

type changeImageParams struct {
	imageRef
	URL     httpapi.Opt[string] `param:"url" doc:"Where it is from: a web address of at most 255 characters"`
	URLText httpapi.Opt[string] `param:"url_text" doc:"What the link to there says, at most 128 characters"`
}

func (s *Service) handleChangeImage(ctx context.Context, call httpapi.Call[*project.Project, changeImageParams]) (imageForm, error) {
	p := call.Params
	a, err := s.alertOf(ctx, call.Subject, p.AlertIID)
	if err != nil {
		return imageForm{}, err
	}
	given := func(o httpapi.Opt[string]) *string {
		if !o.Given {
			return nil
		}
		return new(o.Or(""))
	}
	i, err := s.ChangeImage(ctx, a, p.ImageID, given(p.URL), given(p.URLText))
	if err != nil {
		return imageForm{}, err
	}
	return presentImage(call.Subject, a, i), nil
}

func (s *Service) handleRemoveImage(ctx context.Context, call httpapi.Call[*project.Project, imageRef]) (httpapi.NoContent, error) {
	a, err := s.alertOf(ctx, call.Subject, call.Params.AlertIID)
	if err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, s.RemoveImage(ctx, a, call.Params.ImageID)
}

// mediaOf is the type of a picture that browsers show and in which nothing acts, "" of anything else. What its name says does not count.
func mediaOf(content []byte) string {
	found := http.DetectContentType(content)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/bmp", "image/webp", "image/x-icon"}, found) {
		return ""
	}
	return found
}
