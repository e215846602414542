package app

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
)

const stages = `
stages: [build, test, deploy]
compile: {stage: build, script: [make]}
unit: {stage: test, script: [make test], tags: [docker]}
lint: {stage: test, needs: [], script: [make lint]}
ship: {stage: deploy, when: manual, script: [make ship]}
`

// configure commits a configuration to a branch of a project.
func (d *doors) configure(t testing.TB, p *project.Project, branch, message, config string) {
	t.Helper()
	repo := d.Store.Repo(gitstore.KeyOf("default", p.ID, 0))
	repositorytest.Commit(t, repo, branch, message, repositorytest.Files{".svc-ci.yml": config})
}

// pipeline makes a pipeline of a branch as somebody.
func (d *doors) pipeline(t testing.TB, by *user.User, p *project.Project, branch string) *pipeline.Pipeline {
	t.Helper()
	actor := access.Actor{Person: by.Person(), Account: by}
	seen, err := d.Projects.Find(t.Context(), actor, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := d.Pipelines.Create(t.Context(), actor, seen, pipeline.CreateRequest{Source: pipeline.FromAPI, Ref: branch})
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

// jobID is the latest job of a name in a pipeline.
func (d *doors) jobID(t testing.TB, pipelineID int64, name string) int64 {
	t.Helper()
	jobs, err := d.Pipelines.LatestJobs(t.Context(), pipelineID, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if j.Name == name {
			return j.ID
		}
	}
	t.Fatalf("no job %s", name)
	return 0
}

func TestAPipelineThatWaitsForSomebodyTakesNoTime(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.hidden, "main", "Say what happens", stages)
	b, ann := d.signedIn(t, access.Maintainer, d.hidden)
	pl := d.pipeline(t, ann, d.hidden, "main")
	page := fmt.Sprintf("/house/hidden/-/pipelines/%d", pl.ID)
	at := d.Clock.Now().Add(-time.Hour)
	d.exec(t, `update jobs set status = 'success', started_at = $2, finished_at = $2::timestamptz + interval '50 seconds' where pipeline_id = $1 and name <> 'ship'`, pl.ID, at)
	for status, want := range map[string]string{"manual": "ran for 50 s", "running": "50 s so far", "success": "took 50 s"} {
		d.exec(t, `update pipelines set status = $2, started_at = $3, finished_at = case when $2 = 'success' then now() end where id = $1`, pl.ID, status, at)
		for _, path := range []string{page, "/house/hidden/-/pipelines"} {
			if path != page {
				want = strings.TrimPrefix(want, "took ") // the column says so
			}
			if s := b.get(path); !s.says(want) {
				t.Errorf("%s at %s does not say %q: %s", status, path, want, s.Body)
			}
		}
	}
	id := d.jobID(t, pl.ID, "compile")
	d.exec(t, `update jobs set started_at = null, finished_at = null where id = $1`, id)
	for status, follows := range map[string]bool{"created": true, "pending": true, "scheduled": true, "manual": false, "success": false} {
		d.exec(t, `update jobs set status = $2 where id = $1`, id, status)
		if s := b.get(jobPage(d.hidden, id, "")); s.says(`data-live="3"`) != follows || strings.Contains(s.Body.String(), "/live.") != follows {
			t.Errorf("a job that is %s: %s", status, s.Body)
		}
	}
}

func TestAPipelineIsShownAndSteeredOnItsPage(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.hidden, "main", "Say what happens", stages)
	b, ann := d.signedIn(t, access.Maintainer, d.hidden)
	if s := b.get("/house/hidden/-/pipelines"); s.Code != http.StatusOK || !s.says("No pipeline has run yet") || !s.says(".svc-ci.yml") {
		t.Errorf("the empty list: %d %s", s.Code, s.Body)
	}
	list := b.get("/house/hidden/-/pipelines")
	if s := b.submit(list, "/house/hidden/-/pipelines", map[string]string{"run": "nowhere"}); s.Code != http.StatusUnprocessableEntity || !s.says("There is no branch or tag “nowhere”. Check how it is written, or push it first.") {
		t.Errorf("a branch that is not there: %d", s.Code)
	}
	s := b.submit(list, "/house/hidden/-/pipelines", map[string]string{"run": "main"})
	if !s.says("Pipeline created.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	page := s.path
	var id int64
	if _, err := fmt.Sscanf(page, "/house/hidden/-/pipelines/%d", &id); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Say what happens", "on a page, ", ann.Name, "No runner serves this project", "It waits for compile, which waits for a runner", "docker",
		"<desc", `aria-label="lint: Pending"`, `data-live="3"`, fmt.Sprintf("/house/hidden/-/jobs/%d", d.jobID(t, id, "unit")),
	} {
		if !s.says(want) {
			t.Errorf("nothing of %q", want)
		}
	}
	if csp := s.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'; connect-src 'self'") {
		t.Errorf("the script may not run: %s", csp)
	}
	csrf := s.form(page).values
	act := func(name, act, want string) {
		t.Helper()
		s := b.follow("POST", fmt.Sprintf("/house/hidden/-/jobs/%d/%s", d.jobID(t, id, name), act), csrf)
		if s.path != page || !s.says(want) {
			t.Errorf("%s %s: %d at %s %s", act, name, s.Code, s.path, s.Body)
		}
	}
	act("lint", "cancel", "lint is canceled.")
	act("lint", "retry", "lint runs again.")
	if s := b.follow("POST", page+"/cancel", csrf); !s.says("The pipeline is canceled.") || !s.says("It was canceled before it started.") || strings.Contains(s.Body.String(), "<script") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.follow("POST", page+"/retry", csrf); !s.says("What had failed or was canceled runs again.") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	for _, path := range []string{page + "/delete", fmt.Sprintf("/house/hidden/-/jobs/%d/forget", d.jobID(t, id, "lint")), "/house/hidden/-/pipelines/999999/retry"} {
		if w := b.send("POST", path, csrf); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	jobs := b.get("/house/hidden/-/jobs?status=canceled")
	if !jobs.says("compile") || !jobs.says(fmt.Sprintf("pipeline #%d", id)) || !jobs.says("retried") {
		t.Errorf("the list of jobs: %s", jobs.Body)
	}
	if s := b.get("/house/hidden"); !s.says("Latest pipeline") || !s.says(fmt.Sprintf("#%d", id)) {
		t.Errorf("the page of the project: %s", s.Body)
	}
}

