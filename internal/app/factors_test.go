package app

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"stithy/internal/kit/access"
	"stithy/internal/setting"
	"stithy/internal/user/usertest"
)

const factors = "/-/user_settings/two_factor"

var (
	shownSecret = regexp.MustCompile(`id="secret">([A-Z2-7]+)<`)
	shownCode   = regexp.MustCompile(`<li><code>([a-z2-7-]+)</code></li>`)
)

// codeOf is what an app shows some steps from now.
func codeOf(t testing.TB, secret string, steps int64) string {
	t.Helper()
	code, err := hotp.GenerateCodeCustom(secret, uint64(time.Now().Unix()/30+steps), hotp.ValidateOpts{Digits: otp.DigitsSix})
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// enroll turns the second factor on, through the pages.
func (b *browser) enroll(password string) (secret string, recovery []string) {
	b.t.Helper()
	s := b.submit(b.get(factors), factors+"/begin", map[string]string{"current_password": password})
	found := shownSecret.FindStringSubmatch(s.Body.String())
	if found == nil {
		b.t.Fatalf("no secret: %s", s.Body)
	}
	s = b.submit(s, factors+"/confirm", map[string]string{"code": codeOf(b.t, found[1], -1)})
	if !s.says("Two-factor authentication is on.") {
		b.t.Fatalf("%s", s.Body)
	}
	for _, m := range shownCode.FindAllStringSubmatch(s.Body.String(), -1) {
		recovery = append(recovery, m[1])
	}
	return found[1], recovery
}

func TestTheSecondFactorFromSetUpToItsEnd(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b, elsewhere := i.browser(t), i.browser(t)
	elsewhere.signIn(ann.Username, goodPassword)
	b.signIn(ann.Username, goodPassword)
	if s := b.submit(b.get(factors), factors+"/begin", map[string]string{"current_password": "wrong password"}); s.Code != http.StatusUnprocessableEntity || !s.says("Is wrong") {
		t.Errorf("begun without the password: %d", s.Code)
	}
	if n := strings.Count(b.get(factors).Body.String(), `class="primary"`); n != 1 {
		t.Errorf("%d primary buttons", n)
	}
	before := b.cookies["_svc_session"].Value
	secret, recovery := b.enroll(goodPassword)
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes", len(recovery))
	}
	if b.cookies["_svc_session"].Value == before {
		t.Error("the session kept its name")
	}
	if s := elsewhere.get("/"); s.path != "/users/sign_in" {
		t.Error("a session without the factor lives on")
	}
	if s := b.get(factors); strings.Contains(s.Body.String(), recovery[0]) || strings.Contains(s.Body.String(), secret) {
		t.Error("a secret is shown twice")
	}
	if u, err := i.Users.Find(t.Context(), ann.ID); err != nil || !u.TwoFactorEnabled {
		t.Errorf("the API would not say so: %v", err)
	}
	other := i.browser(t)
	s := other.signIn(ann.Username, goodPassword)
	if s.path != "/users/sign_in/second_factor" || other.cookies["_svc_session"] != nil {
		t.Fatalf("%s %v", s.path, other.cookies)
	}
	if s := other.submit(s, s.path, map[string]string{"code": "000000"}); s.Code != http.StatusUnauthorized || s.says("000000") {
		t.Errorf("a wrong code: %d %s", s.Code, s.Body)
	}
	if s := other.submit(s, s.path, map[string]string{"code": codeOf(t, secret, 0)}); s.path != "/" {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if other.cookies["_svc_second_factor"] != nil {
		t.Error("the cookie of half a sign-in outlives it")
	}
	third := i.browser(t)
	s = third.signIn(ann.Username, goodPassword)
	if s := third.submit(s, s.path, map[string]string{"code": strings.ToUpper(recovery[3])}); s.path != "/" {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	third = i.browser(t)
	s = third.signIn(ann.Username, goodPassword)
	if s := third.submit(s, s.path, map[string]string{"code": recovery[3]}); s.path == "/" {
		t.Error("a recovery code works twice")
	}
	if s := b.submit(b.get(factors), factors+"/disable", map[string]string{"current_password": goodPassword}); !s.says("is off") {
		t.Fatalf("%s", s.Body)
	}
	if s := i.browser(t).signIn(ann.Username, goodPassword); s.path != "/" {
		t.Errorf("a factor is still asked for: %s", s.path)
	}
}

// AU-06: no door opens to the password alone, and a code is of one account.
func TestAU06_APasswordAloneOpensNoDoorOfATwoFactorAccount(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, bob := i.withPassword(t), i.withPassword(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	b.enroll(goodPassword)
	b2 := i.browser(t)
	b2.signIn(bob.Username, goodPassword)
	bobs, recovery := b2.enroll(goodPassword)

	half := i.browser(t)
	s := half.signIn(ann.Username, goodPassword)
	for _, path := range []string{"/", "/-/user_settings/profile", factors, "/-/user_settings/password/new"} {
		if s := half.get(path); s.path != "/users/sign_in" && !strings.HasPrefix(s.path, "/users/sign_in?") {
			t.Errorf("%s opens to half a sign-in: %s", path, s.path)
		}
	}
	waiting := half.cookies["_svc_second_factor"].Value
	for name, present := range map[string]func(*http.Request){
		"cookie":    func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "_svc_session", Value: waiting}) },
		"token":     func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", waiting) },
		"bearer":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+waiting) },
		"basic":     func(r *http.Request) { r.SetBasicAuth(ann.Username, goodPassword) },
		"passwords": func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", goodPassword) },
	} {
		if w := i.do("GET", "/api/v4/user", nil, present); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	for name, code := range map[string]string{"another's code": codeOf(t, bobs, 0), "another's recovery code": recovery[0], "nothing": "", "text": "abcdef"} {
		if s := half.submit(s, "/users/sign_in/second_factor", map[string]string{"code": code}); s.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, s.Code)
		}
	}
	if half.cookies["_svc_session"] != nil {
		t.Error("there is a session")
	}
	// The administrator who takes the factor off ends what it had begun.
	root := i.token(t, i.root, access.ScopeAPI)
	if w := i.do("PATCH", fmt.Sprintf("/api/v4/users/%d/disable_two_factor", ann.ID), nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", root) }); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if s := half.get("/users/sign_in/second_factor"); s.path != "/users/sign_in" {
		t.Errorf("half a sign-in outlived the factor: %s", s.path)
	}
	if s := b.get("/"); s.path != "/users/sign_in" {
		t.Error("a session outlived the factor")
	}
	if s := i.browser(t).signIn(ann.Username, goodPassword); s.path != "/" {
		t.Errorf("the factor is still asked for: %s", s.path)
	}
}

