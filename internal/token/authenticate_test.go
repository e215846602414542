package token_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/core"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

var address = netip.MustParseAddr("192.0.2.7")

// presentations are the places of a request that a secret may stand in.
var presentations = map[string]func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string){
	"Private-Token": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c.With("Private-Token", secret), path
	},
	"Bearer": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c.With("Authorization", "Bearer "+secret), path
	},
	"private_token": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c, path + "?private_token=" + url.QueryEscape(secret)
	},
	"access_token": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c, path + "?access_token=" + url.QueryEscape(secret)
	},
	"bearer_token": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c, path + "?bearer_token=" + url.QueryEscape(secret)
	},
	"job_token": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c, path + "?job_token=" + url.QueryEscape(secret)
	},
	"Job-Token": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c.With("Job-Token", secret), path
	},
	"cookie": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c.With("Cookie", "_svc_session="+secret), path
	},
	"Basic password": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c.With("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("oauth2:"+secret))), path
	},
	"Basic username": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c.With("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(secret+":"))), path
	},
	"Deploy-Token": func(c *httpapitest.Client, path, secret string) (*httpapitest.Client, string) {
		return c.With("Deploy-Token", secret), path
	},
}

func TestTK01_ScopesHoldForEveryPresentation(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secrets := map[string]string{}
	for _, scope := range access.PersonalScopes(true) {
		secrets[string(scope)] = w.secret(t, w.root, scope)
	}
	const read, write = http.MethodGet, http.MethodPost
	opens := map[string]map[string]bool{ // by scope: method and path
		"api":       {read + " /probe": true, write + " /probe": true, read + " /probe/users": true, write + " /probe/users": true},
		"read_api":  {read + " /probe": true, read + " /probe/users": true},
		"read_user": {read + " /probe/users": true},
	}
	for _, place := range []string{"Private-Token", "Bearer", "private_token"} {
		for scope, secret := range secrets {
			for _, method := range []string{read, write, http.MethodHead} {
				for _, route := range []string{"/probe", "/probe/users"} {
					client, path := presentations[place](w.Client, route, secret)
					reply := client.Do(t, method, path, nil)
					asked := method
					if method == http.MethodHead {
						asked = read
					}
					if opens[scope][asked+" "+route] {
						reply.WantStatus(t, http.StatusOK)
						continue
					}
					enough := "api read_api"
					if route == "/probe/users" {
						enough = "read_user api read_api"
					}
					reply.Want(t, http.StatusForbidden, tooSmall(enough))
					if reply.Header.Get("Www-Authenticate") != "" {
						t.Errorf("%s by %s: %v", scope, place, reply.Header)
					}
				}
			}
		}
	}
}

func TestTK01_BasicAndBodiesDoNotAuthenticate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := w.secret(t, w.ada)
	for _, place := range []string{"Basic password", "Basic username", "Deploy-Token", "Job-Token", "job_token"} {
		client, path := presentations[place](w.Client, "/probe", secret)
		client.Do(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized, unauthorized)
	}
	for _, name := range []string{"private_token", "access_token", "bearer_token", "job_token", "token"} {
		w.Do(t, http.MethodPost, "/probe", url.Values{name: {secret}}).Want(t, http.StatusUnauthorized, unauthorized)
		w.Do(t, http.MethodPost, "/probe", map[string]string{name: secret}).Want(t, http.StatusUnauthorized, unauthorized)
	}
}

func TestTheWholeAccountIsReadWhereTheEndpointAsksForIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cookie, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []*httpapitest.Client{w.as(t, w.ada), w.With("Cookie", "_svc_session="+cookie.Reveal())} {
		for path, want := range map[string]bool{"/probe": true, "/probe/open": false} {
			got := httpapitest.JSON[seen](t, client.Do(t, http.MethodGet, path, nil))
			if got.ID != w.ada.ID || got.Row != w.ada.Username || got.Whole != want {
				t.Errorf("%s: called as %+v", path, got)
			}
		}
	}
}

