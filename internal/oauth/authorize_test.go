package oauth_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/oauth"
	"stithy/internal/setting"
)

// variants of an address, each of which a lax comparison has let through
// somewhere.
func variants(registered string) (all []string) {
	u, _ := url.Parse(registered)
	add := func(texts ...string) { all = append(all, texts...) }
	for i := range len(registered) { // one character dropped, one changed
		add(registered[:i]+registered[i+1:], registered[:i]+"x"+registered[i+1:])
	}
	for _, tail := range []string{
		"/", "//", "?", "?x=1", "#", "#x", ".evil.example", "@evil.example", ":80", ":443", "/..", "/../", "/../cb", "/.", "/%2e%2e", ";x", "%00", "%20", " ", "\t", "\n",
		"\r\nX: y", "\\", "%2f", "%5c", ".", "\u200b", "&x=1", "?code=1", "/evil", "%23", "x",
	} {
		add(registered + tail)
	}
	rest := u.Path
	add(
		"http://"+u.Host+rest, "HTTPS://"+u.Host+rest, "https://"+strings.ToUpper(u.Host)+rest, "https://evil.example"+rest, "https://"+u.Host+".evil.example"+rest,
		"https://evil."+u.Host+rest, "https://x@"+u.Host+rest, "https://"+u.Host+"@evil.example"+rest, "https://"+u.Host+":443"+rest, "https://"+u.Host+"%00.evil.example"+rest,
		"https://evil.example\\@"+u.Host+rest, "https://evil.example/"+registered, "https://evil.example?"+registered, "https://evil.example#"+registered,
		"//"+u.Host+rest, "https:/"+u.Host+rest, "https:"+u.Host+rest, "javascript:"+registered, "data:text/html,"+registered, "https://"+u.Host+"/x/.."+rest,
		"https://"+u.Host+strings.ToUpper(rest), "https://"+u.Host+"/%63b", "https://"+u.Host+"//cb", "https://"+u.Host+"/./cb", " "+registered, "\n"+registered,
		registered+"\n"+registered, registered+" "+registered, "", "*", "https://*.example/cb", "https://[::1]/cb", "https://127.0.0.1/cb", "https://app.ex\u00e4mple/cb",
	)
	return slices.DeleteFunc(all, func(to string) bool { return to == registered })
}

// OA-01: answers go to a registered address, to the byte; nothing is
// redirected to any other.
func TestOA01_OnlyARegisteredAddressIsRedirectedTo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t, func(d *oauth.Draft) {
		d.RedirectURI = callback + "\nhttps://app.example/other?tenant=1 http://127.0.0.1:8000/cb http://[::1]/cb com.example.app:/cb http://localhost:3000/cb"
	})
	tried := 0
	for _, to := range variants(callback) {
		tried++
		ask := a.ask("api")
		ask.RedirectURI = to
		_, answerable, err := w.service.Check(t.Context(), w.ada, ask)
		if r, refused := oauth.Refused(err); answerable || !refused || r.Code != oauth.InvalidRedirectURI {
			t.Errorf("%q: answerable %v, %v", to, answerable, err)
		}
	}
	if tried < 80 {
		t.Errorf("only %d variants", tried)
	}
	for to, want := range map[string]bool{
		callback:                                true,
		"https://app.example/other?tenant=1":    true,
		"https://app.example/other?tenant=2":    false,
		"https://app.example/other":             false,
		"https://app.example/other?tenant=1&a=": false,
		"com.example.app:/cb":                   true,
		"com.example.app:/cb/":                  false,
		"http://127.0.0.1:8000/cb":              true,
		"http://127.0.0.1:51234/cb":             true, // programs take what port is free
		"http://127.0.0.1/cb":                   true,
		"http://[::1]:1/cb":                     true,
		"http://127.0.0.1:51234/cb2":            false,
		"http://127.0.0.1:51234":                false,
		"http://127.0.0.1:/cb":                  false,
		"http://127.0.0.1:0/cb":                 false,
		"http://127.0.0.1:8x/cb":                false,
		"http://127.0.0.1:8000@evil.example/cb": false,
		"http://127.0.0.1.evil.example/cb":      false,
		"https://127.0.0.1:8000/cb":             false,
		"http://127.0.0.2:8000/cb":              false,
		"http://localhost:3000/cb":              true,
		"http://localhost:3001/cb":              false, // a name may lead elsewhere
	} {
		if got := a.Redirects(to); got != want {
			t.Errorf("%s: %v", to, got)
		}
	}
}