// AU-07: one code, one sign-in.
func TestAU07_OfFiftyWhoShowOneCodeOneGetsIn(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	secret, recovery := b.enroll(goodPassword)
	if err := i.raiseTries(t); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{"app": codeOf(t, secret, 0), "paper": recovery[0]} {
		var browsers []*browser
		u, err := i.Users.Find(t.Context(), ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			e, err := i.SignIns.Begin(t.Context(), u, netip.MustParseAddr("192.0.2.7"), "test")
			if err != nil {
				t.Fatal(err)
			}
			b := i.browser(t)
			b.cookies["_svc_second_factor"] = &http.Cookie{Name: "_svc_second_factor", Value: e.Half.Reveal()}
			browsers = append(browsers, b)
		}
		var in atomic.Int32
		var wg sync.WaitGroup
		for _, b := range browsers {
			wg.Go(func() {
				if w := b.send("POST", "/users/sign_in/second_factor", url.Values{"code": {code}}); w.Code == http.StatusSeeOther && b.cookies["_svc_session"] != nil {
					in.Add(1)
				}
			})
		}
		wg.Wait()
		if in.Load() != 1 {
			t.Errorf("%s: %d got in", name, in.Load())
		}
	}
}

// Where the settings ask for a second factor, a session opens nothing before
// it is set up; tokens are no concern of it.
func TestARequiredFactorIsSetUpBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, late := i.withPassword(t), i.withPassword(t, usertest.With("created_at", time.Now()))
	b, fresh := i.browser(t), i.browser(t)
	b.signIn(ann.Username, goodPassword)
	fresh.signIn(late.Username, goodPassword)
	profile := b.get("/-/user_settings/profile")
	if err := i.Settings.Update(t.Context(), access.Actor{Person: i.root.Person()}, func(now *setting.Settings) {
		now.RequireTwoFactorAuthentication, now.TwoFactorGracePeriod = true, 48
	}); err != nil {
		t.Fatal(err)
	}
	if s := fresh.get("/"); s.path != "/" || fresh.send("GET", "/api/v4/user", nil).Code != http.StatusOK {
		t.Errorf("within the grace: %s", s.path)
	}
	for _, path := range []string{
		"/", "/-/user_settings/profile", "/admin/users", "/oauth/authorize?client_id=1", "/-/project/1/uploads/0123456789abcdef0123456789abcdef/plan.txt",
		"/uploads/-/system/project/avatar/1/a.png", "/uploads/-/system/group/avatar/1/a.png",
	} {
		if s := b.get(path); s.path != factors || !s.says("This instance asks for a second factor") {
			t.Errorf("%s leads to %s", path, s.path)
		}
	}
	if s := b.submit(profile, "/-/user_settings/profile", map[string]string{"name": "Somebody Else"}); s.path != factors {
		t.Errorf("a form of before leads to %s", s.path)
	}
	if u, err := i.Users.Find(t.Context(), ann.ID); err != nil || u.Name != ann.Name {
		t.Errorf("%v: a form of before was taken: %q", err, u.Name)
	}
	if w := b.send("GET", "/api/v4/user", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("the API takes the session: %d", w.Code)
	}
	secret := i.token(t, ann, access.ScopeAPI)
	if w := i.do("GET", "/api/v4/user", nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", secret) }); w.Code != http.StatusOK {
		t.Errorf("the API refuses a token: %d", w.Code)
	}
	b.enroll(goodPassword)
	if s := b.get("/"); s.path != "/" || b.send("GET", "/api/v4/user", nil).Code != http.StatusOK {
		t.Errorf("set up, and yet: %s", s.path)
	}
}

// Guessing codes ends soon.
func TestCodesAreGuessedATenTimesAtMost(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	secret, _ := b.enroll(goodPassword)
	half := i.browser(t)
	s := half.signIn(ann.Username, goodPassword)
	for n := range 10 {
		if s := half.submit(s, s.path, map[string]string{"code": fmt.Sprintf("%06d", n)}); s.Code != http.StatusUnauthorized {
			t.Fatalf("%d: %d", n, s.Code)
		}
	}
	if s := half.submit(s, s.path, map[string]string{"code": codeOf(t, secret, 0)}); s.path == "/" || !s.says("Too many tries") {
		t.Errorf("the right code after ten wrong ones: %d", s.Code)
	}
}

// raiseTries lets many be wrong.
func (i *instance) raiseTries(t testing.TB) error {
	return i.Settings.Update(t.Context(), access.Actor{Person: i.root.Person()}, func(now *setting.Settings) { now.MaxLoginAttempts = new(1000) })
}
