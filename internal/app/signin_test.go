package app

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestThePageWherePeopleSignIn(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b := i.browser(t)
	if s := b.get("/"); s.path != "/users/sign_in" {
		t.Fatalf("a stranger is shown %s", s.path)
	}
	s := b.get("/users/sign_in")
	f := s.form("/users/sign_in")
	if f == nil || f.types["text"] != 1 || f.types["password"] != 1 || f.method != "post" {
		t.Fatalf("the form is %+v", f)
	}
	s = b.signIn(ann.Username, goodPassword)
	if s.Code != http.StatusOK || s.path != "/" || !s.says(ann.Username) {
		t.Fatalf("%d %s", s.Code, s.path)
	}
	for _, f := range s.forms {
		if f.types["password"] == 1 {
			t.Error("the page after signing in asks for a password")
		}
	}
	if s := b.get("/users/sign_in"); s.path != "/" {
		t.Errorf("who is signed in is asked to sign in: %s", s.path)
	}
	u, err := i.Users.Find(t.Context(), ann.ID)
	if err != nil || u.SignInCount != 1 || u.CurrentSignInIP == nil || *u.CurrentSignInIP != "192.0.2.7" || u.CurrentSignInAt == nil {
		t.Errorf("the sign-in was not taken note of: %+v %v", u, err)
	}
	if s := b.submit(s, "/users/sign_out", nil); s.path != "/users/sign_in" || !s.says("You are signed out.") {
		t.Errorf("after signing out: %s", s.path)
	}
	if s := b.get("/"); s.path != "/users/sign_in" {
		t.Errorf("signed out, and yet shown %s", s.path)
	}
}

// The API takes the session that the page began, as the spec says.
func TestTheSessionOfAPageOpensTheAPI(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b := i.browser(t)
	s := b.signIn(ann.Email, goodPassword)
	if w := b.send("GET", "/api/v4/user", nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), ann.Username) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	put := func(csrf string) int {
		b.change = func(r *http.Request) {
			r.Header.Set("X-CSRF-Token", csrf)
			r.Header.Set("Content-Type", "application/json")
		}
		defer func() { b.change = nil }()
		return b.send("PUT", "/api/v4/user/status?message=here", nil).Code
	}
	if code := put(""); code != http.StatusUnauthorized {
		t.Errorf("a change without the CSRF value: %d", code)
	}
	if code := put(s.form("/users/sign_out").values.Get("authenticity_token")); code != http.StatusOK {
		t.Errorf("a change with the CSRF value of a page: %d", code)
	}
}

// WB-06, AU-08: the flags of the session's cookie.
func TestAU08_TheSessionCookieIsKeptFromScriptsAndOtherSites(t *testing.T) {
	t.Parallel()
	for external, secure := range map[string]bool{"https://forge.example": true, "http://forge.example": false} {
		i := newInstance(t, "STITHY_EXTERNAL_URL="+external)
		ann := i.withPassword(t)
		b := i.browser(t)
		b.change = func(r *http.Request) { r.Header.Del("Origin") }
		b.signIn(ann.Username, goodPassword)
		c := b.cookies["_svc_session"]
		if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != secure || c.Path != "/" || c.Domain != "" || c.MaxAge != 0 {
			t.Errorf("%s: %+v", external, c)
		}
	}
}

