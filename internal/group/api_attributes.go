package group

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

func (s *Service) attributeEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		On(s, httpapi.Spec{
			Route: "GET /groups/{id}/custom_attributes", Needs: access.Administer, Summary: "List the custom attributes of a group.",
		}, s.handleAttributes),
		httpapi.On(httpapi.Spec{
			Route: "GET /groups/{id}/custom_attributes/{key}", Needs: access.Administer, Summary: "Get a custom attribute of a group.",
		}, s.loadAttribute, handleAttribute),
		On(s, httpapi.Spec{
			Route: "PUT /groups/{id}/custom_attributes/{key}", Needs: access.Administer, Summary: "Set a custom attribute of a group.",
		}, s.handleSetAttribute),
		httpapi.On(httpapi.Spec{
			Route: "DELETE /groups/{id}/custom_attributes/{key}", Needs: access.Administer,
			Summary: "Remove a custom attribute from a group.",
		}, s.loadAttribute, s.handleRemoveAttribute),
	}
}

type attribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
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
	g, err := s.FindByRef(ctx, a, p.ID)
	if err != nil {
		return CustomAttribute{}, err
	}
	return s.FindCustomAttribute(ctx, g.ID, p.Key)
}

// attributesOf are the attributes of some groups, by group.
func (s *Service) attributesOf(ctx context.Context, ids ...int64) (map[int64][]attribute, error) {
	all, err := s.CustomAttributes(ctx, ids...)
	noted := map[int64][]attribute{}
	for _, a := range all {
		noted[a.NamespaceID] = append(noted[a.NamespaceID], attribute{a.Key, a.Value})
	}
	return noted, err
}

func (s *Service) handleAttributes(ctx context.Context, call httpapi.Call[*Group, Ref]) ([]attribute, error) {
	noted, err := s.attributesOf(ctx, call.Subject.ID)
	return append([]attribute{}, noted[call.Subject.ID]...), err
}

func handleAttribute(_ context.Context, call httpapi.Call[CustomAttribute, attributeRef]) (attribute, error) {
	return attribute{call.Subject.Key, call.Subject.Value}, nil
}

func (s *Service) handleSetAttribute(ctx context.Context, call httpapi.Call[*Group, setAttributeParams]) (attribute, error) {
	p := call.Params
	err := s.SetCustomAttribute(ctx, call.Actor, call.Subject.ID, p.Key, p.Value)
	return attribute{p.Key, p.Value}, err
}

func (s *Service) handleRemoveAttribute(ctx context.Context, call httpapi.Call[CustomAttribute, attributeRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.RemoveCustomAttribute(ctx, call.Actor, call.Subject)
}
