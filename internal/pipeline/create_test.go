package pipeline_test

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/repository"
)

func decode[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// commit pushes files through the API as somebody.
func (w *fixture) commit(t testing.TB, role access.Role, branch, message string, files map[string]string) {
	t.Helper()
	actions := []map[string]any{}
	for path, content := range files {
		action := "create"
		if strings.HasPrefix(path, "~") {
			action, path = "update", path[1:]
		}
		actions = append(actions, map[string]any{"action": action, "file_path": path, "content": content})
	}
	body := map[string]any{"branch": branch, "commit_message": message, "actions": actions}
	if branch != "main" {
		body["start_branch"] = "main"
	}
	w.as(t, role).Do(t, "POST", w.at("/repository/commits"), body).WantStatus(t, 201)
}

type pipelineForm struct {
	ID             int64
	IID            int64 `json:"iid"`
	Status, Source string
	SHA            string             `json:"sha"`
	BeforeSHA      string             `json:"before_sha"`
	YAMLErrors     *string            `json:"yaml_errors"`
	User           struct{ ID int64 } `json:"user"`
}

func (w *fixture) latest(t testing.TB) pipelineForm {
	t.Helper()
	return httpapitest.JSON[pipelineForm](t, w.as(t, access.Developer).Do(t, "GET", w.at("/pipelines/latest"), nil).WantStatus(t, 200))
}

func TestAPushStartsAPipelineAsWhoeverPushed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	w.commit(t, access.Maintainer, "main", "More", map[string]string{"a": "1"})
	w.work(t)
	pl := w.latest(t)
	if pl.Status != "pending" || pl.Source != "push" || pl.User.ID != w.people[access.Maintainer].ID || pl.IID != 1 || pl.BeforeSHA == pl.SHA {
		t.Errorf("%+v", pl)
	}
	w.wantStates(t, pl.ID, "pending build:pending test:created")
	n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from river_job where kind = 'pipeline_keep_ref'`)
	if err != nil || n != 1 {
		t.Error(n, err)
	}
}

func TestAPushMakesItsPipelineOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	w.commit(t, access.Maintainer, "main", "More", map[string]string{"a": "1"})
	text, err := postgres.Value[string](t.Context(), w.db, `select args::text from river_job where kind = 'pipeline_create'`)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.FromPush(t.Context(), decode[pipeline.PushArgs](t, text)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from pipelines`); n != 1 || err != nil {
		t.Errorf("%d pipelines, %v", n, err)
	}
}

func TestACommitThatAsksForItRunsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	for i, mark := range []string{"[skip ci]", "[ci skip]", "[CI-Skip]", "[skip_ci]"} {
		w.commit(t, access.Maintainer, "main", "Quiet "+mark, map[string]string{string(rune('a' + i)): "1"})
		w.work(t)
		pl := w.latest(t)
		w.wantStates(t, pl.ID, "skipped")
	}
}

