package errortracking_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
)

// fields are the members of an event that are read, by their path.
var fields = []string{
	"event_id", "timestamp", "platform", "level", "logger", "release", "environment", "server_name", "transaction", "culprit", "message", "logentry", "logentry.message",
	"logentry.formatted", "exception", "exception.values", "exception.values.0", "exception.values.0.type", "exception.values.0.value", "exception.values.0.module",
	"exception.values.0.stacktrace", "exception.values.0.stacktrace.frames", "exception.values.0.stacktrace.frames.0", "exception.values.0.stacktrace.frames.0.function",
	"exception.values.0.stacktrace.frames.0.filename", "exception.values.0.stacktrace.frames.0.lineno", "exception.values.0.stacktrace.frames.0.in_app",
	"exception.values.0.stacktrace.frames.0.pre_context", "exception.values.0.stacktrace.frames.0.context_line", "stacktrace", "stacktrace.frames", "threads", "threads.values",
	"tags", "tags.0", "user", "user.id", "user.email", "user.ip_address", "request", "request.url", "request.headers", "request.query_string", "breadcrumbs",
	"breadcrumbs.values", "breadcrumbs.values.0", "breadcrumbs.values.0.message", "breadcrumbs.values.0.timestamp", "contexts", "contexts.runtime", "extra", "extra.x", "sdk",
	"sdk.name", "fingerprint", "fingerprint.0",
}

// put makes an event that has a value at a path and nothing else.
func put(path []string, value any) any {
	switch {
	case len(path) == 0:
		return value
	case path[0] == "0":
		return []any{put(path[1:], value)}
	}
	return map[string]any{path[0]: put(path[1:], value)}
}

func TestER01_AWrongTypeInAnyFieldIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	if _, err := w.core.DB.Exec(t.Context(), `update error_tracking_settings set events_per_minute = 1000000`); err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	begin := func() { body.Reset(); body.WriteString("{}\n") }
	send := func(what string) {
		t.Helper()
		if rec := w.send(t, w.intake("envelope"), body.String(), auth(k)); rec.Code != http.StatusOK && rec.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", what, rec.Code, rec.Body)
		}
	}
	for _, field := range fields {
		begin()
		for _, value := range []any{nil, true, -1, 1e300, "\x00\u202e<script>", []any{}, []any{nil, 5, map[string]any{}}, map[string]any{}, map[string]any{"values": 5, "": "\x00"}} {
			if field == "event_id" && value == "\x00\u202e<script>" {
				continue // it alone is refused, and all with it
			}
			text, err := json.Marshal(put(strings.Split(field, "."), value))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&body, "{\"type\":\"event\"}\n%s\n", text)
		}
		send(field)
	}
	begin()
	body.WriteString("{\"type\":5,\"length\":\"x\"}\n{}\n")
	send("an item whose header has other types")
	w.as(access.Reporter).Do(t, "GET", w.at("errors?per_page=100"), nil).WantStatus(t, http.StatusOK)
}

