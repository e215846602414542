// Package httpapi turns typed handlers into documented, authorized endpoints.
//
// A room declares an endpoint once, as a Spec joined to a handler. The routes,
// the OpenAPI document, the permission matrix, rate limits and metric labels
// all follow from that declaration. The package absorbs what every v4 endpoint
// has in common: where parameters come from, the order of checks, paging, the
// shape of errors. It does not know any room.
package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
)

// Spec declares an endpoint.
type Spec struct {
	Route   string         // "POST /users/{id:digits}/block"; a suffix is "archive.{format}", all that is left "{path:rest}"
	Summary string         // one sentence, imperative
	Needs   access.Ability // required; an open endpoint says access.Anyone
	Status  int            // on success; 200 when zero

	// AfterParams checks Needs after the parameters, for the areas where
	// clients rely on that order. Anonymous callers are always refused first.
	AfterParams bool

	Scopes        []access.Scope // accepted beside api and read_api
	AnyScope      bool           // any token will do
	JobToken      bool           // the token of a running CI job will do
	Account       bool           // the handler shows the actor's whole account
	ExtraRefusals string         // whom the handler refuses beyond the ability, or how, for readers
	Limit         string         // name of the limit on this endpoint, if it has one
	LimitOf       string         // what is limited, by its noun, for each subject apart; without it the endpoint
	NoEmbed       bool           // pages of others may not embed it
	MaxBody       int64          // larger than usual bodies
	Streams       bool           // the handler reads the body itself; parameters come from path and query
	Scripts       bool           // scripts of other origins may call it, in a dialect where not all may
	Credentials   []string       // what callers show instead of the usual tokens, as documents name it: basic, bearer
	Note          string         // a deprecation or a warning for readers
}

// None is the subject of endpoints that have no parent.
type None struct{}

// Call is what a handler may rely on: the parameters are bound and valid, the
// subject is loaded, and the actor holds the ability that the Spec asked for.
type Call[Subject, Params any] struct {
	Actor   access.Actor
	Subject Subject
	Params  Params
	Via     Via
}

// Via is the request that a call came by. What a handler may ask of it is in the methods of Call.
type Via struct{ x *Request }

// Endpoint is a Spec joined to its handler, with the types erased.
type Endpoint struct {
	Spec
	Method string
	Path   string  // "/users/{id}"
	Params []Param // in the order of declaration
	Reply  reflect.Type

	pattern string   // the path as the router takes it
	names   []string // of the path's parameters
	dialect *Dialect // nil is v4
	inOwner bool     // the ability is about a group or project, the subject
	binder  binder
	run     func(ctx context.Context, x *Request) (any, error)
}

// On joins a declaration to its handler. load finds the subject from the
// path's parameters, before any other is looked at, and answers NotFound for
// what the actor may not see. Rooms wrap On once to supply it.
func On[S, P, R any](
	spec Spec,
	load func(context.Context, access.Actor, P) (S, error),
	handle func(context.Context, Call[S, P]) (R, error),
) Endpoint {
	return newEndpoint(spec, handler{load: reflect.ValueOf(load), handle: reflect.ValueOf(handle)})
}

// Below is On for an endpoint that stands below parents of several kinds: load finds the parent that Ref names in the path, and handle, which is
// the same for all of them, gets the other parameters.
func Below[Ref, S, P, R any](
	spec Spec, load func(context.Context, access.Actor, Ref) (S, error), handle func(context.Context, Call[S, P]) (R, error),
) Endpoint {
	return newEndpoint(spec, handler{load: reflect.ValueOf(load), handle: reflect.ValueOf(handle), joined: reflect.TypeFor[joined[Ref, P]]()})
}

// handler is the functions of an endpoint, whose types On and Below checked. They are called by reflection: a generic function is compiled again for each
// of some hundred endpoints, and this is not.
type handler struct {
	load   reflect.Value // func(context.Context, access.Actor, Params) (Subject, error); none for an endpoint without a parent
	handle reflect.Value // func(context.Context, Call[Subject, Params]) (Reply, error)
	joined reflect.Type  // the params of load and those of handle, where they differ
}

// The fields of a Call.
const (
	callActor = iota
	callSubject
	callParams
	callVia
)

func (h handler) call() reflect.Type    { return h.handle.Type().In(1) }
func (h handler) subject() reflect.Type { return h.call().Field(callSubject).Type }
func (h handler) reply() reflect.Type   { return h.handle.Type().Out(0) }

func (h handler) params() reflect.Type {
	if h.joined != nil {
		return h.joined
	}
	return h.call().Field(callParams).Type
}

