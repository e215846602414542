package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// runnerBinary is the CI runner: the one that STITHY_TEST_RUNNER names, one of the name on PATH, or the one of test/runner.
var runnerBinary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("STITHY_TEST_RUNNER"); path != "" {
		return filepath.Abs(path)
	}
	if path, err := exec.LookPath("gitlab-runner"); err == nil {
		return path, nil
	}
	build := exec.Command("make", "bin/runner")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the runner: %w\n%s", err, out)
	}
	return filepath.Abs(filepath.Join(root, "bin", "runner"))
})

// machine is a runner at work.
type machine struct {
	f      *forge
	config string
	log    *capture
}

// runner registers a runner of the instance and lets it work until the test ends.
func (f *forge) runner(tags ...string) *machine {
	f.t.Helper()
	path, err := runnerBinary()
	if err != nil {
		f.t.Fatal(err)
	}
	var made struct {
		ID    int64
		Token string
	}
	if got := f.asRoot(http.MethodPost, "/user/runners", map[string]string{
		"runner_type": "instance_type", "run_untagged": "true", "tag_list": strings.Join(tags, ","), "description": "shell",
	}, &made); got != http.StatusCreated {
		f.t.Fatalf("creating a runner: %d", got)
	}
	dir := f.t.TempDir()
	m := &machine{f: f, config: filepath.Join(dir, "config.toml"), log: &capture{}}
	env := append(append(os.Environ(), "HOME="+dir), f.clients...)
	register := exec.Command(path, "register", "--config", m.config, "--non-interactive", "--url", f.url, "--token", f.secret(made.Token), "--executor", "shell",
		"--shell", "bash", "--output-limit", "40960", "--builds-dir", filepath.Join(dir, "builds"), "--cache-dir", filepath.Join(dir, "cache"))
	register.Env = env
	if out, err := register.CombinedOutput(); err != nil {
		f.t.Fatalf("registering: %v\n%s", err, out)
	}
	text, err := os.ReadFile(m.config)
	if err != nil {
		f.t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("concurrent = 1"), []byte("concurrent = 4"), 1)
	text = bytes.Replace(text, []byte("check_interval = 0"), []byte("check_interval = 1"), 1)
	if err := os.WriteFile(m.config, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
	run := exec.Command(path, "run", "--config", m.config, "--working-directory", dir)
	run.Env, run.Stderr, run.Stdout = env, m.log, m.log
	if err := run.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if f.t.Failed() {
			f.t.Logf("log of the runner:\n%s", m.log)
		}
	})
	return m
}

type ciJob struct {
	ID            int64
	Name          string
	Stage         string
	Status        string
	AllowFailure  bool   `json:"allow_failure"`
	FailureReason string `json:"failure_reason"`
	Pipeline      struct{ ID int64 }
	Runner        struct{ Description string }
}

type ciPipeline struct {
	ID     int64
	Status string
	Source string
}

func (f *forge) jobs(project, pipeline int64) map[string]ciJob {
	f.t.Helper()
	var list []ciJob
	f.asRoot(http.MethodGet, fmt.Sprintf("/projects/%d/pipelines/%d/jobs?per_page=100", project, pipeline), nil, &list)
	byName := map[string]ciJob{}
	for _, j := range list {
		byName[j.Name] = j
	}
	return byName
}

