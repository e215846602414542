package pipeline_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
)

type jobForm struct {
	ID            int64
	Name, Status  string
	FailureReason string     `json:"failure_reason"`
	StartedAt     *time.Time `json:"started_at"`
	FinishedAt    *time.Time `json:"finished_at"`
	ErasedAt      *time.Time `json:"erased_at"`
	Duration      *float64
	User          struct{ ID int64 }
	Archived      bool
}

// do acts on a job through the API.
func (w *fixture) do(t testing.TB, role access.Role, jobID int64, act string, status int) jobForm {
	t.Helper()
	r := w.as(t, role).Do(t, "POST", w.at("/jobs/%d/%s", jobID, act), nil).WantStatus(t, status)
	return httpapitest.JSON[jobForm](t, r)
}

func TestAJobIsCanceledAndRetried(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simple)
	pl := w.create(t)
	build := w.jobs(t, pl.ID)["build"]
	w.as(t, access.Reporter).Do(t, "POST", w.at("/jobs/%d/cancel", build.ID), nil).WantStatus(t, 403)
	if got := w.do(t, access.Developer, build.ID, "cancel", 201); got.Status != "canceled" || got.FinishedAt == nil {
		t.Errorf("%+v", got)
	}
	w.wantStates(t, pl.ID, "canceled build:canceled test:skipped")
	if got := w.do(t, access.Developer, build.ID, "cancel", 201); got.Status != "canceled" {
		t.Errorf("a job that has ended: %+v", got)
	}
	again := w.do(t, access.Developer, build.ID, "retry", 201)
	if again.ID == build.ID || again.Status != "pending" || again.StartedAt != nil || again.FinishedAt != nil || again.Duration != nil {
		t.Errorf("%+v", again)
	}
	w.wantStates(t, pl.ID, "pending build:pending test:created")
	w.as(t, access.Developer).Do(t, "POST", w.at("/jobs/%d/retry", build.ID), nil).
		Want(t, 403, `{"message":"403 Forbidden - Job is not retryable"}`)
	w.as(t, access.Developer).Do(t, "POST", w.at("/jobs/%d/retry", again.ID), nil).WantStatus(t, 403)
	list := func(query string) int {
		r := w.as(t, access.Developer).Do(t, "GET", w.at("/pipelines/%d/jobs%s", pl.ID, query), nil).WantStatus(t, 200)
		return len(httpapitest.JSON[[]jobForm](t, r))
	}
	if list("") != 2 || list("?include_retried=true") != 3 || list("?scope=pending") != 1 || list("?scope[]=pending&scope[]=created") != 2 {
		t.Error("the lists do not show who took whose place")
	}
	w.as(t, access.Developer).Do(t, "GET", w.at("/jobs?scope=gone"), nil).Want(t, 400, `{"error":"scope does not have a valid value"}`)
}

func TestAManualJobIsPlayed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `
build: {stage: build, script: [x]}
ship: {stage: deploy, script: [x], rules: [{when: manual}]}
tell: {stage: .post, script: [x]}
`)
	pl := w.create(t)
	jobs := w.jobs(t, pl.ID)
	w.as(t, access.Developer).Do(t, "POST", w.at("/jobs/%d/play", jobs["build"].ID), nil).
		Want(t, 400, `{"message":"400 Bad request - Unplayable Job"}`)
	w.run(t, pl.ID, "build", passed)
	w.wantStates(t, pl.ID, "manual build:success ship:manual tell:created")
	w.as(t, access.Developer).Do(t, "POST", w.at("/jobs/%d/play", jobs["ship"].ID), map[string]any{
		"job_variables_attributes": []map[string]string{{"value": "x"}},
	}).WantStatus(t, 400)
	r := w.as(t, access.Maintainer).Do(t, "POST", w.at("/jobs/%d/play", jobs["ship"].ID), map[string]any{
		"job_variables_attributes": []map[string]string{{"key": "WHERE", "value": "canary-here"}},
	}).WantStatus(t, 200)
	if got := httpapitest.JSON[jobForm](t, r); got.Status != "pending" || got.User.ID != w.people[access.Maintainer].ID || strings.Contains(r.Body, "canary") {
		t.Errorf("%+v", got)
	}
	vars, err := w.JobVariables(t.Context(), w.db, jobs["ship"].ID)
	if err != nil || len(vars) != 1 || vars[0].Value != "canary-here" {
		t.Error(vars, err)
	}
	w.run(t, pl.ID, "ship", passed)
	w.run(t, pl.ID, "tell", passed)
	w.wantStates(t, pl.ID, "success build:success ship:success tell:success")
	// One that has ended is played anew.
	r = w.as(t, access.Developer).Do(t, "POST", w.at("/jobs/%d/play", jobs["ship"].ID), nil).WantStatus(t, 200)
	if got := httpapitest.JSON[jobForm](t, r); got.ID == jobs["ship"].ID || got.Status != "pending" {
		t.Errorf("%+v", got)
	}
}

func TestAPipelineIsCanceledRetriedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `
a: {stage: build, script: [x]}
b: {stage: build, script: [x]}
c: {stage: test, script: [x]}
`)
	pl := w.create(t)
	w.run(t, pl.ID, "a", passed)
	w.start(t, pl.ID, "b")
	post := func(act string, status int) string {
		t.Helper()
		r := w.as(t, access.Developer).Do(t, "POST", w.at("/pipelines/%d/%s", pl.ID, act), nil).WantStatus(t, status)
		return httpapitest.JSON[pipelineForm](t, r).Status
	}
	if got := post("cancel", 200); got != "canceled" {
		t.Error(got)
	}
	w.wantStates(t, pl.ID, "canceled a:success b:canceled c:canceled")
	post("cancel", 200)
	if got := post("retry", 201); got != "running" {
		t.Error(got)
	}
	w.wantStates(t, pl.ID, "running a:success b:pending c:created")
	w.run(t, pl.ID, "b", failed)
	w.wantStates(t, pl.ID, "failed a:success b:failed c:skipped")
	post("retry", 201)
	w.wantStates(t, pl.ID, "running a:success b:pending c:created")
	w.as(t, access.Maintainer).Do(t, "DELETE", w.at("/pipelines/%d", pl.ID), nil).WantStatus(t, 403)
	w.as(t, access.Owner).Do(t, "DELETE", w.at("/pipelines/%d", pl.ID), nil).WantStatus(t, 204)
	w.as(t, access.Owner).Do(t, "GET", w.at("/pipelines/%d", pl.ID), nil).Want(t, 404, `{"message":"404 Not found"}`)
	if n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from jobs`); n != 0 || err != nil {
		t.Error(n, err)
	}
}

func TestAJobStartsAgainByItself(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `
a: {script: [x], retry: {max: 2, when: [script_failure]}}
b: {script: [x], allow_failure: {exit_codes: [7]}}
`)
	pl := w.create(t)
	for range 2 {
		w.run(t, pl.ID, "a", failed)
		if got := w.jobs(t, pl.ID)["a"].Status; got != pipeline.Pending {
			t.Errorf("after a failure it is %s", got)
		}
	}
	w.run(t, pl.ID, "a", failed)
	w.run(t, pl.ID, "b", pipeline.Outcome{State: pipeline.Failed, Reason: pipeline.ScriptFailure, ExitCode: new(7)})
	w.wantStates(t, pl.ID, "failed b:failed a:failed")
	if !w.jobs(t, pl.ID)["b"].AllowFailure {
		t.Error("an exit code that is forgiven counts")
	}
	if n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from jobs where name = 'a'`); n != 3 || err != nil {
		t.Error(n, err)
	}
}

func TestADelayedJobStartsAtItsTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `a: {script: [x], when: delayed, start_in: 30 minutes}`)
	pl := w.create(t)
	w.wantStates(t, pl.ID, "scheduled a:scheduled")
	w.carryOn(t)
	w.wantStates(t, pl.ID, "scheduled a:scheduled")
	w.now = w.now.Add(30 * time.Minute)
	if err := w.Due(t.Context(), w.jobs(t, pl.ID)["a"].ID); err != nil {
		t.Fatal(err)
	}
	w.wantStates(t, pl.ID, "pending a:pending")
}

func TestOneJobAtATimeHoldsAResource(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `a: {script: [x], resource_group: production}`)
	first, second, third := w.create(t), w.create(t), w.create(t)
	w.carryOn(t)
	w.wantStates(t, first.ID, "pending a:pending")
	w.wantStates(t, second.ID, "waiting_for_resource a:waiting_for_resource")
	w.run(t, first.ID, "a", failed)
	w.carryOn(t)
	w.wantStates(t, second.ID, "pending a:pending")
	w.wantStates(t, third.ID, "waiting_for_resource a:waiting_for_resource")
	w.do(t, access.Developer, w.jobs(t, second.ID)["a"].ID, "cancel", 201)
	w.carryOn(t)
	w.wantStates(t, third.ID, "pending a:pending")
}

func TestWhatEndedStaysAsItEnded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `a: {script: [x]}`)
	pl := w.create(t)
	id := w.jobs(t, pl.ID)["a"].ID
	w.run(t, pl.ID, "a", passed)
	for _, late := range []func(tx pgx.Tx) error{
		func(tx pgx.Tx) error { _, err := w.Finish(t.Context(), tx, id, failed); return err },
		func(tx pgx.Tx) error { _, err := w.Drop(t.Context(), tx, id, pipeline.StuckOrTimeout); return err },
		func(tx pgx.Tx) error { return w.give(t.Context(), tx, id) },
	} {
		if err := w.db.InTx(t.Context(), late); err == nil {
			t.Error("a job that has ended was changed")
		}
	}
	w.wantStates(t, pl.ID, "success a:success")
}

func TestAnArchivedJobIsOnlyRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `a: {script: [x], when: manual}`)
	pl := w.create(t)
	id := w.jobs(t, pl.ID)["a"].ID
	w.exec(t, `update jobs set created_at = created_at - interval '3 months'`)
	w.archiveAfter(t, "1 month")
	for _, act := range []string{"play", "cancel", "retry", "erase"} {
		w.as(t, access.Owner).Do(t, "POST", w.at("/jobs/%d/%s", id, act), nil).WantStatus(t, 403)
	}
	r := w.as(t, access.Reporter).Do(t, "GET", w.at("/jobs/%d", id), nil).WantStatus(t, 200)
	if !httpapitest.JSON[jobForm](t, r).Archived {
		t.Error(r.Body)
	}
}

func TestAProtectedRefIsActedOnByThoseWhoMayUpdateIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `a: {script: [x], when: manual}`)
	pl := w.create(t)
	id := w.jobs(t, pl.ID)["a"].ID
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_branches"), url.Values{"name": {"main"}}).WantStatus(t, 201)
	for _, path := range []string{w.at("/jobs/%d/play", id), w.at("/jobs/%d/cancel", id), w.at("/pipelines/%d/cancel", pl.ID), w.at("/pipelines/%d/retry", pl.ID)} {
		w.as(t, access.Developer).Do(t, "POST", path, nil).WantStatus(t, 403)
	}
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/jobs/%d/play", id), nil).WantStatus(t, 200)
}

// leftLog is a job of a developer that has ended and left a log.
func (w *fixture) leftLog(t testing.TB) (id int64) {
	t.Helper()
	pl := w.create(t)
	id = w.jobs(t, pl.ID)["a"].ID
	w.start(t, pl.ID, "a")
	w.in(t, func(tx pgx.Tx) error {
		var b pgx.Batch
		if err := w.artifacts.BeginLog(&b, w.project.ID, id); err != nil {
			return err
		}
		return tx.SendBatch(t.Context(), &b).Close()
	})
	if _, err := w.artifacts.AppendLog(t.Context(), id, 0, []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	w.in(t, func(tx pgx.Tx) error {
		if _, err := w.Finish(t.Context(), tx, id, passed); err != nil {
			return err
		}
		return w.artifacts.CloseLog(t.Context(), tx, id)
	})
	return id
}

func TestAJobOfAProtectedRefIsErasedByMaintainersAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `a: {script: [x]}`)
	first, second := w.leftLog(t), w.leftLog(t)
	w.do(t, access.Developer, first, "erase", 201)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_branches"), url.Values{"name": {"main"}}).WantStatus(t, 201)
	w.as(t, access.Developer).Do(t, "POST", w.at("/jobs/%d/erase", second), nil).WantStatus(t, 403)
	w.do(t, access.Maintainer, second, "erase", 201)
}

func TestOfManyWhoEraseAJobAtOnceOneDoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `a: {script: [x]}`)
	id := w.leftLog(t)
	client := w.as(t, access.Developer)
	answers := make(chan int, 8)
	for range cap(answers) {
		go func() { answers <- client.Do(t, "POST", w.at("/jobs/%d/erase", id), nil).Status }()
	}
	got := map[int]int{}
	for range cap(answers) {
		got[<-answers]++
	}
	if got[201] != 1 || got[403] != 7 {
		t.Errorf("answers: %v", got)
	}
}

func TestAnErasedJobHasNoLogAnyMore(t *testing.T) {
	t.Parallel()
	w := newFixture(t, `a: {script: [x]}`)
	pl := w.create(t)
	id := w.jobs(t, pl.ID)["a"].ID
	w.as(t, access.Developer).Do(t, "GET", w.at("/jobs/%d/trace", id), nil).WantStatus(t, 404)
	w.start(t, pl.ID, "a")
	w.in(t, func(tx pgx.Tx) error {
		var b pgx.Batch
		if err := w.artifacts.BeginLog(&b, w.project.ID, id); err != nil {
			return err
		}
		return tx.SendBatch(t.Context(), &b).Close()
	})
	if _, err := w.artifacts.AppendLog(t.Context(), id, 0, []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	w.as(t, access.Developer).Do(t, "POST", w.at("/jobs/%d/erase", id), nil).Want(t, 403, `{"message":"403 Forbidden - Job is not erasable!"}`)
	w.in(t, func(tx pgx.Tx) error {
		if _, err := w.Finish(t.Context(), tx, id, passed); err != nil {
			return err
		}
		return w.artifacts.CloseLog(t.Context(), tx, id)
	})
	if got := w.as(t, access.Reporter).Do(t, "GET", w.at("/jobs/%d/trace", id), nil).WantStatus(t, 200); got.Body != "hello\n" {
		t.Errorf("%q", got.Body)
	}
	w.as(t, access.Reporter).Do(t, "POST", w.at("/jobs/%d/erase", id), nil).WantStatus(t, 403)
	if got := w.do(t, access.Developer, id, "erase", 201); got.ErasedAt == nil {
		t.Errorf("%+v", got)
	}
	w.as(t, access.Developer).Do(t, "GET", w.at("/jobs/%d/trace", id), nil).WantStatus(t, 404)
}
