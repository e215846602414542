package dispatch

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/schedule"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
	"stithy/internal/variable"
)

// protect makes main a branch that those of a role may update.
func (w *fixture) protect(t testing.TB, p *project.Project, from access.Role) {
	t.Helper()
	w.exec(t, `with b as (insert into protected_branches (project_id, name, created_at, updated_at) values ($1, 'main', $2, $2) returning id)
		insert into protection_grants (protected_branch_id, act, access_level) select id, act, $3 from b, unnest(array['push', 'merge']) act`,
		p.ID, w.now, int(from))
}

func (w *fixture) seenBy(t testing.TB, u *user.User, p *project.Project) *project.Project {
	t.Helper()
	seen, err := w.deps.Projects.Find(t.Context(), w.actorOf(u), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// laterConfig has a job for each way in which one comes to wait for a runner.
const laterConfig = `
retried: {script: [x]}
fails: {script: [x], retry: 1}
calls: {script: [x]}
played: {script: [x], when: manual}
delayed: {script: [x], when: delayed, start_in: 1 hour}
child: {trigger: {include: [{local: child.yml}]}}
other: {trigger: {project: team/other}}
`

// prepared is all that somebody has left to happen later.
type prepared struct {
	w                 *fixture
	who               *user.User
	pipeline          int64
	jobs              map[string]int64
	trigger, jobToken string
	schedule          int64
}

// prepareLater lets somebody leave things to happen later, in every way there is.
func (w *fixture) prepareLater(t testing.TB, who *user.User) *prepared {
	t.Helper()
	ctx, by, p := t.Context(), w.actorOf(who), w.seenBy(t, who, w.project)
	made, err := w.deps.Pipelines.Create(ctx, by, p, pipeline.CreateRequest{Source: pipeline.FromAPI, Ref: "main"})
	if err != nil {
		t.Fatal(err)
	}
	l := &prepared{w: w, who: who, pipeline: made.ID, jobs: map[string]int64{}}
	for range 3 { // fails and calls run on, retried ends and is retried
		given := w.handed(t)
		if given == nil {
			t.Fatal("a job is not handed out")
		}
		if given.JobInfo.Name == "calls" {
			l.jobToken = given.Token
		}
	}
	jobs, err := w.deps.Pipelines.LatestJobs(ctx, made.ID, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		l.jobs[j.Name] = j.ID
	}
	if err := w.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		_, err := w.deps.Pipelines.Finish(ctx, tx, l.jobs["retried"], pipeline.Outcome{State: pipeline.Success})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.deps.Pipelines.RetryJob(ctx, by, p, l.jobs["retried"]); err != nil {
		t.Fatal(err)
	}
	if _, err := w.deps.Pipelines.PlayJob(ctx, by, p, l.jobs["played"], nil); err != nil {
		t.Fatal(err)
	}
	_, trigger, err := w.schedules.CreateTrigger(ctx, by, p, "later")
	if err != nil {
		t.Fatal(err)
	}
	l.trigger = trigger.Reveal()
	text := "later"
	ref, cron := "main", "0 1 * * *"
	sc, err := w.schedules.Create(ctx, by, p, schedule.Draft{Description: &text, Ref: &ref, Cron: &cron})
	if err != nil {
		t.Fatal(err)
	}
	l.schedule = sc.ID
	return l
}

// happens lets the time come for all of it, and lists what ran.
func (l *prepared) happens(t testing.TB, sha string) []string {
	t.Helper()
	w, ctx := l.w, t.Context()
	w.now = w.now.Add(time.Hour)
	if err := w.deps.DB.InTx(ctx, func(tx pgx.Tx) error {
		_, err := w.deps.Pipelines.Finish(ctx, tx, l.jobs["fails"], pipeline.Outcome{State: pipeline.Failed, Reason: pipeline.ScriptFailure})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.deps.Pipelines.Due(ctx, l.jobs["delayed"]); err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for given := w.handed(t); given != nil; given = w.handed(t) {
		ran["job "+given.JobInfo.Name] = true
	}
	before, err := postgres.Value[int64](ctx, w.deps.DB, `select max(id) from pipelines`)
	if err != nil {
		t.Fatal(err)
	}
	made := func(way string) {
		t.Helper()
		last, err := postgres.Value[int64](ctx, w.deps.DB, `select max(id) from pipelines`)
		if err != nil {
			t.Fatal(err)
		}
		if last > before {
			ran[way] = true
		}
		before = last
	}
	project := "/projects/" + id(w.project.ID)
	for _, step := range []struct {
		way string
		do  func() error
	}{
		{"push", func() error {
			return w.deps.Pipelines.FromPush(ctx, pipeline.PushArgs{PushID: 1, ProjectID: w.project.ID, UserID: l.who.ID, Ref: "refs/heads/main", Old: strings.Repeat("0", 40), New: sha})
		}},
		{"schedule", func() error {
			return w.schedules.Run(ctx, schedule.RunArgs{ScheduleID: l.schedule, UserID: l.who.ID})
		}},
		{"trigger", func() error {
			w.call("POST", project+"/trigger/pipeline", map[string]any{"token": l.trigger, "ref": "main"})
			return nil
		}},
		{"token of a job", func() error {
			w.call("POST", project+"/trigger/pipeline", map[string]any{"token": l.jobToken, "ref": "main"})
			return nil
		}},
		{"child", func() error { return w.deps.Pipelines.Bridge(ctx, l.jobs["child"]) }},
		{"other project", func() error { return w.deps.Pipelines.Bridge(ctx, l.jobs["other"]) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(step.way, err)
		}
		made(step.way)
	}
	return slices.Sorted(maps.Keys(ran))
}

// CI-01: what runs later for somebody goes through the admission that a request
// of theirs would go through now. Every way by which something runs later is
// tried in every state that an account can come to.
func TestCI01_WhatRunsLaterRunsForThoseWhoWouldBeLetInNow(t *testing.T) {
	t.Parallel()
	everyWay := []string{
		"child", "job delayed", "job fails", "job played", "job retried", "other project", "push", "schedule", "token of a job", "trigger",
	}
	type becomes struct {
		admin  bool // an administrator without a role
		column string
		value  any
		mode   bool
		runs   []string
	}
	states := map[string]becomes{
		"as before":              {runs: everyWay},
		"an administrator":       {admin: true, runs: everyWay},
		"admin mode is on":       {admin: true, mode: true},
		"unconfirmed":            {column: "confirmed_at"},
		"the password expired":   {column: "password_expires_at", value: time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)},
		"an account of the host": {column: "kind", value: string(user.SupportBot)},
	}
	for _, state := range []user.State{user.Blocked, user.LDAPBlocked, user.Pending, user.Banned, user.Deactivated} {
		states[string(state)] = becomes{column: "state", value: string(state)}
	}
	for name, c := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			files := repositorytest.Files{".svc-ci.yml": laterConfig, "child.yml": "inner: {script: [x]}\n"}
			repo, err := w.deps.Repositories.Open(t.Context(), w.project)
			if err != nil {
				t.Fatal(err)
			}
			sha := string(repositorytest.Commit(t, repo, "main", "Later", files))
			other := projecttest.New(t, w.deps.DB, w.group.ID, projecttest.Named("other"))
			repositorytest.New(t, w.deps.DB, w.store, other, repositorytest.Files{".svc-ci.yml": "there: {script: [x]}\n"})
			var who *user.User
			if c.admin {
				who = usertest.New(t, w.deps.DB, usertest.Named("eve"), usertest.Admin())
			} else {
				who = usertest.New(t, w.deps.DB, usertest.Named("eve"))
				projecttest.Join(t, w.deps.DB, w.project, who, access.Developer)
				projecttest.Join(t, w.deps.DB, other, who, access.Developer)
			}
			l := w.prepareLater(t, who)
			if c.column != "" {
				w.exec(t, fmt.Sprintf(`update users set %s = $2 where id = $1`, c.column), who.ID, c.value)
			}
			if c.mode {
				if err := w.deps.Settings.Update(t.Context(), access.Actor{}, func(s *setting.Settings) { s.AdminMode = true }); err != nil {
					t.Fatal(err)
				}
			}
			active, err := postgres.Value[*time.Time](t.Context(), w.deps.DB, `select last_activity_on from users where id = $1`, who.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.happens(t, sha); !slices.Equal(got, c.runs) {
				t.Errorf("ran: %q, want %q", got, c.runs)
			}
			if now, err := postgres.Value[*time.Time](t.Context(), w.deps.DB, `select last_activity_on from users where id = $1`, who.ID); err != nil || (now == nil) != (active == nil) {
				t.Errorf("what ran later counts as activity: %v, %v", now, err)
			}
			if c.runs == nil {
				why, err := postgres.Values[string](t.Context(), w.deps.DB, `select distinct failure_reason from jobs
					where pipeline_id = $1 and not retried and status = 'failed' and name <> 'calls'`, l.pipeline)
				if err != nil || !slices.Equal(why, []string{string(pipeline.UserBlocked)}) {
					// An administrator without power is somebody who may not see the project.
					if !c.mode || len(why) != 2 {
						t.Errorf("jobs failed because of %q, %v", why, err)
					}
				}
			}
		})
	}
}

// CI-03: a ref may come to be protected while a job of somebody waits who may not
// update it any more. What is kept for the ref is not given to their code.
func TestCI03_AJobIsGivenWhatItsPersonMayRunOnTheRefNow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	who := usertest.New(t, w.deps.DB, usertest.Named("dan"))
	projecttest.Join(t, w.deps.DB, w.project, who, access.Developer)
	v := &variable.Variable{Key: "DEPLOY_KEY", Value: "canary", Type: variable.EnvVar, Scope: "*", Protected: true}
	if err := w.Variables.CreateIn(t.Context(), access.Actor{}, w.project.Entity(), v); err != nil {
		t.Fatal(err)
	}
	of := func(u *user.User) (int64, *Payload) {
		t.Helper()
		job := w.pending(t, w.project)
		w.exec(t, `update jobs set user_id = $2 where id = $1`, job, u.ID)
		return job, w.handed(t)
	}
	given := func(p *Payload) bool {
		return p != nil && slices.ContainsFunc(p.Variables, func(v Variable) bool { return v.Key == "DEPLOY_KEY" })
	}
	if _, p := of(who); p == nil || given(p) {
		t.Errorf("on an open branch a developer is given %+v", p)
	}
	w.protect(t, w.project, access.Maintainer)
	if job, p := of(who); p != nil || w.status(t, job) != pipeline.Failed {
		t.Errorf("on a branch that is protected since, a developer is given %+v", p)
	}
	if _, p := of(w.ann); !given(p) {
		t.Errorf("a maintainer is given %+v", p)
	}
}

// An administrator's job does not reach files of a project that their requests
// do not reach.
func TestCI01_FilesOfOtherProjectsAreForThoseWhoWouldBeLetInNow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	admin := usertest.New(t, w.deps.DB, usertest.Named("eve"), usertest.Admin())
	projecttest.Join(t, w.deps.DB, w.project, admin, access.Developer)
	hidden := projecttest.New(t, w.deps.DB, w.group.ID, projecttest.Named("hidden"))
	if err := w.Close(t.Context(), access.Actor{Process: "test"}, hidden, false); err != nil {
		t.Fatal(err)
	}
	job, secret := w.running(t, hidden)
	want(t, w.upload("/jobs/"+id(job)+"/artifacts?artifact_type=archive&artifact_format=zip", archive(t), byJob(secret)), http.StatusCreated, "")
	if err := w.deps.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		_, err := w.deps.Pipelines.Finish(t.Context(), tx, job, pipeline.Outcome{State: pipeline.Success})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	handed := func() *Payload {
		t.Helper()
		job := w.pending(t, w.project, func(s *pipeline.Spec) {
			s.Job.Needs = append(s.Job.Needs, ciconfig.Need{Job: "build", Project: "team/hidden", Ref: "main", Artifacts: true})
		})
		w.exec(t, `update jobs set user_id = $2 where id = $1`, job, admin.ID)
		return w.handed(t)
	}
	mode := func(on bool) {
		t.Helper()
		if err := w.deps.Settings.Update(t.Context(), access.Actor{}, func(s *setting.Settings) { s.AdminMode = on }); err != nil {
			t.Fatal(err)
		}
	}
	// The power of an administrator does not reach beyond the job's own project.
	for _, on := range []bool{false, true} {
		mode(on)
		if p := handed(); p != nil {
			t.Errorf("with admin mode %v an administrator without a role is given %+v", on, p.Dependencies)
		}
	}
	projecttest.Join(t, w.deps.DB, hidden, admin, access.Reporter)
	for _, on := range []bool{false, true} {
		mode(on)
		if p := handed(); p == nil || len(p.Dependencies) != 1 {
			t.Errorf("with admin mode %v a reporter is given %+v", on, p)
		}
	}
}