// AU-08: a session that was planted before signing in is worth nothing after.
func TestAU08_ASessionHasANewNameAtSignIn(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, mallory := i.withPassword(t), i.withPassword(t)
	thief := i.browser(t)
	thief.signIn(mallory.Username, goodPassword)
	planted := thief.cookies["_svc_session"]

	b := i.browser(t)
	b.cookies["_svc_session"] = planted
	b.cookies["_svc_second_factor"] = &http.Cookie{Name: "_svc_second_factor", Value: strings.Repeat("x", 43)}
	// The planted session's own form is the only one this page has.
	s := b.submit(b.get("/"), "/users/sign_out", nil)
	b.cookies["_svc_session"] = &http.Cookie{Name: "_svc_session", Value: strings.Repeat("A", 43)}
	s = b.submit(s, "/users/sign_in", map[string]string{"user[login]": ann.Username, "user[password]": goodPassword})
	if s.path != "/" {
		t.Fatalf("not signed in: %s %s", s.path, s.Body)
	}
	got := b.cookies["_svc_session"].Value
	if got == planted.Value || got == strings.Repeat("A", 43) {
		t.Error("the planted name became a session")
	}
	if s := thief.get("/"); s.path != "/users/sign_in" {
		t.Error("the planted session lives on")
	}
}

// typed is what the form gives back of what was typed.
var typed = regexp.MustCompile(` value="[^"]*"`)

// AU-13: unknown names and wrong passwords are told apart by nothing.
func TestAU13_AnUnknownNameAndAWrongPasswordAreAnsweredAlike(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, blocked := i.withPassword(t), i.withPassword(t, usertest.In(user.Blocked))
	bare := usertest.New(t, i.DB)
	answers := map[string]bool{}
	for _, login := range []string{ann.Username, ann.Email, blocked.Username, bare.Username, "nobody", "nobody@example.com", "", "a@b@c", strings.Repeat("x", 300), "'; --"} {
		b := i.browser(t)
		s := b.signIn(login, "wrong password")
		if s.Code != http.StatusUnauthorized || b.cookies["_svc_session"] != nil {
			t.Errorf("%q: %d %v", login, s.Code, b.cookies)
		}
		answers[typed.ReplaceAllString(s.Body.String(), "")] = true
	}
	if len(answers) != 1 {
		t.Errorf("%d different answers", len(answers))
	}
}

// AU-13: nor by the time it takes. Nearly all of that is the hash of the password, so it is counted how much was
// hashed: the clock on the wall tells more about the machine.
func TestAU13_AnUnknownNameTakesAsMuchWorkAsAWrongPassword(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, blocked := i.withPassword(t), i.withPassword(t, usertest.In(user.Blocked))
	bare := usertest.New(t, i.DB)
	tries := map[string]func(login string) int{
		"the page": func(login string) int {
			return i.browser(t).send("POST", "/users/sign_in", map[string][]string{"user[login]": {login}, "user[password]": {"wrong password"}}).Code
		},
		"git": func(login string) int {
			return i.do("GET", "/house/tool.git/info/refs?service=git-upload-pack", nil, func(r *http.Request) { r.SetBasicAuth(login, "wrong password") }).Code
		},
	}
	for name, try := range tries {
		for n, login := range []string{ann.Username, ann.Email, blocked.Username, bare.Username, "nobody", "nobody@example.com", "'; --"} {
			before := i.hasher.Work()
			if code := try(login); code != http.StatusUnauthorized {
				t.Fatalf("%s, %s: %d", name, login, code)
			}
			if work := i.hasher.Work() - before; work != 2*19*1024 {
				t.Errorf("%s, %q (%d): %d KiB were hashed", name, login, n, work)
			}
		}
	}
}

func TestWhoIsKeptOutIsToldWhyOnceThePasswordIsRight(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	for text, options := range map[string][]usertest.Option{
		"has been blocked":                   {usertest.In(user.Blocked)},
		"Your account has been blocked":      {usertest.In(user.Banned)},
		"waits for an administrator":         {usertest.In(user.Pending)},
		"Confirm your email address first":   {usertest.Unconfirmed()},
		"Wrong username or password":         {usertest.With("kind", string(user.ServiceAccount))},
		"Your account has been blocked. Ask": {usertest.In(user.LDAPBlocked)},
	} {
		u := i.withPassword(t, options...)
		b := i.browser(t)
		if s := b.signIn(u.Username, goodPassword); !s.says(text) || b.cookies["_svc_session"] != nil {
			t.Errorf("%s: %d %v", text, s.Code, b.cookies)
		}
	}
	dormant := i.withPassword(t, usertest.In(user.Deactivated))
	if s := i.browser(t).signIn(dormant.Username, goodPassword); s.path != "/" {
		t.Errorf("who comes back after a long time is kept out: %s", s.Body)
	}
	if u, err := i.Users.Find(t.Context(), dormant.ID); err != nil || u.State != user.Active {
		t.Errorf("%v %v", u.State, err)
	}
}

