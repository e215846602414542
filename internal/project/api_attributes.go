package project

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

func (s *Service) attributeEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		On(s, httpapi.Spec{
			Route: "GET /projects/{id}/custom_attributes", Needs: access.Administer, Summary: "List the custom attributes of a project.",
		}, s.handleAttributes),
		httpapi.On(httpapi.Spec{
			Route: "GET /projects/{id}/custom_attributes/{key}", Needs: access.Administer, Summary: "Get a custom attribute of a project.",
		}, s.loadAttribute, handleAttribute),
		On(s, httpapi.Spec{
			Route: "PUT /projects/{id}/custom_attributes/{key}", Needs: access.Administer, Summary: "Set a custom attribute of a project.",
		}, s.handleSetAttribute),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /projects/{id}/custom_attributes/{key}", Needs: access.Administer, Summary: "Remove a custom attribute from a project.",
		}, s.loadAttribute, s.handleRemoveAttribute),
	}
}

type attributeRef struct {
	Ref
	Key string `param:"key" doc:"Key of the custom attribute"`
}

type setAttributeParams struct {
	attributeRef
	Value string `param:"value" required:"true" doc:"Value of the custom attribute"`
}

func (s *Service) loadAttribute(ctx context.Context, a access.Actor, p attributeRef) (CustomAttribute, error) {
	project, err := s.load(ctx, a, p.ID)
	if err != nil {
		return CustomAttribute{}, err
	}
	return s.FindCustomAttribute(ctx, project.ID, p.Key)
}

func (s *Service) handleAttributes(ctx context.Context, call httpapi.Call[*Project, Ref]) ([]attribute, error) {
	all, err := s.CustomAttributes(ctx, call.Subject.ID)
	forms := make([]attribute, len(all))
	for i, a := range all {
		forms[i] = attribute{Key: a.Key, Value: a.Value}
	}
	return forms, err
}

func handleAttribute(_ context.Context, call httpapi.Call[CustomAttribute, attributeRef]) (attribute, error) {
	return attribute{Key: call.Subject.Key, Value: call.Subject.Value}, nil
}

func (s *Service) handleSetAttribute(ctx context.Context, call httpapi.Call[*Project, setAttributeParams]) (attribute, error) {
	p := call.Params
	err := s.SetCustomAttribute(ctx, call.Actor, call.Subject.ID, p.Key, p.Value)
	return attribute{Key: p.Key, Value: p.Value}, err
}

func (s *Service) handleRemoveAttribute(ctx context.Context, call httpapi.Call[CustomAttribute, attributeRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveCustomAttribute(ctx, call.Actor, call.Subject)
}
