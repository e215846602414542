package token_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core"
	"stithy/internal/core/coretest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/token"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is the room on a database of its own, behind the real API.
type fixture struct {
	*httpapitest.Client // anonymous
	db                  *postgres.DB
	box                 *secretbox.Box
	settings            *setting.Service
	tokens              *token.Service
	now                 time.Time
	root, ada           *user.User
	oauth, jobs         struct{ token.Resolver } // know no secret, unless a test has one

	mu      sync.Mutex
	records []bus.AuditRecord
}

func newFixture(t testing.TB, options ...coretest.Option) *fixture {
	t.Helper()
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 678e6, time.UTC)}
	w.oauth.Resolver, w.jobs.Resolver = tokentest.NoResolver{}, tokentest.NoResolver{}
	c := coretest.New(t, append(options, func(d *core.Deps) {
		d.Clock, d.OAuth, d.Jobs = func() time.Time { return w.now }, &w.oauth, &w.jobs
	})...)
	w.db, w.box, w.settings, w.tokens = c.DB, c.Box, c.Settings, c.Tokens
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		if a, ok := e.(bus.Audited); ok {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, a.AuditRecord())
		}
		return nil
	})
	w.Client = httpapitest.Start(t, &httpapi.Server{
		Endpoints: append(w.tokens.Endpoints(), probes()...), Authenticator: w.tokens, Clock: c.Clock,
	})
	w.root = usertest.New(t, w.db, usertest.Named("root"), usertest.Admin())
	w.ada = usertest.New(t, w.db, usertest.Named("Ada"))
	return w
}

// seen is what a probe tells of its caller.
type seen struct {
	ID     int64       `json:"id"`
	Admin  bool        `json:"admin"`
	Sudoer int64       `json:"sudoer"`
	Kind   access.Kind `json:"kind"`
	Row    string      `json:"row"`
	Whole  bool        `json:"whole"` // the whole account was read
}

// probes are endpoints that answer who called.
func probes() []httpapi.Endpoint {
	who := func(_ context.Context, call httpapi.Call[httpapi.None, httpapi.None]) (seen, error) {
		s := seen{ID: call.Actor.ID(), Admin: call.Actor.Admin(), Kind: call.Actor.Credential.Kind}
		if call.Actor.Sudoer != nil {
			s.Sudoer = call.Actor.Sudoer.ID
		}
		if u := user.FromActor(call.Actor); u != nil {
			s.Row = u.Username
		}
		_, s.Whole = call.Actor.Account.(*user.User)
		return s, nil
	}
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{Route: "GET /probe", Needs: access.SignIn, Account: true, Summary: "Read."}, who),
		httpapi.Do(httpapi.Spec{Route: "POST /probe", Needs: access.SignIn, Summary: "Write."}, who),
		httpapi.Do(httpapi.Spec{Route: "GET /probe/users", Needs: access.SignIn, Scopes: []access.Scope{access.ScopeReadUser}, Summary: "Read."}, who),
		httpapi.Do(httpapi.Spec{Route: "POST /probe/users", Needs: access.SignIn, Scopes: []access.Scope{access.ScopeReadUser}, Summary: "Write."}, who),
		httpapi.Do(httpapi.Spec{Route: "GET /probe/open", Needs: access.Anyone, Summary: "Read."}, who),
		httpapi.Do(httpapi.Spec{Route: "POST /probe/open", Needs: access.Anyone, Summary: "Write."}, who),
		httpapi.Do(httpapi.Spec{Route: "GET /probe/job", Needs: access.Anyone, JobToken: true, Summary: "Read."}, who),
		httpapi.Do(httpapi.Spec{Route: "GET /probe/admin", Needs: access.Administer, Summary: "Read."}, who),
		httpapi.Do(httpapi.Spec{Route: "POST /probe/access_tokens/{id}/rotate", Needs: access.SignIn, Summary: "Write."},
			func(ctx context.Context, call httpapi.Call[httpapi.None, struct {
				ID int64 `param:"id" doc:"ID"`
			}]) (seen, error) {
				return who(ctx, httpapi.Call[httpapi.None, httpapi.None]{Actor: call.Actor})
			}),
	}
}

// secret seeds a token.
func (w *fixture) secret(t testing.TB, u *user.User, scopes ...access.Scope) string {
	t.Helper()
	return tokentest.New(t, w.db, w.box, u.ID, scopes...)
}

// as calls with a fresh token.
func (w *fixture) as(t testing.TB, u *user.User, scopes ...access.Scope) *httpapitest.Client {
	t.Helper()
	return w.with(w.secret(t, u, scopes...))
}

func (w *fixture) with(secret string) *httpapitest.Client { return w.With("Private-Token", secret) }

// exec changes what no use case changes.
func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// ofSecret changes the row of a token.
func (w *fixture) ofSecret(t testing.TB, secret, set string, args ...any) {
	t.Helper()
	digest := w.box.Digest(string(access.PersonalToken), secret)
	tag, err := w.db.Exec(t.Context(), "update personal_access_tokens set "+set+" where digest = $1", append([]any{digest}, args...)...)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%v %v", tag, err)
	}
}

func (w *fixture) idOf(t testing.TB, secret string) int64 {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), w.db, "select id from personal_access_tokens where digest = $1",
		w.box.Digest(string(access.PersonalToken), secret))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (w *fixture) set(t testing.TB, change func(*setting.Settings)) {
	t.Helper()
	if err := w.settings.Update(t.Context(), access.Actor{}, change); err != nil {
		t.Fatal(err)
	}
}

// taken returns the audited acts since the last call.
func (w *fixture) taken() []bus.AuditRecord {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := slices.Clone(w.records)
	w.records = nil
	return records
}

// made is a token as the API shows it.
type made struct {
	ID            int64    `json:"id"`
	Name          string   `json:"name"`
	Revoked       bool     `json:"revoked"`
	CreatedAt     string   `json:"created_at"`
	Scopes        []string `json:"scopes"`
	UserID        int64    `json:"user_id"`
	LastUsedAt    *string  `json:"last_used_at"`
	Active        bool     `json:"active"`
	ExpiresAt     *string  `json:"expires_at"`
	Token         string   `json:"token"`
	Impersonation *bool    `json:"impersonation"`
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

const (
	unauthorized = `{"message":"401 Unauthorized"}`
	forbidden    = `{"message":"403 Forbidden"}`
	wasRevoked   = "Token was revoked. You have to re-authorize from the user."
	isExpired    = "Token is expired. You can either do re-authorization or token refresh."
)

func tooSmall(scope string) string {
	return `{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"` + scope + `"}`
}

func wantIn(t testing.TB, r *httpapitest.Reply, u *user.User) {
	t.Helper()
	if got := httpapitest.JSON[seen](t, r.WantStatus(t, http.StatusOK)); got.ID != u.ID || got.Row != u.Username {
		t.Errorf("called as %+v, want %s", got, u.Username)
	}
}

// wantUnusable checks that a token was refused for a reason: the body is that
// of any bad credential, the reason stands in the header.
func wantUnusable(t testing.TB, r *httpapitest.Reply, why string) {
	t.Helper()
	r.Want(t, http.StatusUnauthorized, unauthorized)
	want := `Bearer realm="Protected by OAuth 2.0", error="invalid_token", error_description="` + why + `"`
	if got := r.Header.Get("Www-Authenticate"); got != want {
		t.Errorf("WWW-Authenticate: got %s, want %s", got, want)
	}
}