// Who is kept out while a session lives sees what is for anyone, as nobody, and no page for readers.
func TestWhoIsKeptOutHasNoUseOfASession(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	_, p := i.place(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	if s := b.get("/" + p.FullPath()); s.Code != http.StatusOK {
		t.Fatalf("%d %s", s.Code, s.path)
	}
	if _, err := i.DB.Exec(t.Context(), `update users set state = 'blocked' where id = $1`, ann.ID); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/" + p.FullPath(), "/-/user_settings/profile"} {
		if s := b.get(path); s.Code == http.StatusOK && s.path == path {
			t.Errorf("%s is open", path)
		}
	}
}

// A password that an administrator chose is changed before anything else.
func TestAPasswordThatSomeoneElseChoseIsReplacedFirst(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, root := i.withPassword(t), i.token(t, i.root, access.ScopeAPI)
	if w := i.do("PUT", fmt.Sprintf("/api/v4/users/%d", ann.ID), map[string]any{"password": "chosen by root 1"}, func(r *http.Request) {
		r.Header.Set("PRIVATE-TOKEN", root)
	}); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	b := i.browser(t)
	s := b.signIn(ann.Username, "chosen by root 1")
	f := s.form("/-/user_settings/password/new")
	if f == nil || f.types["password"] < 2 {
		t.Fatalf("%s %s", s.path, s.Body)
	}
	_, p := i.place(t)
	for _, path := range []string{"/", "/" + p.FullPath(), "/admin/users"} { // for who is signed in, for readers, for administrators
		if at := b.get(path); at.path != s.path {
			t.Errorf("%s is open: %s", path, at.path)
		}
	}
	if w := b.send("GET", "/api/v4/user", nil); w.Code != http.StatusForbidden {
		t.Errorf("the API is open: %d", w.Code)
	}
	change := func(current, next, again string) *screen {
		return b.submit(s, "/-/user_settings/password/new", map[string]string{
			"current_password": current, "password": next, "password_confirmation": again,
		})
	}
	for text, got := range map[string]*screen{
		"Is wrong":                   change("not it at all", goodPassword, goodPassword),
		"Doesn't match":              change("chosen by root 1", goodPassword, "another one 22"),
		"Must differ":                change("chosen by root 1", "chosen by root 1", "chosen by root 1"),
		"Is too short (minimum is 8": change("chosen by root 1", "short", "short"),
	} {
		if got.Code != http.StatusUnprocessableEntity || !got.says(text) {
			t.Errorf("%s: %d %s", text, got.Code, got.Body)
		}
	}
	before := b.cookies["_svc_session"].Value
	if s := change("chosen by root 1", goodPassword, goodPassword); s.path != "/" || !s.says("Your password is changed.") {
		t.Fatalf("%s %s", s.path, s.Body)
	}
	if b.cookies["_svc_session"].Value == before {
		t.Error("the session kept its name")
	}
}

