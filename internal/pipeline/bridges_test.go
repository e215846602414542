package pipeline_test

import (
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
)

func (w *world) downstream(t testing.TB, pipelineID int64) int64 {
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
		w := newWorld(t, parent)
		repositorytest.Commit(t, w.repo, "main", "Child", repositorytest.Files{".svc-ci.yml": parent, "child.yml": "inner: {script: [x]}\n"})
		pl := w.create(t)
		w.run(t, pl.ID, "build", passed)
		w.carryOn(t)
		w.carryOn(t)
		w.wantStates(t, pl.ID, "running build:success child:running after:created")
		below := w.downstream(t, pl.ID)
		child, err := w.Known(t.Context(), w.db, below)
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
	w := newWorld(t, "go: {trigger: {project: house/other}}\n")
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
	w := newWorld(t, self)
	pl := w.create(t)
	w.carryOn(t)
	first := w.downstream(t, pl.ID)
	second := w.downstream(t, first)
	if got := w.jobs(t, second)["down"].FailureReason; got == nil || *got != pipeline.DescendantsTooDeep {
		t.Errorf("children of children of children: %v", got)
	}
	w.wantStates(t, pl.ID, "failed down:failed")
}
