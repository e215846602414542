package oauth_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/oauth"
	"stithy/internal/platform/postgres"
	"stithy/internal/setting"
	"stithy/internal/token/tokentest"
)

func (w *fixture) revoke(t testing.TB, a app, token string, more ...string) reply {
	t.Helper()
	return w.post(t, "/oauth/revoke", append([]string{"client_id", a.UID, "client_secret", a.secret, "token", token}, more...)...)
}

// OA-08: either half revokes the pair; only its own client ends the token of
// a confidential application; "done" is said when it is.
func TestOA08_RevocationEndsThePairAndIsForItsClient(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, other, open := w.app(t), w.app(t), w.app(t, public)
	for _, half := range []string{"access", "refresh", "hinted"} {
		i := w.granted(t, a, "api")
		given, hint := i.AccessToken, []string{}
		if half != "access" {
			given = i.RefreshToken
		}
		if half == "hinted" {
			hint = []string{"token_type_hint", "refresh_token"}
		}
		for _, caller := range []app{other, {a.Application, "wrong"}, {a.Application, ""}, {&oauth.Application{}, ""}} {
			w.revoke(t, caller, given, hint...).want(t, 403,
				`{"error":"unauthorized_client","error_description":"You are not authorized to revoke this token"}`)
		}
		if !w.works(t, i.AccessToken) {
			t.Fatal("a stranger revoked it")
		}
		w.revoke(t, a, given, hint...).want(t, 200, `{}`)
		if w.works(t, i.AccessToken) {
			t.Errorf("%s: the access token lives", half)
		}
		w.refresh(t, a, i.RefreshToken).refused(t, 400, oauth.InvalidGrant)
		w.revoke(t, a, given).want(t, 200, `{}`)
	}
	i := w.granted(t, a, "api")
	w.revoke(t, a, i.AccessToken, "token_type_hint", "refresh_token").want(t, 200, `{}`)
	if !w.works(t, i.AccessToken) {
		t.Error("a hint at the other kind found it")
	}
	w.revoke(t, a, "").want(t, 200, `{}`)
	w.revoke(t, a, strings.Repeat("0", 64)).want(t, 200, `{}`)
	free := w.granted(t, open, "api")
	w.post(t, "/oauth/revoke", "token", free.AccessToken).want(t, 200, `{}`)
	if w.works(t, free.AccessToken) {
		t.Error("the token of a public client lives")
	}
	if len(w.taken(oauth.RefreshReused)) != 0 {
		t.Error("a revoked line was taken for a stolen one")
	}
}

func TestOA08_RevocationIsNotClaimedWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	i := w.granted(t, a, "api")
	alive := w.service
	d := w.Deps
	down, err := postgres.Open(t.Context(), "postgres://nobody@127.0.0.1:1/nothing", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(down.Close)
	d.DB = down
	w.serve(t, d)
	for _, given := range []string{i.AccessToken, i.RefreshToken} {
		r := w.revoke(t, a, given)
		r.refused(t, 503, oauth.Unavailable)
		if r.Header().Get("Retry-After") == "" {
			t.Error("no word on when to try again")
		}
	}
	if r := w.refresh(t, a, i.RefreshToken); r.Code != 503 || r.Header().Get("Retry-After") == "" || strings.Contains(r.text, "127.0.0.1") {
		t.Errorf("%d %s", r.Code, r.text)
	}
	if !strings.Contains(w.logged.String(), "127.0.0.1:1") {
		t.Errorf("the log does not say why: %s", w.logged.String())
	}
	if list, err := alive.Authorized(t.Context(), w.ada.ID); err != nil || len(list) != 1 || !w.works(t, i.AccessToken) {
		t.Errorf("what was not revoked is gone: %+v, %v", list, err)
	}
}

