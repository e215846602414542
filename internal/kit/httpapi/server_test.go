package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/platform/secretbox"
)

type thingParams struct {
	ID    int64 `param:"id" doc:"ID"`
	Count int   `param:"count" required:"true" doc:"Count"`
}

// thing is a parent that the handler of an endpoint is given.
type thing struct{ modified time.Time }

func (t thing) ModifiedAt() time.Time { return t.modified }

// onThing declares an endpoint below a parent; only thing 1 exists.
func onThing(spec Spec) Endpoint {
	return On(spec, func(_ context.Context, _ access.Actor, p thingParams) (thing, error) {
		if p.ID != 1 {
			return thing{}, fault.NotFoundf("Thing")
		}
		return thing{modified: noon.Add(500 * time.Millisecond)}, nil
	}, func(context.Context, Call[thing, thingParams]) (NoContent, error) { return NoContent{}, nil })
}

func TestTheOrderOfChecks(t *testing.T) {
	t.Parallel()
	const (
		unauthorized = `{"message":"401 Unauthorized"}`
		forbidden    = `{"message":"403 Forbidden"}`
		noThing      = `{"message":"404 Thing Not Found"}`
		noRoute      = `{"error":"404 Not Found"}`
		noMethod     = `{"error":"405 Not Allowed"}`
		noCount      = `{"error":"count is missing"}`
		badCount     = `{"error":"count is invalid"}`
		badID        = `{"error":"id is invalid"}`
		scope        = `{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"api read_api"}`
		revoked      = unauthorized
	)
	d := open(t,
		onThing(Spec{Route: "POST /signed-in/{id}", Needs: access.SignIn}),
		onThing(Spec{Route: "POST /admin/{id}", Needs: access.Administer}),
		onThing(Spec{Route: "POST /late/{id}", Needs: access.Administer, AfterParams: true}),
		onThing(Spec{Route: "POST /profiles/{id}", Needs: access.ReadProfiles}),
		onThing(Spec{Route: "POST /open/{id}", Needs: access.Anyone}),
	)
	d.people.add("small", &access.Person{ID: 2}, access.PersonalToken, access.ScopeReadAPI)
	d.people.refusals["revoked"] = fault.WithMessage(fault.TokenUnusable, "Token was revoked. You have to re-authorize from the user.")
	for _, c := range []struct {
		method, target, secret string
		status                 int
		body                   string
	}{
		// Each line mends one fault of the line before.
		{"POST", "/nowhere?x=%00", "unknown", 400, "Bad Request"},
		{"POST", "/nowhere", "unknown", 404, noRoute},
		{"GET", "/signed-in/2", "unknown", 405, noMethod},
		{"POST", "/signed-in/2", "unknown", 401, unauthorized},
		{"POST", "/signed-in/2", "revoked", 401, revoked},
		{"POST", "/signed-in/2", "small", 403, scope},
		{"POST", "/signed-in/2", "", 401, unauthorized},
		{"POST", "/signed-in/x", "member", 400, badID},
		{"POST", "/signed-in/2", "member", 404, noThing},
		{"POST", "/signed-in/1", "member", 400, noCount},
		{"POST", "/signed-in/1?count=x", "member", 400, badCount},
		{"POST", "/signed-in/1?count=1", "member", 204, ""},

		// The guard of an area comes before its parameters and its parent.
		{"POST", "/admin/x", "", 401, unauthorized},
		{"POST", "/admin/x", "member", 403, forbidden},
		{"POST", "/admin/2", "member", 403, forbidden},
		{"POST", "/admin/1", "member", 403, forbidden},
		{"POST", "/admin/2", "admin", 404, noThing},
		{"POST", "/admin/1", "admin", 400, noCount},
		{"POST", "/admin/1?count=1", "admin", 204, ""},

		// Where the area says so it comes after, save for anonymous callers.
		{"POST", "/late/1", "", 401, unauthorized},
		{"POST", "/late/2", "member", 404, noThing},
		{"POST", "/late/1", "member", 400, noCount},
		{"POST", "/late/1?count=1", "member", 403, forbidden},
		{"POST", "/late/1?count=1", "admin", 204, ""},

		{"POST", "/profiles/1", "", 403, `{"message":"403 Forbidden - Not authorized!"}`},
		{"POST", "/profiles/1?count=1", "member", 204, ""},
		{"POST", "/open/1?count=1", "", 204, ""},
		{"POST", "/open/1?count=1", "unknown", 401, unauthorized},
	} {
		var options []option
		if c.secret != "" {
			options = append(options, token(c.secret))
		}
		w := d.do(c.method, c.target, options...)
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s %s as %q: got %d %s, want %d %s", c.method, c.target, c.secret, w.Code, w.Body, c.status, c.body)
		}
	}

	d.limits.anonymous = &ratelimit.Rule{Name: "throttle", Limit: 1, Period: time.Minute}
	d.do("GET", "/nowhere")
	wantText(t, d.do("POST", "/nowhere?x=%00", token("unknown")), http.StatusTooManyRequests, "Retry later\n")
}

