package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// callback is where the applications of these tests live. Nobody listens there: the browser stops at the door.
const callback = "http://127.0.0.1:9/callback"

// application is one that an administrator registered over the API.
type application struct {
	ID     string `json:"application_id"`
	Secret string `json:"secret"`
}

func (f *forge) api(method, path, token string, form url.Values, into any) int {
	f.t.Helper()
	return f.apiAt(f.url, method, path, token, form, into)
}

// apiAt calls one of several nodes.
func (f *forge) apiAt(node, method, path, token string, form url.Values, into any) int {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, node+path, strings.NewReader(form.Encode()))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			f.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
		}
	}
	return res.StatusCode
}

func (f *forge) application(scopes, confidential string) (a application) {
	f.t.Helper()
	got := f.api("POST", "/api/v4/applications", f.token, url.Values{
		"name": {"Tour"}, "redirect_uri": {callback}, "scopes": {scopes}, "confidential": {confidential},
	}, &a)
	if got != http.StatusCreated || a.ID == "" {
		f.t.Fatalf("registering an application: %d", got)
	}
	f.secret(a.Secret)
	return a
}

// person makes an account that signs in with the password of the forge.
func (f *forge) person(username string) {
	f.t.Helper()
	if got := f.api("POST", "/api/v4/users", f.token, url.Values{
		"username": {username}, "name": {username}, "email": {username + "@example.com"}, "password": {f.password}, "skip_confirmation": {"true"},
	}, nil); got != http.StatusCreated {
		f.t.Fatalf("making an account: %d", got)
	}
}

// script runs one that drives a browser, or a client that needs one.
func (f *forge) script(env []string, command ...string) string {
	f.t.Helper()
	need(f.t, "chromium is missing: apt-get install -y chromium", "/usr/bin/chromium", "--version")
	need(f.t, "playwright-core and openid-client are missing: npm ci --ignore-scripts in test/e2e/node", "node", "-e",
		`for (const name of ["playwright-core", "openid-client"]) require("./node/node_modules/" + name + "/package.json")`)
	ctx, cancel := context.WithTimeout(f.t.Context(), tourTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "LANG=C.UTF-8",
		"TOUR_URL=" + f.url, "TOUR_LOGIN=ada", "TOUR_PASSWORD=" + f.password, "TOUR_CALLBACK=" + callback,
	}, env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("%s: %v\n%s%s", strings.Join(command[:2], " "), err, out, stderr.String())
	}
	return string(out)
}

// consent takes ada through the pages and returns what her browser brought back to the application.
func (f *forge) consent(ask string) url.Values {
	f.t.Helper()
	to, err := url.Parse(strings.TrimSpace(f.script(nil, "node", "node/consent.mjs", ask, callback)))
	if err != nil {
		f.t.Fatal(err)
	}
	return to.Query()
}

// The packages that Go programs use, unmodified, against the pages in a real browser.
func TestGoClientsCompleteTheFlowsThroughTheBrowser(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.person("ada")
	for _, confidential := range []string{"true", "false"} {
		a := f.application("openid profile email api", confidential)
		provider, err := oidc.NewProvider(t.Context(), f.url)
		if err != nil {
			t.Fatal(err)
		}
		client := oauth2.Config{ClientID: a.ID, Endpoint: provider.Endpoint(), RedirectURL: callback, Scopes: []string{oidc.ScopeOpenID, "profile", "email", "api"}}
		if confidential == "true" {
			client.ClientSecret = a.Secret
		}
		verifier := oauth2.GenerateVerifier()
		back := f.consent(client.AuthCodeURL("state with spaces & more", oauth2.S256ChallengeOption(verifier), oidc.Nonce("n1")))
		if back.Get("state") != "state with spaces & more" || back.Get("iss") != f.url || back.Get("code") == "" {
			t.Fatalf("%v", back)
		}
		if _, err := client.Exchange(t.Context(), back.Get("code"), oauth2.VerifierOption(oauth2.GenerateVerifier())); err == nil {
			t.Error("another verifier was taken")
		}
		token, err := client.Exchange(t.Context(), back.Get("code"), oauth2.VerifierOption(verifier))
		if err != nil {
			t.Fatal(err)
		}
		f.secret(token.AccessToken)
		f.secret(token.RefreshToken)
		raw, _ := token.Extra("id_token").(string)
		identity, err := provider.Verifier(&oidc.Config{ClientID: a.ID}).Verify(t.Context(), raw)
		if err != nil || identity.Nonce != "n1" {
			t.Fatalf("%+v, %v", identity, err)
		}
		info, err := provider.UserInfo(t.Context(), client.TokenSource(t.Context(), token))
		if err != nil || info.Subject != identity.Subject || info.Email != "ada@example.com" || !info.EmailVerified {
			t.Errorf("%+v, %v", info, err)
		}
		if got := f.api("GET", "/api/v4/user", token.AccessToken, nil, nil); got != 200 {
			t.Errorf("the API answers %d", got)
		}
		stale := *token
		stale.Expiry = identity.IssuedAt
		fresh, err := client.TokenSource(t.Context(), &stale).Token()
		if err != nil || fresh.AccessToken == token.AccessToken {
			t.Fatalf("refreshing: %v", err)
		}
		if got := f.api("GET", "/api/v4/user", token.AccessToken, nil, nil); got != 401 {
			t.Errorf("the old token gets %d", got)
		}
		if _, err := client.Exchange(t.Context(), back.Get("code"), oauth2.VerifierOption(verifier)); err == nil {
			t.Error("a code was taken twice")
		}
		if got := f.api("GET", "/api/v4/user", fresh.AccessToken, nil, nil); got != 401 {
			t.Errorf("after the replay of its code the token gets %d", got)
		}
	}
	plain := oauth2.Config{Endpoint: oauth2.Endpoint{TokenURL: f.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams}}
	token, err := plain.PasswordCredentialsToken(t.Context(), "ada", f.password)
	if err != nil || token.RefreshToken != "" {
		t.Fatalf("password: %v", err)
	}
	if got := f.api("GET", "/api/v4/user", token.AccessToken, nil, nil); got != 200 {
		t.Errorf("the API answers %d", got)
	}
}

