package errortracking_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
)

// shown is an error as the API shows it.
type shown struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Message  string `json:"message"`
	Culprit  string `json:"culprit"`
	Platform string `json:"platform"`
	Level    string `json:"level"`
	Status   string `json:"status"`
	Events   int    `json:"events_count"`
	People   int    `json:"users_count"`
}

func (w *fixture) errorsOf(t testing.TB, query string) []shown {
	t.Helper()
	return httpapitest.JSON[[]shown](t, w.as(access.Reporter).Do(t, "GET", w.at("errors%s", query), nil).WantStatus(t, http.StatusOK))
}

func TestProgramsReportAtEveryAddressWithEveryKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, fmt.Sprintf(value, k.PublicKey)) }
	}
	query := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.URL.RawQuery = name + "=" + k.PublicKey }
	}
	n := 0
	for _, path := range []string{
		"/errortracking/api/v1/projects/api/%d/store/", "/errortracking/api/v1/projects/api/%d/store", "/api/v4/error_tracking/collector/api/%d/store/",
		"/api/v4/error_tracking/collector/api/%d/store", "/errortracking/api/v1/projects/api/%d/envelope/", "/api/v4/error_tracking/collector/api/%d/envelope",
	} {
		for _, show := range []func(*http.Request){
			header("X-Sentry-Auth", "Sentry sentry_version=7, sentry_client=x/1, sentry_key=%s"), header("X-Sentry-Auth", "sentry sentry_key=%s,sentry_version=7"),
			header("X-Errsvc-Auth", "Errsvc errsvc_version=7, errsvc_key=%s, errsvc_client=x"), header("Authorization", "Sentry sentry_key=%s"),
			query("sentry_key"), query("errsvc_key"),
			func(r *http.Request) {
				header("X-Sentry-Auth", "Sentry sentry_key=%s")(r)
				r.Header.Set("Authorization", "Basic eDp5")
			},
		} {
			n++
			body := fmt.Sprintf(`{"message":"a","event_id":"%032x"}`, n)
			if strings.Contains(path, "envelope") {
				body = "{}\n{\"type\":\"event\"}\n" + body
			}
			if rec := w.send(t, fmt.Sprintf(path, w.project.ID), body, show); rec.Code != http.StatusOK || rec.Body.Len() != 0 {
				t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
			}
		}
	}
	n++
	body := fmt.Sprintf("{\"dsn\":%q,\"event_id\":\"%032x\"}\n{\"type\":\"event\"}\n{\"message\":\"a\"}\n", k.DSN, n)
	if rec := w.send(t, w.intake("envelope"), body); rec.Code != http.StatusOK {
		t.Errorf("with the key in the envelope: %d %s", rec.Code, rec.Body)
	}
	if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events != n {
		t.Errorf("of %d events there are %+v", n, got)
	}
}

func TestER03_AReportThatCannotBeTakenIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	const (
		missing     = `{"message":"404 Not Found"}`
		unreadable  = `{"message":"400 Bad request - Failed to parse errsvc request"}`
		unsupported = `{"message":"400 Bad request - Unsupported errsvc payload"}`
		large       = `{"message":"413 Request Entity Too Large"}`
	)
	other := projecttest.New(t, w.core.DB, w.project.NamespaceID)
	raw := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		fact, path, body string
		change           func(*http.Request)
		status           int
		want             string
	}{
		{"an unknown key", w.intake("store"), `{}`, raw("X-Sentry-Auth", "Sentry sentry_key=svcet_0"), 404, missing},
		{"an unknown project", "/errortracking/api/v1/projects/api/987654321/store/", `{}`, auth(k), 404, missing},
		{"the key of another project", fmt.Sprintf("/errortracking/api/v1/projects/api/%d/store/", other.ID), `{}`, auth(k), 404, missing},
		{"a project that is no number", "/errortracking/api/v1/projects/api/x/store/", `{}`, auth(k), 404, missing},
		{"no such address", w.intake("minidump"), `{}`, auth(k), 404, missing},
		{"no key", w.intake("store"), `{}`, func(*http.Request) {}, 400, unreadable},
		{"no key in an envelope either", w.intake("envelope"), `{}`, func(*http.Request) {}, 400, unreadable},
		{"a header that is none", w.intake("store"), `{}`, raw("X-Sentry-Auth", "nonsense"), 400, unreadable},
		{"a header without a key", w.intake("store"), `{}`, raw("X-Sentry-Auth", "Sentry sentry_version=7"), 400, unreadable},
		{"an envelope that is none", w.intake("envelope"), `x`, auth(k), 400, unreadable},
		{"an item that is none", w.intake("envelope"), "{}\nx", auth(k), 400, unreadable},
		{"bytes that are not packed as they say", w.intake("store"), `{}`, func(r *http.Request) { auth(k)(r); r.Header.Set("Content-Encoding", "gzip") }, 400, unreadable},
		{"an event that is none", w.intake("store"), `[]`, auth(k), 400, unsupported},
		{"an id that is none", w.intake("store"), `{"event_id":"5"}`, auth(k), 400, unsupported},
		{"a large body", w.intake("store"), strings.Repeat("x", 2<<20+1), auth(k), 413, large},
		{"a large event", w.intake("store"), `{"message":"` + strings.Repeat("x", 1<<20) + `"}`, auth(k), 413, large},
		{"a large body of a stranger", w.intake("envelope"), "{}\n" + strings.Repeat("x", 300<<10), func(*http.Request) {}, 413, large},
		{"another method", w.intake("store"), `{}`, func(r *http.Request) { r.Method = http.MethodGet }, 405, `{"message":"405 Method Not Allowed"}`},
		{"another packing", w.intake("store"), `{}`, func(r *http.Request) { auth(k)(r); r.Header.Set("Content-Encoding", "zstd") }, 415,
			`{"message":"415 Unsupported Media Type"}`},
	} {
		rec := w.send(t, c.path, c.body, c.change)
		if got := strings.TrimSpace(rec.Body.String()); rec.Code != c.status || got != c.want {
			t.Errorf("%s: %d %s", c.fact, rec.Code, got)
		}
	}
	w.as(access.Maintainer).Do(t, "PATCH", w.at("settings"), object{"active": false}).WantStatus(t, http.StatusOK)
	if rec := w.send(t, w.intake("store"), `{}`, auth(k)); rec.Code != http.StatusNotFound {
		t.Errorf("switched off: %d", rec.Code)
	}
	if got := w.count(t, `select count(*)::integer from tracked_errors`); got != 0 {
		t.Errorf("%d errors", got)
	}
}

func TestWhatSDKsSendBesideEventsIsPassedOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	for _, kind := range []string{
		"transaction", "session", "sessions", "client_report", "user_report", "attachment", "profile", "profile_chunk", "replay_event", "replay_recording",
		"check_in", "span", "log", "otel_log", "statsd", "feedback", "trace_metric", "whatever_comes",
	} {
		if rec := w.send(t, w.intake("envelope"), "{}\n{\"type\":\""+kind+"\",\"length\":4}\n\x00{\n}\n", auth(k)); rec.Code != http.StatusOK {
			t.Errorf("%s: %d %s", kind, rec.Code, rec.Body)
		}
	}
	if got := w.errorsOf(t, ""); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestScriptsOfOtherOriginsReport(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	rec := w.send(t, w.intake("envelope"), "", func(r *http.Request) {
		r.Method = http.MethodOptions
		r.Header.Set("Origin", "https://shop.example")
		r.Header.Set("Access-Control-Request-Headers", "content-type,x-sentry-auth")
	})
	if rec.Code != http.StatusNoContent || rec.Header().Get("Access-Control-Allow-Origin") != "*" ||
		rec.Header().Get("Access-Control-Allow-Headers") != "content-type,x-sentry-auth" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	rec = w.send(t, w.intake("envelope"), "{}\n", auth(k))
	if rec.Code != http.StatusOK || rec.Header().Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(rec.Header().Get("Access-Control-Expose-Headers"), "X-Sentry-Rate-Limits") {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
}

// served opens the door on a port, for SDKs.
func (w *fixture) served(t testing.TB) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.door.ServeHTTP(rw, r.WithContext(httpapi.WithRecorder(r.Context(), &httpapi.Recorder{Address: httpapitest.Address, RequestID: "test"})))
	}))
	t.Cleanup(s.Close)
	return s
}

