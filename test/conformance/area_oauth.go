package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// redirectURI is plain HTTP; nothing ever listens there.
const redirectURI = "http://127.0.0.1:9/callback"

const corsOrigin = "https://spa.example.com"

// App is a registered OAuth application.
type App struct {
	ID, Secret string
	Scopes     string
}

// app returns the shared application: "confidential", "public" (for PKCE)
// or "narrow" (scope read_user only).
func (t *T) app(kind string) App {
	return memo(t, "OAuth application "+kind, func(t *T) App {
		scopes := "api read_user read_repository sudo"
		if kind == "narrow" {
			scopes = "read_user"
		}
		m := t.post(t.admin, "/applications", M{"name": t.unique("app"), "redirect_uri": redirectURI, "scopes": scopes, "confidential": kind != "public"}).ok(201).obj()
		return App{str(m, "application_id"), str(m, "secret"), scopes}
	})
}

func authParams(app App, scope string) url.Values {
	return url.Values{"client_id": {app.ID}, "redirect_uri": {redirectURI}, "response_type": {"code"}, "state": {"st-" + randHex(6)}, "scope": {scope}}
}

// code obtains an authorization code as the OAuth user.
func (t *T) code(app App, scope string, extra url.Values) string {
	return t.codeFor(t.browser("oauth"), app, scope, extra)
}

func (t *T) codeFor(b *Browser, app App, scope string, extra url.Values) string {
	p := authParams(app, scope)
	for k, v := range extra {
		p[k] = v
	}
	g := (&Browser{t, b.hc}).authorize(p)
	if g.code == "" {
		t.fail("a redirect with a code", fmt.Sprintf("%s -> %d, Location %q, %s", g.last.url.Path, g.last.status, g.last.location, shorten(tagRE.ReplaceAllString(g.last.body, " "), 120)))
	}
	return g.code
}

// tokenReq posts to /oauth/token.
func (t *T) tokenReq(form url.Values, header map[string]string) *Resp {
	return t.do(Req{Method: "POST", Root: true, Path: "/oauth/token", Body: form, Header: header})
}

// exchange redeems a code; extra values override, an empty one removes.
func (t *T) exchange(app App, code string, extra url.Values) *Resp {
	return t.tokenReq(override(url.Values{"grant_type": {"authorization_code"}, "client_id": {app.ID}, "client_secret": {app.Secret}, "code": {code}, "redirect_uri": {redirectURI}}, extra), nil)
}

func (t *T) refresh(app App, token string, extra url.Values) *Resp {
	return t.tokenReq(override(url.Values{"grant_type": {"refresh_token"}, "client_id": {app.ID}, "client_secret": {app.Secret}, "refresh_token": {token}, "redirect_uri": {redirectURI}}, extra), nil)
}

func override(form, extra url.Values) url.Values {
	for k, v := range extra {
		if len(v) == 0 || v[0] == "" {
			form.Del(k)
		} else {
			form[k] = v
		}
	}
	return form
}

