package oauth_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stithy/internal/kit/access"
	"stithy/internal/oauth"
	"stithy/internal/platform/lifecycle"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestACodeBecomesATokenThatActsForThePerson(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	r := w.exchange(t, a, w.code(t, a.ask("api")))
	i := r.issued(t)
	if i.TokenType != "bearer" || i.ExpiresIn != 7200 || i.CreatedAt != w.now.Unix() || i.Scope != "api" || len(i.AccessToken) != 64 || len(i.RefreshToken) != 64 || i.IDToken != "" {
		t.Errorf("%+v", i)
	}
	if got := r.Header(); got.Get("Cache-Control") != "no-store, no-cache" || got.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("%v", got)
	}
	for _, present := range []func() *http.Request{
		func() *http.Request {
			r := httptest.NewRequest("GET", "/oauth/token/info", nil)
			r.Header.Set("Authorization", "bearer "+i.AccessToken)
			return r
		},
		func() *http.Request {
			return httptest.NewRequest("GET", "/oauth/token/info?access_token="+i.AccessToken, nil)
		},
	} {
		w.send(t, present()).want(t, 200, `{"resource_owner_id":2,"scope":["api"],"expires_in":7200,"application":{"uid":"`+a.UID+
			`"},"created_at":1714662245,"scopes":["api"],"expires_in_seconds":7200}`)
	}
	w.api.With("Authorization", "Bearer "+i.AccessToken).Do(t, "GET", "/probe", nil).Want(t, 200, "2")
	w.api.Do(t, "GET", "/probe?access_token="+i.AccessToken, nil).Want(t, 200, "2")
	w.turn(7199 * time.Second)
	if !w.works(t, i.AccessToken) {
		t.Error("the token died early")
	}
	w.turn(time.Second)
	if w.works(t, i.AccessToken) {
		t.Error("the token lives too long")
	}
	w.get(t, "/oauth/token/info", i.AccessToken).want(t, 401,
		`{"error":"invalid_token","error_description":"The access token is invalid","state":"unauthorized"}`)
	if next := w.refresh(t, a, i.RefreshToken, "redirect_uri", callback).issued(t); !w.works(t, next.AccessToken) || next.AccessToken == i.AccessToken {
		t.Error("an expired token could not be refreshed")
	}
}

func TestClientsProveWhoTheyAreByBasicOrParameters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, open := w.app(t), w.app(t, public)
	basic := func(id, secret, body string) reply {
		r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth(id, secret)
		return w.send(t, r)
	}
	form := func(code string) string {
		return "grant_type=authorization_code&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&code=" + code
	}
	basic(a.UID, a.secret, form(w.code(t, a.ask("api")))).issued(t)
	// Careful clients encode both as in a form, and what stands in the header counts.
	basic(fmt.Sprintf("%%%02x%s", a.UID[0], a.UID[1:]), fmt.Sprintf("%%%02x%s", a.secret[0], a.secret[1:]), form(w.code(t, a.ask("api")))).issued(t)
	basic(a.UID, a.secret, form(w.code(t, a.ask("api")))+"&client_id="+open.UID).issued(t)
	code := w.code(t, a.ask("api"))
	basic(a.UID, a.secret+"0", form(code)).refused(t, 401, oauth.InvalidClient)
	basic(open.UID, "", form(code)).refused(t, 400, oauth.InvalidGrant)
	w.exchange(t, app{a.Application, ""}, code).refused(t, 401, oauth.InvalidClient)
	w.exchange(t, app{a.Application, open.secret}, code).refused(t, 401, oauth.InvalidClient)
	w.post(t, "/oauth/token", "grant_type", "authorization_code", "client_id", strings.Repeat("0", 64), "code", code, "redirect_uri", callback).
		refused(t, 401, oauth.InvalidClient)
	w.post(t, "/oauth/token", "grant_type", "authorization_code", "code", code, "redirect_uri", callback).refused(t, 401, oauth.InvalidClient)

	r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader(
		`{"grant_type":"authorization_code","client_id":"`+a.UID+`","client_secret":"`+a.secret+`","code":"`+code+`","redirect_uri":"`+callback+`"}`))
	r.Header.Set("Content-Type", "application/json")
	w.send(t, r).issued(t)

	// A client that cannot keep a secret is known by its id, and a wrong secret is still wrong.
	code = w.code(t, open.askPKCE("api"))
	w.exchange(t, open, code, "code_verifier", verifier, "client_secret", "wrong").refused(t, 401, oauth.InvalidClient)
	w.exchange(t, open, code, "code_verifier", verifier).issued(t)
}

