package app

import (
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/oauth"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

const callback = "https://app.example/cb"

// visitor is a browser that is signed in, and stops at every answer.
type visitor struct {
	*browser
	header http.Header // of every request
}

func (i *instance) visitor(t testing.TB, u *user.User) *visitor {
	t.Helper()
	v := &visitor{browser: i.browser(t), header: http.Header{}}
	v.change = func(r *http.Request) { maps.Copy(r.Header, v.header) }
	if u != nil {
		cookie, _, err := i.Tokens.StartSession(t.Context(), u.ID, netip.MustParseAddr("192.0.2.1"), "test")
		if err != nil {
			t.Fatal(err)
		}
		v.cookies["_svc_session"] = &http.Cookie{Name: "_svc_session", Value: cookie.Reveal()}
	}
	return v
}

// page is an answer with its text.
type page struct {
	*http.Response
	text string
}

func (v *visitor) send(method, target string, form url.Values) page {
	w := v.browser.send(method, target, form)
	return page{w.Result(), w.Body.String()}
}

func (v *visitor) get(target string) page { return v.send(http.MethodGet, target, nil) }

var (
	formPattern  = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)".*?</form>`)
	inputPattern = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// press sends the form whose button reads so, with what it hides and what is added.
func (v *visitor) press(t testing.TB, p page, button string, pairs ...string) page {
	t.Helper()
	for _, f := range formPattern.FindAllStringSubmatch(p.text, -1) {
		if !strings.Contains(f[0], ">"+button+"<") {
			continue
		}
		form := url.Values{}
		for _, in := range inputPattern.FindAllStringSubmatch(f[0], -1) {
			form.Set(in[1], html.UnescapeString(in[2]))
		}
		for i := 0; i < len(pairs); i += 2 {
			form.Add(pairs[i], pairs[i+1])
		}
		return v.send(http.MethodPost, html.UnescapeString(f[1]), form)
	}
	t.Fatalf("no button %q on %d %s", button, p.StatusCode, p.text)
	return page{}
}

func (i *instance) application(t testing.TB, change ...func(*oauth.Draft)) (*oauth.Application, string) {
	t.Helper()
	d := oauth.Draft{Name: "Tool <b>", RedirectURI: callback, Scopes: access.Scopes{"api", "read_user", "openid"}, Confidential: true}
	for _, f := range change {
		f(&d)
	}
	a, secret, err := i.OAuth.Create(t.Context(), access.Actor{Person: i.root.Person()}, nil, d)
	if err != nil {
		t.Fatal(err)
	}
	return a, secret.Reveal()
}

func authorize(a *oauth.Application, pairs ...string) string {
	q := url.Values{"client_id": {a.UID}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"read_user"}, "state": {"a&b=c"}}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return "/oauth/authorize?" + q.Encode()
}

// exchanged is the token that the code of a redirect gives.
func (i *instance) exchanged(t testing.TB, p page, a *oauth.Application, secret string) string {
	t.Helper()
	to, err := url.Parse(p.Header.Get("Location"))
	if err != nil || p.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to.String(), callback+"?") || to.Query().Get("state") != "a&b=c" {
		t.Fatalf("%d %s", p.StatusCode, p.Header.Get("Location"))
	}
	w := i.do("POST", "/oauth/token", map[string]any{
		"grant_type": "authorization_code", "client_id": a.UID, "client_secret": secret, "code": to.Query().Get("code"), "redirect_uri": callback,
	}, nil)
	var got struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.AccessToken == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return got.AccessToken
}

func (i *instance) callWith(token, method, path string) int {
	return i.do(method, path, nil, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }).Code
}

