package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/ratelimit"
)

// Authenticator looks up what a request presents. Both methods answer with
// faults; the account's state has been checked when they succeed.
type Authenticator interface {
	Authenticate(ctx context.Context, p access.Presented) (access.Actor, error)
	Sudo(ctx context.Context, a access.Actor, target string) (access.Actor, error)
}

// Limits are the rates that an administrator set.
type Limits interface {
	Throttle(signedIn bool) (ratelimit.Rule, bool)
	Endpoint(name string, a access.Actor) (ratelimit.Rule, bool)
	ThrottleText() string
	MaxOffset() int // how deep paging by offset goes; 0 has no end
}

// Server serves the endpoints of one dialect. V4 needs every field; another dialect those that its hooks use.
type Server struct {
	Dialect       *Dialect // nil is v4
	ExternalURL   *url.URL
	SessionCookie string
	Endpoints     []Endpoint // those of other dialects are left to their own servers
	Authenticator Authenticator
	Limits        Limits
	Limiter       *ratelimit.Limiter
	Clock         clock.Clock
	Log           *slog.Logger
	ExposeHeaders []string // to scripts of other origins, beside the paging ones

	dialect Dialect
	router  *router
	buffers *buffers
	large   *fairshare.Slots
	bodies  *fairshare.Slots // of requests with large bodies
	expose  string
}

// Handler answers requests with the endpoints of a Server.
type Handler struct{ s *Server }

// Handler serves every endpoint of the dialect. It panics on a declaration
// that cannot be served.
func (s *Server) Handler() *Handler {
	s.dialect = v4()
	if s.Dialect != nil {
		s.dialect = *s.Dialect
	}
	var own []Endpoint
	for _, e := range s.Endpoints {
		if e.dialect == s.Dialect {
			own = append(own, e)
		}
	}
	s.router, s.buffers = newRouter(own), newBuffers()
	s.large, s.bodies = fairshare.New(largeAnswers, largeAnswers), fairshare.New(largeBodies, largeBodies)
	s.expose = strings.Join(append([]string{
		"Link", "X-Total", "X-Total-Pages", "X-Per-Page", "X-Page", "X-Next-Page", "X-Prev-Page",
	}, s.ExposeHeaders...), ", ")
	return &Handler{s}
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &Request{W: w, R: r, s: h.s, about: RecorderOf(r.Context())}
	x.Actor.Address = x.about.Address
	defer x.recover()
	if err := x.serve(r.Context()); err != nil {
		x.fail(err)
	}
}

// Owns reports whether an endpoint is declared for a path, whatever its method.
func (h *Handler) Owns(path string) bool { return len(h.s.router.here(path)) > 0 }

// Needs is the ability that the endpoint of a path asks for; "" where there is none.
func (h *Handler) Needs(method, path string) access.Ability {
	if e, _ := h.s.router.match(method, path); e != nil {
		return e.Needs
	}
	return ""
}

// Request is one on its way through the checks. The order of its steps is the
// order of failures that clients see.
type Request struct {
	W        http.ResponseWriter
	R        *http.Request
	Endpoint *Endpoint      // nil where none is declared for this path and method
	Actor    access.Actor   // the address is known from the start, the rest once the dialect authenticated
	Values   map[string]any // the parameters that were read so far, beside those of the path

	s        *Server
	about    *Recorder
	at       string // the path that is matched
	path     map[string]string
	authErr  error
	resolved bool
	release  func() // gives back the slot of a large body; nil where there is none
}

func (x *Request) serve(ctx context.Context) error {
	defer func() {
		if x.release != nil {
			x.release()
		}
	}()
	d := &x.s.dialect
	x.at = d.Path(x)
	x.Endpoint, x.path = x.s.router.match(x.R.Method, x.at)
	answered, err := d.Begin(ctx, x)
	if answered || err != nil {
		return err
	}
	if d.Authenticate != nil {
		if err := d.Authenticate(ctx, x); err != nil {
			return err
		}
	}
	reply, err := x.Endpoint.run(fairshare.With(ctx, x.Actor.Caller()), x)
	if err != nil {
		return err
	}
	return x.write(ctx, reply)
}

// Here are the endpoints of the request's path, whatever their methods.
func (x *Request) Here() []*Endpoint { return x.s.router.here(x.at) }