func TestTheFirstCredentialDecides(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ada, root := w.secret(t, w.ada), w.secret(t, w.root)
	cookie, _, err := w.tokens.StartSession(t.Context(), w.root.ID, address, "")
	if err != nil {
		t.Fatal(err)
	}
	in := w.With("Cookie", "_svc_session="+cookie.Reveal())

	wantIn(t, w.With("Private-Token", root).Do(t, http.MethodGet, "/probe?private_token="+ada, nil), w.ada)
	wantIn(t, w.With("Private-Token", root).With("Authorization", "Bearer "+ada).Do(t, http.MethodGet, "/probe", nil), w.ada)
	wantIn(t, in.With("Private-Token", ada).Do(t, http.MethodGet, "/probe", nil), w.ada)

	// An unknown one does not fall through to the next.
	unknown := "svcpat-" + secretbox.RandomToken(20)
	in.With("Private-Token", unknown).Do(t, http.MethodGet, "/probe/open", nil).Want(t, http.StatusUnauthorized, unauthorized)
	w.With("Private-Token", ada).Do(t, http.MethodGet, "/probe?private_token="+unknown, nil).Want(t, http.StatusUnauthorized, unauthorized)
	w.With("Private-Token", ada).Do(t, http.MethodGet, "/probe?access_token="+ada, nil).Want(t, http.StatusUnauthorized, unauthorized)
	w.Do(t, http.MethodGet, "/probe/open", nil).WantStatus(t, http.StatusOK)
}

func TestAuthenticationFailuresSayWhy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
	w.with("svcpat-"+secretbox.RandomToken(20)).Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
	w.with("nonsense").Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)

	both := w.secret(t, w.ada, access.ScopeReadUser)
	w.ofSecret(t, both, "expires_at = '2024-05-02', revoked_at = '2024-05-01'")
	revoked := w.secret(t, w.ada, access.ScopeReadUser)
	w.ofSecret(t, revoked, "revoked_at = '2024-05-01'")
	for secret, why := range map[string]string{both: isExpired, revoked: wasRevoked} {
		reply := w.with(secret).Do(t, http.MethodGet, "/probe", nil)
		wantUnusable(t, reply, why)
	}
}

func TestImpersonationTokensObeyTheSwitch(t *testing.T) {
	t.Parallel()
	const off = "Token is an impersonation token but impersonation was disabled."
	for _, on := range []bool{true, false} {
		w := newFixture(t, func(d *core.Deps) { d.Impersonation = on })
		secret, revoked := w.secret(t, w.ada), w.secret(t, w.ada)
		w.ofSecret(t, secret, "impersonation = true")
		w.ofSecret(t, revoked, "impersonation = true, revoked_at = now()")
		reply := w.with(secret).Do(t, http.MethodGet, "/probe", nil)
		if on {
			wantIn(t, reply, w.ada)
		} else {
			wantUnusable(t, reply, off)
		}
		wantUnusable(t, w.with(revoked).Do(t, http.MethodGet, "/probe", nil), wasRevoked)
		wantIn(t, w.as(t, w.ada).Do(t, http.MethodGet, "/probe", nil), w.ada)
	}
}

func TestPersonalTokensCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	client := w.as(t, w.ada)
	w.set(t, func(s *setting.Settings) { s.DisablePersonalAccessTokens = true })
	client.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
}

// stub resolves one secret of a kind that another room owns.
func stub(w *fixture, kind access.Kind, secret string, u *user.User) {
	s := &resolver{w.db, kind, secret, u.ID}
	if kind == access.OAuthToken {
		w.oauth.Resolver = s
	} else {
		w.jobs.Resolver = s
	}
}

type resolver struct {
	db     *postgres.DB
	kind   access.Kind
	secret string
	userID int64
}

func (s *resolver) Bearer(ctx context.Context, p access.Presented) (*user.User, access.Credential, error) {
	if p.Secret != s.secret {
		return nil, access.Credential{}, nil
	}
	fresh, err := postgres.One[user.User](ctx, s.db, "select "+user.Columns+" from users u where u.id = $1 and u.removal is null", s.userID)
	if errors.Is(err, postgres.ErrNoRows) {
		return nil, access.Credential{}, nil
	}
	return &fresh, access.Credential{Kind: s.kind, ID: 1, Scopes: access.Scopes{access.ScopeAPI}}, err
}