// Whatever is under way when a person revokes an application ends with it.
func TestOA08_NothingComesToBeWhileItIsRevoked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := access.Actor{Person: w.ada.Person()}
	for round := range 12 {
		a := w.app(t)
		i, pending := w.granted(t, a, "api"), w.code(t, a.ask("api"))
		var group sync.WaitGroup
		group.Go(func() { w.refresh(t, a, i.RefreshToken) })
		group.Go(func() { w.exchange(t, a, pending) })
		group.Go(func() {
			var err error
			if round%3 == 0 {
				err = w.service.Delete(t.Context(), access.Actor{Person: w.root.Person()}, a.ID)
			} else {
				err = w.service.Withdraw(t.Context(), by, w.ada, a.ID)
			}
			if err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		if n := w.count(t, `select count(*) from oauth_tokens where application_id = $1 and revoked_at is null`, a.ID); n != 0 {
			t.Errorf("%d tokens outlived the end of their grant", n)
		}
	}
}

// OA-11: a client learns of its own tokens alone, and of a person what the
// scopes of its token open.
func TestOA11_IntrospectionAnswersForTheClientsOwnTokens(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, b, open := w.app(t), w.app(t), w.app(t, public)
	tokens := map[string]issued{a.UID: w.granted(t, a, "api read_user"), b.UID: w.granted(t, b, "api"), open.UID: w.granted(t, open, "api")}
	const inactive = `{"active":false}`
	for _, caller := range []app{a, b, open} {
		for owner, i := range tokens {
			r := w.post(t, "/oauth/introspect", "client_id", caller.UID, "client_secret", caller.secret, "token", i.AccessToken)
			if owner != caller.UID {
				r.want(t, 200, inactive)
			} else if r.Code != 200 || !strings.Contains(r.text, `"active":true`) || !strings.Contains(r.text, owner) {
				t.Errorf("own token: %d %s", r.Code, r.text)
			}
			ask := httptest.NewRequest("POST", "/oauth/introspect", strings.NewReader("token="+i.AccessToken))
			ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			ask.Header.Set("Authorization", "Bearer "+tokens[caller.UID].AccessToken)
			if r := w.send(t, ask); strings.Contains(r.text, `"active":true`) != (owner == caller.UID) {
				t.Errorf("by bearer: %d %s", r.Code, r.text)
			}
		}
	}
	mine := tokens[a.UID]
	ask := func(token string) reply {
		return w.post(t, "/oauth/introspect", "client_id", a.UID, "client_secret", a.secret, "token", token)
	}
	ask(mine.AccessToken).want(t, 200, `{"active":true,"scope":"api read_user","client_id":"`+a.UID+`","token_type":"Bearer","exp":1714669445,"iat":1714662245}`)
	ask(mine.RefreshToken).want(t, 200, `{"active":true,"scope":"api read_user","client_id":"`+a.UID+`","token_type":"Bearer","iat":1714662245}`)
	ask("").want(t, 200, inactive)
	ask(tokentest.New(t, w.DB, w.Box, w.ada.ID)).want(t, 200, inactive)
	w.post(t, "/oauth/introspect", "token", mine.AccessToken).want(t, 400,
		`{"error":"invalid_request","error_description":"Request need to be authorized. Required parameter for authorizing request is missing or invalid."}`)
	w.post(t, "/oauth/introspect", "token", mine.AccessToken, "client_id", a.UID, "client_secret", "wrong").refused(t, 401, oauth.InvalidClient)
	w.post(t, "/oauth/introspect", "token", tokens[open.UID].AccessToken, "client_id", open.UID).refused(t, 401, oauth.InvalidClient)
	bad := httptest.NewRequest("POST", "/oauth/introspect", strings.NewReader("token="+mine.AccessToken))
	bad.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	bad.Header.Set("Authorization", "Bearer "+strings.Repeat("0", 64))
	w.send(t, bad).refused(t, 401, oauth.InvalidToken)
	w.exec(t, `update users set state = 'blocked' where id = $1`, w.ada.ID)
	ask(mine.AccessToken).want(t, 200, inactive)
	w.exec(t, `update users set state = 'active' where id = $1`, w.ada.ID)
	w.turn(2 * time.Hour)
	ask(mine.AccessToken).want(t, 200, inactive)
	w.revoke(t, a, mine.RefreshToken).want(t, 200, `{}`)
	ask(mine.RefreshToken).want(t, 200, inactive)
}

func TestOA11_UserinfoSaysWhatTheScopesOpen(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	top := grouptest.New(t, w.DB, grouptest.Named("top"))
	grouptest.New(t, w.DB, grouptest.Named("below"), grouptest.Under(top))
	grouptest.Join(t, w.DB, top, w.ada, access.Maintainer)
	w.exec(t, `update users set website_url = 'https://ada.example', public_email = 'public@example.com', avatar = 'a.png' where id = $1`, w.ada.ID)
	everyone := []string{"email", "email_verified", "name", "nickname", "picture", "preferred_username", "profile", "sub", "website"}
	for scope, want := range map[string]struct {
		email  string
		groups bool
	}{
		"openid":               {"public@example.com", false},
		"openid email":         {"ada@example.com", false},
		"openid profile":       {"public@example.com", true},
		"openid profile email": {"ada@example.com", true},
		"openid api":           {"public@example.com", true},
	} {
		i := w.granted(t, a, scope)
		r := w.get(t, "/oauth/userinfo", i.AccessToken)
		var got map[string]any
		if err := json.Unmarshal([]byte(r.text), &got); err != nil || r.Code != 200 {
			t.Fatalf("%d %s", r.Code, r.text)
		}
		names := slices.Clone(everyone)
		if want.groups {
			names = append(names, "groups", "https://svc.org/claims/groups/maintainer")
			if r := got["https://svc.org/claims/groups/maintainer"]; len(r.([]any)) != 1 || r.([]any)[0] != "top" {
				t.Errorf("%v", r)
			}
			if g := got["groups"].([]any); len(g) != 2 || g[0] != "top" || g[1] != "top/below" {
				t.Errorf("%v", g)
			}
		}
		for name := range got {
			if !slices.Contains(names, name) {
				t.Errorf("%s tells %s", scope, name)
			}
		}
		if len(got) != len(names) || got["sub"] != "2" || got["email"] != want.email || got["nickname"] != "ada" || got["profile"] != home+"/ada" ||
			got["email_verified"] != true || got["picture"] != home+"/uploads/-/system/user/avatar/2/a.png" {
			t.Errorf("%s: %v", scope, got)
		}
	}
	r := w.get(t, "/oauth/userinfo", w.granted(t, a, "api profile email").AccessToken)
	r.want(t, 403, "")
	for _, bad := range []string{"", strings.Repeat("0", 64), tokentest.New(t, w.DB, w.Box, w.ada.ID)} {
		r := w.get(t, "/oauth/userinfo", bad)
		if r.want(t, 401, ""); !strings.Contains(r.Header().Get("WWW-Authenticate"), `error="invalid_token"`) {
			t.Errorf("%v", r.Header())
		}
	}
	post := httptest.NewRequest(http.MethodPost, "/oauth/userinfo", nil)
	post.Header.Set("Authorization", "Bearer "+w.granted(t, a, "openid").AccessToken)
	if r := w.send(t, post); r.Code != 200 {
		t.Errorf("%d %s", r.Code, r.text)
	}
}

func TestAnApplicationDoesWhatItsScopesOpenAndNoMore(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	call := func(token, method, path string) int {
		return w.api.With("Authorization", "Bearer "+token).Do(t, method, path, nil).Status
	}
	small, full, identity := w.granted(t, a, "read_user").AccessToken, w.granted(t, a, "api").AccessToken, w.granted(t, a, "openid").AccessToken
	for _, tt := range []struct {
		token, method, path string
		want                int
	}{
		{small, "GET", "/probe", 200}, {small, "POST", "/probe", 403}, {small, "GET", "/probe/api", 403},
		{full, "GET", "/probe", 200}, {full, "POST", "/probe", 200}, {full, "GET", "/probe/api", 200},
		{identity, "GET", "/probe", 403}, {identity, "POST", "/probe", 403}, {identity, "GET", "/probe/api", 403},
	} {
		if got := call(tt.token, tt.method, tt.path); got != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.path, got, tt.want)
		}
	}
	// No secret of this room passes for one of another kind.
	i := w.granted(t, a, "api")
	code := w.code(t, a.ask("api"))
	for name, secret := range map[string]string{"refresh token": i.RefreshToken, "code": code, "client secret": a.secret[len("svcoas-"):], "client id": a.UID} {
		if w.works(t, secret) {
			t.Errorf("a %s opens the API", name)
		}
	}
	w.api.With("Private-Token", i.AccessToken).Do(t, "GET", "/probe", nil).WantStatus(t, 401)
	// An administrator's token with sudo acts as someone else; nobody else's carries it.
	sudo := w.post(t, "/oauth/token", "grant_type", "password", "username", "root", "password", password, "scope", "sudo api").issued(t)
	w.api.With("Authorization", "Bearer "+sudo.AccessToken).With("Sudo", "ADA").Do(t, "GET", "/probe", nil).Want(t, 200, "2")
	w.api.With("Authorization", "Bearer "+full).With("Sudo", "root").Do(t, "GET", "/probe", nil).
		Want(t, 403, `{"message":"403 Forbidden - Must be admin to use sudo"}`)

	w.exec(t, `update users set state = 'blocked' where id = $1`, w.ada.ID)
	if got := call(full, "GET", "/probe"); got != 403 {
		t.Errorf("for a blocked person: %d", got)
	}
	w.exec(t, `update users set state = 'active', removal = 'soft' where id = $1`, w.ada.ID)
	if got := call(full, "GET", "/probe"); got != 401 {
		t.Errorf("for somebody who is being removed: %d", got)
	}
}

