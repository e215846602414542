package oauth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"stithy/internal/oauth"
	"stithy/internal/token/tokentest"
)

// discovered is what a client finds out about the fixture's provider. Its
// network is the door.
func (w *fixture) discovered(t testing.TB) (context.Context, *oidc.Provider) {
	t.Helper()
	ctx := oidc.ClientContext(t.Context(), &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
		rec := httptest.NewRecorder()
		w.door.ServeHTTP(rec, r)
		return rec.Result()
	})})
	p, err := oidc.NewProvider(ctx, home)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, p
}

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// OA-12: an ID token is signed by the one key with the one algorithm, for one
// client, for two minutes, and no other passes for it.
func TestOA12_IDTokensAreSignedByOneKeyWithOneAlgorithm(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, other := w.app(t), w.app(t)
	ask := a.askPKCE("openid profile email")
	ask.Nonce = "n-0S6_WzA2Mj"
	w.exec(t, `insert into sessions (id, user_id, digest, created_at, last_seen_at, expires_at) values (7, $1, $2, $3, $3, $3)`,
		w.ada.ID, make([]byte, 32), w.now.Add(-time.Hour))
	i := w.exchange(t, a, w.code(t, ask), "code_verifier", verifier).issued(t)
	ctx, provider := w.discovered(t)
	verifierOf := func(client string) *oidc.IDTokenVerifier {
		return provider.VerifierContext(ctx, &oidc.Config{ClientID: client, Now: w.Clock})
	}
	verified, err := verifierOf(a.UID).Verify(t.Context(), i.IDToken)
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"iss": home, "aud": a.UID, "sub": "2", "exp": float64(w.now.Unix() + 120), "iat": float64(w.now.Unix()), "auth_time": float64(w.now.Unix()),
		"nonce": "n-0S6_WzA2Mj", "name": "Ada", "nickname": "ada", "preferred_username": "ada", "profile": home + "/ada", "email": "ada@example.com", "email_verified": true,
	}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Error(diff)
	}
	if _, err := verifierOf(other.UID).Verify(t.Context(), i.IDToken); err == nil {
		t.Error("another client took it")
	}

	parts := strings.Split(i.IDToken, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(parts[0])
	var header map[string]string
	if err := json.Unmarshal(raw, &header); err != nil || header["alg"] != "RS256" || header["kid"] == "" {
		t.Errorf("%s", raw)
	}
	keys, err := w.service.PublicKeys(t.Context())
	if err != nil || len(keys) != 2 || keys[0].Algorithm != "RS256" || keys[0].Use != "sig" || keys[0].KID != header["kid"] {
		t.Fatalf("%+v, %v", keys, err)
	}
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	forge := func(method jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
		forged := jwt.MapClaims{}
		for name, value := range claims {
			forged[name] = value
		}
		change(forged)
		token := jwt.NewWithClaims(method, forged)
		token.Header["kid"] = header["kid"]
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	as := func(sub string) func(jwt.MapClaims) { return func(c jwt.MapClaims) { c["sub"] = sub } }
	for name, forged := range map[string]string{
		"no algorithm":           forge(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, as("1")),
		"the public key as HMAC": forge(jwt.SigningMethodHS256, []byte(keys[0].Modulus), as("1")),
		"a foreign key":          forge(jwt.SigningMethodRS256, foreign, as("1")),
		"another RSA algorithm":  forge(jwt.SigningMethodPS256, foreign, as("1")),
		"claims exchanged":       parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"1"}`)) + "." + parts[2],
		"no signature":           parts[0] + "." + parts[1] + ".",
	} {
		if _, err := verifierOf(a.UID).Verify(t.Context(), forged); err == nil {
			t.Errorf("%s passed", name)
		}
		// And nothing here takes a JWT for a credential.
		if r := w.get(t, "/oauth/userinfo", forged); r.Code != 401 {
			t.Errorf("%s opens userinfo: %d", name, r.Code)
		}
	}
	if r := w.get(t, "/oauth/userinfo", i.IDToken); r.Code != 401 || w.works(t, i.IDToken) {
		t.Error("an ID token opens something")
	}
	w.turn(121 * time.Second)
	if _, err := verifierOf(a.UID).Verify(t.Context(), i.IDToken); err == nil {
		t.Error("it lives longer than two minutes")
	}
	again := w.refresh(t, a, i.RefreshToken).issued(t)
	verified, err = verifierOf(a.UID).Verify(t.Context(), again.IDToken)
	if err != nil || verified.Nonce != "" || verified.Subject != "2" {
		t.Errorf("after a refresh: %+v, %v", verified, err)
	}
	if i := w.granted(t, a, "api"); i.IDToken != "" {
		t.Error("an ID token that nobody asked for")
	}
	sealed := w.count(t, `select count(*) from signing_keys where position('PRIVATE' in encode(sealed_key, 'escape')) > 0`)
	if sealed != 0 {
		t.Error("the key is kept in the clear")
	}
}

// OA-12: a job names the audience of its token. Whatever it says, nobody who
// verifies sign-ins takes the token for one.
func TestOA12_NoTokenOfAJobPassesForASignIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, other := w.app(t), w.app(t)
	ctx, provider := w.discovered(t)
	passes := func(client, signed string) bool {
		t.Helper()
		_, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: client, Now: w.Clock}).Verify(t.Context(), signed)
		return err == nil
	}
	sign := func(audience ...string) (string, error) {
		return w.service.SignForJob(t.Context(), audience, map[string]any{
			"iss": home, "sub": "2", "iat": w.now.Unix(), "exp": w.now.Add(time.Hour).Unix(), "nonce": "n", "aud": a.UID,
		})
	}
	for _, audience := range [][]string{{a.UID}, {other.UID}, {"https://vault.example", a.UID}, {a.UID, a.UID}} {
		if signed, err := sign(audience...); !errors.Is(err, oauth.ErrAudience) || signed != "" {
			t.Errorf("%v: %s, %v", audience, signed, err)
		}
	}
	for _, audience := range [][]string{{"https://vault.example"}, {"https://vault.example", "sts.example"}, {strings.ToUpper(a.UID)}, {a.UID + " "}, {a.UID[:63]}, {""}, {"*"}, {}} {
		signed, err := sign(audience...)
		if err != nil {
			t.Fatal(err)
		}
		for _, app := range []app{a, other} {
			if passes(app.UID, signed) {
				t.Errorf("a token for %v passes for a sign-in", audience)
			}
		}
		if len(audience) > 0 && audience[0] != "" && !passes(audience[0], signed) {
			t.Errorf("%v does not know its own token", audience)
		}
		if r := w.get(t, "/oauth/userinfo", signed); r.Code != 401 || w.works(t, signed) {
			t.Error("the token of a job opens something")
		}
		if len(audience) > 0 {
			kid := func(text string) any {
				parsed, _, err := jwt.NewParser().ParseUnverified(text, jwt.MapClaims{})
				if err != nil {
					t.Fatal(err)
				}
				return parsed.Header["kid"]
			}
			keys, err := w.service.PublicKeys(t.Context())
			if err != nil || len(keys) != 2 || keys[0].KID == keys[1].KID || kid(signed) != keys[1].KID {
				t.Errorf("%+v, %v: signed by %v", keys, err, kid(signed))
			}
		}
	}
}

func TestNodesAgreeOnTheFirstKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var group sync.WaitGroup
	kids := make([]string, 4)
	for n := range kids {
		group.Go(func() {
			keys, err := oauth.New(w.Deps).PublicKeys(t.Context())
			if err != nil || len(keys) != 2 {
				t.Errorf("%v, %v", keys, err)
				return
			}
			kids[n] = keys[0].KID + " " + keys[1].KID
		})
	}
	group.Wait()
	for _, kid := range kids {
		if kid == "" || kid != kids[0] {
			t.Errorf("%v", kids)
		}
	}
}

func TestClientsDiscoverTheProvider(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, p := w.discovered(t)
	if e := p.Endpoint(); e.AuthURL != home+"/oauth/authorize" || e.TokenURL != home+"/oauth/token" || p.UserInfoEndpoint() != home+"/oauth/userinfo" {
		t.Errorf("%+v", e)
	}
	one, two := w.get(t, "/.well-known/openid-configuration", ""), w.get(t, "/.well-known/oauth-authorization-server", "")
	if one.text != two.text || one.Code != 200 {
		t.Errorf("%s\n%s", one.text, two.text)
	}
	var c map[string]any
	if err := json.Unmarshal([]byte(one.text), &c); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]any{
		"code_challenge_methods_supported": {"S256"}, "response_types_supported": {"code"}, "id_token_signing_alg_values_supported": {"RS256"},
		"grant_types_supported": {"authorization_code", "refresh_token", "password"}, "subject_types_supported": {"public"},
	} {
		if diff := cmp.Diff(want, c[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	keys := w.get(t, "/oauth/discovery/keys", "")
	if got := keys.Header().Get("Cache-Control"); got != "max-age=86400, public, must-revalidate, no-transform" {
		t.Error(got)
	}
	w.get(t, "/.well-known/webfinger?resource=acct:ada@forge.example", "").want(t, 200,
		`{"links":[{"href":"https://forge.example/","rel":"http://openid.net/specs/connect/1.0/issuer"}],"subject":"acct:ada@forge.example"}`)
	w.get(t, "/.well-known/nothing", "").want(t, 404, `{"error":"404 Not Found"}`)
	r := w.get(t, "/oauth/token", "")
	if r.want(t, 405, `{"error":"405 Not Allowed"}`); r.Header().Get("Allow") != "POST" {
		t.Errorf("%v", r.Header())
	}
}

func TestScriptsOfOtherOriginsMayCallTheProviderWithoutCredentials(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	call := func(method, path, headers string) http.Header {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("Origin", "https://app.example")
		if method == http.MethodOptions {
			r.Header.Set("Access-Control-Request-Method", "POST")
			r.Header.Set("Access-Control-Request-Headers", headers)
		}
		got := w.send(t, r)
		if method == http.MethodOptions && strings.Contains(path, "userinfo") && got.Code != 200 {
			t.Errorf("%s: %d", path, got.Code)
		}
		if got.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s lets credentials through", path)
		}
		return got.Header()
	}
	for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/userinfo"} {
		h := call("OPTIONS", path, "authorization, content-type")
		if h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST, OPTIONS") ||
			!strings.Contains(h.Get("Access-Control-Allow-Headers"), "authorization") {
			t.Errorf("%s: %v", path, h)
		}
		for _, refused := range []string{"X-Requested-With", "authorization, x-requested-with", "x-csrf-token", "private-token"} {
			if h := call("OPTIONS", path, refused); h.Get("Access-Control-Allow-Origin") != "" || h.Get("Access-Control-Allow-Headers") != "" {
				t.Errorf("%s lets %s through: %v", path, refused, h)
			}
		}
		if h := call("POST", path, ""); h.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %v", path, h)
		}
	}
	if got := call("GET", "/oauth/userinfo", "").Get("Access-Control-Allow-Methods"); got != "GET, HEAD, POST, OPTIONS" {
		t.Error(got)
	}
	for _, path := range []string{"/oauth/discovery/keys", "/.well-known/openid-configuration", "/.well-known/webfinger"} {
		if h := call("GET", path, ""); h.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %v", path, h)
		}
		if h := call("OPTIONS", path, "authorization"); h.Get("Allow") == "" {
			t.Errorf("%s answers a preflight: %v", path, h)
		}
	}
	for _, path := range []string{"/oauth/introspect", "/oauth/token/info"} {
		if h := call("POST", path, ""); h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// OA-10: the secret of an application is shown once, to who registers it; the
// tables have its digest.
func TestOA10_AClientSecretIsShownOnceAndKeptAsADigest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	root := w.api.With("Private-Token", tokentest.New(t, w.DB, w.Box, w.root.ID))
	type made struct {
		ID           int64
		UID          string `json:"application_id"`
		Name         string `json:"application_name"`
		Callback     string `json:"callback_url"`
		Confidential bool
		Secret       string
	}
	var first, open made
	form := url.Values{"name": {"Tool"}, "redirect_uri": {callback}, "scopes": {"api read_user"}}
	root.Do(t, "POST", "/applications", form).WantStatus(t, 201).Decode(t, &first)
	if !strings.HasPrefix(first.Secret, "svcoas-") || len(first.Secret) != 71 || len(first.UID) != 64 || first.Name != "Tool" || first.Callback != callback || !first.Confidential {
		t.Errorf("%+v", first)
	}
	form.Set("confidential", "false")
	root.Do(t, "POST", "/applications", form).WantStatus(t, 201).Decode(t, &open)
	if open.Confidential || open.Secret == "" {
		t.Errorf("%+v", open)
	}
	list := root.Do(t, "GET", "/applications", nil).WantStatus(t, 200)
	if !strings.HasPrefix(list.Body, `[{"id":1,"application_id":"`+first.UID+`","application_name":"Tool","callback_url":"`+callback+`","confidential":true},{"id":2,`) {
		t.Error(list.Body)
	}
	if strings.Contains(list.Body, "secret") || w.count(t, `select count(*) from oauth_applications a where a::text like '%' || $1 || '%'`, first.Secret[7:]) != 0 {
		t.Error("the secret is kept or shown again")
	}
	var renewed made
	root.Do(t, "POST", "/applications/1/renew-secret", nil).WantStatus(t, 201).Decode(t, &renewed)
	if renewed.Secret == first.Secret || renewed.UID != first.UID {
		t.Errorf("%+v", renewed)
	}
	for _, record := range w.records {
		if text, _ := json.Marshal(record); strings.Contains(string(text), first.Secret) || strings.Contains(string(text), renewed.Secret) {
			t.Error("the trail tells the secret")
		}
	}
	a := app{&oauth.Application{UID: first.UID, Confidential: true}, first.Secret}
	w.exchange(t, a, w.code(t, a.ask("api"))).refused(t, 401, oauth.InvalidClient)
	a.secret = renewed.Secret
	i := w.exchange(t, a, w.code(t, a.ask("api"))).issued(t)
	root.Do(t, "DELETE", "/applications/1", nil).Want(t, 204, "")
	if w.works(t, i.AccessToken) {
		t.Error("the token of a deleted application works")
	}
	root.Do(t, "DELETE", "/applications/1", nil).Want(t, 404, `{"message":"404 Application Not Found"}`)
	root.Do(t, "POST", "/applications/1/renew-secret", nil).Want(t, 404, `{"message":"404 Application Not Found"}`)
}

func TestApplicationsOfTheInstanceAreForAdministratorsAndChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ada, root := w.api.With("Private-Token", tokentest.New(t, w.DB, w.Box, w.ada.ID)), w.api.With("Private-Token", tokentest.New(t, w.DB, w.Box, w.root.ID))
	for _, call := range [][2]string{{"GET", "/applications"}, {"POST", "/applications"}, {"DELETE", "/applications/1"}, {"POST", "/applications/1/renew-secret"}} {
		w.api.Do(t, call[0], call[1], nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
		ada.Do(t, call[0], call[1], nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	}
	root.Do(t, "GET", "/applications", nil).Want(t, 200, `[]`)
	for _, tt := range []struct{ name, uri, scopes, want string }{
		{"", callback, "api", `{"message":{"name":["can't be blank"]}}`},
		{"n", "not a uri", "api", `{"message":{"redirect_uri":["must be an absolute URI."]}}`},
		{"n", "https://a b", "api", `{"message":{"redirect_uri":["must be an absolute URI."]}}`},
		{"n", "https://[", "api", `{"message":{"redirect_uri":["must be a valid URI."]}}`},
		{"n", "https://", "api", `{"message":{"redirect_uri":["must be a valid URI."]}}`},
		{"n", "https://a.example;script-src/cb", "api", `{"message":{"redirect_uri":["must be a valid URI."]}}`},
		{"n", "/cb", "api", `{"message":{"redirect_uri":["must be an absolute URI."]}}`},
		{"n", "javascript:alert(1)", "api", `{"message":{"redirect_uri":["is forbidden by the server."]}}`},
		{"n", "file:///etc/passwd", "api", `{"message":{"redirect_uri":["is forbidden by the server."]}}`},
		{"n", "view-source://a.example/", "api", `{"message":{"redirect_uri":["is forbidden by the server."]}}`},
		{"n", "ms-msdt://a", "api", `{"message":{"redirect_uri":["is forbidden by the server."]}}`},
		{"n", "http://127.0.0.1@evil.example/", "api", `{"message":{"redirect_uri":["must be a valid URI."]}}`},
		{"n", "DATA:text/html,x", "api", `{"message":{"redirect_uri":["is forbidden by the server."]}}`},
		{"n", callback + "#x", "api", `{"message":{"redirect_uri":["cannot contain a fragment."]}}`},
		{"n", "localhost:3000", "api", `{"message":{"redirect_uri":["must specify a scheme."]}}`},
		{"n", callback, "api everything", `{"message":{"scopes":["doesn't match configured on the server."]}}`},
		{"n", callback, "", `{"error":"scopes is empty"}`},
	} {
		root.Do(t, "POST", "/applications", url.Values{"name": {tt.name}, "redirect_uri": {tt.uri}, "scopes": {tt.scopes}}).Want(t, 400, tt.want)
	}
	root.Do(t, "POST", "/applications", url.Values{}).Want(t, 400, `{"error":"name is missing, redirect_uri is missing, scopes is missing, scopes is empty"}`)
	root.Do(t, "POST", "/applications", url.Values{"name": {"n"}, "redirect_uri": {"http://dev.example/cb"}, "scopes": {"api"}}).WantStatus(t, 201)
}
