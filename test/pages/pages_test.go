// Package pages looks at the pages of the built binary with a real browser: what they weigh, how soon they paint, whether
// the keyboard gets to the content and whether axe finds a failing rule. measure.mjs does the looking; this file makes an
// instance that has something to show.
//
// It runs when STITHY_PAGES is set, as `make pages` and `make screenshots` do: to "measure", or to the folder that
// pictures go to. STITHY_PAGES_ONLY, a regular expression, picks pages by name; with STITHY_PAGES_LOOKS=all, all of them are
// pictured on a small screen and in forced colours, too.
package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/signin/signintest"
)

const password = "correct horse 7 staple"

// page is one that is looked at.
type page struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	As     string `json:"as,omitempty"`
	Status int    `json:"status,omitempty"`
	Small  bool   `json:"small,omitempty"` // also pictured on a small screen
	Live   bool   `json:"live,omitempty"`  // changes by itself
	Large  bool   `json:"large,omitempty"` // shows a part of something large
	Send   string `json:"send,omitempty"`  // a field that is filled in and sent first
	Text   string `json:"text,omitempty"`  // with this
	Fill   fields `json:"fill,omitempty"`  // other fields that are filled in before
	Grows  bool   `json:"grows,omitempty"` // a log whose last line has no end
	Moves  bool   `json:"moves,omitempty"` // a board whose cards can be moved
	Whole  string `json:"whole,omitempty"` // a selector of what a wide screen cuts nothing off
}

// fields are what is filled in, by the names of fields.
type fields map[string]string

func TestPagesKeepTheirPromises(t *testing.T) {
	mode := os.Getenv("STITHY_PAGES")
	if mode == "" {
		return // a browser takes a while; make pages asks for it
	}
	f := start(t)
	people, pages := f.people(), f.pages()
	who, _ := json.Marshal(people)
	if only := os.Getenv("STITHY_PAGES_ONLY"); only != "" {
		pages = slices.DeleteFunc(pages, func(p page) bool { return !regexp.MustCompile(only).MatchString(p.Name) })
	}
	what, _ := json.Marshal(pages)
	ctx, cancel := context.WithTimeout(t.Context(), 18*time.Minute) // it takes six on a quiet machine
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "measure.mjs")
	cmd.Env = append(os.Environ(), "BASE="+f.url, "PEOPLE="+string(who), "PAGES="+string(what))
	if mode != "measure" {
		cmd.Env = append(cmd.Env, "SCREENSHOTS="+mode)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("a page breaks its promise: %v", err)
	}
}

// forge is a running instance.
type forge struct {
	t     *testing.T
	url   string
	token string
	sink  *mailtest.Sink
	reset string // path of a mailed link
	proof string // path of another
}

