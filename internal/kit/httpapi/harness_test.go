package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/ratelimit"
)

// noon is twelve seconds into a minute, so that windows are visibly begun.
var noon = time.Date(2024, 5, 6, 12, 0, 12, 0, time.UTC)

// door serves endpoints to a test, with people and limits that the test sets.
type door struct {
	*Server
	handler http.Handler
	people  *fakePeople
	limits  *fakeLimits
	log     *bytes.Buffer
}

func open(t testing.TB, endpoints ...Endpoint) *door {
	t.Helper()
	d := &door{people: newFakePeople(), limits: &fakeLimits{endpoints: map[string]ratelimit.Rule{}, maxOffset: 50_000}, log: &bytes.Buffer{}}
	now := clock.Clock(func() time.Time { return noon })
	d.Server = &Server{
		ExternalURL:   &url.URL{Scheme: "https", Host: "forge.example:8443"},
		SessionCookie: "_svc_session",
		Endpoints:     endpoints,
		Authenticator: d.people,
		Limits:        d.limits,
		Limiter:       ratelimit.New(now, nil),
		Clock:         now,
		Log:           slog.New(slog.NewJSONHandler(d.log, nil)),
		ExposeHeaders: []string{"X-Svc-File-Name"},
	}
	d.handler = d.Handler()
	return d
}

// option shapes a request.
type option func(*http.Request)

func header(name, value string) option {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func token(secret string) option { return header("PRIVATE-TOKEN", secret) }

func cookie(value string) option { return header("Cookie", "_svc_session="+value) }

// do sends a request with an empty body, or one of the given content type.
func (d *door) do(method, target string, options ...option) *httptest.ResponseRecorder {
	return d.send(httptest.NewRequest(method, "/api/v4"+target, nil), options...)
}

func (d *door) post(target, contentType, body string, options ...option) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/api/v4"+target, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return d.send(r, options...)
}

func (d *door) send(r *http.Request, options ...option) *httptest.ResponseRecorder {
	for _, change := range options {
		change(r)
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, entered(r))
	return w
}

// entered is a request as the entrance passes it on.
func entered(r *http.Request) *http.Request {
	return r.WithContext(WithRecorder(r.Context(), &Recorder{Address: netip.MustParseAddr("192.0.2.7"), RequestID: "request-1"}))
}

// fakePeople knows a few secrets.
type fakePeople struct {
	actors    map[string]access.Actor // by secret
	refusals  map[string]error
	mu        sync.Mutex
	presented []access.Presented
}

func newFakePeople() *fakePeople {
	member := &access.Person{ID: 2, Username: "mia"}
	admin := &access.Person{ID: 1, Username: "ada", Admin: true}
	p := &fakePeople{actors: map[string]access.Actor{}, refusals: map[string]error{}}
	p.add("member", member, access.PersonalToken, access.ScopeAPI)
	p.add("admin", admin, access.PersonalToken, access.ScopeAPI, access.ScopeSudo)
	p.add("session", member, access.Session)
	p.add("job", member, access.JobToken)
	return p
}

func (p *fakePeople) add(secret string, who *access.Person, kind access.Kind, scopes ...access.Scope) {
	p.actors[secret] = access.Actor{Person: who, Credential: access.Credential{Kind: kind, ID: 7, Scopes: scopes}}
}

func (p *fakePeople) Authenticate(_ context.Context, given access.Presented) (access.Actor, error) {
	p.mu.Lock()
	p.presented = append(p.presented, given)
	p.mu.Unlock()
	if err := p.refusals[given.Secret]; err != nil {
		return access.Actor{}, err
	}
	if actor, ok := p.actors[given.Secret]; ok {
		return actor, nil
	}
	return access.Actor{}, fault.New(fault.Unauthenticated)
}

func (p *fakePeople) Sudo(_ context.Context, a access.Actor, target string) (access.Actor, error) {
	switch {
	case !a.SignedIn():
		return a, fault.New(fault.Unauthenticated)
	case !a.Admin():
		return a, fault.WithReason(fault.Forbidden, "Must be admin to use sudo")
	case !a.Credential.Scopes.Has(access.ScopeSudo):
		return a, access.InsufficientScope(access.ScopeSudo)
	case target != "mia":
		return a, fault.NotFoundf("User with ID or username '%s'", target)
	}
	return access.Actor{Person: &access.Person{ID: 2, Username: "mia"}, Sudoer: a.Person, Credential: a.Credential}, nil
}

type fakeLimits struct {
	signedIn, anonymous *ratelimit.Rule
	endpoints           map[string]ratelimit.Rule
	maxOffset           int
}

func (l *fakeLimits) Throttle(signedIn bool) (ratelimit.Rule, bool) {
	rule := l.anonymous
	if signedIn {
		rule = l.signedIn
	}
	if rule == nil {
		return ratelimit.Rule{}, false
	}
	return *rule, true
}

func (l *fakeLimits) Endpoint(name string, _ access.Actor) (ratelimit.Rule, bool) {
	rule, on := l.endpoints[name]
	return rule, on
}

func (l *fakeLimits) ThrottleText() string { return "Retry later" }

func (l *fakeLimits) MaxOffset() int { return l.maxOffset }

// answer is an open endpoint with a fixed reply.
func answer[R any](route string, reply R) Endpoint {
	return Do(Spec{Route: route, Summary: "Answer.", Needs: access.Anyone},
		func(context.Context, Call[None, struct{}]) (R, error) { return reply, nil })
}

// failing is an open endpoint that fails.
func failing(route string, err error) Endpoint {
	return Do(Spec{Route: route, Summary: "Fail.", Needs: access.Anyone},
		func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, err })
}

// capture is an open endpoint that keeps the parameters it was called with.
func capture[P any](route string) (Endpoint, *P) {
	last := new(P)
	return Do(Spec{Route: route, Summary: "Capture.", Needs: access.Anyone},
		func(_ context.Context, call Call[None, P]) (NoContent, error) {
			*last = call.Params
			return NoContent{}, nil
		}), last
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("got status %d, want %d; body %s", w.Code, status, w.Body)
	}
}

// wantJSON compares whole answers, for clients match their texts.
func wantJSON(t *testing.T, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	wantStatus(t, w, status)
	if got := w.Body.String(); got != body {
		t.Errorf("got body  %s\nwant body %s", got, body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("got content type %q", got)
	}
}

// wantRefusal is a 400 of the family that never reached a room.
func wantRefusal(t *testing.T, w *httptest.ResponseRecorder, text string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"error": text})
	wantJSON(t, w, http.StatusBadRequest, string(body))
}

func wantText(t *testing.T, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	wantStatus(t, w, status)
	if got := w.Body.String(); got != body {
		t.Errorf("got body %q, want %q", got, body)
	}
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
		t.Errorf("got content type %q", got)
	}
}
