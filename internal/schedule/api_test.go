package schedule_test

import (
	"net/url"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/schedule"
)

type pipelineForm struct {
	Source string
	User   struct{ ID int64 } `json:"user"`
}

func TestATriggerTokenStartsAPipelineAsItsOwner(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.as(t, access.Developer).Do(t, "POST", w.at("/triggers"), url.Values{"description": {"d"}}).WantStatus(t, 403)
	r := w.as(t, access.Maintainer).Do(t, "POST", w.at("/triggers"), url.Values{"description": {"d"}}).WantStatus(t, 201)
	token := httpapitest.JSON[struct {
		ID    int64
		Token string
	}](t, r)
	if !strings.HasPrefix(token.Token, "svcptt-") {
		t.Error(token)
	}
	if list := w.as(t, access.Maintainer).Do(t, "GET", w.at("/triggers"), nil).WantStatus(t, 200); strings.Contains(list.Body, token.Token) {
		t.Error("a token is shown a second time")
	}
	pull := func(token, ref string, status int) *httpapitest.Reply {
		t.Helper()
		body := map[string]any{"token": token, "ref": ref, "variables": map[string]string{"K": "v"}}
		return w.Do(t, "POST", w.at("/trigger/pipeline"), body).WantStatus(t, status)
	}
	pull("svcptt-nothing", "main", 404)
	pull(token.Token, "nowhere", 400)
	pl := httpapitest.JSON[pipelineForm](t, pull(token.Token, "main", 201))
	if pl.Source != "trigger" || pl.User.ID != w.people[access.Maintainer].ID {
		t.Errorf("%+v", pl)
	}
	list := map[string]any{"token": token.Token, "ref": "main", "variables": map[string]any{"K": []int{1}}}
	w.Do(t, "POST", w.at("/trigger/pipeline"), list).
		Want(t, 400, `{"message":"variables needs to be a map of key-valued strings"}`)
	w.exec(t, `delete from members where user_id = $1`, w.people[access.Maintainer].ID)
	if r := w.Do(t, "POST", w.at("/trigger/pipeline"), map[string]any{"token": token.Token, "ref": "main"}); r.Status < 400 {
		t.Error("the token of somebody who left starts pipelines")
	}
}

func TestASchedulePassesItsTimeOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	form := url.Values{"description": {"nightly"}, "ref": {"main"}, "cron": {"30 16 * * *"}, "cron_timezone": {"UTC"}}
	r := w.as(t, access.Developer).Do(t, "POST", w.at("/pipeline_schedules"), form).WantStatus(t, 201)
	if !strings.Contains(r.Body, `"next_run_at":"2024-05-02T16:30:00.000Z"`) {
		t.Error(r.Body)
	}
	form.Set("cron", "every day")
	w.as(t, access.Developer).Do(t, "POST", w.at("/pipeline_schedules"), form).Want(t, 400, `{"message":{"cron":[" is invalid syntax"]}}`)
	tick := func(want int) {
		t.Helper()
		if err := w.schedules.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		n, err := postgres.Value[int](t.Context(), w.db, `select count(*) from river_job where kind = 'pipeline_schedule'`)
		if err != nil || n != want {
			t.Errorf("%d runs asked for, want %d: %v", n, want, err)
		}
	}
	tick(0)
	w.now = w.now.Add(2 * 60 * 60 * 1e9)
	tick(1)
	tick(1)
	args, err := postgres.Value[schedule.RunArgs](t.Context(), w.db, `select args from river_job where kind = 'pipeline_schedule'`)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.schedules.Run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	r = w.as(t, access.Developer).Do(t, "GET", w.at("/pipelines/latest"), nil).WantStatus(t, 200)
	if pl := httpapitest.JSON[pipelineForm](t, r); pl.Source != "schedule" || pl.User.ID != w.people[access.Developer].ID {
		t.Errorf("%+v", pl)
	}
}
