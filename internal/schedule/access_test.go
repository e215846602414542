package schedule_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/schedule"
)

var nightly = url.Values{"description": {"nightly"}, "ref": {"main"}, "cron": {"0 1 * * *"}}

// schedule is one that somebody of a role made.
func (w *fixture) schedule(t testing.TB, role access.Role) (id int64) {
	t.Helper()
	r := w.as(t, role).Do(t, "POST", w.at("/pipeline_schedules"), nightly).WantStatus(t, 201)
	return httpapitest.JSON[struct{ ID int64 }](t, r).ID
}

// trigger is a token that somebody of a role made.
func (w *fixture) trigger(t testing.TB, role access.Role) (id int64, token string) {
	t.Helper()
	r := w.as(t, role).Do(t, "POST", w.at("/triggers"), url.Values{"description": {"d"}}).WantStatus(t, 201)
	made := httpapitest.JSON[struct {
		ID    int64
		Token string
	}](t, r)
	return made.ID, made.Token
}

// elsewhere makes another project of the same people the one that paths name.
func (w *fixture) elsewhere(t testing.TB) {
	t.Helper()
	w.project = projecttest.New(t, w.db, w.project.NamespaceID, projecttest.Visible(access.Public))
	for role, who := range w.people {
		projecttest.Join(t, w.db, w.project, who, role)
	}
}

// runs are the people as whom runs are asked for, in their order.
func (w *fixture) runs(t testing.TB) []int64 {
	t.Helper()
	people, err := postgres.Values[int64](t.Context(), w.db,
		`select (args->>'user_id')::bigint from river_job where kind = 'pipeline_schedule' order by id`)
	if err != nil {
		t.Fatal(err)
	}
	return people
}

// PE-01: what belongs to one project is not found through another.
func TestPE01_SchedulesAndTriggersBelongToTheirProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id, home := w.withVariable(t), w.project
	trigger, token := w.trigger(t, access.Maintainer)
	w.elsewhere(t)
	boss := w.as(t, access.Maintainer)
	one := w.at("/pipeline_schedules/%d", id)
	for _, c := range []struct{ method, path string }{
		{"GET", one}, {"GET", one + "/pipelines"}, {"PUT", one}, {"POST", one + "/take_ownership"}, {"POST", one + "/play"},
		{"PUT", one + "/variables/K"}, {"DELETE", one + "/variables/K"}, {"DELETE", one},
	} {
		boss.Do(t, c.method, c.path, nil).Want(t, 404, `{"message":"404 Pipeline Schedule Not Found"}`)
	}
	boss.Do(t, "POST", one+"/variables", url.Values{"key": {"L"}, "value": {"v"}}).WantStatus(t, 404)
	at := w.at("/triggers/%d", trigger)
	boss.Do(t, "GET", at, nil).Want(t, 404, `{"message":"404 Trigger Not Found"}`)
	boss.Do(t, "PUT", at, url.Values{"description": {"x"}}).Want(t, 404, `{"message":"404 Trigger Not Found"}`)
	boss.Do(t, "DELETE", at, nil).Want(t, 404, `{"message":"404 Trigger Not Found"}`)
	w.Do(t, "POST", w.at("/trigger/pipeline"), map[string]any{"token": token, "ref": "main"}).Want(t, 404, `{"message":"404 Not Found"}`)
	w.project = home
	boss.Do(t, "GET", w.at("/pipeline_schedules/%d", id), nil).WantStatus(t, 200)
	boss.Do(t, "GET", w.at("/triggers/%d", trigger), nil).WantStatus(t, 200)
}