func TestUserinfoNamesNoGroupThatSomebodyIsNotIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	join := func(name string) {
		grouptest.Join(t, w.DB, grouptest.New(t, w.DB, grouptest.Named(name)), w.ada, access.Developer)
	}
	for _, name := range []string{"now", "until-tomorrow", "until-today", "asked", "going"} {
		join(name)
	}
	of := ` where user_id = $1 and namespace_id = (select id from namespaces where full_path = $2)`
	w.exec(t, `update members set expires_at = $3`+of, w.ada.ID, "until-tomorrow", w.now.AddDate(0, 0, 1))
	w.exec(t, `update members set expires_at = $3`+of, w.ada.ID, "until-today", w.now)
	w.exec(t, `update members set requested_at = $3`+of, w.ada.ID, "asked", w.now)
	w.exec(t, `update namespaces set removal = true where full_path = 'going'`)
	var got map[string]any
	r := w.get(t, "/oauth/userinfo", w.granted(t, w.app(t), "openid profile").AccessToken)
	if err := json.Unmarshal([]byte(r.text), &got); err != nil {
		t.Fatal(err)
	}
	for _, claim := range []string{"groups", "https://svc.org/claims/groups/developer"} {
		if paths := fmt.Sprint(got[claim]); paths != "[now until-tomorrow]" {
			t.Errorf("%s: %s", claim, paths)
		}
	}
}

