package main

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Env is shared by all rules of a run.
type Env struct {
	client *Client
	admin  string // the administrator token given on the command line
	sfx    string // random suffix that makes names unique per run
	memo   map[string]*memoEntry
	tired  map[string]bool // waits that already timed out once
	seq    int
}

type memoEntry struct {
	val any
	f   *failure
}

func newEnv(c *Client, adminToken string) *Env {
	return &Env{client: c, admin: adminToken, sfx: randHex(4), memo: map[string]*memoEntry{}, tired: map[string]bool{}}
}

func randHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// T is handed to every rule and fixture; its checks end the rule by panic.
type T struct{ *Env }

func (t *T) fail(expected, got string) {
	panic(failure{expected, got})
}

// check fails with a description unless cond holds.
func (t *T) check(cond bool, expected, gotFormat string, args ...any) {
	if !cond {
		t.fail(expected, fmt.Sprintf(gotFormat, args...))
	}
}

// eq compares two values by their printed form.
func (t *T) eq(name string, got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.fail(fmt.Sprintf("%s = %v", name, want), fmt.Sprintf("%v", got))
	}
}

func (t *T) do(q Req) *Resp {
	raw, err := t.client.do(q)
	if err != nil {
		t.fail("an HTTP answer", err.Error())
	}
	return &Resp{raw, t}
}

func (t *T) get(token, path string) *Resp {
	return t.do(Req{Method: "GET", Path: path, Token: token})
}

func (t *T) post(token, path string, body any) *Resp {
	return t.do(Req{Method: "POST", Path: path, Token: token, Body: body})
}

func (t *T) put(token, path string, body any) *Resp {
	return t.do(Req{Method: "PUT", Path: path, Token: token, Body: body})
}

func (t *T) patch(token, path string, body any) *Resp {
	return t.do(Req{Method: "PATCH", Path: path, Token: token, Body: body})
}

func (t *T) del(token, path string) *Resp {
	return t.do(Req{Method: "DELETE", Path: path, Token: token})
}

// follow requests a URL taken from an answer, on the host under test.
func (t *T) follow(token, link string) *Resp {
	return t.do(Req{Method: "GET", URL: t.rebase(link), Token: token})
}

// rebase moves an absolute URL onto the base URL under test.
func (t *T) rebase(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		t.fail("a valid URL", link)
	}
	b, err := url.Parse(t.client.base)
	if err != nil {
		t.fail("a valid -base", t.client.base)
	}
	u.Scheme, u.Host = b.Scheme, b.Host
	return u.String()
}

// unique returns a fresh name.
func (t *T) unique(prefix string) string {
	t.seq++
	return fmt.Sprintf("%s-%s-%d", prefix, t.sfx, t.seq)
}

