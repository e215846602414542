package markdown

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "POST /markdown", Needs: access.SignIn, Status: http.StatusCreated, MaxBody: maxBody, Scopes: []access.Scope{access.ScopeReadAPI},
			Summary: "Render a text as HTML.",
		}, s.handleRender),
	}
}

// maxBody is a text of the largest size, with what JSON adds to it.
const maxBody = 2 << 20

type renderParams struct {
	Text    string `param:"text" required:"true" bytes:"1048576" doc:"The text, in Markdown"`
	GFM     bool   `param:"gfm" doc:"Also link references, such as @name and group/project>"`
	Project string `param:"project" doc:"Path of the project that the text belongs to; references are read as in it"`
}

type renderForm struct {
	HTML string `json:"html"`
}

func (s *Service) handleRender(ctx context.Context, call httpapi.Call[httpapi.None, renderParams]) (renderForm, error) {
	in := call.Params
	c := Context{Reader: call.Actor}
	if in.Project != "" {
		p, _, err := s.deps.Projects.FindByRef(ctx, call.Actor, in.Project)
		if fault.Is(err, fault.NotFound) {
			err = fault.NotFoundf("Project")
		}
		if err != nil {
			return renderForm{}, err
		}
		c.Project = p
	}
	html, err := s.Plain(ctx, in.Text)
	if in.GFM {
		html, err = s.Show(ctx, c, in.Text)
	}
	return renderForm{html}, err
}
