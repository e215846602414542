package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// runnerSays is a call of the runner of these pages.
func (f *forge) runnerSays(method, path, kind string, body []byte, headers ...string) []byte {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v4"+path, bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		f.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	return answer
}

// takeJob lets a runner have the next job, write a log and end it, unless state is empty.
func (f *forge) takeJob(runner, state string, log func(say func(string))) (id int64) {
	f.t.Helper()
	var job struct {
		ID    int64  `json:"id"`
		Token string `json:"token"`
	}
	for deadline := time.Now().Add(time.Minute); job.ID == 0; {
		answer := f.runnerSays("POST", "/jobs/request", "application/json", []byte(`{"token":"`+runner+`"}`))
		if len(answer) > 0 {
			if err := json.Unmarshal(answer, &job); err != nil {
				f.t.Fatal(err)
			}
		}
		if time.Now().After(deadline) {
			f.t.Fatal("no job comes")
		}
	}
	path := fmt.Sprintf("/jobs/%d", job.ID)
	sent := 0
	log(func(text string) {
		f.runnerSays("PATCH", path+"/trace", "text/plain", []byte(text), "Job-Token", job.Token, "Content-Range", fmt.Sprintf("%d-%d", sent, sent+len(text)-1))
		sent += len(text)
	})
	if state != "" {
		f.runnerSays("PUT", path, "application/json", fmt.Appendf(nil, `{"token":%q,"state":%q,"failure_reason":"script_failure","exit_code":1}`, job.Token, state))
	}
	return job.ID
}

// colours is a log with all that logs can look like.
func colours(say func(string)) {
	say("Running with a runner on \x1b[0;33mlinux\x1b[0m\nsection_start:1700000000:prepare[collapsed=true]\r\x1b[0K\x1b[36;1mPreparing\x1b[0m\nAn image was fetched.\nsection_end:1700000007:prepare\r\x1b[0K" +
		"section_start:1700000007:script\r\x1b[0K\x1b[36;1mExecuting \"step_script\" stage of the job script\x1b[0m\n")
	for n := range 8 {
		say(fmt.Sprintf("\x1b[3%dmcolour %d\x1b[0m \x1b[9%dmbright\x1b[0m \x1b[4%dmground\x1b[0m \x1b[10%dmbright ground\x1b[0m \x1b[1;3%dmbold\x1b[0m \x1b[7;3%dminverse\x1b[0m\n", n, n, n, n, n, n, n))
	}
	say("\x1b[2mfaint\x1b[0m \x1b[3mitalic\x1b[0m \x1b[4munderlined\x1b[0m \x1b[9mstruck\x1b[0m \x1b[7minverse\x1b[0m \x1b[38;5;208m256\x1b[0m \x1b[38;2;120;200;90mtrue\x1b[0m\n")
	say("see https://docs.example.com/a/rather/long/address?that=goes&on=and+on+and+on+until+no+small+screen+can+show+it+in+one+line for more\n")
	say(" 10%\r 50%\r100% of it\n\t\tindented\n<script>alert(1)</script>\n" + strings.Repeat("a very long line without an end ", 20) + "\n")
	say("section_end:1700000190:script\r\x1b[0K\x1b[31;1mERROR: Job failed: exit code 1\x1b[0m\n")
}

// long is a log of 100 MB, as much as there may be.
func long(say func(string)) {
	const most = 100 << 20
	var piece strings.Builder
	for n, size := 1, 0; ; n++ {
		line := fmt.Sprintf("\x1b[32mok\x1b[0m   %7d  internal/some/package/of/ours  and 87.4%% of its statements\n", n)
		if n%5000 == 1 {
			line = fmt.Sprintf("section_end:%d:part_%d\r\x1b[0Ksection_start:%[1]d:part_%[3]d\r\x1b[0K\x1b[36;1mPart %[3]d\x1b[0m\n", 1700000000+n, n-5000, n)
		}
		if size += len(line); size > most {
			break
		}
		if piece.WriteString(line); piece.Len() > 1<<20 {
			say(piece.String())
			piece.Reset()
		}
	}
	say(piece.String())
}

