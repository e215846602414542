package main

import (
	"net/url"
	"strings"
)

func moreOAuth(a *areaTable) {
	info := func(t *T, tok string) *Resp {
		return t.do(Req{Method: "GET", Root: true, Path: "/oauth/token/info", Header: bearer(tok)})
	}
	revoke := func(t *T, form url.Values) *Resp {
		return t.do(Req{Method: "POST", Root: true, Path: "/oauth/revoke", Body: form})
	}
	client := func(app App, tok string) url.Values {
		return url.Values{"client_id": {app.ID}, "client_secret": {app.Secret}, "token": {tok}}
	}
	second := func(t *T) App {
		return memo(t, "second OAuth application", func(t *T) App {
			m := t.post(t.admin, "/applications", M{"name": t.unique("app"), "redirect_uri": redirectURI, "scopes": "api read_user", "confidential": true}).ok(201).obj()
			return App{str(m, "application_id"), str(m, "secret"), "api read_user"}
		})
	}

	a.add("Authorization parameter scope is required", "without it no code is issued", func(t *T) {
		t.code(t.app("confidential"), "api", nil)
		p := authParams(t.app("confidential"), "api")
		p.Del("scope")
		g := t.browser("oauth").authorize(p)
		t.check(g.code == "", "no code", "redirect %q", g.redirect)
	})
	a.add("An unknown scope is not granted", "scope=bogus gives no code", func(t *T) {
		g := t.browser("oauth").authorize(authParams(t.app("confidential"), "bogus"))
		t.check(g.code == "", "no code", "redirect %q", g.redirect)
	})
	a.add("An unknown client_id gets no code and no redirect", "authorization with a made-up Application ID", func(t *T) {
		p := authParams(t.app("confidential"), "api")
		p.Set("client_id", "unknown"+t.sfx)
		g := t.browser("oauth").authorize(p)
		t.check(g.code == "" && !strings.HasPrefix(g.redirect, redirectURI), "no redirect", "%q", g.redirect)
	})
	a.add("A refusal keeps the state", "scope beyond the application's: the redirect, if any, has the unchanged state", func(t *T) {
		p := authParams(t.app("narrow"), "api")
		p.Set("state", "keep-"+t.sfx)
		g := t.browser("oauth").authorize(p)
		t.check(g.code == "", "no code", "redirect %q", g.redirect)
		if strings.HasPrefix(g.redirect, redirectURI) {
			t.eq("state", g.state, "keep-"+t.sfx)
		}
	})
	a.add("PKCE: the only code_challenge_method is S256", "method plain: no code, or the exchange with the plain verifier is refused", func(t *T) {
		app := t.app("public")
		v, ch := pkce(64)
		t.exchange(app, t.code(app, "api", ch), url.Values{"client_secret": {""}, "code_verifier": {v}}).ok(200)
		p := authParams(app, "api")
		p.Set("code_challenge", v)
		p.Set("code_challenge_method", "plain")
		if g := t.browser("oauth").authorize(p); g.code != "" {
			t.exchange(app, g.code, url.Values{"client_secret": {""}, "code_verifier": {v}}).refused()
		}
	})
	for _, n := range []int{42, 129} {
		a.add("PKCE: the verifier has 43 to 128 characters: "+map[int]string{42: "42 are too few", 129: "129 are too many"}[n], "exchange with the matching verifier is refused", func(t *T) {
			app := t.app("public")
			v, ch := pkce(n)
			p := authParams(app, "api")
			for k, x := range ch {
				p[k] = x
			}
			if g := t.browser("oauth").authorize(p); g.code != "" {
				t.exchange(app, g.code, url.Values{"client_secret": {""}, "code_verifier": {v}}).refused()
			}
		})
	}
	a.add("PKCE: a public client without a challenge gets no token without a secret", "code without code_challenge: no code, or the exchange without secret is refused", func(t *T) {
		app := t.app("public")
		if g := t.browser("oauth").authorize(authParams(app, "api")); g.code != "" {
			t.exchange(app, g.code, url.Values{"client_secret": {""}}).refused()
		}
	})
	a.add("A code belongs to the application that asked for it", "exchange by another application is refused", func(t *T) {
		code := t.code(t.app("confidential"), "api", nil)
		t.exchange(second(t), code, nil).refused()
	})
	a.add("A code is exchanged once", "the second exchange is refused", func(t *T) {
		app := t.app("confidential")
		code := t.code(app, "api", nil)
		t.exchange(app, code, nil).ok(200)
		t.exchange(app, code, nil).refused()
	})
	a.add("Of racing exchanges of a code one succeeds at most", "8 at once: at most one 200, the others 4xx", func(t *T) {
		app := t.app("confidential")
		code := t.code(app, "api", nil)
		got := t.race(8, func(int) Req {
			return Req{Method: "POST", Root: true, Path: "/oauth/token", Body: url.Values{"grant_type": {"authorization_code"}, "client_id": {app.ID}, "client_secret": {app.Secret}, "code": {code}, "redirect_uri": {redirectURI}}}
		})
		t.check(got[200] == 1 && got[400]+got[401] == 7, "one 200 and seven 4xx", "%v", got)
	})
	a.add("Of racing refreshes one succeeds at most", "8 at once with one refresh token: one 200, the others 4xx", func(t *T) {
		app, pair := t.app("confidential"), t.freshPair("confidential", "api")
		got := t.race(8, func(int) Req {
			return Req{Method: "POST", Root: true, Path: "/oauth/token", Body: url.Values{"grant_type": {"refresh_token"}, "client_id": {app.ID}, "client_secret": {app.Secret}, "refresh_token": {str(pair, "refresh_token")}, "redirect_uri": {redirectURI}}}
		})
		t.check(got[200] == 1 && got[400]+got[401] == 7, "one 200 and seven 4xx", "%v", got)
	})
	a.add("Client credentials of the code grant may come by HTTP Basic", "no client_secret in the form, Basic header instead: 200 or the form is insisted on (4xx)", func(t *T) {
		app := t.app("confidential")
		r := t.tokenReq(url.Values{"grant_type": {"authorization_code"}, "code": {t.code(app, "api", nil)}, "redirect_uri": {redirectURI}}, basic(app.ID, app.Secret))
		t.check(r.status == 200 || (r.status >= 400 && r.status < 500), "200 or 4xx", "%s", r.brief())
	})

	a.add("Token response: types of all members", "access_token str, token_type str, expires_in int, refresh_token str, created_at int", func(t *T) {
		t.shape(t.oauthPair(), "access_token str, token_type str, expires_in int, refresh_token str, created_at int")
	})
	a.add("Password grant response: types of all members", "access_token str, token_type str, expires_in int, created_at int", func(t *T) {
		t.shape(t.passwordGrant(), "access_token str, token_type str, expires_in int, created_at int")
	})
	a.add("Token answers are JSON and not to be cached", "Content-Type application/json, Cache-Control no-store", func(t *T) {
		u := t.user("oauth")
		r := t.tokenReq(url.Values{"grant_type": {"password"}, "username": {u.Username}, "password": {u.Password}}, nil).ok(200)
		t.check(strings.HasPrefix(r.header.Get("Content-Type"), "application/json"), "application/json", "%q", r.header.Get("Content-Type"))
		t.contains(r.header.Get("Cache-Control"), "no-store")
	})

	a.add("Refresh: redirect_uri must equal the original one", "another redirect_uri is refused", func(t *T) {
		app := t.app("confidential")
		t.refresh(app, str(t.freshPair("confidential", "api"), "refresh_token"), nil).ok(200)
		t.refresh(app, str(t.freshPair("confidential", "api"), "refresh_token"), url.Values{"redirect_uri": {"http://127.0.0.1:9/other"}}).refused()
	})
	a.add("Refresh: a refresh token belongs to its application", "another application's credentials are refused", func(t *T) {
		pair := t.freshPair("confidential", "api")
		t.refresh(second(t), str(pair, "refresh_token"), nil).refused()
	})
	a.add("Refresh of a non-PKCE client without the secret is refused", "client_secret left out", func(t *T) {
		t.refresh(t.app("confidential"), str(t.freshPair("confidential", "api"), "refresh_token"), url.Values{"client_secret": {""}}).refused()
	})
	a.add("Refresh keeps the scopes", "read_user and api before and after", func(t *T) {
		app := t.app("confidential")
		old := t.exchange(app, t.code(app, "read_user", nil), nil).ok(200).obj()
		fresh := t.refresh(app, str(old, "refresh_token"), nil).ok(200).obj()
		t.eq("scope", info(t, str(fresh, "access_token")).ok(200).obj()["scope"], "[read_user]")
	})
	a.add("Refresh cannot widen the scopes", "scope=api on a read_user line: refused, or the token still has read_user only", func(t *T) {
		app := t.app("confidential")
		old := t.exchange(app, t.code(app, "read_user", nil), nil).ok(200).obj()
		if r := t.refresh(app, str(old, "refresh_token"), url.Values{"scope": {"api"}}); r.status == 200 {
			t.eq("scope", info(t, str(r.obj(), "access_token")).ok(200).obj()["scope"], "[read_user]")
		}
	})
	a.add("An access token is no refresh token", "grant_type=refresh_token with an access token is refused", func(t *T) {
		t.refresh(t.app("confidential"), str(t.freshPair("confidential", "api"), "access_token"), nil).refused()
	})
	a.add("A refresh token is no access token", "GET /user with it: 401", func(t *T) {
		t.via("Bearer", str(t.freshPair("confidential", "api"), "refresh_token"), "/user").ok(401)
	})

	a.add("Password grant: a scope can be asked for", "scope=read_user: token info says [read_user]", func(t *T) {
		u := t.user("oauth")
		m := t.tokenReq(url.Values{"grant_type": {"password"}, "username": {u.Username}, "password": {u.Password}, "scope": {"read_user"}}, nil).ok(200).obj()
		t.eq("scope", info(t, str(m, "access_token")).ok(200).obj()["scope"], "[read_user]")
	})
	a.add("Password grant default scope is api: it writes", "POST /projects with the token: 201", func(t *T) {
		t.do(Req{Method: "POST", Path: "/projects", Header: bearer(str(t.passwordGrant(), "access_token")), Body: M{"name": t.unique("pw")}}).ok(201)
	})
	for _, name := range []string{"username", "password"} {
		a.add("Password grant: "+name+" is required", "refused without it", func(t *T) {
			u := t.user("oauth")
			form := url.Values{"grant_type": {"password"}, "username": {u.Username}, "password": {u.Password}}
			form.Del(name)
			t.passwordGrant()
			t.tokenReq(form, nil).refused()
		})
	}
	a.add("Password grant: a wrong client secret by HTTP Basic is refused", "4xx", func(t *T) {
		u := t.user("oauth")
		t.tokenReq(url.Values{"grant_type": {"password"}, "username": {u.Username}, "password": {u.Password}}, basic(t.app("confidential").ID, "wrong")).refused()
	})
	a.add("Password grant of a blocked user is refused", "4xx", func(t *T) {
		u := t.newUser("blkpw", nil)
		form := url.Values{"grant_type": {"password"}, "username": {u.Username}, "password": {u.Password}}
		t.tokenReq(form, nil).ok(200)
		t.post(t.admin, userPath(u.ID, "/block"), nil).ok()
		t.tokenReq(form, nil).refused()
	})
	a.add("An unknown grant_type is refused", "grant_type=bogus: 4xx", func(t *T) {
		t.tokenReq(url.Values{"grant_type": {"bogus"}, "client_id": {t.app("confidential").ID}, "client_secret": {t.app("confidential").Secret}}, nil).refused()
	})

	a.add("Token info without a token does not succeed", "4xx", func(t *T) {
		t.tokenInfo()
		t.do(Req{Method: "GET", Root: true, Path: "/oauth/token/info"}).refused()
	})
	a.add("Token info of a revoked token does not succeed", "4xx after revocation", func(t *T) {
		tok := str(t.freshPair("confidential", "api"), "access_token")
		info(t, tok).ok(200)
		revoke(t, client(t.app("confidential"), tok)).ok(200)
		info(t, tok).refused()
	})
	a.add("Token info: several scopes are an array of strings", "read_user and api in the order asked for or another, each once", func(t *T) {
		app := t.app("confidential")
		tok := str(t.exchange(app, t.code(app, "read_user api", nil), nil).ok(200).obj(), "access_token")
		m := info(t, tok).ok(200).obj()
		t.eq("number of scopes", len(list(m, "scope")), 2)
		t.eq("scopes", m["scopes"], m["scope"])
	})
	a.add("Token info of a password-grant token", "all members; application is an object with uid", func(t *T) {
		m := info(t, str(t.passwordGrant(), "access_token")).ok(200).obj()
		t.shape(m, "resource_owner_id int, scope arr, expires_in int?, application obj, created_at int, scopes arr, expires_in_seconds int?")
		_, present := sub(m, "application")["uid"]
		t.check(present, "application.uid present", "%v", m["application"])
	})

	a.add("Revoke with a wrong client secret does not revoke", "4xx, the token goes on working", func(t *T) {
		tok := str(t.freshPair("confidential", "api"), "access_token")
		form := client(t.app("confidential"), tok)
		form.Set("client_secret", "wrong")
		revoke(t, form).refused()
		t.via("Bearer", tok, "/user").ok(200)
	})
	a.add("Revoke by another application does not revoke", "the token goes on working", func(t *T) {
		tok := str(t.freshPair("confidential", "api"), "access_token")
		revoke(t, client(second(t), tok))
		t.via("Bearer", tok, "/user").ok(200)
	})
	a.add("Revoke of a revoked token succeeds again", "200 with {} twice", func(t *T) {
		tok := str(t.freshPair("confidential", "api"), "access_token")
		for range 2 {
			t.check(len(revoke(t, client(t.app("confidential"), tok)).ok(200).obj()) == 0, "{}", "more")
		}
	})

	a.add("A preflight answer names the origin for credentials only as allowed", "no Access-Control-Allow-Credentials: true together with *", func(t *T) {
		r := t.preflight("/oauth/token", "POST", "Authorization").ok()
		t.check(r.header.Get("Access-Control-Allow-Origin") != "*" || r.header.Get("Access-Control-Allow-Credentials") != "true", "no credentials for every origin", "both")
	})
	a.add("Several headers in preflight: one that is not allowed spoils nothing but itself", "Authorization and X-Requested-With: X-Requested-With not granted", func(t *T) {
		r := t.preflight("/oauth/token", "POST", "Authorization, X-Requested-With")
		allowed := strings.ToLower(strings.Join(r.header.Values("Access-Control-Allow-Headers"), ","))
		t.check(!strings.Contains(allowed, "x-requested-with") && !strings.Contains(allowed, "*"), "no X-Requested-With", "%q", allowed)
	})
	for _, path := range []string{"/oauth/revoke", "/oauth/userinfo"} {
		a.add(path+" supports cross-origin requests", "an answer to a request with Origin carries Access-Control-Allow-Origin", func(t *T) {
			q := Req{Method: "GET", Root: true, Path: path, Header: map[string]string{"Origin": corsOrigin, "Authorization": "Bearer " + t.oauthToken()}}
			if path == "/oauth/revoke" {
				q = Req{Method: "POST", Root: true, Path: path, Body: client(t.app("confidential"), str(t.freshPair("confidential", "api"), "access_token")), Header: map[string]string{"Origin": corsOrigin}}
			}
			r := t.do(q)
			origin := r.header.Get("Access-Control-Allow-Origin")
			t.check(origin == "*" || origin == corsOrigin, "Access-Control-Allow-Origin", "%q (status %d)", origin, r.status)
		})
	}
}
