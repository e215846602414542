package pipeline_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
)

func decode[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// commit pushes files through the API as somebody.
func (w *world) commit(t testing.TB, role access.Role, branch, message string, files map[string]string) {
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

func (w *world) latest(t testing.TB) pipelineForm {
	t.Helper()
	return httpapitest.JSON[pipelineForm](t, w.as(t, access.Developer).Do(t, "GET", w.at("/pipelines/latest"), nil).WantStatus(t, 200))
}

func TestAPushStartsAPipelineAsWhoeverPushed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simple)
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
	w := newWorld(t, simple)
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
	w := newWorld(t, simple)
	for i, mark := range []string{"[skip ci]", "[ci skip]", "[CI-Skip]", "[skip_ci]"} {
		w.commit(t, access.Maintainer, "main", "Quiet "+mark, map[string]string{string(rune('a' + i)): "1"})
		w.work(t)
		pl := w.latest(t)
		w.wantStates(t, pl.ID, "skipped")
	}
}

func TestAnInvalidConfigurationMakesAPipelineThatFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simple)
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
	w := newWorld(t, `
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
	w := newWorld(t, "")
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
	w := newWorld(t, simple)
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
	w := newWorld(t, simple+"\nlater: {stage: deploy, script: [x], when: manual}\n")
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
