package project

import (
	"context"
	"net/http"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
)

func (s *Service) transferEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		On(s, httpapi.Spec{
			Route: "PUT /projects/{id}/transfer", Needs: access.TransferProject, Summary: "Move a project to another namespace.",
		}, s.handleTransfer),
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/transfer_locations", Needs: access.TransferProject, Summary: "List the groups that a project may be moved to.",
		}, s.handleTargets),
		group.On(s.deps.Groups, httpapi.Spec{
			Route: "POST /groups/{id}/projects/{project_id}", Needs: access.Administer, Status: http.StatusCreated,
			Summary: "Move a project to a group.",
		}, s.handleTransferTo),
	}
}

type transferParams struct {
	Ref
	Namespace string `param:"namespace" required:"true" doc:"ID or path of the namespace to move to"`
}

func (s *Service) handleTransfer(ctx context.Context, call httpapi.Call[*Project, transferParams]) (fullForm, error) {
	target, err := s.deps.Groups.NamespaceByRef(ctx, call.Actor, call.Params.Namespace)
	if fault.Is(err, fault.NotFound) {
		return fullForm{}, fault.NotFoundf("Namespace")
	}
	if err != nil {
		return fullForm{}, err
	}
	moved, err := s.Transfer(ctx, call.Actor, call.Subject.ID, target)
	return s.presentOne(ctx, call.Actor, moved, err)
}

type transferToParams struct {
	group.Ref
	ProjectID string `param:"project_id" doc:"ID or URL-encoded path of the project"`
}

func (s *Service) handleTransferTo(ctx context.Context, call httpapi.Call[*group.Group, transferToParams]) (group.Detail, error) {
	p, _, err := s.FindByRef(ctx, call.Actor, call.Params.ProjectID)
	if err != nil {
		return group.Detail{}, err
	}
	if _, err := s.Transfer(ctx, call.Actor, p.ID, call.Subject); err != nil {
		return group.Detail{}, err
	}
	return s.deps.Groups.Detail(ctx, call.Actor, call.Subject.ID)
}

type targetsParams struct {
	Ref
	httpapi.Paging
	Search string `param:"search" doc:"Part of a name or path"`
}

func (s *Service) handleTargets(ctx context.Context, call httpapi.Call[*Project, targetsParams]) (httpapi.List[groupForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[groupForm]{}, err
	}
	page, err := s.targets(ctx, call.Actor, call.Subject, call.Params.Search, req)
	return httpapi.ListOf(req, page, s.groupForm), err
}