func TestTK09_WhoIsSentOnLeavesTheTokenBehind(t *testing.T) {
	t.Parallel()
	type params struct {
		ID string `param:"id" doc:"ID"`
	}
	moved := func(method string) Endpoint {
		return On(Spec{Route: method + " /things/{id}/parts", Needs: access.Anyone}, func(_ context.Context, _ access.Actor, p params) (None, error) {
			return None{}, &MovedError{Param: "id", To: "new group/" + p.ID}
		}, func(context.Context, Call[None, params]) (NoContent, error) { return NoContent{}, nil })
	}
	d := open(t, moved("GET"), moved("POST"))
	const canary = "canary-5d2e"
	d.people.add(canary, &access.Person{ID: 2}, access.PersonalToken, access.ScopeAPI)
	for _, name := range []string{"private_token", "access_token", "bearer_token", "job_token", "token", "%70rivate_token"} {
		w := d.do("GET", "/things/old/parts?page=2&"+name+"="+canary)
		wantStatus(t, w, http.StatusMovedPermanently)
		if got, want := w.Header().Get("Location"), "https://forge.example:8443/api/v4/things/new%20group%2Fold/parts?page=2"; got != want {
			t.Errorf("%s: sent to %s, want %s", name, got, want)
		}
		if strings.Contains(w.Body.String(), canary) {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
	wantStatus(t, d.do("POST", "/things/old/parts"), http.StatusMethodNotAllowed)
}

func TestABodyIsNotReadForThoseWhoAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t, onThing(Spec{Route: "POST /things/{id}", Needs: access.SignIn}))
	wantStatus(t, d.post("/things/1", "application/json", "{"), http.StatusUnauthorized)
	wantStatus(t, d.post("/things/2", "application/json", "{", token("member")), http.StatusNotFound)
	wantStatus(t, d.post("/things/1", "application/json", "{", token("member")), http.StatusBadRequest)
}

func TestATokenNeedsAScopeThatTheRouteAccepts(t *testing.T) {
	t.Parallel()
	things := func(method, path string, scopes ...access.Scope) Endpoint {
		return Do(Spec{Route: method + " " + path, Needs: access.SignIn, Scopes: scopes},
			func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil })
	}
	d := open(t,
		things("GET", "/plain"), things("POST", "/plain"),
		things("GET", "/users", access.ScopeReadUser), things("POST", "/users", access.ScopeReadUser),
		things("GET", "/runners", access.ScopeCreateRunner), things("POST", "/runners", access.ScopeCreateRunner),
		Do(Spec{Route: "DELETE /self", Needs: access.SignIn, AnyScope: true},
			func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil }),
	)
	person := &access.Person{ID: 2}
	for _, c := range []struct {
		route   string
		scopes  []access.Scope
		refusal string // the scopes that would have been enough
	}{
		{"GET /plain", []access.Scope{access.ScopeAPI}, ""},
		{"GET /plain", []access.Scope{access.ScopeReadAPI}, ""},
		{"HEAD /plain", []access.Scope{access.ScopeReadAPI}, ""},
		{"GET /plain", []access.Scope{access.ScopeReadUser}, "api read_api"},
		{"GET /plain", nil, "api read_api"},
		{"GET /plain", []access.Scope{access.ScopeSudo, access.ScopeWriteRepository}, "api read_api"},
		{"POST /plain", []access.Scope{access.ScopeAPI}, ""},
		{"POST /plain", []access.Scope{access.ScopeReadAPI}, "api read_api"},
		{"GET /users", []access.Scope{access.ScopeReadUser}, ""},
		{"GET /users", []access.Scope{access.ScopeReadRepository}, "read_user api read_api"},
		{"POST /users", []access.Scope{access.ScopeReadUser}, "read_user api read_api"},
		{"POST /users", []access.Scope{access.ScopeReadUser, access.ScopeReadAPI}, "read_user api read_api"},
		{"POST /runners", []access.Scope{access.ScopeCreateRunner}, ""},
		{"POST /runners", []access.Scope{access.ScopeReadAPI}, "create_runner api read_api"},
		{"DELETE /self", []access.Scope{access.ScopeReadRegistry}, ""},
		{"DELETE /self", nil, ""},
	} {
		method, path, _ := strings.Cut(c.route, " ")
		for _, kind := range []access.Kind{access.PersonalToken, access.OAuthToken} {
			d.people.add("scoped", person, kind, c.scopes...)
			w := d.do(method, path, token("scoped"))
			if c.refusal == "" {
				wantStatus(t, w, http.StatusNoContent)
				continue
			}
			wantJSON(t, w, http.StatusForbidden, `{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"`+c.refusal+`"}`)
			if w.Header().Get("WWW-Authenticate") != "" {
				t.Error("a scope that is too small asks for authentication")
			}
		}
	}
	wantStatus(t, d.do("POST", "/plain", cookie("session")), http.StatusNoContent)
}

