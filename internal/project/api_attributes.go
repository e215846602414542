package project

import (
	"stithy/internal/kit/attribute"
	"stithy/internal/kit/httpapi"
)

type attributeRef struct {
	Ref
	attribute.KeyParam
}

type attributeValue struct {
	attributeRef
	attribute.ValueParam
}

func (s *Service) attributeEndpoints() []httpapi.Endpoint {
	return attribute.Endpoints(s.attributes, httpapi.Spec{Route: "/projects/{id}"}, "project",
		load[Ref](s), load[attributeRef](s), load[attributeValue](s))
}
