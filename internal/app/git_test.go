package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// TestMain lets git call this program back.
func TestMain(m *testing.M) {
	if gitstore.IsHook(os.Args[0]) {
		os.Exit(gitstore.Hook(os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

const (
	fetches = "git-upload-pack"
	pushes  = "git-receive-pack"

	saysDenied = "HTTP Basic: Access denied. The provided password or token is incorrect or your account has 2FA enabled and you must use " +
		"a personal access token instead of a password. See https://forge.example/-/user_settings/personal_access_tokens"
	saysNoProject = "The project you were looking for could not be found or you don't have permission to view it."
	saysNoUpload  = "You are not allowed to upload code."
	saysNoCode    = "You are not allowed to download code."
	saysNoFetch   = "You are not allowed to download code from this project."
	saysNoPush    = "You are not allowed to push code to this project."
)

// doors is an instance with a private group, a project for everyone, one for
// members and one more of another group; and a person for each role in the
// first two.
type doors struct {
	*instance
	house               *group.Group
	open, hidden, other *project.Project
	people              map[access.Role]*user.User // NoRole is a stranger
}

func newDoors(t testing.TB, environ ...string) *doors {
	t.Helper()
	d := &doors{instance: newInstance(t, environ...), people: map[access.Role]*user.User{}}
	d.house = grouptest.New(t, d.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	elsewhere := grouptest.New(t, d.DB, grouptest.Named("elsewhere"), grouptest.Visible(access.Public))
	d.open = projecttest.New(t, d.DB, d.house.ID, projecttest.Named("open"), projecttest.Visible(access.Public))
	d.hidden = projecttest.New(t, d.DB, d.house.ID, projecttest.Named("hidden"))
	d.other = projecttest.New(t, d.DB, elsewhere.ID, projecttest.Named("other"))
	for _, p := range []*project.Project{d.open, d.hidden, d.other} {
		repositorytest.New(t, d.DB, d.Store, p, repositorytest.Files{"readme": "hello\n"})
	}
	d.people[access.NoRole] = usertest.New(t, d.DB, usertest.Named("stranger"))
	for _, role := range access.Roles {
		u := usertest.New(t, d.DB, usertest.Named(fmt.Sprintf("role%d", role)))
		projecttest.Join(t, d.DB, d.open, u, role)
		projecttest.Join(t, d.DB, d.hidden, u, role)
		d.people[role] = u
	}
	return d
}

// knock asks for the refs of a path, with credentials unless both are empty.
func (d *doors) knock(service, path, name, secret string) *httptest.ResponseRecorder {
	return d.do("GET", "/"+path+".git/info/refs?service="+service, nil, func(r *http.Request) {
		if name != "" || secret != "" {
			r.SetBasicAuth(name, secret)
		}
	})
}

// api calls the API as an administrator and reads one member of the answer.
func (d *doors) api(t testing.TB, method, path string, body any, member string) string {
	t.Helper()
	w := d.do(method, "/api/v4"+path, body, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", d.token(t, d.root, access.ScopeAPI)) })
	if w.Code >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if member == "" {
		return ""
	}
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(answer[member])
}

func (d *doors) set(t testing.TB, settings map[string]any) {
	t.Helper()
	d.api(t, "PUT", "/application/settings", settings, "")
}

func (d *doors) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := d.DB.Exec(context.WithoutCancel(t.Context()), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func below(p *project.Project, below string) string {
	return fmt.Sprintf("/projects/%d%s", p.ID, below)
}

// want checks an answer: status, text of a refusal, and whether git is asked
// for credentials.
func want(t *testing.T, what string, w *httptest.ResponseRecorder, status int, text string, asked bool) {
	t.Helper()
	header := w.Header().Get("Www-Authenticate")
	switch {
	case w.Code != status:
		t.Errorf("%s: %d %s, want %d", what, w.Code, w.Body, status)
	case status != 200 && w.Body.String() != text:
		t.Errorf("%s: %q, want %q", what, w.Body, text)
	case asked && header != `Basic realm="Svc"`, !asked && header != "":
		t.Errorf("%s: the challenge is %q", what, header)
	case status != 200 && w.Header().Get("Content-Type") != "text/plain; charset=utf-8":
		t.Errorf("%s: the type is %q", what, w.Header().Get("Content-Type"))
	}
}

func TestGitTakesCredentialsInTheirOrderAndByTheirScopes(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	dev := d.people[access.Developer]
	token := func(scopes ...access.Scope) string { return d.token(t, dev, scopes...) }
	expired, revoked := token(access.ScopeAPI), token(access.ScopeAPI)
	d.exec(t, `update personal_access_tokens set expires_at = current_date - 1 where id = (select max(id) - 1 from personal_access_tokens)`)
	if w := d.do("DELETE", "/api/v4/personal_access_tokens/self", nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", revoked) }); w.Code != 204 {
		t.Fatal(w.Code, w.Body)
	}
	blocked := usertest.New(t, d.DB)
	ofBlocked := d.token(t, blocked, access.ScopeAPI)
	d.exec(t, `update users set state = 'blocked' where id = $1`, blocked.ID)

	bot := func(place string, level int, scopes ...string) string {
		return d.api(t, "POST", place+"/access_tokens", map[string]any{
			"name": "bot", "scopes": scopes, "access_level": level, "expires_at": time.Now().AddDate(0, 1, 0).Format(time.DateOnly),
		}, "token")
	}
	deploy := func(place, name string, scopes ...string) string {
		return d.api(t, "POST", place+"/deploy_tokens", map[string]any{"name": "d", "username": name, "scopes": scopes}, "token")
	}
	house := fmt.Sprintf("/groups/%d", d.house.ID)
	bot30, groupBot := bot(below(d.hidden, ""), 30, "write_repository"), bot(house, 20, "read_repository")
	fetcher, blind, groupFetcher := deploy(below(d.hidden, ""), "machine", "read_repository"), deploy(below(d.hidden, ""), "blind", "read_registry"),
		deploy(house, "house", "read_repository")
	late := deploy(below(d.hidden, ""), "late", "read_repository")
	d.exec(t, `update deploy_tokens set expires_at = '2020-01-01' where username = 'late'`)

	pat := d.withPassword(t, usertest.Named("pat"))
	projecttest.Join(t, d.DB, d.hidden, pat, access.Developer)
	ofPat := func() string {
		w := d.do("POST", "/oauth/token", map[string]any{"grant_type": "password", "username": "pat", "password": goodPassword}, nil)
		var answer struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.AccessToken == "" {
			t.Fatal(w.Code, w.Body)
		}
		return answer.AccessToken
	}()

	for _, c := range []struct {
		what, name, secret, path string
		fetch, push              int
		fetchText, pushText      string
	}{
		{"nobody, of what is open", "", "", "house/open", 200, 401, "", saysDenied},
		{"nobody, of what is hidden", "", "", "house/hidden", 401, 401, saysDenied, saysDenied},
		{"nobody, of nothing", "", "", "house/nothing", 401, 401, saysDenied, saysDenied},
		{"api", "whoever", token(access.ScopeAPI), "house/hidden", 200, 200, "", ""},
		{"api, without a name", "", token(access.ScopeAPI), "house/hidden", 200, 200, "", ""},
		{"api, as oauth2", "oauth2", token(access.ScopeAPI), "house/hidden", 200, 200, "", ""},
		{"api, with the name of jobs", "gitlab-ci-token", token(access.ScopeAPI), "house/hidden", 200, 200, "", ""},
		{"read_api", "x", token(access.ScopeReadAPI), "house/hidden", 200, 403, "", saysNoUpload},
		{"read_repository", "x", token(access.ScopeReadRepository), "house/hidden", 200, 403, "", saysNoUpload},
		{"write_repository", "x", token(access.ScopeWriteRepository), "house/hidden", 200, 200, "", ""},
		{"read_user", "x", token(access.ScopeReadUser), "house/hidden", 403, 403, saysNoCode, saysNoUpload},
		{"read_user, of what is open", "x", token(access.ScopeReadUser), "house/open", 403, 403, saysNoCode, saysNoUpload},
		{"create_runner and k8s_proxy", "x", token(access.ScopeCreateRunner, access.ScopeK8sProxy), "house/hidden", 403, 403, saysNoCode, saysNoUpload},
		{"sudo", "x", d.token(t, d.root, access.ScopeSudo), "house/hidden", 403, 403, saysNoCode, saysNoUpload},
		{"expired", "x", expired, "house/hidden", 401, 401, saysDenied, saysDenied},
		{"expired, of what is open", "x", expired, "house/open", 401, 401, saysDenied, saysDenied},
		{"revoked", "x", revoked, "house/hidden", 401, 401, saysDenied, saysDenied},
		{"made up, of what is open", "x", "svcpat-" + strings.Repeat("a", 20), "house/open", 401, 401, saysDenied, saysDenied},
		{"blocked", "x", ofBlocked, "house/open", 403, 403, "Your account has been blocked.", "Your account has been blocked."},
		{"the token of a project", "x", bot30, "house/hidden", 200, 200, "", ""},
		{"the token of a project, elsewhere", "x", bot30, "elsewhere/other", 404, 404, saysNoProject, saysNoProject},
		{"the token of a group", "oauth2", groupBot, "house/hidden", 200, 403, "", saysNoUpload},
		{"a deploy token", "machine", fetcher, "house/hidden", 200, 403, "", saysNoUpload},
		{"a deploy token under another name", "other", fetcher, "house/hidden", 401, 401, saysDenied, saysDenied},
		{"a deploy token, elsewhere", "machine", fetcher, "elsewhere/other", 404, 404, saysNoProject, saysNoProject},
		{"a deploy token for images", "blind", blind, "house/hidden", 403, 403, saysNoCode, saysNoUpload},
		{"a deploy token of the group", "house", groupFetcher, "house/hidden", 200, 403, "", saysNoUpload},
		{"an expired deploy token", "late", late, "house/hidden", 401, 401, saysDenied, saysDenied},
		{"OAuth", "oauth2", ofPat, "house/hidden", 200, 200, "", ""},
		{"OAuth under another name", "pat", ofPat, "house/hidden", 401, 401, saysDenied, saysDenied},
		{"a password", "pat", goodPassword, "house/hidden", 200, 200, "", ""},
		{"a password and an address", "pat@example.com", goodPassword, "house/hidden", 200, 200, "", ""},
		{"a wrong password", "pat", "wrong", "house/hidden", 401, 401, saysDenied, saysDenied},
		{"an unknown name", "nobody", goodPassword, "house/hidden", 401, 401, saysDenied, saysDenied},
		{"a guest", "x", d.token(t, d.people[access.Guest], access.ScopeAPI), "house/hidden", 403, 403, saysNoFetch, saysNoPush},
		{"a reporter", "x", d.token(t, d.people[access.Reporter], access.ScopeAPI), "house/hidden", 200, 403, "", saysNoPush},
		{"a stranger, of what is open", "x", d.token(t, d.people[access.NoRole], access.ScopeAPI), "house/open", 200, 403, "", saysNoPush},
		{"a stranger, of what is hidden", "x", d.token(t, d.people[access.NoRole], access.ScopeAPI), "house/hidden", 404, 404, saysNoProject, saysNoProject},
		{"a stranger, of nothing", "x", d.token(t, d.people[access.NoRole], access.ScopeAPI), "house/nothing", 404, 404, saysNoProject, saysNoProject},
	} {
		want(t, c.what+", to fetch", d.knock(fetches, c.path, c.name, c.secret), c.fetch, c.fetchText, c.fetch == 401)
		want(t, c.what+", to push", d.knock(pushes, c.path, c.name, c.secret), c.push, c.pushText, c.push == 401)
	}

	bearer := d.do("GET", "/house/hidden.git/info/refs?service="+fetches, nil, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token(access.ScopeAPI))
	})
	want(t, "a bearer", bearer, 401, saysDenied, true)
}

// No password opens git for someone who has, or needs, a second factor; and
// git is not told to ask for another one.
func TestAPasswordIsNotTakenByGitWhereASecondFactorIsAskedFor(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	pat := d.withPassword(t, usertest.Named("pat"))
	want(t, "a password", d.knock(fetches, "house/open", "pat", goodPassword), 200, "", false)
	for _, setting := range []string{"password_authentication_enabled_for_git", "require_two_factor_authentication"} {
		d.set(t, map[string]any{setting: setting[0] == 'r', "two_factor_grace_period": 0})
		want(t, setting, d.knock(fetches, "house/open", "pat", goodPassword), 401, saysDenied, false)
		d.set(t, map[string]any{setting: setting[0] != 'r', "two_factor_grace_period": 0})
	}
	d.exec(t, `update users set two_factor_enabled = true where id = $1`, pat.ID)
	want(t, "with a second factor", d.knock(fetches, "house/open", "pat", goodPassword), 401, saysDenied, false)
	want(t, "a token instead", d.knock(fetches, "house/open", "pat", d.token(t, pat, access.ScopeAPI)), 200, "", false)
}

func TestGitIsToldWhyARepositoryIsClosed(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	boss := d.token(t, d.people[access.Maintainer], access.ScopeAPI)
	knock := func(service string) *httptest.ResponseRecorder { return d.knock(service, "house/hidden", "x", boss) }

	want(t, "another service", knock("git-upload-archive"), 403, "The command you're trying to execute is not allowed.", false)
	head := d.do("HEAD", "/house/hidden.git/info/refs?service="+fetches, nil, func(r *http.Request) { r.SetBasicAuth("x", boss) })
	if head.Code != 403 {
		t.Errorf("HEAD: %d", head.Code)
	}
	d.exec(t, `update repositories set read_only = true where project_id = $1`, d.hidden.ID)
	want(t, "while it moves, to fetch", knock(fetches), 200, "", false)
	want(t, "while it moves, to push", knock(pushes), 403, "The repository is temporarily read-only. Please try again later.", false)
	d.exec(t, `update repositories set read_only = false, state = 'failed' where project_id = $1`, d.hidden.ID)
	want(t, "without a repository", knock(fetches), 404, "A repository for this project does not exist yet.", false)
	d.exec(t, `update repositories set state = 'ready' where project_id = $1`, d.hidden.ID)
	d.api(t, "POST", below(d.hidden, "/archive"), nil, "")
	want(t, "archived, to fetch", knock(fetches), 200, "", false)
	want(t, "archived, to push", knock(pushes), 403, saysNoPush, false)
	d.set(t, map[string]any{"enabled_git_access_protocol": "ssh"})
	want(t, "by SSH alone", knock(fetches), 403, "Git access over HTTP is not allowed", false)
}

func TestAPushToAFreePathOfOnesOwnMakesAPrivateProject(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	grouptest.Personal(t, d.DB, d.ann)
	secret := d.token(t, d.ann, access.ScopeAPI)
	want(t, "to fetch", d.knock(fetches, "ann/tool", "x", secret), 404, saysNoProject, false)
	want(t, "to push with a token that reads", d.knock(pushes, "ann/tool", "x", d.token(t, d.ann, access.ScopeReadRepository)), 404, saysNoProject, false)
	want(t, "to push", d.knock(pushes, "ann/tool", "x", secret), 200, "", false)
	if w := d.knock(pushes, "ann/-x-", "x", secret); w.Code != 422 || w.Body.Len() == 0 {
		t.Errorf("a path that cannot be: %d %s", w.Code, w.Body)
	}
	want(t, "to push where others are", d.knock(pushes, "house/new", "x", secret), 404, saysNoProject, false)
	visibility, err := postgres.Value[access.Visibility](t.Context(), d.DB, `select visibility from projects where path = 'tool'`)
	if err != nil || visibility != access.Private {
		t.Errorf("got %v %v", visibility, err)
	}
}

// Whoever pushes to an address that is free hears that this made a project, and
// a push of a branch names no page that is not there.
func TestWhoeverPushesToAFreePathIsTold(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	grouptest.Personal(t, d.DB, d.ann)
	server := httptest.NewServer(d.handler)
	t.Cleanup(server.Close)
	overSSH := d.startSSH(t)
	for way, remote := range map[string]string{
		"http": strings.Replace(server.URL, "://", "://x:"+d.token(t, d.ann, access.ScopeAPI)+"@", 1) + "/ann/http.git",
		"ssh":  overSSH.address("ann/ssh"),
	} {
		c := newClient(t, overSSH.as(t, d.ann)...)
		out := c.must("push", remote, "HEAD:main")
		for _, line := range []string{
			"The private project ann/" + way + " was successfully created.", "To configure the remote, run:", "git remote add origin ",
			"To view the project, visit:", "https://forge.example/ann/" + way,
		} {
			if !strings.Contains(out, line) {
				t.Errorf("%s: %q is missing in\n%s", way, line, out)
			}
		}
		c.commit("more", "text")
		for _, branch := range []string{"main", "side"} {
			if out := c.must("push", remote, "HEAD:"+branch); strings.Contains(out, "created") || strings.Contains(out, "remote:") {
				t.Errorf("%s: a push to %s says\n%s", way, branch, out)
			}
		}
	}
}

// What is no text finds nothing, and is no fault of the server.
func TestGI17_TextThatNoDatabaseTakesIsRefused(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t)
	signer, _ := d.keyOf(t, d.people[access.Developer])
	for _, text := range []string{"\xff", "a\x00b", "caf\xe9", "\xed\xa0\x80"} {
		want(t, fmt.Sprintf("a name %q", text), d.knock(fetches, "house/open", text, "secret"), 401, saysDenied, true)
		want(t, fmt.Sprintf("a secret %q", text), d.knock(fetches, "house/open", "x", text), 401, saysDenied, true)
		for _, command := range []string{"git-upload-pack '" + text + "/x.git'", "git-receive-pack 'house/" + text + "'", "git-lfs-authenticate '" + text + "' upload"} {
			if _, said, err := s.run(t, command, signer); err == nil || said != "The command you're trying to execute is not allowed." {
				t.Errorf("%q: %v %q", command, err, said)
			}
		}
	}
	if log := d.log.text(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, `"level":"WARN"`) {
		t.Errorf("the log says %s", log)
	}
}

// What the doors of git say to whom they refuse leads to a page.
func TestTheHelpOfARefusalIsAPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	_, address, _ := strings.Cut(saysDenied, "See https://forge.example")
	b, _ := d.signedIn(t, access.Developer)
	if p := b.get(address); p.Code != 200 || p.path != address {
		t.Errorf("%s answers %d at %s", address, p.Code, p.path)
	}
}

// A repository that cannot be reached is 503, and one line of the log says why.
func TestWhyARepositoryIsUnavailableIsLogged(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	s := d.startSSH(t)
	signer, _ := d.keyOf(t, d.people[access.Developer])
	root := filepath.Join(d.Config.DataDir, "repositories")
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	lines := func() int { return strings.Count(d.log.text(), "is not what was opened") }
	for what, ask := range map[string]func() bool{
		"the API": func() bool { return d.do("GET", "/api/v4"+below(d.open, "/repository/tree"), nil, nil).Code == 503 },
		"git":     func() bool { return d.knock(fetches, "house/open", "", "").Code == 503 },
		"SSH": func() bool {
			_, said, err := s.run(t, "git-upload-pack 'house/open.git'", signer)
			return err != nil && strings.Contains(said, "cannot be reached")
		},
	} {
		before := lines()
		if !ask() {
			t.Errorf("%s: it is not unavailable", what)
		}
		if n := lines() - before; n != 1 {
			t.Errorf("%s: %d lines say why", what, n)
		}
	}
}

// PE-09 at the doors of git: a hidden project is answered like one that is not
// there, to whom it is hidden.
func TestPE09_GitDoorsAnswerForTheHiddenAsForTheMissing(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	repositorytest.New(t, d.DB, d.Store, projecttest.New(t, d.DB, d.house.ID, projecttest.Named("shadow")), repositorytest.Files{"a": "1"})
	stranger := d.token(t, d.people[access.NoRole], access.ScopeAPI)
	machine := d.api(t, "POST", below(d.other, "/deploy_tokens"), map[string]any{"name": "d", "username": "machine", "scopes": []string{"read_repository"}}, "token")
	batch := map[string]any{"operation": "download", "objects": []any{map[string]any{"oid": strings.Repeat("a", 64), "size": 1}}}
	for _, who := range [][2]string{{"", ""}, {"x", stranger}, {"machine", machine}, {"x", "wrong"}} {
		for _, c := range []struct {
			method, below, kind string
			body                any
		}{
			{"GET", "info/refs?service=" + fetches, "", nil}, {"GET", "info/refs?service=" + pushes, "", nil}, {"GET", "info/refs", "", nil},
			{"POST", fetches, "application/x-git-upload-pack-request", nil}, {"POST", pushes, "application/x-git-receive-pack-request", nil},
			{"POST", "info/lfs/objects/batch", "application/vnd.git-lfs+json", batch}, {"GET", "info/lfs/locks", "", nil},
			{"POST", "info/lfs/locks", "application/vnd.git-lfs+json", map[string]any{"path": "a"}},
			{"GET", "svc-lfs/objects/" + strings.Repeat("a", 64), "", nil}, {"PUT", "svc-lfs/objects/" + strings.Repeat("a", 64) + "/1", "", nil},
			{"GET", "HEAD", "", nil}, {"GET", "objects/info/packs", "", nil},
		} {
			answer := func(path string) string {
				w := d.do(c.method, "/house/"+path+".git/"+c.below, c.body, func(r *http.Request) {
					if who[1] != "" {
						r.SetBasicAuth(who[0], who[1])
					}
					if c.kind != "" {
						r.Header.Set("Content-Type", c.kind)
					}
				})
				w.Header().Del("X-Request-Id")
				return fmt.Sprint(w.Code, w.Header(), w.Body)
			}
			hidden, missing := answer("shadow"), answer("sorrow")
			if hidden != missing {
				t.Errorf("%s %s by %q:\n%s\n%s", c.method, c.below, who[0], hidden, missing)
			}
			if strings.HasPrefix(hidden, "2") {
				t.Errorf("%s %s by %q: %s", c.method, c.below, who[0], hidden)
			}
		}
	}
}

// GI-05: what is run needs the right that it needs, at each door and by each
// verb. The matrix of roles says what to expect.
func TestGI05_EachServiceAsksForItsRightOverHTTP(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	reads := func(role access.Role) bool { return role >= access.Reporter }
	writes := func(role access.Role) bool { return role >= access.Developer }
	const lfs = "application/vnd.git-lfs+json"
	oid := strings.Repeat("b", 64)
	for _, c := range []struct {
		method, below, kind, body string
		may                       func(access.Role) bool
	}{
		{"GET", "info/refs?service=" + fetches, "", "", reads}, {"GET", "info/refs?service=" + pushes, "", "", writes},
		{"POST", fetches, "application/x-git-upload-pack-request", "0000", reads},
		{"POST", pushes, "application/x-git-receive-pack-request", "0000", writes},
		{"POST", "info/lfs/objects/batch", lfs, `{"operation":"download","objects":[]}`, reads},
		{"POST", "info/lfs/objects/batch", lfs, `{"operation":"upload","objects":[]}`, writes},
		{"GET", "info/lfs/locks", "", "", reads},
		{"POST", "info/lfs/locks", lfs, `{"path":"f"}`, writes},
		{"POST", "info/lfs/locks/verify", lfs, `{}`, writes},
		{"POST", "info/lfs/locks/999/unlock", lfs, `{}`, writes},
		{"GET", "svc-lfs/objects/" + oid, "", "", reads},
		{"PUT", "svc-lfs/objects/" + oid + "/1", "application/octet-stream", "x", writes},
	} {
		for role, u := range d.people {
			if role == access.NoRole {
				continue // PE-09
			}
			for _, scope := range []access.Scope{access.ScopeAPI, access.ScopeReadRepository, access.ScopeReadUser} {
				r := httptest.NewRequest(c.method, "/house/hidden.git/"+c.below, strings.NewReader(c.body))
				r.RemoteAddr = "127.0.0.1:4711"
				r.SetBasicAuth("x", d.token(t, u, scope))
				if c.kind != "" {
					r.Header.Set("Content-Type", c.kind)
				}
				w := httptest.NewRecorder()
				d.handler.ServeHTTP(w, r)
				may := c.may(role) && (scope == access.ScopeAPI || scope == access.ScopeReadRepository && c.may(access.Reporter))
				refused := w.Code == 401 || w.Code == 403
				if refused == may || w.Code >= 500 {
					t.Errorf("%s %s %s as %d with %s: %d %s, should be let in: %t", c.method, c.below, c.body, role, scope, w.Code, w.Body, may)
				}
			}
		}
	}
}

// line is one line of git's protocol.
func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// GI-04: push options are data of a few known keys. Whatever else comes with a
// push leaves no trace, and changes nothing about the push itself.
func TestGI04_PushOptionsAreAFewKnownKeys(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	repo := d.Store.Repo(gitstore.KeyOf("default", d.hidden.ID, 0))
	secret := d.token(t, d.people[access.Developer], access.ScopeAPI)
	push := func(branch string, options ...string) string {
		old := repositorytest.Commit(t, repo, branch, "To go", repositorytest.Files{"x": branch})
		body := line(string(old)+" "+string(gitstore.Zero)+" refs/heads/"+branch+"\x00report-status side-band-64k push-options object-format=sha1 agent=t") + "0000"
		for _, option := range options {
			body += line(option)
		}
		r := httptest.NewRequest("POST", "/house/hidden.git/"+pushes, strings.NewReader(body+"0000"))
		r.RemoteAddr = "127.0.0.1:4711"
		r.SetBasicAuth("x", secret)
		r.Header.Set("Content-Type", "application/x-git-receive-pack-request")
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, r)
		return w.Body.String()
	}
	said := push("one", "ci.skip", "ci.variable=A=1\nX-Owner: root", "ci.variable=B=2", "push.uid=1", "X-Git-Uid: 1", "repo.private=false", "topic=x",
		"merge_request.title=a\x00b", "merge_request.title="+strings.Repeat("t", 1500), "ci.variable=C=\x1b[31m", "ci.variable=D=\xed\xa0\x80", "CI.SKIP", "merge_request.create=\r\n", "")
	if !strings.Contains(said, "ok refs/heads/one") {
		t.Fatalf("got %q", said)
	}
	stored, err := postgres.Value[[]string](t.Context(), d.DB, `select options from pushes order by id desc limit 1`)
	if diff := cmp.Diff([]string{"ci.skip", "ci.variable=B=2"}, stored); diff != "" || err != nil {
		t.Error(err, diff)
	}
	before, err := postgres.Value[int](t.Context(), d.DB, `select count(*) from pushes`)
	if err != nil {
		t.Fatal(err)
	}
	if said := push("many", slices.Repeat([]string{"ci.skip"}, 51)...); strings.Contains(said, "ok refs/heads/many") {
		t.Errorf("got %q", said)
	}
	if said := push("long", "ci.variable="+strings.Repeat("v", 3000)); strings.Contains(said, "ok refs/heads/long") {
		t.Errorf("got %q", said)
	}
	after, err := postgres.Value[int](t.Context(), d.DB, `select count(*) from pushes`)
	if err != nil || after != before {
		t.Errorf("%d pushes, then %d; %v", before, after, err)
	}
}

// client is a working tree with a commit, and a git that knows a door.
type client struct {
	t   testing.TB
	dir string
	env []string
}

func newClient(t testing.TB, env ...string) *client {
	t.Helper()
	c := &client{t: t, dir: t.TempDir(), env: env}
	c.must("init", "-q", "-b", "main")
	c.commit("readme", "hello")
	return c
}

func (c *client) git(args ...string) (string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(c.t.Context()), "git", args...)
	cmd.Dir = c.dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@example.com",
	}, c.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *client) must(args ...string) string {
	c.t.Helper()
	out, err := c.git(args...)
	if err != nil {
		c.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

func (c *client) commit(name, content string) string {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.must("add", ".")
	c.must("commit", "-qm", name)
	return c.must("rev-parse", "HEAD")
}

// refs are all refs of a repository on the disk, hidden ones included.
func refs(t testing.TB, repo *gitstore.Repo) string {
	t.Helper()
	var all strings.Builder
	found, _, err := repo.Refs(context.WithoutCancel(t.Context()), gitstore.RefQuery{Prefix: "refs/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		all.WriteString(r.Name + " " + string(r.Target) + "\n")
	}
	return all.String()
}

// GI-06: rules hold at the doors of git, for every ref of a push: one refusal
// and nothing moves.
func TestGI06_OneRefusedRefOfAPushRefusesAll(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	server := httptest.NewServer(d.handler)
	t.Cleanup(server.Close)
	overSSH := d.startSSH(t)
	dev, boss := d.people[access.Developer], d.people[access.Maintainer]
	remote := func(u *user.User) string {
		return strings.Replace(server.URL, "://", "://x:"+d.token(t, u, access.ScopeAPI)+"@", 1) + "/house/hidden.git"
	}
	repo := d.Store.Repo(gitstore.KeyOf("default", d.hidden.ID, 0))
	d.api(t, "POST", below(d.hidden, "/protected_branches"), map[string]any{"name": "main", "push_access_level": 40}, "")
	d.api(t, "POST", below(d.hidden, "/protected_branches"), map[string]any{"name": "release/*", "push_access_level": 0, "merge_access_level": 40}, "")
	d.api(t, "POST", below(d.hidden, "/protected_tags"), map[string]any{"name": "v*"}, "")

	setUp := newClient(t)
	setUp.must("fetch", "-q", remote(boss), "main")
	setUp.must("reset", "-q", "--hard", "FETCH_HEAD")
	setUp.commit("first", "of the maintainer")
	setUp.must("push", "-q", remote(boss), "HEAD:main", "HEAD:work", "HEAD:refs/tags/v1", "HEAD:refs/tags/free")
	for _, way := range []string{"http", "ssh"} {
		c := newClient(t)
		to := remote(dev)
		if way == "ssh" {
			c.env, to = overSSH.as(t, dev), overSSH.address("house/hidden")
		}
		c.must("fetch", "-q", to, "main")
		c.must("reset", "-q", "--hard", "FETCH_HEAD")
		c.commit("mine", way)
		c.must("tag", "-a", "-m", "inner", "inner")
		c.must("tag", "-a", "-m", "outer", "outer", "inner")
		before := refs(t, repo)
		for _, refused := range []struct {
			why  string
			refs []string
		}{
			{"You are not allowed to push code to protected branches on this project.", []string{"HEAD:refs/heads/main"}},
			{"You are not allowed to create protected branches on this project.", []string{"HEAD:refs/heads/release/1"}},
			{"You are not allowed to force push code to a protected branch on this project.", []string{"+HEAD~2:refs/heads/main"}},
			{"The default branch of a project cannot be deleted.", []string{":refs/heads/main"}},
			{"Protected tags cannot be updated.", []string{"+HEAD:refs/tags/v1"}},
			{"You are not allowed to delete protected tags from this project.", []string{":refs/tags/v1"}},
			{"You are not allowed to create this tag as it is protected.", []string{"HEAD:refs/tags/v2"}},
			{"You are not allowed to create this tag as it is protected.", []string{"outer:refs/tags/v3"}},
			{"You cannot create a branch with a 40-character hexadecimal branch name.", []string{"HEAD:refs/heads/" + strings.Repeat("a", 40)}},
			{"", []string{"HEAD:refs/merge-requests/1/head"}}, {"", []string{"HEAD:refs/pipelines/1"}}, {"", []string{"HEAD:refs/keep-around/x"}},
			{"", []string{"HEAD:refs/environments/x"}}, {"", []string{"HEAD:refs/replace/" + strings.Repeat("a", 40)}}, {"", []string{"HEAD:refs/tmp/x"}},
		} {
			args := append([]string{"push", "--no-thin", to, "HEAD:refs/heads/fine-" + way}, refused.refs...)
			out, err := c.git(args...)
			if err == nil || !strings.Contains(out, refused.why) || refused.why != "" && !strings.Contains(out, "remote: Svc: ") {
				t.Errorf("%s: %q: %v %s", way, refused.refs, err, out)
			}
			if after := refs(t, repo); after != before {
				t.Fatalf("%s: %q moved refs: %s", way, refused.refs, cmp.Diff(before, after))
			}
		}
		c.must("push", "-q", to, "HEAD:refs/heads/fine-"+way, "outer:refs/tags/nested-"+way, "HEAD:refs/notes/of-"+way)
		if out := c.must("ls-remote", to, "refs/notes/*"); !strings.Contains(out, "refs/notes/of-"+way) {
			t.Errorf("%s: notes are not shown: %s", way, out)
		}
		if out, err := c.git("push", to, "+HEAD:refs/heads/work", ":refs/tags/free"); err != nil {
			t.Errorf("%s: what is free: %v %s", way, err, out)
		}
		d.api(t, "POST", below(d.hidden, "/repository/tags?tag_name=free&ref=main"), nil, "")
	}
}

func TestAFormerPathLeadsToTheProjectAndTheClientIsTold(t *testing.T) {
	t.Parallel()
	d := newDoors(t, "STITHY_SSH_PORT=2222")
	server := httptest.NewServer(d.handler)
	t.Cleanup(server.Close)
	overSSH := d.startSSH(t)
	boss := d.people[access.Maintainer]
	base := strings.Replace(server.URL, "://", "://x:"+d.token(t, boss, access.ScopeAPI)+"@", 1)
	if got := d.api(t, "GET", below(d.hidden, ""), nil, "ssh_url_to_repo"); got != "ssh://git@forge.example:2222/house/hidden.git" {
		t.Errorf("got %s", got)
	}
	d.api(t, "PUT", below(d.hidden, ""), map[string]any{"path": "found"}, "")
	for n, c := range []struct{ remote, address string }{
		{base + "/house/hidden.git", "https://forge.example/house/found.git"},
		{overSSH.address("house/hidden"), "ssh://git@forge.example:2222/house/found.git"},
	} {
		git := newClient(t, overSSH.as(t, boss)...)
		for _, args := range [][]string{{"fetch", c.remote, "main"}, {"push", c.remote, "HEAD:refs/heads/b" + strconv.Itoa(n)}} {
			out, err := git.git(args...)
			if err != nil || !strings.Contains(out, "Project 'house/hidden' was moved to 'house/found'.") || !strings.Contains(out, c.address) {
				t.Errorf("git %q: %v %s", args, err, out)
			}
		}
	}
	d.api(t, "POST", "/projects", map[string]any{"name": "Taker", "path": "hidden", "namespace_id": d.house.ID}, "")
	if w := d.knock(fetches, "house/hidden", "x", d.token(t, boss, access.ScopeAPI)); w.Code != 404 {
		t.Errorf("the path of another leads to %d", w.Code)
	}
}

// RE-06: an archive is kept once and given to those who may have it, each time
// they ask.
func TestRE06_OneKeptArchiveAsksEachReader(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	route := "/api/v4" + below(d.hidden, "/repository/archive.tar")
	ask := func(u *user.User) *httptest.ResponseRecorder {
		return d.do("GET", route, nil, func(r *http.Request) {
			if u != nil {
				r.Header.Set("PRIVATE-TOKEN", d.token(t, u, access.ScopeReadAPI))
			}
		})
	}
	first := ask(d.people[access.Reporter])
	if first.Code != 200 || !bytes.Contains(first.Body.Bytes(), []byte("hello")) {
		t.Fatal(first.Code, first.Body)
	}
	kept, err := filepath.Glob(filepath.Join(d.Config.CacheDir, "archives", "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept are %q, %v", kept, err)
	}
	for who, u := range map[string]*user.User{"a stranger": d.people[access.NoRole], "nobody": nil} {
		if w := ask(u); w.Code != 404 || bytes.Contains(w.Body.Bytes(), []byte("hello")) {
			t.Errorf("%s gets %d %s", who, w.Code, w.Body)
		}
	}
	if w := ask(d.people[access.Guest]); w.Code != 403 {
		t.Errorf("a guest gets %d %s", w.Code, w.Body)
	}
	if again := ask(d.people[access.Developer]); again.Code != 200 || !bytes.Equal(again.Body.Bytes(), first.Body.Bytes()) {
		t.Errorf("another reader gets %d", again.Code)
	}
	d.exec(t, `delete from members where user_id = $1`, d.people[access.Reporter].ID)
	if w := ask(d.people[access.Reporter]); w.Code != 404 {
		t.Errorf("who left gets %d", w.Code)
	}
}

// Guessing at git is bounded where the operator says so; the name of jobs is
// exempt, since runners of a whole company come from one address.
func TestGuessingAtGitClosesTheDoorToAnAddress(t *testing.T) {
	t.Parallel()
	d := newDoors(t, "STITHY_GIT_BAN_FAILURES=3")
	good := d.token(t, d.people[access.Developer], access.ScopeAPI)
	knock := func(from, name, secret string) *httptest.ResponseRecorder {
		return d.do("GET", "/house/open.git/info/refs?service="+fetches, nil, func(r *http.Request) {
			r.RemoteAddr = from + ":1"
			r.SetBasicAuth(name, secret)
		})
	}
	for range 5 {
		want(t, "a job", knock("192.0.2.1", "gitlab-ci-token", "wrong"), 401, saysDenied, true)
	}
	for range 2 {
		want(t, "a guess", knock("192.0.2.1", "x", "wrong"), 401, saysDenied, true)
	}
	want(t, "a success", knock("192.0.2.1", "x", good), 200, "", false)
	for range 3 {
		want(t, "a guess", knock("192.0.2.1", "x", "wrong"), 401, saysDenied, true)
	}
	want(t, "whoever comes from there", knock("192.0.2.1", "x", good), 403, "Forbidden", false)
	want(t, "from elsewhere", knock("192.0.2.2", "x", good), 200, "", false)
}