func TestRequestsOfProgramsAreCounted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	set := func(change func(*setting.Settings)) {
		t.Helper()
		if err := w.settings.Update(t.Context(), access.Actor{}, change); err != nil {
			t.Fatal(err)
		}
	}
	set(func(s *setting.Settings) {
		s.ThrottleProtectedPathsEnabled, s.ThrottleProtectedPathsRequestsPerPeriod, s.ThrottleProtectedPathsPeriodInSeconds = true, 2, 3600
		s.ProtectedPaths = []string{"/oauth/token"}
	})
	for n, want := range []int{400, 400, 429} {
		if r := w.post(t, "/oauth/token"); r.Code != want {
			t.Errorf("guess %d: %d %s", n+1, r.Code, r.text)
		}
	}
	if r := w.get(t, "/oauth/token/info", ""); r.Code != 401 {
		t.Errorf("looking counts as guessing: %d", r.Code)
	}
	set(func(s *setting.Settings) {
		s.ThrottleUnauthenticatedAPIEnabled, s.ThrottleUnauthenticatedAPIRequestsPerPeriod, s.ThrottleUnauthenticatedAPIPeriodInSeconds = true, 2, 3600
	})
	for n, want := range []int{200, 200, 429} {
		if r := w.get(t, "/oauth/discovery/keys", ""); r.Code != want {
			t.Errorf("request %d: %d %s", n+1, r.Code, r.text)
		}
	}
}

