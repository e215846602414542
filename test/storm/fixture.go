package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// fixture is what requests are about: people, and things that exist or did. The storm destroys it, so a new one is made now and then.
type fixture struct {
	tokens map[string]string // by the name of who speaks
	known  map[string][]string
	paths  []string // of projects
}

// password of everyone; it opens nothing but this server.
const password = "tJ4-wq9Lm2-xV8c"

// speakers are who sends requests, in the order of their power.
var speakers = []string{"nobody", "person", "administrator"}

// setup makes a fixture, number n. An administrator is made beside the API: the storm may have locked out all others.
func (s *storm) setup(ctx context.Context, n int) (*fixture, error) {
	keeper, err := s.newAdministrator(ctx, fmt.Sprintf("keeper%d", n))
	if err != nil {
		return nil, err
	}
	w := &fixture{tokens: map[string]string{"nobody": ""}, known: map[string][]string{}}
	b := &builder{ctx: ctx, s: s, token: keeper, w: w}
	name := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
	type object = map[string]any

	user := func(what string, admin bool) string {
		u := b.post("/users", object{
			"username": name(what), "name": name(what), "email": name(what) + "@example.com", "password": password, "skip_confirmation": true,
			"admin": admin, "projects_limit": 1000,
		}, "users")
		w.known["usernames"] = append(w.known["usernames"], name(what))
		w.known["email"] = append(w.known["email"], name(what)+"@example.com")
		return b.id(u)
	}
	person, administrator, gone := user("person", false), user("admin", true), user("gone", false)
	scopes := []string{"api", "create_runner"}
	token := func(id string, scopes []string) string {
		t := b.post("/users/"+id+"/personal_access_tokens", object{"name": "storm", "scopes": scopes}, "tokens")
		secret, _ := t["token"].(string)
		return secret
	}
	w.tokens["person"], w.tokens["administrator"] = token(person, scopes), token(administrator, append(scopes, "sudo"))
	b.post("/users/"+gone+"/emails", object{"email": name("second") + "@example.com", "skip_confirmation": true}, "emails")

	b.token = w.tokens["person"]
	group := b.id(b.post("/groups", object{"name": name("group"), "path": name("group"), "visibility": "public"}, "groups"))
	b.post("/groups", object{"name": "below", "path": "below", "parent_id": group}, "groups")
	for i, visibility := range []string{"public", "private"} {
		p := b.post("/projects", object{"name": name(visibility), "namespace_id": group, "visibility": visibility, "initialize_with_readme": true}, "projects")
		id := b.id(p)
		path, _ := p["path_with_namespace"].(string)
		w.paths = append(w.paths, path)
		w.known["projects"] = append(w.known["projects"], url.PathEscape(path))
		at := "/projects/" + id
		c := b.post(at+"/repository/commits", object{"branch": "main", "commit_message": "files", "actions": []object{
			{"action": "create", "file_path": ".svc-ci.yml", "content": "one:\n  script: [echo]\n  artifacts: {paths: [a]}\ntwo:\n  when: manual\n  script: [echo]\n"},
			{"action": "create", "file_path": "a/b c/ü.txt", "content": strings.Repeat("line\n", 200)},
			{"action": "create", "file_path": "changelog.md", "content": "x"},
		}}, "")
		if sha, _ := c["id"].(string); sha != "" {
			w.known["sha"] = append(w.known["sha"], sha, sha[:8])
		}
		b.post(at+"/repository/branches", object{"branch": "dev/one", "ref": "main"}, "")
		b.post(at+"/repository/tags", object{"tag_name": "v1.0." + strconv.Itoa(i), "ref": "main"}, "")
		b.post(at+"/variables", object{"key": "KEY", "value": "value"}, "")
		b.post(at+"/deploy_tokens", object{"name": "d", "scopes": []string{"read_repository"}}, "tokens")
		b.post(at+"/access_tokens", object{"name": "a", "scopes": []string{"api"}, "access_level": 30, "expires_at": time.Now().AddDate(0, 1, 0).Format(time.DateOnly)}, "tokens")
		b.post(at+"/pipeline_schedules", object{"description": "s", "ref": "main", "cron": "0 1 * * *"}, "schedules")
		b.post(at+"/triggers", object{"description": "t"}, "triggers")
		b.post("/user/runners", object{"runner_type": "project_type", "project_id": b.number(p), "run_untagged": true}, "runners")
		if pl := b.post(at+"/pipeline", object{"ref": "main"}, "pipelines"); pl != nil {
			for _, j := range b.list(at + "/jobs?per_page=100") {
				w.known["jobs"] = append(w.known["jobs"], b.id(j))
			}
		}
	}
	gonePath := b.post("/projects", object{"name": name("removed")}, "projects")
	b.send(http.MethodDelete, "/projects/"+b.id(gonePath), nil)
	b.token = keeper
	b.post("/applications", object{"name": name("app"), "redirect_uri": "http://127.0.0.1/back", "scopes": "api"}, "applications")
	b.post("/admin/ci/variables", object{"key": name("KEY"), "value": "v"}, "")
	b.send(http.MethodDelete, "/users/"+gone, nil)
	w.known["key"] = []string{"KEY", name("KEY")}
	w.known["branch"] = []string{"main", "dev%2Fone", "dev/one"}
	w.known["tag_name"] = []string{"v1.0.0", "v1.0.1"}
	w.known["file_path"] = []string{"README.md", "a%2Fb%20c%2F%C3%BC.txt", ".svc-ci.yml"}
	if w.tokens["person"] == "" || w.tokens["administrator"] == "" {
		return nil, fmt.Errorf("the fixture could not be made: %w", b.first)
	}
	return w, nil
}

