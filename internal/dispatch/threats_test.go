package dispatch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/runner"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/variable"
)

var everything = Features{
	"upload_multiple_artifacts": true, "artifacts_exclude": true, "multi_build_steps": true, "return_exit_code": true, "fallback_cache_keys": true,
}

// handed asks for a job as a runner of the instance, and is nil when there is none.
func (w *fixture) handed(t testing.TB) *Payload {
	t.Helper()
	return w.ask(t, JobRequest{
		Runner: runner.Runner{ID: 7, Type: runner.Instance, RunUntagged: true}, Features: everything, Secret: "glrt-runnersecret",
	})
}

func (w *fixture) actorOf(u *user.User) access.Actor {
	return access.Actor{Person: u.Person(), Account: u}
}

// CI-02: what a project or its groups keep for their jobs is given to jobs of
// that project alone. A fork is another project, whoever forked it, whatever
// its branches are called and however they are protected.
func TestCI02_CodeOfAForkGetsWhatTheForkHas(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const ours, theirs = "canary-of-the-source", "canary-of-the-fork"
	give := func(of bus.Entity, key, value string, protected bool) {
		t.Helper()
		v := &variable.Variable{Key: key, Value: secretbox.Secret(value), Type: variable.EnvVar, Scope: "*", Protected: protected}
		if err := w.Variables.CreateIn(t.Context(), access.Actor{}, of, v); err != nil {
			t.Fatal(err)
		}
	}
	give(w.project.Entity(), "DEPLOY_KEY", ours, false)
	give(w.project.Entity(), "PROTECTED_KEY", ours, true)
	give(w.group.Entity(), "GROUP_KEY", ours, false)

	stranger := usertest.New(t, w.deps.DB, usertest.Named("eve"))
	projecttest.Join(t, w.deps.DB, w.project, stranger, access.Reporter)
	home := grouptest.New(t, w.deps.DB, grouptest.Named("elsewhere"))
	grouptest.Join(t, w.deps.DB, home, stranger, access.Owner)
	home.Role = access.Owner
	source, err := w.deps.Projects.Find(t.Context(), w.actorOf(stranger), w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := w.deps.Projects.Fork(t.Context(), w.actorOf(stranger), source, home, project.ForkDraft{})
	if err != nil {
		t.Fatal(err)
	}
	repositorytest.New(t, w.deps.DB, w.store, fork, repositorytest.Files{"README": "hello\n"})
	give(fork.Entity(), "DEPLOY_KEY", theirs, false)
	w.protect(t, fork, access.Maintainer)

	shown := func(p *project.Project, by *user.User) string {
		t.Helper()
		id := w.pending(t, p)
		w.exec(t, `update jobs set user_id = $2 where id = $1`, id, by.ID)
		given := w.handed(t)
		if given == nil || given.ID != id {
			t.Fatalf("job %d of project %d is not handed out: %+v", id, p.ID, given)
		}
		text, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := shown(fork, stranger); strings.Contains(text, ours) || strings.Contains(text, "GROUP_KEY") || !strings.Contains(text, theirs) {
		t.Errorf("a job of the fork is given %s", text)
	}
	// The same job run by someone who may see the source's: rights of people do not matter here.
	projecttest.Join(t, w.deps.DB, fork, w.ann, access.Maintainer)
	if text := shown(fork, w.ann); strings.Contains(text, ours) || strings.Contains(text, "GROUP_KEY") {
		t.Errorf("a job of the fork, run by a maintainer of the source, is given %s", text)
	}
	if text := shown(w.project, w.ann); strings.Contains(text, theirs) || strings.Count(text, ours) != 2 {
		t.Errorf("a job of the source is given %s", text)
	}
	// Runners that are assigned to the source do not run the fork.
	match := (&JobRequest{Runner: runner.Runner{ID: 8, Type: runner.Project, ProjectIDs: []int64{w.project.ID}, RunUntagged: true}}).match()
	w.pending(t, fork)
	for _, queue := range w.queues(t) {
		if queue.ProjectID == fork.ID && match.takes(&queue) {
			t.Error("a runner of the source takes jobs of the fork")
		}
	}
	// A stranger to the source starts nothing there.
	if r := w.call("POST", "/projects/"+id(w.project.ID)+"/pipeline", map[string]string{"ref": "main"}, w.as(t, stranger)); r.Code != 403 && r.Code != 400 {
		t.Errorf("a stranger runs a pipeline of the source: %d %s", r.Code, r.Body)
	}
}

func (w *fixture) queues(t testing.TB) []Queue {
	t.Helper()
	queues, err := postgres.All[Queue](t.Context(), w.deps.DB, sqlWaiting)
	if err != nil {
		t.Fatal(err)
	}
	return queues
}

// CI-16: files of jobs are given to who shows a token, over the address that was
// asked. No address is a proof by itself, so none can be bent.
func TestCI16_NoAddressOfAFileIsAProof(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	path := "/jobs/" + id(job) + "/artifacts"
	content := archive(t)
	want(t, w.upload(path+"?artifact_type=archive&artifact_format=zip", content, byJob(secret)), 201, "201")
	if r := w.call("POST", path+"/authorize", map[string]any{}, byJob(secret)); r.Code != 200 || strings.TrimSpace(r.Body.String()) != "{}" {
		t.Errorf("asking before an upload gives more than leave: %d %s", r.Code, r.Body)
	}
	r := w.call("GET", path+"?direct_download=true", nil, byJob(secret))
	want(t, r, 200, string(content), "Location", "")
	mine := "/projects/" + id(w.project.ID) + "/jobs/" + id(job) + "/artifacts"
	r = w.call("GET", mine, nil, w.as(t, w.ann))
	want(t, r, 200, string(content), "Location", "")
	for _, address := range []string{path, path + "?direct_download=true", mine, mine + "/out.txt"} {
		if got := w.call("GET", address, nil).Code; got == 200 {
			t.Errorf("%s alone opens the file", address)
		}
	}
	// What takes the place of a signature names one job: the token and the
	// number in the path must agree, whatever else is in the query.
	other, theirs := w.running(t, w.project)
	for _, bent := range []string{
		"/jobs/" + id(job) + "/artifacts?token=" + theirs, "/jobs/" + id(other) + "/artifacts?token=" + secret,
		"/jobs/" + id(other) + "/artifacts?token=" + theirs[:len(theirs)-1], "/jobs/" + id(other) + "/artifacts?token=" + theirs + "0",
	} {
		if got := w.upload(bent, content).Code; got != 403 {
			t.Errorf("POST %s: %d", bent, got)
		}
	}
	want(t, w.call("PUT", "/jobs/"+id(job), map[string]any{"token": secret, "state": "success"}), 200, "")
	want(t, w.call("GET", path+"?direct_download=true", nil, byJob(secret)), 401, "")
}

// CI-16: the digest that a token is known by is of its kind and of the whole of
// it, with the border between them told.
func TestCI16_ShiftedBordersOfADigestNeverMeet(t *testing.T) {
	t.Parallel()
	box := secretbox.Random()
	seen := map[string]string{}
	for _, text := range []string{"job", "jobx", "runner", "a\x00b", "", "trigger_token"} {
		for cut := range len(text) + 1 {
			pair := fmt.Sprintf("%q %q", text[:cut], text[cut:])
			digest := string(box.Digest(text[:cut], text[cut:]))
			if other, met := seen[digest]; met && other != pair {
				t.Errorf("%s and %s have one digest", pair, other)
			}
			seen[digest] = pair
		}
	}
}

// DO-10: whoever puts many jobs into the queue waits for them; others do not.
func TestDO10_ManyJobsOfOneProjectDoNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.deps.DB, w.group.ID, projecttest.Named("small"))
	projecttest.Join(t, w.deps.DB, other, w.ann, access.Maintainer)
	repositorytest.New(t, w.deps.DB, w.store, other, repositorytest.Files{"README": "hello\n"})
	first := w.pending(t, w.project)
	w.exec(t, `
with more as (
	insert into jobs (project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags, interruptible,
		created_at, queued_at, updated_at)
	select project_id, pipeline_id, spec_id, user_id, bridge, name || n, stage, stage_index, status, run_when, allow_failure, tags, interruptible,
		created_at, queued_at, updated_at
	from jobs, generate_series(1, 20000) n where id = $1 returning id
) insert into job_queue (job_id, lane_id, queued_at) select more.id, q.lane_id, q.queued_at from more, job_queue q where q.job_id = $1`, first)
	if given := w.handed(t); given == nil || given.JobInfo.ProjectID != w.project.ID {
		t.Fatal("the first job is of another project")
	}
	small := w.pending(t, other)
	w.now = w.now.Add(2 * time.Second) // which queues there are is known for a moment
	begun := time.Now()
	given := w.handed(t)
	if took := time.Since(begun); given == nil || given.ID != small || took > 5*time.Second {
		t.Errorf("behind twenty thousand jobs of another project: %d is not %d, after %s", given.ID, small, took)
	}
}

