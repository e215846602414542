package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/fairshare"
	"stithy/internal/platform/lifecycle"
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

// Server serves a set of endpoints. Every field is required.
type Server struct {
	Prefix        string // "/api/v4"
	ExternalURL   *url.URL
	SessionCookie string
	Endpoints     []Endpoint
	Authenticator Authenticator
	Limits        Limits
	Limiter       *ratelimit.Limiter
	Clock         clock.Clock
	Log           *slog.Logger
	ExposeHeaders []string // to scripts of other origins, beside the paging ones

	router  *router
	buffers *buffers
	expose  string
}

// request is one on its way through the checks. The order of its
// steps is the order of failures that clients see.
type request struct {
	s        *Server
	w        http.ResponseWriter
	r        *http.Request
	about    *Recorder
	query    values
	endpoint *Endpoint
	path     map[string]string
	actor    access.Actor
	authErr  error
	resolved bool
}

// Handler serves every endpoint below the prefix. It panics on a declaration
// that cannot be served.
func (s *Server) Handler() http.Handler {
	s.router, s.buffers = newRouter(s.Endpoints), newBuffers()
	s.expose = strings.Join(append([]string{
		"Link", "X-Total", "X-Total-Pages", "X-Per-Page", "X-Page", "X-Next-Page", "X-Prev-Page",
	}, s.ExposeHeaders...), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &request{s: s, w: w, r: r, about: RecorderOf(r.Context())}
		defer x.recover()
		if err := x.serve(r.Context()); err != nil {
			x.fail(err)
		}
	})
}

func (x *request) serve(ctx context.Context) error {
	x.headers()
	if parked, ok := lifecycle.Resumed(ctx).(*parked); ok {
		return x.resume(ctx, parked)
	}
	if x.r.Method == http.MethodOptions {
		x.preflight()
		return nil
	}
	if len(x.r.URL.RawQuery) > maxQuery {
		writeJSON(x.w, http.StatusRequestURITooLong, map[string]string{"message": "414 Request-URI Too Large"})
		return nil
	}
	if cookieBytes(x.r) > maxCookies {
		writeJSON(x.w, http.StatusRequestHeaderFieldsTooLarge, map[string]string{"message": "431 Request Header Fields Too Large"})
		return nil
	}
	var textErr error
	if x.r.URL.RawQuery != "" {
		x.query = values{}
		textErr = x.query.readQuery(x.r.URL.RawQuery)
	}
	if x.throttled(ctx) {
		return nil
	}
	if textErr != nil {
		return textErr
	}
	if !cleanText(x.r.URL.Path) {
		return errNotText
	}
	var allow []string
	x.endpoint, x.path, allow = x.s.router.match(x.r.Method, strings.TrimPrefix(x.r.URL.EscapedPath(), x.s.Prefix))
	if x.endpoint == nil {
		return x.noEndpoint(allow)
	}
	if err := x.authenticate(ctx); err != nil {
		return err
	}
	ctx = fairshare.With(ctx, x.actor.Caller())
	reply, err := x.endpoint.run(ctx, x)
	if err != nil {
		return err
	}
	return x.write(ctx, reply)
}

// authenticate finds the actor and holds the token against the route.
func (x *request) authenticate(ctx context.Context) error {
	x.resolve(ctx)
	defer func() { x.about.SetRoute(x.endpoint.Path, x.actor) }()
	if x.authErr != nil {
		return x.authErr
	}
	if target, given := x.sudo(); given {
		var err error
		// The sudo scope stands for the route's own: the request runs as the
		// other person, with that person's rights.
		x.actor, err = x.s.Authenticator.Sudo(ctx, x.actor, target)
		if err != nil {
			return err
		}
	} else {
		demand := access.Demand{Extra: x.endpoint.Scopes, Any: x.endpoint.AnyScope}
		if err := access.CheckScope(x.actor.Credential, demand, x.reading()); err != nil {
			return err
		}
	}
	return access.CheckSignedIn(x.actor, x.endpoint.Needs)
}

// resolve looks the credential up, once for throttle and guard together.
func (x *request) resolve(ctx context.Context) {
	if x.resolved {
		return
	}
	x.resolved = true
	x.actor = access.Actor{Address: x.about.Address}
	if p, found := x.presented(); found {
		x.actor, x.authErr = x.s.Authenticator.Authenticate(ctx, p)
		x.actor.Address = x.about.Address
	}
}

func (x *request) sudo() (target string, given bool) {
	if node, ok := x.query["sudo"]; ok {
		text, _ := scalar(node)
		return text, true
	}
	target = x.r.Header.Get("Sudo")
	return target, target != ""
}

func (x *request) reading() bool {
	return x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
}

// values are all parameters of the request; those of the body win.
func (x *request) values(limit int64) (values, error) {
	if !x.actor.SignedIn() && limit == 0 {
		limit = maxStrange
	}
	if x.query == nil {
		x.query = values{}
	}
	if err := x.query.readBody(x.w, x.r, limit); err != nil {
		return nil, err
	}
	return x.query, nil
}

// unmodified refuses to delete what changed since the client last saw it. A
// date that cannot be read is ignored.
func (x *request) unmodified(subject any) error {
	if x.r.Method != http.MethodDelete {
		return nil
	}
	dated, ok := subject.(interface{ ModifiedAt() time.Time })
	since, err := http.ParseTime(x.r.Header.Get("If-Unmodified-Since"))
	if ok && err == nil && dated.ModifiedAt().Truncate(time.Second).After(since) {
		return fault.New(fault.Precondition)
	}
	return nil
}