func TestTK01_AScopeHoldsForEveryPresentation(t *testing.T) {
	t.Parallel()
	d := open(t,
		Do(Spec{Route: "POST /things", Needs: access.SignIn},
			func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil }))
	secret := "a-token-that-may-read-only"
	d.people.add(secret, &access.Person{ID: 2}, access.PersonalToken, access.ScopeReadAPI)
	for name, w := range map[string]*httptest.ResponseRecorder{
		"header":       d.do("POST", "/things", token(secret)),
		"bearer":       d.do("POST", "/things", header("Authorization", "Bearer "+secret)),
		"query":        d.do("POST", "/things?private_token="+secret),
		"access token": d.do("POST", "/things?access_token="+secret),
		"bearer token": d.do("POST", "/things?bearer_token="+secret),
	} {
		if w.Code != http.StatusForbidden {
			t.Errorf("%s: got %d", name, w.Code)
		}
	}
	// What is no presentation authenticates nobody.
	basic := func(r *http.Request) { r.SetBasicAuth("mia", secret) }
	for name, w := range map[string]*httptest.ResponseRecorder{
		"basic": d.do("POST", "/things", basic),
		"form":  d.post("/things", "application/x-www-form-urlencoded", "private_token="+secret),
		"JSON":  d.post("/things", "application/json", `{"private_token":"`+secret+`","access_token":"`+secret+`"}`),
	} {
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s: got %d", name, w.Code)
		}
	}
}

func TestSudoActsAsTheOtherPerson(t *testing.T) {
	t.Parallel()
	var acted access.Actor
	d := open(t,
		Do(Spec{Route: "GET /user", Needs: access.SignIn},
			func(_ context.Context, call Call[None, struct{}]) (NoContent, error) {
				acted = call.Actor
				return NoContent{}, nil
			}),
		Do(Spec{Route: "GET /admin", Needs: access.Administer},
			func(context.Context, Call[None, struct{}]) (NoContent, error) { return NoContent{}, nil }))

	for _, w := range []*httptest.ResponseRecorder{
		d.do("GET", "/user?sudo=mia", token("admin")),
		d.do("GET", "/user", token("admin"), header("Sudo", "mia")),
		d.do("GET", "/user?sudo=mia", token("admin"), header("Sudo", "nobody")),
	} {
		wantStatus(t, w, http.StatusNoContent)
		if acted.Person.Username != "mia" || acted.Sudoer == nil || acted.Sudoer.Username != "ada" {
			t.Errorf("acted as %+v", acted)
		}
	}

	// The request runs with the rights of the other person.
	wantJSON(t, d.do("GET", "/admin?sudo=mia", token("admin")), http.StatusForbidden, `{"message":"403 Forbidden"}`)

	// With sudo the route's own scopes are not asked for.
	d.people.add("sudo only", &access.Person{ID: 1, Username: "ada", Admin: true}, access.PersonalToken, access.ScopeSudo)
	wantStatus(t, d.do("GET", "/user?sudo=mia", token("sudo only")), http.StatusNoContent)
	wantStatus(t, d.do("GET", "/user", token("sudo only")), http.StatusForbidden)

	d.people.add("no sudo", &access.Person{ID: 1, Username: "ada", Admin: true}, access.PersonalToken, access.ScopeAPI)
	for _, c := range []struct {
		target, secret string
		status         int
		body           string
	}{
		{"/user?sudo=mia", "", 401, `{"message":"401 Unauthorized"}`},
		{"/user?sudo=mia", "member", 403, `{"message":"403 Forbidden - Must be admin to use sudo"}`},
		{"/user?sudo=mia", "no sudo", 403, `{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"sudo"}`},
		{"/user?sudo=nobody", "admin", 404, `{"message":"404 User with ID or username 'nobody' Not Found"}`},
		{"/user?sudo=mia&sudo=ada", "admin", 404, `{"message":"404 User with ID or username '' Not Found"}`},
		{"/user?sudo[]=mia", "admin", 404, `{"message":"404 User with ID or username '' Not Found"}`},
		{"/user?sudo=", "admin", 404, `{"message":"404 User with ID or username '' Not Found"}`},
	} {
		var options []option
		if c.secret != "" {
			options = append(options, token(c.secret))
		}
		wantJSON(t, d.do("GET", c.target, options...), c.status, c.body)
	}
}