func TestAU10_AccountStatesHoldForEveryKindOfCredential(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := usertest.New(t, w.db, usertest.Named("target"))
	oauth, job := strings.Repeat("0123456789abcdef", 4), "job-"+secretbox.RandomToken(30)
	stub(w, access.OAuthToken, oauth, u)
	stub(w, access.JobToken, job, u)
	impersonation := w.secret(t, u)
	w.ofSecret(t, impersonation, "impersonation = true")
	cookie, _, err := w.tokens.StartSession(t.Context(), u.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	clients := map[string]*httpapitest.Client{
		"personal token":      w.as(t, u),
		"impersonation token": w.with(impersonation),
		"OAuth token":         w.With("Authorization", "Bearer "+oauth),
		"job token":           w.With("Job-Token", job),
		"session":             w.With("Cookie", "_svc_session="+cookie.Reveal()),
	}
	refused := func(reason string) string { return `{"message":"403 Forbidden - ` + reason + `"}` }
	const (
		internal    = "This action cannot be performed by internal users"
		pending     = "Your account is pending approval from your administrator and hence blocked."
		deactivated = "Your account has been deactivated by your administrator. Please log back in from a web browser to reactivate your account at https://forge.example"
		unconfirmed = "Your primary email address is not confirmed. Please check your inbox for the confirmation instructions. In case the link is expired, you can request a new confirmation email at https://forge.example/users/confirmation/new"
		blocked     = "Your account has been blocked."
		password    = "Your password expired. Please access Svc from a web browser to update your password."
	)
	const sound = "kind = 'human', state = 'active', confirmed_at = '2024-01-01', password_expires_at = null, locked_at = null"
	for _, c := range []struct{ set, reason string }{
		{sound, ""},
		{sound + ", admin = true", ""},
		{sound + ", admin = false", ""},
		{"locked_at = now()", ""},
		{"kind = 'project_bot'", ""},
		{"kind = 'service_account'", ""},
		{"kind = 'ghost'", internal},
		{"kind = 'support_bot'", internal},
		{"kind = 'alert_bot'", internal},
		{"state = 'blocked_pending_approval'", internal}, // the first reason counts
		{"kind = 'human'", pending},
		{"confirmed_at = null", pending},
		{"state = 'deactivated'", deactivated},
		{"state = 'blocked'", unconfirmed},
		{"state = 'active'", unconfirmed},
		{"confirmed_at = '2024-01-01', state = 'blocked'", blocked},
		{"state = 'ldap_blocked'", blocked},
		{"state = 'banned', password_expires_at = '2024-05-01'", blocked},
		{"state = 'active'", password},
		{"password_expires_at = '2024-05-03'", ""},
		{sound, ""},
	} {
		w.exec(t, "update users set "+c.set+" where id = $1", u.ID)
		// What runs in their name while they are away.
		if later, err := w.tokens.Later(t.Context(), u.ID); (err == nil) != (c.reason == "") || (err == nil && later.ID() != u.ID) {
			t.Errorf("later, after %s: %d, %v", c.set, later.ID(), err)
		}
		for kind, client := range clients {
			reply := client.Do(t, http.MethodGet, "/probe/job", nil)
			if c.reason == "" {
				if got := httpapitest.JSON[seen](t, reply); got.ID != u.ID {
					t.Errorf("%s after %s: %s", kind, c.set, reply.Body)
				}
				continue
			}
			if reply.Status != http.StatusForbidden || reply.Body != refused(c.reason) {
				t.Errorf("%s after %s: got %d %s", kind, c.set, reply.Status, reply.Body)
			}
		}
	}
	w.exec(t, "update users set removal = 'soft' where id = $1", u.ID)
	for kind, client := range clients {
		if kind == "session" { // a cookie of nobody leaves the caller anonymous
			client.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
			continue
		}
		client.Do(t, http.MethodGet, "/probe/job", nil).Want(t, http.StatusUnauthorized, unauthorized)
	}
}

func TestAU10_ARefusedAccountIsNotRevivedByUse(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := usertest.New(t, w.db, usertest.In(user.Deactivated))
	w.as(t, u).Do(t, http.MethodGet, "/probe", nil).WantStatus(t, http.StatusForbidden)
	if err := w.tokens.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := postgres.Value[string](t.Context(), w.db, "select state || coalesce(last_activity_on::text, '') from users where id = $1", u.ID)
	if err != nil || state != "deactivated" {
		t.Errorf("%s %v", state, err)
	}
}

func TestAU09_NothingInTheTablesAuthenticates(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	client := w.as(t, w.root)
	client.Do(t, http.MethodPost, "/users/"+id(w.ada.ID)+"/personal_access_tokens", map[string]any{"name": "t", "scopes": []string{"api"}}).
		WantStatus(t, http.StatusCreated)
	if _, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test"); err != nil {
		t.Fatal(err)
	}
	rows, err := postgres.Values[string](t.Context(), w.db, `
		select v from (select row_to_json(p) from personal_access_tokens p union all select row_to_json(s) from sessions s) as r (j),
			json_each_text(r.j) as e (k, v) where v is not null`)
	if err != nil {
		t.Fatal(err)
	}
	digests, err := postgres.Values[[]byte](t.Context(), w.db, "select digest from personal_access_tokens union all select digest from sessions")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 20 || len(digests) != 3 {
		t.Fatalf("%d values, %d digests", len(rows), len(digests))
	}
	for _, d := range digests {
		rows = append(rows, string(d), hex.EncodeToString(d), base64.StdEncoding.EncodeToString(d), base64.RawURLEncoding.EncodeToString(d),
			"svcpat-"+base64.RawURLEncoding.EncodeToString(d)[:20])
	}
	for _, value := range rows {
		for place, present := range presentations {
			if strings.ContainsAny(value, "\r\n\x00") && !strings.Contains(place, "_") {
				continue // no header can hold it
			}
			caller, path := present(w.Client, "/probe", value)
			if reply := caller.Do(t, http.MethodGet, path, nil); reply.Status < 400 || reply.Status >= 500 {
				t.Errorf("%q as %s: %d %s", value, place, reply.Status, reply.Body)
			}
		}
	}
}