// The limit holds over nodes and against tries at the same moment.
func TestMN06_TriesAreCountedOverAllNodesWithoutASharedCounter(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	other, err := Assemble(i.Parts)
	if err != nil {
		t.Fatal(err)
	}
	second := &instance{App: other, handler: other.Handler(), log: i.log}
	ann := i.withPassword(t)
	for _, login := range []string{ann.Username, "nobody"} {
		var mu sync.Mutex
		codes := map[int]int{}
		var wg sync.WaitGroup
		for n := range 24 {
			at := []*instance{i, second}[n%2]
			wg.Go(func() {
				b := at.browser(t)
				w := b.send("POST", "/users/sign_in", map[string][]string{"user[login]": {login}, "user[password]": {"wrong password"}})
				mu.Lock()
				defer mu.Unlock()
				codes[w.Code]++
			})
		}
		wg.Wait()
		if codes[http.StatusUnauthorized] != 10 || codes[http.StatusTooManyRequests] != 14 {
			t.Errorf("%s: %v", login, codes)
		}
	}
	if s := i.browser(t).signIn(ann.Email, goodPassword); s.Code != http.StatusTooManyRequests {
		t.Errorf("the eleventh try was taken: %d", s.Code)
	}
	if u, err := i.Users.Find(t.Context(), ann.ID); err != nil || u.LockedAt == nil {
		t.Errorf("the account does not look locked: %v", err)
	}
}

// WB-05, WB-06: a form of another site changes nothing, and no page is framed.
func TestWB05_AFormOfAnotherSiteIsRefused(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b := i.browser(t)
	s := b.signIn(ann.Username, goodPassword)
	csrf := s.form("/users/sign_out").values
	for name, change := range map[string]func(*http.Request){
		"foreign origin":   func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"no origin at all": func(r *http.Request) { r.Header.Set("Origin", "null") },
		"fetch metadata": func(r *http.Request) {
			r.Header.Del("Origin")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		},
		"a neighbour's host": func(r *http.Request) {
			r.Header.Set("Origin", "https://pages.forge.example")
			r.Header.Set("Sec-Fetch-Site", "same-site")
		},
		"another port": func(r *http.Request) { r.Header.Set("Origin", "https://forge.example:8443") },
	} {
		b.change = change
		if w := b.send("POST", "/users/sign_out", csrf); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", name, w.Code)
		}
		if w := i.browserWith(t, change).send("POST", "/users/sign_in", map[string][]string{"user[login]": {ann.Username}, "user[password]": {goodPassword}}); w.Code != http.StatusForbidden {
			t.Errorf("%s, signing in: %d", name, w.Code)
		}
	}
	b.change = nil
	for name, form := range map[string]map[string][]string{
		"no value": {}, "a wrong value": {"authenticity_token": {"x"}}, "two values": {"authenticity_token": {csrf.Get("authenticity_token"), "x"}},
	} {
		if w := b.send("POST", "/users/sign_out", form); w.Code != http.StatusForbidden && w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	if w := b.send("GET", "/users/sign_out", nil); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a link signs out: %d", w.Code)
	}
	if s := b.get("/"); s.path != "/" {
		t.Error("one of them signed the person out")
	}
}

func (i *instance) browserWith(t testing.TB, change func(*http.Request)) *browser {
	b := i.browser(t)
	b.change = change
	return b
}

// WB-07: through the page.
func TestWB07_SigningInLeadsBackToThisInstanceOnly(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	for to, want := range map[string]string{
		"/-/user_settings/profile": "/-/user_settings/profile", "https://evil.example/": "/", "//evil.example": "/", `/\evil.example`: "/", "/users/sign_out": "/",
	} {
		b := i.browser(t)
		s := b.get("/users/sign_in?return_to=" + strings.NewReplacer(":", "%3A", "/", "%2F", `\`, "%5C").Replace(to))
		f := s.form("/users/sign_in").values
		f.Set("user[login]", ann.Username)
		f.Set("user[password]", goodPassword)
		if want == "/" {
			f.Set("return_to", to) // as if the page had not looked
		}
		if w := b.send("POST", "/users/sign_in", f); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%s leads to %d %q", to, w.Code, w.Header().Get("Location"))
		}
	}
	b := i.browser(t)
	if s := b.get("/-/user_settings/profile?a=b"); s.form("/users/sign_in").values.Get("return_to") != "/-/user_settings/profile?a=b" {
		t.Errorf("the way back is forgotten: %+v", s.form("/users/sign_in"))
	}
}