func TestTheTokenRequestIsRefusedInTheKnownWords(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	pkce := w.code(t, a.askPKCE("api"))
	client := []string{"client_id", a.UID, "client_secret", a.secret}
	for _, tt := range []struct {
		pairs []string
		want  string
	}{
		{[]string{}, `{"error":"invalid_request","error_description":"Missing required parameter: grant_type."}`},
		{[]string{"grant_type", "client_credentials", "state", "x"}, `{"error":"unsupported_grant_type","error_description":"The authorization grant type is not supported by the authorization server.","state":"x"}`},
		{[]string{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"}, `{"error":"unsupported_grant_type","error_description":"The authorization grant type is not supported by the authorization server."}`},
		{[]string{"grant_type", "authorization_code", "redirect_uri", callback}, `{"error":"invalid_request","error_description":"Missing required parameter: code."}`},
		{[]string{"grant_type", "authorization_code", "code", pkce}, `{"error":"invalid_request","error_description":"Missing required parameter: redirect_uri."}`},
		{append(client, "grant_type", "authorization_code", "code", pkce, "redirect_uri", callback), `{"error":"invalid_request","error_description":"Missing required parameter: code_verifier."}`},
		{[]string{"grant_type", "refresh_token"}, `{"error":"invalid_request","error_description":"Missing required parameter: refresh_token."}`},
		{append(client, "grant_type", "authorization_code", "code", "x", "redirect_uri", callback), `{"error":"invalid_grant","error_description":"The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client."}`},
		{[]string{"grant_type", "password", "grant_type", "password"}, `{"error":"invalid_request","error_description":"The request is malformed."}`},
		{[]string{"grant_type", "pass\x00word"}, `{"error":"invalid_request","error_description":"The request is malformed."}`},
	} {
		w.post(t, "/oauth/token", tt.pairs...).want(t, 400, tt.want)
	}
	for _, body := range []string{`[]`, `{"grant_type":1}`, `{`, `{"grant_type":["password"]}`, `{"grant_type":null}`, `{"grant_type":"none","state":1}`, `{"grant_type":"none","grant_type":"none"}`} {
		r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w.send(t, r).refused(t, 400, oauth.InvalidRequest)
	}
}

type tooSlow struct{}

func (tooSlow) Read([]byte) (int, error) { return 0, lifecycle.ErrSlow }

// What is too much is refused for its size alone: cut to it, the same is understood.
func TestARequestIsBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	send := func(media, query string, body io.Reader) reply {
		r := httptest.NewRequest("POST", "/oauth/token?"+query, body)
		r.Header.Set("Content-Type", media)
		return w.send(t, r)
	}
	const object, form = `{"grant_type":"none"}`, "grant_type=none&state="
	for size, want := range map[int]oauth.Code{32 << 10: oauth.UnsupportedGrantType, 32<<10 + 1: oauth.InvalidRequest} {
		send("application/json", "", strings.NewReader(object+strings.Repeat(" ", size-len(object)))).refused(t, 400, want)
		send("application/x-www-form-urlencoded", "", strings.NewReader(form+strings.Repeat("x", size-len(form)))).refused(t, 400, want)
	}
	for size, want := range map[int]oauth.Code{16 << 10: oauth.UnsupportedGrantType, 16<<10 + 1: oauth.InvalidRequest} {
		send("", form+strings.Repeat("x", size-len(form)), http.NoBody).refused(t, 400, want)
	}
	send("application/json", "", tooSlow{}).refused(t, http.StatusRequestTimeout, oauth.InvalidRequest)
}

// An answer holds secrets: nobody keeps it, frames it, guesses what it is, or tells where it came from.
func TestAnswersOfTheProviderAreNeitherKeptNorFramed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	done := w.exchange(t, a, w.code(t, a.ask("api")))
	for what, got := range map[string]reply{"a token": done, "a refusal": w.post(t, "/oauth/token"), "nothing": w.get(t, "/oauth/none", ""), "a method": w.get(t, "/oauth/token", "")} {
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store, no-cache",
		} {
			if shown := got.Header().Get(name); shown != want {
				t.Errorf("%s: %s is %q", what, name, shown)
			}
		}
	}
	if got := w.get(t, "/oauth/token", ""); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != "POST" {
		t.Errorf("%d, allowed: %q", got.Code, got.Header().Get("Allow"))
	}
	if got := w.get(t, "/oauth/none", ""); got.Code != http.StatusNotFound {
		t.Errorf("nothing: %d", got.Code)
	}
}

