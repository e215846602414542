package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// runSuite runs the suite and returns its output, results and exit code. Goroutines may call it: it ends no test.
func runSuite(t *testing.T, o options) (string, []Result, int) {
	t.Helper()
	o.json = filepath.Join(t.TempDir(), "out.json")
	if o.limit == 0 {
		o.limit = time.Minute
	}
	var out bytes.Buffer
	code := run(o, &out)
	raw, err := os.ReadFile(o.json)
	if err != nil {
		t.Errorf("no JSON result: %v\n%s", err, out.String())
		return out.String(), nil, code
	}
	var results []Result
	if err := json.Unmarshal(raw, &results); err != nil {
		t.Error(err)
	}
	for _, r := range results {
		if strings.Contains(r.Got, "panic:") {
			t.Errorf("%s panicked: %s", r.ID, r.Got)
		}
	}
	return out.String(), results, code
}

func selectedRules() int {
	n := 0
	for _, a := range allAreas() {
		for _, r := range a.Rules {
			if !r.Bulk {
				n++
			}
		}
	}
	return n
}

// byStatement finds the result whose statement begins with the text.
func byStatement(t *testing.T, results []Result, statement string) Result {
	t.Helper()
	i := slices.IndexFunc(results, func(r Result) bool { return strings.HasPrefix(r.Statement, statement) })
	if i < 0 {
		t.Fatalf("no rule %q", statement)
	}
	return results[i]
}

func TestAgainstStub(t *testing.T) {
	_, srv := newStub()
	defer srv.Close()
	out, results, code := runSuite(t, options{base: srv.URL, token: stubAdmin, verbose: testing.Verbose()})
	if testing.Verbose() {
		t.Log(out)
	}
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if len(results) != selectedRules() {
		t.Errorf("%d results for %d rules", len(results), selectedRules())
	}
	if !regexp.MustCompile(`(?m)\nTOTAL \d+/\d+\n$`).MatchString(out) {
		t.Errorf("last line is not TOTAL: %q", out[max(0, len(out)-60):])
	}
	for _, statement := range []string{
		"A personal access token is accepted as PRIVATE-TOKEN", "An OAuth access token is accepted as Bearer", "A job token is accepted as JOB-TOKEN",
		"Signing in sets the cookie _svc_session", "The API uses the session cookie", "Sudo by a non-administrator (Sudo)", "Sudo target not found (987654321)",
		"Sudo without the sudo scope", "414: overlong", "Approval redirects to redirect_uri", "/oauth/authorize asks the user", "Token response: expires_in 7200",
		"Password grant response has no refresh_token", "A wrong client_secret is refused", "GET /projects/:id/jobs returns an array", "scope=running", "scope=skipped",
		"A key above 255 characters is refused", "A value of 10,000 characters is accepted", "Parameters may be sent as multipart", "DELETE removes the variable",
		"title defaults to `New: Alert`", "Intake accepts Basic credentials embedded", "PUT /notification_settings level=mention", "Event flag moved_project",
		"x-total counts", "Link URLs can be used as they are", "Link last and first", "Link URLs keep", "per_page is at most 100", "x-prev-page is empty",
		"Keyset pagination: projects (authenticated), order_by=id", "Keyset pagination: projects (authenticated, descending)", "Keyset of projects (unauthenticated) adds a filter",
		"Keyset of projects (authenticated) exposes no other", "Keyset of projects (authenticated) is limited", "Keyset: at the end the Link header is absent",
	} {
		if r := byStatement(t, results, statement); !r.Passed {
			t.Errorf("%s %q failed: expected %s, got %s", r.ID, r.Statement, r.Expected, r.Got)
		}
	}
	for _, statement := range []string{
		"Token response: token_type", "PUT changes the value", "Alerts with the same fingerprint are grouped", "GET /users for non-administrators: public form",
		"409: a conflicting resource exists (username)", "Refreshing invalidates the old refresh token", "Tree entry: id", "instance audit events: array", "Keyset of groups",
	} {
		if r := byStatement(t, results, statement); r.Passed || r.Expected == "" || r.Got == "" {
			t.Errorf("%s %q should fail with expected and got: %+v", r.ID, r.Statement, r)
		}
	}
	if r := byStatement(t, results, "GET pipelines/:pipeline_id/bridges"); !strings.Contains(r.Got, "404") && !strings.Contains(r.Got, "fixture") {
		t.Errorf("bridge rule reason: %+v", r)
	}
}

func TestRepeatedRunsOnOneServer(t *testing.T) {
	_, srv := newStub()
	defer srv.Close()
	var first string
	for i := range 2 {
		out, _, _ := runSuite(t, options{base: srv.URL, token: stubAdmin, areas: "variables,auth"})
		line := out[strings.LastIndex(out, "TOTAL"):]
		if i == 0 {
			first = line
		} else if line != first {
			t.Errorf("second run differs: %s vs %s", line, first)
		}
	}
}

