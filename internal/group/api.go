package group

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

// Ref is the {id} that every group route carries. Embed it in params.
type Ref struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the group"`
}

func (r Ref) group() string { return r.ID }

// On declares an endpoint below /groups/{id} whose handler gets the group as
// the actor stands in it.
func On[P interface{ group() string }, R any](
	s *Service, spec httpapi.Spec, handle func(context.Context, httpapi.Call[*Group, P]) (R, error),
) httpapi.Endpoint {
	return httpapi.On(spec, load[P](s), handle)
}

func load[P interface{ group() string }](s *Service) func(context.Context, access.Actor, P) (*Group, error) {
	return func(ctx context.Context, a access.Actor, in P) (*Group, error) {
		return s.FindByRef(ctx, a, in.group())
	}
}