// DL-13: when a file goes follows from what was said when it came. A new default
// is for new files.
func TestDL13_ANewDefaultTouchesNoFileThatIsThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hand := func(query string) int64 {
		t.Helper()
		job, secret := w.running(t, w.project)
		want(t, w.upload("/jobs/"+id(job)+"/artifacts?artifact_type=archive&artifact_format=zip"+query, archive(t), byJob(secret)), 201, "")
		return job
	}
	set := func(value string) {
		t.Helper()
		keep := func(s *setting.Settings) { s.DefaultArtifactsExpireIn = value }
		if err := w.deps.Settings.Update(t.Context(), access.Actor{}, keep); err != nil {
			t.Fatal(err)
		}
	}
	expires := func(job int64) time.Duration {
		t.Helper()
		files, err := w.deps.Artifacts.Files(t.Context(), job)
		if err != nil || len(files) != 1 {
			t.Fatalf("job %d has %+v, %v", job, files, err)
		}
		if files[0].ExpireAt == nil {
			return 0
		}
		return files[0].ExpireAt.Sub(w.now)
	}
	old, said := hand(""), hand("&expire_in=2+days")
	before := map[int64]time.Duration{old: expires(old), said: expires(said)}
	for _, value := range []string{"1 sec", "never", "0"} {
		set(value)
		for job, was := range before {
			if got := expires(job); got != was || was == 0 {
				t.Errorf("after a default of %q a file goes after %s, not after %s", value, got, was)
			}
		}
	}
	set("1 hour")
	if got := expires(hand("")); got != time.Hour {
		t.Errorf("a new file goes after %s", got)
	}
	if got := expires(hand("&expire_in=never")); got != 0 {
		t.Errorf("a file for ever goes after %s", got)
	}
}