func (h handler) run(ctx context.Context, x *Request) (any, error) {
	call := reflect.New(h.call()).Elem()
	call.Field(callActor).Set(reflect.ValueOf(x.Actor))
	call.Field(callVia).Set(reflect.ValueOf(Via{x}))
	params := call.Field(callParams)
	if h.joined != nil {
		params = reflect.New(h.joined).Elem()
	}
	err := x.prepare(ctx, params, func() (any, error) {
		if !h.load.IsValid() {
			return None{}, nil
		}
		ref := params
		if h.joined != nil {
			ref = params.Field(joinedRef)
		}
		found := h.load.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(x.Actor), ref})
		call.Field(callSubject).Set(found[0])
		return result(found)
	})
	if err != nil {
		return nil, err
	}
	if h.joined != nil {
		call.Field(callParams).Set(params.Field(joinedRest))
	}
	return result(h.handle.Call([]reflect.Value{reflect.ValueOf(ctx), call}))
}

// result is what a function returned: something, and an error.
func result(out []reflect.Value) (any, error) {
	err, _ := out[1].Interface().(error)
	return out[0].Interface(), err
}

// prepare does everything that comes before the handler, in the order of failures that clients see: it fills params, loads the subject and checks the
// actor against both.
func (x *Request) prepare(ctx context.Context, params reflect.Value, load func() (any, error)) error {
	e := x.Endpoint
	early := !e.AfterParams
	if early && !e.inOwner {
		if err := access.Check(x.Actor, e.Needs); err != nil {
			return err
		}
	}
	if err := e.binder.bindPath(params, x.path); err != nil {
		return err
	}
	subject, err := load()
	if err != nil {
		return err
	}
	if early && e.inOwner {
		if err := checkIn(x.Actor, e.Needs, subject); err != nil {
			return err
		}
	}
	if err := x.limit(ctx, e.Spec, subject); err != nil {
		return err
	}
	if e.NoEmbed && x.embedded() {
		return fault.New(fault.NotAcceptable)
	}
	if err := x.s.dialect.Bind(x, params.Addr().Interface()); err != nil {
		return err
	}
	if !early {
		if err := e.check(x.Actor, subject); err != nil {
			return err
		}
	}
	return x.unmodified(subject)
}

// InOwner is a subject in which an actor has a role.
type InOwner interface{ Target() access.Target }

// Admitted is a subject that a door has let the actor reach, and knows which abilities that gave.
type Admitted interface {
	Check(can access.Ability) error
}

func (e Endpoint) check(a access.Actor, subject any) error {
	if e.inOwner {
		return checkIn(a, e.Needs, subject)
	}
	return access.Check(a, e.Needs)
}

func checkIn(a access.Actor, can access.Ability, subject any) error {
	if admitted, ok := subject.(Admitted); ok {
		return admitted.Check(can)
	}
	return access.CheckIn(a, can, subject.(InOwner).Target())
}

// Do joins a declaration without a parent to its handler.
func Do[P, R any](spec Spec, handle func(context.Context, Call[None, P]) (R, error)) Endpoint {
	return newEndpoint(spec, handler{handle: reflect.ValueOf(handle)})
}

// newEndpoint reads the route. It panics on a declaration that could not be
// served, which a test of any kind then shows.
func newEndpoint(spec Spec, h handler) Endpoint {
	method, path, ok := strings.Cut(spec.Route, " ")
	if !ok || !strings.HasPrefix(path, "/") {
		panic("httpapi: not a route: " + spec.Route)
	}
	rule, known := access.RuleOf(spec.Needs)
	if !known {
		panic(fmt.Sprintf("httpapi: %s needs an unknown ability %q", spec.Route, spec.Needs))
	}
	if spec.Status == 0 {
		spec.Status = http.StatusOK
	}
	e := Endpoint{Spec: spec, Method: method, Reply: h.reply(), inOwner: rule.Level != access.OnInstance, run: h.run}
	if forms := formsOf(h.reply()); len(forms) == 1 {
		e.Reply = forms[0]
	}
	for _, form := range e.forms() {
		if form.Kind() == reflect.Interface {
			panic("httpapi: " + spec.Route + " answers with an interface, which says nothing of its form")
		}
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		shown, pattern := segment, segment
		if before, name, isParam := strings.Cut(segment, "{"); isParam {
			name, _ = strings.CutSuffix(name, "}")
			name, kind, _ := strings.Cut(name, ":")
			shown, pattern = before+"{"+name+"}", before+"{"+name+"}"
			switch kind {
			case "":
			case "digits":
				pattern = before + "{" + name + ":[0-9]+}"
			case "rest":
				pattern = rest
			default:
				panic("httpapi: unknown kind of segment: " + segment)
			}
			e.names = append(e.names, name)
		}
		e.Path += "/" + shown
		e.pattern += "/" + pattern
	}
	subject := h.subject()
	if e.inOwner && !subject.Implements(reflect.TypeFor[InOwner]()) && !subject.Implements(reflect.TypeFor[Admitted]()) {
		panic("httpapi: " + spec.Route + " needs " + string(spec.Needs) + " in a subject that is no group or project")
	}
	e.binder = binderOf(h.params(), e.names)
	e.Params = e.binder.params()
	return e
}
