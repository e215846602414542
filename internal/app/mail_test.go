package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"stithy/internal/kit/access"
	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// withMail is an instance whose mail ends in a sink and whose jobs are worked.
func withMail(t *testing.T) (*instance, *mailtest.Sink) {
	t.Helper()
	sink := mailtest.New(t)
	i := newInstance(t, "STITHY_SMTP_URL="+sink.URL.Reveal())
	if err := i.Queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := i.Queue.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return i, sink
}

var mailedLink = regexp.MustCompile(`https://forge\.example(/users/\S+)`)

// linkIn is the path of the link in a mail.
func linkIn(t *testing.T, m mailtest.Received) string {
	t.Helper()
	found := mailedLink.FindStringSubmatch(m.Text)
	if found == nil {
		t.Fatalf("no link to this instance in:\n%s", m.Text)
	}
	return found[1]
}

const newPassword = "another staple 9 battery"

func TestAForgottenPasswordIsReplacedByMail(t *testing.T) {
	t.Parallel()
	i, sink := withMail(t)
	ann := i.withPassword(t)
	elsewhere := i.browser(t)
	elsewhere.signIn(ann.Username, goodPassword)
	b := i.browser(t)
	b.change = func(r *http.Request) { r.Host, r.Header["X-Forwarded-Host"] = "evil.example", []string{"evil.example"} }
	s := b.submit(b.get("/users/password/new"), "/users/password/new", map[string]string{"email": strings.ToUpper(ann.Email)})
	if !s.says("If an account has this address") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	m := sink.Next(t)
	if !slices.Equal(m.To, []string{ann.Email}) || !strings.Contains(m.Text, ann.Username) || strings.Contains(m.Text, "evil") {
		t.Errorf("%v %s", m.To, m.Text)
	}
	b.change = nil
	link := linkIn(t, m)
	for range 2 { // opening the link uses nothing up
		s = b.get(link)
	}
	set := func(password, again string) *screen {
		return b.submit(s, "/users/password/edit", map[string]string{"password": password, "password_confirmation": again})
	}
	if got := set("short", "short"); got.Code != http.StatusUnprocessableEntity || !got.says("Is too short") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := set(newPassword, "x"); !got.says("Doesn't match") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := set(newPassword, newPassword); !got.says("Your password is set.") {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if got := set("yet another one 5", "yet another one 5"); got.Code == http.StatusOK {
		t.Error("the link worked twice")
	}
	if got := b.get(link); got.Code != http.StatusBadRequest || !got.says("Ask for a new one") {
		t.Errorf("a used link: %d", got.Code)
	}
	if got := elsewhere.get("/"); got.path != "/users/sign_in" {
		t.Error("a session outlived the password")
	}
	if got := b.signIn(ann.Username, goodPassword); got.Code != http.StatusUnauthorized {
		t.Error("the old password works")
	}
	if got := b.signIn(ann.Username, newPassword); got.path != "/" {
		t.Errorf("the new password does not work: %s", got.Body)
	}
}

// AU-01, AU-11, AU-03, AU-13: who gets a link, and what a stranger learns.
func TestAU01_AResetGoesToTheStoredAddressOnly(t *testing.T) {
	t.Parallel()
	i, sink := withMail(t)
	ann := i.withPassword(t)
	external := usertest.New(t, i.DB)
	if _, err := i.DB.Exec(t.Context(), `insert into identities (user_id, provider, extern_uid, created_at, updated_at) values ($1, 'ldap', 'x', now(), now())`, external.ID); err != nil {
		t.Fatal(err)
	}
	other := i.withPassword(t)
	if _, err := i.Users.AddEmail(t.Context(), access.Actor{Person: other.Person()}, other.ID, "unproved@example.com", false); err != nil {
		t.Fatal(err)
	}
	sink.Next(t) // the link that proves it
	blocked := i.withPassword(t, usertest.In(user.Blocked))
	answers := map[string]bool{}
	for _, form := range []url.Values{
		{"email": {ann.Email, "evil@example.org"}}, {"email": {ann.Email}, "email[]": {"evil@example.org"}}, {"email[]": {ann.Email, "evil@example.org"}},
		{"email": {ann.Email + ",evil@example.org"}}, {"email": {ann.Email + ", evil@example.org"}}, {"email": {ann.Email + "\r\nBcc: evil@example.org"}},
		{"email": {`["` + ann.Email + `","evil@example.org"]`}}, {"email": {ann.Email + ";evil@example.org"}}, {"email": {"<" + ann.Email + ">"}},
		{"email": {external.Email}}, {"email": {"unproved@example.com"}}, {"email": {blocked.Email}}, {"email": {"nobody@example.com"}},
	} {
		w := i.browser(t).send("POST", "/users/password/new", form)
		if len(form["email"]) == 1 {
			answers[fmt.Sprint(w.Code, w.Header().Get("Location"), len(w.Header().Values("Set-Cookie")))] = true
		}
	}
	if len(answers) != 1 {
		t.Errorf("told apart: %v", answers)
	}
	// Jobs run in the order they came in; this mail is the last.
	last := i.withPassword(t)
	if w := i.browser(t).send("POST", "/users/password/new", url.Values{"email": {last.Email}}); w.Code != http.StatusSeeOther {
		t.Fatalf("%d", w.Code)
	}
	for {
		m := sink.Next(t)
		if slices.Equal(m.To, []string{last.Email}) {
			break
		}
		if !slices.Equal(m.To, []string{ann.Email}) {
			t.Errorf("a link went to %v", m.To)
		}
	}
	for _, m := range sink.All() {
		if slices.ContainsFunc(m.To, func(to string) bool { return strings.Contains(to, "evil") }) {
			t.Errorf("a link went to %v", m.To)
		}
	}
}

// AU-02: no other spelling of an address reaches its account.
func TestAU02_NoLetterThatFoldsReachesAnotherAccount(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	victim := i.withPassword(t, usertest.Named("kissa"))
	tried := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		for _, folded := range []string{string(unicode.ToLower(r)), string(unicode.ToUpper(r)), strings.ToLower(string(r))} {
			if len(folded) != 1 {
				continue
			}
			tried++
			address := strings.Replace(victim.Email, strings.ToLower(folded), string(r), 1)
			if address == victim.Email {
				continue
			}
			l, err := i.Users.FindLogin(t.Context(), address)
			if err != nil || l != nil && strings.IndexRune(address, r) < strings.IndexByte(address, '@') {
				t.Errorf("%q is %v %v", address, l, err)
			}
		}
	}
	if tried == 0 {
		t.Error("nothing folds")
	}
}