func TestAnInvalidConfigurationMakesAPipelineThatFailed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	w.commit(t, access.Maintainer, "main", "Break", map[string]string{"~.svc-ci.yml": "build: {script: [x], stage: nowhere}"})
	w.work(t)
	pl := w.latest(t)
	if pl.Status != "failed" || pl.YAMLErrors == nil || !strings.Contains(*pl.YAMLErrors, "chosen stage does not exist") {
		t.Errorf("%+v", pl)
	}
	// Who asks for one hears of it, and nothing is kept.
	r := w.as(t, access.Maintainer).Do(t, "POST", w.at("/pipeline"), url.Values{"ref": {"main"}}).WantStatus(t, 400)
	if !strings.Contains(r.Body, `"base":["build job: chosen stage does not exist`) {
		t.Error(r.Body)
	}
	if n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from pipelines`); n != 1 || err != nil {
		t.Errorf("%d pipelines, %v", n, err)
	}
}

func TestAPipelineIsRefusedInTheKnownWords(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `
workflow: {rules: [{if: '$STOP', when: never}, {when: always}]}
build: {script: [make], rules: [{if: '$EMPTY', when: never}, {when: always}]}
`)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_branches"), url.Values{"name": {"main"}}).WantStatus(t, 201)
	ask := func(role access.Role, form any, want string) {
		t.Helper()
		r := w.as(t, role).Do(t, "POST", w.at("/pipeline"), form)
		if r.Status != 400 || !strings.Contains(r.Body, want) {
			t.Errorf("%v as %d: %d %s, want %s", form, role, r.Status, r.Body, want)
		}
	}
	with := func(pairs ...string) any {
		vars := []map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			vars = append(vars, map[string]string{"key": pairs[i], "value": pairs[i+1]})
		}
		return map[string]any{"ref": "main", "variables": vars}
	}
	ask(access.Maintainer, url.Values{"ref": {"nowhere"}}, `{"message":{"base":["Reference not found"]}}`)
	ask(access.Developer, url.Values{"ref": {"main"}},
		`You do not have sufficient permission to run a pipeline on 'main'. Please select a different branch or contact your administrator for assistance.`)
	ask(access.Owner, with("STOP", "1"), `Pipeline filtered out by workflow rules.`)
	ask(access.Owner, with("EMPTY", "1"), `Pipeline will not run for the selected trigger.`)
	ask(access.Owner, with("A", "1", "A", "2"), `Duplicate variable name: A`)
	ask(access.Owner, with("A", "1", "A", "2", "B", "1", "B", "2"), `Duplicate variable names: A, B`)
	w.as(t, access.Reporter).Do(t, "POST", w.at("/pipeline"), url.Values{"ref": {"main"}}).WantStatus(t, 403)
	w.exec(t, `update projects set settings = settings || '{"restrict_user_defined_variables": true}' where id = $1`, w.project.ID)
	w.exec(t, `delete from protected_branches`)
	ask(access.Developer, with("A", "1"), `Insufficient permissions to set pipeline variables`)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/pipeline"), with("A", "1")).WantStatus(t, 201)
}

func TestWithoutAConfigurationThereIsNoPipeline(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.as(t, access.Owner).Do(t, "POST", w.at("/pipeline"), url.Values{"ref": {"main"}}).Want(t, 400, `{"message":{"base":["Missing CI config file"]}}`)
	w.commit(t, access.Maintainer, "main", "More", map[string]string{"a": "1"})
	w.work(t)
	w.as(t, access.Developer).Do(t, "GET", w.at("/pipelines"), nil).Want(t, 200, `[]`)
	w.commit(t, access.Maintainer, "main", "More", map[string]string{".gitlab-ci.yml": simple})
	w.work(t)
	if pl := w.latest(t); pl.Status != "pending" {
		t.Errorf("%+v", pl)
	}
}

func TestANewerCommitCancelsWhatIsRedundant(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	for _, name := range []string{"a", "b"} {
		w.commit(t, access.Maintainer, "main", "More", map[string]string{name: "1"})
		w.work(t)
		w.carryOn(t)
	}
	w.wantStates(t, 1, "canceled build:canceled test:canceled")
	w.wantStates(t, 2, "pending build:pending test:created")
	// What has begun and may not be interrupted goes on.
	w.start(t, 2, "build")
	w.commit(t, access.Maintainer, "main", "More", map[string]string{"c": "1"})
	w.work(t)
	w.carryOn(t)
	w.wantStates(t, 2, "running build:running test:created")
}

func TestCI01_AJobRunsAsWhoeverCausedIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple+"\nlater: {stage: deploy, script: [x], when: manual}\n")
	id := func(role access.Role) int64 { return w.people[role].ID }
	pl := w.create(t)
	if got := *w.jobs(t, pl.ID)["build"].UserID; got != id(access.Developer) {
		t.Errorf("build runs as %d", got)
	}
	w.run(t, pl.ID, "build", failed)
	j, err := w.RetryJob(t.Context(), w.actor(access.Maintainer), w.standing(t, access.Maintainer), w.jobs(t, pl.ID)["build"].ID)
	if err != nil || *j.UserID != id(access.Maintainer) {
		t.Errorf("the retried job runs as %v, %v", j, err)
	}
	w.run(t, pl.ID, "build", passed)
	w.run(t, pl.ID, "test", passed)
	j, err = w.PlayJob(t.Context(), w.actor(access.Owner), w.standing(t, access.Owner), w.jobs(t, pl.ID)["later"].ID, nil)
	if err != nil || *j.UserID != id(access.Owner) {
		t.Errorf("the played job runs as %v, %v", j, err)
	}
	// A push of somebody who was kept out since runs nothing.
	w.commit(t, access.Developer, "side", "x", map[string]string{"a": "1"})
	w.exec(t, `update users set state = 'blocked' where id = $1`, id(access.Developer))
	w.work(t)
	if n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from pipelines where ref = 'side'`); n != 0 || err != nil {
		t.Errorf("%d pipelines of somebody who is blocked, %v", n, err)
	}
}

