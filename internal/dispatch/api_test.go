package dispatch

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/artifact"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/pipeline"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestALogIsAppendedByRanges(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	path := "/jobs/" + id(job) + "/trace?debug_trace=false"
	want(t, w.call("PATCH", path, "one\n", byJob(secret), with("Content-Range", "0-3")), 202, "202",
		"Range", "0-4", "Job-Status", "running", "X-GitLab-Trace-Update-Interval", "3")
	want(t, w.call("PATCH", path, "two\n", byJob(secret), with("Content-Range", "2-5")), 416, `{"message":"416 Range Not Satisfiable"}`,
		"Range", "0-4", "Job-Status", "running")
	want(t, w.call("PATCH", path, "two\n", byJob(secret), with("Content-Range", "9-12")), 416, "", "Range", "0-4")
	want(t, w.call("PATCH", path, "two\n", byJob(secret)), 400, `{"error":"400 Missing header Content-Range"}`)
	w.now = w.now.Add(2 * time.Minute)
	want(t, w.call("PATCH", path, "two\n", byJob(secret), with("Content-Range", "4-7")), 202, "", "Range", "0-8", "X-GitLab-Trace-Update-Interval", "60")
	body, size, err := w.deps.Artifacts.OpenLog(t.Context(), job, 0)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(body); err != nil || string(text) != "one\ntwo\n" || size != 8 {
		t.Errorf("the log is %q, %d, %v", text, size, err)
	}
}

func TestAJobEndsWhenAllOfItsLogIsThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	path := "/jobs/" + id(job)
	state := func(state string, size int) map[string]any {
		return map[string]any{"token": secret, "state": state, "output": map[string]any{"checksum": "crc32:00000000", "bytesize": size}}
	}
	want(t, w.call("PUT", path, map[string]any{"token": secret, "state": "running"}), 200, "200", "Job-Status", "running")
	want(t, w.call("PUT", path, map[string]any{"token": secret, "state": "asleep"}), 400, "")
	want(t, w.call("PUT", path, state("success", 4)), 412, `{"message":"412 Precondition Failed"}`)
	want(t, w.call("PATCH", path+"/trace", "one\n", byJob(secret), with("Content-Range", "0-3")), 202, "")
	want(t, w.call("PUT", path, state("success", 4)), 200, "200", "Job-Status", "success")
	if got := w.status(t, job); got != pipeline.Success {
		t.Errorf("the job is %s", got)
	}
}

func TestARunnerSaysWhyAJobFailed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for given, wanted := range map[string]pipeline.Reason{
		"": "unknown_failure", "script_failure": "script_failure", "runner_system_failure": "runner_system_failure", "bad luck": "unknown_failure",
	} {
		job, secret := w.running(t, w.project)
		want(t, w.call("PUT", "/jobs/"+id(job), map[string]any{"token": secret, "state": "failed", "failure_reason": given, "exit_code": 3}),
			200, "200", "Job-Status", "failed")
		j, err := w.deps.Pipelines.KnownJob(t.Context(), w.deps.DB, job)
		if err != nil || j.FailureReason == nil || *j.FailureReason != wanted || j.ExitCode == nil || *j.ExitCode != 3 {
			t.Errorf("%q: %+v %v", given, j, err)
		}
	}
}

// CI-10: a result that came late, twice or from elsewhere changes nothing.
func TestCI10_AFinalStateIsFinal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	_, other := w.running(t, w.project)
	path := "/jobs/" + id(job)
	say := func(token, state string) int {
		return w.call("PUT", path, map[string]any{"token": token, "state": state}).Code
	}
	if got := say(other, "success"); got != 403 {
		t.Errorf("the runner of another job was listened to: %d", got)
	}
	var wg sync.WaitGroup
	codes := make([]int, 8)
	for i := range codes {
		wg.Go(func() { codes[i] = say(secret, []string{"success", "failed"}[i%2]) })
	}
	wg.Wait()
	accepted := 0
	for _, code := range codes {
		if code == 200 {
			accepted++
		} else if code != 403 {
			t.Errorf("got %d", code)
		}
	}
	if accepted != 1 {
		t.Errorf("%d results were accepted", accepted)
	}
	before := w.status(t, job)
	want(t, w.call("PUT", path, map[string]any{"token": secret, "state": "failed"}), 403, `{"message":"403 Forbidden - Job is not running"}`,
		"Job-Status", string(before))
	want(t, w.call("PATCH", path+"/trace", "late", byJob(secret), with("Content-Range", "0-3")), 403, "", "Job-Status", string(before))
	want(t, w.upload(path+"/artifacts", []byte("late"), byJob(secret)), 403, "")
	if got := w.status(t, job); got != before {
		t.Errorf("%s became %s", before, got)
	}
	w.exec(t, `update jobs set status = 'running', erased_at = now() where id = $1`, job)
	want(t, w.call("PUT", path, map[string]any{"token": secret, "state": "failed"}), 403, `{"message":"403 Forbidden - Job has been erased!"}`,
		"Job-Status", "running")
}