// The pipelines of a schedule run as its owner: nobody else says what they are given.
func TestAScheduleIsChangedByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.withVariable(t)
	one := w.at("/pipeline_schedules/%d", id)
	for _, role := range []access.Role{access.Developer, access.Owner} {
		other := w.as(t, role)
		other.Do(t, "PUT", one, url.Values{"description": {"x"}}).WantStatus(t, 403)
		other.Do(t, "POST", one+"/variables", url.Values{"key": {"L"}, "value": {"v"}}).WantStatus(t, 403)
		other.Do(t, "PUT", one+"/variables/K", url.Values{"value": {"v"}}).WantStatus(t, 403)
		other.Do(t, "DELETE", one+"/variables/K", nil).WantStatus(t, 403)
	}
	developer := w.as(t, access.Developer)
	developer.Do(t, "POST", one+"/take_ownership", nil).WantStatus(t, 403)
	developer.Do(t, "DELETE", one, nil).WantStatus(t, 403)
	if r := w.as(t, access.Maintainer).Do(t, "GET", one, nil).WantStatus(t, 200); !strings.Contains(r.Body, "canary") {
		t.Errorf("the variable is gone: %s", r.Body)
	}
	w.as(t, access.Owner).Do(t, "DELETE", one, nil).WantStatus(t, 204) // maintainers may
	own := w.at("/pipeline_schedules/%d", w.schedule(t, access.Developer))
	developer.Do(t, "DELETE", own, nil).WantStatus(t, 204)
}

// Who may not update a protected branch runs nothing on it.
func TestSchedulesOnAProtectedBranchAreForThoseWhoMayUpdateIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	of := w.at("/pipeline_schedules/%d", w.schedule(t, access.Maintainer))
	side := url.Values{"description": {"d"}, "ref": {"side"}, "cron": {"0 1 * * *"}}
	developer := w.as(t, access.Developer)
	own := w.at("/pipeline_schedules/%d", httpapitest.JSON[struct{ ID int64 }](t,
		developer.Do(t, "POST", w.at("/pipeline_schedules"), side).WantStatus(t, 201)).ID)
	w.exec(t, `with r as (insert into protected_branches (project_id, name, created_at, updated_at) values ($1, 'main', now(), now()) returning id)
		insert into protection_grants (protected_branch_id, act, access_level) select id, a, 40 from r, unnest(array['push', 'merge']) a`, w.project.ID)
	developer.Do(t, "POST", w.at("/pipeline_schedules"), nightly).WantStatus(t, 403)
	developer.Do(t, "PUT", own, url.Values{"ref": {"main"}}).WantStatus(t, 403)
	developer.Do(t, "POST", of+"/play", nil).WantStatus(t, 403)
	if got := w.runs(t); len(got) != 0 {
		t.Errorf("runs are asked for as %v", got)
	}
	w.as(t, access.Maintainer).Do(t, "POST", of+"/play", nil).WantStatus(t, 201)
}

func TestAScheduleIsPlayedAsWhoeverAsks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.schedule(t, access.Maintainer)
	w.as(t, access.Developer).Do(t, "POST", w.at("/pipeline_schedules/%d/play", id), nil).Want(t, 201, `{"message":"201 Created"}`)
	if got := w.runs(t); !slices.Equal(got, []int64{w.people[access.Developer].ID}) {
		t.Errorf("it runs as %v", got)
	}
}

func TestAScheduleThatIsSwitchedOffDoesNotRun(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.schedule(t, access.Developer)
	w.as(t, access.Developer).Do(t, "PUT", w.at("/pipeline_schedules/%d", id), url.Values{"active": {"false"}}).WantStatus(t, 200)
	w.now = w.now.Add(48 * time.Hour)
	if err := w.schedules.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.runs(t); len(got) != 0 {
		t.Errorf("it runs as %v", got)
	}
	// Nor do those that are switched off take the place of one that is not.
	w.exec(t, `insert into pipeline_schedules (project_id, owner_id, description, ref, cron, cron_timezone, active, next_run_at, created_at, updated_at)
		select $1, $2, 'x', 'main', '* * * * *', 'UTC', n = 100, $3::timestamptz + n * interval '1 second', $3, $3
		from generate_series(1, 100) n`, w.project.ID, w.people[access.Developer].ID, w.now.Add(-time.Hour))
	if err := w.schedules.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.runs(t); len(got) != 1 {
		t.Errorf("of one that is on, %d runs are asked for", len(got))
	}
}

