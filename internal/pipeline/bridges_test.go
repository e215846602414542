package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
)

func (w *fixture) downstream(t testing.TB, pipelineID int64) int64 {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), w.db, `select id from pipelines where parent_id = $1 order by id desc limit 1`, pipelineID)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

const parent = `
build: {stage: build, script: [x]}
child: {stage: test, trigger: {include: [{local: child.yml}], strategy: depend}, variables: {FROM: parent}}
after: {stage: deploy, script: [x]}
`

func TestABridgeEndsAsItsChildDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome pipeline.Outcome
		want    string
	}{
		{passed, "running build:success child:success after:pending"},
		{failed, "failed build:success child:failed after:skipped"},
	} {
		w := newFixture(t, parent)
		repositorytest.Commit(t, w.repo, "main", "Child", repositorytest.Files{".svc-ci.yml": parent, "child.yml": "inner: {script: [x]}\n"})
		pl := w.create(t)
		w.run(t, pl.ID, "build", passed)
		w.carryOn(t)
		w.carryOn(t)
		w.wantStates(t, pl.ID, "running build:success child:running after:created")
		below := w.downstream(t, pl.ID)
		child, err := w.ByID(t.Context(), w.db, below)
		if err != nil || !child.Child || child.Source != pipeline.FromParent || child.SHA != pl.SHA || *child.UserID != *pl.UserID {
			t.Fatalf("%+v, %v", child, err)
		}
		vars, err := w.VariablesOf(t.Context(), w.db, below)
		if err != nil || len(vars) != 1 || vars[0].Value != "parent" {
			t.Error(vars, err)
		}
		r := w.as(t, access.Developer).Do(t, "GET", w.at("/pipelines/%d/bridges", pl.ID), nil).WantStatus(t, 200)
		bridges := httpapitest.JSON[[]struct {
			Name       string
			Downstream struct{ ID int64 } `json:"downstream_pipeline"`
		}](t, r)
		if len(bridges) != 1 || bridges[0].Name != "child" || bridges[0].Downstream.ID != below {
			t.Error(r.Body)
		}
		w.as(t, access.Developer).Do(t, "GET", w.at("/jobs/%d", w.jobs(t, pl.ID)["child"].ID), nil).WantStatus(t, 404)
		if list := w.as(t, access.Developer).Do(t, "GET", w.at("/pipelines"), nil).WantStatus(t, 200); strings.Count(list.Body, `"iid"`) != 1 {
			t.Error("a child stands in the list of pipelines: ", list.Body)
		}
		w.run(t, below, "inner", c.outcome)
		w.carryOn(t)
		w.wantStates(t, pl.ID, c.want)
	}
}