// poll repeats fn with growing pauses until it returns true or time is up.
func (t *T) poll(limit time.Duration, fn func() bool) bool {
	deadline := time.Now().Add(limit)
	for wait := 50 * time.Millisecond; ; wait = min(wait*2, 2*time.Second) {
		if fn() {
			return true
		}
		if time.Now().Add(wait).After(deadline) {
			return false
		}
		select {
		case <-t.client.ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// pollOnce is poll, but a wait of that name which timed out once is not
// repeated: later calls look a single time.
func (t *T) pollOnce(name string, limit time.Duration, fn func() bool) bool {
	if t.tired[name] {
		return fn()
	}
	done := t.poll(limit, fn)
	t.tired[name] = !done
	return done
}

// race sends n requests at the same moment and counts the statuses.
func (t *T) race(n int, q func(i int) Req) map[int]int {
	var wg sync.WaitGroup
	var mu sync.Mutex
	out, start := map[int]int{}, make(chan struct{})
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			<-start
			status := -1
			if r, err := t.client.do(q(i)); err == nil {
				status = r.status
			}
			mu.Lock()
			out[status]++
			mu.Unlock()
		}()
	}
	close(start)
	wg.Wait()
	return out
}

// settle waits up to 10 s for an asynchronous server until a list satisfies
// the condition. It never fails: the rules look at the list themselves.
func (t *T) settle(token, path string, ready func(items []M) bool) {
	t.poll(10*time.Second, func() bool {
		r := t.get(token, path)
		var done bool
		f := guard(func() { done = ready(r.ok(200).arr()) })
		return done || f != nil
	})
}

// memo builds a fixture once; when it could not be built, every rule that
// needs it fails with the reason.
func memo[V any](t *T, name string, build func(t *T) V) V {
	e := t.memo[name]
	if e == nil {
		e = &memoEntry{}
		e.f = guard(func() { e.val = build(&T{Env: t.Env}) })
		t.memo[name] = e
	}
	if e.f != nil {
		t.fail("fixture "+name+" ("+e.f.Expected+")", "fixture not made: "+e.f.Got)
	}
	return e.val.(V)
}

var dateRE = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// shape checks members of an object. The spec is a comma list of
// "name type"; a type ending in ? may be null.
func (t *T) shape(m M, spec string) {
	for _, item := range strings.Split(spec, ",") {
		parts := strings.Fields(item)
		name, kind := parts[0], parts[1]
		v, present := m[name]
		if !present {
			t.fail("member "+name, "absent from "+dump(m))
		}
		nullable := strings.HasSuffix(kind, "?")
		if v == nil {
			t.check(nullable, name+" not null", "null in %s", dump(m))
			continue
		}
		if !hasKind(v, strings.TrimSuffix(kind, "?")) {
			t.fail(fmt.Sprintf("%s of type %s", name, kind), fmt.Sprintf("%v", v))
		}
	}
}

// lacks checks that none of the members is present.
func (t *T) lacks(m M, names ...string) {
	for _, n := range names {
		if _, present := m[n]; present {
			t.fail("no member "+n, dump(m))
		}
	}
}

func dump(m M) string {
	raw, _ := json.Marshal(m)
	return shorten(string(raw), 200)
}

func hasKind(v any, kind string) bool {
	switch kind {
	case "any":
		return true
	case "int":
		n, is := v.(json.Number)
		return is && !strings.ContainsAny(n.String(), ".eE")
	case "num":
		_, is := v.(json.Number)
		return is
	case "str":
		_, is := v.(string)
		return is
	case "url":
		s, is := v.(string)
		return is && (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://"))
	case "bool":
		_, is := v.(bool)
		return is
	case "time":
		s, is := v.(string)
		if !is {
			return false
		}
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	case "date":
		s, is := v.(string)
		return is && dateRE.MatchString(s)
	case "arr":
		_, is := v.([]any)
		return is
	case "obj":
		_, is := v.(M)
		return is
	}
	panic("unknown kind " + kind)
}

// User is a created account with a token of scope api.
type User struct {
	ID                                     int
	Username, Name, Email, Password, Token string
}

// newUser creates an account; extra overrides request members.
func (t *T) newUser(prefix string, extra M) User {
	name := t.unique(prefix)
	u := User{Username: name, Name: "Conf " + name, Email: name + "@example.com", Password: "Zq7-" + randHex(8)}
	body := M{"email": u.Email, "name": u.Name, "username": u.Username, "password": u.Password,
		"skip_confirmation": true, "can_create_group": true, "projects_limit": 1000}
	for k, v := range extra {
		body[k] = v
	}
	u.ID = num(t.post(t.admin, "/users", body).ok(201).obj(), "id")
	t.check(u.ID > 0, "an id in the POST /users answer", "none")
	u.Token = t.pat(u.ID, "api")
	return u
}

// pat creates a personal access token as the administrator.
func (t *T) pat(userID int, scopes ...string) string {
	res := t.post(t.admin, fmt.Sprintf("/users/%d/personal_access_tokens", userID), M{"name": t.unique("tok"), "scopes": scopes}).ok(201)
	tok := str(res.obj(), "token")
	t.check(tok != "", "member token", "%s", res.brief())
	return tok
}

// user returns the shared account of that role name.
func (t *T) user(role string) User {
	return memo(t, "user "+role, func(t *T) User { return t.newUser(role, nil) })
}

// adminID is the ID of the administrator behind the given token.
func (t *T) adminID() int {
	return memo(t, "admin id", func(t *T) int { return num(t.get(t.admin, "/user").ok(200).obj(), "id") })
}

// adminWith returns an administrator token with exactly these scopes.
func (t *T) adminWith(scopes ...string) string {
	return memo(t, "admin token "+strings.Join(scopes, "+"), func(t *T) string { return t.pat(t.adminID(), scopes...) })
}

// tokenOf returns a token of a shared account with exactly these scopes.
func (t *T) tokenOf(role string, scopes ...string) string {
	return memo(t, "token "+role+" "+strings.Join(scopes, "+"), func(t *T) string { return t.pat(t.user(role).ID, scopes...) })
}

// Group is a created group.
type Group struct {
	ID   int
	Path string
}

func (t *T) newGroup(token, prefix string, extra M) Group {
	name := t.unique(prefix)
	body := M{"name": name, "path": name, "visibility": "public"}
	for k, v := range extra {
		body[k] = v
	}
	g := t.post(token, "/groups", body).ok(201).obj()
	full := str(g, "full_path")
	if full == "" {
		full = name
	}
	t.check(num(g, "id") > 0, "an id in the POST /groups answer", "%s", dump(g))
	return Group{num(g, "id"), full}
}

func (t *T) addMember(token, kind string, id, userID, level int) {
	t.post(token, fmt.Sprintf("/%s/%d/members", kind, id), M{"user_id": userID, "access_level": level}).ok(201)
}

// group is the shared public group: owner, maint (40) and dev (30) are in it.
func (t *T) group() Group {
	return memo(t, "group", func(t *T) Group {
		owner := t.user("owner")
		g := t.newGroup(owner.Token, "grp", nil)
		t.addMember(owner.Token, "groups", g.ID, t.user("maint").ID, 40)
		t.addMember(owner.Token, "groups", g.ID, t.user("dev").ID, 30)
		return g
	})
}

// Project is a created project.
type Project struct {
	ID            int
	Path          string // full path
	Branch        string
	HTTPURL       string
	Name, Storage string
}

func projectOf(m M) Project {
	return Project{ID: num(m, "id"), Path: str(m, "path_with_namespace"), Branch: str(m, "default_branch"),
		HTTPURL: str(m, "http_url_to_repo"), Name: str(m, "name"), Storage: str(m, "repository_storage")}
}

// newProject creates a project with a README in the shared group.
func (t *T) newProject(prefix string, extra M) Project {
	body := M{"name": t.unique(prefix), "namespace_id": t.group().ID, "initialize_with_readme": true, "visibility": "public"}
	for k, v := range extra {
		body[k] = v
	}
	p := projectOf(t.post(t.user("owner").Token, "/projects", body).ok(201).obj())
	t.check(p.ID > 0 && p.Path != "", "id and path_with_namespace in the POST /projects answer", "%+v", p)
	if p.Branch == "" {
		p.Branch = "main"
	}
	return p
}

// project is the shared public project, privateProject the shared private one.
func (t *T) project() Project {
	return memo(t, "project", func(t *T) Project { return t.newProject("prj", nil) })
}

func (t *T) privateProject() Project {
	return memo(t, "private project", func(t *T) Project { return t.newProject("priv", M{"visibility": "private"}) })
}

// path builds a path below a project.
func (p Project) path(format string, args ...any) string {
	return fmt.Sprintf("/projects/%d", p.ID) + fmt.Sprintf(format, args...)
}

func (g Group) path(format string, args ...any) string {
	return fmt.Sprintf("/groups/%d", g.ID) + fmt.Sprintf(format, args...)
}

func enc(s string) string { return url.PathEscape(s) }

// commit writes files in one commit and returns its SHA. An empty content
// map value creates an empty file; names starting with "!" are updated.
func (t *T) commit(p Project, branch, message string, files map[string]string, extra M) string {
	var actions []M
	for name, content := range files {
		action := "create"
		if strings.HasPrefix(name, "!") {
			action, name = "update", name[1:]
		}
		actions = append(actions, M{"action": action, "file_path": name, "content": content})
	}
	body := M{"branch": branch, "commit_message": message, "actions": actions}
	for k, v := range extra {
		body[k] = v
	}
	sha := str(t.post(t.user("owner").Token, p.path("/repository/commits"), body).ok(201).obj(), "id")
	t.check(len(sha) >= 40, "a commit id in the answer", "%q", sha)
	return sha
}

func (t *T) tag(p Project, name, ref string) {
	t.post(t.user("owner").Token, p.path("/repository/tags"), M{"tag_name": name, "ref": ref}).ok(201)
}

// Runner is a runner created through POST /user/runners.
type Runner struct {
	ID    int
	Token string
}

func (t *T) newRunner(p Project, tags ...string) Runner {
	res := t.post(t.tokenOf("owner", "create_runner"), "/user/runners",
		M{"runner_type": "project_type", "project_id": p.ID, "tag_list": tags, "run_untagged": false, "description": t.unique("runner")}).ok(201).obj()
	return Runner{num(res, "id"), str(res, "token")}
}

// takenJob is a job handed out by POST /jobs/request.
type takenJob struct {
	id          int
	name, token string
	ciVar       string // value of the variable CI_JOB_TOKEN, "" when absent
}

var runnerFeatures = M{"variables": true, "image": true, "services": true, "artifacts": true, "cache": true, "shared": true,
	"upload_multiple_artifacts": true, "upload_raw_artifacts": true, "session": false, "terminal": false, "refspecs": true,
	"masking": true, "raw_variables": true, "artifacts_exclude": true, "multi_build_steps": true, "trace_reset": true,
	"trace_checksum": true, "trace_size": true, "cancelable": true, "return_exit_code": true, "fallback_cache_keys": true}

// takeJob asks for a job as a runner; nil when there is none. Ask only when
// there should be one: see drain.
func (t *T) takeJob(r Runner) *takenJob {
	res := t.post("", "/jobs/request", M{"token": r.Token, "system_id": "s_" + t.sfx,
		"info": M{"name": "conformance", "version": "17.0.0", "platform": "linux", "architecture": "amd64",
			"executor": "shell", "shell": "bash", "features": runnerFeatures}}).ok(201, 204, 409)
	if res.status != 201 {
		return nil
	}
	m := res.obj()
	j := &takenJob{id: num(m, "id"), token: str(m, "token"), name: str(sub(m, "job_info"), "name")}
	for _, v := range list(m, "variables") {
		if o, is := v.(M); is && str(o, "key") == "CI_JOB_TOKEN" {
			j.ciVar = str(o, "value")
		}
	}
	return j
}

func (t *T) sendTrace(j *takenJob, text string) {
	t.do(Req{Method: "PATCH", Path: fmt.Sprintf("/jobs/%d/trace", j.id), Body: text, Header: map[string]string{
		"JOB-TOKEN": j.token, "Content-Range": fmt.Sprintf("0-%d", len(text)-1), "Content-Type": "text/plain"}}).ok(202)
}

func (t *T) sendArtifact(j *takenJob) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.Create("out.txt")
	if err == nil {
		_, err = io.WriteString(w, "artifact of "+j.name)
	}
	if err == nil {
		err = z.Close()
	}
	t.check(err == nil, "a zip in memory", "%v", err)
	t.do(Req{Method: "POST", Path: fmt.Sprintf("/jobs/%d/artifacts?artifact_type=archive&artifact_format=zip&expire_in=1%%20week", j.id),
		Body:   &multi{files: map[string]filePart{"file": {"artifacts.zip", buf.Bytes()}}},
		Header: map[string]string{"JOB-TOKEN": j.token}}).ok(201)
}

func (t *T) finishJob(j *takenJob, state string) {
	body := M{"token": j.token, "state": state}
	if state == "failed" {
		body["failure_reason"], body["exit_code"] = "script_failure", 1
	}
	done := t.poll(10*time.Second, func() bool {
		return t.put("", fmt.Sprintf("/jobs/%d", j.id), body).ok(200, 202).status == 200
	})
	t.check(done, "PUT /jobs/:id answering 200", "still 202 after 10 s")
}

// runnable reports whether the fake runner has to take a job of that name.
func runnable(name string) bool {
	return strings.HasPrefix(name, "ok-") || strings.HasPrefix(name, "fail-") || strings.HasPrefix(name, "hold-")
}

// drain plays runner until no job of the pipeline waits for one. It asks only
// while such a job is listed as pending: a server may hold the request of a
// runner for which there is none, for longer than the suite waits. Jobs named
// ok-* succeed with a log and artifacts, fail-* fail, hold-* stay running and
// are returned.
func (t *T) drain(p Project, pipeline int, r Runner) map[string]*takenJob {
	held := map[string]*takenJob{}
	for idle := 0; idle < 6; {
		waiting := false
		for name, j := range t.pipelineJobs(p, pipeline) {
			waiting = waiting || (runnable(name) && str(j, "status") == "pending")
		}
		var j *takenJob
		if waiting {
			j = t.takeJob(r)
		}
		if j == nil {
			idle++
			time.Sleep(60 * time.Millisecond)
			continue
		}
		idle = 0
		t.sendTrace(j, "log of "+j.name+"\n")
		switch {
		case strings.HasPrefix(j.name, "ok-"):
			t.sendArtifact(j)
			t.finishJob(j, "success")
		case strings.HasPrefix(j.name, "fail-"):
			t.finishJob(j, "failed")
		default:
			held[j.name] = j
		}
	}
	return held
}

// CI is a project with one pipeline.
type CI struct {
	Project  Project
	Pipeline int
	Runner   Runner
	Jobs     map[string]M // by name, as listed
	Held     map[string]*takenJob
}

// goTag is carried by jobs the fake runner takes; idleTag by jobs nobody takes.
func (t *T) goTag() string   { return "go-" + t.sfx }
func (t *T) idleTag() string { return "idle-" + t.sfx }

// newCI creates a project with the configuration; GO and IDLE in it are
// replaced by the run's runner tags.
func (t *T) newCI(prefix, config string) Project {
	p := t.newProject(prefix, nil)
	config = strings.NewReplacer("GO", t.goTag(), "IDLE", t.idleTag()).Replace(config)
	t.commit(p, p.Branch, "Add CI [skip ci]", map[string]string{".svc-ci.yml": config}, nil)
	return p
}

func (t *T) startPipeline(p Project) int {
	id := num(t.post(t.user("owner").Token, p.path("/pipeline"), M{"ref": p.Branch}).ok(201).obj(), "id")
	t.check(id > 0, "a pipeline id", "none")
	return id
}

func (t *T) pipelineJobs(p Project, pipeline int) map[string]M {
	out := map[string]M{}
	for _, j := range t.get(t.user("owner").Token, p.path("/pipelines/%d/jobs?per_page=100", pipeline)).ok(200).arr() {
		out[str(j, "name")] = j
	}
	return out
}

// awaitStatus waits until the named jobs have the given statuses, playing
// runner meanwhile when one is given.
func (t *T) awaitStatus(p Project, pipeline int, r *Runner, want map[string]string) map[string]M {
	var jobs map[string]M
	var missing string
	done := t.poll(10*time.Second, func() bool {
		if r != nil {
			t.drain(p, pipeline, *r)
		}
		jobs = t.pipelineJobs(p, pipeline)
		missing = ""
		for name, status := range want {
			if got := str(jobs[name], "status"); got != status {
				missing += fmt.Sprintf(" %s is %q, not %s;", name, got, status)
			}
		}
		return missing == ""
	})
	t.check(done, "job statuses of the pipeline", "%s", missing)
	return jobs
}

const finishedConfig = `stages: [build, test, deploy]
ok-build:
  stage: build
  tags: [GO]
  script: ["echo build"]
  artifacts:
    paths: [out.txt]
    expire_in: 1 week
fail-test:
  stage: test
  tags: [GO]
  script: ["exit 1"]
play-test:
  stage: test
  tags: [GO]
  script: ["echo manual"]
  when: manual
late-deploy:
  stage: deploy
  tags: [GO]
  script: ["echo deploy"]
`

func (t *T) ciFinishedProject() (Project, Runner) {
	p := memo(t, "CI project (finished jobs)", func(t *T) Project { return t.newCI("ci", finishedConfig) })
	r := memo(t, "runner (finished jobs)", func(t *T) Runner { return t.newRunner(p, t.goTag()) })
	return p, r
}

// ciFinished runs one more pipeline of the finished-jobs project per key:
// ok-build success, fail-test failed, play-test manual, late-deploy skipped.
func (t *T) ciFinished(key string) CI {
	return memo(t, "finished pipeline "+key, func(t *T) CI {
		p, r := t.ciFinishedProject()
		id := t.startPipeline(p)
		jobs := t.awaitStatus(p, id, &r, map[string]string{"ok-build": "success", "fail-test": "failed", "play-test": "manual", "late-deploy": "skipped"})
		return CI{Project: p, Pipeline: id, Runner: r, Jobs: jobs}
	})
}

// ciOpen is a pipeline with pending, running and created jobs.
func (t *T) ciOpen() CI {
	return memo(t, "open pipeline", func(t *T) CI {
		p := t.newCI("open", `stages: [one, two]
pend-a:
  stage: one
  tags: [IDLE]
  script: ["true"]
pend-b:
  stage: one
  tags: [IDLE]
  script: ["true"]
hold-a:
  stage: one
  tags: [GO]
  script: ["sleep 1"]
hold-b:
  stage: one
  tags: [GO]
  script: ["sleep 1"]
later:
  stage: two
  tags: [IDLE]
  script: ["true"]
`)
		r := t.newRunner(p, t.goTag())
		id := t.startPipeline(p)
		held := map[string]*takenJob{}
		t.poll(10*time.Second, func() bool {
			maps.Copy(held, t.drain(p, id, r))
			return held["hold-a"] != nil && held["hold-b"] != nil
		})
		jobs := t.awaitStatus(p, id, nil, map[string]string{"pend-a": "pending", "hold-a": "running", "later": "created"})
		return CI{Project: p, Pipeline: id, Runner: r, Jobs: jobs, Held: held}
	})
}

// jobToken is the token of the running job hold-a of ciOpen.
func (t *T) jobToken() (string, int) {
	ci := t.ciOpen()
	j := ci.Held["hold-a"]
	t.check(j != nil, "the running job hold-a", "not handed out by POST /jobs/request")
	if j.ciVar == "" {
		return j.token, j.id
	}
	return j.ciVar, j.id
}

// ciMany is a pipeline of 25 pending jobs.
func (t *T) ciMany() CI {
	return memo(t, "pipeline of 25 jobs", func(t *T) CI {
		var b strings.Builder
		for i := range 25 {
			fmt.Fprintf(&b, "job-%02d:\n  tags: [IDLE]\n  script: [\"true\"]\n", i)
		}
		p := t.newCI("many", b.String())
		return CI{Project: p, Pipeline: t.startPipeline(p)}
	})
}

// Browser is a signed-in web session.
type Browser struct {
	t  *T
	hc *http.Client
}

// newBrowser follows redirects inside the server only.
func (t *T) newBrowser() *Browser {
	jar, _ := cookiejar.New(nil)
	base, _ := url.Parse(t.client.base)
	return &Browser{t, &http.Client{Jar: jar, Timeout: requestTimeout, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != base.Host || len(via) > 10 {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

// page is a fetched web page.
type page struct {
	url      *url.URL
	status   int
	location string
	body     string
}

func (b *Browser) send(method, target string, form url.Values) page {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.t.client.ctx, method, target, body)
	if err != nil {
		b.t.fail("a valid URL", target)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.t.client.base)
	}
	res, err := b.hc.Do(req)
	if err != nil {
		b.t.fail("an HTTP answer", method+" "+shorten(target, 100)+": "+shortNetErr(err).Error())
	}
	defer func() { _ = res.Body.Close() }()
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	return page{res.Request.URL, res.StatusCode, res.Header.Get("Location"), string(raw)}
}

// webForm is an HTML form.
type webForm struct {
	action, method string
	values         url.Values // preset inputs that a browser would send
	password, text string     // names of the password and first text input
	passwords      int
	buttons        []webButton
}

type webButton struct{ name, value, label string }

var (
	formRE   = regexp.MustCompile(`(?is)<form\b([^>]*)>(.*?)</form>`)
	inputRE  = regexp.MustCompile(`(?is)<input\b([^>]*)>`)
	buttonRE = regexp.MustCompile(`(?is)<button\b([^>]*)>(.*?)</button>`)
	attrRE   = regexp.MustCompile(`(?is)([a-z_:-]+)\s*=\s*("([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	tagRE    = regexp.MustCompile(`(?s)<[^>]*>`)
)

func attrs(s string) map[string]string {
	out := map[string]string{}
	for _, m := range attrRE.FindAllStringSubmatch(s, -1) {
		out[strings.ToLower(m[1])] = html.UnescapeString(m[3] + m[4] + m[5])
	}
	return out
}

func parseForms(body string) []webForm {
	var out []webForm
	for _, m := range formRE.FindAllStringSubmatch(body, -1) {
		a := attrs(m[1])
		f := webForm{action: a["action"], method: strings.ToUpper(a["method"]), values: url.Values{}}
		for _, in := range inputRE.FindAllStringSubmatch(m[2], -1) {
			ia := attrs(in[1])
			name := ia["name"]
			switch strings.ToLower(ia["type"]) {
			case "password":
				f.password = name
				f.passwords++
			case "checkbox", "radio", "file", "image", "reset", "button":
			case "submit":
				f.buttons = append(f.buttons, webButton{name, ia["value"], ia["value"]})
			case "hidden":
				f.values.Add(name, ia["value"])
			default:
				if f.text == "" {
					f.text = name
				}
				f.values.Add(name, ia["value"])
			}
		}
		for _, bt := range buttonRE.FindAllStringSubmatch(m[2], -1) {
			ba := attrs(bt[1])
			if kind := strings.ToLower(ba["type"]); kind == "" || kind == "submit" {
				f.buttons = append(f.buttons, webButton{ba["name"], ba["value"], strings.TrimSpace(tagRE.ReplaceAllString(bt[2], ""))})
			}
		}
		out = append(out, f)
	}
	return out
}

// submit sends a form found on a page.
func (b *Browser) submit(p page, f webForm, extra url.Values) page {
	target, err := p.url.Parse(f.action)
	if err != nil {
		b.t.fail("a valid form action", f.action)
	}
	vals := url.Values{}
	for k, v := range f.values {
		vals[k] = v
	}
	for k, v := range extra {
		vals[k] = v
	}
	if f.method == "GET" || f.method == "" {
		target.RawQuery = vals.Encode()
		return b.send("GET", target.String(), nil)
	}
	return b.send("POST", target.String(), vals)
}

// signIn fills the sign-in form of /users/sign_in.
func (b *Browser) signIn(u User) page {
	p := b.send("GET", b.t.client.base+"/users/sign_in", nil)
	return b.fillSignIn(p, u)
}

func (b *Browser) fillSignIn(p page, u User) page {
	for _, f := range parseForms(p.body) {
		if f.password != "" && f.text != "" {
			return b.submit(p, f, url.Values{f.password: {u.Password}, f.text: {u.Username}})
		}
	}
	b.t.fail("a sign-in form with a password input", fmt.Sprintf("%s -> %d %s", p.url.Path, p.status, shorten(p.body, 120)))
	return page{}
}

// browser is the shared signed-in session of a role's account.
func (t *T) browser(role string) *Browser {
	return memo(t, "web session "+role, func(t *T) *Browser {
		b := t.newBrowser()
		p := b.signIn(t.user(role))
		for _, f := range parseForms(p.body) {
			t.check(f.passwords != 1, "to be signed in", "still a password form at %s", p.url.Path)
		}
		return b
	})
}

var approveRE = regexp.MustCompile(`(?i)authori[sz]e|approve|allow|accept`)

// approveForm finds the consent form that approves, with its button.
func approveForm(body string) (webForm, url.Values, bool) {
	for _, f := range parseForms(body) {
		if strings.EqualFold(f.values.Get("_method"), "delete") || f.method != "POST" || f.password != "" {
			continue
		}
		for _, bt := range f.buttons {
			if approveRE.MatchString(bt.label) || approveRE.MatchString(bt.value) {
				extra := url.Values{}
				if bt.name != "" {
					extra.Set(bt.name, bt.value)
				}
				return f, extra, true
			}
		}
	}
	return webForm{}, nil, false
}

// grant is the outcome of an authorization request.
type grant struct {
	code, state, redirect string
	asked                 bool // a consent form was shown
	last                  page
}

// authorize runs an authorization request up to the redirect; the code is
// empty when none was issued.
func (b *Browser) authorize(params url.Values) grant {
	return b.authorizeQuery(params.Encode())
}

// authorizeQuery is authorize with a query already encoded.
func (b *Browser) authorizeQuery(query string) grant {
	params, _ := url.ParseQuery(query)
	p := b.send("GET", b.t.client.base+"/oauth/authorize?"+query, nil)
	g := grant{last: p}
	if f, extra, found := approveForm(p.body); found && p.location == "" {
		g.asked = true
		p = b.submit(p, f, extra)
		g.last = p
	}
	target := p.location
	if target == "" {
		re := regexp.MustCompile(regexp.QuoteMeta(params.Get("redirect_uri")) + `\?[^"'\s<>\\]+`)
		target = re.FindString(html.UnescapeString(p.body))
	}
	if u, err := url.Parse(target); err == nil && target != "" {
		g.redirect = target
		g.code, g.state = u.Query().Get("code"), u.Query().Get("state")
	}
	return g
}
