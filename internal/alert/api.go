package alert

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	spec := func(method, below string, needs access.Ability, status int, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/alert_management_integrations" + below, Needs: needs, Status: status, Summary: summary}
	}
	const one, admin = "/{integration_id:digits}", access.AdminAlertIntegrations
	in := s.deps.Projects
	test := spec("POST", one+"/test", access.UpdateAlerts, 0, "Send a test alert through an integration.")
	test.Streams = true
	return slices.Concat([]httpapi.Endpoint{
		project.On(in, spec("GET", "", admin, 0, "List the alert integrations of a project, with their keys."), s.handleList),
		project.On(in, spec("GET", one, admin, 0, "Get an alert integration, with its key."), s.handleGet),
		project.On(in, spec("POST", "", admin, http.StatusCreated, "Create an alert integration."), s.handleCreate),
		project.On(in, spec("PUT", one, admin, 0, "Change an alert integration."), s.handleUpdate),
		project.On(in, spec("POST", one+"/reset_token", admin, 0, "Give an alert integration another key."), s.handleReplaceKey),
		project.On(in, spec("DELETE", one, admin, http.StatusNoContent, "Delete an alert integration."), s.handleDelete),
		project.On(in, test, s.handleTest),
	}, s.alertEndpoints(), s.imageEndpoints(), s.intakeEndpoints())
}

type integrationForm struct {
	ID                      int64               `json:"id"`
	Type                    Kind                `json:"type"`
	Name                    string              `json:"name"`
	Active                  bool                `json:"active"`
	URL                     string              `json:"url"`
	Token                   string              `json:"token"`
	EndpointIdentifier      string              `json:"endpoint_identifier"`
	PayloadExample          *string             `json:"payload_example"`
	PayloadAttributeMapping map[string][]string `json:"payload_attribute_mapping"`
}

func (s *Service) present(p *project.Project, in *Integration, err error) (integrationForm, error) {
	if err != nil {
		return integrationForm{}, err
	}
	key, err := s.Key(in)
	return integrationForm{
		ID: in.ID, Type: in.Kind, Name: in.Name, Active: in.Active, URL: s.URL(p, in), Token: key.Reveal(), EndpointIdentifier: in.Endpoint,
		PayloadExample: in.Example, PayloadAttributeMapping: in.Mapping,
	}, err
}

type listParams struct {
	project.Ref
	httpapi.Paging
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*project.Project, listParams]) (none httpapi.List[integrationForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.Integrations(ctx, call.Subject.ID, req)
	if err != nil {
		return none, err
	}
	list := httpapi.ListOf(req, page, func(in Integration) (form integrationForm) {
		var failed error
		if form, failed = s.present(call.Subject, &in, nil); failed != nil {
			err = failed
		}
		return form
	})
	return list, err
}

type integrationRef struct {
	project.Ref
	IntegrationID int64 `param:"integration_id" doc:"ID of the integration"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*project.Project, integrationRef]) (integrationForm, error) {
	in, err := s.Integration(ctx, call.Subject.ID, call.Params.IntegrationID)
	return s.present(call.Subject, in, err)
}

type createParams struct {
	project.Ref
	Name    string                           `param:"name" required:"true" doc:"What people call it, 255 characters at the most"`
	Type    string                           `param:"type" required:"true" enum:"http,prometheus" doc:"What it is made for; either kind takes both formats"`
	Active  httpapi.Opt[bool]                `param:"active" blank:"refuse" doc:"Whether it takes alerts; true if it is not given"`
	Mapping httpapi.Opt[map[string][]string] `param:"payload_attribute_mapping" doc:"Where fields of an alert stand in a payload: for each field a list of member names, from the outside in"`
	Example httpapi.Opt[string]              `param:"payload_example" doc:"A payload that the mapping was made with, as JSON"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*project.Project, createParams]) (integrationForm, error) {
	p := call.Params
	in, err := s.Create(ctx, call.Actor, call.Subject, Integration{
		Kind: Kind(p.Type), Name: p.Name, Active: p.Active.Or(true), Mapping: p.Mapping.Or(nil), Example: p.Example.Ptr(),
	})
	return s.present(call.Subject, in, err)
}

type updateParams struct {
	integrationRef
	Name    httpapi.Opt[string]              `param:"name" doc:"What people call it, 255 characters at the most"`
	Active  httpapi.Opt[bool]                `param:"active" blank:"refuse" doc:"Whether it takes alerts"`
	Mapping httpapi.Opt[map[string][]string] `param:"payload_attribute_mapping" doc:"Where fields of an alert stand in a payload"`
	Example httpapi.Opt[string]              `param:"payload_example" doc:"A payload that the mapping was made with, as JSON"`
}

func (p updateParams) change() (c Change) {
	if p.Name.Given {
		c.Name = &p.Name.Value
	}
	if p.Active.Given {
		c.Active = &p.Active.Value
	}
	if p.Mapping.Given {
		c.Mapping = new(Mapping(p.Mapping.Or(nil)))
	}
	if p.Example.Given {
		c.Example = new(p.Example.Ptr())
	}
	return c
}

func (s *Service) handleUpdate(ctx context.Context, call httpapi.Call[*project.Project, updateParams]) (integrationForm, error) {
	in, err := s.Update(ctx, call.Actor, call.Subject, call.Params.IntegrationID, call.Params.change())
	return s.present(call.Subject, in, err)
}

func (s *Service) handleReplaceKey(ctx context.Context, call httpapi.Call[*project.Project, integrationRef]) (integrationForm, error) {
	in, err := s.ReplaceKey(ctx, call.Actor, call.Subject, call.Params.IntegrationID)
	return s.present(call.Subject, in, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*project.Project, integrationRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject, call.Params.IntegrationID)
}

// handleTest takes a payload as the integration would, whether it is active or not, for somebody who does not know its key.
func (s *Service) handleTest(ctx context.Context, call httpapi.Call[*project.Project, integrationRef]) ([]Brief, error) {
	in, err := s.Integration(ctx, call.Subject.ID, call.Params.IntegrationID)
	if err != nil {
		return nil, err
	}
	return s.takeFrom(ctx, call.Body(maxPayload+1), in)
}

var errTooLarge = fault.WithMessage(fault.BadParams, "the payload is larger than %d bytes", maxPayload)
