package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/token"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// lockedBuffer is a log that many requests write to.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// instance is the whole application on a database of its own, entered through
// its front door.
type instance struct {
	*App
	handler http.Handler
	log     *lockedBuffer
	root    *user.User
	ann     *user.User
	calls   atomic.Int64
}

func newInstance(t testing.TB, environ ...string) *instance {
	t.Helper()
	return newInstanceOn(t, postgrestest.Address(t), 4, environ...)
}

// newInstanceOn is one on a database, with so many connections to it.
func newInstanceOn(t testing.TB, address string, connections int, environ ...string) *instance {
	t.Helper()
	cfg, err := config.Load("", append([]string{
		"STITHY_EXTERNAL_URL=https://forge.example", "STITHY_PAGES_EXTERNAL_URL=https://pages.test", "STITHY_DATA_DIR=" + t.TempDir(),
	}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{log: &lockedBuffer{}}
	log := slog.New(slog.NewJSONHandler(i.log, nil))
	db, err := postgres.Open(t.Context(), address, connections)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store, err := OpenStore(t.Context(), cfg, db, clock.System(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	blobs, err := blob.Open("", cfg.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	i.App, err = Assemble(Parts{
		Config: cfg, Log: log, Clock: clock.System(), DB: db, Box: secretbox.Random(), Store: store, Blobs: blobs,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := i.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.handler = i.Handler()
	i.root = usertest.New(t, db, usertest.Named("root"), usertest.Admin())
	i.ann = usertest.New(t, db, usertest.Named("ann"))
	return i
}

// token makes a token of its own for one call: some calls revoke theirs.
func (i *instance) token(t testing.TB, u *user.User, scopes ...access.Scope) string {
	t.Helper()
	_, secret, err := i.Tokens.Create(context.WithoutCancel(t.Context()), access.Actor{}, u.ID, token.Draft{Name: "test", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal()
}

// presentations are the ways to show a token.
var presentations = map[string]func(*http.Request, string){
	"header": func(r *http.Request, secret string) { r.Header.Set("PRIVATE-TOKEN", secret) },
	"bearer": func(r *http.Request, secret string) { r.Header.Set("Authorization", "Bearer "+secret) },
	"query": func(r *http.Request, secret string) {
		q := r.URL.Query()
		q.Set("private_token", secret)
		r.URL.RawQuery = q.Encode()
		r.RequestURI = r.URL.RequestURI()
	},
}

func (i *instance) do(method, target string, body any, present func(*http.Request)) *httptest.ResponseRecorder {
	if i.calls.Add(1)%200 == 0 { // suites fill tables in seconds, and plans that were made when these were empty read all of them for each row
		_, _ = i.DB.Exec(context.Background(), `analyze users, namespaces, projects, members, routes, personal_access_tokens`)
	}
	var from io.Reader
	if body != nil {
		text, _ := json.Marshal(body)
		from = bytes.NewReader(text)
	}
	r := httptest.NewRequest(method, target, from)
	r.RemoteAddr = "127.0.0.1:4711"
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if present != nil {
		present(r)
	}
	w := httptest.NewRecorder()
	i.handler.ServeHTTP(w, r)
	return w
}

// path fills a route with things that do not exist, below a new public group
// and project that do.
func (i *instance) path(t testing.TB, e httpapi.Endpoint) string {
	t.Helper()
	if !strings.Contains(e.Path, "/groups/{id}") && !strings.Contains(e.Path, "/projects/{id}") && !strings.Contains(e.Base(), "{project}") {
		return i.below(e, &group.Group{}, &project.Project{})
	}
	g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
	return i.below(e, g, projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public)))
}

func (i *instance) below(e httpapi.Endpoint, g *group.Group, p *project.Project) string {
	out := strings.Replace(e.Path, "/groups/{id}", fmt.Sprintf("/groups/%d", g.ID), 1)
	out = strings.Replace(out, "/projects/{id}", fmt.Sprintf("/projects/%d", p.ID), 1)
	for _, p := range e.Params {
		if p.InPath {
			out = strings.Replace(out, "{"+p.Name+"}", "999999", 1)
		}
	}
	return strings.Replace(e.Base(), "{project}", p.FullPath(), 1) + out
}

// v4 are the endpoints of the API proper, for claims about its tokens, their scopes, and how both are shown. Other dialects
// have credentials of their own, and tests of them where they are declared.
func (i *instance) v4() []httpapi.Endpoint {
	return slices.DeleteFunc(i.Endpoints(), func(e httpapi.Endpoint) bool { return !e.V4() })
}

// by shows a token as the dialect of an endpoint takes it.
func by(e httpapi.Endpoint, secret string) func(*http.Request) {
	return func(r *http.Request) {
		if e.V4() {
			r.Header.Set("PRIVATE-TOKEN", secret)
		} else {
			r.SetBasicAuth("token", secret)
		}
	}
}

// place is a public group and a project in it. ann owns both.
func (i *instance) place(t testing.TB) (*group.Group, *project.Project) {
	t.Helper()
	g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
	grouptest.Join(t, i.DB, g, i.ann, access.Owner)
	return g, projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
}

// reached are the nouns of which something was answered with success. A suite whose addresses lead to nothing would
// see refusals alone, and find nothing wrong with them.
type reached map[string]bool

func (r reached) note(e httpapi.Endpoint, w *httptest.ResponseRecorder) {
	r[e.Noun()] = r[e.Noun()] || w.Code < http.StatusMultipleChoices
}

func (r reached) check(t testing.TB) {
	t.Helper()
	for _, noun := range []string{"groups", "lfs", "projects"} {
		if !r[noun] {
			t.Errorf("nothing of %s was reached", noun)
		}
	}
}

// needsParams reports whether a call without parameters is refused for that.
func needsParams(e httpapi.Endpoint) bool {
	for _, p := range e.Params {
		if p.Required && !p.InPath {
			return true
		}
	}
	return false
}

// G1: every endpoint, every rank, every way to show a token. Who may not is
// told the same whatever the presentation.
func TestG1_EveryEndpointKeepsItsAbilityForEveryRankAndPresentation(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for _, e := range i.v4() {
		rule, _ := access.RuleOf(e.Needs)
		for way, present := range presentations {
			for _, caller := range []*user.User{i.ann, i.root} {
				w := i.do(e.Method, i.path(t, e), nil, func(r *http.Request) { present(r, i.token(t, caller, access.ScopeAPI)) })
				refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden
				rank := access.RankOf(access.Actor{Person: caller.Person()})
				may := rank >= rule.From
				if e.InOwner() {
					may = access.Holds(access.Actor{Person: caller.Person()}, e.Needs, access.Target{Visibility: access.Public})
				}
				switch {
				case !may && !refused && !(w.Code == http.StatusBadRequest && e.AfterParams) && !(w.Code >= 400 && e.ExtraRefusals != ""):
					t.Errorf("%s lets %s in by %s: %d %s", e.Route, rank, way, w.Code, w.Body)
				case e.Needs == access.BySecret: // who they are does not count
				case rank == access.Administrator && w.Code == http.StatusUnauthorized && !strings.Contains(e.Path, "access_tokens"):
					t.Errorf("%s does not know an administrator by %s: %d %s", e.Route, way, w.Code, w.Body)
				case rank == access.Administrator && w.Code == http.StatusForbidden:
					t.Errorf("%s keeps an administrator out by %s: %d %s", e.Route, way, w.Code, w.Body)
				}
				if w.Code >= 500 {
					t.Errorf("%s fails for %s by %s: %d %s", e.Route, rank, way, w.Code, w.Body)
				}
			}
		}
		w := i.do(e.Method, i.path(t, e), nil, nil)
		if rule.From > access.Anonymous && w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden {
			t.Errorf("%s lets strangers in: %d %s", e.Route, w.Code, w.Body)
		}
	}
}

// The table in docs/api/permissions.md is what the handlers do.
func TestThePermissionMatrixIsWhatTheHandlersDo(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	table := httpapi.Permissions(i.Endpoints())
	for _, e := range i.Endpoints() {
		rule, _ := access.RuleOf(e.Needs)
		if e.InOwner() {
			continue // TestTheMatrixOfRolesIsWhatTheHandlersDo
		}
		if !strings.Contains(table, "`"+e.Method+" "+e.Shown()+"`") {
			t.Errorf("%s is not in the table", e.Route)
		}
		for rank, caller := range map[access.Rank]*user.User{access.Member: i.ann, access.Administrator: i.root} {
			w := i.do(e.Method, i.path(t, e), nil, by(e, i.token(t, caller, access.ScopeAPI)))
			forbidden := w.Code == http.StatusForbidden
			if want := rank < rule.From && !(e.AfterParams && needsParams(e)); forbidden != want && !said(e, w) {
				t.Errorf("%s for %s: %d %s, refused should be %v", e.Route, rank, w.Code, w.Body, want)
			}
		}
	}
}

// said reports a refusal that the endpoint announces beyond its ability.
func said(e httpapi.Endpoint, w *httptest.ResponseRecorder) bool {
	return w.Code == http.StatusForbidden && e.ExtraRefusals != ""
}

// TK-01: the scope belongs to the token, however it is shown. A body or Basic
// credentials show nothing.
func TestTK01_TheScopeHoldsForEveryPresentation(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for _, e := range i.v4() {
		if e.AnyScope {
			continue
		}
		for way, present := range presentations {
			w := i.do(e.Method, i.path(t, e), nil, func(r *http.Request) { present(r, i.token(t, i.root, access.ScopeWriteRepository)) })
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"error":"insufficient_scope"`) {
				t.Errorf("%s by %s: %d %s", e.Route, way, w.Code, w.Body)
			}
			if e.Method != http.MethodGet && e.Method != http.MethodHead {
				w := i.do(e.Method, i.path(t, e), nil, func(r *http.Request) { present(r, i.token(t, i.root, access.ScopeReadAPI)) })
				if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"error":"insufficient_scope"`) {
					t.Errorf("read_api writes at %s by %s: %d %s", e.Route, way, w.Code, w.Body)
				}
			}
		}
	}
	secret := i.token(t, i.root, access.ScopeAPI)
	for name, present := range map[string]func(*http.Request){
		"basic":        func(r *http.Request) { r.SetBasicAuth("root", secret) },
		"basic oauth2": func(r *http.Request) { r.SetBasicAuth("oauth2", secret) },
		"cookie":       func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "_svc_session", Value: secret}) },
		"identity":     func(r *http.Request) { r.Header.Set("X-Remote-User", "root") },
		"oauth param":  func(r *http.Request) { r.URL.RawQuery = "access_token=" + secret },
	} {
		if w := i.do("GET", "/api/v4/user", nil, present); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := i.do("POST", "/api/v4/users", map[string]any{"private_token": secret}, nil); w.Code != http.StatusUnauthorized {
		t.Errorf("a token in the body was taken: %d %s", w.Code, w.Body)
	}
}

// TK-02: a token for reading profiles sees nothing else, on any route.
func TestTK02_AReadUserTokenOpensProfilesOnly(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for _, e := range i.v4() {
		w := i.do(e.Method, i.path(t, e), nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeReadUser)) })
		refused := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "insufficient_scope")
		// What one did is listed beside one's profile.
		profile := strings.HasPrefix(e.Path, "/user") || e.Path == "/events" || e.Path == "/version" || e.Path == "/metadata"
		if open := e.AnyScope || (e.Method == http.MethodGet && profile); !open && !refused {
			t.Errorf("%s: %d %s", e.Route, w.Code, w.Body)
		}
	}
}

