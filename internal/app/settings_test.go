package app

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

const (
	profilePage  = "/-/user_settings/profile"
	tokensPage   = "/-/user_settings/personal_access_tokens"
	keysPage     = "/-/user_settings/ssh_keys"
	sessionsPage = "/-/user_settings/active_sessions"
)

func publicKey(t testing.TB) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(key))
}

func TestAProfileIsChangedOnItsPage(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	grouptest.Personal(t, i.DB, ann)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	s := b.submit(b.get(profilePage), profilePage, map[string]string{"name": "Ann Other", "location": "Riga", "private_profile": "1", "admin": "1"})
	if s.path != profilePage || !s.says("Your profile is saved.") || !s.says("Ann Other") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := b.get(profilePage); s.says("Your profile is saved.") {
		t.Error("the message is said twice")
	}
	u, err := i.Users.Find(t.Context(), ann.ID)
	if err != nil || u.Name != "Ann Other" || u.Location != "Riga" || !u.PrivateProfile || u.Admin {
		t.Errorf("%+v %v", u, err)
	}
	s = b.submit(s, profilePage, map[string]string{"name": "", "website_url": "javascript:alert(1)"})
	if s.Code != http.StatusUnprocessableEntity || !s.says("Can't be blank") || !s.says("Is not a valid URL") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

var newToken = regexp.MustCompile(`id="new-token">([^<]+)<`)

func TestATokenIsMadeShownOnceAndRevokedOnItsPage(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, bob := i.withPassword(t), i.withPassword(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	page := b.get(tokensPage)
	if s := b.submit(page, tokensPage, map[string]string{"name": "ci"}); s.Code != http.StatusUnprocessableEntity || !s.says("Can't be blank") {
		t.Errorf("a token without scopes: %d", s.Code)
	}
	if s := b.submit(page, tokensPage, map[string]string{"name": "ci", "scopes": "sudo"}); s.Code != http.StatusUnprocessableEntity {
		t.Errorf("a scope of administrators: %d", s.Code)
	}
	if s := b.submit(page, tokensPage, map[string]string{"name": "ci", "scopes": "api", "expires_at": "soon"}); !s.says("Is not a date") {
		t.Errorf("%d", s.Code)
	}
	f := page.form(tokensPage).values
	f.Set("name", "ci")
	f["scopes"] = []string{"read_user", "read_api"}
	s := b.follow("POST", tokensPage, f)
	found := newToken.FindStringSubmatch(s.Body.String())
	if found == nil {
		t.Fatalf("no token: %s", s.Body)
	}
	if strings.Contains(b.get(tokensPage).Body.String(), found[1]) {
		t.Error("the token is shown twice")
	}
	call := func() int {
		return i.do("GET", "/api/v4/user", nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", found[1]) }).Code
	}
	if code := call(); code != http.StatusOK {
		t.Fatalf("the token does not work: %d", code)
	}
	var revoke string
	for _, f := range s.forms {
		if strings.HasSuffix(f.action, "/revoke") {
			revoke = f.action
		}
	}
	b2 := i.browser(t)
	other := b2.signIn(bob.Username, goodPassword)
	if w := b2.send("POST", revoke, other.form("/users/sign_out").values); w.Code != http.StatusNotFound {
		t.Errorf("somebody else revokes it: %d", w.Code)
	}
	if s := b.submit(s, revoke, nil); !s.says("The token is revoked.") || call() != http.StatusUnauthorized {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

func TestNothingThatHasExpiredAlreadyIsMadeOnAPage(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	today := i.Clock.Now().UTC()
	tomorrow := today.AddDate(0, 0, 1)
	for path, values := range map[string]map[string]string{
		tokensPage: {"name": "ci", "scopes": "api"}, keysPage: {"title": "laptop", "key": publicKey(t)},
	} {
		page := b.get(path)
		if !page.says(`min="` + tomorrow.Format(time.DateOnly) + `"`) {
			t.Errorf("%s offers days that have passed: %s", path, page.Body)
		}
		for _, day := range []string{"2020-01-01", today.Format(time.DateOnly)} {
			values["expires_at"] = day
			s := b.submit(page, path, values)
			if s.Code != http.StatusUnprocessableEntity || !s.says("Must be "+tomorrow.Format("2 January 2006")+" or later") || s.says("new-token") {
				t.Errorf("%s until %s: %d %s", path, day, s.Code, s.Body)
			}
		}
		values["expires_at"] = tomorrow.Format(time.DateOnly)
		if s := b.submit(page, path, values); s.Code != http.StatusOK {
			t.Errorf("%s until tomorrow: %d %s", path, s.Code, s.Body)
		}
	}
}

func TestAPrivateKeyIsNotSentBack(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	_, half, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(half, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{
		"OpenSSH": string(pem.EncodeToMemory(block)),
		"PuTTY":   "PuTTY-User-Key-File-3: ssh-ed25519\r\nPrivate-Lines: 1\r\nc2VjcmV0",
	} {
		body := strings.Split(key, "\n")[1]
		for _, values := range []map[string]string{{"title": "laptop"}, {"title": ""}, {"title": "laptop", "expires_at": "2020-01-01"}} {
			values["key"] = key
			s := b.submit(b.get(keysPage), keysPage, values)
			if s.Code != http.StatusUnprocessableEntity || s.says(strings.TrimSpace(body)) || s.says("Is invalid") {
				t.Errorf("%s with %v: %d %s", name, values, s.Code, s.Body)
			}
			for _, want := range []string{"Is a private key", "replace it now", "public half", ".pub"} {
				if !s.says(want) {
					t.Errorf("%s: nothing of %q in %s", name, want, s.Body)
				}
			}
		}
	}
	// Nor is what nobody can read, which may be one.
	if s := b.submit(b.get(keysPage), keysPage, map[string]string{"title": "laptop", "key": "canary"}); !s.says("Is invalid") || s.says("canary") {
		t.Errorf("%s", s.Body)
	}
}

func TestKeysAndSessionsAreAddedShownAndEnded(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, bob := i.withPassword(t), i.withPassword(t)
	b, phone, other := i.browser(t), i.browser(t), i.browser(t)
	b.signIn(ann.Username, goodPassword)
	phone.change = func(r *http.Request) {
		r.Header.Set("User-Agent", "Mozilla/5.0 (Android 14; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0")
	}
	phone.signIn(ann.Username, goodPassword)
	foreign := other.signIn(bob.Username, goodPassword).form("/users/sign_out").values

	s := b.submit(b.get(keysPage), keysPage, map[string]string{"title": "laptop", "key": publicKey(t)})
	if !s.says("SSH key added.") || !s.says("SHA256:") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(s, keysPage, map[string]string{"title": "laptop", "key": "not a key"}); s.Code != http.StatusUnprocessableEntity || !s.says("Is invalid") {
		t.Errorf("%d", s.Code)
	}
	end := func(s *screen, suffix, done string) {
		t.Helper()
		for _, f := range s.forms {
			if !strings.HasSuffix(f.action, suffix) {
				continue
			}
			if w := other.send("POST", f.action, foreign); w.Code != http.StatusNotFound {
				t.Errorf("%s by somebody else: %d", f.action, w.Code)
			}
			if s := b.submit(s, f.action, nil); !s.says(done) {
				t.Errorf("%d %s", s.Code, s.Body)
			}
			return
		}
		t.Errorf("nothing to %s", suffix)
	}
	end(s, "/remove", "The key is removed.")
	s = b.get(sessionsPage)
	if !s.says("Firefox on Android") || !s.says("this browser") {
		t.Errorf("%s", s.Body)
	}
	end(s, "/end", "That browser is signed out.")
	if s := phone.get("/"); s.path != "/users/sign_in" {
		t.Error("the other browser is still signed in")
	}
	if s := b.get("/"); s.path != "/" {
		t.Error("this browser was signed out")
	}
}

func TestTheListOfUsersIsForAdministrators(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann, root := i.withPassword(t, usertest.Named("annabel")), i.withPassword(t, usertest.Admin(), usertest.Named("boss"))
	for range 30 {
		usertest.New(t, i.DB)
	}
	b, admin := i.browser(t), i.browser(t)
	mine := b.signIn(ann.Username, goodPassword).form("/users/sign_out").values
	if s := b.get("/admin/users"); s.Code != http.StatusNotFound {
		t.Errorf("anyone sees the list: %d", s.Code)
	}
	if s := b.get("/admin"); s.Code != http.StatusNotFound {
		t.Errorf("anyone is led to the list: %d", s.Code)
	}
	block := fmt.Sprintf("/admin/users/%d/block", root.ID)
	if w := b.send("POST", block, mine); w.Code != http.StatusNotFound {
		t.Errorf("anyone blocks: %d", w.Code)
	}
	admin.signIn(root.Username, goodPassword)
	s := admin.get("/admin")
	if s.path != "/admin/users" || !s.says("1 to 25 of") || !s.says("Older") {
		t.Errorf("%s", s.Body)
	}
	if s := admin.get("/admin/users?page=2"); !s.says("Newer") || s.says("Older") {
		t.Errorf("%s", s.Body)
	}
	s = admin.get("/admin/users?search=annabel&state=active")
	s = admin.submit(s, fmt.Sprintf("/admin/users/%d/block", ann.ID), nil)
	if !s.says("annabel is now blocked.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if s := b.get("/"); s.path != "/users/sign_in" {
		t.Error("who was blocked is still signed in")
	}
	s = admin.get("/admin/users?state=blocked")
	if s := admin.submit(s, fmt.Sprintf("/admin/users/%d/unblock", ann.ID), nil); !s.says("annabel is now active.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	own := admin.get("/").form("/users/sign_out").values
	for path, want := range map[string]int{block: 403, "/admin/users/999999/block": 404, "/admin/users/x/block": 404, fmt.Sprintf("/admin/users/%d/delete", ann.ID): 404} {
		if w := admin.send("POST", path, own); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

var listedUser = regexp.MustCompile(`(?s)<th scope="row" class="person">.*?<small title="@[a-z]+">@([a-z]+)</small>`)

func TestTheListOfUsersIsNarrowedToOneState(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	root := i.withPassword(t, usertest.Admin(), usertest.Named("boss"))
	usertest.New(t, i.DB, usertest.Named("waiter"), usertest.With("state", string(user.Pending)))
	usertest.New(t, i.DB, usertest.Named("outcast"), usertest.With("state", string(user.Blocked)))
	usertest.New(t, i.DB, usertest.Named("forgetful"), usertest.With("locked_at", "2026-01-01"))
	b := i.browser(t)
	b.signIn(root.Username, goodPassword)
	everybody := []string{"boss", "waiter", "outcast", "forgetful"}
	for state, want := range map[string][]string{
		"": slices.Clone(everybody), "active": {"boss", "forgetful"}, "blocked": {"outcast"}, "pending": {"waiter"}, "locked": {"forgetful"}, "admins": {"boss"},
	} {
		s := b.get("/admin/users?state=" + state)
		var got []string
		for _, found := range listedUser.FindAllStringSubmatch(s.Body.String(), -1) {
			if slices.Contains(everybody, found[1]) {
				got = append(got, found[1])
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("state %q lists %v", state, got)
		}
		if state != "" && !s.says(`<option value="`+state+`" selected>`) {
			t.Errorf("%q cannot be chosen", state)
		}
	}
}

// A page that refuses a form stands at the address that the form was sent to, which people reload and come back to.
func TestTheAddressOfARefusedFormLeadsToItsPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, ann := d.signedIn(t, access.Owner, d.hidden)
	grouptest.Join(t, d.DB, d.house, ann, access.Owner)
	for path, form := range map[string]url.Values{
		"/house/hidden/-/settings/ci_cd/variables": {"key": {"not a key"}}, "/house/hidden/-/settings/ci_cd/runners": {"maximum_timeout": {"x"}},
		"/groups/house/-/settings/ci_cd/variables": {"key": {"not a key"}}, "/groups/house/-/settings/ci_cd/runners": {"maximum_timeout": {"x"}},
		factors + "/begin": {"current_password": {"wrong"}}, factors + "/confirm": {"code": {"000000"}}, factors + "/disable": {"current_password": {"wrong"}},
	} {
		form["authenticity_token"] = b.get("/").form("/users/sign_out").values["authenticity_token"]
		if w := b.send("POST", path, form); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s takes the form: %d", path, w.Code)
		}
		w := b.send("GET", path, nil)
		if want := path[:strings.LastIndexByte(path, '/')]; w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%s leads to %q: %d", path, w.Header().Get("Location"), w.Code)
		}
	}
	for path, want := range map[string]string{
		"/house/hidden/-/settings/ci_cd/variables/update": "/house/hidden/-/settings/ci_cd", factors + "/codes": factors, factors + "/keys": factors,
		factors + "/keys/begin": factors, factors + "/keys/7/remove": factors, "/users/sign_in/second_factor/key": "/users/sign_in/second_factor",
		emailsPage + "/primary": emailsPage, "/-/profile/notifications": notificationsPage, invitationsPage + "/7/accept": invitationsPage,
	} {
		if w := b.send("GET", path, nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%s leads to %q: %d", path, w.Header().Get("Location"), w.Code)
		}
	}
	outsider, _ := d.signedIn(t, access.NoRole)
	if w := outsider.send("GET", "/house/hidden/-/settings/ci_cd/variables", nil); w.Code != http.StatusNotFound {
		t.Errorf("an outsider: %d", w.Code)
	}
}

// everyPage is what a person can look at.
var everyPage = []string{
	"/", "/users/sign_in", "/users/sign_in/second_factor", "/users/password/new", "/users/password/edit", "/users/confirmation/new", "/users/confirmation",
	"/users/sign_up", profilePage, "/-/user_settings/notifications", "/-/user_settings/password", "/-/user_settings/password/new", tokensPage, keysPage, sessionsPage, factors, emailsPage, invitationsPage,
	"/admin/users", "/admin/runners", "/admin/variables", "/admin/audit_events", "/admin/audit_events/1", "/admin/audit_events/streams", "/groups/none/-/audit_events", "/groups/none/-/audit_events/streams", "/groups/none/-/settings/ci_cd", "/groups/none/-/issues", "/groups/none/-/wikis/home",
	"/dashboard/snippets", "/explore/snippets", "/-/snippets/new", "/-/snippets/1", "/-/snippets/1/raw",
	"/users/nobody/activity", "/users/nobody/activity.atom", "/groups/none/-/activity", "/groups/none/-/activity.atom", "/nothing", "/a//b", "/users/sign_out", "/-/unsubscribe/1.issue.1.1.x",
}

// closed is what keeps a page to itself.
var closed = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
	"X-Frame-Options":              "DENY",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Strict-Transport-Security":    "max-age=31536000",
	"Cache-Control":                "no-store",
}

// WB-03, WB-06: what every answer carries, whoever asks.
func TestWB06_EveryPageRefusesFramesScriptsAndOtherOrigins(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	root := i.withPassword(t, usertest.Admin())
	stranger, admin := i.browser(t), i.browser(t)
	admin.signIn(root.Username, goodPassword)
	for who, b := range map[string]*browser{"a stranger": stranger, "an administrator": admin} {
		for _, path := range everyPage {
			w := b.send("GET", path, nil)
			for name, want := range closed {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s, %s: %s is %q", who, path, name, got)
				}
			}
			if w.Header().Get("Access-Control-Allow-Origin") != "" || strings.Contains(w.Body.String(), "<script") || strings.Contains(w.Body.String(), " style=") {
				t.Errorf("%s, %s: open to others, or with script", who, path)
			}
			for _, c := range b.cookies {
				if len(c.Value) > 20 && strings.Contains(w.Body.String(), c.Value) {
					t.Errorf("%s, %s shows the cookie %s", who, path, c.Name)
				}
			}
		}
	}
}

// WB-01: what people call themselves and their things is text on every page.
func TestWB01_NamesAreTextOnEveryPage(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}`
	root := i.withPassword(t, usertest.Admin(), usertest.With("name", evil), usertest.With("bio", evil), usertest.With("location", evil),
		usertest.With("job_title", evil), usertest.With("website_url", "https://x/"+evil))
	g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
	grouptest.Join(t, i.DB, g, root, access.Owner)
	projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
	if _, err := i.DB.Exec(t.Context(), `update projects set description = $1`, evil); err != nil {
		t.Fatal(err)
	}
	b := i.browser(t)
	b.change = func(r *http.Request) { r.Header.Set("User-Agent", evil) }
	b.signIn(root.Username, goodPassword)
	b.submit(b.get(tokensPage), tokensPage, map[string]string{"name": evil, "scopes": "api"})
	b.submit(b.get(keysPage), keysPage, map[string]string{"title": evil, "key": publicKey(t)})
	quoted := url.QueryEscape(evil)
	pages := append([]string{"/admin/audit_events?person=" + quoted + "&type=" + quoted + "&entity=" + quoted, "/admin/users?search=" + quoted + "&state=" + quoted, "/users/sign_in?return_to=" + quoted, "/" + url.PathEscape(evil)}, everyPage...)
	for _, path := range pages {
		w := b.send("GET", path, nil)
		if text := w.Body.String(); strings.Contains(text, "<script") || strings.Contains(text, "<img src=x") {
			t.Errorf("%s: a name broke out", path)
		}
	}
	for _, form := range []url.Values{{"user[login]": {evil}, "user[password]": {"x"}}, {"user[login]": {"x"}, "return_to": {evil}}} {
		if w := i.browser(t).send("POST", "/users/sign_in", form); strings.Contains(w.Body.String(), "<script") {
			t.Error("what was typed broke out")
		}
	}
}

// Every page of a person is for that person: nobody else is shown it.
func TestPagesOfAPersonAskStrangersToSignIn(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	b := i.browser(t)
	for _, path := range []string{"/", profilePage, tokensPage, keysPage, sessionsPage, factors, "/admin/users", "/-/user_settings/password"} {
		if w := b.send("GET", path, nil); w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/users/sign_in") {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Location"))
		}
	}
	for _, path := range []string{profilePage, tokensPage, keysPage, sessionsPage + "/1/end", "/admin/users/1/block"} {
		if w := b.send("POST", path, url.Values{}); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/users/sign_in" {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Location"))
		}
	}
	banned := i.withPassword(t)
	b.signIn(banned.Username, goodPassword)
	if _, err := i.DB.Exec(t.Context(), `update users set state = $2 where id = $1`, banned.ID, user.Banned); err != nil {
		t.Fatal(err)
	}
	if s := b.get("/"); s.Code != http.StatusForbidden || !s.says("Your account has been blocked") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}
