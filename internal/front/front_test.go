package front_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"stithy/internal/front"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/telemetry"
)

// provider owns what is declared for it, which is one path here.
type provider struct{ http.Handler }

func (provider) Owns(path string) bool { return path == "/oauth/token" }

func newFront(log *bytes.Buffer, api http.HandlerFunc) *front.Front {
	answering := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	never := answering(http.StatusTeapot)
	return &front.Front{
		API: api, Docs: never, Avatars: never, Pages: never, Errors: answering(http.StatusCreated), OAuth: provider{answering(http.StatusNoContent)}, Title: "Svc", Metrics: telemetry.NewMetrics("test", "test"),
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Clock: clock.System(),
		Watchers: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Draining: make(chan struct{}),
	}
}

func get(f *front.Front, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", target, nil)
	r.RemoteAddr = "127.0.0.1:4711"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	return w
}

func TestARequestIsShownToItsDoorAndWrittenDown(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := newFront(&log, func(w http.ResponseWriter, r *http.Request) {
		httpapi.RecorderOf(r.Context()).SetRoute("/users/{id}", access.Actor{Person: &access.Person{ID: 7}, Sudoer: &access.Person{ID: 1}})
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte("made"))
	})
	w := get(f, "/api/v4/users/7?private_token=canary", func(r *http.Request) { r.Header.Set("X-Request-Id", "from-the-proxy") })
	if w.Code != http.StatusCreated || w.Header().Get("X-Request-Id") != "from-the-proxy" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"request_id": "from-the-proxy", "route": "/users/{id}", "status": 201.0, "bytes": 4.0, "user_id": 7.0, "sudo_id": 1.0,
		"address": "127.0.0.1", "method": "GET",
	} {
		if line[name] != want {
			t.Errorf("%s: got %v, want %v", name, line[name], want)
		}
	}
	if strings.Contains(log.String(), "canary") {
		t.Error("the log holds a token")
	}
}

// A client that hangs up makes whatever works for it fail.
func TestARequestThatNobodyWaitsForIsNoFailureOfTheServer(t *testing.T) {
	t.Parallel()
	for name, answered := range map[string]int{"a failure": http.StatusInternalServerError, "not available": http.StatusServiceUnavailable, "nothing": 0, "done": http.StatusCreated} {
		var log bytes.Buffer
		gone, hangUp := context.WithCancel(t.Context())
		f := newFront(&log, func(w http.ResponseWriter, _ *http.Request) {
			if hangUp(); answered != 0 {
				w.WriteHeader(answered)
			}
		})
		get(f, "/api/v4/x", func(r *http.Request) { *r = *r.WithContext(gone) })
		want := 499.0
		if answered == http.StatusCreated {
			want = http.StatusCreated
		}
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line["status"] != want || line["level"] != "INFO" {
			t.Errorf("%s: the log says %s", name, &log)
		}
	}
}

func TestAReadinessProbeThatHangsUpWarnsNobody(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := newFront(&log, nil)
	gone, hangUp := context.WithCancel(t.Context())
	f.Checks = []front.Check{{Name: "db", Do: func(ctx context.Context) error { hangUp(); return ctx.Err() }}}
	get(f, "/-/readiness", func(r *http.Request) { *r = *r.WithContext(gone) })
	if strings.Contains(log.String(), "WARN") || !strings.Contains(log.String(), `"status":499`) {
		t.Errorf("the log says %s", &log)
	}
}