// AU-03: an address counts once its owner has read a mail there.
func TestAU03_AnAddressIsConfirmedByTheMailThatWasSentToIt(t *testing.T) {
	t.Parallel()
	i, sink := withMail(t)
	root := i.token(t, i.root, access.ScopeAPI)
	w := i.do("POST", "/api/v4/users", map[string]any{"email": "new@example.com", "username": "newcomer", "name": "New", "password": goodPassword}, func(r *http.Request) {
		r.Header.Set("PRIVATE-TOKEN", root)
	})
	if w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	m := sink.Next(t)
	b := i.browser(t)
	if s := b.signIn("newcomer", goodPassword); !s.says("Confirm your email address first") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	s := b.get(linkIn(t, m))
	if again := b.signIn("newcomer", goodPassword); again.path == "/" {
		t.Error("opening the link was enough") // programs that scan mail do so
	}
	if s := b.submit(s, "/users/confirmation", nil); !s.says("Your address is confirmed.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := b.signIn("newcomer", goodPassword); s.path != "/" {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	// A secondary address, and one that is to become the primary one.
	u, err := i.Users.FindByUsername(t.Context(), "newcomer")
	if err != nil {
		t.Fatal(err)
	}
	by := access.Actor{Person: u.Person()}
	if _, err := i.Users.AddEmail(t.Context(), by, u.ID, "second@example.com", false); err != nil {
		t.Fatal(err)
	}
	m = sink.Next(t)
	if !slices.Equal(m.To, []string{"second@example.com"}) {
		t.Fatalf("the proof was sent to %v", m.To)
	}
	if _, err := i.Users.Update(t.Context(), by, u.ID, user.Attributes{Email: new("second@example.com")}); err != nil {
		t.Fatal(err)
	}
	if s := b.submit(b.get(linkIn(t, m)), "/users/confirmation", nil); !s.says("Your address is confirmed.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if u, err = i.Users.Find(t.Context(), u.ID); err != nil || u.Email != "second@example.com" || u.ConfirmedAt == nil || u.UnconfirmedEmail != nil {
		t.Errorf("%+v %v", u, err)
	}
}

func TestSigningUpWaitsForTheMailAndForApproval(t *testing.T) {
	t.Parallel()
	i, sink := withMail(t)
	b := i.browser(t)
	register := func(username, email string) *screen {
		return b.submit(b.get("/users/sign_up"), "/users/sign_up", map[string]string{"name": "Zoe", "username": username, "email": email, "password": goodPassword})
	}
	s := register("zoe", "zoe@example.com")
	if !s.says("You are registered.") || !s.says("approve") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	fresh := s.Body.String()
	m := sink.Next(t)
	b.submit(b.get(linkIn(t, m)), "/users/confirmation", nil)
	if s := b.signIn("zoe", goodPassword); !s.says("waits for an administrator") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	root := i.withPassword(t, usertest.Admin())
	admin := i.browser(t)
	admin.signIn(root.Username, goodPassword)
	list := admin.get("/admin/users?state=pending")
	zoe, err := i.Users.FindByUsername(t.Context(), "zoe")
	if err != nil {
		t.Fatal(err)
	}
	if s := admin.submit(list, fmt.Sprintf("/admin/users/%d/approve", zoe.ID), nil); !s.says("zoe is now active") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.signIn("zoe", goodPassword); s.path != "/" {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	// AU-13: a taken address is answered as a new one; its owner learns of it.
	b = i.browser(t)
	if s := register("mallory", "zoe@example.com"); s.Body.String() != fresh {
		t.Errorf("a taken address is told: %s", s.Body)
	}
	if m := sink.Next(t); !slices.Equal(m.To, []string{"zoe@example.com"}) || !strings.Contains(m.Text, "You have one already") {
		t.Errorf("%v %s", m.To, m.Text)
	}
	if s := register("zoe", "other@example.com"); !s.says("Has already been taken") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if err := i.Settings.Update(t.Context(), access.Actor{Person: i.root.Person()}, func(now *setting.Settings) {
		now.DomainAllowlist = []string{"*.corp.example", "corp.example"}
	}); err != nil {
		t.Fatal(err)
	}
	if s := register("eve", "eve@example.com"); !s.says("Is not allowed for sign-up") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if err := i.Settings.Update(t.Context(), access.Actor{Person: i.root.Person()}, func(now *setting.Settings) { now.SignupEnabled = false }); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "POST"} {
		if w := b.send(method, "/users/sign_up", url.Values{}); w.Code != http.StatusNotFound {
			t.Errorf("%s while sign-up is closed: %d", method, w.Code)
		}
	}
}

func TestWithoutMailThePagesSaySo(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	b := i.browser(t)
	for _, path := range []string{"/users/password/new", "/users/confirmation/new"} {
		if s := b.get(path); s.Code != http.StatusOK || !s.says("This instance sends no mail") || s.form(path) != nil {
			t.Errorf("%s: %d %s", path, s.Code, s.Body)
		}
		if w := b.send("POST", path, url.Values{"email": {"ann@example.com"}}); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if s := b.signIn("nobody", "wrong"); !s.says("Wrong username or password. If you forgot your password, ask an administrator to set a new one.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

func TestWhoSignsInWithAWrongPasswordIsLedToANewOne(t *testing.T) {
	t.Parallel()
	i, _ := withMail(t)
	if s := i.browser(t).signIn("nobody", "wrong"); s.Code != http.StatusUnauthorized || !s.says(`<a href="/users/password/new">Set a new password if you forgot yours.</a>`) {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

func TestAUsernameThatCannotBeIsRefusedInOneSentence(t *testing.T) {
	t.Parallel()
	i, _ := withMail(t)
	b := i.browser(t)
	s := b.submit(b.get("/users/sign_up"), "/users/sign_up", map[string]string{"name": "Zoe", "username": "zoe zola", "email": "zoe@example.com", "password": goodPassword})
	if s.Code != http.StatusUnprocessableEntity || strings.Count(s.Body.String(), "digits") != 1 {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

func TestANewUserIsMailedALinkToSetThePassword(t *testing.T) {
	t.Parallel()
	i, sink := withMail(t)
	root := i.token(t, i.root, access.ScopeAPI)
	w := i.do("POST", "/api/v4/users", map[string]any{
		"email": "new@example.com", "username": "newcomer", "name": "New", "reset_password": true, "skip_confirmation": true,
	}, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", root) })
	if w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	b := i.browser(t)
	s := b.submit(b.get(linkIn(t, sink.Next(t))), "/users/password/edit", map[string]string{"password": newPassword, "password_confirmation": newPassword})
	if !s.says("Your password is set.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := b.signIn("newcomer", newPassword); s.path != "/" {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}