func start(t *testing.T) *forge {
	t.Helper()
	binary, err := filepath.Abs(os.Getenv("STITHY_BIN"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	// Browsers take security keys at a name only.
	f := &forge{t: t, url: "http://" + strings.Replace(address, "127.0.0.1", "localhost", 1), sink: mailtest.New(t)}
	dir := t.TempDir()
	env := append([]string{"PATH=" + os.Getenv("PATH")}, "STITHY_DATABASE_URL="+postgrestest.URL(t), "STITHY_DATABASE_MAX_CONNS=8", "STITHY_DATA_DIR="+filepath.Join(dir, "data"),
		"STITHY_LOG_LEVEL=warn", "STITHY_LISTEN="+address, "STITHY_EXTERNAL_URL="+f.url, "STITHY_PAGES_EXTERNAL_URL=http://pages.example.test", "STITHY_SMTP_URL="+f.sink.URL.Reveal(), "STITHY_MAIL_FROM=noreply@forge.example")
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("stithy %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	run("migrate")
	run("admin", "create-user", "--username", "root", "--name", "Root", "--email", "root@example.com", "--password-file", secret, "--admin")
	f.token = run("admin", "create-token", "--username", "root", "--name", "pages", "--scopes", "api,sudo")
	serve := exec.Command(binary, "serve")
	var log bytes.Buffer
	serve.Dir, serve.Env, serve.Stderr = dir, env, &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		_ = serve.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; {
		resp, err := http.Get(f.url + "/-/readiness")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return f
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("not ready: %v\n%s", err, &log)
		}
	}
}

// api calls as root, or as somebody else.
func (f *forge) api(method, path string, body map[string]any, sudo string) map[string]any {
	f.t.Helper()
	text, _ := json.Marshal(body)
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v4"+path, bytes.NewReader(text))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Private-Token", f.token)
	r.Header.Set("Content-Type", "application/json")
	if sudo != "" {
		r.Header.Set("Sudo", sudo)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	out := map[string]any{}
	answer, _ := io.ReadAll(resp.Body)
	_ = json.Unmarshal(answer, &out)
	if resp.StatusCode >= 300 {
		f.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	return out
}

// browser signs in and keeps the cookies.
type browser struct {
	f *forge
	http.Client
}

func (f *forge) browser() *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{f: f, Client: http.Client{Jar: jar}}
}

var csrf = regexp.MustCompile(`name="authenticity_token" value="([^"]+)"`)

// post sends a form from the page that shows it.
func (b *browser) post(from, to string, form url.Values) string {
	b.f.t.Helper()
	if found := csrf.FindStringSubmatch(b.read(b.Get(b.f.url + from))); found != nil {
		form.Set("authenticity_token", found[1])
	}
	return b.read(b.PostForm(b.f.url+to, form))
}

func (b *browser) read(resp *http.Response, err error) string {
	b.f.t.Helper()
	if err != nil {
		b.f.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 400 {
		b.f.t.Fatalf("%s: %d %v\n%s", resp.Request.URL, resp.StatusCode, err, text)
	}
	return string(text)
}

func (b *browser) signIn(login string) *browser {
	b.f.t.Helper()
	b.post("/users/sign_in", "/users/sign_in", url.Values{"user[login]": {login}, "user[password]": {password}})
	return b
}

type cookie struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (b *browser) cookies() (all []cookie) {
	home, _ := url.Parse(b.f.url)
	for _, c := range b.Jar.Cookies(home) {
		all = append(all, cookie{c.Name, c.Value})
	}
	return all
}

var secret = regexp.MustCompile(`id="secret">([A-Z2-7]+)<`)

// people makes accounts with something to show, and signs them in.
func (f *forge) people() map[string][]cookie {
	f.t.Helper()
	newUser := func(username, name string) {
		f.api("POST", "/users", map[string]any{
			"username": username, "name": name, "email": username + "@example.com", "password": password, "skip_confirmation": true,
		}, "")
	}
	newUser("ada", "Ada Lovelace")
	newUser("grace", "Grace Hopper")
	newUser("joan", "Joan Clarke")
	newUser("edith", "Edith Clarke")
	newUser("katherine", "Katherine Johnson")
	for n := range 30 {
		newUser(fmt.Sprintf("person%02d", n), fmt.Sprintf("Person with a rather long name, number %d", n))
	}
	f.api("POST", "/users/8/block", nil, "")
	// A token of a group has an account with a name as long as they get.
	team := f.api("POST", "/groups", map[string]any{"name": "Robots", "path": "robots"}, "ada")
	f.api("POST", fmt.Sprintf("/groups/%d/access_tokens", id(team)), map[string]any{
		"name": "deploys", "scopes": []string{"api"}, "expires_at": time.Now().AddDate(0, 1, 0).Format(time.DateOnly),
	}, "ada")
	f.api("POST", "/admin/audit_event_destinations", map[string]any{
		"name": "A collector of events with quite a long name", "destination_url": "https://192.0.32.7/audit/events/of/the/whole/instance", "active": false,
		"event_types": []string{"member_created", "member_destroyed", "project_visibility_level_updated"},
	}, "")
	for _, name := range []string{"Analytical Engine", "Notes", "A project with a name that is longer than most screens of telephones are wide"} {
		f.api("POST", "/projects", map[string]any{"name": name, "description": "What it is about, in one line."}, "ada")
	}
	ada := f.browser().signIn("ada")
	for _, name := range []string{"deploy", "laptop"} {
		ada.post("/-/user_settings/personal_access_tokens", "/-/user_settings/personal_access_tokens", url.Values{"name": {name}, "scopes": {"api", "read_user"}})
	}
	ada.post("/-/user_settings/ssh_keys", "/-/user_settings/ssh_keys", url.Values{
		"title": {"work laptop"}, "key": {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqNkJzFVOdEjmZJjWWlHdYKsOaUVe3yFSmRhX4gs3vC"},
	})
	f.browser().signIn("ada") // another session

	setup := f.browser().signIn("joan")
	const factors = "/-/user_settings/two_factor"
	found := secret.FindStringSubmatch(setup.post(factors, factors+"/begin", url.Values{"current_password": {password}}))
	if found == nil {
		f.t.Fatal("no secret is shown")
	}
	on := f.browser().signIn("grace")
	theirs := secret.FindStringSubmatch(on.post(factors, factors+"/begin", url.Values{"current_password": {password}}))
	code, err := hotp.GenerateCodeCustom(theirs[1], uint64(time.Now().Unix()/30), hotp.ValidateOpts{Digits: otp.DigitsSix})
	if err != nil {
		f.t.Fatal(err)
	}
	on.post(factors, factors+"/confirm", url.Values{"code": {code}})
	half := f.browser().signIn("grace")

	stranger := f.browser()
	stranger.post("/users/password/new", "/users/password/new", url.Values{"email": {"ada@example.com"}})
	f.reset = f.mailed()
	f.api("POST", "/users", map[string]any{"username": "late", "name": "Late", "email": "late@example.com", "password": password}, "")
	f.proof = f.mailed()
	f.api("PUT", "/users/5", map[string]any{"password": password + "!"}, "")
	expired := f.browser()
	expired.post("/users/sign_in", "/users/sign_in", url.Values{"user[login]": {"edith"}, "user[password]": {password + "!"}})
	f.api("POST", "/users/2/emails", map[string]any{"email": "countess.of.lovelace@analytical-engine.example.com", "skip_confirmation": true}, "")
	f.api("POST", "/users/2/emails", map[string]any{"email": "new@example.com"}, "")
	keyed, halfKeyed := f.browser().signIn("katherine"), f.browser()
	const keys = "/-/user_settings/two_factor/keys"
	page := keyed.post("/-/user_settings/two_factor", keys+"/begin", url.Values{"current_password": {password}})
	keyed.post("/-/user_settings/two_factor", keys, url.Values{
		"name": {"Blue key"}, "answer": {signintest.New(f.t, f.url).Register(f.t, signintest.Read(f.t, page).Challenge)},
	})
	keyed.post("/-/user_settings/two_factor", keys+"/begin", url.Values{"current_password": {password}})
	halfKeyed.signIn("katherine")
	return map[string][]cookie{
		"katherine": keyed.cookies(), "half-keyed": halfKeyed.cookies(),
		"ada": ada.cookies(), "root": f.browser().signIn("root").cookies(), "joan": setup.cookies(), "grace": on.cookies(), "half": half.cookies(),
		"edith": expired.cookies(), "person": f.browser().signIn("person00").cookies(),
	}
}

// mailed waits for a mail and returns the path of its link.
func (f *forge) mailed() string {
	f.t.Helper()
	text := f.sink.Next(f.t).Text
	_, after, found := strings.Cut(text, f.url)
	for found && !strings.HasPrefix(after, "/users/") {
		_, after, found = strings.Cut(after, f.url)
	}
	link, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(link)
}

// pages are all that people can look at.
func (f *forge) pages() []page {
	const own = "/-/user_settings/"
	return append(slices.Concat(f.applicationPages(), f.pipelinePages(), f.jobPages(), f.planningPages(), f.wikiPages(), f.snippetPages(), f.alertPages(), f.errorPages(), f.sitePages(), f.activityPages()), []page{
		{Name: "sign-in", Path: "/users/sign_in", Small: true},
		{Name: "sign-in-refused", Path: "/users/sign_in", Send: "user[password]", Text: "a wrong one", Fill: fields{"user[login]": "ada"}, Status: http.StatusUnauthorized},
		{Name: "second-factor", Path: "/users/sign_in/second_factor", As: "half"},
		{Name: "forgotten-password", Path: "/users/password/new"},
		{Name: "reset-password", Path: f.reset},
		{Name: "confirm-address", Path: f.proof},
		{Name: "resend-confirmation", Path: "/users/confirmation/new"},
		{Name: "sign-up", Path: "/users/sign_up"},
		{Name: "sign-up-refused", Path: "/users/sign_up", Send: "password", Text: password, Status: http.StatusUnprocessableEntity,
			Fill: fields{"name": "Mary", "username": "mary somerville", "email": "mary@example.com"}},
		{Name: "expired-password", Path: own + "password/new", As: "edith"},
		{Name: "home", Path: "/", As: "ada", Small: true},
		{Name: "home-empty", Path: "/", As: "person"},
		{Name: "person", Path: "/ada", As: "person", Small: true},
		{Name: "group", Path: "/groups/riverside", As: "ada", Small: true},
		{Name: "profile", Path: own + "profile", As: "ada"},
		{Name: "emails", Path: own + "emails", As: "ada", Small: true},
		{Name: "emails-one", Path: own + "emails", As: "person"},
		{Name: "notifications", Path: own + "notifications", As: "ada", Small: true},
		{Name: "notifications-project", Path: own + "notifications/projects/1", As: "ada"},
		{Name: "invitations", Path: "/-/invitations", As: "ada"},
		{Name: "password", Path: own + "password", As: "ada"},
		{Name: "tokens", Path: own + "personal_access_tokens", As: "ada", Small: true},
		{Name: "ssh-keys", Path: own + "ssh_keys", As: "ada"},
		{Name: "ssh-keys-empty", Path: own + "ssh_keys", As: "person"},
		{Name: "sessions", Path: own + "active_sessions", As: "ada"},
		{Name: "two-factor-off", Path: own + "two_factor", As: "ada"},
		{Name: "two-factor-setup", Path: own + "two_factor", As: "joan"},
		{Name: "two-factor-on", Path: own + "two_factor", As: "grace"},
		{Name: "two-factor-key", Path: own + "two_factor", As: "katherine", Small: true},
		{Name: "second-factor-key", Path: "/users/sign_in/second_factor", As: "half-keyed", Small: true},
		{Name: "users", Path: "/admin/users", As: "root", Small: true, Whole: "tbody td"},
		{Name: "users-none", Path: "/admin/users?search=nobody-of-that-name", As: "root"},
		{Name: "audit-events", Path: "/admin/audit_events", As: "root", Small: true},
		{Name: "audit-events-none", Path: "/admin/audit_events?type=nothing-like-that", As: "root"},
		{Name: "audit-event", Path: "/admin/audit_events/1", As: "root"},
		{Name: "audit-streams", Path: "/admin/audit_events/streams", As: "root", Small: true},
		{Name: "audit-streams-none", Path: "/groups/robots/-/audit_events/streams", As: "ada"},
		{Name: "audit-events-group", Path: "/groups/robots/-/audit_events", As: "ada", Small: true},
		{Name: "not-found", Path: "/nothing/here", As: "ada", Status: http.StatusNotFound},
	}...)
}