// throttled counts the request against the instance's throttle.
func (x *request) throttled(ctx context.Context) bool {
	t := Throttle{Limits: x.s.Limits, Limiter: x.s.Limiter, Clock: x.s.Clock}
	if !t.on() {
		return false
	}
	// Job tokens are not known before the route is; they count by address.
	x.endpoint, _, _ = x.s.router.match(x.r.Method, strings.TrimPrefix(x.r.URL.EscapedPath(), x.s.Prefix))
	x.resolve(ctx)
	var userID int64
	if x.authErr == nil {
		userID = x.actor.ID()
	}
	return t.Refuses(ctx, x.w, userID, x.about.Address)
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
	key := address.String()
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
func (x *request) limit(ctx context.Context, spec Spec, subject any) error {
	if spec.Limit == "" {
		return nil
	}
	rule, on := x.s.Limits.Endpoint(spec.Limit, x.actor)
	if !on {
		return nil
	}
	key := x.about.Address.String()
	if x.actor.SignedIn() {
		key = strconv.FormatInt(x.actor.ID(), 10)
	}
	if one, ok := subject.(interface{ LimitKey() string }); ok && spec.LimitOf != "" {
		key += " " + one.LimitKey()
	}
	if !x.s.Limiter.Hit(ctx, rule, key).Allowed() {
		return &fault.Error{Kind: fault.TooMany, Subject: spec.LimitOf}
	}
	return nil
}

func (x *request) noEndpoint(allow []string) error {
	if allow != nil {
		x.w.Header().Set("Allow", strings.Join(append(allow, http.MethodOptions), ", "))
		return fault.New(fault.MethodNotAllowed)
	}
	writeJSON(x.w, http.StatusNotFound, map[string]string{"error": "404 Not Found"})
	return nil
}

// headers that every answer carries. Scripts of any origin may read, but
// never with a browser's own credentials.
func (x *request) headers() {
	h := x.w.Header()
	h["X-Content-Type-Options"] = noSniff
	h["X-Frame-Options"] = sameOrigin
	h["Referrer-Policy"] = noReferrer
	h["Vary"] = varyOrigin
	if x.r.Header.Get("Origin") != "" {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", x.s.expose)
	}
}

var (
	noSniff    = []string{"nosniff"}
	sameOrigin = []string{"SAMEORIGIN"}
	noReferrer = []string{"no-referrer"}
	varyOrigin = []string{"Origin"}
)

func (x *request) preflight() {
	h := x.w.Header()
	if asked := x.r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	h.Set("Access-Control-Max-Age", "7200")
	x.w.WriteHeader(http.StatusNoContent)
}

// here is the address that clients use for this request.
func (x *request) here() *url.URL {
	u := *x.s.ExternalURL
	u.Path = strings.TrimSuffix(u.Path, "/") + x.r.URL.Path
	u.RawPath = strings.TrimSuffix(x.s.ExternalURL.EscapedPath(), "/") + x.r.URL.EscapedPath()
	u.RawQuery = x.r.URL.RawQuery
	return &u
}

// MovedError is the error of a load that found its subject under another name: a
// reader is sent there, anything else must be sent there by the client.
type MovedError struct {
	Param string // of the path
	To    string // its value now
}

func (m *MovedError) Error() string { return m.Param + " has moved to " + m.To }

func (x *request) moved(m *MovedError) {
	if !x.reading() {
		writeJSON(x.w, http.StatusMethodNotAllowed, map[string]string{"message": "Non GET methods are not allowed for moved projects"})
		return
	}
	given := strings.Split(strings.TrimPrefix(x.r.URL.EscapedPath(), x.s.Prefix), "/")
	for i, segment := range strings.Split(x.endpoint.Path, "/") {
		if segment == "{"+m.Param+"}" {
			given[i] = url.PathEscape(m.To)
		}
	}
	query := x.r.URL.Query()
	for _, name := range secretParams {
		query.Del(name)
	}
	to := strings.TrimSuffix(x.s.ExternalURL.String(), "/") + x.s.Prefix + strings.Join(given, "/")
	if encoded := query.Encode(); encoded != "" {
		to += "?" + encoded
	}
	x.w.Header().Set("Location", to)
	writeText(x.w, http.StatusMovedPermanently, "This resource has been moved permanently to "+to)
}

// fail writes the error; what no client may see is logged here, once. What is
// joined to the word that something is not available says why, and is for the
// log.
func (x *request) fail(err error) {
	if m, ok := errors.AsType[*MovedError](err); ok {
		x.moved(m)
		return
	}
	if errors.Is(err, lifecycle.ErrSlow) {
		writeJSON(x.w, http.StatusRequestTimeout, map[string]string{"message": "408 Request Timeout"})
		return
	}
	if h, ok := errors.AsType[*headedError](err); ok {
		setHeaders(x.w.Header(), h.header)
	}
	err = Away(err)
	f, shown := fault.Of(err)
	hidden := !shown || (f.Kind == fault.Unavailable && err != error(f)) //nolint:errorlint // whether it is that very value
	if hidden && !errors.Is(err, errNotText) && x.r.Context().Err() == nil {
		x.log("request failed", err, nil)
	}
	writeError(x.w, err)
}

func (x *request) recover() {
	what := recover()
	if what == nil {
		return
	}
	if what == http.ErrAbortHandler {
		panic(what)
	}
	x.log("request panicked", fmt.Errorf("%v", what), debug.Stack())
	writeError(x.w, fault.New(fault.Internal))
}

func (x *request) log(text string, err error, stack []byte) {
	attrs := []any{"error", err.Error(), "method", x.r.Method, Cause(err)}
	if x.endpoint != nil {
		attrs = append(attrs, "route", x.endpoint.Path)
	}
	if x.about.RequestID != "" {
		attrs = append(attrs, "request_id", x.about.RequestID)
	}
	if stack != nil {
		attrs = append(attrs, "stack", string(stack))
	}
	x.s.Log.Error(text, attrs...)
}
