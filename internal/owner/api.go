package owner

import (
	"context"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

// Ref is the {id} that every route below an owner carries. Embed it in params.
type Ref struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
}

func (r Ref) owner() string { return r.ID }

// Params are those of a route below an owner: they embed Ref.
type Params interface{ owner() string }

// Needs are the abilities that an endpoint asks for in groups and in projects.
type Needs struct{ Group, Project access.Ability }

// In is the one of them for an owner.
func (n Needs) In(o *Owner) access.Ability {
	if o.Group != nil {
		return n.Group
	}
	return n.Project
}

// Held reports whether an actor may do in an owner what the abilities are for.
func (n Needs) Held(a access.Actor, o *Owner) bool { return access.Holds(a, n.In(o), o.Target()) }

// On declares an endpoint below /groups/{id} and below /projects/{id}. The route of the spec begins there; {owner} in its texts stands
// for the kind.
func On[P Params, R any](
	s *Service, spec httpapi.Spec, n Needs, handle func(context.Context, httpapi.Call[*Owner, P]) (R, error),
) []httpapi.Endpoint {
	return With(s, spec, n, itself[P], handle)
}

// OnGroup declares an endpoint below /groups/{id} alone.
func OnGroup[P Params, R any](
	s *Service, spec httpapi.Spec, needs access.Ability, handle func(context.Context, httpapi.Call[*Owner, P]) (R, error),
) httpapi.Endpoint {
	return declare("group", needs, s.FindGroup, spec, itself[P], handle)
}

// OnProject declares an endpoint below /projects/{id} alone.
func OnProject[P Params, R any](
	s *Service, spec httpapi.Spec, needs access.Ability, handle func(context.Context, httpapi.Call[*Owner, P]) (R, error),
) httpapi.Endpoint {
	return declare("project", needs, s.FindProject, spec, itself[P], handle)
}

func itself[P Params](_ context.Context, _ access.Actor, o *Owner, _ P) (*Owner, error) {
	return o, nil
}

// With is On for a subject that is found in its owner.
func With[S httpapi.InOwner, P Params, R any](
	s *Service, spec httpapi.Spec, n Needs,
	load func(context.Context, access.Actor, *Owner, P) (S, error), handle func(context.Context, httpapi.Call[S, P]) (R, error),
) []httpapi.Endpoint {
	return []httpapi.Endpoint{
		declare("group", n.Group, s.FindGroup, spec, load, handle), declare("project", n.Project, s.FindProject, spec, load, handle),
	}
}

func declare[S httpapi.InOwner, P Params, R any](
	noun string, needs access.Ability, find func(context.Context, access.Actor, string) (*Owner, error), spec httpapi.Spec,
	load func(context.Context, access.Actor, *Owner, P) (S, error), handle func(context.Context, httpapi.Call[S, P]) (R, error),
) httpapi.Endpoint {
	method, path, _ := strings.Cut(spec.Route, " ")
	spec.Route, spec.Needs = method+" /"+noun+"s/{id}"+path, needs
	spec.Summary = strings.ReplaceAll(spec.Summary, "{owner}", noun)
	spec.Note = strings.ReplaceAll(spec.Note, "{owner}", noun)
	return httpapi.On(spec, func(ctx context.Context, a access.Actor, in P) (S, error) {
		o, err := find(ctx, a, in.owner())
		if err != nil {
			var none S
			return none, err
		}
		return load(ctx, a, o, in)
	}, handle)
}
