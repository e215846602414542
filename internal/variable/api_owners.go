package variable

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
	"stithy/internal/platform/secretbox"
)

var toManage = owner.Needs{Group: access.AdminGroupVariables, Project: access.AdminProjectVariables}

// ownerEndpoints are the routes of variables of groups and projects.
func (s *Service) ownerEndpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		owner.On(in, httpapi.Spec{Route: "GET /variables", Summary: "List the CI/CD variables of a {owner}."}, toManage, s.handleListIn),
		owner.On(in, httpapi.Spec{
			Route: "POST /variables", Status: http.StatusCreated, Summary: "Create a CI/CD variable of a {owner}.",
		}, toManage, s.handleCreateIn),
		owner.On(in, httpapi.Spec{Route: "GET /variables/{key}", Summary: "Show a CI/CD variable of a {owner}."}, toManage, s.handleShowIn),
		owner.On(in, httpapi.Spec{Route: "PUT /variables/{key}", Summary: "Update a CI/CD variable of a {owner}."}, toManage, s.handleUpdateIn),
		owner.On(in, httpapi.Spec{Route: "DELETE /variables/{key}", Summary: "Delete a CI/CD variable of a {owner}."}, toManage, s.handleDeleteIn),
	)
}

// ownedForm is a variable of a group or project on the wire. A hidden value is
// null.
type ownedForm struct {
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

func presentIn(v *Variable) ownedForm {
	p := ownedForm{
		Type: v.Type, Key: v.Key, Hidden: v.Hidden, Protected: v.Protected, Masked: v.Masked, Raw: v.Raw, Scope: v.Scope, Description: v.Description,
	}
	if !v.Hidden {
		value := v.Value.Reveal()
		p.Value = &value
	}
	return p
}

type ownedListParams struct {
	owner.Ref
	httpapi.Paging
}

func (s *Service) handleListIn(ctx context.Context, call httpapi.Call[*owner.Owner, ownedListParams]) (httpapi.List[ownedForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[ownedForm]{}, err
	}
	page, err := s.ListIn(ctx, call.Subject.Entity, req)
	if err != nil {
		return httpapi.List[ownedForm]{}, err
	}
	return httpapi.ListOf(req, page, presentIn), nil
}

// scopeFilter picks one of several variables with one key.
type scopeFilter struct {
	Scope httpapi.Opt[string] `param:"environment_scope" doc:"Scope of the variable"`
}

type keyRef struct {
	owner.Ref
	Key    string      `param:"key" doc:"Key of the variable, in its exact case"`
	Filter scopeFilter `param:"filter" doc:"environment_scope of the variable that is meant, where several have its key"`
}

func (s *Service) handleShowIn(ctx context.Context, call httpapi.Call[*owner.Owner, keyRef]) (ownedForm, error) {
	v, err := s.FindIn(ctx, call.Subject.Entity, call.Params.Key, call.Params.Filter.Scope.Ptr())
	if err != nil {
		return ownedForm{}, err
	}
	return presentIn(v), nil
}

// ownedAttributes are what creating and updating have in common.
type ownedAttributes struct {
	Type        httpapi.Opt[Type]   `param:"variable_type" enum:"env_var,file" doc:"How a job sees it: env_var (default) or file"`
	Protected   httpapi.Opt[bool]   `param:"protected" doc:"Give it to jobs of protected branches and tags only"`
	Masked      httpapi.Opt[bool]   `param:"masked" doc:"Hide its value in job logs"`
	Raw         httpapi.Opt[bool]   `param:"raw" doc:"Do not expand references to other variables in it"`
	Scope       httpapi.Opt[string] `param:"environment_scope" doc:"Environments that it is for; * stands for any text"`
	Description httpapi.Opt[string] `param:"description" doc:"What it is for, 255 characters at the most"`
}

func (a ownedAttributes) apply(v *Variable) {
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
	owner.Ref
	Key    string            `param:"key" required:"true" doc:"Key of the variable: letters, digits and _, 255 characters at the most"`
	Value  secretbox.Secret  `param:"value" required:"true" bytes:"1048576" doc:"Value of the variable"`
	Hidden httpapi.Opt[bool] `param:"masked_and_hidden" doc:"Hide its value in job logs, and never show it again"`
	ownedAttributes
}

func (s *Service) handleCreateIn(ctx context.Context, call httpapi.Call[*owner.Owner, createInParams]) (ownedForm, error) {
	p := call.Params
	v := &Variable{Key: p.Key, Value: p.Value, Type: EnvVar, Scope: everywhere}
	p.apply(v)
	if p.Hidden.Or(false) {
		v.Masked, v.Hidden = true, true
	}
	if err := s.CreateIn(ctx, call.Actor, call.Subject.Entity, v); err != nil {
		return ownedForm{}, err
	}
	return presentIn(v), nil
}

// updateInParams take the key from the path: a key in the body is ignored, as
// a variable cannot be renamed.
type updateInParams struct {
	keyRef
	Value httpapi.Opt[secretbox.Secret] `param:"value" bytes:"1048576" doc:"Value of the variable"`
	ownedAttributes
}

func (s *Service) handleUpdateIn(ctx context.Context, call httpapi.Call[*owner.Owner, updateInParams]) (ownedForm, error) {
	p := call.Params
	v, err := s.FindIn(ctx, call.Subject.Entity, p.Key, p.Filter.Scope.Ptr())
	if err != nil {
		return ownedForm{}, err
	}
	v, err = s.UpdateIn(ctx, call.Actor, call.Subject.Entity, v.ID, func(v *Variable) {
		p.apply(v)
		v.Value = p.Value.Or(v.Value)
	})
	if err != nil {
		return ownedForm{}, err
	}
	return presentIn(v), nil
}

func (s *Service) handleDeleteIn(ctx context.Context, call httpapi.Call[*owner.Owner, keyRef]) (httpapi.NoContent, error) {
	v, err := s.FindIn(ctx, call.Subject.Entity, call.Params.Key, call.Params.Filter.Scope.Ptr())
	if err != nil {
		return httpapi.NoContent{}, err
	}
	return httpapi.NoContent{}, s.DeleteIn(ctx, call.Actor, call.Subject.Entity, v)
}