// pkce returns a verifier of n characters and its S256 challenge.
func pkce(n int) (string, url.Values) {
	const chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	raw := randHex(n)
	v := make([]byte, n)
	for i := range v {
		v[i] = chars[(int(raw[2*i])*31+int(raw[2*i+1])+i)%len(chars)]
	}
	sum := sha256.Sum256(v)
	return string(v), url.Values{"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
}

// oauthPair is the token answer of a first code exchange, made once.
func (t *T) oauthPair() M {
	return memo(t, "OAuth token pair", func(t *T) M {
		app := t.app("confidential")
		return t.exchange(app, t.code(app, "api", nil), nil).ok(200).obj()
	})
}

func (t *T) oauthToken() string { return str(t.oauthPair(), "access_token") }

func (t *T) freshPair(kind, scope string) M {
	app := t.app(kind)
	return t.exchange(app, t.code(app, scope, nil), nil).ok(200).obj()
}

// adminOAuthToken is an OAuth token of an administrator with scopes api sudo.
func (t *T) adminOAuthToken() string {
	return memo(t, "administrator's OAuth token", func(t *T) string {
		u := t.newUser("oadmin", M{"admin": true})
		b := t.newBrowser()
		b.signIn(u)
		app := t.app("confidential")
		return str(t.exchange(app, t.codeFor(b, app, "api sudo", nil), nil).ok(200).obj(), "access_token")
	})
}

func (t *T) passwordGrant() M {
	return memo(t, "password grant", func(t *T) M {
		u := t.user("oauth")
		return t.tokenReq(url.Values{"grant_type": {"password"}, "username": {u.Username}, "password": {u.Password}}, nil).ok(200).obj()
	})
}

func (t *T) tokenInfo() M {
	return t.do(Req{Method: "GET", Root: true, Path: "/oauth/token/info", Header: bearer(t.oauthToken())}).ok(200).obj()
}

func (t *T) preflight(path, method, headers string) *Resp {
	return t.do(Req{Method: "OPTIONS", Root: true, Path: path, Header: map[string]string{
		"Origin": corsOrigin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}})
}

func areaOAuth() Area {
	a := &areaTable{prefix: "OAUTH"}

	a.add("Registration yields an Application ID and a Client Secret", "POST /applications: application_id and secret are set", func(t *T) {
		app := t.app("confidential")
		t.check(app.ID != "" && app.Secret != "", "application_id and secret", "%+v", app)
	})
	a.add("Plain HTTP redirect URIs are allowed for development", "an application with an http redirect URI is registered and its code is delivered there", func(t *T) {
		g := t.browser("oauth").authorize(authParams(t.app("confidential"), "api"))
		t.check(strings.HasPrefix(g.redirect, redirectURI+"?"), "a redirect to "+redirectURI, "%q", g.redirect)
	})
	a.add("/oauth/authorize without a session does not issue a code but asks to sign in", "GET without cookies leads to a page with a password form", func(t *T) {
		b := t.newBrowser()
		p := b.send("GET", t.client.base+"/oauth/authorize?"+authParams(t.app("confidential"), "api").Encode(), nil)
		t.check(slices.ContainsFunc(parseForms(p.body), func(f webForm) bool { return f.password != "" }), "a sign-in form", "%s -> %d, Location %q", p.url.Path, p.status, p.location)
	})
	a.add("/oauth/authorize asks the user to approve the scopes", "a new application shows a form that approves", func(t *T) {
		m := t.post(t.admin, "/applications", M{"name": t.unique("ask"), "redirect_uri": redirectURI, "scopes": "api"}).ok(201).obj()
		g := t.browser("oauth").authorize(authParams(App{ID: str(m, "application_id")}, "api"))
		t.check(g.asked, "a consent form", "%s -> %d, Location %q", g.last.url.Path, g.last.status, g.last.location)
		t.check(g.code != "", "a code after approval", "Location %q", g.last.location)
	})
	a.add("Approval redirects to redirect_uri with code and the unchanged state", "query of the redirect", func(t *T) {
		p := authParams(t.app("confidential"), "api")
		p.Set("state", "a b/c?&="+t.sfx)
		g := t.browser("oauth").authorize(p)
		t.check(g.code != "", "a code", "redirect %q", g.redirect)
		t.eq("state", g.state, p.Get("state"))
	})
	a.add("state is only recommended", "authorization without state still gives a code", func(t *T) {
		t.code(t.app("confidential"), "api", url.Values{"state": nil})
	})
	for _, name := range []string{"client_id", "redirect_uri", "response_type"} {
		a.add("Authorization parameter "+name+" is required", "without it no code is issued", func(t *T) {
			p := authParams(t.app("confidential"), "api")
			p.Del(name)
			g := t.browser("oauth").authorize(p)
			t.check(g.code == "", "no code", "redirect %q", g.redirect)
		})
	}
	a.add("response_type must be `code`", "response_type=token gives no code and no token", func(t *T) {
		p := authParams(t.app("confidential"), "api")
		p.Set("response_type", "token")
		g := t.browser("oauth").authorize(p)
		t.check(g.code == "" && !strings.Contains(g.redirect, "access_token="), "neither code nor token", "redirect %q", g.redirect)
	})
	a.add("redirect_uri must be a registered one", "another URI receives no code", func(t *T) {
		p := authParams(t.app("confidential"), "api")
		p.Set("redirect_uri", "http://127.0.0.1:9/other")
		g := t.browser("oauth").authorize(p)
		t.check(g.code == "", "no code", "redirect %q", g.redirect)
	})
	for _, sep := range []string{" ", "+"} {
		a.add(fmt.Sprintf("scope holds several scopes joined with %q", sep), "token info lists both", func(t *T) {
			app := t.app("confidential")
			query := strings.Replace(authParams(app, "X").Encode(), "scope=X", "scope=read_user"+map[string]string{" ": "%20", "+": "+"}[sep]+"api", 1)
			g := t.browser("oauth").authorizeQuery(query)
			t.check(g.code != "", "a code", "redirect %q", g.redirect)
			tok := str(t.exchange(app, g.code, nil).ok(200).obj(), "access_token")
			scopes := list(t.do(Req{Method: "GET", Root: true, Path: "/oauth/token/info", Header: bearer(tok)}).ok(200).obj(), "scope")
			t.check(slices.Contains(scopes, any("read_user")) && slices.Contains(scopes, any("api")), "scope [read_user api]", "%v", scopes)
		})
	}
	a.add("The application's scopes limit what it can reach: wider scopes are not granted", "an application with read_user asking for api gets no code", func(t *T) {
		g := t.browser("oauth").authorize(authParams(t.app("narrow"), "api"))
		t.check(g.code == "", "no code", "redirect %q", g.redirect)
	})
	a.add("The token's scopes limit what it can reach", "a read_user OAuth token: GET /user 200, GET /projects 403 insufficient_scope", func(t *T) {
		tok := str(t.freshPair("narrow", "read_user"), "access_token")
		t.via("Bearer", tok, "/user").ok(200)
		t.eq("error", t.via("Bearer", tok, "/projects").ok(403).obj()["error"], "insufficient_scope")
	})

	a.add("Token response: access_token string", "code grant", func(t *T) { t.shape(t.oauthPair(), "access_token str") })
	a.add("Token response: token_type `bearer`", "code grant", func(t *T) { t.eq("token_type", t.oauthPair()["token_type"], "bearer") })
	a.add("Token response: expires_in 7200", "code grant", func(t *T) { t.eq("expires_in", t.oauthPair()["expires_in"], 7200) })
	a.add("Token response: refresh_token string", "code grant", func(t *T) { t.shape(t.oauthPair(), "refresh_token str") })
	a.add("Token response: created_at Unix time", "code grant; within ten minutes of now", func(t *T) {
		t.shape(t.oauthPair(), "created_at int")
		d := time.Now().Unix() - int64(num(t.oauthPair(), "created_at"))
		t.check(d > -600 && d < 600, "a time close to now", "%v", t.oauthPair()["created_at"])
	})
	a.add("The access token acts on behalf of the user who approved", "GET /user", func(t *T) { t.isUser(t.via("Bearer", t.oauthToken(), "/user"), t.user("oauth")) })
	bad := []struct {
		statement string
		extra     url.Values
	}{
		{"redirect_uri of the token request must equal the original one", url.Values{"redirect_uri": {"http://127.0.0.1:9/other"}}},
		{"redirect_uri is part of the code grant request", url.Values{"redirect_uri": {""}}},
		{"client_secret is needed in the non-PKCE code flow", url.Values{"client_secret": {""}}},
		{"A wrong client_secret is refused", url.Values{"client_secret": {"wrong"}}},
		{"client_id is needed in the code flow", url.Values{"client_id": {"unknown"}}},
		{"code must be the one returned on redirect", url.Values{"code": {"0123456789abcdef"}}},
		{"grant_type is required", url.Values{"grant_type": {""}}},
	}
	for _, c := range bad {
		a.add(c.statement, "token request with that parameter changed is refused", func(t *T) {
			app := t.app("confidential")
			t.oauthPair() // the unchanged request works
			t.exchange(app, t.code(app, "api", nil), c.extra).refused()
		})
	}
	for _, n := range []int{43, 128} {
		a.add(fmt.Sprintf("PKCE (S256) with a verifier of %d characters needs no client secret", n), "code exchange with code_verifier only: 200 with tokens", func(t *T) {
			app := t.app("public")
			v, ch := pkce(n)
			m := t.exchange(app, t.code(app, "api", ch), url.Values{"client_secret": {""}, "code_verifier": {v}}).ok(200).obj()
			t.shape(m, "access_token str, refresh_token str, expires_in int, created_at int")
		})
	}
	for _, c := range []struct{ statement, verifier string }{
		{"PKCE: the verifier must match the challenge", strings.Repeat("x", 50)}, {"PKCE: code_verifier is required for a code with a challenge", ""},
	} {
		a.add(c.statement, "token request is refused", func(t *T) {
			app := t.app("public")
			_, ch := pkce(64)
			t.exchange(app, t.code(app, "api", ch), url.Values{"client_secret": {""}, "code_verifier": {c.verifier}}).refused()
		})
	}
	a.add("PKCE also works for server (confidential) clients", "code exchange with secret and verifier: 200", func(t *T) {
		app := t.app("confidential")
		v, ch := pkce(64)
		t.exchange(app, t.code(app, "api", ch), url.Values{"code_verifier": {v}}).ok(200)
	})
	a.add("Refresh in the PKCE flow works without a client secret", "grant_type=refresh_token with client_id only", func(t *T) {
		app := t.app("public")
		v, ch := pkce(64)
		m := t.exchange(app, t.code(app, "api", ch), url.Values{"client_secret": {""}, "code_verifier": {v}}).ok(200).obj()
		t.shape(t.refresh(app, str(m, "refresh_token"), url.Values{"client_secret": {""}, "code_verifier": {v}}).ok(200).obj(), "access_token str, refresh_token str")
	})

	refreshed := func(t *T) [2]M {
		return memo(t, "refreshed pair", func(t *T) [2]M {
			old := t.freshPair("confidential", "api")
			return [2]M{old, t.refresh(t.app("confidential"), str(old, "refresh_token"), nil).ok(200).obj()}
		})
	}
	a.add("Refreshing returns a new access token and refresh token", "both differ from the old ones; full token response", func(t *T) {
		p := refreshed(t)
		t.shape(p[1], "access_token str, token_type str, expires_in int, refresh_token str, created_at int")
		t.check(p[0]["access_token"] != p[1]["access_token"] && p[0]["refresh_token"] != p[1]["refresh_token"], "new tokens", "%s", dump(p[1]))
	})
	a.add("The new access token works", "GET /user", func(t *T) { t.via("Bearer", str(refreshed(t)[1], "access_token"), "/user").ok(200) })
	a.add("Refreshing invalidates the old access token", "GET /user with it: 401", func(t *T) { t.via("Bearer", str(refreshed(t)[0], "access_token"), "/user").ok(401) })
	a.add("Refreshing invalidates the old refresh token", "refreshing with it again is refused", func(t *T) {
		t.refresh(t.app("confidential"), str(refreshed(t)[0], "refresh_token"), nil).refused()
	})
	a.add("Refresh of a non-PKCE client needs the client secret", "a wrong secret is refused", func(t *T) {
		t.refresh(t.app("confidential"), str(t.freshPair("confidential", "api"), "refresh_token"), url.Values{"client_secret": {"wrong"}}).refused()
	})
	a.add("An unknown refresh token is refused", "grant_type=refresh_token with a made-up token", func(t *T) {
		refreshed(t)
		t.refresh(t.app("confidential"), "unknown", nil).refused()
	})

	a.add("Password grant: username and password give an access token", "access_token, token_type bearer, expires_in 7200, created_at", func(t *T) {
		m := t.passwordGrant()
		t.shape(m, "access_token str, created_at int")
		t.eq("token_type", m["token_type"], "bearer")
		t.eq("expires_in", m["expires_in"], 7200)
	})
	a.add("Password grant response has no refresh_token", "member absent", func(t *T) { t.lacks(t.passwordGrant(), "refresh_token") })
	a.add("Password grant token acts as the user", "GET /user", func(t *T) {
		t.isUser(t.via("Bearer", str(t.passwordGrant(), "access_token"), "/user"), t.user("oauth"))
	})
	a.add("Password grant default scope is api (full read/write)", "token info scope = [api]; PUT /notification_settings works", func(t *T) {
		tok := str(t.passwordGrant(), "access_token")
		t.eq("scope", t.do(Req{Method: "GET", Root: true, Path: "/oauth/token/info", Header: bearer(tok)}).ok(200).obj()["scope"], "[api]")
		t.do(Req{Method: "PUT", Path: "/notification_settings", Header: bearer(tok), Body: M{"level": "watch"}}).ok(200)
	})
	a.add("Password grant may use a registered application by HTTP Basic", "client_id and client_secret as Basic credentials: 200", func(t *T) {
		u, app := t.user("oauth"), t.app("confidential")
		m := t.tokenReq(url.Values{"grant_type": {"password"}, "username": {u.Username}, "password": {u.Password}}, basic(app.ID, app.Secret)).ok(200).obj()
		t.shape(m, "access_token str")
		info := t.do(Req{Method: "GET", Root: true, Path: "/oauth/token/info", Header: bearer(str(m, "access_token"))}).ok(200).obj()
		t.eq("application.uid", sub(info, "application")["uid"], app.ID)
	})
	a.add("Password grant with a wrong password is refused", "no token", func(t *T) {
		t.passwordGrant()
		t.tokenReq(url.Values{"grant_type": {"password"}, "username": {t.user("oauth2nd").Username}, "password": {"wrong"}}, nil).refused()
	})
	a.add("The device authorization grant is unsupported", "grant_type device_code and POST /oauth/authorize_device do not succeed", func(t *T) {
		t.oauthPair()
		t.tokenReq(url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {"x"}, "client_id": {t.app("public").ID}}, nil).refused()
		t.do(Req{Method: "POST", Root: true, Path: "/oauth/authorize_device", Body: url.Values{"client_id": {t.app("public").ID}}}).not2xx()
	})

	a.add("Token info takes the token as query parameter access_token", "GET /oauth/token/info?access_token=: 200", func(t *T) {
		t.do(Req{Method: "GET", Root: true, Path: "/oauth/token/info?access_token=" + t.oauthToken()}).ok(200)
	})
	a.add("Token info takes the token as Bearer header", "200", func(t *T) { t.tokenInfo() })
	a.add("Token info: resource_owner_id integer", "equals the user's ID", func(t *T) {
		m := t.tokenInfo()
		t.shape(m, "resource_owner_id int")
		t.eq("resource_owner_id", m["resource_owner_id"], t.user("oauth").ID)
	})
	a.add("Token info: scope array of strings", "equals [api]", func(t *T) { t.eq("scope", t.tokenInfo()["scope"], "[api]") })
	a.add("Token info: expires_in integer or null, at most 7200", "value", func(t *T) {
		m := t.tokenInfo()
		t.shape(m, "expires_in int?")
		t.check(num(m, "expires_in") <= 7200, "at most 7200", "%v", m["expires_in"])
	})
	a.add("Token info: application object with uid", "uid equals the Application ID", func(t *T) {
		t.eq("application.uid", sub(t.tokenInfo(), "application")["uid"], t.app("confidential").ID)
	})
	a.add("Token info: created_at integer", "equals created_at of the token response", func(t *T) {
		m := t.tokenInfo()
		t.shape(m, "created_at int")
		t.eq("created_at", m["created_at"], t.oauthPair()["created_at"])
	})
	a.add("Token info: deprecated alias scopes = scope", "both members equal", func(t *T) {
		m := t.tokenInfo()
		t.shape(m, "scopes arr")
		t.eq("scopes", m["scopes"], m["scope"])
	})
	a.add("Token info: deprecated alias expires_in_seconds = expires_in", "both members equal", func(t *T) {
		m := t.tokenInfo()
		t.shape(m, "expires_in_seconds int?")
		t.eq("expires_in_seconds", m["expires_in_seconds"], m["expires_in"])
	})
	a.add("Token info of an unknown token does not succeed", "4xx", func(t *T) {
		t.tokenInfo()
		t.do(Req{Method: "GET", Root: true, Path: "/oauth/token/info", Header: bearer("unknown")}).refused()
	})

	revoke := func(t *T, app App, tok string) *Resp {
		return t.do(Req{Method: "POST", Root: true, Path: "/oauth/revoke", Body: url.Values{"client_id": {app.ID}, "client_secret": {app.Secret}, "token": {tok}}})
	}
	a.add("Revoke answers 200 with an empty JSON object", "client_id, client_secret, token", func(t *T) {
		m := revoke(t, t.app("confidential"), str(t.freshPair("confidential", "api"), "access_token")).ok(200).obj()
		t.check(len(m) == 0, "{}", "%s", dump(m))
	})
	a.add("A revoked access token no longer works", "GET /user: 401", func(t *T) {
		tok := str(t.freshPair("confidential", "api"), "access_token")
		t.via("Bearer", tok, "/user").ok(200)
		revoke(t, t.app("confidential"), tok).ok(200)
		t.via("Bearer", tok, "/user").ok(401)
	})
	a.add("A refresh token can be revoked", "refreshing with it is refused afterwards", func(t *T) {
		tok := str(t.freshPair("confidential", "api"), "refresh_token")
		revoke(t, t.app("confidential"), tok).ok(200)
		t.refresh(t.app("confidential"), tok, nil).refused()
	})

	for _, c := range []struct{ path, method string }{{"/oauth/token", "POST"}, {"/oauth/revoke", "POST"}, {"/oauth/userinfo", "GET"}} {
		a.add(c.path+" answers CORS preflight requests", "OPTIONS with Origin: 2xx, Access-Control-Allow-Origin and the method allowed", func(t *T) {
			r := t.preflight(c.path, c.method, "Authorization").ok()
			origin := r.header.Get("Access-Control-Allow-Origin")
			t.check(origin == "*" || origin == corsOrigin, "Access-Control-Allow-Origin", "%q", origin)
			t.check(strings.Contains(r.header.Get("Access-Control-Allow-Methods"), c.method), "Access-Control-Allow-Methods with "+c.method, "%q", r.header.Get("Access-Control-Allow-Methods"))
		})
		a.add("X-Requested-With is not allowed in preflight of "+c.path, "OPTIONS asking for it: not granted in Access-Control-Allow-Headers", func(t *T) {
			t.check(t.preflight(c.path, c.method, "Authorization").ok().header.Get("Access-Control-Allow-Origin") != "", "a preflight answer", "no Access-Control-Allow-Origin")
			r := t.preflight(c.path, c.method, "X-Requested-With")
			allowed := strings.ToLower(strings.Join(r.header.Values("Access-Control-Allow-Headers"), ","))
			t.check(r.status != 404 && r.status != 405 && !strings.Contains(allowed, "x-requested-with") && !strings.Contains(allowed, "*"), "a preflight answer without X-Requested-With", "%s, Access-Control-Allow-Headers %q", r.brief(), allowed)
		})
	}
	a.add("/oauth endpoints support cross-origin requests", "POST /oauth/token with Origin answers with Access-Control-Allow-Origin", func(t *T) {
		u := t.user("oauth")
		r := t.tokenReq(url.Values{"grant_type": {"password"}, "username": {u.Username}, "password": {u.Password}}, map[string]string{"Origin": corsOrigin}).ok(200)
		origin := r.header.Get("Access-Control-Allow-Origin")
		t.check(origin == "*" || origin == corsOrigin, "Access-Control-Allow-Origin", "%q", origin)
	})
	a.add("/oauth/userinfo exists", "GET does not answer 404 or 405", func(t *T) {
		r := t.do(Req{Method: "GET", Root: true, Path: "/oauth/userinfo", Header: bearer(t.oauthToken())})
		t.check(r.status != 404 && r.status != 405, "an answer of the endpoint", "%s", r.brief())
	})
	moreOAuth(a)
	return Area{"oauth", a.rules}
}