func packed(t testing.TB, encoding string, text io.Reader) string {
	t.Helper()
	var b bytes.Buffer
	var z io.WriteCloser
	switch encoding {
	case "gzip":
		z = gzip.NewWriter(&b)
	case "deflate":
		z = zlib.NewWriter(&b)
	default:
		z = brotli.NewWriterLevel(&b, 5)
	}
	if _, err := io.Copy(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// zeros are that many bytes, without being held.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// Not parallel: it looks at what the process holds.
func TestER01_AFloodIsRefusedWithinBounds(t *testing.T) {
	w := newFixture(t)
	k := w.enable(t)
	const refused, large = http.StatusBadRequest, http.StatusRequestEntityTooLarge
	deep := strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)
	bomb := func(encoding, head string) string {
		return packed(t, encoding, io.MultiReader(strings.NewReader(head), zeros(1<<26)))
	}
	type flood struct {
		fact, what, encoding, body string
		status                     int
	}
	floods := []flood{
		{"an event of 1 MB and a byte", "store", "", `{"message":"` + strings.Repeat("x", 1<<20) + `"}`, large},
		{"an event of almost 1 MB", "store", "", `{"message":"` + strings.Repeat("x", 1<<20-20) + `"}`, http.StatusOK},
		{"an event in an envelope of 1 MB and a byte", "envelope", "", "{}\n{\"type\":\"event\"}\n{\"message\":\"" + strings.Repeat("x", 1<<20) + `"}`, large},
		{"a thousand levels", "store", "", `{"extra":` + deep + `}`, large},
		{"a thousand levels in an envelope", "envelope", "", "{}\n{\"type\":\"event\"}\n" + `{"extra":` + deep + `}`, large},
		{"a thousand levels in a header", "envelope", "", deep + "\n", http.StatusOK}, // nothing follows, and who reads it keeps nothing
		{"10,000 items", "envelope", "", "{}\n" + strings.Repeat("{\"type\":\"session\"}\n{}\n", 10_000), large},
		{"10,000 events", "envelope", "", "{}\n" + strings.Repeat("{\"type\":\"event\"}\n{}\n", 10_000), large},
		{"a million elements", "store", "", `{"extra":[` + strings.Repeat("1,", 500_000) + `1]}`, large},
		{"10,000 tags", "store", "", `{"tags":{` + many(10_000) + `}}`, http.StatusOK},
		{"no JSON", "store", "", strings.Repeat("[", 5000), large},
	}
	for _, encoding := range []string{"gzip", "deflate", "br"} {
		floods = append(floods,
			flood{"a bomb", "store", encoding, bomb(encoding, `{"message":"`), large},
			flood{"a bomb in an event", "envelope", encoding, bomb(encoding, "{}\n{\"type\":\"event\"}\n{\"message\":\""), large},
			flood{"a bomb in another item", "envelope", encoding, bomb(encoding, "{}\n{\"type\":\"attachment\"}\n"), large},
			flood{"a bomb in a header", "envelope", encoding, bomb(encoding, `{"a":"`), large},
			flood{"half of it", "store", encoding, packed(t, encoding, strings.NewReader(`{"message":"a"}`))[:8], refused})
	}
	for _, f := range floods {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rec := w.send(t, w.intake(f.what), f.body, auth(k), func(r *http.Request) {
			if f.encoding != "" {
				r.Header.Set("Content-Encoding", f.encoding)
			}
		})
		runtime.ReadMemStats(&after)
		if rec.Code != f.status {
			t.Errorf("%s %s: %d %s", f.encoding, f.fact, rec.Code, rec.Body)
		}
		if took := int64(after.TotalAlloc) - int64(before.TotalAlloc); took > 100<<20 {
			t.Errorf("%s %s: %d MB in all for it", f.encoding, f.fact, took>>20)
		}
	}
	// A million fingerprints fill no table: a project has so many errors, and so many events a minute.
	if n := w.count(t, `select count(*)::integer from tracked_errors`); n > 3 {
		t.Errorf("%d errors", n)
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":"v"`, i)
	}
	return b.String()
}

// A key writes to its own project and reads nothing.
func TestER03_AKeyWritesToItsOwnProjectAndReadsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	own := w.enable(t)
	here := w.project
	there := projecttest.New(t, w.core.DB, here.NamespaceID, projecttest.Visible(access.Public))
	projecttest.Join(t, w.core.DB, there, w.people[access.Maintainer], access.Maintainer)
	w.project = there
	foreign := w.enable(t)
	for _, c := range []struct {
		project int64
		key     key
		want    int
	}{{here.ID, own, 200}, {there.ID, foreign, 200}, {here.ID, foreign, 404}, {there.ID, own, 404}} {
		for _, what := range []string{"store", "envelope"} {
			body := `{"message":"a"}`
			if what == "envelope" {
				body = "{}\n{\"type\":\"event\"}\n" + body
			}
			path := fmt.Sprintf("/errortracking/api/v1/projects/api/%d/%s/", c.project, what)
			if rec := w.send(t, path, body, auth(c.key)); rec.Code != c.want {
				t.Errorf("%s: %d", path, rec.Code)
			}
			for _, method := range []string{"GET", "PUT", "DELETE"} {
				if rec := w.send(t, path, "", auth(c.key), func(r *http.Request) { r.Method = method }); rec.Code != http.StatusMethodNotAllowed {
					t.Errorf("%s %s: %d %s", method, path, rec.Code, rec.Body)
				}
			}
		}
	}
	for _, path := range []string{w.at("errors"), w.at("settings"), w.at("client_keys")} {
		w.Do(t, "GET", path+"?sentry_key="+foreign.PublicKey, nil).WantStatus(t, http.StatusUnauthorized)
	}
}

// A key that was deleted on one node is refused by all from the next request on: no node remembers it.
func TestER03_ADeletedKeyIsRefusedByEveryNodeAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	other := w.node()
	w.report(t, k, `{"message":"a"}`)
	first := w.door
	w.door = other
	w.report(t, k, `{"message":"a","level":"info"}`)
	w.as(access.Maintainer).Do(t, "DELETE", w.at("client_keys/%d", k.ID), nil).WantStatus(t, http.StatusOK)
	for _, door := range []http.Handler{first, other} {
		w.door = door
		if rec := w.send(t, w.intake("store"), `{"message":"a"}`, auth(k)); rec.Code != http.StatusNotFound {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	}
	if got := w.errorsOf(t, ""); len(got) != 1 || got[0].Events != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestER01_WhatCannotBeReadOrIsLargeSpendsTheQuota(t *testing.T) {
	t.Parallel()
	for fact, c := range map[string]struct {
		body string
		want []int
	}{
		"cannot be read": {`{`, []int{400, 400, 400, 429}},
		"is large":       {`{"message":"x","extra":{"a":"` + strings.Repeat("a", 900<<10) + `"}}`, []int{200, 429}},
	} {
		w := newFixture(t)
		k := w.enable(t)
		if _, err := w.core.DB.Exec(t.Context(), `update error_tracking_settings set events_per_minute = 3`); err != nil {
			t.Fatal(err)
		}
		for n, want := range c.want {
			if got := w.send(t, w.intake("store"), c.body, auth(k)).Code; got != want {
				t.Errorf("number %d that %s: %d, not %d", n+1, fact, got, want)
			}
		}
	}
}