// DL-05: removing what one job left removes nothing else.
func TestDL05_ErasingAJobTouchesNoOther(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var jobs []int64
	for range 3 {
		job, secret := w.running(t, w.project)
		want(t, w.call("PATCH", "/jobs/"+id(job)+"/trace", "log\n", byJob(secret), with("Content-Range", "0-3")), 202, "")
		want(t, w.upload("/jobs/"+id(job)+"/artifacts?artifact_type=archive&artifact_format=zip", archive(t), byJob(secret)), 201, "")
		want(t, w.call("PUT", "/jobs/"+id(job), map[string]any{"token": secret, "state": "success"}), 200, "")
		jobs = append(jobs, job)
	}
	ann := w.as(t, w.ann)
	want(t, w.call("POST", "/projects/"+id(w.project.ID)+"/jobs/"+id(jobs[1])+"/erase", map[string]any{}, ann), 201, "")
	for _, missing := range []string{"0", "-1", "99999"} {
		if got := w.call("POST", "/projects/"+id(w.project.ID)+"/jobs/"+missing+"/erase", map[string]any{}, ann).Code; got != 404 && got != 400 {
			t.Errorf("erasing job %s: %d", missing, got)
		}
	}
	for i, job := range jobs {
		files, err := w.deps.Artifacts.Files(t.Context(), job)
		size, sizeErr := w.deps.Artifacts.LogSize(t.Context(), job)
		if err != nil || sizeErr != nil || (len(files) == 1) != (i != 1) || (size == 4) != (i != 1) {
			t.Errorf("job %d has %d files and %d bytes of log, %v %v", i, len(files), size, err, sizeErr)
		}
	}
}

