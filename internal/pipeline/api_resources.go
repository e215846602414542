package pipeline

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
)

func (s *Service) resourceEndpoints() []httpapi.Endpoint {
	spec := func(method, below, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/resource_groups" + below, Needs: access.UseResourceGroups, Summary: summary}
	}
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, spec("GET", "", "List the resource groups of a project."), s.handleResourceGroups),
		project.On(s.deps.Projects, spec("GET", "/{key}", "Get a resource group."), s.handleResourceGroup),
		project.On(s.deps.Projects, spec("GET", "/{key}/upcoming_jobs", "List the jobs that wait for a resource group."), s.handleUpcoming),
		project.On(s.deps.Projects, spec("PUT", "/{key}", "Change a resource group."), s.handleSetResourceGroup),
	}
}

type groupForm struct {
	ID          int64        `json:"id"`
	Key         string       `json:"key"`
	ProcessMode string       `json:"process_mode"`
	CreatedAt   httpapi.Time `json:"created_at"`
	UpdatedAt   httpapi.Time `json:"updated_at"`
}

func newGroupForm(g ResourceGroup) groupForm {
	return groupForm{g.ID, g.Key, g.ProcessMode, httpapi.Time(g.CreatedAt), httpapi.Time(g.UpdatedAt)}
}

type pageParams struct {
	project.Ref
	httpapi.Paging
}

func (s *Service) handleResourceGroups(ctx context.Context, call httpapi.Call[*project.Project, pageParams]) (httpapi.List[groupForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[groupForm]{}, err
	}
	res, err := s.ResourceGroups(ctx, call.Subject.ID, req)
	return httpapi.ListOf(req, res, newGroupForm), err
}

type keyRef struct {
	project.Ref
	Key string `param:"key" doc:"Key of the resource group"`
}

func (s *Service) handleResourceGroup(ctx context.Context, call httpapi.Call[*project.Project, keyRef]) (groupForm, error) {
	g, err := found(postgres.One[ResourceGroup](ctx, s.deps.DB, sqlResourceGroup, call.Subject.ID, call.Params.Key))
	return newGroupForm(deref(g)), err
}

type upcomingParams struct {
	keyRef
	httpapi.Paging
}

func (s *Service) handleUpcoming(ctx context.Context, call httpapi.Call[*project.Project, upcomingParams]) (httpapi.List[JobForm], error) {
	var none httpapi.List[JobForm]
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	g, err := found(postgres.One[ResourceGroup](ctx, s.deps.DB, sqlResourceGroup, call.Subject.ID, call.Params.Key))
	if err != nil {
		return none, err
	}
	res, err := s.Upcoming(ctx, g, req)
	if err != nil {
		return none, err
	}
	a, err := s.around(ctx, call.Actor, call.Subject, res.Items)
	if err != nil {
		return none, err
	}
	return httpapi.ListOf(req, res, func(j Job) JobForm { return s.jobForm(a, &j) }), nil
}

type setGroupParams struct {
	keyRef
	ProcessMode string `param:"process_mode" required:"true" enum:"unordered,oldest_first,newest_first" doc:"Who comes next"`
}

func (s *Service) handleSetResourceGroup(ctx context.Context, call httpapi.Call[*project.Project, setGroupParams]) (groupForm, error) {
	g, err := s.SetResourceGroup(ctx, call.Subject.ID, call.Params.Key, call.Params.ProcessMode)
	return newGroupForm(deref(g)), err
}