func TestPeopleRegisterApplicationsOfTheirOwnWhereTheyMayAndNoneIsTrusted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ada, root := access.Actor{Person: w.ada.Person()}, access.Actor{Person: w.root.Person()}
	allow := func(on bool) {
		t.Helper()
		if err := w.settings.Update(t.Context(), access.Actor{}, func(s *setting.Settings) { s.UserOAuthApplications = on }); err != nil {
			t.Fatal(err)
		}
	}
	draft := oauth.Draft{Name: "Tool", RedirectURI: callback, Scopes: access.Scopes{"api"}}
	trusted := draft
	trusted.Trusted = true
	allow(true)
	own, _, err := w.service.Create(t.Context(), ada, &w.ada.ID, draft)
	if err != nil {
		t.Fatal(err)
	}
	for name, create := range map[string]func() error{
		"of the instance":   func() error { _, _, err := w.service.Create(t.Context(), ada, nil, draft); return err },
		"of another person": func() error { _, _, err := w.service.Create(t.Context(), ada, &w.root.ID, draft); return err },
		"that is trusted":   func() error { _, _, err := w.service.Create(t.Context(), ada, &w.ada.ID, trusted); return err },
		"where nobody may": func() error {
			allow(false)
			_, _, err := w.service.Create(t.Context(), ada, &w.ada.ID, draft)
			return err
		},
	} {
		allow(true)
		if err := create(); !fault.Is(err, fault.Forbidden) {
			t.Errorf("one %s: %v", name, err)
		}
	}
	if a, err := w.service.Update(t.Context(), ada, own.ID, trusted); err != nil || a.Trusted {
		t.Errorf("a person makes it trusted: %+v, %v", a, err)
	}
	if a, err := w.service.Update(t.Context(), root, own.ID, trusted); err != nil || !a.Trusted {
		t.Errorf("an administrator makes it trusted: %+v, %v", a, err)
	}
	if a, err := w.service.Update(t.Context(), ada, own.ID, draft); err != nil || !a.Trusted {
		t.Errorf("what an administrator said is forgotten: %+v, %v", a, err)
	}
}

func TestTheSweepRemovesWhatHasLongBeenDead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	dead, alive := w.granted(t, a, "api"), w.granted(t, a, "api")
	w.post(t, "/oauth/token", "grant_type", "password", "username", "ada", "password", password).issued(t)
	w.revoke(t, a, dead.AccessToken)
	sweep := func() (codes, tokens int64) {
		t.Helper()
		for range 2 { // a job may run twice
			if err := w.service.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return w.count(t, `select count(*) from oauth_codes`), w.count(t, `select count(*) from oauth_tokens`)
	}
	if codes, tokens := sweep(); codes != 2 || tokens != 3 {
		t.Errorf("at once: %d codes, %d tokens", codes, tokens)
	}
	w.turn(48 * time.Hour)
	if codes, tokens := sweep(); codes != 0 || tokens != 2 {
		t.Errorf("after two days: %d codes, %d tokens", codes, tokens)
	}
	w.turn(29 * 24 * time.Hour)
	if _, tokens := sweep(); tokens != 1 {
		t.Errorf("after a month: %d tokens", tokens)
	}
	w.refresh(t, a, alive.RefreshToken).issued(t)
}
