package oauth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core"
	"stithy/internal/core/coretest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/oauth"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

const (
	home     = "https://forge.example"
	callback = "https://app.example/cb"
	password = "correct horse battery"
	verifier = "verifier-of-forty-three-characters-or-more_~."
)

// fixture is the room on a database of its own, behind its real door and the
// real API.
type fixture struct {
	oauth.Deps
	api       *httpapitest.Client // anonymous
	service   *oauth.Service
	door      http.Handler
	settings  *setting.Service
	now       time.Time
	root, ada *user.User

	mu      sync.Mutex
	records []bus.AuditRecord
	logged  bytes.Buffer // by the door
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC)}
	var late struct{ token.Resolver }
	c := coretest.New(t, func(d *core.Deps) { d.Clock, d.OAuth = w.time, &late })
	w.settings = c.Settings
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	w.Deps = oauth.Deps{
		DB: c.DB, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Clock: c.Clock, ExternalURL: home + "/",
		Names: c.Instance.Names, PasswordGrant: true, Password: w.check,
	}
	w.serve(t, w.Deps)
	late.Resolver = w.service
	who := func(_ context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (int64, error) {
		return call.Actor.ID(), nil
	}
	w.api = httpapitest.Start(t, &httpapi.Server{
		Authenticator: c.Tokens, Clock: c.Clock, Endpoints: append(w.service.Endpoints(),
			httpapi.Do(httpapi.Spec{Route: "GET /probe", Needs: access.SignIn, Scopes: []access.Scope{access.ScopeReadUser}, Summary: "Read."}, who),
			httpapi.Do(httpapi.Spec{Route: "POST /probe", Needs: access.SignIn, Summary: "Write."}, who),
			httpapi.Do(httpapi.Spec{Route: "GET /probe/api", Needs: access.SignIn, Summary: "Read."}, who)),
	})
	w.root = usertest.New(t, c.DB, usertest.Named("root"), usertest.Admin())
	w.ada = usertest.New(t, c.DB, usertest.Named("ada"))
	return w
}

// serve puts a door in front of a service with these parts.
func (w *fixture) serve(t testing.TB, d oauth.Deps) http.Handler {
	t.Helper()
	w.service = oauth.New(d)
	door := &httpapi.Server{
		Dialect: w.service.Dialect(), Endpoints: w.service.Endpoints(), Log: slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), &w.logged), nil)),
		Limits: w.settings, Limiter: ratelimit.New(d.Clock, nil), Clock: d.Clock,
	}
	w.door = door.Handler()
	return w.door
}

// check knows one password, which everybody has.
func (w *fixture) check(ctx context.Context, login string, given secretbox.Secret, _ netip.Addr) (*user.User, error) {
	u, err := w.Users.FindByUsername(ctx, login)
	if err == nil && given.Reveal() != password {
		err = fault.New(fault.Unauthenticated)
	}
	if err == nil {
		err = w.Tokens.Admits(u)
	}
	return u, err
}

func (w *fixture) time() time.Time      { w.mu.Lock(); defer w.mu.Unlock(); return w.now }
func (w *fixture) turn(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.now = w.now.Add(d) }

// app is a registered application with its secret.
type app struct {
	*oauth.Application
	secret string
}

func (w *fixture) app(t testing.TB, change ...func(*oauth.Draft)) app {
	t.Helper()
	d := oauth.Draft{Name: "Tool", RedirectURI: callback, Scopes: access.Scopes{"api", "read_user", "openid", "profile", "email"}, Confidential: true}
	for _, f := range change {
		f(&d)
	}
	a, secret, err := w.service.Create(t.Context(), access.Actor{Person: w.root.Person()}, nil, d)
	if err != nil {
		t.Fatal(err)
	}
	return app{a, secret.Reveal()}
}

func public(d *oauth.Draft) { d.Confidential = false }

func scoped(scopes ...access.Scope) func(*oauth.Draft) {
	return func(d *oauth.Draft) { d.Scopes = scopes }
}

// ask is a request that is in order.
func (a app) ask(scope string) oauth.Ask {
	return oauth.Ask{ClientID: a.UID, RedirectURI: callback, ResponseType: "code", Scope: scope, State: "s"}
}

func challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (a app) askPKCE(scope string) oauth.Ask {
	ask := a.ask(scope)
	ask.CodeChallenge, ask.CodeChallengeMethod = challenge(verifier), "S256"
	return ask
}

// code is what the application gets when ada consents.
func (w *fixture) code(t testing.TB, ask oauth.Ask) string {
	t.Helper()
	req, _, err := w.service.Check(t.Context(), w.ada, ask)
	if err != nil {
		t.Fatal(err)
	}
	to, err := w.service.Approve(t.Context(), access.Actor{Person: w.ada.Person()}, w.ada, req)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("code")
}

// reply is an answer of the door.
type reply struct {
	*httptest.ResponseRecorder
	text string
}

type issued struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
	CreatedAt    int64  `json:"created_at"`
	IDToken      string `json:"id_token"`
}

func (r reply) issued(t testing.TB) (i issued) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.text), &i); err != nil || r.Code != http.StatusOK || i.AccessToken == "" {
		t.Fatalf("%d %s %v", r.Code, r.text, err)
	}
	return i
}

func (r reply) want(t testing.TB, status int, text string) {
	t.Helper()
	if r.Code != status || r.text != text {
		t.Errorf("got %d %s\nwant %d %s", r.Code, r.text, status, text)
	}
}

// refused checks an error of the protocol.
func (r reply) refused(t testing.TB, status int, code oauth.Code) {
	t.Helper()
	var body struct {
		Error       oauth.Code `json:"error"`
		Description string     `json:"error_description"`
	}
	if err := json.Unmarshal([]byte(r.text), &body); err != nil || r.Code != status || body.Error != code || body.Description == "" {
		t.Errorf("got %d %s, want %d %s", r.Code, r.text, status, code)
	}
	if !strings.Contains(r.Header().Get("WWW-Authenticate"), `error="`+string(code)+`"`) {
		t.Errorf("WWW-Authenticate: %s", r.Header().Get("WWW-Authenticate"))
	}
}

func (w *fixture) send(t testing.TB, r *http.Request) reply {
	t.Helper()
	rec := httptest.NewRecorder()
	w.door.ServeHTTP(rec, r.WithContext(t.Context()))
	return reply{rec, rec.Body.String()}
}

func (w *fixture) get(t testing.TB, path, bearer string) reply {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	return w.send(t, r)
}

// post sends pairs of names and values as a form.
func (w *fixture) post(t testing.TB, path string, pairs ...string) reply {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.send(t, r)
}

func (w *fixture) exchange(t testing.TB, a app, code string, more ...string) reply {
	t.Helper()
	pairs := []string{"grant_type", "authorization_code", "client_id", a.UID, "code", code, "redirect_uri", callback}
	if a.Confidential {
		pairs = append(pairs, "client_secret", a.secret)
	}
	return w.post(t, "/oauth/token", append(pairs, more...)...)
}

func (w *fixture) refresh(t testing.TB, a app, token string, more ...string) reply {
	t.Helper()
	pairs := []string{"grant_type", "refresh_token", "client_id", a.UID, "refresh_token", token}
	if a.Confidential {
		pairs = append(pairs, "client_secret", a.secret)
	}
	return w.post(t, "/oauth/token", append(pairs, more...)...)
}

// granted is a token that ada let the application have.
func (w *fixture) granted(t testing.TB, a app, scope string) issued {
	t.Helper()
	return w.exchange(t, a, w.code(t, a.askPKCE(scope)), "code_verifier", verifier).issued(t)
}

// works reports whether the API takes a token.
func (w *fixture) works(t testing.TB, token string) bool {
	t.Helper()
	return w.api.With("Authorization", "Bearer "+token).Do(t, "GET", "/probe", nil).Status == http.StatusOK
}

func (w *fixture) taken(what oauth.Action) (found []bus.AuditRecord) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.records), func(d bus.AuditRecord) bool { return d.Type != string(what) })
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) count(t testing.TB, sql string, args ...any) int64 {
	t.Helper()
	n, err := postgres.Value[int64](t.Context(), w.DB, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
