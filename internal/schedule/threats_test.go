package schedule_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/pipeline"
	"stithy/internal/platform/postgres"
	"stithy/internal/schedule"
)

// withVariable is a schedule of the maintainer that gives its pipelines a variable.
func (w *fixture) withVariable(t testing.TB) (id int64) {
	t.Helper()
	by := w.as(t, access.Maintainer)
	form := url.Values{"description": {"d"}, "ref": {"main"}, "cron": {"0 1 * * *"}}
	id = httpapitest.JSON[struct{ ID int64 }](t, by.Do(t, "POST", w.at("/pipeline_schedules"), form).WantStatus(t, 201)).ID
	by.Do(t, "POST", w.at("/pipeline_schedules/%d/variables", id), url.Values{"key": {"K"}, "value": {"canary"}}).WantStatus(t, 201)
	return id
}

// The reference gives a schedule's variables to its owner and maintainers alone.
func TestCI04_VariablesOfAScheduleAreForMaintainersAndItsOwner(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.withVariable(t)
	for role, sees := range map[access.Role]bool{access.Guest: false, access.Developer: false, access.Maintainer: true} {
		r := w.as(t, role).Do(t, "GET", w.at("/pipeline_schedules/%d", id), nil).WantStatus(t, 200)
		if strings.Contains(r.Body, "canary") != sees {
			t.Errorf("for %d: %s", role, r.Body)
		}
	}
	w.as(t, access.Developer).Do(t, "PUT", w.at("/pipeline_schedules/%d", id), url.Values{"ref": {"other"}}).WantStatus(t, 403)
}

// Developers may play the schedules of others, on refs that they may update. What
// the owner gave to it is not shown to them for that.
func TestCI04_WhoPlaysAScheduleIsNotShownItsVariables(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.withVariable(t)
	who := w.people[access.Developer].ID
	if err := w.schedules.Run(t.Context(), schedule.RunArgs{ScheduleID: id, UserID: who}); err != nil {
		t.Fatal(err)
	}
	pl, err := w.pipelines.Latest(t.Context(), w.project, "main")
	if err != nil || pl.UserID == nil || *pl.UserID != who || pl.Source != pipeline.FromSchedule {
		t.Fatalf("%+v, %v", pl, err)
	}
	path := w.at("/pipelines/%d/variables", pl.ID)
	w.as(t, access.Developer).Do(t, "GET", path, nil).WantStatus(t, 403)
	w.as(t, access.Maintainer).Do(t, "GET", path, nil).WantStatus(t, 200)
	w.exec(t, `update pipeline_schedules set owner_id = $1`, who)
	w.as(t, access.Developer).Do(t, "GET", path, nil).WantStatus(t, 200)
	w.exec(t, `delete from pipeline_schedules`)
	w.as(t, access.Developer).Do(t, "GET", path, nil).WantStatus(t, 403)
}

// All variables of a schedule are copied into each of its pipelines and shown in one answer.
func TestDO02_TheVariablesOfAScheduleHaveABound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.withVariable(t)
	by, path := w.as(t, access.Maintainer), w.at("/pipeline_schedules/%d/variables", id)
	set := func(method, path, key string, size, status int) {
		t.Helper()
		if r := by.Do(t, method, path, url.Values{"key": {key}, "value": {strings.Repeat("x", size)}}); r.Status != status {
			t.Errorf("%s %s with %d bytes: %d %.200s", method, key, size, r.Status, r.Body)
		}
	}
	for n := range 15 {
		set("POST", path, fmt.Sprintf("LARGE_%d", n), 65_000, 201)
	}
	set("POST", path, "SMALL", 10_000, 201)
	set("POST", path, "MIDDLE", 60_000, 201)
	set("POST", path, "ONE_MORE", 65_000, 400)
	set("PUT", path+"/SMALL", "SMALL", 65_000, 400)
	set("PUT", path+"/LARGE_1", "LARGE_1", 1_000, 200)
	set("PUT", path+"/SMALL", "SMALL", 65_000, 200)
	w.exec(t, `insert into pipeline_schedule_variables (schedule_id, key, value, file, raw)
		select $1, 'N' || n, '', false, false from generate_series(1, 982) n`, id)
	set("POST", path, "THE_1001ST", 1, 400)
	set("PUT", path+"/SMALL", "SMALL", 1, 200)
	w.as(t, access.Maintainer).Do(t, "DELETE", path+"/SMALL", nil).WantStatus(t, 202)
	set("POST", path, "THE_1000TH", 1, 201)
}

// Whoever has a thousand schedules for one minute does not hold up the schedules and pushes of others.
func TestDO12_OneOwnerStartsFewSchedulesAtATime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	many, one := w.people[access.Developer].ID, w.people[access.Maintainer].ID
	w.exec(t, `insert into pipeline_schedules (project_id, owner_id, description, ref, cron, cron_timezone, active, next_run_at, created_at, updated_at)
		select $1, case when n = 100 then $3::bigint else $2::bigint end, 'x', 'main', '* * * * *', 'UTC', true, $4::timestamptz + n * interval '1 second', $4, $4
		from generate_series(1, 100) n`, w.project.ID, many, one, w.now)
	w.now = w.now.Add(time.Hour)
	for look, want := range []map[int64]int{{many: 20, one: 1}, {many: 40, one: 1}} {
		if err := w.schedules.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		for owner, want := range want {
			n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from river_job where kind = 'pipeline_schedule' and (args->>'user_id')::bigint = $1`, owner)
			if err != nil || n != want {
				t.Errorf("look %d: %d runs for %d, want %d: %v", look, n, owner, want, err)
			}
		}
	}
}