func TestTK10_EachKindOfSecretFitsItsOwnSlotsOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	oauth, job := strings.Repeat("0123456789abcdef", 4), secretbox.RandomToken(24)
	stub(w, access.OAuthToken, oauth, w.ada)
	stub(w, access.JobToken, job, w.ada)
	cookie, csrf, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[access.Kind]string{
		access.PersonalToken: w.secret(t, w.ada), access.OAuthToken: oauth, access.JobToken: job, access.Session: cookie.Reveal(), "csrf": csrf,
	}
	fits := map[access.Kind][]string{
		access.PersonalToken: {"Private-Token", "private_token", "Bearer"},
		access.OAuthToken:    {"access_token", "bearer_token", "Bearer"},
		access.JobToken:      {"job_token", "Job-Token", "Bearer"},
		access.Session:       {"cookie"},
	}
	for kind, secret := range secrets {
		for place, present := range presentations {
			client, path := present(w.Client, "/probe/job", secret)
			reply := client.Do(t, http.MethodGet, path, nil)
			fit := false
			for _, p := range fits[kind] {
				fit = fit || p == place
			}
			var got seen
			if reply.Status == http.StatusOK {
				got = httpapitest.JSON[seen](t, reply)
			}
			if fit != (got.ID == w.ada.ID) || (fit && got.Kind != kind) {
				t.Errorf("%s as %s: %d %s", kind, place, reply.Status, reply.Body)
			}
		}
	}
}

func TestTK10_TheDigestIncludesTheKind(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cookie, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	// The same secret, stored as the other kind.
	forToken := w.secret(t, w.ada)
	w.ofSecret(t, forToken, "digest = $2", w.box.Digest(string(access.Session), forToken))
	w.with(forToken).Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
	w.exec(t, "update sessions set digest = $1", w.box.Digest(string(access.PersonalToken), cookie.Reveal()))
	w.With("Cookie", "_svc_session="+cookie.Reveal()).Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
}