func TestOpenIDClientAndAuthlibCompleteTheFlowsThroughTheBrowser(t *testing.T) {
	t.Parallel()
	need(t, "authlib is missing: apt-get install -y python3-authlib python3-requests", "/usr/bin/python3", "-c",
		`from authlib.integrations.requests_client import OAuth2Session`)
	f := start(t)
	f.person("ada")
	confidential, public := f.application("openid profile email api", "true"), f.application("openid profile email api", "false")
	env := []string{"TOUR_CLIENT=" + confidential.ID, "TOUR_SECRET=" + confidential.Secret, "TOUR_PUBLIC_CLIENT=" + public.ID}
	t.Log(f.script(env, "node", "node/openid.mjs"))
	t.Log(f.script(append(env, "AUTHLIB_INSECURE_TRANSPORT=1"), "/usr/bin/python3", "python/openid.py"))
}

// OA-05 in a browser, and the end of a grant: an application with read_user reads profiles and nothing else, until the
// person revokes it on the settings page; then every node refuses it.
func TestOA05_NobodyConsentsForThePersonAndThePersonEndsIt(t *testing.T) {
	t.Parallel()
	f := start(t)
	nodes := []string{f.url, f.serve("STITHY_LISTEN=" + freeAddress(t)).url}
	f.person("ada")
	a := f.application("read_user api", "true")
	client := oauth2.Config{
		ClientID: a.ID, ClientSecret: a.Secret, RedirectURL: callback, Scopes: []string{"read_user"},
		Endpoint: oauth2.Endpoint{AuthURL: f.url + "/oauth/authorize", TokenURL: f.url + "/oauth/token"},
	}
	token, err := client.Exchange(t.Context(), f.consent(client.AuthCodeURL("s")).Get("code"))
	if err != nil {
		t.Fatal(err)
	}
	f.secret(token.AccessToken)
	f.secret(token.RefreshToken)
	for _, node := range nodes {
		for path, want := range map[string]int{"/api/v4/user": 200, "/api/v4/projects": 403} {
			if got := f.apiAt(node, "GET", path, token.AccessToken, nil, nil); got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
		if got := f.apiAt(node, "POST", "/api/v4/projects", token.AccessToken, url.Values{"name": {"x"}}, nil); got != 403 {
			t.Errorf("read_user makes projects: %d", got)
		}
	}
	asked := client
	asked.Scopes = []string{"api"}
	t.Log(f.script([]string{"TOUR_ASK=" + asked.AuthCodeURL("s")}, "node", "node/pages.mjs"))
	for _, node := range nodes {
		if got := f.apiAt(node, "GET", "/api/v4/user", token.AccessToken, nil, nil); got != 401 {
			t.Errorf("after it was revoked the application gets %d", got)
		}
	}
	if _, err := client.TokenSource(t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token(); err == nil {
		t.Error("a revoked application refreshes its token")
	}
}
