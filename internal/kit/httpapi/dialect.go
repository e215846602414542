package httpapi

import "context"

// Dialect is how one protocol is spoken over HTTP: all in which its endpoints differ from those of another. An endpoint that
// is not In a dialect is one of v4. What all share is not in it: declaration, routes, the order of checks, documents.
type Dialect struct {
	Name  string // what documents call it
	Base  string // where its paths begin, below the address of the instance
	Media string // of what it takes and answers, for documents; JSON and forms when empty
	Error any    // the form of its errors, for documents

	// Path is what is matched with the routes.
	Path func(x *Request) string
	// Begin comes before the endpoint: headers that every answer carries, other origins, throttles, what is answered where
	// no endpoint is declared. When it goes on, there is one.
	Begin func(ctx context.Context, x *Request) (answered bool, err error)
	// Authenticate finds the actor, where this is not for the handlers to do.
	Authenticate func(ctx context.Context, x *Request) error
	// Bind fills the params, a pointer, with all that is not in the path.
	Bind func(x *Request, params any) error
	// Write presents what a handler returned.
	Write func(ctx context.Context, x *Request, reply any) error
	// Fail answers with an error, and returns it if the client may not see all of it.
	Fail func(x *Request, err error) (hidden error)
}

// In are endpoints of a dialect.
func (d *Dialect) In(endpoints ...Endpoint) []Endpoint {
	for i := range endpoints {
		endpoints[i].dialect = d
	}
	return endpoints
}

// V4 reports whether the endpoint is one of the API proper.
func (e Endpoint) V4() bool { return e.dialect == nil }

// BaseV4 is where the paths of v4 begin.
const BaseV4 = "/api/v4"

// Base is where the path begins, below the address of the instance.
func (e Endpoint) Base() string {
	if e.dialect == nil {
		return BaseV4
	}
	return e.dialect.Base
}

// Shown is the path as documents, logs and metrics show it: for v4, as most are, without its base.
func (e Endpoint) Shown() string {
	if e.dialect == nil {
		return e.Path
	}
	return e.dialect.Base + e.Path
}