func TestAPipelineShowsItsChildrenAndParent(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.hidden, "main", "Parent", `
child: {stage: test, trigger: {include: [{local: child.yml}]}}
`)
	repositorytest.Commit(t, d.Store.Repo(gitstore.KeyOf("default", d.hidden.ID, 0)), "main", "Child", repositorytest.Files{"child.yml": "one: {script: [x]}\n"})
	b, ann := d.signedIn(t, access.Maintainer, d.hidden)
	pl := d.pipeline(t, ann, d.hidden, "main")
	if err := d.Pipelines.Bridge(t.Context(), d.jobID(t, pl.ID, "child")); err != nil {
		t.Fatal(err)
	}
	s := b.get(fmt.Sprintf("/house/hidden/-/pipelines/%d", pl.ID))
	child := fmt.Sprintf("/house/hidden/-/pipelines/%d", pl.ID+1)
	if !s.says("Started pipeline") || !strings.Contains(s.Body.String(), `href="`+child+`"`) {
		t.Fatalf("no child: %s", s.Body)
	}
	if s := b.get(child); !s.says("started by") || !s.says(fmt.Sprintf("pipeline #%d", pl.ID)) {
		t.Errorf("no parent: %s", s.Body)
	}
}

func TestListsOfPipelinesAreTurnedAndNarrowed(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.hidden, "main", "One", stages)
	b, ann := d.signedIn(t, access.Maintainer, d.hidden)
	pl := d.pipeline(t, ann, d.hidden, "main")
	d.exec(t, `insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, auto_cancel, fail_fast, child, depth, created_at, updated_at)
		select project_id, n, sha, before_sha, 'other', false, 'failed', 'push', auto_cancel, false, false, 0, now(), now() from pipelines, generate_series(2, 30) n where id = $1`, pl.ID)
	const list = "/house/hidden/-/pipelines"
	first := b.get(list)
	if strings.Count(first.Body.String(), `<th scope="row"`) != 25 || !first.says("Older") || first.says("Newest") {
		t.Fatalf("the first part: %s", first.Body)
	}
	_, rest, _ := strings.Cut(first.Body.String(), `rel="next" href="`)
	next, _, _ := strings.Cut(rest, `"`)
	second := b.get(strings.ReplaceAll(next, "&amp;", "&"))
	if strings.Count(second.Body.String(), `<th scope="row"`) != 5 || second.says("Older") || !second.says("Newest") {
		t.Errorf("the second part, %s: %s", next, second.Body)
	}
	for query, want := range map[string]int{"?ref=main": 1, "?ref=+main+": 1, "?status=failed": 25, "?status=pending": 1, "?status=failed&ref=main": 0, "?status=nonsense": 0, "?ref=nowhere": 0} {
		if s := b.get(list + query); s.Code != http.StatusOK || strings.Count(s.Body.String(), `<th scope="row"`) != want {
			t.Errorf("%s: %d, not %d", query, strings.Count(s.Body.String(), `<th scope="row"`), want)
		}
	}
	// The next part is narrowed as this one is.
	_, rest, _ = strings.Cut(b.get(list+"?status=failed&ref=other").Body.String(), `rel="next" href="`)
	next, _, _ = strings.Cut(rest, `"`)
	if !strings.Contains(next, "status=failed") || !strings.Contains(next, "ref=other") {
		t.Errorf("the next part is %s", next)
	}
	if s := b.get(list + "?status=nonsense"); !s.says("There is no status “nonsense”.") {
		t.Errorf("a status that there is not: %s", s.Body)
	}
	for _, query := range []string{"?cursor=x", "?cursor=e30"} {
		if w := b.send("GET", list+query, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
}

// CI-15, on pages: pipelines and jobs are for those who may see them.
func TestCI15_PagesShowPipelinesAndJobsToThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	at := map[*project.Project]int64{}
	_, owner := d.signedIn(t, access.Owner, d.open, d.hidden)
	for _, p := range []*project.Project{d.open, d.hidden} {
		d.configure(t, p, "main", "A title", stages)
		at[p] = d.pipeline(t, owner, p, "main").ID
	}
	readers := map[string]*browser{"a stranger": d.browser(t)}
	for name, role := range map[string]access.Role{"an outsider": access.NoRole, "a guest": access.Guest, "a reporter": access.Reporter} {
		readers[name], _ = d.signedIn(t, role, d.open, d.hidden)
	}
	look := func(setting string, p *project.Project, below string, want map[string]int) {
		t.Helper()
		path := "/" + p.FullPath() + "/-/" + strings.ReplaceAll(below, "ID", fmt.Sprint(at[p]))
		for who, b := range readers {
			w := b.send("GET", path, nil)
			code := want[who]
			if code == 0 {
				code = http.StatusNotFound
				if who == "a stranger" {
					code = http.StatusSeeOther
				}
			}
			if w.Code != code {
				t.Errorf("%s, %s: %s got %d, not %d", setting, path, who, w.Code, code)
			}
			if w.Code != http.StatusOK && strings.Contains(w.Body.String(), "A title") {
				t.Errorf("%s, %s: %s reads of it", setting, path, who)
			}
		}
	}
	const ok = http.StatusOK
	everyone := map[string]int{"a stranger": ok, "an outsider": ok, "a guest": ok, "a reporter": ok}
	members := map[string]int{"a guest": ok, "a reporter": ok}
	reporters := map[string]int{"a reporter": ok}
	for _, below := range []string{"pipelines", "pipelines/ID"} {
		look("jobs are public", d.open, below, everyone)
		look("jobs are public", d.hidden, below, members)
	}
	look("jobs are public", d.open, "jobs", everyone)
	look("jobs are public", d.hidden, "jobs", members)
	for who, sees := range map[string]bool{"a stranger": true, "an outsider": true, "a reporter": true} {
		w := readers[who].send("GET", fmt.Sprintf("/house/open/-/pipelines/%d", at[d.open]), nil)
		if strings.Contains(w.Body.String(), "compile") != sees {
			t.Errorf("%s sees the jobs of a public pipeline: %v", who, !sees)
		}
	}
	d.exec(t, `update projects set settings = settings || '{"public_jobs": false}'`)
	for _, below := range []string{"pipelines", "pipelines/ID"} {
		look("jobs are for members", d.open, below, everyone)
		look("jobs are for members", d.hidden, below, reporters)
	}
	look("jobs are for members", d.open, "jobs", reporters)
	look("jobs are for members", d.hidden, "jobs", reporters)
	w := readers["an outsider"].send("GET", fmt.Sprintf("/house/open/-/pipelines/%d", at[d.open]), nil)
	if strings.Contains(w.Body.String(), "compile") || !strings.Contains(w.Body.String(), "for its members") {
		t.Errorf("an outsider reads of jobs: %s", w.Body)
	}
	d.exec(t, `update projects set features = features || '{"builds": "disabled"}'`)
	for _, below := range []string{"pipelines", "pipelines/ID", "jobs"} {
		look("pipelines are off", d.open, below, nil)
		look("pipelines are off", d.hidden, below, nil)
	}
	// A number of another project leads nowhere.
	d.exec(t, `update projects set features = features || '{"builds": "enabled"}'`)
	if w := readers["a reporter"].send("GET", fmt.Sprintf("/house/hidden/-/pipelines/%d", at[d.open]), nil); w.Code != http.StatusNotFound {
		t.Errorf("a pipeline of another project: %d", w.Code)
	}
}

