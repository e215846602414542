package attribute

import (
	"context"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
)

// Form is an attribute on the wire.
type Form struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Forms presents attributes; none are an empty list.
func Forms(all []Attribute) []Form {
	forms := make([]Form, len(all))
	for i, a := range all {
		forms[i] = Form{Key: a.Key, Value: a.Value}
	}
	return forms
}

// KeyParam is the {key} of a route. Embed it in params beside the reference to the thing.
type KeyParam struct {
	Key string `param:"key" doc:"Key of the custom attribute"`
}

func (p KeyParam) key() string { return p.Key }

// ValueParam is what an attribute is set to. Embed it in params.
type ValueParam struct {
	Value string `param:"value" required:"true" doc:"Value of the custom attribute"`
}

func (p ValueParam) value() string { return p.Value } //nolint:unused // the constraint of Endpoints asks for it

// Loader finds the thing that params refer to.
type Loader[P, T any] func(context.Context, access.Actor, P) (T, error)

// Endpoints declares the four routes below a thing, whose kind is noun. Route, Scopes and AfterParams come from below; AfterParams is for
// the route that sets one. Each route has params of its own, and so a loader.
func Endpoints[T any, P any, K interface{ key() string }, V interface {
	key() string
	value() string
}](
	s *Store[T], below httpapi.Spec, noun string, load Loader[P, T], loadKey Loader[K, T], loadValue Loader[V, T],
) []httpapi.Endpoint {
	spec := func(method, rest, summary string) httpapi.Spec {
		return httpapi.Spec{
			Route: method + " " + below.Route + "/custom_attributes" + rest, Needs: access.Administer, Scopes: below.Scopes,
			Summary: summary + " a " + noun + ".",
		}
	}
	set := spec("PUT", "/{key}", "Set a custom attribute of")
	set.AfterParams = below.AfterParams
	find := func(ctx context.Context, a access.Actor, in K) (Attribute, error) {
		thing, err := loadKey(ctx, a, in)
		if err != nil {
			return Attribute{}, err
		}
		return s.Find(ctx, s.ID(thing), in.key())
	}
	return []httpapi.Endpoint{
		httpapi.On(spec("GET", "", "List the custom attributes of"), load, func(ctx context.Context, call httpapi.Call[T, P]) ([]Form, error) {
			id := s.ID(call.Subject)
			all, err := s.Among(ctx, id)
			return Forms(all[id]), err
		}),
		httpapi.On(spec("GET", "/{key}", "Get a custom attribute of"), find, func(_ context.Context, call httpapi.Call[Attribute, K]) (Form, error) {
			return Form{Key: call.Subject.Key, Value: call.Subject.Value}, nil
		}),
		httpapi.On(set, loadValue, func(ctx context.Context, call httpapi.Call[T, V]) (Form, error) {
			key, value := call.Params.key(), call.Params.value()
			return Form{Key: key, Value: value}, s.Set(ctx, call.Actor, s.ID(call.Subject), key, value)
		}),
		httpapi.On(spec("DELETE", "/{key}", "Remove a custom attribute from"), find,
			func(ctx context.Context, call httpapi.Call[Attribute, K]) (httpapi.NoContent, error) {
				return httpapi.NoContent{}, s.Remove(ctx, call.Actor, call.Subject)
			}),
	}
}
