package app

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/setting"
)

// pair is two nodes of one instance, with a counter that they share.
func (i *instance) pair(t testing.TB) [2]*instance {
	t.Helper()
	// A hit that does not wait for Redis counts on its own node, as it should when somebody waits for an answer.
	shared, err := ratelimit.NewRedisWithin("redis://127.0.0.1:6379/0", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Close() })
	var nodes [2]*instance
	for n := range nodes {
		parts := i.Parts
		parts.Redis = shared
		other, err := Assemble(parts)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Settings.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		nodes[n] = &instance{App: other, handler: other.Handler(), log: i.log, root: i.root, ann: i.ann}
	}
	return nodes
}

// from gives a browser an address that no other test has.
func (b *browser) from(address string) *browser {
	b.change = func(r *http.Request) { r.RemoteAddr = address }
	return b
}

func someAddress() string {
	return fmt.Sprintf("[2001:db8:%x:%x::1]:4711", rand.N(1<<16), rand.N(1<<16))
}

// What people send to the doors of an instance is counted by address, whichever
// node takes it.
func TestProtectedPathsAreThrottledOverAllNodes(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	if err := i.Settings.Update(t.Context(), access.Actor{Person: i.root.Person()}, func(now *setting.Settings) {
		now.ThrottleProtectedPathsEnabled, now.ThrottleProtectedPathsRequestsPerPeriod, now.ThrottleProtectedPathsPeriodInSeconds = true, 4, 3600
		now.ProtectedPaths = append(now.ProtectedPaths, "/oauth/token")
		now.SignupEnabled = true
	}); err != nil {
		t.Fatal(err)
	}
	nodes := i.pair(t)
	for name, form := range map[string]url.Values{
		"/users/sign_in":               {"user[login]": {"nobody"}, "user[password]": {"wrong password"}},
		"/users/sign_in/second_factor": {"code": {"123456"}},
		"/users/password/new":          {"email": {"nobody@example.com"}},
		"/users/password/edit":         {"password": {"x"}},
		"/users/confirmation/new":      {"email": {"nobody@example.com"}},
		"/users/confirmation":          {"confirmation_token": {"x"}},
		"/users/sign_up":               {"username": {""}},
		"/oauth/token":                 {"grant_type": {"password"}},
	} {
		address := someAddress()
		for n := range 6 {
			b := nodes[n%2].browser(t).from(address)
			w := b.send("POST", name, form)
			if throttled := w.Code == http.StatusTooManyRequests; throttled != (n >= 4) {
				t.Fatalf("%s, request %d: %d %s", name, n+1, w.Code, w.Body)
			}
			if n < 4 {
				continue
			}
			if w.Body.String() != "Retry later\n" || w.Header().Get("RateLimit-Name") != "throttle_unauthenticated_protected_paths" || w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: %q %v", name, w.Body, w.Header())
			}
		}
		if w := nodes[0].browser(t).from(someAddress()).send("POST", name, form); w.Code == http.StatusTooManyRequests {
			t.Errorf("%s: another address is refused, too", name)
		}
		if w := nodes[0].browser(t).from(address).send("GET", "/users/sign_in", nil); w.Code != http.StatusOK {
			t.Errorf("%s: looking is refused, too: %d", name, w.Code)
		}
	}
}