func TestAPresentedTokenIsABearer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	token := w.granted(t, w.app(t), "api").AccessToken
	for header, want := range map[string]int{"Bearer " + token: 200, "bearer " + token: 200, "Basic " + token: 401, token: 401, "": 401} {
		r := httptest.NewRequest("GET", "/oauth/token/info", nil)
		r.Header.Set("Authorization", header)
		if got := w.send(t, r); got.Code != want {
			t.Errorf("%.10s: %d %s", header, got.Code, got.text)
		}
	}
	for query, want := range map[string]int{"": 401, "?access_token=" + token: 200} {
		if got := w.get(t, "/oauth/token/info"+query, ""); got.Code != want {
			t.Errorf("%.10s: %d %s", query, got.Code, got.text)
		}
	}
	// What stands in the header counts.
	if got := w.get(t, "/oauth/token/info?access_token="+token, strings.Repeat("0", 64)); got.Code != 401 {
		t.Errorf("another token in the header: %d", got.Code)
	}
}

// OA-02: a code works once, for 600 seconds, for its client and its address.
func TestOA02_ACodeIsUsedOnceAndInTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, other := w.app(t), w.app(t)
	code := w.code(t, a.ask("api"))
	w.exchange(t, other, code).refused(t, 400, oauth.InvalidGrant)
	w.exchange(t, app{a.Application, a.secret}, code+"0").refused(t, 400, oauth.InvalidGrant)
	first := w.exchange(t, a, code).issued(t)
	if !w.works(t, first.AccessToken) {
		t.Fatal("the token does not work")
	}
	w.exchange(t, other, code).refused(t, 400, oauth.InvalidGrant)
	if !w.works(t, first.AccessToken) {
		t.Error("a stranger's replay ended the token")
	}
	w.exchange(t, a, code).refused(t, 400, oauth.InvalidGrant)
	if w.works(t, first.AccessToken) {
		t.Error("the token outlived the replay of its code")
	}
	w.refresh(t, a, first.RefreshToken).refused(t, 400, oauth.InvalidGrant)
	if records := w.taken(oauth.CodeReplayed); len(records) != 1 || records[0].Entity.ID != w.ada.ID {
		t.Errorf("the trail: %+v", records)
	}

	late := w.code(t, a.ask("api"))
	w.turn(600 * time.Second)
	w.exchange(t, a, late).refused(t, 400, oauth.InvalidGrant)
	inTime := w.code(t, a.ask("api"))
	w.turn(599 * time.Second)
	w.exchange(t, a, inTime).issued(t)
}