func TestABridgeToAnotherProjectNeedsRightsThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "go: {trigger: {project: house/other}}\n")
	why := func() string {
		t.Helper()
		pl := w.create(t)
		w.carryOn(t)
		j := w.jobs(t, pl.ID)["go"]
		if j.FailureReason == nil {
			return string(j.Status)
		}
		return string(*j.FailureReason)
	}
	if got := why(); got != "downstream_bridge_project_not_found" {
		t.Error(got)
	}
	other := projecttest.New(t, w.db, w.home.ID, projecttest.Named("other"), projecttest.Visible(access.Private))
	repositorytest.New(t, w.db, w.store, other, repositorytest.Files{".svc-ci.yml": simple})
	if got := why(); got != "downstream_bridge_project_not_found" {
		t.Errorf("a project that the person does not see: %s", got)
	}
	projecttest.Join(t, w.db, other, w.people[access.Developer], access.Reporter)
	if got := why(); got != "insufficient_bridge_permissions" {
		t.Error(got)
	}
	w.exec(t, `update members set access_level = 30 where project_id = $1`, other.ID)
	if got := why(); got != "success" {
		t.Error(got)
	}
	n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from pipelines where project_id = $1 and source = 'pipeline'`, other.ID)
	if err != nil || n != 1 {
		t.Error(n, err)
	}
}

func TestAChildIsCanceledWithItsParentAndChildrenAreNotEndless(t *testing.T) {
	t.Parallel()
	const self = "down: {trigger: {include: [{local: .svc-ci.yml}], strategy: depend}}\n"
	w := newFixture(t, self)
	pl := w.create(t)
	w.carryOn(t)
	first := w.downstream(t, pl.ID)
	second := w.downstream(t, first)
	if got := w.jobs(t, second)["down"].FailureReason; got == nil || *got != pipeline.DescendantsTooDeep {
		t.Errorf("children of children of children: %v", got)
	}
	w.wantStates(t, pl.ID, "failed down:failed")
}

// why is why the job of a pipeline failed, or how it stands.
func (w *fixture) why(t testing.TB, pipelineID int64, name string) string {
	t.Helper()
	j := w.jobs(t, pipelineID)[name]
	if j.FailureReason != nil {
		return string(*j.FailureReason)
	}
	return string(j.Status)
}

func TestABridgeGoesOnWhenItsChildIsRetried(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"depend", "mirror"} {
		config := strings.Replace(parent, "strategy: depend", "strategy: "+strategy, 1)
		w := newFixture(t, config)
		repositorytest.Commit(t, w.repo, "main", "Child", repositorytest.Files{".svc-ci.yml": config, "child.yml": "inner: {script: [x]}\n"})
		pl := w.create(t)
		w.run(t, pl.ID, "build", passed)
		w.carryOn(t)
		below := w.downstream(t, pl.ID)
		w.run(t, below, "inner", failed)
		w.carryOn(t)
		w.wantStates(t, pl.ID, "failed build:success child:failed after:skipped")
		bridge := w.jobs(t, pl.ID)["child"]

		if _, err := w.RetryJob(t.Context(), w.actor(access.Developer), w.standing(t, access.Developer), w.jobs(t, below)["inner"].ID); err != nil {
			t.Fatal(err)
		}
		w.carryOn(t)
		w.wantStates(t, pl.ID, "running build:success child:running after:created")
		if again := w.jobs(t, pl.ID)["child"]; again.ID != bridge.ID || again.FailureReason != nil || again.FinishedAt != nil {
			t.Errorf("%s: the bridge is %+v", strategy, again)
		}
		w.run(t, below, "inner", passed)
		w.carryOn(t)
		w.wantStates(t, pl.ID, "running build:success child:success after:pending")
		if got := w.downstream(t, pl.ID); got != below {
			t.Errorf("%s: another pipeline was made: %d", strategy, got)
		}
	}
}

func TestABridgeThatDidNotWaitStaysAsItEnded(t *testing.T) {
	t.Parallel()
	const config = "child: {trigger: {include: [{local: child.yml}]}}\n"
	w := newFixture(t, config)
	repositorytest.Commit(t, w.repo, "main", "Child", repositorytest.Files{".svc-ci.yml": config, "child.yml": "inner: {script: [x]}\n"})
	pl := w.create(t)
	w.carryOn(t)
	below := w.downstream(t, pl.ID)
	w.run(t, below, "inner", failed)
	if _, err := w.RetryJob(t.Context(), w.actor(access.Developer), w.standing(t, access.Developer), w.jobs(t, below)["inner"].ID); err != nil {
		t.Fatal(err)
	}
	w.carryOn(t)
	w.wantStates(t, pl.ID, "success child:success")
}

func TestABridgeFollowsTheLatestPipelineOfAnotherProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "wait: {needs: {pipeline: house/other}}\n")
	look := func() (int64, string) {
		t.Helper()
		pl := w.create(t)
		if err := w.Bridge(t.Context(), w.jobs(t, pl.ID)["wait"].ID); err != nil {
			t.Fatal(err)
		}
		return pl.ID, w.why(t, pl.ID, "wait")
	}
	if _, got := look(); got != "upstream_bridge_project_not_found" {
		t.Error(got)
	}
	other := projecttest.New(t, w.db, w.home.ID, projecttest.Named("other"), projecttest.Visible(access.Private))
	repositorytest.New(t, w.db, w.store, other, repositorytest.Files{".svc-ci.yml": "go: {script: [x]}\n"})
	if _, got := look(); got != "upstream_bridge_project_not_found" {
		t.Errorf("a project that the person does not see: %s", got)
	}
	projecttest.Join(t, w.db, other, w.people[access.Developer], access.Guest)
	w.exec(t, `update projects set settings = settings || '{"public_jobs": false}' where id = $1`, other.ID)
	if _, got := look(); got != "insufficient_upstream_permissions" {
		t.Errorf("a project whose pipelines the person does not see: %s", got)
	}
	w.exec(t, `update members set access_level = 30 where project_id = $1`, other.ID)
	waiting, got := look()
	if got != "running" {
		t.Errorf("without a pipeline there: %s", got)
	}
	p, err := w.projects.Find(t.Context(), w.actor(access.Developer), other.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		outcome pipeline.Outcome
		want    string
	}{{passed, "success"}, {failed, "unknown_failure"}} {
		up, err := w.Create(t.Context(), w.actor(access.Developer), p, pipeline.CreateRequest{Source: pipeline.FromAPI, Ref: "main"})
		if err != nil {
			t.Fatal(err)
		}
		id, got := look()
		if got != "running" {
			t.Errorf("while that is on its way: %s", got)
		}
		w.run(t, up.ID, "go", c.outcome)
		if err := w.Bridge(t.Context(), w.jobs(t, id)["wait"].ID); err != nil {
			t.Fatal(err)
		}
		if got := w.why(t, id, "wait"); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	w.mu.Lock()
	w.now = w.now.Add(25 * time.Hour)
	w.mu.Unlock()
	w.exec(t, `delete from pipelines where project_id = $1`, other.ID)
	if err := w.Bridge(t.Context(), w.jobs(t, waiting)["wait"].ID); err != nil {
		t.Fatal(err)
	}
	if got := w.why(t, waiting, "wait"); got != "stuck_or_timeout_failure" {
		t.Errorf("after a day: %s", got)
	}
}

func TestProjectsThatStartEachOtherComeToAnEnd(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "go: {trigger: house/other}\n")
	other := projecttest.New(t, w.db, w.home.ID, projecttest.Named("other"))
	projecttest.Join(t, w.db, other, w.people[access.Developer], access.Developer)
	repositorytest.New(t, w.db, w.store, other, repositorytest.Files{".svc-ci.yml": "go: {trigger: house/forge}\n"})
	w.create(t)
	w.carryOn(t)
	made, err := postgres.Value[int](t.Context(), w.db, `select count(*) from pipelines`)
	looped, loopErr := postgres.Value[int](t.Context(), w.db, `select count(*) from jobs where failure_reason = 'pipeline_loop_detected'`)
	if err != nil || loopErr != nil || looped != 1 || made > 10 {
		t.Errorf("%d pipelines, %d loops, %v %v", made, looped, err, loopErr)
	}
}

func TestATreeOfPipelinesHasASize(t *testing.T) {
	t.Parallel()
	const config = "child: {when: manual, trigger: {include: [{local: child.yml}]}}\nbuild: {script: [x]}\n"
	w := newFixture(t, config)
	repositorytest.Commit(t, w.repo, "main", "Child", repositorytest.Files{".svc-ci.yml": config, "child.yml": "inner: {script: [x]}\n"})
	for below, want := range map[int]string{998: "success", 999: "reached_max_pipeline_hierarchy_size"} {
		pl := w.create(t)
		w.exec(t, `insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, root_id, created_at, updated_at)
			select project_id, 10000 * id + n, sha, '', ref, tag, 'success', 'parent_pipeline', id, created_at, created_at
			from pipelines, generate_series(1, $2) n where id = $1`, pl.ID, below)
		if _, err := w.PlayJob(t.Context(), w.actor(access.Developer), w.standing(t, access.Developer), w.jobs(t, pl.ID)["child"].ID, nil); err != nil {
			t.Fatal(err)
		}
		w.carryOn(t)
		if got := w.why(t, pl.ID, "child"); got != want {
			t.Errorf("with %d pipelines below: %s, want %s", below, got, want)
		}
	}
}