// CI-04 and WB-05, on pages: who may not change what runs finds nothing to
// change it with, no variable is named, and no link does anything.
func TestCI04_PagesOfPipelinesChangeNothingForReadersAndNameNoVariable(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.open, "main", "A title", "compile: {script: [make], variables: {CANARY_NAME: canary-value}}\n")
	_, owner := d.signedIn(t, access.Owner, d.open)
	pl := d.pipeline(t, owner, d.open, "main")
	d.exec(t, `insert into pipeline_variables (pipeline_id, key, value, file, raw, position) values ($1, 'CANARY_KEY', 'canary-secret', false, false, 1)`, pl.ID)
	d.exec(t, `insert into protected_branches (project_id, name, created_at, updated_at) values ($1, 'main', now(), now()) on conflict do nothing`, d.open.ID)
	page := fmt.Sprintf("/house/open/-/pipelines/%d", pl.ID)
	job := fmt.Sprintf("/house/open/-/jobs/%d", d.jobID(t, pl.ID, "compile"))
	posts := []string{page + "/cancel", page + "/retry", job + "/cancel", job + "/play", job + "/retry"}
	for role, want := range map[access.Role]int{access.NoRole: http.StatusNotFound, access.Reporter: http.StatusNotFound, access.Developer: http.StatusForbidden} {
		b, _ := d.signedIn(t, role, d.open)
		s := b.get(page)
		for _, canary := range []string{"CANARY", "canary-", "formaction"} {
			if strings.Contains(s.Body.String(), canary) {
				t.Errorf("%v reads %s", role, canary)
			}
		}
		csrf := s.form("/users/sign_out").values
		for _, path := range posts {
			if w := b.send("POST", path, csrf); w.Code != want {
				t.Errorf("%v at %s: %d, not %d", role, path, w.Code, want)
			}
			if w := b.send("GET", path, nil); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("a link to %s: %d", path, w.Code)
			}
			if w := b.send("POST", path, url.Values{}); w.Code != http.StatusForbidden {
				t.Errorf("%s without the value of the form: %d", path, w.Code)
			}
		}
	}
	for _, path := range posts {
		if w := d.browser(t).send("POST", path, url.Values{}); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/users/sign_in" {
			t.Errorf("a stranger at %s: %d", path, w.Code)
		}
	}
	if fresh, err := d.Pipelines.Find(t.Context(), d.open.ID, pl.ID); err != nil || fresh.Status != pipeline.Pending {
		t.Errorf("it changed: %+v %v", fresh, err)
	}
}