func TestOA02_OfManyWhoExchangeACodeOneSucceeds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	code := w.code(t, a.ask("api"))
	var group sync.WaitGroup
	var won atomic.Int64
	for range 50 {
		group.Go(func() {
			if r := w.exchange(t, a, code); r.Code == 200 {
				won.Add(1)
			} else if r.Code != 400 {
				t.Errorf("%d %s", r.Code, r.text)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d succeeded", won.Load())
	}
	if n := w.count(t, `select count(*) from oauth_tokens where revoked_at is null`); n != 0 {
		t.Errorf("%d tokens live on after the replay", n)
	}
}

// OA-03: a challenge demands its verifier and a verifier its challenge; S256
// is the only method, and who cannot keep a secret must use it.
func TestOA03_PKCECannotBeLeftOutOrWeakened(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, open := w.app(t), w.app(t, public)
	for _, tt := range []struct {
		name              string
		of                app
		challenge, method string
		want              oauth.Code
	}{
		{"none, confidential", a, "", "", ""},
		{"none, public", open, "", "", oauth.InvalidRequest},
		{"S256", open, challenge(verifier), "S256", ""},
		{"plain", a, verifier, "plain", oauth.InvalidChallenge},
		{"no method", a, challenge(verifier), "", oauth.InvalidChallenge},
		{"other method", a, challenge(verifier), "s256", oauth.InvalidChallenge},
		{"method alone", a, "", "S256", oauth.InvalidRequest},
		{"short", a, "abc", "S256", oauth.InvalidRequest},
		{"padded", a, challenge(verifier) + "=", "S256", oauth.InvalidRequest},
	} {
		ask := tt.of.ask("api")
		ask.CodeChallenge, ask.CodeChallengeMethod = tt.challenge, tt.method
		_, answerable, err := w.service.Check(t.Context(), w.ada, ask)
		r, refused := oauth.Refused(err)
		if !answerable || refused != (tt.want != "") || refused && r.Code != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	long := strings.Repeat("v", 128)
	for _, tt := range []struct {
		name, made, sent string
		code             oauth.Code
	}{
		{"right", verifier, verifier, ""},
		{"longest", long, long, ""},
		{"too long", long + "v", long + "v", oauth.InvalidGrant},
		{"too short", "short", "short", oauth.InvalidGrant},
		{"forbidden character", verifier + "+", verifier + "+", oauth.InvalidGrant},
		{"another", verifier, verifier + "x", oauth.InvalidGrant},
		{"the challenge itself", verifier, challenge(verifier), oauth.InvalidGrant},
		{"absent", verifier, "", oauth.InvalidRequest},
		{"without a challenge", "", verifier, oauth.InvalidGrant},
	} {
		ask := a.ask("api")
		if tt.made != "" {
			ask.CodeChallenge, ask.CodeChallengeMethod = challenge(tt.made), "S256"
		}
		r := w.exchange(t, a, w.code(t, ask), "code_verifier", tt.sent)
		if tt.code == "" {
			r.issued(t)
		} else {
			r.refused(t, 400, tt.code)
		}
	}
}

// OA-09: a refresh token works once. Who presents a spent one ends the line
// for everyone, for one of the two holders is a thief.
func TestOA09_AStolenRefreshTokenEndsTheLine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	first := w.granted(t, a, "api")
	other := w.granted(t, a, "api")
	thief := w.refresh(t, a, first.RefreshToken).issued(t)
	if w.works(t, first.AccessToken) || !w.works(t, thief.AccessToken) {
		t.Error("refreshing does not put one pair in the place of the other")
	}
	thief = w.refresh(t, a, thief.RefreshToken).issued(t)
	w.refresh(t, a, first.RefreshToken).refused(t, 400, oauth.InvalidGrant)
	if w.works(t, thief.AccessToken) {
		t.Error("the thief still has access")
	}
	w.refresh(t, a, thief.RefreshToken).refused(t, 400, oauth.InvalidGrant)
	if !w.works(t, other.AccessToken) {
		t.Error("another line died, too")
	}
	records := w.taken(oauth.RefreshReused)
	if len(records) != 1 || records[0].Entity.ID != w.ada.ID || records[0].Target.ID != a.ID {
		t.Errorf("the trail: %+v", records)
	}
}

func TestOA09_OfManyWhoRefreshOneSucceeds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	first := w.granted(t, a, "api")
	var group sync.WaitGroup
	var won atomic.Int64
	for range 20 {
		group.Go(func() {
			if r := w.refresh(t, a, first.RefreshToken); r.Code == 200 {
				won.Add(1)
			} else if r.Code != 400 {
				t.Errorf("%d %s", r.Code, r.text)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d succeeded", won.Load())
	}
	if n := w.count(t, `select count(*) from oauth_tokens where revoked_at is null`); n > 1 {
		t.Errorf("%d tokens of one line live", n)
	}
}

func TestARefreshIsBoundToItsClientAddressAndScopes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, other := w.app(t), w.app(t)
	i := w.granted(t, a, "api read_user")
	w.refresh(t, other, i.RefreshToken).refused(t, 400, oauth.InvalidGrant)
	w.refresh(t, app{a.Application, "wrong"}, i.RefreshToken).refused(t, 401, oauth.InvalidClient)
	w.refresh(t, a, i.RefreshToken, "redirect_uri", callback+"/").refused(t, 400, oauth.InvalidGrant)
	w.refresh(t, a, i.RefreshToken, "scope", "api sudo").refused(t, 400, oauth.InvalidScope)
	w.refresh(t, a, i.AccessToken).refused(t, 400, oauth.InvalidGrant)
	narrow := w.refresh(t, a, i.RefreshToken, "scope", "read_user").issued(t)
	if narrow.Scope != "read_user" {
		t.Errorf("scope %q", narrow.Scope)
	}
	w.refresh(t, a, narrow.RefreshToken, "scope", "api").refused(t, 400, oauth.InvalidScope)
	w.exec(t, `update users set state = 'blocked' where id = $1`, w.ada.ID)
	w.refresh(t, a, narrow.RefreshToken).refused(t, 400, oauth.InvalidGrant)
	w.exec(t, `update users set state = 'active' where id = $1`, w.ada.ID)
	w.exec(t, `update oauth_applications set scopes = '{openid}' where id = $1`, a.ID)
	w.refresh(t, a, narrow.RefreshToken).refused(t, 400, oauth.InvalidScope)
}

// OA-07: what is granted is within what was asked for, what the application
// may ask for and what the person may hold; refreshing adds nothing.
func TestOA07_GrantedScopesAreWithinAskedAndRegistered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	invented := access.Scopes{"invented", "API", "api,sudo", "*"}
	all := append(oauth.Scopes(), invented...)
	set := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 6, rapid.ID)
	rapid.Check(t, func(rt *rapid.T) {
		registered := access.Scopes(rapid.SliceOfNDistinct(rapid.SampledFrom(oauth.Scopes()), 1, 8, rapid.ID).Draw(rt, "registered"))
		asked := access.Scopes(set.Draw(rt, "asked"))
		a := w.app(t, scoped(registered...))
		req, _, err := w.service.Check(t.Context(), w.ada, a.ask(spaced(asked)))
		allowed := true
		for _, s := range asked {
			allowed = allowed && registered.Has(s)
		}
		if !allowed && err == nil {
			rt.Fatalf("%v of %v was granted", asked, registered)
		}
		if err != nil {
			return
		}
		for _, s := range req.Scopes {
			if !asked.Has(s) || !registered.Has(s) || s == access.ScopeSudo || s == access.ScopeAdminMode {
				rt.Fatalf("%v became %v", asked, req.Scopes)
			}
		}
		i := w.exchange(t, a, w.code(t, a.ask(spaced(asked)))).issued(t)
		if i.Scope != spaced(req.Scopes) {
			rt.Fatalf("granted %v, issued %s", req.Scopes, i.Scope)
		}
		more := access.Scopes(set.Draw(rt, "more"))
		wider := false
		for _, s := range more {
			wider = wider || !req.Scopes.Has(s)
		}
		if r := w.refresh(t, a, i.RefreshToken, "scope", spaced(more)); (r.Code == 200) == wider {
			rt.Fatalf("%v refreshed as %v: %d %s", req.Scopes, more, r.Code, r.text)
		}
	})
}

func spaced(scopes access.Scopes) string {
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, " ")
}