// G3: unique secrets are planted everywhere and looked for in every answer
// that may not hold them, and in the log.
func TestG3_NoSecretIsInAnyAnswerOrLog(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	const (
		password = "canary-Passw-9f2c1"
		value    = "canaryvariable7d1"
		note     = "canary-note-55e0"
		private  = "canary.private@example.com"
	)
	root := func(method, target string, body any) *httptest.ResponseRecorder {
		return i.do(method, target, body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeAPI)) })
	}
	made := root("POST", "/api/v4/users", map[string]any{
		"email": private, "username": "eve", "name": "Eve", "password": password, "note": note, "skip_confirmation": true,
	})
	var eve struct{ ID int64 }
	if err := json.Unmarshal(made.Body.Bytes(), &eve); err != nil || eve.ID == 0 {
		t.Fatalf("%d %s", made.Code, made.Body)
	}
	root("POST", "/api/v4/admin/ci/variables", map[string]any{"key": "CANARY", "value": value, "masked": true})
	var shown struct{ Token string }
	created := root("POST", fmt.Sprintf("/api/v4/users/%d/personal_access_tokens", eve.ID), map[string]any{"name": "t", "scopes": []string{"api"}})
	if err := json.Unmarshal(created.Body.Bytes(), &shown); err != nil || shown.Token == "" {
		t.Fatalf("%d %s", created.Code, created.Body)
	}
	secret := shown.Token

	g, p := i.place(t)
	seen := reached{}
	defer seen.check(t)
	for _, e := range i.Endpoints() {
		if e.Method != http.MethodGet {
			continue
		}
		for name, caller := range map[string]*user.User{"stranger": nil, "member": i.ann, "administrator": i.root} {
			var present func(*http.Request)
			if caller != nil {
				present = by(e, i.token(t, caller, access.ScopeAPI))
			}
			w := i.do("GET", about(e, g, p, eve.ID), nil, present)
			seen.note(e, w)
			body := w.Body.String() + fmt.Sprint(w.Header())
			for canary, mayBe := range map[string]bool{
				password: false, secret: false,
				value:   name == "administrator" && strings.HasPrefix(e.Path, "/admin/ci/variables"),
				note:    name == "administrator",
				private: name == "administrator",
			} {
				if strings.Contains(body, canary) && !mayBe {
					t.Errorf("%s shows %s to %s", e.Route, canary, name)
				}
			}
		}
	}
	// The same secrets in every position of a request, for the log.
	for _, target := range []string{
		"/api/v4/user?private_token=" + secret, "/api/v4/users?access_token=" + secret, "/api/v4/nowhere?job_token=" + secret,
		"/api/v4/users?search=x&private_token%5B%5D=" + secret, "/nowhere?bearer_token=" + secret,
	} {
		i.do("GET", target, nil, nil)
	}
	i.do("GET", "/api/v4/user", nil, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) })
	i.do("GET", "/api/v4/user", nil, func(r *http.Request) { r.SetBasicAuth("eve", password) })
	log := i.log.text()
	for _, canary := range []string{password, value, note, secret} {
		if strings.Contains(log, canary) {
			t.Errorf("the log holds %s", canary)
		}
	}
	for _, table := range []string{"users", "personal_access_tokens", "instance_variables", "audit_events", "river_job"} {
		dump, err := postgres.Values[string](t.Context(), i.DB, "select t::text from "+table+" t")
		if err != nil {
			t.Fatal(err)
		}
		for _, canary := range []string{password, value, secret} {
			if strings.Contains(strings.Join(dump, "\n"), canary) {
				t.Errorf("table %s holds %s", table, canary)
			}
		}
	}
}

