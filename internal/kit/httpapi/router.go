package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
)

// rest is the last segment of a pattern that takes all that is left of a path,
// its slashes included.
const rest = "*"

// router finds endpoints by method and escaped path. Matching runs on the
// escaped path, so that an encoded slash stays inside its segment, and every
// parameter is unescaped exactly once.
type router struct {
	mux       *chi.Mux
	endpoints map[string]*Endpoint // by method and pattern
	methods   []string             // that any route answers
}

func newRouter(endpoints []Endpoint) *router {
	rt := &router{mux: chi.NewRouter(), endpoints: map[string]*Endpoint{}}
	for i := range endpoints {
		e := &endpoints[i]
		key := e.Method + " " + e.pattern
		if rt.endpoints[key] != nil {
			panic("httpapi: declared twice: " + e.Route)
		}
		rt.endpoints[key] = e
		rt.mux.Method(e.Method, e.pattern, http.NotFoundHandler()) // only matched, never called
		if !slices.Contains(rt.methods, e.Method) {
			rt.methods = append(rt.methods, e.Method)
		}
	}
	slices.Sort(rt.methods)
	return rt
}

// match returns the endpoint and its path parameters.
func (rt *router) match(method, escapedPath string) (e *Endpoint, path map[string]string) {
	e, path = rt.find(method, escapedPath)
	if e == nil && method == http.MethodHead {
		return rt.find(http.MethodGet, escapedPath) // whose body is not sent
	}
	return e, path
}

// here are the endpoints of a path, by the names of their methods.
func (rt *router) here(escapedPath string) (all []*Endpoint) {
	for _, method := range rt.methods {
		if e, _ := rt.find(method, escapedPath); e != nil {
			all = append(all, e)
		}
	}
	return all
}

// tidy takes repeated and trailing slashes as one, as clients that join paths
// carelessly expect. Encoded slashes are none.
func tidy(escapedPath string) string {
	for strings.Contains(escapedPath, "//") {
		escapedPath = strings.ReplaceAll(escapedPath, "//", "/")
	}
	if len(escapedPath) > 1 {
		escapedPath = strings.TrimSuffix(escapedPath, "/")
	}
	return escapedPath
}

func (rt *router) find(method, escapedPath string) (*Endpoint, map[string]string) {
	rctx := chi.NewRouteContext()
	if !rt.mux.Match(rctx, method, escapedPath) {
		return nil, nil
	}
	e := rt.endpoints[method+" "+rctx.RoutePattern()]
	if e == nil || len(e.names) == 0 {
		return e, nil
	}
	path := make(map[string]string, len(e.names))
	for i, name := range e.names {
		raw := rctx.URLParam(name)
		if i == len(e.names)-1 && strings.HasSuffix(e.pattern, "/"+rest) {
			raw = rctx.URLParam(rest)
		}
		value, err := url.PathUnescape(raw)
		if err != nil || value == "" {
			return nil, nil
		}
		path[name] = value
	}
	return e, path
}