// follows puts a job behind another, in the pipeline of that one.
func (w *fixture) follows(t testing.TB, first int64, change ...func(*pipeline.Spec)) int64 {
	t.Helper()
	next := w.pending(t, w.project, append([]func(*pipeline.Spec){func(s *pipeline.Spec) { s.Job.Name = "deploy" }}, change...)...)
	w.exec(t, `update jobs set pipeline_id = (select pipeline_id from jobs where id = $2), stage_index = 1 where id = $1`, next, first)
	return next
}

func TestAJobWhoseDependencyIsGoneFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(w *fixture, job int64)
		want  pipeline.Reason
		has   int
	}{
		"there":           {func(*fixture, int64) {}, "", 1},
		"expired":         {func(w *fixture, _ int64) { w.now = w.now.Add(2 * time.Hour) }, pipeline.MissingDependency, 0},
		"expired, locked": {func(w *fixture, job int64) { w.now = w.now.Add(2 * time.Hour); w.lock(t, job) }, "", 1},
		"expired and swept": {func(w *fixture, _ int64) {
			w.now = w.now.Add(2 * time.Hour)
			for range 2 {
				if err := w.deps.Artifacts.Sweep(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}, pipeline.MissingDependency, 0},
		"erased": {func(w *fixture, job int64) {
			want(t, w.call("POST", "/projects/"+id(w.project.ID)+"/jobs/"+id(job)+"/erase", map[string]any{}, w.as(t, w.ann)), 201, "")
		}, pipeline.MissingDependency, 0},
		"removed by somebody": {func(w *fixture, job int64) {
			want(t, w.call("DELETE", "/projects/"+id(w.project.ID)+"/jobs/"+id(job)+"/artifacts", nil, w.as(t, w.ann)), 204, "")
			w.now = w.now.Add(2 * time.Hour)
		}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			first, secret := w.running(t, w.project)
			want(t, w.upload("/jobs/"+id(first)+"/artifacts?artifact_type=archive&artifact_format=zip&expire_in=1+hour", archive(t), byJob(secret)), 201, "")
			want(t, w.call("PUT", "/jobs/"+id(first), map[string]any{"token": secret, "state": "success"}), 200, "")
			c.spoil(w, first)
			next := w.follows(t, first)
			given := w.handed(t)
			j, err := w.deps.Pipelines.KnownJob(t.Context(), w.deps.DB, next)
			if err != nil {
				t.Fatal(err)
			}
			var why pipeline.Reason
			if j.FailureReason != nil {
				why = *j.FailureReason
			}
			if why != c.want || (given == nil) != (c.want != "") {
				t.Errorf("the job is %s (%s), want %q", j.Status, why, c.want)
			}
			if given != nil && len(given.Dependencies) != c.has {
				t.Errorf("it depends on %+v", given.Dependencies)
			}
		})
	}
}

func (w *fixture) lock(t testing.TB, job int64) {
	t.Helper()
	w.exec(t, `update job_artifacts set locked = true where job_id = $1`, job)
}

// A job that wants no files of another does not mind that they are gone.
func TestAJobThatFetchesNothingDependsOnNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first, secret := w.running(t, w.project)
	want(t, w.upload("/jobs/"+id(first)+"/artifacts?artifact_type=archive&artifact_format=zip&expire_in=1+hour", archive(t), byJob(secret)), 201, "")
	want(t, w.call("PUT", "/jobs/"+id(first), map[string]any{"token": secret, "state": "success"}), 200, "")
	w.now = w.now.Add(2 * time.Hour)
	next := w.follows(t, first, func(s *pipeline.Spec) { s.Job.Dependencies = []string{} })
	if given := w.handed(t); given == nil || given.ID != next {
		t.Errorf("the job is %s", w.status(t, next))
	}
}

