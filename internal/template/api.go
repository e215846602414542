package template

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/templates/{type}", Needs: access.ReadProject, Summary: "List what issues or merge requests of a project may begin with.",
			Note: "Who may not read the code of the project sees none. The first 1,000 are listed.",
		}, s.handleList),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/templates/{type}/{name}", Needs: access.ReadProject, Summary: "Get a template of a project.",
		}, s.handleGet),
	}
}

type typeRef struct {
	project.Ref
	Type string `param:"type" enum:"issues,merge_requests" doc:"What the templates are for"`
}

// kind is what the path names. What stands in a path is bound before parameters are checked.
func (r typeRef) kind() (Kind, error) {
	switch k := Kind(r.Type); k {
	case Issues, MergeRequests:
		return k, nil
	}
	return "", fault.WithMessage(fault.BadParams, "type does not have a valid value")
}

type listParams struct {
	typeRef
	httpapi.Paging
}

// listedForm is a template in a list.
type listedForm struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*project.Project, listParams]) (none httpapi.List[listedForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	kind, err := call.Params.kind()
	if err != nil {
		return none, err
	}
	names, err := s.Listed(ctx, call.Actor, call.Subject, kind)
	return httpapi.ListOf(req, paging.Cut(names, req), func(name string) listedForm { return listedForm{Key: name, Name: name} }), err
}

type getParams struct {
	typeRef
	Name string `param:"name" doc:"Name of the template, without .md"`
}

// templateForm is a template on the wire.
type templateForm struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*project.Project, getParams]) (templateForm, error) {
	kind, err := call.Params.kind()
	if err != nil {
		return templateForm{}, err
	}
	t, err := s.Find(ctx, call.Actor, call.Subject, kind, call.Params.Name)
	if err != nil {
		return templateForm{}, err
	}
	return templateForm{Name: t.Name, Content: t.Content}, nil
}
