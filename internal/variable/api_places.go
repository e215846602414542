package variable

import (
	"context"
	"net/http"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/member"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
)

// PlaceEndpoints are the routes of variables of groups and projects.
func (s *Service) PlaceEndpoints(groups *group.Service, projects *project.Service) []httpapi.Endpoint {
	return append(
		s.placeEndpoints("project", access.AdminProjectVariables, member.InProjects(projects)),
		s.placeEndpoints("group", access.AdminGroupVariables, member.InGroups(groups))...,
	)
}

func (s *Service) placeEndpoints(noun string, needs access.Ability, find member.Finder) []httpapi.Endpoint {
	spec := func(method, below, summary string) httpapi.Spec {
		return httpapi.Spec{
			Route: method + " /" + noun + "s/{id}/variables" + below, Needs: needs, Summary: summary + " of a " + noun + ".",
		}
	}
	create := spec("POST", "", "Create a CI/CD variable")
	create.Status = http.StatusCreated
	return []httpapi.Endpoint{
		httpapi.On(spec("GET", "", "List the CI/CD variables"), load[placeListParams](find), s.handleListIn),
		httpapi.On(create, load[createInParams](find), s.handleCreateIn),
		httpapi.On(spec("GET", "/{key}", "Show a CI/CD variable"), load[keyRef](find), s.handleShowIn),
		httpapi.On(spec("PUT", "/{key}", "Update a CI/CD variable"), load[updateInParams](find), s.handleUpdateIn),
		httpapi.On(spec("DELETE", "/{key}", "Delete a CI/CD variable"), load[keyRef](find), s.handleDeleteIn),
	}
}

type placeRef struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
}

func (r placeRef) place() string { return r.ID }

func load[P interface{ place() string }](find member.Finder) func(context.Context, access.Actor, P) (*member.Source, error) {
	return func(ctx context.Context, a access.Actor, p P) (*member.Source, error) { return find(ctx, a, p.place()) }
}

// placeView is a variable of a group or project on the wire. A hidden value is
// null.
type placeView struct {
	Type        Type    `json:"variable_type"`
	Key         string  `json:"key"`
	Value       *string `json:"value"`
	Hidden      bool    `json:"hidden"`
	Protected   bool    `json:"protected"`
	Masked      bool    `json:"masked"`
	Raw         bool    `json:"raw"`
	Scope       string  `json:"environment_scope"`
	Description *string `json:"description"`
}

func presentIn(v *Variable) placeView {
	p := placeView{
		Type: v.Type, Key: v.Key, Hidden: v.Hidden, Protected: v.Protected, Masked: v.Masked, Raw: v.Raw, Scope: v.Scope, Description: v.Description,
	}
	if !v.Hidden {
		value := v.Value.Reveal()
		p.Value = &value
	}
	return p
}

type placeListParams struct {
	placeRef
	httpapi.Paging
}

func (s *Service) handleListIn(ctx context.Context, call httpapi.Call[*member.Source, placeListParams]) (httpapi.List[placeView], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[placeView]{}, err
	}
	page, err := s.ListIn(ctx, call.Subject.Entity, req)
	if err != nil {
		return httpapi.List[placeView]{}, err
	}
	return httpapi.ListOf(req, page, presentIn), nil
}

// scopeFilter picks one of several variables with one key.
type scopeFilter struct {
	Scope httpapi.Opt[string] `param:"environment_scope" doc:"Scope of the variable"`
}

type keyRef struct {
	placeRef
	Key    string      `param:"key" doc:"Key of the variable, in its exact case"`
	Filter scopeFilter `param:"filter" doc:"environment_scope of the variable that is meant, where several have its key"`
}

func (s *Service) handleShowIn(ctx context.Context, call httpapi.Call[*member.Source, keyRef]) (placeView, error) {
	v, err := s.FindIn(ctx, call.Subject.Entity, call.Params.Key, call.Params.Filter.Scope.Ptr())
	if err != nil {
		return placeView{}, err
	}
	return presentIn(v), nil
}

// placeAttributes are what creating and updating have in common.
type placeAttributes struct {
	Type        httpapi.Opt[Type]   `param:"variable_type" enum:"env_var,file" doc:"How a job sees it: env_var (default) or file"`
	Protected   httpapi.Opt[bool]   `param:"protected" doc:"Give it to jobs of protected branches and tags only"`
	Masked      httpapi.Opt[bool]   `param:"masked" doc:"Hide its value in job logs"`
	Raw         httpapi.Opt[bool]   `param:"raw" doc:"Do not expand references to other variables in it"`
	Scope       httpapi.Opt[string] `param:"environment_scope" doc:"Environments that it is for; * stands for any text"`
	Description httpapi.Opt[string] `param:"description" doc:"What it is for, 255 characters at the most"`
}

func (a placeAttributes) apply(v *Variable) {
	v.Type = a.Type.Or(v.Type)
	v.Protected = a.Protected.Or(v.Protected)
	v.Masked = a.Masked.Or(v.Masked)
	v.Raw = a.Raw.Or(v.Raw)
	v.Scope = a.Scope.Or(v.Scope)
	if a.Description.Given {
		v.Description = a.Description.Ptr()
	}
}

type createInParams struct {
	placeRef
	Key    string            `param:"key" required:"true" doc:"Key of the variable: letters, digits and _, 255 characters at the most"`
	Value  secretbox.Secret  `param:"value" required:"true" bytes:"1048576" doc:"Value of the variable"`
	Hidden httpapi.Opt[bool] `param:"masked_and_hidden" doc:"Hide its value in job logs, and never show it again"`
	placeAttributes
}

func (s *Service) handleCreateIn(ctx context.Context, call httpapi.Call[*member.Source, createInParams]) (placeView, error) {
	p := call.Params
	v := &Variable{Key: p.Key, Value: p.Value, Type: EnvVar, Scope: everywhere}
	p.apply(v)
	if p.Hidden.Or(false) {
		v.Masked, v.Hidden = true, true
	}
	if err := s.CreateIn(ctx, call.Actor, call.Subject.Entity, v); err != nil {
		return placeView{}, err
	}
	return presentIn(v), nil
}

// updateInParams take the key from the path: a key in the body is ignored, as
// a variable cannot be renamed.
type updateInParams struct {
	keyRef
	Value httpapi.Opt[secretbox.Secret] `param:"value" bytes:"1048576" doc:"Value of the variable"`
	placeAttributes
}

func (s *Service) handleUpdateIn(ctx context.Context, call httpapi.Call[*member.Source, updateInParams]) (placeView, error) {
	p := call.Params
	v, err := s.FindIn(ctx, call.Subject.Entity, p.Key, p.Filter.Scope.Ptr())
	if err != nil {
		return placeView{}, err
	}
	v, err = s.UpdateIn(ctx, call.Actor, call.Subject.Entity, v.ID, func(v *Variable) {
		p.apply(v)
		v.Value = p.Value.Or(v.Value)
	})
	if err != nil {
		return placeView{}, err
	}
	return presentIn(v), nil
}

func (s *Service) handleDeleteIn(ctx context.Context, call httpapi.Call[*member.Source, keyRef]) (httpapi.NoContent, error) {
	v, err := s.FindIn(ctx, call.Subject.Entity, call.Params.Key, call.Params.Filter.Scope.Ptr())
	if err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, s.DeleteIn(ctx, call.Actor, call.Subject.Entity, v)
}
