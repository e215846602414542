package variable

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/secretbox"
)

// Endpoints are the routes of this room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return append(s.ownerEndpoints(),
		on(s, httpapi.Spec{
			Route:   "GET /admin/ci/variables",
			Summary: "List the CI/CD variables of the instance.",
		}, s.handleList),
		on(s, httpapi.Spec{
			Route:   "POST /admin/ci/variables",
			Status:  http.StatusCreated,
			Summary: "Create a CI/CD variable of the instance.",
		}, s.handleCreate),
		on(s, httpapi.Spec{
			Route:   "GET /admin/ci/variables/{key}",
			Summary: "Show a CI/CD variable of the instance.",
		}, s.handleShow),
		on(s, httpapi.Spec{
			Route:   "PUT /admin/ci/variables/{key}",
			Summary: "Update a CI/CD variable of the instance.",
		}, s.handleUpdate),
		on(s, httpapi.Spec{
			Route:   "DELETE /admin/ci/variables/{key}",
			Summary: "Delete a CI/CD variable of the instance.",
		}, s.handleDelete),
	)
}

// on declares an endpoint for administrators that only a self-managed instance
// has.
func on[P, R any](s *Service, spec httpapi.Spec, handle func(context.Context, httpapi.Call[httpapi.None, P]) (R, error)) httpapi.Endpoint {
	spec.Needs = access.Administer
	return httpapi.On(spec, func(context.Context, access.Actor, P) (none httpapi.None, err error) {
		if s.deps.Settings.Instance().Hosted {
			err = fault.New(fault.NotFound)
		}
		return none, err
	}, handle)
}

type instanceForm struct {
	Type        Type    `json:"variable_type"`
	Key         string  `json:"key"`
	Value       string  `json:"value"`
	Protected   bool    `json:"protected"`
	Masked      bool    `json:"masked"`
	Raw         bool    `json:"raw"`
	Description *string `json:"description"`
}

func present(v *Variable) instanceForm {
	return instanceForm{
		Type: v.Type, Key: v.Key, Value: v.Value.Reveal(),
		Protected: v.Protected, Masked: v.Masked, Raw: v.Raw, Description: v.Description,
	}
}

type listParams struct{ httpapi.Paging }

func (s *Service) handleList(ctx context.Context, call httpapi.Call[httpapi.None, listParams]) (httpapi.List[instanceForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[instanceForm]{}, err
	}
	page, err := s.List(ctx, req)
	if err != nil {
		return httpapi.List[instanceForm]{}, err
	}
	return httpapi.ListOf(req, page, present), nil
}

type ref struct {
	Key string `param:"key" doc:"Key of the variable, in its exact case"`
}

func (s *Service) handleShow(ctx context.Context, call httpapi.Call[httpapi.None, ref]) (instanceForm, error) {
	v, err := s.Find(ctx, call.Params.Key)
	if err != nil {
		return instanceForm{}, err
	}
	return present(v), nil
}

// attributes are what creating and updating have in common.
type attributes struct {
	Value       secretbox.Secret    `param:"value" required:"true" doc:"Value of the variable, 10,000 characters at the most"`
	Type        httpapi.Opt[Type]   `param:"variable_type" enum:"env_var,file" doc:"How a job sees it: env_var (default) or file"`
	Protected   httpapi.Opt[bool]   `param:"protected" doc:"Give it to jobs of protected branches and tags only"`
	Masked      httpapi.Opt[bool]   `param:"masked" doc:"Hide its value in job logs"`
	Raw         httpapi.Opt[bool]   `param:"raw" doc:"Do not expand references to other variables in it"`
	Description httpapi.Opt[string] `param:"description" doc:"What it is for, 255 characters at the most"`
}

func (a attributes) apply(v *Variable) {
	v.Value = a.Value
	v.Type = a.Type.Or(v.Type)
	v.Protected = a.Protected.Or(v.Protected)
	v.Masked = a.Masked.Or(v.Masked)
	v.Raw = a.Raw.Or(v.Raw)
	if a.Description.Given {
		v.Description = a.Description.Ptr()
	}
}

type createParams struct {
	Key string `param:"key" required:"true" doc:"Key of the variable: letters, digits and _, 255 characters at the most"`
	attributes
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[httpapi.None, createParams]) (instanceForm, error) {
	v := &Variable{Key: call.Params.Key, Type: EnvVar}
	call.Params.apply(v)
	if err := s.Create(ctx, call.Actor, v); err != nil {
		return instanceForm{}, err
	}
	return present(v), nil
}

// updateParams take the key from the path: a key in the body is ignored, as a
// variable cannot be renamed.
type updateParams struct {
	ref
	attributes
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[httpapi.None, updateParams]) (instanceForm, error) {
	v, err := s.Update(ctx, call.Actor, call.Params.Key, call.Params.apply)
	if err != nil {
		return instanceForm{}, err
	}
	return present(v), nil
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[httpapi.None, ref]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Params.Key)
}
