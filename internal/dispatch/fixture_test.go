package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/artifact"
	"stithy/internal/ciconfig"
	"stithy/internal/core"
	"stithy/internal/core/coretest"
	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/oauth"
	"stithy/internal/pipeline"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/platform/secretbox"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/protection"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/runner"
	"stithy/internal/schedule"
	"stithy/internal/token"
	"stithy/internal/token/tokentest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/variable"
)

// fixture is the room among those below it, behind the real API.
type fixture struct {
	*Service
	Variables *variable.Service
	schedules *schedule.Service
	handler   http.Handler
	blobs     blob.Store
	store     *gitstore.Store
	now       time.Time
	group     *group.Group
	project   *project.Project
	ann       *user.User // a maintainer
	sha       string
}

type unlimited struct{}

func (unlimited) Throttle(bool) (ratelimit.Rule, bool) { return ratelimit.Rule{}, false }
func (unlimited) Endpoint(string, access.Actor) (ratelimit.Rule, bool) {
	return ratelimit.Rule{}, false
}
func (unlimited) ThrottleText() string { return "" }
func (unlimited) MaxOffset() int       { return 0 }

func newFixture(t testing.TB) *fixture {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.URL(t), 6)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := &fixture{now: time.Date(2024, 5, 2, 15, 4, 5, 0, time.UTC), store: repositorytest.Store(t)}
	var jobs struct {
		resolver struct{ token.Resolver }
		reach    struct{ project.JobTokens }
		caller   struct{ schedule.JobTokens }
	}
	c := coretest.New(t, coretest.On(db), func(d *core.Deps) {
		d.Clock, d.Jobs, d.JobTokens = func() time.Time { return w.now }, &jobs.resolver, &jobs.reach
	})
	blobs, err := blob.Open("file://"+t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	var owners struct{ pipeline.Schedules }
	var protected struct{ protection.Repositories }
	rules := protection.New(protection.Deps{
		DB: c.DB, Bus: c.Bus, Settings: c.Settings, Projects: c.Projects, Clock: c.Clock, Repositories: &protected,
	})
	repositories := repository.New(repository.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Box: c.Box,
		Outbound: c.Outbound, Store: w.store, Storages: []string{"default"}, Clock: c.Clock, Log: c.Log, ExternalURL: c.ExternalURL.String(),
		Names: c.Instance.Names, Protection: rules, LargeFiles: repositorytest.NoLargeFiles{},
	})
	protected.Repositories = repositories
	artifacts := artifact.New(artifact.Deps{
		DB: c.DB, Queue: c.Queue, Blobs: blobs, Box: c.Box, Settings: c.Settings, Clock: c.Clock,
	})
	variables := variable.New(variable.Deps{DB: c.DB, Bus: c.Bus, Box: c.Box, Clock: c.Clock, Settings: c.Settings, Owners: c.Owners})
	runners := runner.New(runner.Deps{
		DB: c.DB, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Groups: c.Groups, Projects: c.Projects, Clock: c.Clock, Log: c.Log,
		ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names,
	})
	pipelines := pipeline.New(pipeline.Deps{
		DB: c.DB, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens,
		Projects: c.Projects, Protection: rules, Repositories: repositories, Variables: variables, Artifacts: artifacts, Runners: runners,
		Outbound: c.Outbound, Clock: c.Clock, ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names, Schedules: &owners,
	})
	w.schedules = schedule.New(schedule.Deps{
		DB: db, Bus: c.Bus, Queue: c.Queue, Box: c.Box, Users: c.Users, Tokens: c.Tokens, Projects: c.Projects, Protection: rules, Pipelines: pipelines,
		Clock: c.Clock, Names: c.Instance.Names, JobTokens: &jobs.caller,
	})
	owners.Schedules = w.schedules
	w.Variables, w.blobs = variables, blobs
	w.Service = New(Deps{
		DB: db, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens,
		OAuth: oauth.New(oauth.Deps{
			DB: db, Bus: c.Bus, Box: c.Box, Settings: c.Settings, Users: c.Users, Tokens: c.Tokens, Clock: c.Clock,
			ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names, Password: noPassword,
		}),
		Projects: c.Projects, Protection: rules, Repositories: repositories, Runners: runners, Artifacts: artifacts, Pipelines: pipelines,
		Clock: c.Clock, Log: c.Log, ExternalURL: c.ExternalURL.String(), Names: c.Instance.Names, Claims: 2, Hold: 30 * time.Millisecond,
		Draining: make(chan struct{}),
	})
	jobs.resolver.Resolver, jobs.reach.JobTokens, jobs.caller.JobTokens = w.Service, w.Service, w.Service
	bus.On(c.Bus, w.OnJobQueued)
	bus.On(c.Bus, w.OnJobUnqueued)
	bus.On(c.Bus, w.OnJobFinished)
	api := &httpapi.Server{
		ExternalURL: c.ExternalURL, SessionCookie: "_svc_session", Authenticator: c.Tokens, Limits: unlimited{},
		Limiter: ratelimit.New(c.Clock, nil), Clock: c.Clock, Log: c.Log,
		Endpoints: slices.Concat(w.Endpoints(), c.Users.Endpoints(), c.Projects.Endpoints(), rules.Endpoints(), repositories.Endpoints(), c.Groups.Endpoints(),
			pipelines.Endpoints(), w.schedules.Endpoints()),
	}
	w.handler = api.Handler()

	w.ann = usertest.New(t, db, usertest.Named("ann"))
	w.group = grouptest.New(t, db, grouptest.Named("team"))
	w.project = projecttest.New(t, db, w.group.ID, projecttest.Named("tool"))
	projecttest.Join(t, db, w.project, w.ann, access.Maintainer)
	repo := repositorytest.New(t, db, w.store, w.project, repositorytest.Files{"README": "hello\n"})
	ref, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	w.sha = string(ref.Target)
	return w
}