func TestTK10_OnlyTextIsASecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := w.secret(t, w.ada)
	for _, query := range []string{
		"private_token[]=" + secret, "private_token[a]=" + secret, "private_token=" + secret + "&private_token=" + secret,
		"private_token=" + secret[:len(secret)-1], "private_token=" + strings.ToUpper(secret), "private_token=" + secret + "%20",
		"private_token=" + strings.TrimPrefix(secret, "svcpat-"), "private_token=true", "private_token=0",
	} {
		w.Do(t, http.MethodGet, "/probe?"+query, nil).Want(t, http.StatusUnauthorized, unauthorized)
	}
	w.Do(t, http.MethodPost, "/probe", `{"private_token":["`+secret+`"]}`).Want(t, http.StatusUnauthorized, unauthorized)
	w.with(secret).Do(t, http.MethodGet, "/probe", nil).WantStatus(t, http.StatusOK)
}

func TestTK10_EachKindHasItsOwnLifetime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := w.secret(t, w.ada)
	w.ofSecret(t, secret, "expires_at = '2024-05-03'")
	cookie, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	start := w.now
	browser := w.With("Cookie", "_svc_session="+cookie.Reveal())

	w.now = time.Date(2024, 5, 2, 23, 59, 59, 999e6, time.UTC)
	w.with(secret).Do(t, http.MethodGet, "/probe", nil).WantStatus(t, http.StatusOK)
	w.now = time.Date(2024, 5, 3, 0, 0, 0, 0, time.UTC)
	wantUnusable(t, w.with(secret).Do(t, http.MethodGet, "/probe", nil), isExpired)

	w.now = start.Add(10080*time.Minute - time.Millisecond)
	wantIn(t, browser.Do(t, http.MethodGet, "/probe", nil), w.ada)
	w.now = start.Add(10080 * time.Minute)
	browser.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
}

func TestTK06_ARevokedTokenIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret, other := w.secret(t, w.ada), w.secret(t, w.ada)
	w.with(secret).Do(t, http.MethodGet, "/probe", nil).WantStatus(t, http.StatusOK)
	w.with(other).Do(t, http.MethodDelete, "/personal_access_tokens/"+id(w.idOf(t, secret)), nil).Want(t, http.StatusNoContent, "")
	wantUnusable(t, w.with(secret).Do(t, http.MethodGet, "/probe", nil), wasRevoked)
}

func TestTK05_SudoIsRefusedInOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	blocked := usertest.New(t, w.db, usertest.Named("mallory"), usertest.In(user.Blocked))
	oauth, job := strings.Repeat("0123456789abcdef", 4), secretbox.RandomToken(24)
	stub(w, access.OAuthToken, oauth, w.root)
	stub(w, access.JobToken, job, w.root)
	cookie, _, err := w.tokens.StartSession(t.Context(), w.root.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	const (
		notAdmin = `{"message":"403 Forbidden - Must be admin to use sudo"}`
		notToken = `{"message":"403 Forbidden - Must be authenticated using an OAuth or Personal Access Token to use sudo"}`
	)
	root := w.as(t, w.root, access.ScopeSudo)
	for name, c := range map[string]struct {
		client *httpapitest.Client
		target string
		status int
		body   string
	}{
		"anonymous":             {w.Client, "Ada", http.StatusUnauthorized, unauthorized},
		"anonymous, no target":  {w.Client, "nobody", http.StatusUnauthorized, unauthorized},
		"unknown token":         {w.with("svcpat-" + secretbox.RandomToken(20)), "Ada", http.StatusUnauthorized, unauthorized},
		"not admin":             {w.as(t, w.ada, access.ScopeAPI), "root", http.StatusForbidden, notAdmin},
		"not admin, with scope": {w.as(t, w.ada, access.ScopeSudo), "nobody", http.StatusForbidden, notAdmin},
		"session":               {w.With("Cookie", "_svc_session="+cookie.Reveal()), "nobody", http.StatusForbidden, notToken},
		"job token":             {w.With("Job-Token", job), "Ada", http.StatusForbidden, notToken},
		"OAuth without scope":   {w.With("Authorization", "Bearer "+oauth), "Ada", http.StatusForbidden, tooSmall("sudo")},
		"token without scope":   {w.as(t, w.root, access.ScopeAPI), "nobody", http.StatusForbidden, tooSmall("sudo")},
		"unknown name":          {root, "nobody", http.StatusNotFound, `{"message":"404 User with ID or username 'nobody' Not Found"}`},
		"unknown id":            {root, "999999999", http.StatusNotFound, `{"message":"404 User with ID or username '999999999' Not Found"}`},
		"id beyond numbers":     {root, "99999999999999999999", http.StatusNotFound, `{"message":"404 User with ID or username '99999999999999999999' Not Found"}`},
		"not text":              {root, "\xff", http.StatusNotFound, `{"message":"404 User with ID or username '` + "\ufffd" + `' Not Found"}`},
		"blocked target":        {root, blocked.Username, http.StatusForbidden, `{"message":"403 Forbidden - Your account has been blocked."}`},
	} {
		t.Run(name, func(t *testing.T) {
			reply := c.client.With("Sudo", c.target).Do(t, http.MethodGet, "/probe/job", nil)
			if name == "not text" {
				reply.Body = strings.ReplaceAll(reply.Body, `\ufffd`, "\ufffd")
			}
			reply.Want(t, c.status, c.body)
		})
	}
	for _, target := range []string{"Ada", "ADA", "ada", id(w.ada.ID)} {
		for _, r := range []*httpapitest.Reply{
			root.With("Sudo", target).Do(t, http.MethodPost, "/probe", nil), // the sudo scope stands for the route's own
			root.Do(t, http.MethodPost, "/probe?sudo="+target, nil),
			root.With("Sudo", "nobody").Do(t, http.MethodPost, "/probe?sudo="+target, nil), // the parameter wins
		} {
			wantIn(t, r, w.ada)
			if got := httpapitest.JSON[seen](t, r); got.Sudoer != w.root.ID || got.Admin || got.Kind != access.PersonalToken {
				t.Errorf("%+v", got)
			}
		}
	}
	root.With("Sudo", "ada").Do(t, http.MethodGet, "/probe/admin", nil).Want(t, http.StatusForbidden, forbidden)
}