// A person lets an application act for them, and ends it: from then on every
// node refuses it.
func TestAPersonLetsAnApplicationInAndOutAgain(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	second, err := Assemble(i.Parts)
	if err != nil {
		t.Fatal(err)
	}
	node := &instance{App: second, handler: second.Handler()}
	a, secret := i.application(t)
	stranger := i.visitor(t, nil)
	if p := stranger.get(authorize(a)); p.StatusCode != http.StatusSeeOther || !strings.HasPrefix(p.Header.Get("Location"), "/users/sign_in?return_to=%2Foauth%2Fauthorize%3F") {
		t.Errorf("a stranger: %d %s", p.StatusCode, p.Header.Get("Location"))
	}
	ann := i.visitor(t, i.ann)
	consent := ann.get(authorize(a))
	if consent.StatusCode != http.StatusOK || !strings.Contains(consent.text, "Tool &lt;b&gt;") || strings.Contains(consent.text, "<b>") ||
		!strings.Contains(consent.text, "read_user") || !strings.Contains(consent.text, "app.example") {
		t.Fatalf("%d %s", consent.StatusCode, consent.text)
	}
	denied := ann.press(t, consent, "Deny")
	if to := denied.Header.Get("Location"); denied.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, callback+"?error=access_denied&") || !strings.Contains(to, "state=a%26b%3Dc") {
		t.Errorf("%d %s", denied.StatusCode, to)
	}
	token := i.exchanged(t, ann.press(t, consent, "Authorize"), a, secret)
	for _, n := range []*instance{i, node} {
		if n.callWith(token, "GET", "/api/v4/user") != 200 || n.callWith(token, "GET", "/api/v4/projects") != 403 || n.callWith(token, "PUT", "/api/v4/user/status") != 403 {
			t.Error("read_user opens something else than profiles")
		}
	}

	// Who agreed is passed on at once; behind the sign-in form, by a page in between.
	again := ann.get(authorize(a))
	i.exchanged(t, again, a, secret)
	ann.header.Set("Referer", "https://forge.example/users/sign_in")
	if p := ann.get(authorize(a)); p.StatusCode != 200 || !strings.HasPrefix(p.Header.Get("Refresh"), "0; url="+callback+"?code=") {
		t.Errorf("%d %v", p.StatusCode, p.Header)
	}
	if p := ann.get(authorize(a, "prompt", "consent")); !strings.Contains(p.text, ">Authorize<") {
		t.Errorf("asked to ask: %d %s", p.StatusCode, p.text)
	}
	quiet := authorize(a, "prompt", "none", "scope", "api")
	for b, want := range map[*visitor]string{ann: "consent_required", stranger: "login_required"} {
		if p := b.get(quiet); !strings.HasPrefix(p.Header.Get("Location"), callback+"?error="+want) {
			t.Errorf("%d %s", p.StatusCode, p.Header.Get("Location"))
		}
	}

	settings := ann.get("/-/user_settings/applications")
	done := ann.press(t, settings, `Revoke<span class="hidden"> access of Tool &lt;b&gt;</span>`)
	if done.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d %s", done.StatusCode, done.text)
	}
	for _, n := range []*instance{i, node} {
		if got := n.callWith(token, "GET", "/api/v4/user"); got != 401 {
			t.Errorf("a revoked application gets %d", got)
		}
	}
	if p := ann.get(authorize(a)); !strings.Contains(p.text, ">Authorize<") {
		t.Errorf("not asked again: %d %s", p.StatusCode, p.text)
	}
}

// OA-05: nobody clicks for the person: no frame, no opener, no form of another
// site, no focus on the button.
func TestOA05_ConsentIsGivenByThePersonAlone(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	a, _ := i.application(t)
	ann, eve := i.visitor(t, i.ann), i.visitor(t, usertest.New(t, i.DB))
	consent := ann.get(authorize(a))
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if got := consent.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	csp := consent.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self' https://app.example"} {
		if !strings.Contains(csp, want) {
			t.Errorf("policy without %s: %s", want, csp)
		}
	}
	if strings.Contains(consent.text, "autofocus") || strings.Contains(consent.text, "<script") {
		t.Error("the page presses for the person")
	}
	refused := func(name string, p page) {
		t.Helper()
		if p.StatusCode != http.StatusForbidden || p.Header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, p.StatusCode, p.Header.Get("Location"))
		}
	}
	for origin, site := range map[string]string{"https://evil.example": "", "null": "cross-site", "http://forge.example": "same-site"} {
		ann.header.Set("Origin", origin)
		ann.header.Set("Sec-Fetch-Site", site)
		refused("from "+origin, ann.press(t, consent, "Authorize"))
		clear(ann.header)
	}
	refused("another person's form", ann.press(t, eve.get(authorize(a)), "Authorize"))
	u, _ := url.Parse(authorize(a))
	refused("no CSRF value", ann.send(http.MethodPost, "/oauth/authorize", u.Query()))
	refused("a form with its parameters in the query", ann.send(http.MethodPost, authorize(a), url.Values{}))
	var codes int
	if err := i.DB.QueryRow(t.Context(), `select count(*) from oauth_codes`).Scan(&codes); err != nil || codes != 0 {
		t.Errorf("%d codes were given, %v", codes, err)
	}
	if got := ann.press(t, consent, "Authorize"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("the person: %d", got.StatusCode)
	}
}

