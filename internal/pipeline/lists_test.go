package pipeline_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/repository/repositorytest"
)

func TestListsOfJobsAreCountedLikeOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	var last int64
	for range 3 {
		last = w.create(t).ID
	}
	for _, c := range []struct{ path, total, pages string }{
		{w.at("/jobs?per_page=2"), "6", "3"},
		{w.at("/jobs?per_page=2&page=2"), "6", "3"},
		{w.at("/jobs?per_page=2&page=3"), "6", "3"},
		{w.at("/jobs?per_page=2&page=9"), "6", "3"},
		{w.at("/jobs?per_page=2&scope=pending"), "3", "2"},
		{w.at("/jobs?per_page=1&scope[]=pending&scope[]=created"), "6", "6"},
		{w.at("/pipelines/%d/jobs?per_page=1", last), "2", "2"},
	} {
		h := w.as(t, access.Developer).Do(t, "GET", c.path, nil).WantStatus(t, 200).Header
		if h.Get("X-Total") != c.total || h.Get("X-Total-Pages") != c.pages || !strings.Contains(h.Get("Link"), `rel="last"`) {
			t.Errorf("%s: %s jobs on %s pages, %s", c.path, h.Get("X-Total"), h.Get("X-Total-Pages"), h.Get("Link"))
		}
	}
	w.exec(t, `insert into jobs (project_id, pipeline_id, spec_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags, interruptible, created_at, updated_at)
		select project_id, pipeline_id, spec_id, false, 'many ' || n, stage, 0, 'success', 'on_success', false, '{}', false, created_at, updated_at
		from jobs, generate_series(1, 9995) n where id = (select min(id) from jobs)`)
	h := w.as(t, access.Developer).Do(t, "GET", w.at("/jobs"), nil).WantStatus(t, 200).Header
	if h.Get("X-Total") != "" || h.Get("X-Total-Pages") != "" || strings.Contains(h.Get("Link"), `rel="last"`) || h.Get("X-Next-Page") != "2" {
		t.Errorf("more than 10,000 jobs: %v", h)
	}
}

func TestATriggerJobHasTheMembersOfAJob(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "go: {trigger: {project: house/other}, when: manual}\nrun: {script: [x], stage: deploy}\n")
	pl := w.create(t)
	one := func(path string) map[string]any {
		t.Helper()
		rows := httpapitest.JSON[[]map[string]any](t, w.as(t, access.Developer).Do(t, "GET", path, nil).WantStatus(t, 200))
		if len(rows) != 1 {
			t.Fatalf("%s: %v", path, rows)
		}
		return rows[0]
	}
	job, bridge := one(w.at("/pipelines/%d/jobs", pl.ID)), one(w.at("/pipelines/%d/bridges", pl.ID))
	for _, of := range []string{"artifacts", "artifacts_expire_at", "runner", "runner_manager", "tag_list"} { // of runners
		delete(job, of)
	}
	for key := range job {
		if _, there := bridge[key]; !there {
			t.Errorf("a trigger job has no %s", key)
		}
	}
	for _, row := range []map[string]any{job, bridge} {
		if row["queued_duration"] == nil {
			t.Errorf("%s, which waits, has been queued for %v", row["name"], row["queued_duration"])
		}
	}
}

func TestAConfigurationThatIsTooLargeIsSaidToBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	sha := repositorytest.Commit(t, w.repo, "main", "Grow", repositorytest.Files{
		".svc-ci.yml": "a: {script: [x]}\n#" + strings.Repeat("x", ciconfig.MaxFile),
	})
	const want = "The CI config file is larger than 1024 kB"
	w.as(t, access.Developer).Do(t, "POST", w.at("/pipeline"), url.Values{"ref": {"main"}}).Want(t, 400, `{"message":{"base":["`+want+`"]}}`)
	pl, err := w.Create(t.Context(), w.actor(access.Developer), w.standing(t, access.Developer), pipeline.CreateRequest{Source: pipeline.FromPush, Ref: "main", SHA: string(sha)})
	if err != nil || pl == nil || pl.Status != pipeline.Failed || pl.YAMLErrors == nil || *pl.YAMLErrors != want {
		t.Errorf("a push makes %+v, %v", pl, err)
	}
	r := w.as(t, access.Developer).Do(t, "GET", w.at("/ci/lint"), nil).WantStatus(t, 200)
	var said struct{ Errors []string }
	if err := json.Unmarshal([]byte(r.Body), &said); err != nil || len(said.Errors) != 1 || said.Errors[0] != want {
		t.Error(r.Body, err)
	}
}