func TestTheRecorderLearnsTheRouteAndTheActor(t *testing.T) {
	t.Parallel()
	d := open(t, onThing(Spec{Route: "POST /things/{id}", Needs: access.SignIn}))
	for _, c := range []struct {
		target, secret, route string
		actor                 int64
	}{
		{"/things/1?count=1", "member", "/things/{id}", 2},
		{"/things/2", "member", "/things/{id}", 2},
		{"/things/1", "unknown", "/things/{id}", 0},
		{"/nowhere", "member", "", 0},
	} {
		r := httptest.NewRequest("POST", "/api/v4"+c.target, nil)
		r.Header.Set("PRIVATE-TOKEN", c.secret)
		r = entered(r)
		d.handler.ServeHTTP(httptest.NewRecorder(), r)
		if seen := RecorderOf(r.Context()); seen.Route != c.route || seen.Actor.ID() != c.actor {
			t.Errorf("%s: saw %q, %d", c.target, seen.Route, seen.Actor.ID())
		}
	}
}

func TestEveryAnswerCarriesTheSafetyHeaders(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1), failing("GET /failing", errors.New("no")))
	for _, target := range []string{"/things", "/failing", "/nowhere", "/things?x=%00", "/things?" + strings.Repeat("x", maxQuery+1)} {
		h := d.do("GET", target).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer", "Vary": "Origin",
			"Access-Control-Allow-Origin": "", "Access-Control-Expose-Headers": "", "Access-Control-Allow-Credentials": "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%.20s: got %s %q, want %q", target, name, got, want)
			}
		}
	}
}

func TestWB10_ScriptsOfOtherOriginsReadWithoutCredentials(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1), answer("POST /things", 1))
	const exposed = "Link, X-Total, X-Total-Pages, X-Per-Page, X-Page, X-Next-Page, X-Prev-Page, X-Svc-File-Name"
	for _, w := range []*httptest.ResponseRecorder{
		d.do("GET", "/things", header("Origin", "https://other.example")),
		d.do("GET", "/nowhere", header("Origin", "https://other.example")),
		d.do("GET", "/things", header("Origin", "null"), token("unknown")),
	} {
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("got origin %q", got)
		}
		if got := w.Header().Get("Access-Control-Expose-Headers"); got != exposed {
			t.Errorf("got exposed headers %q", got)
		}
		if _, given := w.Header()["Access-Control-Allow-Credentials"]; given {
			t.Error("credentials are allowed")
		}
	}

	w := d.do("OPTIONS", "/things", header("Origin", "https://other.example"),
		header("Access-Control-Request-Method", "POST"), header("Access-Control-Request-Headers", "private-token, content-type"))
	wantStatus(t, w, http.StatusNoContent)
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":      "*",
		"Access-Control-Allow-Methods":     "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
		"Access-Control-Allow-Headers":     "private-token, content-type",
		"Access-Control-Max-Age":           "7200",
		"Access-Control-Allow-Credentials": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("got %s %q, want %q", name, got, want)
		}
	}
	if len(d.people.presented) != 1 {
		t.Errorf("a preflight request was authenticated")
	}
}