// OA-06: what is wrong with a request is shown to the person, not redirected.
func TestOA06_AWrongRequestIsShownAndNotRedirected(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	a, _ := i.application(t)
	ann := i.visitor(t, i.ann)
	good := ann.get(authorize(a))
	for _, tt := range []struct {
		name, value, want string
		redirected        bool // when it comes by the form
	}{
		{"client_id", "", "Missing required parameter: client_id.", false},
		{"client_id", "x", "Client authentication failed", false},
		{"redirect_uri", "https://evil.example/cb", "The redirect URI included is not valid.", false},
		{"redirect_uri", callback + "?x", "The redirect URI included is not valid.", false},
		{"redirect_uri", "", "The redirect URI included is not valid.", false},
		{"response_type", "token", "does not support this response type", true},
		{"scope", "sudo", "The requested scope is invalid", true},
		{"scope", "", "Missing required parameter: scope.", true},
		{"code_challenge_method", "plain", "The code challenge method must be S256.", true},
	} {
		for _, prompt := range []string{"", "consent"} {
			if p := ann.get(authorize(a, tt.name, tt.value, "prompt", prompt)); p.StatusCode != 200 || p.Header.Get("Location") != "" || !strings.Contains(p.text, tt.want) {
				t.Errorf("%s=%s: %d %s %s", tt.name, tt.value, p.StatusCode, p.Header.Get("Location"), p.text)
			}
		}
		u, _ := url.Parse(authorize(a, tt.name, tt.value))
		form := u.Query()
		form.Set("authenticity_token", inputPattern.FindStringSubmatch(good.text)[2])
		p := ann.send(http.MethodPost, "/oauth/authorize", form)
		to := p.Header.Get("Location")
		if (to != "") != tt.redirected || to != "" && !strings.HasPrefix(to, callback+"?error=") {
			t.Errorf("form with %s=%s: %d %s", tt.name, tt.value, p.StatusCode, to)
		}
	}
	for _, to := range []string{"//evil.example", "https://evil.example/", "javascript:alert(1)", "/\\evil.example"} {
		p := i.visitor(t, nil).get("/oauth/authorize?prompt=none&client_id=" + a.UID + "&redirect_uri=" + url.QueryEscape(to))
		if got := p.Header.Get("Location"); got != "" {
			t.Errorf("%s: redirected to %s", to, got)
		}
	}
}