func TestOA01_TheAddressOfTheCodeIsTheAddressOfTheToken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	code := w.code(t, a.ask("api"))
	client := []string{"grant_type", "authorization_code", "client_id", a.UID, "client_secret", a.secret, "code", code, "redirect_uri"}
	for _, to := range variants(callback) {
		if to == "" {
			continue
		}
		if r := w.post(t, "/oauth/token", append(client, to)...); r.Code != 400 {
			t.Errorf("%q: %d %s", to, r.Code, r.text)
		}
	}
	w.exchange(t, a, code).issued(t)
}

// OA-06: nothing is told an application before it and its address are known;
// the state comes back as it was, with the name of who answers.
func TestOA06_ErrorsAreRedirectedOnlyToAKnownAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.app(t)
	for _, tt := range []struct {
		change     func(*oauth.Ask)
		answerable bool
		code       oauth.Code
		text       string
	}{
		{func(k *oauth.Ask) { k.ClientID = "" }, false, oauth.InvalidRequest, "Missing required parameter: client_id."},
		{func(k *oauth.Ask) { k.ClientID = "x" }, false, oauth.InvalidClient, ""},
		{func(k *oauth.Ask) { k.ClientID = strings.Repeat("0", 64) }, false, oauth.InvalidClient, ""},
		{func(k *oauth.Ask) { k.RedirectURI = "" }, false, oauth.InvalidRedirectURI, "The redirect URI included is not valid."},
		{func(k *oauth.Ask) { k.RedirectURI, k.ResponseType = "https://evil.example/", "token" }, false, oauth.InvalidRedirectURI, ""},
		{func(k *oauth.Ask) { k.ResponseType = "" }, true, oauth.InvalidRequest, "Missing required parameter: response_type."},
		{func(k *oauth.Ask) { k.ResponseType = "token" }, true, oauth.UnsupportedResponseType, ""},
		{func(k *oauth.Ask) { k.ResponseMode = "web_message" }, true, oauth.UnsupportedResponseMode, ""},
		{func(k *oauth.Ask) { k.Scope = "" }, true, oauth.InvalidRequest, "Missing required parameter: scope."},
		{func(k *oauth.Ask) { k.Scope = "sudo" }, true, oauth.InvalidScope, ""},
		{func(k *oauth.Ask) { k.Scope = "api nothing" }, true, oauth.InvalidScope, ""},
		{func(k *oauth.Ask) { k.Nonce = strings.Repeat("n", 256) }, true, oauth.InvalidRequest, ""},
	} {
		ask := a.ask("api")
		tt.change(&ask)
		_, answerable, err := w.service.Check(t.Context(), w.ada, ask)
		r, refused := oauth.Refused(err)
		if !refused || answerable != tt.answerable || r.Code != tt.code || tt.text != "" && r.Text != tt.text {
			t.Errorf("%+v: %v %v", ask, answerable, err)
		}
	}

	const state = `a b&c=d#é"<>%2F+;` + "\u202e"
	ask := a.ask("api")
	ask.State = state
	req, _, err := w.service.Check(t.Context(), w.ada, ask)
	if err != nil {
		t.Fatal(err)
	}
	to, err := w.service.Approve(t.Context(), access.Actor{Person: w.ada.Person()}, w.ada, req)
	if err != nil || !strings.HasPrefix(to, callback+"?code=") {
		t.Fatal(to, err)
	}
	u, _ := url.Parse(to)
	if q := u.Query(); q.Get("state") != state || q.Get("iss") != home || len(q.Get("code")) != 64 || len(q) != 3 {
		t.Errorf("%v", q)
	}
	u, _ = url.Parse(w.service.Answer(req, oauth.Denied()))
	want := url.Values{"error": {"access_denied"}, "error_description": {"The resource owner or authorization server denied the request."}, "state": {state}, "iss": {home}}
	if diff := cmp.Diff(want, u.Query()); diff != "" {
		t.Error(diff)
	}
	req.Ask.ResponseMode = "fragment"
	if to := w.service.Answer(req, oauth.Denied()); !strings.HasPrefix(to, callback+"#error=access_denied&") {
		t.Error(to)
	}
	req.Ask.ResponseMode, req.Ask.RedirectURI = "", callback+"?tenant=1"
	if to := w.service.Answer(req, oauth.Denied()); !strings.HasPrefix(to, callback+"?tenant=1&error=access_denied&") {
		t.Error(to)
	}
}