func TestTK05_ADemotedAdministratorHasNoSudo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	client := w.as(t, w.root, access.ScopeAPI, access.ScopeSudo).With("Sudo", "ada")
	wantIn(t, client.Do(t, http.MethodGet, "/probe", nil), w.ada)
	w.exec(t, "update users set admin = false where id = $1", w.root.ID)
	client.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusForbidden, `{"message":"403 Forbidden - Must be admin to use sudo"}`)
}

func TestTK05_TheTrailKeepsBothIDs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.as(t, w.root, access.ScopeSudo).With("Sudo", "ada").
		Do(t, http.MethodPost, "/user/personal_access_tokens", map[string]any{"name": "k", "scopes": []string{"k8s_proxy"}}).
		WantStatus(t, http.StatusCreated)
	records := w.taken()
	if len(records) != 1 || records[0].By.ID() != w.ada.ID || records[0].By.Sudoer == nil || records[0].By.Sudoer.ID != w.root.ID ||
		records[0].By.Address != httpapitest.Address {
		t.Errorf("%+v", records)
	}
}

func TestAdminModeAsksForTheScope(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	plain, mode := w.as(t, w.root, access.ScopeAPI, access.ScopeSudo), w.as(t, w.root, access.ScopeAPI, access.ScopeSudo, access.ScopeAdminMode)
	for _, c := range []*httpapitest.Client{plain, mode} {
		c.Do(t, http.MethodGet, "/probe/admin", nil).WantStatus(t, http.StatusOK)
	}
	w.set(t, func(s *setting.Settings) { s.AdminMode = true })
	plain.Do(t, http.MethodGet, "/probe/admin", nil).Want(t, http.StatusForbidden, forbidden)
	plain.With("Sudo", "ada").Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusForbidden, `{"message":"403 Forbidden - Must be admin to use sudo"}`)
	mode.Do(t, http.MethodGet, "/probe/admin", nil).WantStatus(t, http.StatusOK)
	wantIn(t, mode.With("Sudo", "ada").Do(t, http.MethodGet, "/probe", nil), w.ada)
}