// noPassword is for a provider that takes none.
func noPassword(context.Context, string, secretbox.Secret, netip.Addr) (*user.User, error) {
	return nil, fault.New(fault.Unauthenticated)
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.deps.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// pending makes a pipeline of one job that waits for a runner.
func (w *fixture) pending(t testing.TB, p *project.Project, change ...func(*pipeline.Spec)) (jobID int64) {
	t.Helper()
	spec := pipeline.Spec{
		Job: ciconfig.Job{Name: "build", Stage: "test", Script: []string{"make"}, When: ciconfig.OnSuccess}, Group: "build", NodeTotal: 1,
	}
	for _, c := range change {
		c(&spec)
	}
	document, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	err = w.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		id, err := postgres.Value[int64](ctx, tx, `
with p as (
	insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, user_id, created_at, updated_at)
	values ($1, 1 + (select count(*) from pipelines where project_id = $1), $2, '', 'main', false, 'pending', 'push', $3, $4, $4) returning id
), s as (insert into job_specs (pipeline_id, document) select id, $5 from p returning id)
insert into jobs (project_id, pipeline_id, spec_id, user_id, bridge, name, stage, stage_index, status, run_when, allow_failure, tags, interruptible,
	created_at, queued_at, updated_at)
select $1, p.id, s.id, $3, false, $6, $7, 0, 'pending', 'on_success', false, $8, false, $4, $4, $4 from p, s returning id`,
			p.ID, w.sha, w.ann.ID, w.now, document, spec.Job.Name, spec.Job.Stage, append([]string{}, spec.Job.Tags...))
		if err != nil {
			return err
		}
		jobID = id
		return w.Service.pending.enqueue(ctx, tx, id, p.ID, spec.Job.Tags, false)
	})
	if err != nil {
		t.Fatal(err)
	}
	return jobID
}

// running makes a job that a runner has, and its token.
func (w *fixture) running(t testing.TB, p *project.Project, change ...func(*pipeline.Spec)) (jobID int64, secret string) {
	t.Helper()
	w.pending(t, p, change...)
	return w.claimed(t)
}

// claimed gives the next job to a runner.
func (w *fixture) claimed(t testing.TB) (jobID int64, secret string) {
	t.Helper()
	request := JobRequest{Runner: runner.Runner{ID: 7, Type: runner.Instance, RunUntagged: true}, Secret: "glrt-runnersecret"}
	match := request.match()
	ctx := t.Context()
	var c claimed
	if err := w.deps.DB.InTx(ctx, func(tx pgx.Tx) (err error) {
		c, err = w.take(ctx, tx, &request, &match, nil)
		return err
	}); err != nil || c.job == nil {
		t.Fatalf("claiming: %+v %v", c, err)
	}
	return c.job.ID, c.secret.Reveal()
}

func (w *fixture) as(t testing.TB, u *user.User) func(*http.Request) {
	secret := tokentest.New(t, w.deps.DB, w.deps.Box, u.ID)
	return func(r *http.Request) { r.Header.Set("Private-Token", secret) }
}

func byJob(secret string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Job-Token", secret) }
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// call sends a request; a body is a text, a document or nothing.
func (w *fixture) call(method, path string, body any, change ...func(*http.Request)) *httptest.ResponseRecorder {
	text, kind := "", "text/plain"
	switch b := body.(type) {
	case nil:
	case string:
		text = b
	default:
		document, _ := json.Marshal(b)
		text, kind = string(document), "application/json"
	}
	r := httptest.NewRequest(method, "/api/v4"+path, strings.NewReader(text))
	if body != nil {
		r.Header.Set("Content-Type", kind)
	}
	for _, c := range change {
		c(r)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

func (w *fixture) upload(path string, content []byte, change ...func(*http.Request)) *httptest.ResponseRecorder {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, _ := m.CreateFormFile("file", "artifacts.zip")
	_, _ = part.Write(content)
	_ = m.Close()
	return w.call("POST", path, b.String(), append(change, with("Content-Type", m.FormDataContentType()))...)
}

func want(t testing.TB, r *httptest.ResponseRecorder, status int, body string, headers ...string) {
	t.Helper()
	if r.Code != status || (body != "" && r.Body.String() != body) {
		t.Errorf("got %d %s, want %d %s", r.Code, r.Body, status, body)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if got := r.Header().Get(headers[i]); got != headers[i+1] {
			t.Errorf("%s: got %q, want %q", headers[i], got, headers[i+1])
		}
	}
}

func (w *fixture) status(t testing.TB, jobID int64) pipeline.Status {
	t.Helper()
	j, err := w.deps.Pipelines.KnownJob(context.WithoutCancel(t.Context()), w.deps.DB, jobID)
	if err != nil {
		t.Fatal(err)
	}
	return j.Status
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// ask is what a runner gets that does not wait.
func (w *fixture) ask(t testing.TB, a JobRequest) *Payload {
	t.Helper()
	v := w.poll(a)
	given, over, err := v.first(t.Context())
	if err == nil && !over {
		_, _, err = v.next(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return given
}