func (s *storm) newAdministrator(ctx context.Context, name string) (token string, err error) {
	if err := os.WriteFile(s.dir+"/password", []byte(password), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"admin", "create-user", "--username", name, "--name", name, "--email", name + "@example.com", "--password-file", s.dir + "/password", "--admin"},
		{"admin", "create-token", "--username", name, "--name", "storm", "--scopes", "api,sudo,create_runner"},
	} {
		command := exec.CommandContext(ctx, s.binary, args...)
		var said bytes.Buffer
		command.Stderr = &said
		out, err := command.Output()
		if err != nil {
			return "", fmt.Errorf("stithy %s: %w\n%s", strings.Join(args[:2], " "), err, &said)
		}
		token = strings.TrimSpace(string(out))
	}
	return token, nil
}

// builder makes things through the API. What fails is left out: some of it is meant to, once the storm has been there.
type builder struct {
	ctx   context.Context
	s     *storm
	w     *fixture
	token string
	first error // what failed first
}

func (b *builder) send(method, path string, body any) any {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	req, err := http.NewRequestWithContext(b.ctx, method, b.s.url+"/api/v4"+path, bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("PRIVATE-TOKEN", b.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.first = err
		return nil
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	var v any
	if resp.StatusCode >= http.StatusBadRequest || json.Unmarshal(answer, &v) != nil {
		if b.first == nil && resp.StatusCode >= http.StatusBadRequest {
			b.first = fmt.Errorf("%s %s: %d %.200s", method, path, resp.StatusCode, answer)
		}
		return nil
	}
	return v
}

func (b *builder) post(path string, body any, kind string) map[string]any {
	v, _ := b.send(http.MethodPost, path, body).(map[string]any)
	if id := b.id(v); id != "" && kind != "" {
		b.w.known[kind] = append(b.w.known[kind], id)
	}
	return v
}

func (b *builder) list(path string) (all []map[string]any) {
	list, _ := b.send(http.MethodGet, path, nil).([]any)
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func (*builder) number(v map[string]any) int64 {
	n, _ := v["id"].(float64)
	return int64(n)
}

func (b *builder) id(v map[string]any) string {
	if n := b.number(v); n != 0 {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// kinds says which things the parameters of paths mean. What {id} means follows from what stands before it.
var kinds = map[string]string{
	"user_id": "users", "job_id": "jobs", "pipeline_id": "pipelines", "schedule_id": "schedules", "trigger_id": "triggers", "token_id": "tokens",
	"impersonation_token_id": "tokens", "group_id": "groups", "project_id": "projects", "forked_from_id": "projects", "target_project_id": "projects",
	"runner_id": "runners", "email_id": "emails", "id_or_username": "usernames", "sha": "sha", "key": "key", "branch": "branch", "ref_name": "branch", "ref": "branch",
	"tag_name": "tag_name", "file_path": "file_path", "email": "email", "name": "branch",
}

// fits picks something that exists, or existed, for a parameter of a path.
func (w *fixture) fits(r *rand.Rand, name, before string) string {
	kind := kinds[name]
	if name == "id" {
		kind = before
	}
	if known := w.known[kind]; len(known) > 0 {
		return known[r.IntN(len(known))]
	}
	return strconv.Itoa(1 + r.IntN(60))
}

// any picks something of any kind.
func (w *fixture) any(r *rand.Rand) string {
	kinds := []string{"users", "groups", "projects", "jobs", "pipelines", "tokens", "runners", "sha", "usernames", "applications"}
	return w.fits(r, "id", kinds[r.IntN(len(kinds))])
}