// Methods are those that the request's path answers.
func (x *Request) Methods() (methods []string) {
	for _, e := range x.Here() {
		methods = append(methods, e.Method)
		if e.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	return methods
}

// Throttle is the instance's throttle, for a dialect that counts its requests.
func (x *Request) Throttle() Throttle {
	return Throttle{Limits: x.s.Limits, Limiter: x.s.Limiter, Clock: x.s.Clock}
}

// Fill sets params, a pointer, from values, by the tags of its fields.
func (x *Request) Fill(params any, from map[string]any) error {
	return x.Endpoint.binder.bind(reflect.ValueOf(params).Elem(), from)
}

// SetRoute tells the log line and the metrics which endpoint answers whom.
func (x *Request) SetRoute(e *Endpoint) { x.about.SetRoute(e.Shown(), x.Actor) }

// fail answers with an error; what no client may see is logged here, once.
func (x *Request) fail(err error) {
	if hidden := x.s.dialect.Fail(x, err); hidden != nil && x.R.Context().Err() == nil {
		x.log("request failed", hidden, nil)
	}
}

func (x *Request) reading() bool {
	return x.R.Method == http.MethodGet || x.R.Method == http.MethodHead
}

// unmodified refuses to delete what changed since the client last saw it. A
// date that cannot be read is ignored.
func (x *Request) unmodified(subject any) error {
	if x.R.Method != http.MethodDelete {
		return nil
	}
	dated, ok := subject.(interface{ ModifiedAt() time.Time })
	since, err := http.ParseTime(x.R.Header.Get("If-Unmodified-Since"))
	if ok && err == nil && dated.ModifiedAt().Truncate(time.Second).After(since) {
		return fault.New(fault.Precondition)
	}
	return nil
}

// Throttle is the instance's throttle on API traffic, for the doors that share it.
type Throttle struct {
	Limits  Limits
	Limiter *ratelimit.Limiter
	Clock   clock.Clock
}

func (t Throttle) on() bool {
	_, signedIn := t.Limits.Throttle(true)
	_, anonymous := t.Limits.Throttle(false)
	return signedIn || anonymous
}

// Refuses counts a request by its person, or by its address where the person
// is 0, and answers one that is too many.
func (t Throttle) Refuses(ctx context.Context, w http.ResponseWriter, userID int64, address netip.Addr) bool {
	rule, active := t.Limits.Throttle(userID != 0)
	return active && t.Over(ctx, w, rule, userID, address)
}

// Over counts a request against a rule, by person or else by address, and
// answers it when that was too often.
func (t Throttle) Over(ctx context.Context, w http.ResponseWriter, rule ratelimit.Rule, userID int64, address netip.Addr) bool {
	key := fairshare.Network(address)
	if userID != 0 {
		key = strconv.FormatInt(userID, 10)
	}
	verdict := t.Limiter.Hit(ctx, rule, key)
	rateHeaders(w.Header(), verdict)
	if verdict.Allowed() {
		return false
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(verdict.RetryAfter(t.Clock.Now()).Seconds())))
	writeText(w, http.StatusTooManyRequests, t.Limits.ThrottleText()+"\n")
	return true
}

func rateHeaders(h http.Header, v ratelimit.Verdict) {
	perMinute := (v.Rule.Limit*60 + int(v.Rule.Period.Seconds()) - 1) / max(1, int(v.Rule.Period.Seconds()))
	h.Set("RateLimit-Name", v.Rule.Name)
	h.Set("RateLimit-Limit", strconv.Itoa(perMinute))
	h.Set("RateLimit-Observed", strconv.Itoa(v.Observed))
	h.Set("RateLimit-Remaining", strconv.Itoa(v.Remaining()))
	h.Set("RateLimit-Reset", strconv.FormatInt(v.Reset.Unix(), 10))
	h.Set("RateLimit-ResetTime", v.Reset.UTC().Format(http.TimeFormat))
}

// limit counts the request against the limit of its endpoint, per person or,
// for anonymous callers, per address.
func (x *Request) limit(ctx context.Context, spec Spec, subject any) error {
	if spec.Limit == "" {
		return nil
	}
	rule, on := x.s.Limits.Endpoint(spec.Limit, x.Actor)
	if !on {
		return nil
	}
	key := fairshare.Network(x.about.Address)
	if x.Actor.SignedIn() {
		key = strconv.FormatInt(x.Actor.ID(), 10)
	}
	if one, ok := subject.(interface{ LimitKey() string }); ok && spec.LimitOf != "" {
		key += " " + one.LimitKey()
	}
	if !x.s.Limiter.Hit(ctx, rule, key).Allowed() {
		return &fault.Error{Kind: fault.TooMany, Subject: spec.LimitOf}
	}
	return nil
}

// here is the address that clients use for this request.
func (x *Request) here() *url.URL {
	u := *x.s.ExternalURL
	u.Path = strings.TrimSuffix(u.Path, "/") + x.R.URL.Path
	u.RawPath = strings.TrimSuffix(x.s.ExternalURL.EscapedPath(), "/") + x.R.URL.EscapedPath()
	u.RawQuery = x.R.URL.RawQuery
	return &u
}

func (x *Request) recover() {
	what := recover()
	if what == nil {
		return
	}
	if what == http.ErrAbortHandler {
		panic(what)
	}
	x.log("request panicked", fmt.Errorf("%v", what), debug.Stack())
	_ = x.s.dialect.Fail(x, fault.New(fault.Internal))
}

func (x *Request) log(text string, err error, stack []byte) {
	attrs := []any{"error", err.Error(), "method", x.R.Method, Cause(err)}
	if x.Endpoint != nil {
		attrs = append(attrs, "route", x.Endpoint.Shown())
	}
	if x.about.RequestID != "" {
		attrs = append(attrs, "request_id", x.about.RequestID)
	}
	if stack != nil {
		attrs = append(attrs, "stack", string(stack))
	}
	x.s.Log.Error(text, attrs...)
}
