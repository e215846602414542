// Package httpapitest lets a test call endpoints over HTTP as whoever it likes. It replaces only the door: tokens are
// made up and always good. Everything behind it, from throttle to reply, is the real thing.
package httpapitest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/ratelimit"
)

// People for tests that need somebody and do not care who. No row of the database stands behind them.
var (
	Admin = access.Person{ID: 1, Username: "root", Name: "Administrator", Email: "admin@example.com", Admin: true}
	User  = access.Person{ID: 2, Username: "ada", Name: "Ada Lovelace", Email: "ada@example.com"}
)

// Address is where every call comes from.
var Address = netip.MustParseAddr("192.0.2.7")

// Client calls endpoints. The one that Serve returns is anonymous.
type Client struct {
	handler http.Handler
	tokens  *tokens
	header  http.Header
}

// Serve makes endpoints callable, without rate limits.
func Serve(t testing.TB, endpoints ...httpapi.Endpoint) *Client {
	return Start(t, &httpapi.Server{Endpoints: endpoints})
}

// Start serves what a test has set up itself; what it left empty is filled in.
func Start(t testing.TB, s *httpapi.Server) *Client {
	t.Helper()
	c := &Client{tokens: &tokens{actors: map[string]access.Actor{}}}
	s.SessionCookie = cmp.Or(s.SessionCookie, "_svc_session")
	if s.ExternalURL == nil {
		s.ExternalURL = &url.URL{Scheme: "https", Host: "forge.example"}
	}
	if s.Authenticator == nil {
		s.Authenticator = c.tokens
	}
	if s.Limits == nil {
		s.Limits = unlimited{}
	}
	if s.Clock == nil {
		s.Clock = clock.System()
	}
	if s.Limiter == nil {
		s.Limiter = ratelimit.New(s.Clock, nil)
	}
	if s.Log == nil {
		s.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	c.handler = s.Handler()
	return c
}

// As is a client that calls as this person, with a token of these scopes; api when none is named.
func (c *Client) As(person access.Person, scopes ...access.Scope) *Client {
	if scopes == nil {
		scopes = []access.Scope{access.ScopeAPI}
	}
	return c.With("Private-Token", c.tokens.issue(access.Actor{
		Person:     &person,
		Credential: access.Credential{Kind: access.PersonalToken, ID: 1, Scopes: scopes},
	}))
}

// AsAccount is As with the row behind the person, as authentication reads it.
func (c *Client) AsAccount(person access.Person, account any) *Client {
	return c.With("Private-Token", c.tokens.issue(access.Actor{
		Person: &person, Account: account,
		Credential: access.Credential{Kind: access.PersonalToken, ID: 1, Scopes: []access.Scope{access.ScopeAPI}},
	}))
}

// With is a client that sends a header with every call.
func (c *Client) With(name, value string) *Client {
	changed := *c
	changed.header = c.header.Clone()
	if changed.header == nil {
		changed.header = http.Header{}
	}
	changed.header.Set(name, value)
	return &changed
}

// Upload sends one file in a form.
func (c *Client) Upload(t testing.TB, method, path, field, name string, data []byte) *Reply {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile(field, name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return c.With("Content-Type", w.FormDataContentType()).Do(t, method, path, io.Reader(&body))
}

// Do calls an endpoint by its path below the base of v4. A body is nil, url.Values for a form, a string of JSON, an
// io.Reader whose type a header tells, or anything that marshals to JSON.
func (c *Client) Do(t testing.TB, method, path string, body any) *Reply {
	t.Helper()
	var from io.Reader
	contentType := "application/json"
	switch b := body.(type) {
	case nil:
		contentType = ""
	case url.Values:
		from, contentType = strings.NewReader(b.Encode()), "application/x-www-form-urlencoded"
	case string:
		from = strings.NewReader(b)
	case io.Reader:
		from, contentType = b, ""
	default:
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		from = bytes.NewReader(text)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, httpapi.BaseV4+path, from)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r.WithContext(httpapi.WithRecorder(r.Context(), &httpapi.Recorder{Address: Address, RequestID: "test"})))
	return &Reply{Status: w.Code, Header: w.Header(), Body: w.Body.String(), call: method + " " + path}
}

// Reply is an answer, read to its end.
type Reply struct {
	Status int
	Header http.Header
	Body   string

	call string
}

// Want checks the status and the exact body.
func (r *Reply) Want(t testing.TB, status int, body string) {
	t.Helper()
	if r.Status != status || r.Body != body {
		t.Errorf("%s:\ngot  %d %s\nwant %d %s", r.call, r.Status, r.Body, status, body)
	}
}

// WantStatus stops the test unless the status is this one.
func (r *Reply) WantStatus(t testing.TB, status int) *Reply {
	t.Helper()
	if r.Status != status {
		t.Fatalf("%s: got %d %s, want %d", r.call, r.Status, r.Body, status)
	}
	return r
}

// JSON reads the body as a T.
func JSON[T any](t testing.TB, r *Reply) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), &v); err != nil {
		t.Fatalf("%s: %v in %d %s", r.call, err, r.Status, r.Body)
	}
	return v
}

// Decode reads the body into v.
func (r *Reply) Decode(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), v); err != nil {
		t.Fatalf("%s: %v in %d %s", r.call, err, r.Status, r.Body)
	}
}

// tokens is an authenticator that believes what tests made up.
type tokens struct {
	mu     sync.Mutex
	actors map[string]access.Actor
}

func (k *tokens) issue(a access.Actor) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	token := "made-up-token-of-" + a.Person.Username
	for k.actors[token].Person != nil {
		token += "'"
	}
	k.actors[token] = a
	return token
}

func (k *tokens) Authenticate(_ context.Context, p access.Presented) (access.Actor, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a, known := k.actors[p.Secret]; known {
		return a, nil
	}
	return access.Actor{}, fault.New(fault.Unauthenticated)
}

// Sudo finds nobody: acting as others is tested where tokens are real.
func (k *tokens) Sudo(context.Context, access.Actor, string) (access.Actor, error) {
	return access.Actor{}, fault.NotFoundf("User")
}

type unlimited struct{}

func (unlimited) Throttle(bool) (ratelimit.Rule, bool) { return ratelimit.Rule{}, false }

func (unlimited) Endpoint(string, access.Actor) (ratelimit.Rule, bool) {
	return ratelimit.Rule{}, false
}

func (unlimited) ThrottleText() string { return "" }

func (unlimited) MaxOffset() int { return 0 }
