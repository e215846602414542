package user_test

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core"
	"stithy/internal/core/coretest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// topicFixture is the room with its API on a database of its own, and three people.
type topicFixture struct {
	*user.Service
	db             *postgres.DB
	settings       *setting.Service
	root, ada, bob *user.User
	anyone         *httpapitest.Client

	mu      sync.Mutex
	now     time.Time
	records []bus.AuditRecord
}

func newTopicFixture(t *testing.T) *topicFixture {
	t.Helper()
	b := &topicFixture{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	c := coretest.New(t, coretest.Clock(b.clock), func(d *core.Deps) { d.Instance.Tier = setting.Free })
	b.Service, b.db, b.settings = c.Users, c.DB, c.Settings
	c.Bus.OnAny(func(_ context.Context, _ pgx.Tx, e bus.Event) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if a, ok := e.(bus.Audited); ok {
			b.records = append(b.records, a.AuditRecord())
		}
		return nil
	})
	b.root = usertest.New(t, b.db, usertest.Named("root"), usertest.Admin())
	b.ada = usertest.New(t, b.db, usertest.Named("ada"), usertest.With("name", "Ada Lovelace"))
	b.bob = usertest.New(t, b.db, usertest.Named("bob"))
	b.anyone = httpapitest.Serve(t, b.Endpoints()...)
	return b
}

func (b *topicFixture) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *topicFixture) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *topicFixture) as(u *user.User, scopes ...access.Scope) *httpapitest.Client {
	return b.anyone.As(*u.Person(), scopes...)
}