func TestASessionWritesOnlyWithItsCSRFValue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cookie, csrf, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	_, foreign, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	browser := w.With("Cookie", "_svc_session="+cookie.Reveal())
	wantIn(t, browser.Do(t, http.MethodGet, "/probe", nil), w.ada)
	wantIn(t, browser.With("X-Csrf-Token", csrf).Do(t, http.MethodPost, "/probe", nil), w.ada)
	for _, wrong := range []string{"", foreign, csrf + "=", strings.ToLower(csrf), cookie.Reveal()} {
		browser.With("X-Csrf-Token", wrong).Do(t, http.MethodPost, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
		if got := httpapitest.JSON[seen](t, browser.With("X-Csrf-Token", wrong).Do(t, http.MethodPost, "/probe/open", nil)); got.ID != 0 {
			t.Errorf("%q writes as %+v", wrong, got)
		}
	}
	// A cookie that means nothing is no error: browsers send it everywhere.
	for _, dead := range []string{secretbox.RandomToken(43), "x", csrf} {
		if got := httpapitest.JSON[seen](t, w.With("Cookie", "_svc_session="+dead).Do(t, http.MethodGet, "/probe/open", nil)); got.ID != 0 {
			t.Errorf("%q is %+v", dead, got)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	start := func(u *user.User) (*httpapitest.Client, secretbox.Secret) {
		cookie, _, err := w.tokens.StartSession(t.Context(), u.ID, netip.Addr{}, strings.Repeat("é\x00", 600))
		if err != nil {
			t.Fatal(err)
		}
		return w.With("Cookie", "_svc_session="+cookie.Reveal()), cookie
	}
	one, cookie := start(w.ada)
	two, _ := start(w.ada)
	other, _ := start(w.root)
	if err := w.tokens.EndSession(t.Context(), cookie); err != nil {
		t.Fatal(err)
	}
	one.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
	wantIn(t, two.Do(t, http.MethodGet, "/probe", nil), w.ada)
	if err := w.db.InTx(t.Context(), func(tx pgx.Tx) error { return w.tokens.EndSessions(t.Context(), tx, w.ada.ID) }); err != nil {
		t.Fatal(err)
	}
	two.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
	wantIn(t, other.Do(t, http.MethodGet, "/probe", nil), w.root)

	// The next sign-in sweeps out the dead.
	w.now = w.now.AddDate(0, 1, 0)
	start(w.root)
	if n, err := postgres.Value[int](t.Context(), w.db, "select count(*) from sessions"); n != 1 || err != nil {
		t.Errorf("%d sessions, %v", n, err)
	}
}

func TestASessionIsEndedByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cookie, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	browser := w.With("Cookie", "_svc_session="+cookie.Reveal())
	sessions, err := w.tokens.Sessions(t.Context(), w.ada.ID)
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%v %v", sessions, err)
	}
	if err := w.tokens.EndSessionOf(t.Context(), w.root.ID, sessions[0].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's: %v", err)
	}
	wantIn(t, browser.Do(t, http.MethodGet, "/probe", nil), w.ada)
	if err := w.tokens.EndSessionOf(t.Context(), w.ada.ID, sessions[0].ID); err != nil {
		t.Fatal(err)
	}
	browser.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
}

// A token was made by who was let in; a session waits for the factor.
func TestASessionOpensNothingWhileItsOwnerOwesAFactor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cookie, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	browser := w.With("Cookie", "_svc_session="+cookie.Reveal())
	w.exec(t, "update users set created_at = $2 where id = $1", w.ada.ID, w.now.AddDate(0, 0, -1))
	require := func(all, administrators bool, grace int) {
		t.Helper()
		if err := w.settings.Update(t.Context(), access.Actor{}, func(now *setting.Settings) {
			now.RequireTwoFactorAuthentication, now.RequireAdminTwoFactorAuthentication, now.TwoFactorGracePeriod = all, administrators, grace
		}); err != nil {
			t.Fatal(err)
		}
	}
	owes := func(set string) {
		t.Helper()
		w.exec(t, "update users set "+set+" where id = $1", w.ada.ID)
		browser.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
		wantIn(t, w.as(t, w.ada).Do(t, http.MethodGet, "/probe", nil), w.ada)
	}
	free := func(set string) {
		t.Helper()
		w.exec(t, "update users set "+set+" where id = $1", w.ada.ID)
		wantIn(t, browser.Do(t, http.MethodGet, "/probe", nil), w.ada)
	}
	require(true, false, 24)
	owes("two_factor_enabled = false")
	free("two_factor_enabled = true")
	require(true, false, 25) // hours
	free("two_factor_enabled = false")
	require(false, true, 0)
	free("admin = false")
	owes("admin = true")
}

func TestAUsedSessionLivesOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cookie, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	browser := w.With("Cookie", "_svc_session="+cookie.Reveal())
	for range 5 {
		w.now = w.now.AddDate(0, 0, 6)
		wantIn(t, browser.Do(t, http.MethodGet, "/probe", nil), w.ada)
		if err := w.tokens.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.now = w.now.AddDate(0, 0, 7)
	browser.Do(t, http.MethodGet, "/probe", nil).Want(t, http.StatusUnauthorized, unauthorized)
}

func TestUseIsWrittenDownNowAndThen(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := w.secret(t, w.ada)
	cookie, _, err := w.tokens.StartSession(t.Context(), w.ada.ID, address, "test")
	if err != nil {
		t.Fatal(err)
	}
	browser := w.With("Cookie", "_svc_session="+cookie.Reveal())
	start := w.now
	type written struct {
		Used     *time.Time
		Seen     time.Time
		Active   *time.Time
		SignedIn *time.Time
	}
	for _, c := range []struct {
		after              time.Duration
		used, seen, active time.Duration
	}{
		{0, 0, 0, 0},
		{59 * time.Second, 0, 0, 0},
		{time.Minute, 0, time.Minute, 0},
		{10*time.Minute - time.Millisecond, 0, 10*time.Minute - time.Millisecond, 0},
		{10 * time.Minute, 10 * time.Minute, 10*time.Minute - time.Millisecond, 0},
		{24 * time.Hour, 24 * time.Hour, 24 * time.Hour, 24 * time.Hour},
	} {
		w.now = start.Add(c.after)
		for range 3 {
			wantIn(t, w.with(secret).Do(t, http.MethodGet, "/probe", nil), w.ada)
			wantIn(t, browser.Do(t, http.MethodGet, "/probe", nil), w.ada)
		}
		if err := w.tokens.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := postgres.One[written](t.Context(), w.db, `
			select t.last_used_at as used, s.last_seen_at as seen, u.last_activity_on as active, u.current_sign_in_at as signed_in
			from users u join personal_access_tokens t on t.user_id = u.id join sessions s on s.user_id = u.id where u.id = $1`, w.ada.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Used.Equal(start.Add(c.used)) || !got.Seen.Equal(start.Add(c.seen)) || !got.Active.Equal(start.Add(c.active).Truncate(24*time.Hour)) ||
			!got.SignedIn.Equal(start.Add(c.active)) {
			t.Errorf("after %v: used %v, seen %v, active %v, signed in %v", c.after, got.Used, got.Seen, got.Active, got.SignedIn)
		}
	}
}

func TestThePartFlushesWhenItStops(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	part := w.tokens.Part()
	if err := part.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	secret := w.secret(t, w.ada)
	wantIn(t, w.with(secret).Do(t, http.MethodGet, "/probe", nil), w.ada)
	if err := part.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if used, err := postgres.Value[bool](t.Context(), w.db, "select last_used_at is not null from personal_access_tokens"); !used || err != nil {
		t.Errorf("%v %v", used, err)
	}
}

func TestUnknownKindsAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, kinds := range [][]access.Kind{nil, {access.OAuthToken}, {access.JobToken}, {"made up"}, {access.JobToken, access.OAuthToken}} {
		_, err := w.tokens.Authenticate(t.Context(), access.Presented{Secret: w.secret(t, w.ada), Kinds: kinds})
		if !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%v: %v", kinds, err)
		}
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	w := newFixture(b)
	secret := w.secret(b, w.ada)
	w.ofSecret(b, secret, "last_used_at = $2", w.now)
	w.exec(b, "update users set last_activity_on = $1", w.now)
	p := access.Presented{Secret: secret, Kinds: []access.Kind{access.PersonalToken}, Reading: true}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.tokens.Authenticate(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}