// Nobody waits for the answer, and nothing gets better by asking again.
func TestARunThatIsRefusedIsOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.schedule(t, access.Developer)
	w.exec(t, `update pipeline_schedules set ref = 'refs/heads/nowhere' where id = $1`, id)
	for _, who := range []int64{w.people[access.Developer].ID, w.people[access.Guest].ID, 987654} {
		if err := w.schedules.Run(t.Context(), schedule.RunArgs{ScheduleID: id, UserID: who}); err != nil {
			t.Errorf("as %d: %v", who, err)
		}
	}
	if err := w.schedules.Run(t.Context(), schedule.RunArgs{ScheduleID: id + 1, UserID: w.people[access.Developer].ID}); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}

// Of many who ask for the last place at once one has it.
func TestAProjectHasTenSchedulesAndNoMore(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 9 {
		w.schedule(t, access.Developer)
	}
	const full = `{"message":{"base":["Maximum number of pipeline schedules (10) exceeded"]}}`
	for round := range 5 {
		var made atomic.Int64
		var all sync.WaitGroup
		for range 6 {
			by := w.as(t, access.Developer)
			all.Go(func() {
				switch r := by.Do(t, "POST", w.at("/pipeline_schedules"), nightly); {
				case r.Status == 201:
					made.Add(1)
				case r.Body != full:
					t.Errorf("%d %s", r.Status, r.Body)
				}
			})
		}
		if all.Wait(); made.Load() != 1 {
			t.Fatalf("round %d: %d had the last place", round, made.Load())
		}
		w.exec(t, `delete from pipeline_schedules where id = (select max(id) from pipeline_schedules)`)
	}
}

func TestAScheduleFollowsNoClockOfTheMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, zone := range []string{"Local", "Nowhere/Else", "../etc/passwd"} {
		form := url.Values{"description": {"d"}, "ref": {"main"}, "cron": {"0 1 * * *"}, "cron_timezone": {zone}}
		w.as(t, access.Developer).Do(t, "POST", w.at("/pipeline_schedules"), form).
			Want(t, 400, `{"message":{"cron_timezone":[" is invalid syntax"]}}`)
	}
}

func TestATriggerTokenIsDescribedByItsOwnerAndShowsWhenItWasUsed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id, token := w.trigger(t, access.Maintainer)
	one, boss := w.at("/triggers/%d", id), w.as(t, access.Maintainer)
	w.as(t, access.Owner).Do(t, "PUT", one, url.Values{"description": {"x"}}).WantStatus(t, 403)
	boss.Do(t, "PUT", one, url.Values{"description": {"y"}}).WantStatus(t, 200)
	if r := boss.Do(t, "GET", one, nil).WantStatus(t, 200); !strings.Contains(r.Body, `"last_used":null`) || !strings.Contains(r.Body, `"description":"y"`) {
		t.Error(r.Body)
	}
	w.Do(t, "POST", w.at("/trigger/pipeline"), map[string]any{"token": token, "ref": "main"}).WantStatus(t, 201)
	if r := boss.Do(t, "GET", one, nil).WantStatus(t, 200); !strings.Contains(r.Body, fmt.Sprintf(`"last_used":"%s"`, w.now.Format("2006-01-02T15:04:05.000Z"))) {
		t.Error(r.Body)
	}
	boss.Do(t, "DELETE", one, nil).WantStatus(t, 204)
	boss.Do(t, "DELETE", one, nil).Want(t, 404, `{"message":"404 Trigger Not Found"}`)
	w.Do(t, "POST", w.at("/trigger/pipeline"), map[string]any{"token": token, "ref": "main"}).WantStatus(t, 404)
}
