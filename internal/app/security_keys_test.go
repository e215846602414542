package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/signin/signintest"
	"stithy/internal/user"
)

func question(t testing.TB, s *screen) signintest.Asked {
	t.Helper()
	return signintest.Read(t, s.Body.String())
}

// addKey registers a key through the pages.
func (b *browser) addKey(name string) (*signintest.Key, *screen) {
	b.t.Helper()
	s := b.submit(b.get(factors), factors+"/keys/begin", map[string]string{"current_password": goodPassword})
	k := signintest.New(b.t, "https://forge.example")
	return k, b.submit(s, factors+"/keys", map[string]string{"name": name, "answer": k.Register(b.t, question(b.t, s).Challenge)})
}

const keyAnswerPath = "/users/sign_in/second_factor/key"

// keyed is an account with one security key and nothing else.
func (i *instance) keyed(t testing.TB) (*user.User, *browser, *signintest.Key) {
	t.Helper()
	u, b := i.withPassword(t), i.browser(t)
	b.signIn(u.Username, goodPassword)
	k, s := b.addKey("blue key")
	if !s.says("Two-factor authentication is on.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	return u, b, k
}

func TestASecurityKeyFromItsRegistrationToItsEnd(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b, elsewhere := i.browser(t), i.browser(t)
	elsewhere.signIn(ann.Username, goodPassword)
	b.signIn(ann.Username, goodPassword)
	if s := b.submit(b.get(factors), factors+"/keys/begin", map[string]string{"current_password": "wrong password"}); s.Code != http.StatusUnprocessableEntity || !s.says("Is wrong") || s.form(factors+"/keys") != nil {
		t.Errorf("begun without the password: %d", s.Code)
	}
	before := b.cookies["_svc_session"].Value
	blue, s := b.addKey("blue key")
	if !s.says("Two-factor authentication is on.") || !s.says("blue key") || len(shownCode.FindAllString(s.Body.String(), -1)) != 10 {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if b.cookies["_svc_session"].Value == before {
		t.Error("the session kept its name")
	}
	if s := elsewhere.get("/"); s.path != "/users/sign_in" {
		t.Error("a session without the factor lives on")
	}
	recovery := shownCode.FindStringSubmatch(s.Body.String())[1]

	other := i.browser(t)
	s = other.follow(http.MethodPost, "/users/sign_in", url.Values{"user[login]": {ann.Username}, "user[password]": {goodPassword}, "return_to": {"/-/user_settings/profile"}})
	if !strings.HasPrefix(s.path, "/users/sign_in/second_factor") || other.cookies["_svc_session"] != nil {
		t.Fatalf("%s %v", s.path, other.cookies)
	}
	if csp := s.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Error(csp)
	}
	q := question(t, s)
	if len(q.AllowCredentials) != 1 || q.AllowCredentials[0].ID != signintest.Text(blue.ID) {
		t.Errorf("asked for %v", q.AllowCredentials)
	}
	if s := other.submit(s, keyAnswerPath, map[string]string{"answer": blue.Sign(t, q.Challenge)}); s.path != "/-/user_settings/profile" {
		t.Fatalf("%d %s %s", s.Code, s.path, s.Body)
	}
	// A recovery code stands in for a lost key.
	lost := i.browser(t)
	s = lost.signIn(ann.Username, goodPassword)
	if s := lost.submit(s, s.path, map[string]string{"code": recovery}); s.path != "/" {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	// A second key, and an app beside them: the codes on paper stay.
	b = other
	red, s := b.addKey("red key")
	if !s.says("The key is registered.") || !s.says("red key") || shownCode.MatchString(s.Body.String()) {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := lost.get("/"); s.path != "/users/sign_in" {
		t.Error("a session of before the second key lives on")
	}
	s = b.submit(s, factors+"/begin", map[string]string{"current_password": goodPassword})
	secret := shownSecret.FindStringSubmatch(s.Body.String())[1]
	if s = b.submit(s, factors+"/confirm", map[string]string{"code": codeOf(t, secret, -1)}); !s.says("The app is set up.") || shownCode.MatchString(s.Body.String()) {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if left, err := i.SignIns.RecoveryCodesLeft(t.Context(), ann.ID); left != 9 || err != nil {
		t.Errorf("%d recovery codes are left, %v", left, err)
	}
	for name, finish := range map[string]func(*browser, *screen) *screen{
		"app": func(b *browser, s *screen) *screen {
			return b.submit(s, "/users/sign_in/second_factor", map[string]string{"code": codeOf(t, secret, 0)})
		},
		"red": func(b *browser, s *screen) *screen {
			return b.submit(s, keyAnswerPath, map[string]string{"answer": red.Sign(t, question(t, s).Challenge)})
		},
		"blue": func(b *browser, s *screen) *screen {
			return b.submit(s, keyAnswerPath, map[string]string{"answer": blue.Sign(t, question(t, s).Challenge)})
		},
	} {
		in := i.browser(t)
		if s := finish(in, in.signIn(ann.Username, goodPassword)); s.path != "/" {
			t.Errorf("%s: %d %s", name, s.Code, s.Body)
		}
	}
	// A key that was removed answers no more, and ends the sessions.
	keys, err := i.SignIns.SecurityKeys(t.Context(), ann.ID)
	if err != nil || len(keys) != 2 || keys[0].LastUsedAt == nil {
		t.Fatalf("%+v %v", keys, err)
	}
	stale := i.browser(t)
	waiting := stale.signIn(ann.Username, goodPassword)
	remove := fmt.Sprintf("%s/keys/%d/remove", factors, keys[0].ID)
	if s = b.submit(b.get(factors), remove, map[string]string{"current_password": goodPassword}); !s.says("The key is removed.") || s.says("blue key") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := stale.submit(waiting, keyAnswerPath, map[string]string{"answer": blue.Sign(t, question(t, waiting).Challenge)}); s.path == "/" {
		t.Error("a removed key lets somebody in")
	}
	if s := b.submit(b.get(factors), factors+"/disable", map[string]string{"current_password": goodPassword}); !s.says("is off") || s.says("red key") {
		t.Fatalf("%s", s.Body)
	}
	if s := i.browser(t).signIn(ann.Username, goodPassword); s.path != "/" {
		t.Errorf("a factor is still asked for: %s", s.path)
	}
	trail, err := postgres.Values[string](t.Context(), i.DB, `select details ->> 'custom_message' from audit_events where details ->> 'event_name' like 'user_%_key' order by id limit 10`)
	if err != nil || strings.Join(trail, "; ") != "Registered security key blue key; Registered security key red key; Removed security key blue key" {
		t.Errorf("%q %v", trail, err)
	}
}

func TestTheOnlyFactorIsNotRemovedByItself(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, b, _ := i.keyed(t)
	_, bobs, _ := i.keyed(t)
	keys, err := i.SignIns.SecurityKeys(t.Context(), ann.ID)
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	remove := fmt.Sprintf("%s/keys/%d/remove", factors, keys[0].ID)
	if s := b.submit(b.get(factors), remove, map[string]string{"current_password": goodPassword}); s.Code != http.StatusConflict || !s.says("your only second factor") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	csrf := bobs.get(factors).form(factors + "/codes").values
	csrf.Set("current_password", goodPassword)
	if w := bobs.send("POST", remove, csrf); w.Code != http.StatusNotFound {
		t.Errorf("somebody else's key: %d", w.Code)
	}
	if keys, err := i.SignIns.SecurityKeys(t.Context(), ann.ID); len(keys) != 1 || err != nil {
		t.Error(keys, err)
	}
	// Of two who remove one of two keys each, one is refused.
	b.addKey("second")
	keys, _ = i.SignIns.SecurityKeys(t.Context(), ann.ID)
	var refused atomic.Int32
	var wg sync.WaitGroup
	for _, k := range keys {
		wg.Go(func() {
			if i.SignIns.RemoveKey(t.Context(), access.Actor{Person: ann.Person()}, k.ID) != nil {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if keys, _ = i.SignIns.SecurityKeys(t.Context(), ann.ID); len(keys) != 1 || refused.Load() != 1 {
		t.Errorf("%d keys are left, %d were refused", len(keys), refused.Load())
	}
}

func TestWhatWouldOutliveASessionAsksForThePassword(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, b, _ := i.keyed(t)
	b.addKey("second")
	keys, err := i.SignIns.SecurityKeys(t.Context(), ann.ID)
	if err != nil || len(keys) != 2 {
		t.Fatal(keys, err)
	}
	codes := func() string {
		t.Helper()
		digests, err := postgres.Values[string](t.Context(), i.DB, `select encode(digest, 'hex') from recovery_codes where user_id = $1 order by 1 limit 20`, ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(digests, " ")
	}
	before, remove := codes(), fmt.Sprintf("%s/keys/%d/remove", factors, keys[0].ID)
	for _, path := range []string{factors + "/codes", remove} {
		for _, password := range []string{"", "wrong password"} {
			if s := b.submit(b.get(factors), path, map[string]string{"current_password": password}); s.Code != http.StatusUnprocessableEntity || shownCode.MatchString(s.Body.String()) {
				t.Errorf("%s with %q: %d %s", path, password, s.Code, s.Body)
			}
		}
	}
	if keys, err := i.SignIns.SecurityKeys(t.Context(), ann.ID); err != nil || len(keys) != 2 || codes() != before {
		t.Errorf("%d keys are left, %v; codes stayed: %v", len(keys), err, codes() == before)
	}
	s := b.submit(b.get(factors), factors+"/codes", map[string]string{"current_password": goodPassword})
	if len(shownCode.FindAllString(s.Body.String(), -1)) != 10 || codes() == before {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(b.get(factors), remove, map[string]string{"current_password": goodPassword}); !s.says("The key is removed.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	trail, err := postgres.Values[string](t.Context(), i.DB, `select details ->> 'custom_message' from audit_events
		where details ->> 'event_name' in ('user_renew_recovery_codes', 'user_remove_security_key') order by id limit 10`)
	if err != nil || len(trail) != 2 || trail[0] != "Made new recovery codes" || !strings.HasPrefix(trail[1], "Removed security key ") {
		t.Errorf("%q %v", trail, err)
	}
}

// AU-06: an answer is bound to the account, the key, the question, the browser
// that asked, and to where this instance is.
func TestAU06_AKeyAnswersForItsAccountAndQuestionOnly(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, _, anns := i.keyed(t)
	bob, bobsBrowser, bobs := i.keyed(t)
	if err := i.raiseTries(t); err != nil {
		t.Fatal(err)
	}
	half := i.browser(t)
	s := half.signIn(ann.Username, goodPassword)
	bobsHalf := i.browser(t)
	foreign := question(t, bobsHalf.signIn(bob.Username, goodPassword)).Challenge
	first := question(t, s).Challenge
	for _, try := range []struct {
		name   string
		answer func(challenge string) string
	}{
		{"another's key", func(c string) string { return bobs.Sign(t, c) }},
		{"another's key under one's own name", func(c string) string {
			return bobs.But(func(k *signintest.Key) { k.ID, k.Count = anns.ID, anns.Count }).Sign(t, c)
		}},
		{"another's question", func(string) string { return anns.Sign(t, foreign) }},
		{"no question of ours", func(string) string { return anns.Sign(t, signintest.Text(make([]byte, 32))) }},
		{"the first question, which was answered", func(string) string { return anns.Sign(t, first) }},
		{"another origin", func(c string) string {
			return anns.But(func(k *signintest.Key) { k.Origin = "https://forge.example.evil.example" }).Sign(t, c)
		}},
		{"plain http", func(c string) string {
			return anns.But(func(k *signintest.Key) { k.Origin = "http://forge.example" }).Sign(t, c)
		}},
		{"another port", func(c string) string {
			return anns.But(func(k *signintest.Key) { k.Origin = "https://forge.example:8443" }).Sign(t, c)
		}},
		{"another party", func(c string) string {
			return anns.But(func(k *signintest.Key) { k.Party = "example" }).Sign(t, c)
		}},
		{"nobody touched it", func(c string) string { return anns.But(func(k *signintest.Key) { k.Flags = 0 }).Sign(t, c) }},
		{"a registration", func(c string) string { return anns.But(func(*signintest.Key) {}).Register(t, c) }},
		{"nothing", func(string) string { return "" }},
		{"text", func(string) string { return "{}" }},
		{"much", func(string) string { return strings.Repeat("[", 10_000) }},
	} {
		s = half.submit(s, keyAnswerPath, map[string]string{"answer": try.answer(question(t, s).Challenge)})
		if s.Code != http.StatusUnauthorized || half.cookies["_svc_session"] != nil {
			t.Fatalf("%s: %d %s", try.name, s.Code, s.path)
		}
	}
	// Another browser that knows the password cannot use the answer.
	answer := anns.But(func(*signintest.Key) {}).Sign(t, question(t, s).Challenge)
	other := i.browser(t)
	if s := other.submit(other.signIn(ann.Username, goodPassword), keyAnswerPath, map[string]string{"answer": answer}); s.path == "/" {
		t.Error("an answer works in another browser")
	}
	anns.Count += 10
	if s = half.submit(s, keyAnswerPath, map[string]string{"answer": anns.Sign(t, question(t, s).Challenge)}); s.path != "/" {
		t.Errorf("the right answer: %d %s", s.Code, s.Body)
	}
	// Registering is bound the same way.
	k := signintest.New(t, "https://forge.example")
	s = bobsBrowser.submit(bobsBrowser.get(factors), factors+"/keys/begin", map[string]string{"current_password": goodPassword})
	challenge := question(t, s).Challenge
	values := maps.Clone(half.get(factors).form(factors + "/codes").values)
	values.Set("name", "stolen")
	values.Set("answer", k.Register(t, challenge))
	if w := half.send("POST", factors+"/keys", values); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a question of another session: %d", w.Code)
	}
	if s = bobsBrowser.submit(s, factors+"/keys", map[string]string{"name": "mine", "answer": k.But(func(k *signintest.Key) { k.Origin = "https://evil.example" }).Register(t, challenge)}); s.Code != http.StatusUnprocessableEntity {
		t.Errorf("another origin: %d", s.Code)
	}
	values = maps.Clone(bobsBrowser.get(factors).form(factors + "/codes").values)
	values.Set("name", "again")
	values.Set("answer", k.Register(t, challenge))
	if w := bobsBrowser.send("POST", factors+"/keys", values); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a question that was answered: %d", w.Code)
	}
	// A key that somebody else registered is nobody else's.
	s = bobsBrowser.submit(bobsBrowser.get(factors), factors+"/keys/begin", map[string]string{"current_password": goodPassword})
	if s = bobsBrowser.submit(s, factors+"/keys", map[string]string{"name": "taken", "answer": anns.Register(t, question(t, s).Challenge)}); !s.says("registered already") {
		t.Errorf("a key of two people: %d", s.Code)
	}
}

// AU-07: an answer works once, and a key whose counter falls back is a copy.
func TestAU07_AnAnswerOfAKeyWorksOnceAndItsCounterGoesUp(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, _, key := i.keyed(t)
	if err := i.raiseTries(t); err != nil {
		t.Fatal(err)
	}
	b := i.browser(t)
	s := b.signIn(ann.Username, goodPassword)
	values := url.Values{"answer": {key.Sign(t, question(t, s).Challenge)}}
	waiting := b.cookies["_svc_second_factor"]
	var in atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		b := i.browser(t)
		b.cookies[waiting.Name] = waiting
		wg.Go(func() {
			if w := b.send("POST", keyAnswerPath, values); w.Code == http.StatusSeeOther && b.cookies["_svc_session"] != nil {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Errorf("%d got in with one answer", in.Load())
	}
	for name, count := range map[string]uint32{"the same count": key.Count - 1, "a lower one": 0} {
		copied := *key
		copied.Count = count
		b := i.browser(t)
		s := b.signIn(ann.Username, goodPassword)
		if s := b.submit(s, keyAnswerPath, map[string]string{"answer": copied.Sign(t, question(t, s).Challenge)}); s.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, s.Code)
		}
	}
	// Two copies at the same moment, each with a question of its own: one.
	u, err := i.Users.Find(t.Context(), ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	in.Store(0)
	for range 10 {
		e, err := i.SignIns.Begin(t.Context(), u, netip.MustParseAddr("192.0.2.7"), "test")
		if err != nil {
			t.Fatal(err)
		}
		b := i.browser(t)
		b.cookies["_svc_second_factor"] = &http.Cookie{Name: "_svc_second_factor", Value: e.Half.Reveal()}
		copied := *key
		values := url.Values{"answer": {copied.Sign(t, question(t, b.get("/users/sign_in/second_factor")).Challenge)}}
		wg.Go(func() {
			if w := b.send("POST", keyAnswerPath, values); w.Code == http.StatusSeeOther && b.cookies["_svc_session"] != nil {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Errorf("%d copies of one key got in", in.Load())
	}
}

func TestAQuestionForAKeyIsForgotten(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, _, key := i.keyed(t)
	b := i.browser(t)
	s := b.signIn(ann.Username, goodPassword)
	answer := key.Sign(t, question(t, s).Challenge)
	if _, err := i.DB.Exec(t.Context(), `update key_challenges set expires_at = $1 where user_id = $2`, time.Now().Add(-time.Second), ann.ID); err != nil {
		t.Fatal(err)
	}
	if s := b.submit(s, keyAnswerPath, map[string]string{"answer": answer}); s.Code != http.StatusUnauthorized {
		t.Errorf("an old question: %d", s.Code)
	}
}

// Guessing by key counts as guessing by code does.
func TestWrongAnswersOfKeysCount(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, _, key := i.keyed(t)
	b := i.browser(t)
	s := b.signIn(ann.Username, goodPassword)
	for n := range 10 {
		if s = b.submit(s, keyAnswerPath, map[string]string{"answer": "{}"}); s.Code != http.StatusUnauthorized {
			t.Fatalf("%d: %d", n, s.Code)
		}
	}
	if s := b.submit(s, keyAnswerPath, map[string]string{"answer": key.Sign(t, question(t, s).Challenge)}); s.path == "/" || !s.says("Too many tries") {
		t.Errorf("the right answer after ten wrong ones: %d", s.Code)
	}
}