// Pages count as pages; where applications send people counts with them.
func TestPagesAreThrottledByPersonOrAddressOverAllNodes(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	// Other tests count in the same place.
	if _, err := i.DB.Exec(t.Context(), `select setval(pg_get_serial_sequence('users', 'id'), $1)`, 1000+rand.Int64N(1<<40)); err != nil {
		t.Fatal(err)
	}
	ann := i.withPassword(t)
	address := someAddress()
	signedIn := i.browser(t).from(address)
	signedIn.signIn(ann.Username, goodPassword)
	if err := i.Settings.Update(t.Context(), access.Actor{Person: i.root.Person()}, func(now *setting.Settings) {
		now.ThrottleUnauthenticatedWebEnabled, now.ThrottleUnauthenticatedWebRequestsPerPeriod, now.ThrottleUnauthenticatedWebPeriodInSeconds = true, 3, 86400
		now.ThrottleAuthenticatedWebEnabled, now.ThrottleAuthenticatedWebRequestsPerPeriod, now.ThrottleAuthenticatedWebPeriodInSeconds = true, 5, 86400
		now.ThrottleUnauthenticatedAPIEnabled, now.ThrottleUnauthenticatedAPIRequestsPerPeriod, now.ThrottleUnauthenticatedAPIPeriodInSeconds = true, 2, 86400
		now.ThrottleAuthenticatedAPIEnabled, now.ThrottleAuthenticatedAPIRequestsPerPeriod, now.ThrottleAuthenticatedAPIPeriodInSeconds = true, 4, 86400
	}); err != nil {
		t.Fatal(err)
	}
	nodes := i.pair(t)
	for _, tt := range []struct {
		rule, path string
		person     bool
		most       int
	}{
		{"throttle_unauthenticated_web", "/users/sign_in", false, 3},
		{"throttle_authenticated_web", "/-/user_settings/profile", true, 5},
		{"throttle_unauthenticated_api", "/oauth/authorize", false, 2},
		{"throttle_authenticated_api", "/oauth/authorize", true, 4},
		{"throttle_unauthenticated_api", "/oauth/token/info", false, 2},
	} {
		where := someAddress()
		for n := range tt.most + 2 {
			b := nodes[n%2].browser(t).from(strings.Replace(where, "::1]", fmt.Sprintf("::%x]", n+1), 1)) // of one network
			if tt.person {
				b.cookies = signedIn.cookies
			}
			w := b.send("GET", tt.path, nil)
			if throttled := w.Code == http.StatusTooManyRequests; throttled != (n >= tt.most) {
				t.Fatalf("%s, request %d of a person %v: %d", tt.path, n+1, tt.person, w.Code)
			}
			if name := w.Header().Get("RateLimit-Name"); name != tt.rule {
				t.Errorf("%s: counted as %q", tt.path, name)
			}
		}
	}
	if w := nodes[1].browser(t).from(address).send("GET", "/users/sign_in", nil); w.Header().Get("X-Frame-Options") != "DENY" {
		t.Error("a page without its headers")
	}
}

// Runners are nobody: what they send is counted by address, and the refusal
// says when to come again in the headers that they read.
func TestRoutesOfRunnersAreThrottledByAddress(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	if err := i.Settings.Update(t.Context(), access.Actor{Person: i.root.Person()}, func(now *setting.Settings) {
		now.ThrottleUnauthenticatedAPIEnabled, now.ThrottleUnauthenticatedAPIRequestsPerPeriod, now.ThrottleUnauthenticatedAPIPeriodInSeconds = true, 3, 86400
	}); err != nil {
		t.Fatal(err)
	}
	nodes := i.pair(t)
	for _, c := range []struct{ method, path string }{
		{"POST", "/jobs/request"}, {"PATCH", "/jobs/1/trace"}, {"PUT", "/jobs/1"}, {"POST", "/jobs/1/artifacts"}, {"GET", "/jobs/1/artifacts"},
		{"POST", "/runners/verify"}, {"POST", "/runners"}, {"POST", "/projects/1/trigger/pipeline"},
	} {
		address := someAddress()
		ask := func(n int, from string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(c.method, "/api/v4"+c.path, strings.NewReader(`{"token":"wrong","ref":"main"}`))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = from
			w := httptest.NewRecorder()
			nodes[n%2].handler.ServeHTTP(w, r)
			return w
		}
		for n := range 5 {
			w := ask(n, address)
			if throttled := w.Code == http.StatusTooManyRequests; throttled != (n >= 3) {
				t.Fatalf("%s %s, request %d: %d %s", c.method, c.path, n+1, w.Code, w.Body)
			}
			if n >= 3 && (w.Header().Get("Retry-After") == "" || w.Header().Get("RateLimit-ResetTime") == "") {
				t.Errorf("%s %s: %v", c.method, c.path, w.Header())
			}
		}
		if w := ask(0, someAddress()); w.Code == http.StatusTooManyRequests {
			t.Errorf("%s %s: another address is refused, too", c.method, c.path)
		}
	}
}