func TestEachPathFindsItsDoor(t *testing.T) {
	t.Parallel()
	f := newFront(&bytes.Buffer{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	for path, want := range map[string]int{
		"/api/v4/user": 202, "/api/v3/users": 410, "/api/v5/x": 404, "/api": 404, "/-/api": 418, "/-/api/users": 418,
		"/uploads/-/system/user/avatar/1/a.png": 418, "/": 418, "/-/health": 200, "/-/liveness": 200, "/-/nothing": 418, "/ann/forge": 418,
		"/errortracking/api/v1/projects/api/5/envelope/": 201, "/api/v4/error_tracking/collector/api/5/store": 201, "/errortracking/forge": 418,
		"/oauth/token": 204, "/oauth/authorize": 418, "/.well-known/openid-configuration": 204,
	} {
		if w := get(f, path, nil); w.Code != want {
			t.Errorf("%s: got %d, want %d", path, w.Code, want)
		}
	}
}

func TestReadinessNamesWhatFails(t *testing.T) {
	t.Parallel()
	f := newFront(&bytes.Buffer{}, nil)
	dead := errors.New("connection refused by secret-host")
	f.Checks = []front.Check{
		{Name: "db", Do: func(context.Context) error { return nil }},
		{Name: "cache", Do: func(context.Context) error { return dead }, Optional: true},
		{Name: "disk", Do: func(context.Context) error { return front.ReasonError("data has 3 MB left") }, Optional: true},
	}
	for target, want := range map[string]string{
		"/-/readiness":       `200 {"master_check":[{"status":"ok"}],"status":"ok"}`,
		"/-/readiness?all=1": `200 {"cache_check":[{"status":"failed","message":"cache does not answer"}],"db_check":[{"status":"ok"}],"disk_check":[{"status":"failed","message":"data has 3 MB left"}],"master_check":[{"status":"ok"}],"status":"ok"}`,
	} {
		if w := get(f, target, nil); w.Code != 200 || "200 "+w.Body.String() != want {
			t.Errorf("%s: got %d %s", target, w.Code, w.Body)
		}
	}
	f.Checks[0].Do = func(context.Context) error { return dead }
	if w := get(f, "/-/readiness", nil); w.Code != 503 || w.Body.String() != `{"master_check":[{"status":"failed","message":"db does not answer"}],"status":"failed"}` {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestANodeThatIsAboutToStopIsNotReady(t *testing.T) {
	t.Parallel()
	f := newFront(&bytes.Buffer{}, nil)
	draining := make(chan struct{})
	close(draining)
	f.Draining = draining
	if w := get(f, "/-/readiness", nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := get(f, "/-/liveness", nil); w.Code != http.StatusOK {
		t.Errorf("a draining node is alive: got %d", w.Code)
	}
}

func TestDO09_APathThatIsNoTextReachesNoDoor(t *testing.T) {
	t.Parallel()
	door := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%q reaches a door", r.URL.Path) })
	f := &front.Front{
		API: http.NotFoundHandler(), Docs: door, Avatars: door, OAuth: provider{door}, Pages: door,
		Metrics: telemetry.NewMetrics("1", "x"), Log: slog.New(slog.DiscardHandler), Clock: clock.System(),
	}
	for _, path := range []string{"/a%00b", "/%ff", "/uploads/-/system/user/avatar/1/a%00b", "/group/project.git/%00", "/oauth/%c3%28"} {
		w := httptest.NewRecorder()
		f.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestSU07_AnUnreadableWordOfATrustedProxyIsRefused(t *testing.T) {
	t.Parallel()
	f := newFront(&bytes.Buffer{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(httpapi.RecorderOf(r.Context()).Address.String()))
	})
	f.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	for hops, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "1.2.3.4, 192.0.2.1, 10.0.0.1": "192.0.2.1", "garbage, 192.0.2.1": "192.0.2.1", "192.0.2.1:80": "192.0.2.1",
		"[2001:db8::1]": "2001:db8::1", "[2001:db8::1]:80": "2001:db8::1", "::ffff:192.0.2.1": "192.0.2.1", "10.0.0.1": "10.0.0.1", "fe80::1%eth0": "fe80::1",
		"": "", "unknown": "", "192.0.2.1,": "", "192.0.2.1, unknown": "", "unknown, 10.0.0.1": "", ", 10.0.0.1": "", "192.0.2.1:x": "", "192.0.2.256": "",
	} {
		w := get(f, "/api/v4/x", func(r *http.Request) { r.Header.Set("X-Forwarded-For", hops) })
		if want == "" && w.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", hops, w.Code)
		}
		if want != "" && w.Body.String() != want {
			t.Errorf("%q comes from %s, want %s", hops, w.Body, want)
		}
	}
}

func TestAPathOfAnyLengthReachesNoDoor(t *testing.T) {
	t.Parallel()
	f := newFront(&bytes.Buffer{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	for path, want := range map[string]int{
		"/api/v4/" + strings.Repeat("a", 32<<10-8): http.StatusAccepted, "/api/v4/" + strings.Repeat("a", 32<<10-7): http.StatusRequestURITooLong,
		"/" + strings.Repeat("%2F", 9<<10): http.StatusRequestURITooLong, // as it came and as it is read
	} {
		if w := get(f, path, nil); w.Code != want {
			t.Errorf("%d bytes: got %d, want %d", len(path), w.Code, want)
		}
	}
}

func TestSU07_WhoComesThroughAStrangersProxyIsNoWatcher(t *testing.T) {
	t.Parallel()
	f := newFront(&bytes.Buffer{}, nil)
	for _, header := range []string{"X-Forwarded-For", "Forwarded"} {
		w := get(f, "/-/liveness", func(r *http.Request) { r.Header.Set(header, "for=127.0.0.1") })
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: got %d", header, w.Code)
		}
	}
}

// hijacked is a connection that is given away.
type hijacked struct{ http.ResponseWriter }

func (hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, nil }

func TestARequestThatWaitsIsWrittenDownWhenItIsAnswered(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	parks := true
	f := newFront(&log, func(w http.ResponseWriter, _ *http.Request) {
		if parks {
			_, _, _ = http.NewResponseController(w).Hijack()
		}
	})
	serve := func() {
		f.Handler().ServeHTTP(hijacked{httptest.NewRecorder()}, httptest.NewRequest("POST", "/api/v4/jobs/request", nil))
	}
	if serve(); log.Len() > 0 {
		t.Errorf("the log says of a request that waits: %s", &log)
	}
	parks = false
	if serve(); !strings.Contains(log.String(), `"status":200`) {
		t.Errorf("the log says of its answer: %s", &log)
	}
	if metrics := get(f, "/-/metrics", nil).Body.String(); !strings.Contains(metrics, "requests_in_flight 1\n") { // the one that asks
		t.Errorf("the metrics say: %s", metrics)
	}
}