// WB-01, on pages about a project: names, refs, titles and problems are text.
func TestWB01_PagesOfPipelinesShowNamesAsText(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	const evil, ref = `"><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}`, `"><script>alert(1)</script>`
	d.configure(t, d.hidden, ref, evil, `
'`+evil+`': {stage: build, script: [x], tags: ['`+evil+`']}
second: {stage: test, script: [x]}
`)
	b, ann := d.signedIn(t, access.Maintainer, d.hidden)
	pl := d.pipeline(t, ann, d.hidden, ref)
	d.exec(t, `update users set name = $1`, evil)
	d.exec(t, `update projects set description = $1, import_error = $1`, evil)
	d.exec(t, `update namespaces set name = $1, full_name = $1`, evil)
	d.exec(t, `update pipelines set yaml_errors = $1, name = $1`, evil)
	d.exec(t, `update jobs set stage = $1, environment = $1`, evil)
	page := fmt.Sprintf("/house/hidden/-/pipelines/%d", pl.ID)
	quoted := url.QueryEscape(evil)
	for _, path := range []string{
		"/house/hidden", "/house/hidden/-/pipelines", "/house/hidden/-/pipelines?ref=" + quoted + "&status=" + quoted, page, "/house/hidden/-/jobs",
		"/house/hidden/-/jobs?status=" + quoted, fmt.Sprintf("/house/hidden/-/jobs?pipeline=%d", pl.ID), "/house/hidden/-/" + url.PathEscape(evil),
	} {
		text := b.send("GET", path, nil).Body.String()
		if path == page {
			text = strings.Replace(text, `<script src="/assets/live.`, "", 1)
		}
		if strings.Contains(text, "<script") || strings.Contains(text, "<img src=x") {
			t.Errorf("%s: a name broke out: %s", path, text)
		}
	}
}