// jobPages are those of jobs, their settings and their configuration.
func (f *forge) jobPages() []page {
	f.t.Helper()
	made := f.api("POST", "/projects", map[string]any{"name": "Loom", "initialize_with_readme": true}, "ada")
	project := fmt.Sprintf("/projects/%d", id(made))
	configuration := "stages: [build, test]\nbuild:\n  stage: build\n  script: make\n  tags: [linux]\nlong log:\n  stage: build\n  script: make all\n  tags: [linux]\n" +
		"runs:\n  stage: build\n  script: make run\n  tags: [linux]\nwaits:\n  stage: build\n  script: make\n  tags: [a-tag-that-nobody-has]\n"
	group := f.api("POST", "/groups", map[string]any{"name": "Engines", "path": "engines"}, "ada")
	runner := f.api("POST", "/user/runners", map[string]any{"runner_type": "project_type", "project_id": id(made), "description": "A fast machine", "tag_list": "linux,docker"}, "ada")
	f.api("POST", "/user/runners", map[string]any{"runner_type": "instance_type", "description": "For everyone", "paused": true, "tag_list": "windows"}, "")
	f.api("POST", "/user/runners", map[string]any{"runner_type": "group_type", "group_id": group["id"], "description": "Of the group", "access_level": "ref_protected"}, "ada")
	for _, at := range []string{project, "/groups/engines"} {
		for n := range 4 {
			f.api("POST", at+"/variables", map[string]any{
				"key": fmt.Sprintf("A_VARIABLE_%d", n), "value": "some-value-of-it", "masked": n == 1, "masked_and_hidden": n == 2, "protected": n > 1, "description": "What it is for, in one line.",
				"variable_type": map[bool]string{true: "file", false: "env_var"}[n == 3], "environment_scope": map[bool]string{true: "production/*", false: "*"}[n == 2],
			}, "ada")
		}
	}
	f.api("POST", "/admin/ci/variables", map[string]any{"key": "FOR_ALL", "value": "some-value-of-it", "masked": true}, "")
	f.api("POST", project+"/repository/files/.svc-ci.yml", map[string]any{"branch": "main", "content": configuration, "commit_message": "Build it"}, "ada")
	token, _ := runner["token"].(string)
	failed := f.takeJob(token, "failed", colours)
	big := f.takeJob(token, "success", long)
	running := f.takeJob(token, "", func(say func(string)) {
		say("section_start:1700000000:script\r\x1b[0K\x1b[36;1mRunning the script\x1b[0m\nfirst\nsecond, without an end")
	})
	const at, settings = "/ada/loom/-", "/settings/ci_cd"
	job := func(id int64, query string) string { return fmt.Sprintf("%s/jobs/%d%s", at, id, query) }
	return []page{
		{Name: "job", Path: job(failed, ""), As: "ada", Small: true},
		{Name: "job-running", Path: job(running, ""), As: "ada", Grows: true},
		{Name: "job-long", Path: job(big, ""), As: "ada", Large: true},
		{Name: "job-long-line", Path: job(big, "?line=700000#L700000"), As: "ada", Large: true, Small: true},
		{Name: "job-long-search", Path: job(big, "?q=999++internal"), As: "ada", Large: true},
		{Name: "job-waiting", Path: job(max(failed, big, running)+1, ""), As: "ada"},
		{Name: "job-hidden", Path: job(failed, ""), As: "person", Status: http.StatusNotFound},
		{Name: "ci-settings", Path: at + settings, As: "ada", Small: true},
		{Name: "ci-settings-group", Path: "/groups/engines/-" + settings, As: "ada"},
		{Name: "ci-runner", Path: fmt.Sprintf("%s%s/runners/%v", at, settings, runner["id"]), As: "ada"},
		{Name: "ci-variable", Path: at + settings + "/variables/edit?key=A_VARIABLE_1&scope=*", As: "ada"},
		{Name: "ci-variable-hidden", Path: at + settings + "/variables/edit?key=A_VARIABLE_2&scope=production%2F*", As: "ada"},
		{Name: "runners-instance", Path: "/admin/runners", As: "root"},
		{Name: "variables-instance", Path: "/admin/variables", As: "root"},
		{Name: "lint", Path: at + "/ci/lint", As: "ada", Small: true},
		{Name: "lint-valid", Path: at + "/ci/lint", As: "ada", Send: "content", Text: configuration},
		{Name: "lint-invalid", Path: at + "/ci/lint", As: "ada", Send: "content", Text: "build:\n  script: make\n  colour: later\n  stage: nowhere\n"},
	}
}