func TestHEADAnswersAsGETWithoutABody(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", map[string]int{"id": 1}))
	server := httptest.NewServer(d.handler)
	defer server.Close()
	head, err := http.Head(server.URL + "/api/v4/things")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = head.Body.Close() }()
	if head.StatusCode != http.StatusOK || head.ContentLength != int64(len(`{"id":1}`)) || head.Header.Get("Etag") == "" {
		t.Errorf("got %d, length %d, %v", head.StatusCode, head.ContentLength, head.Header)
	}
}

func TestDO09_APanicIsA500AndTheProcessLives(t *testing.T) {
	t.Parallel()
	d := open(t,
		Do(Spec{Route: "GET /boom", Needs: access.Anyone}, func(context.Context, Call[None, struct{}]) (int, error) {
			var m map[string]int
			m["canary"] = 1
			return 0, nil
		}),
		answer("GET /late-boom", boom{}),
		answer("GET /things", 1))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.handler.ServeHTTP(w, entered(r))
	}))
	defer server.Close()
	for path, status := range map[string]int{"/boom": 500, "/late-boom": 500, "/things": 200} {
		for range 3 {
			r, err := http.Get(server.URL + "/api/v4" + path)
			if err != nil {
				t.Fatal(err)
			}
			_ = r.Body.Close()
			if r.StatusCode != status {
				t.Errorf("%s: got %d", path, r.StatusCode)
			}
		}
	}
	wantJSON(t, d.do("GET", "/boom"), http.StatusInternalServerError, `{"message":"500 Internal Server Error"}`)
	line, _, _ := strings.Cut(d.log.String(), "\n")
	for _, want := range []string{`"request panicked"`, `"request_id":"request-1"`, `"stack":`, `boom`} {
		if !strings.Contains(line, want) {
			t.Errorf("the log line lacks %s: %s", want, line)
		}
	}
}

// boom fails while it is written.
type boom struct{}

func (boom) MarshalJSON() ([]byte, error) { panic("boom") }

func TestAnAbortedHandlerIsLeftToTheServer(t *testing.T) {
	t.Parallel()
	d := open(t, Do(Spec{Route: "GET /abort", Needs: access.Anyone},
		func(context.Context, Call[None, struct{}]) (int, error) { panic(http.ErrAbortHandler) }))
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("recovered %v", got)
		}
	}()
	d.do("GET", "/abort")
}

func TestAnInternalErrorIsLoggedOnceAndNeverShown(t *testing.T) {
	t.Parallel()
	const canary = "canary-7c1f"
	d := open(t, failing("GET /things/{id}", fmt.Errorf("reading a thing: %w", errors.New(canary))), answer("GET /strange", make(chan int)))
	w := d.do("GET", "/things/9")
	wantJSON(t, w, http.StatusInternalServerError, `{"message":"500 Internal Server Error"}`)
	for name, values := range w.Header() {
		if strings.Contains(strings.Join(values, ""), canary) {
			t.Errorf("header %s shows the error", name)
		}
	}
	if got := strings.Count(d.log.String(), canary); got != 1 {
		t.Errorf("logged %d times: %s", got, d.log)
	}
	for _, want := range []string{`"level":"ERROR"`, `"request_id":"request-1"`, `"route":"/things/{id}"`, `"method":"GET"`} {
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, d.log)
		}
	}
	// So is a reply that cannot be written.
	wantJSON(t, d.do("GET", "/strange"), http.StatusInternalServerError, `{"message":"500 Internal Server Error"}`)
}

// SU-01: a handler that fails with its parameters in hand tells the log what they are called, not what they are.
func TestSU01_FailuresDoNotSpillSecrets(t *testing.T) {
	t.Parallel()
	const canary = "canary-2b9d"
	type params struct {
		Name     string           `param:"name" doc:"Name"`
		Password secretbox.Secret `param:"password" doc:"Password"`
	}
	fail := func(route string, handle func(params) error) Endpoint {
		return Do(Spec{Route: route, Needs: access.Anyone}, func(_ context.Context, call Call[None, params]) (NoContent, error) {
			return NoContent{}, handle(call.Params)
		})
	}
	d := open(t,
		fail("POST /panic", func(p params) error { panic(fmt.Sprintf("%+v", p)) }),
		fail("POST /error", func(p params) error { return fmt.Errorf("saving %#v %v", p, &p) }),
	)
	for _, path := range []string{"/panic", "/error"} {
		wantStatus(t, d.post(path, "application/json", `{"name":"eve","password":"`+canary+`"}`), http.StatusInternalServerError)
	}
	if log := d.log.String(); strings.Contains(log, canary) || strings.Count(log, "eve") < 2 {
		t.Errorf("got %s", log)
	}
}

