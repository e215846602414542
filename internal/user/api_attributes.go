package user

import (
	"stithy/internal/kit/access"
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
	set := httpapi.Spec{Route: "/users/{id:digits}", Scopes: readUser, Needs: access.Administer, AfterParams: true}
	plain := httpapi.Spec{Needs: access.Administer}
	return attribute.Endpoints(s.attributes, set, "user", load[Ref](s, plain), load[attributeRef](s, plain), load[attributeValue](s, set))
}
