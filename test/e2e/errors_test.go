package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go"

	"stithy/internal/platform/postgres"
)

func TestTheSDKOfNodeReportsErrors(t *testing.T) {
	t.Parallel()
	start(t).tour("node", "node/errors.mjs")
}

func TestTheSDKOfPythonReportsErrors(t *testing.T) {
	t.Parallel()
	need(t, "The Python SDK is missing: apt-get install -y python3-sentry-sdk", "/usr/bin/python3", "-c", "import sentry_sdk")
	start(t).tour("/usr/bin/python3", "python/errors.py")
}

// tracking is a project that takes reports.
type tracking struct {
	project int64
	key     string
}

// tracking makes a project with a quota that no test spends.
func (f *forge) tracking(t *testing.T, c *gitlab.Client) tracking {
	t.Helper()
	made := call(c.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Reports")})).ok(t, http.StatusCreated)
	at := fmt.Sprintf("projects/%d/error_tracking/", made.ID)
	var key struct {
		PublicKey string `json:"public_key"`
	}
	for _, do := range []struct {
		method, path string
		body         any
		into         any
	}{
		{http.MethodPut, at + "settings", map[string]any{"active": true, "integrated": true, "events_per_minute": 1_000_000}, nil},
		{http.MethodPost, at + "client_keys", nil, &key},
	} {
		req, err := c.NewRequest(do.method, do.path, do.body, nil)
		if err == nil {
			_, err = c.Do(req, do.into)
		}
		if err != nil {
			t.Fatalf("%s %s: %v", do.method, do.path, err)
		}
	}
	return tracking{project: made.ID, key: f.secret(key.PublicKey)}
}

// envelope is what an SDK sends of an error: some 4 kB.
func envelope(event, kind int, happened time.Time) []byte {
	var frames []string
	for n := range 12 {
		frames = append(frames, fmt.Sprintf(`{"filename":"shop/part%d.py","abs_path":"/srv/shop/part%d.py","function":"step_%c_%c","module":"shop.part","lineno":%d,"in_app":%t,`+
			`"pre_context":["def step(cart):","    rows = cart.rows()"],"context_line":"    return rows[n] / cart.count","post_context":["",""],"vars":{"cart":"<Cart 5>"}}`,
			n, n, 'a'+kind%26, 'a'+n, 10+n, n%2 == 0))
	}
	return fmt.Appendf(nil, `{"event_id":"%032x","sent_at":"2026-01-02T03:04:05Z","sdk":{"name":"sentry.python","version":"2.0.0"}}
{"type":"event","content_type":"application/json"}
{"event_id":"%032x","timestamp":%q,"platform":"python","level":"error","release":"shop@1.4.%d","environment":"production","server_name":"web-%d",`+
		`"user":{"id":"%d","email":"ann@example.com"},"tags":{"shard":"%d"},"contexts":{"runtime":{"name":"CPython","version":"3.12.3"}},"request":{"url":"https://shop.example/cart/%d",`+
		`"method":"GET","headers":{"Cookie":"session=1","User-Agent":"curl/8"}},"breadcrumbs":{"values":[{"type":"http","category":"httplib","message":"GET /x","timestamp":1767323045}]},`+
		`"exception":{"values":[{"type":"Kind%c%c","value":"cart %d is empty","stacktrace":{"frames":[%s]}}]}}`+"\n",
		event+1, event+1, happened.UTC().Format(time.RFC3339Nano), event%3, event%4, event%100, event%8, event, 'A'+kind/26, 'A'+kind%26, event, strings.Join(frames, ","))
}

// Every event is counted once, though a fifth of them is sent again, a second node comes and is killed, and who was not answered sends again.
// STITHY_TEST_ENVELOPES says how many are sent. The log says how quickly, and how much of a core the nodes took for each.
func TestAStormOfEnvelopesLosesNoneAndCountsExactly(t *testing.T) {
	t.Parallel()
	posts, err := strconv.Atoi(cmp.Or(os.Getenv("STITHY_TEST_ENVELOPES"), "500"))
	if err != nil {
		t.Fatal(err)
	}
	const hands, kinds = 64, 49 // which the numbers of those that are sent twice leave none of out
	f := install(t)
	steady := f.serve()
	to := f.tracking(t, f.client(t, f.token))
	path := fmt.Sprintf("/errortracking/api/v1/projects/api/%d/envelope/?sentry_key=%s", to.project, to.key)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: hands}}
	defer client.CloseIdleConnections()
	post := func(ctx context.Context, node *node, body []byte) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, node.url+path, bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}
	begin := time.Now()
	var second atomic.Pointer[node] // while it is believed to be alive
	var next, retried atomic.Int64
	reached := map[int]chan struct{}{posts / 3: make(chan struct{}), posts * 2 / 3: make(chan struct{})}
	took := make([]time.Duration, posts)
	send := func(n int) {
		event := n
		if n%5 == 4 {
			event = n - 4
		}
		body := envelope(event, event%kinds, begin.Add(-time.Duration(event)*time.Second))
		at := steady
		if other := second.Load(); other != nil && n%2 == 1 {
			at = other
		}
		start := time.Now()
		status, err := post(t.Context(), at, body)
		if at != steady && err != nil { // it died
			retried.Add(1)
			status, err = post(t.Context(), steady, body)
		}
		took[n] = time.Since(start)
		if err != nil || status != http.StatusOK {
			t.Errorf("envelope %d: %d %v", n, status, err)
		}
	}
	var group sync.WaitGroup
	for range hands {
		group.Go(func() {
			for n := int(next.Add(1)) - 1; n < posts; n = int(next.Add(1)) - 1 {
				if c := reached[n]; c != nil {
					close(c)
				}
				send(n)
			}
		})
	}
	<-reached[posts/3]
	other := f.serve("STITHY_LISTEN=" + freeAddress(t))
	second.Store(other)
	<-reached[posts*2/3]
	other.kill()
	second.Store(nil)
	group.Wait()
	elapsed := time.Since(begin)
	slices.Sort(took)
	t.Logf("%d envelopes in %s: %.0f a second, p50 %s, p99 %s; %d were sent again when their node was killed", posts, elapsed.Round(time.Millisecond),
		float64(posts)/elapsed.Seconds(), took[posts/2], took[posts*99/100], retried.Load())
	db, err := postgres.Open(t.Context(), f.database(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	n, err := postgres.One[struct{ Errors, Events, Hours, Releases, Known, Noted int }](t.Context(), db, `select count(*) as errors, sum(events)::bigint as events,
		(select sum(h.events)::bigint from error_hours h) as hours, (select sum(p.events)::bigint from error_places p where kind = 'release') as releases,
		(select count(*) from error_event_ids) as known, (select errors from error_tracking_settings where project_id = $1) as noted from tracked_errors where project_id = $1`, to.project)
	if want := posts - posts/5; err != nil || n.Errors != kinds || n.Noted != kinds || n.Events != want || n.Hours != want || n.Releases != want || n.Known != want {
		t.Errorf("of %d different events there are %+v, %v", want, n, err)
	}
	steady.stop()
	used := steady.cmd.ProcessState.UserTime() + steady.cmd.ProcessState.SystemTime() + other.cmd.ProcessState.UserTime() + other.cmd.ProcessState.SystemTime()
	t.Logf("the nodes took %s of a core, %s for each envelope", used.Round(time.Millisecond), (used / time.Duration(posts)).Round(time.Microsecond))
}