// CI-10: pieces of a log that come twice, out of order or at once leave no gap
// and nothing twice.
func TestCI10_PiecesOfALogComeOnceAndInOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	path := "/jobs/" + id(job) + "/trace"
	var wg sync.WaitGroup
	var mu sync.Mutex
	accepted := 0
	for range 6 {
		wg.Go(func() {
			if w.call("PATCH", path, "abcd", byJob(secret), with("Content-Range", "0-3")).Code == 202 {
				mu.Lock()
				accepted++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if size, err := w.deps.Artifacts.LogSize(t.Context(), job); accepted != 1 || size != 4 || err != nil {
		t.Errorf("%d were accepted, the log has %d (%v)", accepted, size, err)
	}
}

func archive(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("out.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(f, "result")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFilesAreHandedInAndFetchedByJobsThatFollow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	path := "/jobs/" + id(job) + "/artifacts"
	content := archive(t)
	want(t, w.upload(path+"?artifact_type=archive&artifact_format=zip&expire_in=1+day", content, byJob(secret)), 201, "201")
	want(t, w.upload(path+"?artifact_type=archive&artifact_format=zip", content, byJob(secret)), 201, "201")
	want(t, w.upload(path+"?artifact_type=archive&artifact_format=zip", append(content, 0), byJob(secret)), 400, "")
	want(t, w.upload(path+"?artifact_format=tar", content, byJob(secret)), 400, "")
	want(t, w.call("POST", path, map[string]string{}, byJob(secret)), 400, `{"error":"file is missing"}`)
	want(t, w.call("PUT", "/jobs/"+id(job), map[string]any{"token": secret, "state": "success"}), 200, "")

	_, next := w.running(t, w.project)
	r := w.call("GET", path, nil, byJob(next))
	want(t, r, 200, string(content), "Content-Type", "application/zip")
	want(t, w.call("GET", path, nil, byJob(secret)), 401, "")
	want(t, w.call("GET", path, nil), 401, "")
	want(t, w.call("GET", "/jobs/99999/artifacts", nil, byJob(next)), 404, "")
}

// CI-07: the token of a job works while the job runs and its person may act,
// on its own project and on those that let it in, and on routes that say so.
func TestCI07_TheTokenOfAJobOpensLittleAndNotForLong(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	agents := func() int { return w.call("GET", "/job/allowed_agents", nil, byJob(secret)).Code }
	for _, present := range []func(*http.Request){byJob(secret), with("Authorization", "Bearer "+secret), func(r *http.Request) {
		r.URL.RawQuery = "job_token=" + secret
	}} {
		want(t, w.call("GET", "/job/allowed_agents", nil, present), 200, "")
	}
	// Routes that do not take it do not see it.
	for _, path := range []string{"/user", "/projects/" + id(w.project.ID), "/projects/" + id(w.project.ID) + "/repository/tree", "/users/1/emails", "/groups/team"} {
		if got := w.call("GET", path, nil, byJob(secret)).Code; got == 200 {
			t.Errorf("GET %s with the token of a job: %d", path, got)
		}
	}
	for _, state := range []user.State{user.Blocked, user.Banned, user.Deactivated, user.Pending} {
		w.exec(t, `update users set state = $2 where id = $1`, w.ann.ID, string(state))
		if got := agents(); got != 403 {
			t.Errorf("as a person who is %s: %d", state, got)
		}
	}
	w.exec(t, `update users set state = 'active' where id = $1`, w.ann.ID)
	for _, status := range pipeline.Statuses {
		w.exec(t, `update jobs set status = $2 where id = $1`, job, string(status))
		if got := agents(); (got == 200) != (status == pipeline.Running) || (got != 200 && got != 401) {
			t.Errorf("while the job is %s: %d", status, got)
		}
	}
	w.exec(t, `update jobs set status = 'running', erased_at = now() where id = $1`, job)
	if got := agents(); got != 401 {
		t.Errorf("of an erased job: %d", got)
	}
	w.exec(t, `update jobs set erased_at = null where id = $1`, job)
	w.exec(t, `update projects set removal = true where id = $1`, w.project.ID)
	if got := agents(); got != 401 {
		t.Errorf("of a project that is going: %d", got)
	}
	want(t, w.call("GET", "/job/allowed_agents", nil), 401, "")
	want(t, w.call("GET", "/job/allowed_agents", nil, w.as(t, w.ann)), 404, `{"message":"404 Job Not Found"}`)
}

func TestCI07_AProjectSaysWhoseJobsItLetsIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, secret := w.running(t, w.project)
	other := projecttest.New(t, w.deps.DB, w.group.ID, projecttest.Named("other"))
	projecttest.Join(t, w.deps.DB, other, w.ann, access.Maintainer)
	actor, err := w.deps.Tokens.Authenticate(t.Context(), access.Presented{Secret: secret, Kinds: []access.Kind{access.JobToken}})
	if err != nil {
		t.Fatal(err)
	}
	opens := func(projectID int64) bool {
		_, err := w.deps.Projects.Find(t.Context(), actor, projectID)
		return err == nil
	}
	path, ann := "/projects/"+id(other.ID)+"/job_token_scope", w.as(t, w.ann)
	if !opens(w.project.ID) || opens(other.ID) {
		t.Error("a private project is closed to jobs of others, and open to its own")
	}
	want(t, w.call("GET", path, nil, ann), 200, `{"inbound_enabled":true,"outbound_enabled":false}`)
	want(t, w.call("POST", path+"/allowlist", map[string]any{"target_project_id": w.project.ID}, ann), 201,
		`{"source_project_id":`+id(other.ID)+`,"target_project_id":`+id(w.project.ID)+`}`)
	if !opens(other.ID) {
		t.Error("a project that is listed does not get in")
	}
	want(t, w.call("POST", path+"/allowlist", map[string]any{"target_project_id": 99999}, ann), 404, `{"message":"404 target_project_id not found Not Found"}`)
	if r := w.call("GET", path+"/allowlist", nil, ann); r.Code != 200 || !bytes.Contains(r.Body.Bytes(), []byte(`"path_with_namespace":"team/tool"`)) {
		t.Errorf("got %d %s", r.Code, r.Body)
	}
	w.exec(t, `update projects set settings = '{"ci_job_token_scope_enabled":true}' where id = $1`, w.project.ID)
	if opens(other.ID) {
		t.Error("a project keeps its jobs' tokens in, and they get out")
	}
	w.exec(t, `update projects set settings = '{}' where id = $1`, w.project.ID)
	want(t, w.call("DELETE", path+"/allowlist/"+id(w.project.ID), nil, ann), 204, "")
	if opens(other.ID) {
		t.Error("a project that is listed no more gets in")
	}
	want(t, w.call("DELETE", path+"/allowlist/"+id(w.project.ID), nil, ann), 404, "")
	want(t, w.call("PATCH", path, map[string]any{"enabled": false}, ann), 204, "")
	if !opens(other.ID) {
		t.Error("a project that lets all in does not")
	}
	w.exec(t, `update namespaces set visibility = 20 where id = $1`, w.group.ID)
	w.exec(t, `update projects set visibility = 20 where id = $1`, other.ID)
	want(t, w.call("PATCH", path, map[string]any{"enabled": true}, ann), 204, "")
	if !opens(other.ID) {
		t.Error("an open project is closed")
	}
	developer := usertest.New(t, w.deps.DB)
	projecttest.Join(t, w.deps.DB, other, developer, access.Developer)
	want(t, w.call("PATCH", path, map[string]any{"enabled": false}, w.as(t, developer)), 403, "")
}

// CI-09: each call is bound to one running job; nothing else is there.
func TestCI09_ARunnerReachesItsOwnJobAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine, secret := w.running(t, w.project)
	hidden := projecttest.New(t, w.deps.DB, grouptest.New(t, w.deps.DB).ID)
	theirs, other := w.running(t, hidden)
	want(t, w.upload("/jobs/"+id(theirs)+"/artifacts", archive(t), byJob(other)), 201, "")
	for _, r := range []struct {
		method, path string
		body         any
		change       []func(*http.Request)
	}{
		{"PATCH", "/jobs/" + id(theirs) + "/trace", "x", []func(*http.Request){with("Content-Range", "0-0")}},
		{"PUT", "/jobs/" + id(theirs), map[string]any{"state": "success"}, nil},
		{"POST", "/jobs/" + id(theirs) + "/artifacts/authorize", map[string]any{}, nil},
		{"GET", "/jobs/" + id(theirs) + "/artifacts", nil, nil},
		{"PATCH", "/jobs/99999/trace", "x", []func(*http.Request){with("Content-Range", "0-0")}},
		{"PUT", "/jobs/99999", map[string]any{"state": "success"}, nil},
	} {
		for name, token := range map[string]string{"another job's token": secret, "the runner's token": "glrt-runnersecret", "none": "", "noise": "x"} {
			got := w.call(r.method, r.path, r.body, append(r.change, byJob(token))...).Code
			if got != 403 && got != 401 && got != 404 {
				t.Errorf("%s %s with %s: %d", r.method, r.path, name, got)
			}
		}
	}
	if w.status(t, theirs) != pipeline.Running || w.status(t, mine) != pipeline.Running {
		t.Error("a job was changed")
	}
}

func TestJobsThatNothingIsHeardOfEnd(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	unheard, _ := w.running(t, w.project)
	silent, once := w.running(t, w.project)
	talking, secret := w.running(t, w.project)
	overdue, late := w.running(t, w.project)
	w.exec(t, `update job_runs set deadline = started_at + interval '70 minutes' where job_id = $1`, overdue)
	w.exec(t, `update job_runs set deadline = started_at + interval '1 day' where job_id <> $1`, overdue)
	nobody := w.pending(t, w.project, func(s *pipeline.Spec) { s.Job.Tags = []string{"mainframe"} })
	waiting := w.pending(t, w.project)
	w.exec(t, `insert into runners (runner_type, digest, contacted_at, created_at, updated_at)
values ('instance_type', decode(repeat('00', 32), 'hex'), $1, $1, $1)`, w.now.Add(70*time.Minute))
	w.now = w.now.Add(5 * time.Second)
	want(t, w.call("PUT", "/jobs/"+id(silent), map[string]any{"token": once, "state": "running"}), 200, "200")
	w.now = w.now.Add(75 * time.Minute)
	for _, token := range []string{secret, late} {
		for _, job := range []int64{talking, overdue} {
			_ = w.call("PUT", "/jobs/"+id(job), map[string]any{"token": token, "state": "running"})
		}
	}
	if err := w.tend(t.Context(), TendArgs{}); err != nil {
		t.Fatal(err)
	}
	for job, wanted := range map[int64]pipeline.Reason{
		unheard: pipeline.SchedulerFailure, silent: pipeline.StuckOrTimeout, overdue: pipeline.JobExecutionTimeout, nobody: pipeline.StuckOrTimeout, talking: "", waiting: "",
	} {
		j, err := w.deps.Pipelines.KnownJob(t.Context(), w.deps.DB, job)
		if err != nil {
			t.Fatal(err)
		}
		got := pipeline.Reason("")
		if j.FailureReason != nil {
			got = *j.FailureReason
		}
		if got != wanted {
			t.Errorf("job %d is %s (%s), want %q", job, j.Status, got, wanted)
		}
	}
	w.now = w.now.Add(24 * time.Hour)
	if err := w.tend(t.Context(), TendArgs{}); err != nil {
		t.Fatal(err)
	}
	if got := w.status(t, waiting); got != pipeline.Failed {
		t.Errorf("after a day in the queue the job is %s", got)
	}
	if err := w.sweep(t.Context(), SweepArgs{}); err != nil {
		t.Fatal(err)
	}
}

func TestARunLapses(t *testing.T) {
	t.Parallel()
	start := time.Date(2024, 5, 2, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		fact                 string
		heard, deadline, now time.Duration // since the start
		want                 pipeline.Reason
	}{
		{"just given out", 0, time.Hour, time.Minute, ""},
		{"never heard of", 0, time.Hour, 121 * time.Second, pipeline.SchedulerFailure},
		{"heard of once", time.Second, 2 * time.Hour, 30 * time.Minute, ""},
		{"silent", time.Second, 2 * time.Hour, 61 * time.Minute, pipeline.StuckOrTimeout},
		{"talking", 59 * time.Minute, 2 * time.Hour, time.Hour, ""},
		{"talking beyond its time", 59 * time.Minute, 59 * time.Minute, time.Hour, pipeline.JobExecutionTimeout},
		{"never heard of, and beyond its time", 0, time.Minute, time.Hour, pipeline.SchedulerFailure},
	} {
		if got := lapse(start, start.Add(c.heard), start.Add(c.deadline), start.Add(c.now)); got != c.want {
			t.Errorf("%s: %q, want %q", c.fact, got, c.want)
		}
	}
}

// TestAJobWhoseAnswerWasLostStartsAgain: the claim was committed, and whoever was
// to tell the runner died.
func TestAJobWhoseAnswerWasLostStartsAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	lost, secret := w.running(t, w.project)
	w.now = w.now.Add(unheardAtMost + time.Second)
	if err := w.tend(t.Context(), TendArgs{}); err != nil {
		t.Fatal(err)
	}
	if got := w.status(t, lost); got != pipeline.Failed {
		t.Errorf("the lost one is %s", got)
	}
	want(t, w.call("PUT", "/jobs/"+id(lost), map[string]any{"token": secret, "state": "success"}), 403, "", "Job-Status", "failed")
	again, another := w.claimed(t)
	if again == lost || another == secret {
		t.Errorf("job %d was given out again", again)
	}
	want(t, w.call("PUT", "/jobs/"+id(again), map[string]any{"token": another, "state": "success"}), 200, "", "Job-Status", "success")
}

func TestTheQueueIsMended(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	lost, stray := w.pending(t, w.project), w.pending(t, w.project)
	w.exec(t, `delete from job_queue where job_id = $1`, lost)
	w.exec(t, `update jobs set status = 'skipped' where id = $1`, stray)
	w.now = w.now.Add(5 * time.Minute)
	if err := w.tend(t.Context(), TendArgs{}); err != nil {
		t.Fatal(err)
	}
	takesAll(t, &w.Service.pending, RunnerMatch{Scopes: OfInstance(), Untagged: true}, lost)
}

func TestAFileOfAnUnknownTypeIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	path := "/jobs/" + id(job) + "/artifacts"
	for _, kind := range []string{strings.Repeat("x", 300), "../x", "trace", "%00", "Archive"} {
		want(t, w.upload(path+"?artifact_type="+kind, archive(t), byJob(secret)), 400, "")
		want(t, w.call("POST", path+"/authorize?artifact_type="+kind, nil, byJob(secret)), 400, "")
	}
	// All that a configuration may ask a runner for is taken.
	for kind := range reportForms {
		if err := artifact.CheckType(kind); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestLostBytesOfAFileAreA500(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	path := "/jobs/" + id(job) + "/artifacts"
	want(t, w.upload(path+"?artifact_type=archive&artifact_format=zip", archive(t), byJob(secret)), 201, "")
	blobs, err := w.blobs.List(t.Context(), "", "", 10)
	if err != nil || len(blobs) != 1 {
		t.Fatalf("%+v, %v", blobs, err)
	}
	if err := w.blobs.Delete(t.Context(), blobs[0].Key); err != nil {
		t.Fatal(err)
	}
	mine := "/projects/" + id(w.project.ID) + path
	want(t, w.call("GET", path, nil, byJob(secret)), 500, "")
	for _, address := range []string{mine, mine + "/out.txt"} {
		want(t, w.call("GET", address, nil, w.as(t, w.ann)), 500, "")
	}
}