func TestARunningJobStartsAPipelineByItsToken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.deps.DB, w.group.ID, projecttest.Named("other"))
	projecttest.Join(t, w.deps.DB, other, w.ann, access.Maintainer)
	repositorytest.New(t, w.deps.DB, w.store, other, repositorytest.Files{".svc-ci.yml": "go: {script: [x]}\n"})
	job, secret := w.running(t, w.project)
	pull := func(token string) (int, string) {
		r := w.call("POST", "/projects/"+id(other.ID)+"/trigger/pipeline", map[string]any{"token": token, "ref": "main", "variables": map[string]string{"K": "v"}})
		return r.Code, r.Body.String()
	}
	if code, body := pull(secret); code != 404 {
		t.Errorf("a private project that does not list the job's: %d %s", code, body)
	}
	want(t, w.call("POST", "/projects/"+id(other.ID)+"/job_token_scope/allowlist", map[string]any{"target_project_id": w.project.ID}, w.as(t, w.ann)), 201, "")
	code, body := pull(secret)
	var made struct {
		ID     int64
		Source string
		User   struct{ ID int64 }
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || code != 201 || made.Source != "pipeline" || made.User.ID != w.ann.ID {
		t.Fatalf("%d %s %v", code, body, err)
	}
	parent, err := postgres.Value[int64](t.Context(), w.deps.DB, `select parent_id from pipelines where id = $1`, made.ID)
	if j, _ := w.deps.Pipelines.KnownJob(t.Context(), w.deps.DB, job); err != nil || parent != j.PipelineID {
		t.Errorf("it follows from pipeline %d, %v", parent, err)
	}
	vars, err := w.deps.Pipelines.VariablesOf(t.Context(), w.deps.DB, made.ID)
	if err != nil || len(vars) != 2 || vars[0].Key != "TRIGGER_PAYLOAD" || strings.Contains(vars[0].Value, secret) || vars[1].Value != "v" {
		t.Errorf("it is given %+v, %v", vars, err)
	}
	if code, _ := pull(secret + "x"); code != 404 {
		t.Errorf("an unknown token: %d", code)
	}
	w.exec(t, `update members set access_level = 20 where project_id = $1 and user_id = $2`, other.ID, w.ann.ID)
	if code, body := pull(secret); code != 400 || !strings.Contains(body, "Insufficient permissions") {
		t.Errorf("as somebody who may not run pipelines there: %d %s", code, body)
	}
	w.exec(t, `update members set access_level = 40 where project_id = $1 and user_id = $2`, other.ID, w.ann.ID)
	// Started by jobs of pipelines that it started itself, it comes to an end.
	var above *int64
	for n := range 3 {
		up, err := postgres.Value[int64](t.Context(), w.deps.DB, `
			insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, parent_id, created_at, updated_at)
			values ($1, 1000 + $2, $3, '', 'main', false, 'running', 'pipeline', $4, $5, $5) returning id`, other.ID, n, w.sha, above, w.now)
		if err != nil {
			t.Fatal(err)
		}
		above = &up
	}
	w.exec(t, `update pipelines set parent_id = $2 where id = $1`, parent, above)
	if code, body := pull(secret); code != 400 || !strings.Contains(body, "pipeline_loop_detected") {
		t.Errorf("the fourth time: %d %s", code, body)
	}
	want(t, w.call("PUT", "/jobs/"+id(job), map[string]any{"token": secret, "state": "success"}), 200, "")
	if code, body := pull(secret); code != http.StatusUnauthorized || body != `{"message":"Job is not running"}` {
		t.Errorf("after the end: %d %s", code, body)
	}
}