// G4: what may not be seen answers as what does not exist: status, body and
// headers alike.
func TestPE09_HiddenEqualsMissing(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	root := func(method, target string, body any) map[string]any {
		w := i.do(method, target, body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeAPI)) })
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		return got
	}
	bob := usertest.New(t, i.DB, usertest.Named("bob"))
	leaving := usertest.New(t, i.DB, usertest.With("removal", "soft"), usertest.In(user.Blocked))
	email := root("POST", fmt.Sprintf("/api/v4/users/%d/emails", bob.ID), map[string]any{"email": "second@example.com"})
	key := root("POST", fmt.Sprintf("/api/v4/users/%d/keys", bob.ID), map[string]any{"title": "k",
		"key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"})
	foreign := root("POST", fmt.Sprintf("/api/v4/users/%d/personal_access_tokens", bob.ID), map[string]any{"name": "t", "scopes": []string{"api"}})

	private := grouptest.New(t, i.DB)
	hidden := projecttest.New(t, i.DB, private.ID)
	type place struct {
		method, path string
		hidden       any
	}
	places := []place{
		{"GET", "/namespaces/%v", private.ID},
		{"GET", "/user/emails/%v", email["id"]}, {"DELETE", "/user/emails/%v", email["id"]},
		{"GET", "/user/keys/%v", key["id"]}, {"DELETE", "/user/keys/%v", key["id"]},
		{"GET", "/personal_access_tokens/%v", foreign["id"]}, {"POST", "/personal_access_tokens/%v/rotate", foreign["id"]},
		{"GET", "/users/%v", leaving.ID}, {"GET", "/users/%v/keys", leaving.ID}, {"GET", "/users/%v/status", leaving.ID},
	}
	children := regexp.MustCompile(`\{[a-z_]+\}`)
	for _, e := range i.v4() {
		if !e.InOwner() {
			continue
		}
		top, rest, _ := strings.Cut(e.Path, "/{id}")
		id := map[string]int64{"/groups": private.ID, "/projects": hidden.ID}[top]
		places = append(places, place{e.Method, top + "/%v" + children.ReplaceAllString(rest, "1"), id})
	}
	for _, c := range places {
		call := func(id any) string {
			w := i.do(c.method, "/api/v4"+fmt.Sprintf(c.path, id), nil, func(r *http.Request) {
				r.Header.Set("PRIVATE-TOKEN", i.token(t, i.ann, access.ScopeAPI))
			})
			w.Header().Del("X-Request-Id")
			return fmt.Sprintf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		if hidden, missing := call(c.hidden), call(int64(987654321)); hidden != missing {
			t.Errorf("%s %s:\nhidden  %s\nmissing %s", c.method, c.path, hidden, missing)
		}
	}
}