func (f *forge) trace(project, job int64) string {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, fmt.Sprintf("%s/api/v4/projects/%d/jobs/%d/trace", f.url, project, job), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("PRIVATE-TOKEN", f.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// ciPatience is for a pipeline of a dozen jobs on a busy machine.
const ciPatience = 5 * time.Minute

func (f *forge) awaitPipeline(project int64, sha, status string) ciPipeline {
	f.t.Helper()
	var found ciPipeline
	defer func() {
		if found.Status != status {
			dump, _ := json.MarshalIndent(f.jobs(project, found.ID), "", "  ")
			f.t.Logf("pipeline %+v\n%s", found, dump)
		}
	}()
	eventually(f.t, ciPatience, "the pipeline is "+status, func() bool {
		var list []ciPipeline
		f.asRoot(http.MethodGet, fmt.Sprintf("/projects/%d/pipelines?sha=%s", project, sha), nil, &list)
		if len(list) == 0 {
			return false
		}
		found = list[0]
		if status == "" {
			return true
		}
		return found.Status == status
	})
	return found
}

const ciFile = ".svc-ci.yml"

// twelveJobs has one of each: needs, a matrix, artifacts that are passed on, a cache, a manual job, one that is retried, one
// that may fail, a child pipeline, after_script, a test report and a long log.
const twelveJobs = `
stages: [build, test, deploy]
variables: {GREETING: "hello $CI_PROJECT_NAME"}
compile:
  stage: build
  script: [mkdir -p out, 'echo "$GREETING" > out/greeting.txt', 'echo "VERSION=1.2.3" > build.env']
  after_script: ['echo "after the script of $CI_JOB_NAME, which was $CI_JOB_STATUS"']
  artifacts: {paths: [out/], reports: {dotenv: build.env}}
cached:
  stage: build
  cache: {key: deps, paths: [deps/]}
  script: [mkdir -p deps, 'date > deps/stamp']
flaky:
  stage: build
  retry: 1
  script: ['if [ -e "$HOME/flaky-$CI_PIPELINE_ID" ]; then exit 0; fi; touch "$HOME/flaky-$CI_PIPELINE_ID"; exit 1']
matrix:
  stage: test
  needs: [compile]
  parallel: {matrix: [{OS: [a, b], ARCH: [x]}]}
  script: ['test "$(cat out/greeting.txt)" = "hello $CI_PROJECT_NAME"', 'test "$VERSION" = 1.2.3', 'echo "on $OS $ARCH"']
report:
  stage: test
  script: ['printf "<testsuite name=\"s\"><testcase classname=\"c\" name=\"passes\"/><testcase classname=\"c\" name=\"fails\"><failure>no</failure></testcase></testsuite>" > junit.xml']
  artifacts: {reports: {junit: junit.xml}}
may fail:
  stage: test
  allow_failure: true
  script: [exit 7]
cache again:
  stage: test
  cache: {key: deps, paths: [deps/], policy: pull}
  script: [test -s deps/stamp]
secrets:
  stage: test
  script: ['echo "token $CI_JOB_TOKEN and $HIDDEN"']
long:
  stage: test
  script: ['for i in $(seq 20); do head -c 1048576 /dev/zero | tr "\0" "x" | fold -w 127; echo; echo "$CI_JOB_TOKEN"; done']
by hand:
  stage: deploy
  when: manual
  script: [echo played]
child:
  stage: deploy
  trigger: {include: child.yml, strategy: depend}
deploy:
  stage: deploy
  needs: [compile, report]
  script: [test -e out/greeting.txt, 'git log -1 --format=%H | grep -q "$CI_COMMIT_SHA"']
`

const childFile = `
in the child:
  script: ['echo "parent was $CI_PIPELINE_SOURCE"']
`

func TestARunnerRunsARealProject(t *testing.T) {
	t.Parallel()
	f := start(t)
	project := f.project("tool")
	f.asRoot(http.MethodPost, fmt.Sprintf("/projects/%d/variables", project), map[string]string{
		"key": "HIDDEN", "value": "hidden-value-1234", "masked": "true",
	}, nil)
	f.runner()
	dir := f.tree()
	f.commit(dir, "child.yml", childFile)
	f.commit(dir, ciFile, twelveJobs)
	f.mustGit(dir, nil, "push", f.remote("tool"), "HEAD:refs/heads/main")
	sha := strings.TrimSpace(f.mustGit(dir, nil, "rev-parse", "HEAD"))

	done := f.awaitPipeline(project, sha, "success")
	jobs := f.jobs(project, done.ID)
	for name, wanted := range map[string]string{
		"compile": "success", "cached": "success", "flaky": "success", "matrix: [a, x]": "success", "matrix: [b, x]": "success",
		"report": "success", "may fail": "failed", "cache again": "success", "secrets": "success", "long": "success", "by hand": "manual",
		"deploy": "success",
	} {
		if got := jobs[name]; got.Status != wanted {
			t.Errorf("%s is %q (%s), want %s\n%s", name, got.Status, got.FailureReason, wanted, tail(f.trace(project, got.ID)))
		}
	}
	if by := jobs["compile"].Runner.Description; by != "shell" {
		t.Errorf("run by %q", by)
	}
	if log := f.trace(project, jobs["compile"].ID); !strings.Contains(log, "after the script of compile, which was success") {
		t.Errorf("after_script left no trace:\n%s", tail(log))
	}
	if log := f.trace(project, jobs["secrets"].ID); strings.Contains(log, "hidden-value-1234") || !strings.Contains(log, "[MASKED]") {
		t.Errorf("secrets are not masked:\n%s", tail(log))
	}
	if log := f.trace(project, jobs["long"].ID); len(log) < 20<<20 || tokenForm.MatchString(log) || !strings.Contains(log, "Job succeeded") {
		t.Errorf("the long log has %d bytes and ends with %s", len(log), tail(log))
	}
	var report struct {
		TotalCount  int `json:"total_count"`
		FailedCount int `json:"failed_count"`
	}
	f.asRoot(http.MethodGet, fmt.Sprintf("/projects/%d/pipelines/%d/test_report", project, done.ID), nil, &report)
	if report.TotalCount != 2 || report.FailedCount != 1 {
		t.Errorf("the test report says %+v", report)
	}

	if got := f.asRoot(http.MethodPost, fmt.Sprintf("/projects/%d/jobs/%d/play", project, jobs["by hand"].ID), nil, nil); got != http.StatusOK {
		t.Errorf("playing: %d", got)
	}
	eventually(t, ciPatience, "the manual job has run", func() bool { return f.jobs(project, done.ID)["by hand"].Status == "success" })
}

func TestAJobIsCanceledInTheMiddle(t *testing.T) {
	t.Parallel()
	f := start(t)
	project := f.project("tool")
	f.runner()
	dir := f.tree()
	f.commit(dir, ciFile, "endless:\n  script: ['echo begins', 'sleep 300', 'echo ends']\n")
	f.mustGit(dir, nil, "push", f.remote("tool"), "HEAD:refs/heads/main")
	run := f.awaitPipeline(project, strings.TrimSpace(f.mustGit(dir, nil, "rev-parse", "HEAD")), "running")
	job := f.jobs(project, run.ID)["endless"]
	eventually(t, ciPatience, "the job has begun", func() bool { return strings.Contains(f.trace(project, job.ID), "begins") })
	if got := f.asRoot(http.MethodPost, fmt.Sprintf("/projects/%d/jobs/%d/cancel", project, job.ID), nil, &job); got != http.StatusCreated || job.Status != "canceled" {
		t.Fatalf("canceling: %d %+v", got, job)
	}
	f.awaitPipeline(project, strings.TrimSpace(f.mustGit(dir, nil, "rev-parse", "HEAD")), "canceled")
	if log := f.trace(project, job.ID); strings.Contains(log, "\nends") {
		t.Errorf("the job went on:\n%s", tail(log))
	}
}

func tail(text string) string { return text[max(0, len(text)-2000):] }