var errBroken = errors.New("the thing is broken")

func TestAProgramWithAnUnmodifiedSDKReports(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	server := w.served(t)
	client, err := sentry.NewClient(sentry.ClientOptions{
		Dsn:     strings.Replace(k.DSN, "https://"+k.PublicKey+"@forge.example", "http://"+k.PublicKey+"@"+server.Listener.Addr().String(), 1),
		Release: "tool@1.2", Environment: "staging", AttachStacktrace: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	scope := sentry.NewScope()
	scope.SetUser(sentry.User{ID: "5", Email: "ann@example.com"})
	scope.SetTag("shard", "7")
	hub := sentry.NewHub(client, scope)
	hub.CaptureException(fmt.Errorf("serving: %w", errBroken))
	hub.CaptureMessage("something else")
	if !hub.Flush(20 * time.Second) {
		t.Fatal("not sent")
	}
	got := w.errorsOf(t, "?environment=staging&release=tool@1.2&sort=first_seen")
	if len(got) != 2 {
		t.Fatalf("got %+v", got)
	}
	for _, e := range got {
		if e.Platform != "go" || e.Events != 1 || e.People != 1 || e.Status != "unresolved" {
			t.Errorf("got %+v", e)
		}
	}
	events := w.as(access.Reporter).Do(t, "GET", w.at("errors/%d/events", got[0].ID), nil).WantStatus(t, http.StatusOK)
	if !strings.Contains(events.Body, `"name":"shard","value":"7"`) || strings.Contains(events.Body, "ann@") || !strings.Contains(events.Body, "TestAProgram") {
		t.Error(events.Body)
	}
}

// A thousand events at once are all counted, one more is refused so that the SDK waits, and a deleted key is good for none.
func TestABurstOfAnUnmodifiedSDKIsCounted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	server := w.served(t)
	hub := func(k key) *sentry.Hub {
		transport := sentry.NewHTTPTransport()
		transport.BufferSize = 1000
		client, err := sentry.NewClient(sentry.ClientOptions{
			Dsn:       strings.Replace(k.DSN, "https://"+k.PublicKey+"@forge.example", "http://"+k.PublicKey+"@"+server.Listener.Addr().String(), 1),
			Transport: transport, Release: "tool@1.2",
		})
		if err != nil {
			t.Fatal(err)
		}
		return sentry.NewHub(client, sentry.NewScope())
	}
	h := hub(k)
	send := func(messages ...string) {
		t.Helper()
		for _, m := range messages {
			h.CaptureMessage(m)
		}
		if !h.Flush(2 * time.Minute) {
			t.Fatal("not sent")
		}
	}
	var burst []string
	for n := range 1000 {
		burst = append(burst, fmt.Sprintf("%s of job %d took %d ms", []string{"start", "end"}[n%2], n, n*7))
	}
	send(burst...)
	send("one too many")
	send("while it waits")
	count := func(want int) {
		t.Helper()
		got, sum := w.errorsOf(t, ""), 0
		for _, e := range got {
			sum += e.Events
		}
		if len(got) != 2 || sum != want {
			t.Errorf("%d events in %+v", sum, got)
		}
	}
	count(1000)
	w.turn(time.Minute)
	next := httpapitest.JSON[key](t, w.as(access.Maintainer).Do(t, "POST", w.at("client_keys"), nil).WantStatus(t, http.StatusCreated))
	w.as(access.Maintainer).Do(t, "DELETE", w.at("client_keys/%d", k.ID), nil).WantStatus(t, http.StatusOK)
	h = hub(k)
	send("start of job 5 took 6 ms")
	count(1000)
	h = hub(next)
	send("start of job 5 took 6 ms")
	count(1001)
}

func TestSamplesOfOtherSDKsAreTaken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	for _, name := range []string{"python.envelope", "browser.envelope", "java.json"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		what := "envelope"
		if strings.HasSuffix(name, "json") {
			what = "store"
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(text)
		_ = z.Close()
		rec := w.send(t, w.intake(what), packed.String(), auth(k), func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") })
		if rec.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
	var names []string
	for _, e := range w.errorsOf(t, "") {
		names = append(names, e.Platform+" "+e.Name+" "+e.Level)
	}
	want := []string{"javascript TypeError error", "python ZeroDivisionError error", "java Job 4711 failed fatal"}
	if diff := cmp.Diff(len(want), len(names)); diff != "" {
		t.Errorf("got %q", names)
	}
	for _, e := range want {
		if !strings.Contains(strings.Join(names, "\n"), e) {
			t.Errorf("%s is not in %q", e, names)
		}
	}
}

func TestAnEventThatIsSentTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	const event = `{"event_id":"5d9b0c1a7e3f4a2b8c6d1e2f3a4b5c6d","message":"a","user":{"id":1},"release":"1","environment":"e"}`
	w.report(t, k, event)
	w.report(t, k, event)
	w.turn(24 * time.Hour)
	w.report(t, k, event)
	if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events != 1 || got[0].People != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestEachPersonWhoMetAnErrorIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	for n, who := range []string{
		`{"id":1}`, `{"id":2}`, `{"id":1,"email":"a@b.cd"}`, `{"email":"a@b.cd"}`, `{"username":"ann"}`, `{}`, `null`, `{"ip_address":"{{auto}}"}`, `{"ip_address":"{{auto}}"}`,
	} {
		w.report(t, k, fmt.Sprintf(`{"event_id":"%032x","message":"a","user":%s}`, n+1, who))
	}
	if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events != 9 || got[0].People != 5 {
		t.Errorf("got %+v", got)
	}
}

func TestAResolvedErrorComesBackAndAnIgnoredOneDoesNot(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	report := func(n int, at time.Time) {
		w.report(t, k, fmt.Sprintf(`{"event_id":"%032x","message":"a","timestamp":%q}`, n, at.Format(time.RFC3339)))
	}
	status := func(want string, events int) {
		t.Helper()
		if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Status != want || got[0].Events != events {
			t.Errorf("got %+v", got)
		}
	}
	report(1, w.time())
	path := w.at("errors/%d", w.errorsOf(t, "")[0].ID)
	w.turn(time.Hour)
	w.as(access.Developer).Do(t, "PUT", path, object{"status": "resolved"}).WantStatus(t, http.StatusOK)
	report(2, w.time().Add(-time.Minute))
	status("resolved", 2)
	w.turn(time.Hour)
	report(3, w.time())
	status("unresolved", 3)
	if got := w.as(access.Reporter).Do(t, "GET", path, nil); strings.Contains(got.Body, `"regressed_at":null`) {
		t.Error(got.Body)
	}
	w.as(access.Developer).Do(t, "PUT", path, object{"status": "ignored"}).WantStatus(t, http.StatusOK)
	w.turn(time.Hour)
	report(4, w.time())
	status("ignored", 4)
}

// What there is afterwards is the same, in whatever order events come, how many of them at a time, and how often each is sent.
func TestOrderBatchesAndRetriesChangeNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	var events []string
	for n := range 40 {
		events = append(events, fmt.Sprintf(`{"event_id":"%032x","message":"error of kind %c","timestamp":%q,"user":{"id":%d},"release":"r%d","environment":"e%d"}`,
			n+1, 'a'+n%5, w.time().Add(-time.Duration(n*17)*time.Minute).Format(time.RFC3339), n%7, n%3, n%2))
	}
	counted := func() (rows []string) {
		t.Helper()
		rows, err := postgres.Values[string](t.Context(), w.core.DB, `select concat_ws(' ', e.fingerprint, e.message, e.events, e.people, e.first_seen, e.last_seen, e.status,
			(select string_agg(concat_ws(' ', hour, events), ',' order by hour) from error_hours where error_id = e.id),
			(select string_agg(concat_ws(' ', kind, value, events, first_seen, last_seen), ',' order by kind, value) from error_places where error_id = e.id))
			from tracked_errors e order by fingerprint`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.core.DB.Exec(t.Context(), `with a as (delete from tracked_errors) delete from error_event_ids`); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	for _, e := range events {
		w.report(t, k, e)
	}
	want := counted()
	if len(want) != 5 {
		t.Fatalf("%d errors", len(want))
	}
	for seed := range uint64(4) {
		chance := rand.New(rand.NewPCG(seed, 0))
		sent := append(append([]string{}, events...), events[:20]...)
		chance.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		var wg sync.WaitGroup
		for len(sent) > 0 {
			n := min(len(sent), 1+chance.IntN(9))
			envelope := "{}\n{\"type\":\"event\"}\n" + strings.Join(sent[:n], "\n{\"type\":\"event\"}\n")
			sent = sent[n:]
			wg.Go(func() {
				if rec := w.send(t, w.intake("envelope"), envelope, auth(k)); rec.Code != http.StatusOK {
					t.Errorf("%d %s", rec.Code, rec.Body)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff(want, counted()); diff != "" {
			t.Errorf("seed %d:\n%s", seed, diff)
		}
	}
}

func TestER04_AProjectReportsSoManyEventsAMinute(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	batch := func(from int) string {
		var b strings.Builder
		b.WriteString("{}\n")
		for n := range 10 {
			fmt.Fprintf(&b, "{\"type\":\"event\"}\n{\"event_id\":\"%032x\",\"message\":\"a\"}\n", from+n)
		}
		return b.String()
	}
	for n := range 100 {
		if rec := w.send(t, w.intake("envelope"), batch(1+10*n), auth(k)); rec.Code != http.StatusOK {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	rec := w.send(t, w.intake("envelope"), batch(5000), auth(k))
	if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") != "55" || rec.Header().Get("X-Sentry-Rate-Limits") != "55:error;default:project:quota" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events != 1000 {
		t.Errorf("got %+v", got)
	}
	if got := w.count(t, `select count(*)::integer from error_events`); got != 100 {
		t.Errorf("%d events are kept", got)
	}
	w.turn(time.Minute)
	if rec := w.send(t, w.intake("envelope"), batch(6000), auth(k)); rec.Code != http.StatusOK {
		t.Errorf("a minute later: %d", rec.Code)
	}
}

func TestER04_AProjectHasABoundedNumberOfErrors(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	w.report(t, k, `{"message":"a"}`)
	if _, err := w.core.DB.Exec(t.Context(), `update error_tracking_settings set errors = 20000`); err != nil {
		t.Fatal(err)
	}
	w.report(t, k, `{"message":"b"}`)
	w.report(t, k, `{"message":"a","level":"info"}`)
	if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestER02_PersonalDataIsKeptWhereTheProjectWants(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const event = `{"message":"mail to ann@example.com failed","user":{"email":"ann@example.com","ip_address":"198.51.100.9"},"extra":{"password":"hunter2"}}`
	k := w.enable(t)
	w.report(t, k, event)
	kept := func() string {
		t.Helper()
		text, err := postgres.Value[string](t.Context(), w.core.DB, `select e.message || convert_from(v.payload, 'UTF8') from tracked_errors e join error_events v on v.error_id = e.id
			order by v.id desc limit 1`)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if text := kept(); strings.Contains(text, "ann@") || strings.Contains(text, "198.51") || strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	w.enable(t, object{"personal_data": true})
	w.report(t, k, strings.Replace(event, "{", `{"level":"info",`, 1))
	if text := kept(); !strings.Contains(text, "mail to ann@example.com") || !strings.Contains(text, "198.51.100.9") || strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	if got := w.errorsOf(t, ""); len(got) != 1 || got[0].People != 1 {
		t.Errorf("the setting makes another error: %+v", got)
	}
}

func TestNothingHappensInTheFuture(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	w.report(t, k, fmt.Sprintf(`{"message":"a","timestamp":%d}`, w.time().Add(time.Hour).Unix()))
	if got := w.count(t, `select count(*)::integer from tracked_errors where last_seen > $1`, w.time()); got != 0 {
		t.Error("an error was seen in the future")
	}
}

func TestWhatIsOldIsRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	for n := range 30 {
		w.report(t, k, fmt.Sprintf(`{"message":"old %c","user":{"id":1},"release":"1"}`, 'a'+n))
	}
	w.turn(60 * 24 * time.Hour)
	w.report(t, k, `{"message":"old a","event_id":"5d9b0c1a7e3f4a2b8c6d1e2f3a4b5c6d"}`)
	w.turn(31 * 24 * time.Hour)
	for range 2 { // a job may run twice
		if err := w.errors.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events != 2 {
			t.Errorf("got %+v", got)
		}
		for table, want := range map[string]int{"error_events": 1, "error_hours": 1, "error_event_ids": 1, "error_people": 1} {
			if got := w.count(t, `select count(*)::integer from `+table); got != want {
				t.Errorf("%s has %d rows", table, got)
			}
		}
		if got := w.count(t, `select errors from error_tracking_settings`); got != 1 {
			t.Errorf("%d errors are counted", got)
		}
	}
}

func TestER01_NothingThatIsSentIsAFailure(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	long := strings.Repeat("\u00e9", 5000)
	for n, body := range []string{
		`{"message":"\u0000\ud800","platform":"\u0000","release":"\u0000","environment":"\u0000","level":"\u0000","transaction":"\u0000"}`,
		`{"message":"` + long + `","platform":"` + long + `","release":"` + long + `","environment":"` + long + `","transaction":"` + long + `"}`,
		`{"exception":[{"type":"` + long + `","value":"` + long + `"}],"user":{"id":"` + long + `"},"tags":{"` + long + `":"` + long + `"}}`,
		`{"timestamp":-1e10}`, `{"timestamp":99999999999999}`, `{"timestamp":"9999-12-31T23:59:59Z"}`, `{"timestamp":"0001-01-01T00:00:00Z"}`,
		`{"exception":[{"stacktrace":{"frames":[{"lineno":-5,"colno":1e99,"context_line":null,"pre_context":[5,null]}]}}]}`,
		`{"exception":null,"tags":null,"user":null,"extra":null,"fingerprint":[],"breadcrumbs":null}`, `{"fingerprint":["\u0000","` + long + `"]}`,
		"{\"message\":\"\xff\xfe\"}", `{"a":1,"a":2}`, `{"extra":{"\u0000":"\u0000"}}`, `{"user":{"ip_address":"{{auto}}"}}`,
	} {
		if rec := w.send(t, w.intake("store"), body, auth(k)); rec.Code >= 500 {
			t.Errorf("%d: %d %s", n, rec.Code, rec.Body)
		} else if rec.Code != http.StatusOK {
			t.Logf("%d: %d %s", n, rec.Code, rec.Body)
		}
	}
	w.as(access.Reporter).Do(t, "GET", w.at("errors"), nil).WantStatus(t, http.StatusOK)
}

// Which events are taken follows from their ids: a retry is taken or dropped as it was the first time, on every node.
func TestAProjectTakesASampleOfItsEvents(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t, object{"sample_percent": 20})
	for range 2 {
		for n := range 200 {
			w.report(t, k, fmt.Sprintf(`{"event_id":"%032x","message":"a"}`, n+1))
		}
		if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events < 20 || got[0].Events > 60 {
			t.Fatalf("of 200 events %+v", got)
		}
	}
	few := w.errorsOf(t, "")[0].Events
	w.enable(t, object{"sample_percent": 100})
	for n := range 200 {
		w.report(t, k, fmt.Sprintf(`{"event_id":"%032x","message":"a"}`, n+1))
	}
	if got := w.errorsOf(t, "")[0].Events; got != 200 {
		t.Errorf("%d of 200 events, %d were in the sample", got, few)
	}
}

func TestER04_AProjectSetsALowerQuota(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t, object{"events_per_minute": 3})
	for n := range 5 {
		want := http.StatusOK
		if n >= 3 {
			want = http.StatusTooManyRequests
		}
		if rec := w.send(t, w.intake("store"), fmt.Sprintf(`{"message":"a","event_id":"%032x"}`, n+1), auth(k)); rec.Code != want {
			t.Errorf("event %d: %d", n, rec.Code)
		}
	}
}

func TestErrorsThatHappenedLongestAgoMakeRoomForNewOnes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	for _, message := range []string{"oldest", "older", "young"} {
		w.report(t, k, `{"message":"`+message+`"}`)
		w.turn(time.Minute)
	}
	w.count(t, `update error_tracking_settings set errors = $1 returning 1`, 20_000)
	w.report(t, k, `{"message":"oldest","level":"info"}`) // which has happened again
	w.report(t, k, `{"message":"new"}`)
	var names []string
	for _, e := range w.errorsOf(t, "") {
		names = append(names, e.Message)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"new", "oldest", "young"}) {
		t.Errorf("there are %q", names)
	}
	if got := w.count(t, `select errors from error_tracking_settings`); got != 20_000 {
		t.Errorf("%d errors are counted", got)
	}
	if got, want := w.count(t, `select kept_bytes::integer from error_tracking_settings`), w.count(t, `select sum(octet_length(payload))::integer from error_events`); got != want {
		t.Errorf("%d bytes are counted, and %d are kept", got, want)
	}
}

func TestDO02_ABoundedNumberOfBytesIsKeptForAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	w.count(t, `update error_tracking_settings set kept_bytes = $1 returning 1`, 1<<30-50)
	w.report(t, k, `{"message":"too large to fit"}`)
	if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events != 1 {
		t.Errorf("what is not kept is not counted: %+v", got)
	}
	if got := w.count(t, `select count(*)::integer from error_events`); got != 0 {
		t.Errorf("%d events are kept beyond the bound", got)
	}
	w.count(t, `update error_tracking_settings set kept_bytes = 0 returning 1`)
	for n := range 105 {
		w.report(t, k, fmt.Sprintf(`{"message":"too large to fit","event_id":"%032x"}`, n+1))
	}
	counted := func() int { return w.count(t, `select kept_bytes::integer from error_tracking_settings`) }
	if want := w.count(t, `select sum(octet_length(payload))::integer from error_events`); counted() != want {
		t.Errorf("%d bytes are counted, and %d are kept", counted(), want)
	}
	w.turn(91 * 24 * time.Hour)
	if err := w.errors.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counted() != 0 {
		t.Errorf("%d bytes are counted when all are gone", counted())
	}
}

func TestAProjectThatIsArchivedTakesNoReports(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	send := func(id int) int {
		return w.send(t, w.intake("store"), fmt.Sprintf(`{"message":"a","event_id":"%032x"}`, id), auth(k)).Code
	}
	if got := send(1); got != http.StatusOK {
		t.Fatalf("before: %d", got)
	}
	if _, err := w.core.DB.Exec(t.Context(), `update projects set archived = true`); err != nil {
		t.Fatal(err)
	}
	if got := send(2); got == http.StatusOK || got >= http.StatusInternalServerError {
		t.Errorf("archived: %d", got)
	}
	if n := w.count(t, `select count(*) from error_events`); n != 1 {
		t.Errorf("%d events", n)
	}
}