// MN-01: many callers at once, some of whom hang up: each gets their own.
func TestMN01_NobodyGetsAnothersAnswer(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	const people, rounds = 8, 150
	var wg sync.WaitGroup
	for n := range people {
		u := usertest.New(t, i.DB, usertest.Named(fmt.Sprintf("person%d", n)))
		secret := i.token(t, u, access.ScopeAPI)
		wg.Go(func() {
			for round := range rounds {
				ctx, cancel := context.WithCancel(context.Background())
				r := httptest.NewRequest("GET", "/api/v4/user", nil).WithContext(ctx)
				r.RemoteAddr = "127.0.0.1:1"
				r.Header.Set("PRIVATE-TOKEN", secret)
				w := httptest.NewRecorder()
				if round%5 == 0 {
					go cancel()
				}
				i.handler.ServeHTTP(w, r)
				cancel()
				if w.Code == http.StatusOK && !strings.Contains(w.Body.String(), `"username":"`+u.Username+`"`) {
					t.Errorf("%s got %s", u.Username, w.Body)
				}
				if w.Code != http.StatusOK && round%5 != 0 {
					t.Errorf("%s got %d %s", u.Username, w.Code, w.Body)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.Log(i.log.text())
	}
}

// AU-12: headers that anyone can send change neither the actor nor the
// address that is throttled and audited.
func TestAU12_SpoofedHeadersChangeNothing(t *testing.T) {
	t.Parallel()
	i := newInstance(t, "STITHY_TRUSTED_PROXIES=10.0.0.0/8")
	audited := func(remote string, header http.Header) string {
		w := i.do("POST", "/api/v4/users", map[string]any{
			"email": "x" + secretbox.RandomToken(8) + "@example.com", "username": "x" + strings.Trim(secretbox.RandomToken(8), "-_"), "name": "X", "force_random_password": true,
		}, func(r *http.Request) {
			r.RemoteAddr = remote
			r.Header = header.Clone()
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeAPI))
		})
		if w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		address, err := postgres.Value[string](t.Context(), i.DB, `select ip_address from audit_events where event_type = 'user_created' order by id desc limit 1`)
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
	spoof := http.Header{"X-Forwarded-For": {"1.2.3.4"}, "X-Real-Ip": {"1.2.3.4"}, "True-Client-Ip": {"1.2.3.4"}, "Forwarded": {"for=1.2.3.4"}}
	if got := audited("192.0.2.1:1", spoof); got != "192.0.2.1" {
		t.Errorf("a stranger's header was believed: %s", got)
	}
	if got := audited("10.0.0.1:1", http.Header{"X-Forwarded-For": {"1.2.3.4, 192.0.2.9, 10.0.0.7"}}); got != "192.0.2.9" {
		t.Errorf("behind a proxy: %s", got)
	}
	if got := audited("10.0.0.1:1", http.Header{"X-Forwarded-For": {"1.2.3.4, [2001:db8::9]:443"}}); got != "2001:db8::9" {
		t.Errorf("behind a proxy that tells the port: %s", got)
	}
	for _, hops := range unreadableHops {
		w := i.do("GET", "/api/v4/version", nil, func(r *http.Request) {
			r.RemoteAddr = "10.0.0.1:1"
			r.Header["X-Forwarded-For"] = hops
			r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeAPI))
		})
		if w.Code != http.StatusBadRequest {
			t.Errorf("%q: nobody knows where it came from, and it was answered: %d %s", hops, w.Code, w.Body)
		}
	}
	if got := audited("10.0.0.1:1", http.Header{"X-Real-Ip": {"1.2.3.4"}}); got != "10.0.0.1" {
		t.Errorf("another header was believed: %s", got)
	}
}

// unreadableHops are what a trusted proxy says of a request and nobody can read, at the place that counts.
var unreadableHops = [][]string{
	{""}, {"unknown"}, {"192.0.2.1, "}, {"192.0.2.1, unknown"}, {"192.0.2.1", ""}, {"_hidden, 10.0.0.7"}, {"192.0.2.1:port"}, {"300.1.1.1"}, {"for=192.0.2.1"},
	{"10.0.0.7, ,10.0.0.8"},
}

// SU-07: the pages for those who watch over the process are nobody else's.
func TestSU07_ProbesAnswerWatchersOnly(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for _, page := range []string{"/-/health", "/-/liveness", "/-/readiness", "/-/readiness?all=1", "/-/metrics"} {
		if w := i.do("GET", page, nil, nil); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", page, w.Code, w.Body)
		}
		for name, present := range map[string]func(*http.Request){
			"stranger":      func(r *http.Request) { r.RemoteAddr = "192.0.2.1:1" },
			"through proxy": func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") },
		} {
			if w := i.do("GET", page, nil, present); w.Code != http.StatusNotFound {
				t.Errorf("%s for a %s: %d %s", page, name, w.Code, w.Body)
			}
		}
	}
	behind := newInstance(t, "STITHY_TRUSTED_PROXIES=127.0.0.0/8, 10.0.0.0/8")
	for _, hops := range append([][]string{{"192.0.2.1"}, {"192.0.2.1, 10.0.0.7"}, {"192.0.2.1:4711"}}, unreadableHops...) {
		for _, page := range []string{"/-/health", "/-/liveness", "/-/readiness", "/-/metrics"} {
			w := behind.do("GET", page, nil, func(r *http.Request) { r.Header["X-Forwarded-For"] = hops })
			if w.Code != http.StatusNotFound && w.Code != http.StatusBadRequest {
				t.Errorf("%s for a stranger behind a trusted proxy that says %q: %d", page, hops, w.Code)
			}
		}
	}
	if w := behind.do("GET", "/-/health", nil, nil); w.Code != http.StatusOK {
		t.Errorf("the proxy's machine itself: %d", w.Code)
	}
	for _, page := range []string{"/debug/pprof/", "/-/debug", "/metrics/", "/-/"} {
		if w := i.do("GET", page, nil, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", page, w.Code)
		}
	}
	// A name like any other: strangers are asked to sign in, whether somebody has it or not.
	if w := i.do("GET", "/metrics", nil, nil); w.Code != http.StatusSeeOther {
		t.Errorf("/metrics: %d", w.Code)
	}
}