// WB-06, on pages about a project: they are closed as all are, but for the one
// script of a page that changes by itself.
func TestWB06_PagesOfPipelinesAreClosed(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.open, "main", "A title", stages)
	b, ann := d.signedIn(t, access.Maintainer, d.open)
	pl := d.pipeline(t, ann, d.open, "main")
	live := fmt.Sprintf("/house/open/-/pipelines/%d", pl.ID)
	for _, path := range []string{"/house/open", "/house/open/-/pipelines", live, "/house/open/-/jobs", "/house/open/-/nothing", "/house/missing"} {
		for _, reader := range []*browser{b, d.browser(t)} {
			w := reader.send("GET", path, nil)
			for name, want := range closed {
				if name == "Content-Security-Policy" && path == live {
					want += "; script-src 'self'; connect-src 'self'"
				}
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: %s is %q", path, name, got)
				}
			}
			if strings.Contains(w.Body.String(), " style=") || strings.Count(w.Body.String(), "<script") > strings.Count(w.Body.String(), `<script src="/assets/live.`) {
				t.Errorf("%s holds what its policy refuses", path)
			}
		}
	}
}

// A job that somebody may start is not skipped, a failure that is allowed is a
// warning, and who may not start a job is told who may.
func TestPagesOfPipelinesSayWhatWaitsAndWhatWasForgiven(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.hidden, "main", "Ship", stages)
	b, ann := d.signedIn(t, access.Maintainer, d.hidden)
	pl := d.pipeline(t, ann, d.hidden, "main")
	for _, sql := range []string{
		`update jobs set status = 'success' where pipeline_id = $1 and name in ('compile', 'lint')`,
		`update jobs set status = 'failed', allow_failure = true where pipeline_id = $1 and name = 'unit'`,
		`update jobs set status = 'manual', allow_failure = true where pipeline_id = $1 and name = 'ship'`,
		`update pipelines set status = 'success' where id = $1`,
	} {
		if _, err := d.DB.Exec(t.Context(), sql, pl.ID); err != nil {
			t.Fatal(err)
		}
	}
	d.api(t, "POST", below(d.hidden, "/protected_branches"), map[string]any{"name": "main", "push_access_level": 40, "merge_access_level": 40}, "")
	page := fmt.Sprintf("/house/hidden/-/pipelines/%d", pl.ID)
	for _, path := range []string{"/house/hidden/-/pipelines", page} {
		if s := b.get(path); !s.says("Passed with warnings") {
			t.Errorf("%s hides a failure: %s", path, s.Body)
		}
	}
	s := b.get(page)
	if s.says("Skipped") || strings.Count(s.Body.String(), "Manual") < 2 {
		t.Errorf("%s", s.Body)
	}
	developer, _ := d.signedIn(t, access.Developer, d.hidden)
	reporter, _ := d.signedIn(t, access.Reporter, d.hidden)
	job := fmt.Sprintf("/house/hidden/-/jobs/%d", d.jobID(t, pl.ID, "ship"))
	for _, path := range []string{page, job} {
		if s := b.get(path); s.says("You may not") || s.says("Developers of the project can start it") {
			t.Errorf("a maintainer: %s", s.Body)
		}
		if s := developer.get(path); !s.says("You may not: main is protected, and you may not update it.") {
			t.Errorf("a developer on %s: %s", path, s.Body)
		}
		if s := reporter.get(path); !s.says("Developers of the project can start it.") {
			t.Errorf("a reporter on %s: %s", path, s.Body)
		}
	}
}

func TestAJobThatNoRunnerServesLeadsToWhereOneIsRegistered(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.hidden, "main", "Say what happens", stages)
	owner, ann := d.signedIn(t, access.Owner, d.hidden)
	reporter, _ := d.signedIn(t, access.Reporter, d.hidden)
	pl := d.pipeline(t, ann, d.hidden, "main")
	id := d.jobID(t, pl.ID, "compile")
	for _, path := range []string{fmt.Sprintf("/house/hidden/-/pipelines/%d", pl.ID), jobPage(d.hidden, id, "")} {
		link := fmt.Sprintf(`No runner serves this project. <a id="register-%d" href="/house/hidden/-/settings/ci_cd#runners">Register one</a>.`, id)
		if s := owner.get(path); !says(s, link) {
			t.Errorf("%s does not lead an owner there: %s", path, s.Body)
		}
		if s := reporter.get(path); !says(s, "No runner serves this project. Owners of the project can register one.") || s.says("settings/ci_cd") {
			t.Errorf("%s for a reporter: %s", path, s.Body)
		}
	}
}

