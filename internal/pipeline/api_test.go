package pipeline_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/project/projecttest"
)

func TestAJobIsShownAsClientsKnowIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "rspec: {stage: test, script: [x], tags: [ruby, docker]}\n")
	pl := w.create(t)
	w.run(t, pl.ID, "rspec", failed)
	id := w.jobs(t, pl.ID)["rspec"].ID
	r := w.as(t, access.Reporter).Do(t, "GET", w.at("/jobs/%d", id), nil).WantStatus(t, 200)
	var got map[string]any
	if err := json.Unmarshal([]byte(r.Body), &got); err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(got))
	want := strings.Fields(`allow_failure archived artifacts artifacts_expire_at commit coverage created_at duration erased_at failure_reason finished_at
		id name pipeline project queued_duration ref runner runner_manager stage started_at status tag tag_list user web_url`)
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
	for key, value := range map[string]any{
		"name": "rspec", "stage": "test", "status": "failed", "failure_reason": "script_failure", "ref": "main", "tag": false, "allow_failure": false,
		"archived": false, "tag_list": []any{"docker", "ruby"}, "artifacts": []any{}, "runner": nil, "coverage": nil, "erased_at": nil,
		"created_at": "2024-05-02T15:04:05.678Z", "duration": 0.0, "queued_duration": 0.0,
		"web_url": "https://forge.example/house/forge/-/jobs/1", "project": map[string]any{"ci_job_token_scope_enabled": false},
	} {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	for part, fields := range map[string]string{
		"commit":   "author_email author_name created_at id message short_id title",
		"pipeline": "id project_id ref sha status",
		"user":     "avatar_url bio created_at id job_title location name public_email state username web_url",
	} {
		for field := range strings.FieldsSeq(fields) {
			if _, there := got[part].(map[string]any)[field]; !there {
				t.Errorf("%s lacks %s", part, field)
			}
		}
	}
	w.Do(t, "GET", w.at("/jobs/%d", id), nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
	w.as(t, access.Reporter).Do(t, "GET", w.at("/jobs/999"), nil).Want(t, 404, `{"message":"404 Not found"}`)
}

func TestJobsOfAProjectTurnByKeyset(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	for range 3 {
		w.create(t)
	}
	var seen []int64
	path := w.at("/jobs?pagination=keyset&order_by=id&sort=desc&per_page=4")
	for path != "" {
		r := w.as(t, access.Reporter).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)
		for _, j := range httpapitest.JSON[[]jobForm](t, r) {
			seen = append(seen, j.ID)
		}
		_, next, _ := strings.Cut(r.Header.Get("Link"), "/api/v4")
		path, _, _ = strings.Cut(next, ">")
	}
	if diff := cmp.Diff([]int64{6, 5, 4, 3, 2, 1}, seen); diff != "" {
		t.Error(diff)
	}
	w.as(t, access.Reporter).Do(t, "GET", w.at("/jobs?pagination=keyset&order_by=id&sort=asc"), nil).
		Want(t, 405, `{"error":"Keyset pagination is not yet available for this type of request"}`)
}

func TestPE08_TheJobsOfARunnerAreThoseThatTheReaderMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	var ran []int64
	for i, o := range []pipeline.Outcome{passed, failed, passed} {
		pl := w.create(t)
		w.run(t, pl.ID, "build", o)
		ran = append(ran, w.jobs(t, pl.ID)["build"].ID)
		for range i % 2 * 3 { // what the runner did for others is neither seen nor counted
			other := projecttest.New(t, w.db, grouptest.New(t, w.db).ID)
			w.exec(t, `insert into jobs (project_id, pipeline_id, spec_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags, interruptible,
				runner_id, created_at, updated_at) select $2, pipeline_id, spec_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags,
				interruptible, runner_id, created_at, updated_at from jobs where id = $1`, ran[0], other.ID)
		}
	}
	w.exec(t, `insert into runners (id, runner_type, digest, created_at, updated_at) values (1, 'project_type', decode(repeat('00', 32), 'hex'), now(), now())`)
	w.exec(t, `insert into runner_projects (runner_id, project_id, created_at) values (1, $1, now())`, w.project.ID)
	slices.Reverse(ran) // the newest comes first
	for query, want := range map[string][]int64{
		"": ran, "?status=failed": ran[1:2], "?status=canceled": nil, "?order_by=id&sort=asc": {ran[2], ran[1], ran[0]},
		"?per_page=2": ran[:2], "?per_page=2&page=2": ran[2:],
	} {
		r := w.as(t, access.Maintainer).Do(t, "GET", "/runners/1/jobs"+query, nil).WantStatus(t, http.StatusOK)
		var got []int64
		for _, j := range httpapitest.JSON[[]jobForm](t, r) {
			got = append(got, j.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
		total, narrowed := map[string]string{"?status=failed": "1", "?status=canceled": "0"}[query]
		if !narrowed {
			total = "3"
		}
		if got := r.Header.Get("X-Total"); got != total {
			t.Errorf("%s: counts %s, want %s", query, got, total)
		}
	}
	first := httpapitest.JSON[[]map[string]any](t, w.as(t, access.Maintainer).Do(t, "GET", "/runners/1/jobs?per_page=1", nil))[0]
	if _, shown := first["tag_list"]; shown {
		t.Error("more than the basic form")
	}
	if of, is := first["project"].(map[string]any); !is || of["path_with_namespace"] != "house/forge" || of["id"] != float64(w.project.ID) {
		t.Errorf("the project is %v", first["project"])
	}
	w.as(t, access.Developer).Do(t, "GET", "/runners/1/jobs", nil).Want(t, 403, `{"message":"403 Forbidden - No access granted"}`)
	w.as(t, access.Maintainer).Do(t, "GET", "/runners/9/jobs", nil).Want(t, 404, `{"message":"404 Not found"}`)
	w.Do(t, "GET", "/runners/1/jobs", nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
}