// OA-04: who agreed is not asked again for the very same; everything else, and
// a client that cannot prove who it is, asks again.
func TestOA04_ConsentIsRememberedForTheSameOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	two := func(d *oauth.Draft) { d.RedirectURI = callback + " https://app.example/two" }
	a, open, trusted := w.app(t, two), w.app(t, two, public), w.app(t, public, func(d *oauth.Draft) { d.Trusted = true })
	agreed := func(ask oauth.Ask) bool {
		t.Helper()
		req, _, err := w.service.Check(t.Context(), w.ada, ask)
		if err != nil {
			t.Fatal(err)
		}
		ok, err := w.service.Agreed(t.Context(), w.ada, req)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if agreed(a.ask("api")) || !agreed(trusted.askPKCE("api")) {
		t.Error("before anything was granted")
	}
	w.granted(t, a, "api read_user")
	w.granted(t, open, "api read_user")
	elsewhere := a.ask("api read_user")
	elsewhere.RedirectURI = "https://app.example/two"
	for name, tt := range map[string]struct {
		ask  oauth.Ask
		want bool
	}{
		"the same":             {a.ask("api read_user"), true},
		"the same, reordered":  {a.ask("read_user api"), true},
		"more":                 {a.ask("api read_user openid"), false},
		"less":                 {a.ask("read_user"), false},
		"another address":      {elsewhere, false},
		"a client in the open": {open.askPKCE("api read_user"), false},
	} {
		if got := agreed(tt.ask); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	w.turn(100 * oauth.TokenLife)
	if !agreed(a.ask("api read_user")) {
		t.Error("an expired token is forgotten")
	}
	if err := w.service.Withdraw(t.Context(), access.Actor{Person: w.ada.Person()}, w.ada, a.ID); err != nil {
		t.Fatal(err)
	}
	if agreed(a.ask("api read_user")) {
		t.Error("a revoked consent is remembered")
	}
}

func TestAdministratorsCanBeKeptFromPowerfulApplications(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	api, small, trusted := w.app(t), w.app(t, scoped("openid")), w.app(t, func(d *oauth.Draft) { d.Trusted = true })
	if w.service.KeptFrom(w.root, api.Application) {
		t.Error("kept from it without the setting")
	}
	if err := w.settings.Update(t.Context(), access.Actor{}, func(s *setting.Settings) { s.DisableAdminOAuthScopes = true }); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		of    app
		admin bool
		want  bool
	}{{api, true, true}, {api, false, false}, {small, true, false}, {trusted, true, false}} {
		u := w.ada
		if tt.admin {
			u = w.root
		}
		if got := w.service.KeptFrom(u, tt.of.Application); got != tt.want {
			t.Errorf("%s, %s: %v", u.Username, tt.of.Name, got)
		}
	}
}

func TestAnApplicationIsRevokedByThePersonItActsFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, other := w.app(t), w.app(t)
	first, second, elsewhere := w.granted(t, a, "api"), w.granted(t, a, "read_user openid"), w.granted(t, other, "api")
	pending := w.code(t, a.ask("api"))
	by := access.Actor{Person: w.ada.Person()}
	list, err := w.service.Authorized(t.Context(), w.ada.ID)
	if err != nil || len(list) != 2 || list[0].UID != a.UID || spaced(list[0].Scopes) != "api openid read_user" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := w.service.Withdraw(t.Context(), by, w.ada, a.ID); err != nil {
		t.Fatal(err)
	}
	if w.works(t, first.AccessToken) || w.works(t, second.AccessToken) || !w.works(t, elsewhere.AccessToken) {
		t.Error("revoking one application ends its tokens, all of them and no others")
	}
	w.exchange(t, a, pending).refused(t, 400, oauth.InvalidGrant)
	w.refresh(t, a, first.RefreshToken).refused(t, 400, oauth.InvalidGrant)
	if list, err := w.service.Authorized(t.Context(), w.ada.ID); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := w.service.Withdraw(t.Context(), by, w.ada, a.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("a second time: %v", err)
	}
	if len(w.taken(oauth.Withdrawn)) != 1 || len(w.taken(oauth.Authorized)) != 4 {
		t.Errorf("the trail: %+v", w.records)
	}
}