// says reports whether a page holds a text, however much white space is in it.
func says(s *screen, text string) bool {
	return strings.Contains(strings.Join(strings.Fields(html.UnescapeString(s.Body.String())), " "), text)
}

func TestAJobThatWasRetriedLeadsToTheOneThatRanInItsPlace(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.configure(t, d.hidden, "main", "Say what happens", stages)
	b, ann := d.signedIn(t, access.Maintainer, d.hidden)
	pl := d.pipeline(t, ann, d.hidden, "main")
	first := d.jobID(t, pl.ID, "compile")
	d.exec(t, `update jobs set status = 'failed', started_at = now(), finished_at = now() where id = $1`, first)
	b.submit(b.get(jobPage(d.hidden, first, "")), jobPage(d.hidden, first, "/retry"), nil)
	second := d.jobID(t, pl.ID, "compile")
	link := fmt.Sprintf(`retried</span> as <a href="%s">#%d</a>`, jobPage(d.hidden, second, ""), second)
	if s := b.get(jobPage(d.hidden, first, "")); first == second || !says(s, link) {
		t.Errorf("nothing of %s in %s", link, s.Body)
	}
	if s := b.get(jobPage(d.hidden, second, "")); s.says("retried") {
		t.Errorf("%s", s.Body)
	}
}

func TestListsOfJobsAreTurnedAndNarrowed(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Maintainer, d.hidden, d.other)
	failed, done := d.job(t, d.hidden, u, "failed", ""), d.job(t, d.hidden, u, "success", "")
	elsewhere := d.job(t, d.other, u, "failed", "")
	of := func(job int64) int64 {
		id, err := postgres.Value[int64](t.Context(), d.DB, `select pipeline_id from jobs where id = $1`, job)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	const list = "/house/hidden/-/jobs"
	check := func(query string, want ...int64) {
		t.Helper()
		s := b.get(list + query)
		for _, id := range []int64{failed, done, elsewhere} {
			if s.says(`href="`+jobPage(d.hidden, id, `"`)) != slices.Contains(want, id) {
				t.Errorf("%q: job %d of %v: %s", query, id, want, s.Body)
			}
		}
	}
	check("", failed, done)
	check("?status=failed", failed)
	check(fmt.Sprintf("?pipeline=%d", of(done)), done)
	check(fmt.Sprintf("?pipeline=%d&status=failed", of(done)))
	for _, query := range []string{fmt.Sprintf("?pipeline=%d", of(elsewhere)), "?pipeline=x", "?pipeline=999999"} {
		if w := b.send("GET", list+query, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
	// A job that was retried is listed too, and the next part is narrowed as this one is.
	d.exec(t, `insert into jobs (project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags, interruptible,
		retried, created_at, updated_at)
		select project_id, pipeline_id, spec_id, user_id, false, 'build', 'test', 0, 'failed', 'on_success', false, '{}', false, true, now(), now()
		from jobs, generate_series(1, 30) where id = $1`, failed)
	s := b.get(fmt.Sprintf("%s?pipeline=%d&status=failed", list, of(failed)))
	_, rest, _ := strings.Cut(s.Body.String(), `rel="next" href="`)
	next, _, _ := strings.Cut(rest, `"`)
	if strings.Count(s.Body.String(), `<th scope="row"`) != 25 || !strings.Contains(next, "status=failed") || !strings.Contains(next, fmt.Sprintf("pipeline=%d", of(failed))) {
		t.Errorf("the next part is %s: %s", next, s.Body)
	}
}

func TestAListIsNotWholeForAStatusThatIsNone(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	b, u := d.signedIn(t, access.Developer, d.hidden)
	d.job(t, d.hidden, u, "success", "")
	for _, list := range []string{"pipelines", "jobs"} {
		path := "/house/hidden/-/" + list
		if s := b.get(path + "?status=bogus"); s.Code != http.StatusOK || s.says("<table") || !s.says("There is no status “bogus”.") {
			t.Errorf("%s: %d %s", list, s.Code, s.Body)
		}
		if s := b.get(path + "?status=success"); !s.says("<table") {
			t.Errorf("%s: %d %s", list, s.Code, s.Body)
		}
	}
}