// The files of the latest pipeline of a ref are there past their time, until a
// newer one succeeds.
func TestAFileThatComesLateIsNotKeptForEver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	job, secret := w.running(t, w.project)
	w.exec(t, `update pipelines set locked = true`)
	hand := func(kind string) {
		t.Helper()
		want(t, w.upload("/jobs/"+id(job)+"/artifacts?artifact_format=zip&expire_in=1+hour&artifact_type="+kind, archive(t), byJob(secret)), 201, "")
	}
	locked := func() int {
		t.Helper()
		n, err := postgres.Value[int](t.Context(), w.deps.DB, `select count(*) from job_artifacts where locked`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	hand(artifact.Archive)
	if locked() != 1 {
		t.Error("a file of the latest pipeline is not kept")
	}
	w.exec(t, `update pipelines set locked = false`)
	hand("sast")
	if locked() != 1 {
		t.Error("a file of a pipeline that is not the latest is kept")
	}
}

// leaves makes a job that ended and keeps its files to an audience, with a word
// in them that is
// nowhere else.
func (w *fixture) leaves(t testing.TB, p *project.Project, to string) (jobID int64) {
	t.Helper()
	job, secret := w.running(t, p, func(s *pipeline.Spec) { s.Job.Artifacts = &ciconfig.Artifacts{Access: to} })
	path := "/jobs/" + id(job) + "/artifacts?artifact_format="
	want(t, w.upload(path+"zip&artifact_type=archive", archive(t), byJob(secret)), 201, "")
	want(t, w.upload(path+"raw&artifact_type=dotenv", []byte("HANDED=canary-"+to), byJob(secret)), 201, "")
	want(t, w.call("PUT", "/jobs/"+id(job), map[string]any{"token": secret, "state": "success"}), 200, "")
	w.exec(t, `update pipelines set status = 'success' where id = (select pipeline_id from jobs where id = $1)`, job)
	return job
}

// CI-15: a file that a job keeps to some is given to no other by the routes of
// runners, nor handed over to a job that needs it from another project.
func TestCI15_RunnersGetWhatThePersonBehindTheirJobMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `update namespaces set visibility = 20 where id = $1`, w.group.ID)
	other := projecttest.New(t, w.deps.DB, w.group.ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	repositorytest.New(t, w.deps.DB, w.store, other, repositorytest.Files{"README": "hello\n"})
	projecttest.Join(t, w.deps.DB, other, w.ann, access.Maintainer)
	for _, to := range []string{"all", "developer", "maintainer", "none"} {
		left := w.leaves(t, other, to)
		for _, c := range []struct {
			name   string
			role   access.Role
			listed bool
			open   []string // for whom the files are that it gets
		}{
			{"stranger", access.NoRole, true, []string{"all"}},
			{"reporter", access.Reporter, true, []string{"all"}},
			{"developer", access.Developer, true, []string{"all", "developer"}},
			{"maintainer", access.Maintainer, true, []string{"all", "developer", "maintainer"}},
			{"maintainer of a project that is not listed", access.Maintainer, false, []string{"all"}},
		} {
			w.exec(t, `delete from members where project_id = $1 and user_id = $2`, other.ID, w.ann.ID)
			w.exec(t, `delete from job_token_allowlist`)
			if c.role > access.NoRole {
				projecttest.Join(t, w.deps.DB, other, w.ann, c.role)
			}
			if c.listed {
				w.exec(t, `insert into job_token_allowlist (project_id, target_id, created_at) values ($1, $2, $3)`, other.ID, w.project.ID, w.now)
			}
			may := slices.Contains(c.open, to)
			next := w.pending(t, w.project, func(s *pipeline.Spec) {
				s.Job.Needs = []ciconfig.Need{{Project: other.FullPath(), Ref: "main", Job: "build", Artifacts: true, Optional: true}}
			})
			given := w.handed(t)
			if given == nil || given.ID != next {
				t.Fatalf("job %d is not handed out: %+v", next, given)
			}
			text, err := json.Marshal(given)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(given.Dependencies) == 1; got != may || strings.Contains(string(text), "canary-"+to) != may {
				t.Errorf("files for %s are handed to a job of a %s: %v, %s", to, c.name, got, text)
			}
			code := w.call("GET", "/jobs/"+id(left)+"/artifacts", nil, byJob(given.Token)).Code
			if (code == 200) != may {
				t.Errorf("files for %s are fetched by a job of a %s: %d", to, c.name, code)
			}
		}
		projecttest.Join(t, w.deps.DB, other, usertest.New(t, w.deps.DB), access.Maintainer)
	}
}

// Whomever a job keeps its files from, the later jobs of its own pipeline and
// of the children of that get them. Those of other pipelines do not.
func TestTheJobsOfAPipelineShareWhatTheyLeave(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	left := w.leaves(t, w.project, "none")
	w.follows(t, left)
	given := w.handed(t)
	if given == nil || len(given.Dependencies) != 1 {
		t.Fatalf("the next job of the pipeline is given %+v", given)
	}
	path := "/jobs/" + id(left) + "/artifacts"
	want(t, w.call("GET", path, nil, byJob(given.Token)), 200, "")
	_, stranger := w.running(t, w.project)
	if got := w.call("GET", path, nil, byJob(stranger)).Code; got == 200 {
		t.Errorf("a job of another pipeline fetches it: %d", got)
	}
	child, token := w.running(t, w.project)
	w.exec(t, `update pipelines set child = true, parent_id = (select pipeline_id from jobs where id = $2) where id = (select pipeline_id from jobs where id = $1)`, child, left)
	want(t, w.call("GET", path, nil, byJob(token)), 200, "")
}