// SU-02: one line of log for one event, whatever a name holds.
func TestSU02_ARequestIsOneLineOfLog(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	before := strings.Count(i.log.text(), "\n")
	i.do("GET", "/api/v4/users?search=%0a%0d%1b[31m&username=a%0Ab", nil, func(r *http.Request) {
		r.Header.Set("PRIVATE-TOKEN", i.token(t, i.ann, access.ScopeAPI))
		r.Header.Set("X-Request-Id", "evil\nid")
	})
	if lines := strings.Count(i.log.text(), "\n") - before; lines != 1 {
		t.Errorf("%d lines for one request", lines)
	}
	if strings.Contains(i.log.text(), "evil") {
		t.Error("a broken request id was taken over")
	}
}

// SU-08: the audit row commits or vanishes with the act, and keeps both
// people of a sudo call.
func TestSU08_AuditRowsShareTheFateOfTheirActs(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	count := func() int64 {
		n, err := postgres.Value[int64](t.Context(), i.DB, `select count(*) from audit_events`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	duplicate := map[string]any{"email": "ann@example.com", "username": "new", "name": "N", "force_random_password": true}
	secret := i.token(t, i.root, access.ScopeAPI, access.ScopeSudo)
	after := count() // the token's own row
	if after != before+1 {
		t.Errorf("making a token left %d rows", after-before)
	}
	i.do("POST", "/api/v4/users", duplicate, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) })
	if count() != after {
		t.Error("a refused act left a row")
	}
	other := usertest.New(t, i.DB, usertest.Named("second"), usertest.Admin())
	w := i.do("POST", fmt.Sprintf("/api/v4/users/%d/block", i.ann.ID), nil, func(r *http.Request) {
		r.Header.Set("PRIVATE-TOKEN", secret)
		r.Header.Set("Sudo", other.Username)
	})
	if w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	row, err := postgres.Value[string](t.Context(), i.DB,
		`select author_id || ' ' || author_name || ' ' || (details->>'impersonated_by_id') from audit_events where event_type = 'user_blocked'`)
	if want := fmt.Sprintf("%d Second (by Root) %d", other.ID, i.root.ID); err != nil || row != want {
		t.Errorf("got %q, want %q (%v)", row, want, err)
	}
}

func TestTheRegistryIsSound(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for _, problem := range httpapi.Check(i.Endpoints()) {
		t.Error(problem)
	}
}

func decode(t testing.TB, w *httptest.ResponseRecorder, v any) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil || w.Code >= 300 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}