func TestWhatAClientMaySeeIsNotLogged(t *testing.T) {
	t.Parallel()
	d := open(t, failing("GET /things", fault.NotFoundf("Thing")), failing("GET /gone", errors.New("canceled")))
	d.do("GET", "/things")
	d.do("GET", "/things?x=%00")
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the client hung up: its errors are nobody's
	d.send(httptest.NewRequestWithContext(ctx, "GET", "/api/v4/gone", nil))
	if d.log.Len() > 0 {
		t.Errorf("logged %s", d.log)
	}
}

func TestTheThrottleAnswersInPlainTextWithItsState(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1))
	d.limits.signedIn = &ratelimit.Rule{Name: "throttle_authenticated_api", Limit: 2, Period: 90 * time.Second}
	d.limits.anonymous = &ratelimit.Rule{Name: "throttle_unauthenticated_api", Limit: 1, Period: time.Minute}

	want := func(w *httptest.ResponseRecorder, headers map[string]string) {
		t.Helper()
		for name, value := range headers {
			if got := w.Header().Get(name); got != value {
				t.Errorf("got %s %q, want %q", name, got, value)
			}
		}
	}
	for range 2 {
		wantStatus(t, d.do("GET", "/things", token("member")), http.StatusOK)
	}
	w := d.do("GET", "/things", token("member"))
	wantText(t, w, http.StatusTooManyRequests, "Retry later\n")
	reset := time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC).Truncate(90 * time.Second).Add(90 * time.Second)
	want(w, map[string]string{
		"RateLimit-Name":      "throttle_authenticated_api",
		"RateLimit-Limit":     "2", // ceil(2 × 60 / 90)
		"RateLimit-Observed":  "3",
		"RateLimit-Remaining": "0",
		"RateLimit-Reset":     fmt.Sprint(reset.Unix()),
		"RateLimit-ResetTime": reset.Format(http.TimeFormat),
		"Retry-After":         fmt.Sprint(int(reset.Sub(noon).Seconds())),
	})

	// Others are not affected, and those nobody knows share their address.
	wantStatus(t, d.do("GET", "/things", token("admin")), http.StatusOK)
	wantStatus(t, d.do("GET", "/things"), http.StatusOK)
	w = d.do("GET", "/things", token("unknown"))
	wantText(t, w, http.StatusTooManyRequests, "Retry later\n")
	want(w, map[string]string{"RateLimit-Name": "throttle_unauthenticated_api", "RateLimit-Limit": "1", "Retry-After": "48"})
}

func TestEveryAnswerUnderAThrottleShowsItsState(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1))
	d.limits.anonymous = &ratelimit.Rule{Name: "throttle_unauthenticated_api", Limit: 10, Period: time.Minute}
	for observed, target := range []string{"/things", "/nowhere", "/things?x=%00"} {
		h := d.do("GET", target).Header()
		for name, want := range map[string]string{
			"RateLimit-Name": "throttle_unauthenticated_api", "RateLimit-Limit": "10", "RateLimit-Observed": fmt.Sprint(observed + 1),
			"RateLimit-Remaining": fmt.Sprint(9 - observed), "RateLimit-Reset": "1714996860", "RateLimit-ResetTime": "Mon, 06 May 2024 12:01:00 GMT",
			"Retry-After": "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: got %s %q, want %q", target, name, got, want)
			}
		}
	}
}

func TestRetryAfterIsNeverTooEarly(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1))
	now := clock.Clock(func() time.Time { return noon.Add(200 * time.Millisecond) })
	d.Clock, d.Limiter = now, ratelimit.New(now, nil)
	d.limits.anonymous = &ratelimit.Rule{Name: "throttle", Limit: 1, Period: time.Minute}
	d.do("GET", "/things")
	if got := d.do("GET", "/things").Header().Get("Retry-After"); got != "48" { // 47.8 s are left
		t.Errorf("got %q", got)
	}
}

func TestWithoutAThrottleThereAreNoRateHeaders(t *testing.T) {
	t.Parallel()
	d := open(t, answer("GET /things", 1))
	for name := range d.do("GET", "/things").Header() {
		if strings.HasPrefix(name, "Ratelimit") {
			t.Errorf("got %s", name)
		}
	}
}