// A job that runs is given files as its person may read them now, those of its
// own pipeline too: who was put out of the project takes no more with them.
func TestCI15_WhoLostTheRightMeanwhileGetsNoMoreFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `update namespaces set visibility = 20 where id = $1`, w.group.ID)
	w.exec(t, `update projects set visibility = 20, features = '{"builds": "private"}' where id = $1`, w.project.ID)
	left := w.leaves(t, w.project, "all")
	w.follows(t, left)
	given := w.handed(t)
	if given == nil || len(given.Dependencies) != 1 {
		t.Fatalf("the next job of the pipeline is given %+v", given)
	}
	path := "/jobs/" + id(left) + "/artifacts"
	want(t, w.call("GET", path, nil, byJob(given.Token)), 200, "")
	w.exec(t, `delete from members where user_id = $1`, w.ann.ID)
	want(t, w.call("GET", path, nil, byJob(given.Token)), 403, "")
}

// CI-07: the token of a job is a stranger's in a project that does not list the
// job's, whoever runs the job and however open the project is.
func TestCI07_AJobThatIsNotLetInIsAStranger(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `update namespaces set visibility = 20 where id = $1`, w.group.ID)
	root := usertest.New(t, w.deps.DB, usertest.Admin())
	for name, person := range map[string]*user.User{"a maintainer of both": w.ann, "an administrator": root} {
		other := projecttest.New(t, w.deps.DB, w.group.ID, projecttest.Visible(access.Public))
		if person == w.ann {
			projecttest.Join(t, w.deps.DB, other, person, access.Maintainer)
		}
		job, secret := w.running(t, w.project)
		w.exec(t, `update jobs set user_id = $2 where id = $1`, job, person.ID)
		actor, err := w.deps.Tokens.Authenticate(t.Context(), access.Presented{Secret: secret, Kinds: []access.Kind{access.JobToken}})
		if err != nil {
			t.Fatal(err)
		}
		reads := func(ability access.Ability) bool {
			p, err := w.deps.Projects.Find(t.Context(), actor, other.ID)
			return err == nil && access.Holds(actor, ability, p.Target())
		}
		if !reads(access.ReadCode) || !reads(access.DownloadArtifacts) || reads(access.PushCode) || reads(access.DownloadPrivateFiles) {
			t.Errorf("the job of %s: an open project is not what it is to strangers", name)
		}
		for _, features := range []string{`{"repository": "private"}`, `{"builds": "private"}`} {
			w.exec(t, `update projects set features = $2::jsonb where id = $1`, other.ID, features)
			if strings.Contains(features, "repository") && reads(access.ReadCode) || reads(access.DownloadArtifacts) {
				t.Errorf("the job of %s reads what members alone may, with %s", name, features)
			}
		}
		w.exec(t, `update projects set features = '{"repository": "private"}' where id = $1`, other.ID)
		w.exec(t, `insert into job_token_allowlist (project_id, target_id, created_at) values ($1, $2, $3)`, other.ID, w.project.ID, w.now)
		if got := reads(access.ReadCode); got != (person == w.ann) {
			t.Errorf("the job of %s, let in: %v", name, got)
		}
		w.exec(t, `update projects set visibility = 0 where id = $1`, other.ID)
		if got := reads(access.ReadProject); got != (person == w.ann) {
			t.Errorf("the job of %s, with access to a private project: %v", name, got)
		}
		// At home it has all that its person has.
		if p, err := w.deps.Projects.Find(t.Context(), actor, w.project.ID); err != nil || !access.Holds(actor, access.ReadCode, p.Target()) {
			t.Errorf("the job of %s does not get its own code: %v", name, err)
		}
	}
}
