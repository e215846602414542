package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const ciFile = `
stages: [build, test, package, deploy]
.job: {script: [make]}
compile: {extends: .job, stage: build}
generate: {extends: .job, stage: build}
unit: {extends: .job, stage: test, parallel: 3}
lint: {extends: .job, stage: test, needs: []}
integration with a rather long name: {extends: .job, stage: test, needs: [compile]}
container: {extends: .job, stage: package, tags: [docker, arm64], needs: [compile, generate]}
documents: {extends: .job, stage: package, allow_failure: true, needs: [lint]}
staging: {extends: .job, stage: deploy, needs: [container]}
production:
  extends: .job
  stage: deploy
  needs: []
  rules: [{if: '$CI_COMMIT_BRANCH == "main"', when: manual}]
nightly: {extends: .job, stage: deploy, needs: [], when: delayed, start_in: 3 hours}
`

func id(answer map[string]any) int64 {
	n, _ := answer["id"].(float64)
	return int64(n)
}

// commit writes the configuration of a project.
func (f *forge) commit(project int64, method, message, content string) {
	f.t.Helper()
	f.api(method, fmt.Sprintf("/projects/%d/repository/files/%s", project, url.PathEscape(".svc-ci.yml")), map[string]any{
		"branch": "main", "content": content, "commit_message": message,
	}, "ada")
}

// take is a runner that takes a job and ends it, and returns its name.
func (f *forge) take(runner string, end func(name string) string) bool {
	f.t.Helper()
	send := func(method, path string, body map[string]any) (int, map[string]any) {
		text, _ := json.Marshal(body)
		r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v4"+path, bytes.NewReader(text))
		if err != nil {
			f.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			f.t.Fatal(err)
		}
		defer resp.Body.Close()
		answer := map[string]any{}
		_ = json.NewDecoder(resp.Body).Decode(&answer)
		return resp.StatusCode, answer
	}
	code, job := send("POST", "/jobs/request", map[string]any{"token": runner, "info": map[string]any{"executor": "shell", "features": map[string]any{}}})
	if code != http.StatusCreated {
		return false
	}
	info, _ := job["job_info"].(map[string]any)
	name, _ := info["name"].(string)
	state := end(name)
	if state == "" {
		return true
	}
	body := map[string]any{"token": job["token"], "state": state}
	if state == "failed" {
		body["failure_reason"], body["exit_code"] = "script_failure", 2
	}
	if code, answer := send("PUT", fmt.Sprintf("/jobs/%d", id(job)), body); code != http.StatusOK {
		f.t.Fatalf("the end of %s: %d %v", name, code, answer)
	}
	return true
}

// pipelinePages are those of a project with pipelines in every state, and of one that has nothing.
func (f *forge) pipelinePages() []page {
	f.t.Helper()
	made := f.api("POST", "/projects", map[string]any{
		"name": "Difference Engine", "description": "Tables of polynomials, without errors.", "initialize_with_readme": true, "visibility": "public",
	}, "ada")
	project := id(made)
	at := fmt.Sprintf("/projects/%d", project)
	run := func() int64 { return id(f.api("POST", at+"/pipeline", map[string]any{"ref": "main"}, "ada")) }
	token, _ := f.api("POST", "/user/runners", map[string]any{"runner_type": "instance_type", "run_untagged": true}, "")["token"].(string)

	f.commit(project, "POST", "Build, test and deploy [skip ci]", "one: {script: [make]}\n")
	passed := run()
	f.take(token, func(string) string { return "success" })
	f.commit(project, "PUT", "Stages, with a title that is longer than most screens of telephones are wide [skip ci]", ciFile)
	mixed := run()
	for range 5 {
		f.take(token, func(name string) string {
			switch {
			case strings.HasPrefix(name, "unit 1/"):
				return "failed"
			case strings.HasPrefix(name, "unit"):
				return ""
			}
			return "success"
		})
	}
	f.commit(project, "PUT", "Many [skip ci]", "many: {script: [make], parallel: 40, tags: [docker, arm64]}\n")
	large := run()
	// A push whose configuration is not valid leaves a pipeline that says so.
	f.commit(project, "PUT", "Break it", "container:\n  stage: nowhere\n  script: [make]\n")
	var broken string
	for deadline := time.Now().Add(20 * time.Second); broken == ""; {
		if time.Now().After(deadline) {
			f.t.Fatal("the push made no pipeline")
		}
		text := f.browser().read(http.Get(f.url + "/api/v4" + at + "/pipelines?yaml_errors=true"))
		var all []struct{ ID int64 }
		if _ = json.Unmarshal([]byte(text), &all); len(all) > 0 {
			broken = fmt.Sprint(all[0].ID)
		}
	}
	const engine, empty = "/ada/difference-engine", "/ada/Notes"
	pipelines, jobs := engine+"/-/pipelines", engine+"/-/jobs"
	return []page{
		{Name: "project", Path: engine, As: "ada", Small: true},
		{Name: "project-empty", Path: empty, As: "ada", Small: true},
		{Name: "project-stranger", Path: engine},
		{Name: "pipelines", Path: pipelines, As: "ada", Small: true},
		{Name: "pipelines-empty", Path: empty + "/-/pipelines", As: "ada"},
		{Name: "pipelines-none", Path: pipelines + "?ref=nowhere", As: "ada"},
		{Name: "pipeline", Path: fmt.Sprintf("%s/%d", pipelines, mixed), As: "ada", Small: true, Live: true},
		{Name: "pipeline-large", Path: fmt.Sprintf("%s/%d", pipelines, large), As: "ada"},
		{Name: "pipeline-passed", Path: fmt.Sprintf("%s/%d", pipelines, passed), As: "ada"},
		{Name: "pipeline-broken", Path: pipelines + "/" + broken, As: "ada"},
		{Name: "pipeline-stranger", Path: fmt.Sprintf("%s/%d", pipelines, mixed)},
		{Name: "pipeline-hidden", Path: empty + "/-/pipelines", As: "person", Status: http.StatusNotFound},
		{Name: "jobs", Path: jobs, As: "ada", Small: true},
		{Name: "jobs-of-pipeline", Path: fmt.Sprintf("%s?pipeline=%d", jobs, mixed), As: "ada"},
		{Name: "jobs-empty", Path: empty + "/-/jobs", As: "ada"},
	}
}