func TestTheLimitOfAnEndpointCountsPeopleAndAddresses(t *testing.T) {
	t.Parallel()
	d := open(t,
		Do(Spec{Route: "GET /users/{id}", Needs: access.Anyone, Limit: "users_get_by_id"},
			func(context.Context, Call[None, struct{}]) (int, error) { return 1, nil }),
		Do(Spec{Route: "GET /free", Needs: access.Anyone, Limit: "not_configured"},
			func(context.Context, Call[None, struct{}]) (int, error) { return 1, nil }))
	d.limits.endpoints["users_get_by_id"] = ratelimit.Rule{Name: "users_get_by_id", Limit: 1, Period: time.Minute}
	const tooMany = `{"message":{"error":"This endpoint has been requested too many times. Try again later."}}`
	for _, options := range [][]option{nil, {token("member")}, {token("admin")}} {
		wantStatus(t, d.do("GET", "/users/1", options...), http.StatusOK)
		w := d.do("GET", "/users/1", options...)
		wantJSON(t, w, http.StatusTooManyRequests, tooMany)
		if w.Header().Get("RateLimit-Name") != "" {
			t.Error("rate headers on the limit of an endpoint")
		}
		wantStatus(t, d.do("GET", "/free", options...), http.StatusOK)
	}
}

// plot is a project in which everybody has one role.
type plot struct{ role access.Role }

func (p plot) Target() access.Target { return access.Target{Visibility: access.Public, Role: p.role} }

func TestAnAbilityInAnOwnerIsAskedForBeforeTheLimitAndTheParametersOrAfterThem(t *testing.T) {
	t.Parallel()
	onPlot := func(spec Spec) Endpoint {
		return On(spec, func(_ context.Context, _ access.Actor, p thingParams) (plot, error) {
			return plot{access.Role(p.ID)}, nil
		},
			func(context.Context, Call[plot, thingParams]) (NoContent, error) { return NoContent{}, nil })
	}
	d := open(t,
		onPlot(Spec{Route: "POST /early/{id}", Needs: access.PushCode, Limit: "plots"}),
		onPlot(Spec{Route: "POST /late/{id}", Needs: access.PushCode, AfterParams: true}),
	)
	d.limits.endpoints["plots"] = ratelimit.Rule{Name: "plots", Limit: 2, Period: time.Minute}
	for _, c := range []struct {
		target string
		status int
	}{
		{"/early/10", http.StatusForbidden},
		{"/early/10?count=1", http.StatusForbidden},
		{"/early/10?count=1", http.StatusForbidden}, // who may not ask uses nothing up
		{"/early/40", http.StatusBadRequest},
		{"/early/40?count=1", http.StatusNoContent},
		{"/early/40?count=1", http.StatusTooManyRequests},
		{"/late/10", http.StatusBadRequest},
		{"/late/10?count=1", http.StatusForbidden},
		{"/late/40?count=1", http.StatusNoContent},
	} {
		if w := d.do("POST", c.target, token("member")); w.Code != c.status {
			t.Errorf("%s: got %d %s, want %d", c.target, w.Code, w.Body, c.status)
		}
	}
}

func TestADeleteRefusesWhatChangedSince(t *testing.T) {
	t.Parallel()
	d := open(t,
		onThing(Spec{Route: "DELETE /things/{id}", Needs: access.Anyone}),
		onThing(Spec{Route: "PUT /things/{id}", Needs: access.Anyone}),
		answer("DELETE /undated", NoContent{}))
	for since, status := range map[string]int{
		noon.Add(-time.Second).Format(http.TimeFormat): http.StatusPreconditionFailed,
		noon.Format(http.TimeFormat):                   http.StatusNoContent, // the same second
		noon.Add(time.Hour).Format(http.TimeFormat):    http.StatusNoContent,
		"yesterday": http.StatusNoContent,
		"":          http.StatusNoContent,
	} {
		unmodified := header("If-Unmodified-Since", since)
		w := d.do("DELETE", "/things/1?count=1", unmodified)
		wantStatus(t, w, status)
		if status == http.StatusPreconditionFailed {
			wantJSON(t, w, status, `{"message":"412 Precondition Failed"}`)
		}
		wantStatus(t, d.do("PUT", "/things/1?count=1", unmodified), http.StatusNoContent)
		wantStatus(t, d.do("DELETE", "/undated", unmodified), http.StatusNoContent)
	}
}
