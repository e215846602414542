package dispatch

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/pipeline"
	"stithy/internal/project"
	"stithy/internal/user"
)

// tokenEndpoints are what the token of a job opens by itself, and who decides
// which projects it opens.
func (s *Service) tokenEndpoints() []httpapi.Endpoint {
	spec := func(route, summary string) httpapi.Spec {
		return httpapi.Spec{Route: route, Needs: access.UpdateProject, Summary: summary}
	}
	allow := spec("POST /projects/{id}/job_token_scope/allowlist", "Let the jobs of another project into a project.")
	allow.Status = http.StatusCreated
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "GET /job", Needs: access.SignIn, JobToken: true, Summary: "Show the job of a token.", ExtraRefusals: "needs the token of a running job",
		}, s.handleJob),
		httpapi.Do(httpapi.Spec{
			Route: "GET /job/allowed_agents", Needs: access.SignIn, JobToken: true, Summary: "List the agents that the job of a token may use.",
			ExtraRefusals: "needs the token of a running job",
		}, s.handleAgents),
		project.On(s.deps.Projects, spec("GET /projects/{id}/job_token_scope", "Show which job tokens reach a project."), s.handleScope),
		project.On(s.deps.Projects, spec("PATCH /projects/{id}/job_token_scope", "Let all jobs into a project, or those of listed projects."), s.handleSetScope),
		project.On(s.deps.Projects, spec("GET /projects/{id}/job_token_scope/allowlist", "List the projects whose jobs a project lets in."), s.handleAllowed),
		project.On(s.deps.Projects, allow, s.handleAllow),
		project.On(s.deps.Projects, spec("DELETE /projects/{id}/job_token_scope/allowlist/{target_project_id}",
			"Keep the jobs of another project out of a project."), s.handleDisallow),
	}
}

type scopeForm struct {
	Inbound  bool `json:"inbound_enabled"`
	Outbound bool `json:"outbound_enabled"`
}

func (s *Service) handleScope(ctx context.Context, call httpapi.Call[*project.Project, project.Ref]) (scopeForm, error) {
	scope, err := s.Scope(ctx, call.Subject)
	return scopeForm(scope), err
}

type setScopeParams struct {
	project.Ref
	Enabled bool `param:"enabled" required:"true" doc:"Whether listed projects only are let in"`
}

func (s *Service) handleSetScope(ctx context.Context, call httpapi.Call[*project.Project, setScopeParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Close(ctx, call.Actor, call.Subject, call.Params.Enabled)
}

type allowParams struct {
	project.Ref
	TargetProjectID int64 `param:"target_project_id" required:"true" doc:"ID of the other project"`
}

type linkForm struct {
	SourceProjectID int64 `json:"source_project_id"`
	TargetProjectID int64 `json:"target_project_id"`
}

func (s *Service) handleAllow(ctx context.Context, call httpapi.Call[*project.Project, allowParams]) (linkForm, error) {
	p, target := call.Subject, call.Params.TargetProjectID
	// Whoever lists a project must see it, or the list would tell which exist.
	if _, err := s.deps.Projects.Find(ctx, call.Actor, target); err != nil {
		if fault.Is(err, fault.NotFound) {
			err = errNoTarget
		}
		return linkForm{}, err
	}
	return linkForm{SourceProjectID: p.ID, TargetProjectID: target}, s.Allow(ctx, call.Actor, p, target)
}

func (s *Service) handleDisallow(ctx context.Context, call httpapi.Call[*project.Project, disallowParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Disallow(ctx, call.Actor, call.Subject, call.Params.TargetProjectID)
}

type disallowParams struct {
	project.Ref
	TargetProjectID int64 `param:"target_project_id" doc:"ID of the other project"`
}

// identity is a project where another thing refers to it.
type identity struct {
	ID                int64        `json:"id"`
	Description       *string      `json:"description"`
	Name              string       `json:"name"`
	NameWithNamespace string       `json:"name_with_namespace"`
	Path              string       `json:"path"`
	PathWithNamespace string       `json:"path_with_namespace"`
	CreatedAt         httpapi.Time `json:"created_at"`
}

func identify(p *project.Project) identity {
	i := identity{
		ID: p.ID, Name: p.Name, NameWithNamespace: p.FullName(), Path: p.Path, PathWithNamespace: p.FullPath(), CreatedAt: httpapi.Time(p.CreatedAt),
	}
	if p.Description != "" {
		i.Description = &p.Description
	}
	return i
}

type allowedParams struct {
	project.Ref
	httpapi.Paging
}

func (s *Service) handleAllowed(ctx context.Context, call httpapi.Call[*project.Project, allowedParams]) (httpapi.List[identity], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[identity]{}, err
	}
	res, err := s.Allowlist(ctx, call.Actor, call.Subject, req)
	return httpapi.ListOf(req, res, identify), err
}

type agentForm struct {
	ID            int64    `json:"id"`
	ConfigProject identity `json:"config_project"`
}

type idForm struct {
	ID int64 `json:"id"`
}

type groupsForm struct {
	ID     int64    `json:"id"`
	Groups []idForm `json:"groups"`
}

type agentsForm struct {
	AllowedAgents []agentForm `json:"allowed_agents"`
	Job           idForm      `json:"job"`
	Pipeline      idForm      `json:"pipeline"`
	Project       groupsForm  `json:"project"`
	User          user.Public `json:"user"`
}

// jobOf is the job behind a token. Whoever came with another kind of credential
// has no job.
func (s *Service) jobOf(a access.Actor) (int64, error) {
	if a.Credential.Kind != access.JobToken {
		return 0, fault.NotFoundf("Job")
	}
	return a.Credential.ID, nil
}

func (s *Service) handleJob(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (pipeline.JobForm, error) {
	id, err := s.jobOf(call.Actor)
	if err != nil {
		return pipeline.JobForm{}, err
	}
	job, err := s.deps.Pipelines.KnownJob(ctx, s.deps.DB, id)
	if err != nil {
		return pipeline.JobForm{}, err
	}
	p, err := s.deps.Projects.Find(ctx, call.Actor, job.ProjectID)
	if err != nil {
		return pipeline.JobForm{}, err
	}
	return s.deps.Pipelines.Form(ctx, call.Actor, p, job)
}

func (s *Service) handleAgents(ctx context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (agentsForm, error) {
	id, err := s.jobOf(call.Actor)
	if err != nil {
		return agentsForm{}, err
	}
	found, err := s.Agents(ctx, call.Actor, id)
	if err != nil {
		return agentsForm{}, err
	}
	form := agentsForm{
		AllowedAgents: []agentForm{}, Job: idForm{id}, Pipeline: idForm{found.Job.PipelineID},
		Project: groupsForm{ID: found.Job.ProjectID, Groups: []idForm{}}, User: s.deps.Users.PublicForm(found.User.Brief()),
	}
	for _, group := range found.Groups {
		form.Project.Groups = append(form.Project.Groups, idForm{group})
	}
	for _, agent := range found.Agents {
		form.AllowedAgents = append(form.AllowedAgents, agentForm{ID: agent.ID, ConfigProject: identify(agent.Project)})
	}
	return form, nil
}