// OA-10, on the pages: a secret is shown once, to who registers the application.
func TestOA10_PagesShowASecretOnce(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	secretPattern := regexp.MustCompile(`svcoas-[0-9a-f]{64}`)
	for at, u := range map[string]*user.User{"/-/user_settings/applications": i.ann, "/admin/applications": i.root} {
		b := i.visitor(t, u)
		p := b.press(t, b.get(at+"/new"), "Register", "name", `Mine "><script>`, "redirect_uri", "javascript:alert(1)", "scopes", "api", "scopes", "openid")
		if p.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(p.text, "Is forbidden by the server.") || strings.Contains(p.text, `"><script>`) {
			t.Fatalf("%d %s", p.StatusCode, p.text)
		}
		p = b.press(t, p, "Register", "name", "Mine", "redirect_uri", callback, "confidential", "1", "scopes", "api", "scopes", "openid", "trusted", "1")
		here := p.Header.Get("Location")
		if p.StatusCode != http.StatusSeeOther || !strings.HasPrefix(here, at+"/") {
			t.Fatalf("%d %s", p.StatusCode, p.text)
		}
		first := secretPattern.FindString(b.get(here).text)
		if first == "" {
			t.Fatal("the secret is not shown")
		}
		for _, page := range []string{here, at, here + "/edit"} {
			if got := b.get(page); got.StatusCode != 200 || secretPattern.MatchString(got.text) {
				t.Errorf("%s shows it again: %d", page, got.StatusCode)
			}
		}
		p = b.press(t, b.get(here), `Renew secret<span class="hidden"> of Mine</span>`)
		if second := secretPattern.FindString(b.get(p.Header.Get("Location")).text); second == "" || second == first {
			t.Errorf("renewed: %q", second)
		}
		p = b.press(t, b.get(here+"/edit"), "Save changes", "name", "Yours", "redirect_uri", callback, "scopes", "read_user")
		if got := b.get(p.Header.Get("Location")); !strings.Contains(got.text, "<h1>Yours</h1>") || !strings.Contains(got.text, "<dd>read_user</dd>") {
			t.Errorf("changed: %s", got.text)
		}
		// It is trusted only where an administrator said so.
		var trusted bool
		if err := i.DB.QueryRow(t.Context(), `select bool_or(trusted) from oauth_applications`).Scan(&trusted); err != nil || trusted {
			t.Errorf("trusted %v, %v", trusted, err)
		}
		for _, other := range []*visitor{i.visitor(t, usertest.New(t, i.DB)), i.visitor(t, usertest.New(t, i.DB, usertest.Admin()))} {
			if got := other.get("/-/user_settings/applications" + strings.TrimPrefix(here, at)); got.StatusCode != 404 {
				t.Errorf("someone else's settings show it: %d", got.StatusCode)
			}
		}
		p = b.press(t, b.get(here), `Delete<span class="hidden"> Yours</span>`)
		if p.StatusCode != http.StatusSeeOther || b.get(here).StatusCode != 404 {
			t.Errorf("deleted: %d", p.StatusCode)
		}
	}
	ann := i.visitor(t, i.ann)
	for _, path := range []string{"/admin/applications", "/admin/applications/new", "/admin/applications/1"} {
		if got := ann.get(path); got.StatusCode != 404 {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	if strings.Contains(i.log.text(), "svcoas-") {
		t.Error("a secret is in the log")
	}
}

// OA-13, with the real sign-in: wrong passwords lock the account, also for the grant.
func TestOA13_ThePasswordGrantCountsTowardTheLock(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	made := i.do("POST", "/api/v4/users", map[string]any{
		"username": "pat", "name": "Pat", "email": "pat@example.com", "password": "a long passphrase", "skip_confirmation": true,
	}, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeAPI)) })
	if made.Code != http.StatusCreated {
		t.Fatalf("%d %s", made.Code, made.Body)
	}
	try := func(password string) *httptest.ResponseRecorder {
		return i.do("POST", "/oauth/token", map[string]any{"grant_type": "password", "username": "pat", "password": password}, nil)
	}
	if w := try("a long passphrase"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "refresh_token") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for range 12 {
		if w := try("wrong"); w.Code != http.StatusBadRequest {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if w := try("a long passphrase"); w.Code != http.StatusBadRequest {
		t.Errorf("after many tries: %d %s", w.Code, w.Body)
	}
	if text := i.log.text(); strings.Contains(text, "passphrase") {
		t.Error("the password is in the log")
	}
}

// The throttle on the API counts what programs ask the provider, too.
func TestTheProviderCountsAsAPITraffic(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	w := i.do("PUT", "/api/v4/application/settings", map[string]any{
		"throttle_unauthenticated_api_enabled": true, "throttle_unauthenticated_api_requests_per_period": 3, "throttle_unauthenticated_api_period_in_seconds": 60,
	}, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeAPI)) })
	if w.Code != 200 {
		t.Fatal(w.Body)
	}
	for n, path := range []string{"/oauth/token", "/api/v4/projects", "/oauth/token", "/oauth/token"} {
		method := http.MethodPost
		if strings.HasPrefix(path, "/api") {
			method = http.MethodGet
		}
		if w := i.do(method, path, nil, nil); (w.Code == http.StatusTooManyRequests) != (n == 3) {
			t.Errorf("call %d: %d %s", n+1, w.Code, w.Body)
		}
	}
}