// OA-13: a password is exchanged for a token only by those who sign in with a
// password and nothing else.
func TestOA13_ThePasswordGrantIsForPlainAccountsOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	with := func(name, login, secret string, more ...string) reply {
		return w.post(t, "/oauth/token", append([]string{"grant_type", "password", "username", login, "password", secret}, more...)...)
	}
	i := with("plain", "ada", password).issued(t)
	if i.Scope != "api" || i.RefreshToken != "" || i.ExpiresIn != 7200 || i.TokenType != "bearer" || !w.works(t, i.AccessToken) {
		t.Errorf("%+v", i)
	}
	w.get(t, "/oauth/token/info", i.AccessToken).want(t, 200,
		`{"resource_owner_id":2,"scope":["api"],"expires_in":7200,"application":{"uid":null},"created_at":1714662245,"scopes":["api"],"expires_in_seconds":7200}`)
	for name, options := range map[string][]usertest.Option{
		"second factor": {usertest.With("two_factor_enabled", true)},
		"external":      {usertest.With("external", true)},
		"blocked":       {usertest.In(user.Blocked)},
		"banned":        {usertest.In(user.Banned)},
		"pending":       {usertest.In(user.Pending)},
		"deactivated":   {usertest.In(user.Deactivated)},
		"unconfirmed":   {usertest.Unconfirmed()},
		"expired":       {usertest.With("password_expires_at", w.now)},
		"bot":           {usertest.With("kind", "project_bot")},
	} {
		u := usertest.New(t, w.DB, options...)
		with(name, u.Username, password).refused(t, 400, oauth.InvalidGrant)
	}
	elsewhere := usertest.New(t, w.DB)
	w.exec(t, `insert into identities (user_id, provider, extern_uid, created_at, updated_at) values ($1, 'saml', 'x', now(), now())`, elsewhere.ID)
	with("identity", elsewhere.Username, password).refused(t, 400, oauth.InvalidGrant)
	with("wrong", "ada", password+"!").refused(t, 400, oauth.InvalidGrant)
	with("nobody", "nobody", password).refused(t, 400, oauth.InvalidGrant)
	with("empty", "ada", "").refused(t, 400, oauth.InvalidGrant)

	a, small := w.app(t), w.app(t, scoped("read_user"))
	r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader("grant_type=password&username=ada&password="+strings.ReplaceAll(password, " ", "+")))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(a.UID, a.secret)
	if i := w.send(t, r).issued(t); i.Scope != "api" || i.RefreshToken != "" {
		t.Errorf("with a client: %+v", i)
	}
	with("wrong client", "ada", password, "client_id", a.UID, "client_secret", "wrong").refused(t, 401, oauth.InvalidClient)
	with("beyond the client", "ada", password, "client_id", small.UID, "client_secret", small.secret).refused(t, 400, oauth.InvalidScope)
	if i := with("within", "ada", password, "client_id", small.UID, "client_secret", small.secret, "scope", "read_user").issued(t); i.Scope != "read_user" {
		t.Errorf("%+v", i)
	}
	with("sudo", "ada", password, "scope", "sudo").refused(t, 400, oauth.InvalidScope)
	with("invented", "ada", password, "scope", "everything").refused(t, 400, oauth.InvalidScope)

	change := func(f func(*setting.Settings)) {
		if err := w.settings.Update(t.Context(), access.Actor{}, f); err != nil {
			t.Fatal(err)
		}
	}
	change(func(s *setting.Settings) { s.RequireAdminTwoFactorAuthentication = true })
	with("administrator", "root", password).refused(t, 400, oauth.InvalidGrant)
	with("plain", "ada", password).issued(t)
	change(func(s *setting.Settings) { s.RequireTwoFactorAuthentication = true; s.TwoFactorGracePeriod = 48 })
	with("enforced", "ada", password).refused(t, 400, oauth.InvalidGrant)
	change(func(s *setting.Settings) {
		s.RequireTwoFactorAuthentication, s.PasswordAuthenticationEnabledForWeb = false, false
	})
	with("sign-in elsewhere", "ada", password).refused(t, 400, oauth.InvalidGrant)

	d := w.Deps
	d.PasswordGrant = false
	w.serve(t, d)
	with("switched off", "ada", password).refused(t, 400, oauth.UnsupportedGrantType)
}