// Whatever a server answers, every rule has a result. The runs wait most of the time, so all run at once.
func TestHostileServers(t *testing.T) {
	bodies := map[string]string{"html": "<html>hi</html>", "null": "null", "array": "[]", "odd array": `[1,null,"x"]`, "empty object": "{}", "wrong types": `{"id":"x","token":1,"key":[],"details":3,"level":null}`, "list": `[{"id":1,"name":null}]`, "nothing": ""}
	var runs sync.WaitGroup
	defer runs.Wait()
	for name, body := range bodies {
		for _, status := range []int{200, 201, 204, 500} {
			runs.Go(func() {
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Link", `<garbage>; rel="next", <::>; rel=last`)
					w.WriteHeader(status)
					if status != 204 {
						_, _ = io.WriteString(w, body)
					}
				}))
				defer srv.Close()
				_, results, code := runSuite(t, options{base: srv.URL, token: "x", limit: 5 * time.Second})
				if code != 1 || len(results) != selectedRules() {
					t.Errorf("%s %d: code %d, %d results", name, status, code, len(results))
				}
			})
		}
	}
}

func TestDeadServer(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	_, results, code := runSuite(t, options{base: srv.URL, token: "x"})
	for _, r := range results {
		if r.Passed {
			t.Errorf("%s passed without a server", r.ID)
		}
	}
	if code != 1 || len(results) != selectedRules() {
		t.Errorf("code %d, %d results", code, len(results))
	}
}

func TestTimeLimit(t *testing.T) {
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that a client hangs up
		<-r.Context().Done()
	}))
	defer srv.Close()
	_, results, _ := runSuite(t, options{base: srv.URL, token: "x", limit: time.Second})
	if n := asked.Load(); n > 8 {
		t.Errorf("%d requests to a server that does not answer", n)
	}
	if !strings.Contains(results[len(results)-1].Got, "time limit") {
		t.Errorf("last result: %+v", results[len(results)-1])
	}
}

// A pending rule must fail and any other must pass.
func TestPendingRules(t *testing.T) {
	_, srv := newStub()
	defer srv.Close()
	_, results, _ := runSuite(t, options{base: srv.URL, token: stubAdmin, areas: "variables"})
	var failing []string
	passing := ""
	for _, r := range results {
		if r.Passed {
			passing = r.ID
		} else {
			failing = append(failing, r.ID)
		}
	}
	if passing == "" || len(failing) == 0 {
		t.Fatalf("the stub passes %q and fails %v", passing, failing)
	}
	list := func(ids ...string) string {
		name := filepath.Join(t.TempDir(), "pending.txt")
		if err := os.WriteFile(name, []byte("# for now\n"+strings.Join(ids, " ")+" # all\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for fact, c := range map[string]struct {
		pending []string
		code    int
		says    string
	}{
		"all that fail are listed": {failing, 0, fmt.Sprintf(", %d pending", len(failing))},
		"one is not listed":        {failing[1:], 1, "FAIL " + failing[0]},
		"one that passes is":       {append(slices.Clone(failing), passing), 1, passing + " passes and is listed as pending"},
		"one does not exist":       {append(slices.Clone(failing), "VARS-9999"), 2, "no rule VARS-9999"},
		"one is listed twice":      {append(slices.Clone(failing), failing[0]), 2, "listed twice"},
	} {
		var out bytes.Buffer
		code := run(options{base: srv.URL, token: stubAdmin, areas: "variables", pending: list(c.pending...), limit: time.Minute}, &out)
		if code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d, and %q in\n%s", fact, code, c.code, c.says, &out)
		}
	}
}

func TestThePendingFileNamesRules(t *testing.T) {
	if _, err := readPending("pending.txt", allAreas()); err != nil {
		t.Error(err)
	}
}

func TestRulesDocument(t *testing.T) {
	var want bytes.Buffer
	writeRules(&want, allAreas())
	got, err := os.ReadFile("rules.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Error("rules.md is out of date: go run . -rules-md > rules.md")
	}
	seen := map[string]bool{}
	for _, a := range allAreas() {
		for _, r := range a.Rules {
			if seen[r.ID] || r.Statement == "" || r.How == "" || r.run == nil {
				t.Errorf("rule %q is duplicate or incomplete", r.ID)
			}
			seen[r.ID] = true
		}
	}
}

func TestUnknownArea(t *testing.T) {
	var out bytes.Buffer
	if code := run(options{areas: "nonsense", limit: time.Second}, &out); code != 2 {
		t.Errorf("code %d", code)
	}
}