// An application of someone who may not register any is refused by the form, too.
func TestPeopleRegisterApplicationsWhereTheSettingsAllowIt(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.visitor(t, i.ann)
	form := ann.get("/-/user_settings/applications/new")
	i.do("PUT", "/api/v4/application/settings", map[string]any{"user_oauth_applications": false},
		func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeAPI)) })
	p := ann.press(t, form, "Register", "name", "Mine", "redirect_uri", callback, "scopes", "api")
	if p.StatusCode < 400 || strings.Contains(ann.get("/-/user_settings/applications").text, "Register an application") {
		t.Errorf("%d %s", p.StatusCode, p.text)
	}
}

// An application may want a sign-in that is new: the person is asked for the
// password although they are signed in, and the ID token has the time.
func TestAnApplicationMayAskForANewSignIn(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	a, _ := i.application(t)
	ann := i.withPassword(t)
	for _, tt := range []struct {
		name, value, age string
		again            bool
	}{
		{"prompt", "login", "1 second", true}, {"prompt", "select_account", "1 second", true}, {"prompt", "login consent", "1 second", true},
		{"max_age", "60", "2 minutes", true}, {"max_age", "60", "30 seconds", false}, {"max_age", "0", "2 seconds", true}, {"prompt", "consent", "1 day", false},
	} {
		b := i.browser(t)
		b.signIn(ann.Username, goodPassword)
		before := b.cookies["_svc_session"].Value
		if _, err := i.DB.Exec(t.Context(), `update sessions set created_at = now() - $1::text::interval where user_id = $2`, tt.age, ann.ID); err != nil {
			t.Fatal(err)
		}
		s := b.get(authorize(a, tt.name, tt.value))
		if again := strings.HasPrefix(s.path, "/users/sign_in?"); again != tt.again {
			t.Fatalf("%s=%s after %s: %s", tt.name, tt.value, tt.age, s.path)
		}
		if !tt.again {
			continue
		}
		if wrong := b.submit(s, "/users/sign_in", map[string]string{"user[login]": ann.Username, "user[password]": "wrong password"}); wrong.Code != http.StatusUnauthorized {
			t.Errorf("a wrong password: %d", wrong.Code)
		}
		s = b.submit(s, "/users/sign_in", map[string]string{"user[login]": ann.Username, "user[password]": goodPassword})
		if !strings.HasPrefix(s.path, "/oauth/authorize?") || !s.says("Authorize") || b.cookies["_svc_session"].Value == before {
			t.Errorf("%s=%s leads to %s", tt.name, tt.value, s.path)
		}
		if got, _ := url.Parse(s.path); got.Query().Get("state") != "a&b=c" || strings.Contains(got.Query().Get("prompt"), "login") || got.Query().Get("max_age") != "" {
			t.Errorf("came back to %s", s.path)
		}
	}
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	if _, err := i.DB.Exec(t.Context(), `update sessions set created_at = now() - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	if w := b.send("GET", authorize(a, "prompt", "none", "max_age", "60"), nil); !strings.HasPrefix(w.Header().Get("Location"), callback+"?error=login_required") {
		t.Errorf("%d %s", w.Code, w.Header().Get("Location"))
	}
	for _, wrong := range []string{"soon", "-1", "1e9", "99999999999999999999"} {
		if w := b.send("GET", authorize(a, "max_age", wrong), nil); w.Code != http.StatusOK || w.Header().Get("Location") != "" || !strings.Contains(w.Body.String(), "not a number of seconds") {
			t.Errorf("max_age %s: %d", wrong, w.Code)
		}
	}
}