func TestACacheIsNamedByTheCommitsThatTouchedItsFiles(t *testing.T) {
	t.Parallel()
	const config = `
a: {script: [x], cache: [{key: {files: [go.sum, no.such]}, paths: [p]}, {key: {files: [a/b.lock], prefix: $CI_JOB_NAME}, paths: [p]}, {key: plain, paths: [p]}]}
b: {script: [x], cache: {key: {files: [no.such, ../x]}, paths: [p]}}
`
	w := newFixture(t, config)
	keys := func() []string {
		t.Helper()
		pl := w.create(t)
		var keys []string
		for _, name := range []string{"a", "b"} {
			spec, err := w.SpecOf(t.Context(), w.db, w.jobs(t, pl.ID)[name])
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range spec.Job.Cache {
				keys = append(keys, c.Key)
			}
		}
		return keys
	}
	if got := strings.Join(keys(), " "); got != "0_go_no-default $CI_JOB_NAME-default plain 0_no_-default" {
		t.Errorf("without any of the files: %s", got)
	}
	w.commit(t, access.Maintainer, "main", "Sums", map[string]string{"go.sum": "1"})
	first := keys()
	if !strings.HasPrefix(first[0], "0_go_no-") || len(first[0]) != len("0_go_no-")+40 || first[1] != "$CI_JOB_NAME-default" {
		t.Errorf("with one of the files: %v", first)
	}
	w.commit(t, access.Maintainer, "main", "Other", map[string]string{"other": "1"})
	if again := keys(); again[0] != first[0] {
		t.Errorf("a commit that touches another file changes %s to %s", first[0], again[0])
	}
	w.commit(t, access.Maintainer, "main", "Sums", map[string]string{"~go.sum": "2", "a/b.lock": "1"})
	if again := keys(); again[0] == first[0] || len(again[1]) != len("$CI_JOB_NAME-")+40 {
		t.Errorf("after both were touched: %v", again)
	}
}

func TestTemplatesComeWithTheProgram(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	lint := func(config string) (bool, string) {
		t.Helper()
		r := w.as(t, access.Developer).Do(t, "POST", w.at("/ci/lint"), map[string]any{"content": config, "dry_run": true}).WantStatus(t, 200)
		got := httpapitest.JSON[struct {
			Valid  bool
			Errors []string
		}](t, r)
		return got.Valid, strings.Join(got.Errors, ", ")
	}
	found := 0
	err := filepath.WalkDir("templates", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		name := strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(path, "templates/")), ".yml")
		for _, ending := range []string{".svc-ci.yml", ".gitlab-ci.yml"} {
			if ok, errors := lint("include: [{template: " + name + ending + "}]\nmine: {stage: test, script: [x]}\n"); !ok {
				t.Errorf("%s%s: %s", name, ending, errors)
			}
		}
		return nil
	})
	if err != nil || found < 6 {
		t.Errorf("%d templates, %v", found, err)
	}
	for _, name := range []string{"No.svc-ci.yml", "../create.svc-ci.yml", "Go", "templates/Go.svc-ci.yml"} {
		if ok, errors := lint("include: [{template: '" + name + "'}]\nmine: {script: [x]}\n"); ok || !strings.Contains(errors, name) {
			t.Errorf("%s: %v %s", name, ok, errors)
		}
	}
}

func TestFilesOfTheLatestPipelineOutliveTheirTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	hour := time.Hour
	finish := func(o pipeline.Outcome) (pipelineID, job int64) {
		t.Helper()
		pl := w.create(t)
		job = w.jobs(t, pl.ID)["build"].ID
		locked, err := w.Locked(t.Context(), pl.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.artifacts.Store(t.Context(), artifact.File{
			ProjectID: w.project.ID, JobID: job, Type: artifact.Archive, Format: artifact.Zip, ExpireIn: &hour, Locked: locked,
		}, strings.NewReader("bytes")); err != nil {
			t.Fatal(err)
		}
		w.run(t, pl.ID, "build", passed)
		w.run(t, pl.ID, "test", o)
		w.carryOn(t)
		return pl.ID, job
	}
	later := func() {
		t.Helper()
		w.mu.Lock()
		w.now = w.now.Add(2 * hour)
		w.mu.Unlock()
		if err := w.artifacts.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	has := func(job int64, want bool, when string) {
		t.Helper()
		files, err := w.artifacts.Files(t.Context(), job)
		if err != nil || (len(files) == 1) != want {
			t.Errorf("%s: %d files, %v", when, len(files), err)
		}
	}
	_, first := finish(passed)
	later()
	has(first, true, "the latest, past its time")
	_, broken := finish(failed)
	later()
	has(first, true, "the latest that succeeded, after one that failed")
	has(broken, true, "one that failed, and is the latest")
	_, second := finish(passed)
	has(first, false, "the former latest")
	later()
	has(first, false, "the former latest, swept")
	has(broken, false, "one that failed before")
	has(second, true, "the latest")

	w.exec(t, `update projects set settings = settings || '{"keep_latest_artifact": false}' where id = $1`, w.project.ID)
	_, plain := finish(passed)
	later()
	has(second, false, "the former latest, after one that is not kept")
	has(plain, false, "the latest of a project that keeps none")
	w.exec(t, `update projects set settings = '{}' where id = $1`, w.project.ID)

	_, last := finish(passed)
	later()
	has(last, true, "the latest again")
	at := w.standing(t, access.Maintainer)
	w.in(t, func(tx pgx.Tx) error {
		return w.OnPushed(t.Context(), tx, repository.Pushed{
			Project: at, By: w.actor(access.Maintainer),
			Updates: []gitstore.RefUpdate{{Name: "refs/heads/main", Old: "1", New: gitstore.Zero}},
		})
	})
	w.carryOn(t)
	later()
	has(last, false, "of a branch that is gone")
}