// wantDeeds checks what the audit trail would hold, as "type: message".
func (b *topicFixture) wantDeeds(t *testing.T, want ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var got []string
	for _, d := range b.records {
		got = append(got, d.Type+" by "+d.By.Person.Username+" on "+d.Entity.Path+": "+d.Message)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("audit trail:\ngot\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (b *topicFixture) reload(t *testing.T, u *user.User) *user.User {
	t.Helper()
	again, err := b.Find(t.Context(), u.ID)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// path makes "/users/7/keys" of its parts.
func path(parts ...any) string {
	var p strings.Builder
	for _, part := range parts {
		p.WriteByte('/')
		switch v := part.(type) {
		case string:
			p.WriteString(v)
		case int64:
			p.WriteString(strconv.FormatInt(v, 10))
		case *user.User:
			p.WriteString(strconv.FormatInt(v.ID, 10))
		}
	}
	return p.String()
}

func form(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

type withID struct {
	ID int64 `json:"id"`
}

// Who is refused, and with which words, on every route that touches what
// belongs to someone else.
func TestStrangersAreRefusedOnTheRoutesOfOthers(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	const (
		unauthorized = `{"message":"401 Unauthorized"}`
		forbidden    = `{"message":"403 Forbidden"}`
		noUser       = `{"message":"404 User Not Found"}`
	)
	for _, tc := range []struct {
		method, path string
		body         url.Values
	}{
		{"GET", "emails", nil}, {"POST", "emails", form("email", "x@example.com")}, {"DELETE", "emails/1", nil},
		{"POST", "keys", form("title", "x", "key", "x")}, {"DELETE", "keys/1", nil},
		{"POST", "gpg_keys", form("key", "x")}, {"DELETE", "gpg_keys/1", nil}, {"POST", "gpg_keys/1/revoke", nil},
		{"GET", "custom_attributes", nil}, {"GET", "custom_attributes/k", nil},
		{"PUT", "custom_attributes/k", form("value", "v")}, {"DELETE", "custom_attributes/k", nil},
	} {
		at := path("users", b.ada, tc.path)
		b.anyone.Do(t, tc.method, at, tc.body).Want(t, http.StatusUnauthorized, unauthorized)
		b.as(b.bob).Do(t, tc.method, at, tc.body).Want(t, http.StatusForbidden, forbidden)
		// Whether the account exists is not told either.
		b.as(b.bob).Do(t, tc.method, path("users", int64(987654), tc.path), tc.body).Want(t, http.StatusForbidden, forbidden)
		b.as(b.root).Do(t, tc.method, path("users", int64(987654), tc.path), tc.body).Want(t, http.StatusNotFound, noUser)
	}
	for _, path := range []string{"/user/emails", "/user/keys", "/user/gpg_keys", "/user/status", "/user/preferences"} {
		b.anyone.Do(t, "GET", path, nil).Want(t, http.StatusUnauthorized, unauthorized)
		b.as(b.ada, access.ScopeReadUser).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)
	}
	b.as(b.ada, access.ScopeReadUser).Do(t, "POST", "/user/emails", form("email", "x@example.com")).Want(t, http.StatusForbidden,
		`{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"read_user api read_api"}`)
}

// Parameters are looked at before the administrator is asked for.
func TestAnIncompleteRequestToTheUsersGroupIsBadBeforeItIsForbidden(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	for _, tc := range []struct{ method, path, text string }{
		{"POST", path("users", b.ada, "emails"), "email is missing"},
		{"POST", path("users", b.ada, "keys"), "title is missing, key is missing"},
		{"POST", path("users", "abc", "keys"), "user_id is invalid"},
		{"POST", path("users", b.ada, "gpg_keys"), "key is missing"},
		{"PUT", path("users", b.ada, "custom_attributes", "k"), "value is missing"},
		{"GET", "/keys", "fingerprint is missing"},
		{"GET", "/keys/abc", "id is invalid"},
	} {
		b.as(b.bob).Do(t, tc.method, tc.path, nil).Want(t, http.StatusBadRequest, `{"error":"`+tc.text+`"}`)
	}
	for _, p := range []string{"/user/emails/abc", "/user/keys/abc", "/user/gpg_keys/abc"} {
		text := "key_id is invalid"
		if strings.Contains(p, "emails") {
			text = "email_id is invalid"
		}
		for _, method := range []string{"GET", "DELETE"} {
			b.as(b.ada).Do(t, method, p, nil).Want(t, http.StatusBadRequest, `{"error":"`+text+`"}`)
		}
	}
	b.as(b.root).Do(t, "GET", "/users/abc/emails", nil).Want(t, http.StatusNotFound, `{"error":"404 Not Found"}`)
}

func TestStrangersSeeNoAccountWhereThePublicLevelIsRestricted(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	k, err := b.AddSSHKey(t.Context(), actor(b.ada), b.ada.ID, newSSHKey(t))
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.AddGPGKey(t.Context(), actor(b.ada), b.ada.ID, armor(t, "rsa.asc"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.settings.Update(t.Context(), actor(b.root), func(s *setting.Settings) {
		s.RestrictedVisibilityLevels = []string{"public"}
	}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{
		path("users", b.ada, "keys"), path("users", "ada", "keys"), path("users", b.ada, "keys", k.ID),
		path("users", b.ada, "gpg_keys"), path("users", b.ada, "gpg_keys", g.ID), path("users", "ada", "status"),
	} {
		b.anyone.Do(t, "GET", p, nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
		b.as(b.bob).Do(t, "GET", p, nil).WantStatus(t, http.StatusOK)
	}
}

func TestTheInstancesOwnAccountsGetNoAddressAndNoKey(t *testing.T) {
	t.Parallel()
	b := newTopicFixture(t)
	ghost := usertest.New(t, b.db, usertest.With("kind", "ghost"))
	for at, body := range map[string]url.Values{
		"emails":   form("email", "ghost@elsewhere.example"),
		"keys":     form("title", "t", "key", ed25519Line(t)),
		"gpg_keys": form("key", armor(t, "rsa.asc")),
	} {
		b.as(b.root).Do(t, "POST", path("users", ghost, at), body).Want(t, http.StatusForbidden,
			`{"message":"403 Forbidden - An internal user cannot be modified"}`)
	}
}
