package project

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/user"
)

func (s *Service) starEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		On(s, httpapi.Spec{
			Route: "POST /projects/{id}/star", Needs: access.StarProject, Status: http.StatusCreated,
			Summary: "Star a project.",
		}, s.handleStar),
		On(s, httpapi.Spec{
			Route: "POST /projects/{id}/unstar", Needs: access.StarProject, Status: http.StatusCreated,
			Summary: "Unstar a project.",
		}, s.handleUnstar),
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/starrers", Needs: access.ReadProject, Summary: "List who starred a project.",
		}, s.handleStarrers),
	}
}

func (s *Service) handleStar(ctx context.Context, call httpapi.Call[*Project, Ref]) (fullForm, error) {
	p, err := s.Star(ctx, call.Actor, call.Subject.ID)
	return s.presentOne(ctx, call.Actor, p, err)
}

func (s *Service) handleUnstar(ctx context.Context, call httpapi.Call[*Project, Ref]) (fullForm, error) {
	p, err := s.Unstar(ctx, call.Actor, call.Subject.ID)
	return s.presentOne(ctx, call.Actor, p, err)
}

type starrersParams struct {
	Ref
	httpapi.Paging
	Search string `param:"search" doc:"Part of a name or username"`
}

type starrerForm struct {
	StarredSince httpapi.Time `json:"starred_since"`
	User         user.Public  `json:"user"`
}

func (s *Service) handleStarrers(ctx context.Context, call httpapi.Call[*Project, starrersParams]) (httpapi.List[starrerForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[starrerForm]{}, err
	}
	page, err := s.Starrers(ctx, call.Actor, call.Subject.ID, call.Params.Search, req)
	return httpapi.ListOf(req, page, func(st Starrer) starrerForm {
		return starrerForm{httpapi.Time(st.Since), s.deps.Users.PublicForm(st.User)}
	}), err
}
