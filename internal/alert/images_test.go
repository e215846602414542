package alert_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"stithy/internal/alert"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/user"
)

const png = "\x89PNG\r\n\x1a\n the rest"

type picture struct {
	ID       int64
	Filename string
	FilePath string `json:"file_path"`
	URL      *string
	URLText  *string `json:"url_text"`
}

// stored is how many blobs of pictures there are.
func (w *fixture) stored(t testing.TB) int {
	t.Helper()
	all, err := w.Blobs.List(t.Context(), "alerts/", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// pictured is a fixture with an alert.
func pictured(t testing.TB) (w *fixture, path string) {
	t.Helper()
	w = newFixture(t)
	w.want(t, w.integration(t, "http"), `{"title":"a","fingerprint":"f"}`, 200, `[{"iid":1,"title":"a"}]`)
	return w, w.at(alerts + "/1/metric_images")
}

func (w *fixture) upload(t testing.TB, as *user.User, path, name, content string) *httpapitest.Reply {
	t.Helper()
	return w.As(t, as).Upload(t, "POST", path, "file", name, []byte(content))
}

func TestPicturesAreAddedToAnAlertChangedAndTakenAway(t *testing.T) {
	t.Parallel()
	w, path := pictured(t)
	p := httpapitest.JSON[picture](t, w.upload(t, w.developer, path, "../a b.png", png).WantStatus(t, http.StatusCreated))
	if p.Filename != "a_b.png" || p.FilePath != fmt.Sprintf("/ops/site/-/alert_management/1/metric_images/%d/a_b.png", p.ID) || p.URL != nil || p.URLText != nil {
		t.Errorf("got %+v", p)
	}
	as, one := w.As(t, w.developer), fmt.Sprintf("%s/%d", path, p.ID)
	changed := httpapitest.JSON[picture](t, as.Do(t, "PUT", one, map[string]any{"url": "https://graphs.example/1", "url_text": "CPU"}).WantStatus(t, http.StatusOK))
	if changed.URL == nil || *changed.URL != "https://graphs.example/1" || *changed.URLText != "CPU" {
		t.Errorf("got %+v", changed)
	}
	changed = httpapitest.JSON[picture](t, as.Do(t, "PUT", one, map[string]any{"url_text": "load"}).WantStatus(t, http.StatusOK))
	if *changed.URL != "https://graphs.example/1" || *changed.URLText != "load" {
		t.Errorf("got %+v", changed)
	}
	for _, bad := range []map[string]any{{"url": "javascript:x()"}, {"url": "https://x/" + strings.Repeat("a", 255)}, {"url_text": strings.Repeat("a", 129)}, {"url": "/here"}} {
		as.Do(t, "PUT", one, bad).Want(t, http.StatusUnprocessableEntity, `{"message":"Metric image could not be updated"}`)
	}
	if list := httpapitest.JSON[[]picture](t, as.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)); len(list) != 1 || *list[0].URLText != "load" {
		t.Errorf("got %+v", list)
	}
	as.Do(t, "GET", w.at(alerts+"/9/metric_images"), nil).Want(t, http.StatusNotFound, `{"message":"Alert not found"}`)
	as.Do(t, "PUT", path+"/99", nil).Want(t, http.StatusNotFound, `{"message":"Metric image not found"}`)
	as.Do(t, "POST", path+"/authorize", nil).Want(t, http.StatusOK, `{"MaximumSize":1048576}`)
	as.Do(t, "DELETE", one, nil).WantStatus(t, http.StatusNoContent)
	as.Do(t, "DELETE", one, nil).Want(t, http.StatusNotFound, `{"message":"Metric image not found"}`)
	as.Do(t, "GET", path, nil).Want(t, http.StatusOK, `[]`)
	if err := w.Alerts.Sweep(t.Context()); err != nil || w.stored(t) != 0 || count(t, w, `select count(*) from alert_metric_images`) != 0 {
		t.Errorf("%d blobs are left, %v", w.stored(t), err)
	}
}

func TestTheSourceOfAPictureComesWithIt(t *testing.T) {
	t.Parallel()
	w, path := pictured(t)
	send := func(address string) *httpapitest.Reply {
		return w.As(t, w.developer).Upload(t, "POST", path+"?url_text=CPU&url="+url.QueryEscape(address), "file", "x.gif", []byte("GIF89a..."))
	}
	if p := httpapitest.JSON[picture](t, send("http://graphs.example").WantStatus(t, http.StatusCreated)); *p.URL != "http://graphs.example" || *p.URLText != "CPU" {
		t.Errorf("got %+v", p)
	}
	send("javascript:x()").WantStatus(t, http.StatusBadRequest)
}

// IN-01: a picture is what it holds, whatever it is called; nothing that acts is one.
func TestIN01_WhatActsIsNoPictureOfAnAlert(t *testing.T) {
	t.Parallel()
	w, path := pictured(t)
	for name, content := range map[string]string{
		"a.png": "<svg xmlns='http://www.w3.org/2000/svg'><script>x()</script></svg>", "b.png": "<html><script>x()</script>", "c.svg": "<?xml version='1.0'?><svg/>",
		"d.gif": "", "e.jpg": "text", "f.png": "%PDF-1.4",
	} {
		w.upload(t, w.developer, path, name, content).WantStatus(t, http.StatusBadRequest)
	}
	w.upload(t, w.developer, path, "x.html", png).WantStatus(t, http.StatusCreated)
	image, err := w.Alerts.Image(t.Context(), &alert.Alert{ID: 1}, 1)
	if err != nil || image.Media != "image/png" {
		t.Errorf("%+v, %v", image, err)
	}
	if n := w.stored(t); n != 1 {
		t.Errorf("%d blobs", n)
	}
}

// DO-11: pictures are bounded in size and number.
func TestDO11_PicturesOfAnAlertAreBounded(t *testing.T) {
	t.Parallel()
	w, path := pictured(t)
	w.upload(t, w.developer, path, "a.png", png+strings.Repeat("x", 1<<20-len(png))).WantStatus(t, http.StatusCreated)
	w.upload(t, w.developer, path, "a.png", png+strings.Repeat("x", 1<<20-len(png)+1)).Want(t, http.StatusBadRequest, `{"message":"400 Bad request - File is too large"}`)
	if _, err := w.DB.Exec(t.Context(), `insert into alert_metric_images (alert_id, state, filename, media, blob_key, size, url, url_text, created_at, updated_at)
		select 1, 'stored', 'x', 'image/png', 'alerts/none/' || n, 1, '', '', now(), now() from generate_series(1, 99) n`); err != nil {
		t.Fatal(err)
	}
	w.upload(t, w.developer, path, "a.png", png).WantStatus(t, http.StatusBadRequest)
}

func TestWhoSeesAndAddsPicturesOfAlerts(t *testing.T) {
	t.Parallel()
	w, path := pictured(t)
	for who, want := range map[*user.User][2]int{w.maintainer: {200, 201}, w.developer: {200, 201}, w.reporter: {403, 403}, w.stranger: {404, 404}} {
		as := w.As(t, who)
		as.Do(t, "GET", path, nil).WantStatus(t, want[0])
		w.upload(t, who, path, "a.png", png).WantStatus(t, want[1])
		if want[1] != 201 {
			as.Do(t, "PUT", path+"/1", map[string]any{"url_text": "x"}).WantStatus(t, want[1])
			as.Do(t, "DELETE", path+"/1", nil).WantStatus(t, want[1])
			as.Do(t, "POST", path+"/authorize", nil).WantStatus(t, want[1])
		}
	}
}

// PE-01: a picture is found at its own alert alone.
func TestPE01_APictureIsFoundAtItsOwnAlertAlone(t *testing.T) {
	t.Parallel()
	w, path := pictured(t)
	w.upload(t, w.developer, path, "a.png", png).WantStatus(t, http.StatusCreated)
	w.want(t, w.integration(t, "http"), `{"title":"b","fingerprint":"g"}`, 200, `[{"iid":2,"title":"b"}]`)
	as, other := w.As(t, w.developer), w.at(alerts+"/2/metric_images")
	as.Do(t, "GET", other, nil).Want(t, http.StatusOK, `[]`)
	as.Do(t, "PUT", other+"/1", map[string]any{"url_text": "x"}).WantStatus(t, http.StatusNotFound)
	as.Do(t, "DELETE", other+"/1", nil).WantStatus(t, http.StatusNotFound)
}

// DL-05: what a picture left goes with its alert, or when it did not come to an end, and no other.
func TestDL05_PicturesGoWithTheirAlert(t *testing.T) {
	t.Parallel()
	w, path := pictured(t)
	for _, name := range []string{"kept.png", "lost.png", "orphan.png"} {
		w.upload(t, w.developer, path, name, png).WantStatus(t, http.StatusCreated)
	}
	for _, sql := range []string{
		`update alert_metric_images set state = 'storing' where filename = 'lost.png'`, `update alert_metric_images set alert_id = null where filename = 'orphan.png'`,
	} {
		if _, err := w.DB.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		turn  time.Duration
		blobs int
	}{{0, 2}, {25 * time.Hour, 1}} {
		w.Turn(c.turn)
		if err := w.Alerts.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := w.stored(t); n != c.blobs {
			t.Errorf("%d blobs are left, not %d", n, c.blobs)
		}
	}
	if _, err := w.DB.Exec(t.Context(), `delete from projects where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Alerts.Sweep(t.Context()); err != nil || w.stored(t) != 0 {
		t.Errorf("%d blobs are left, %v", w.stored(t), err)
	}
}

func TestSomebodyWhoGetsAnAlertFindsItOnTheirList(t *testing.T) {
	t.Parallel()
	w, _ := pictured(t)
	one := w.at(alerts + "/1")
	give := func(to ...*user.User) {
		t.Helper()
		ids := []int64{}
		for _, u := range to {
			ids = append(ids, u.ID)
		}
		w.As(t, w.developer).Do(t, "PUT", one, map[string]any{"assignee_ids": ids}).WantStatus(t, http.StatusOK)
	}
	type asked struct {
		ID         int64
		ActionName string `json:"action_name"`
		TargetType string `json:"target_type"`
		Target     struct {
			IID   int
			Title string
		}
		TargetURL string `json:"target_url"`
		Body      string
		Author    struct{ Username string }
	}
	list := func(who *user.User, query string) []asked {
		t.Helper()
		return httpapitest.JSON[[]asked](t, w.As(t, who).Do(t, "GET", "/todos"+query, nil).WantStatus(t, http.StatusOK))
	}
	wantAsked := func(what string, who *user.User, want int) {
		t.Helper()
		got := list(who, "")
		pending, err := w.Todos.Pending(t.Context(), access.Actor{Person: who.Person()})
		if len(got) != want || pending != want || err != nil {
			t.Errorf("%s: %+v, %d, %v", what, got, pending, err)
		}
	}
	give(w.maintainer, w.developer)
	give(w.maintainer, w.developer)
	wantAsked("given by oneself", w.developer, 0)
	wantAsked("given", w.maintainer, 1)
	got := list(w.maintainer, "?type=AlertManagement::Alert")
	if len(got) != 1 || got[0].ActionName != "assigned" || got[0].TargetType != "AlertManagement::Alert" || got[0].Target.IID != 1 || got[0].Target.Title != "a" ||
		got[0].TargetURL != "https://forge.example/ops/site/-/alert_management/1/details" || got[0].Body != "a" || got[0].Author.Username != "developer" {
		t.Errorf("got %+v", got)
	}
	if got := list(w.maintainer, "?type=Issue"); len(got) != 0 {
		t.Errorf("an issue: %+v", got)
	}
	give(w.developer)
	wantAsked("taken away", w.maintainer, 0)
	give(w.maintainer)
	wantAsked("given again", w.maintainer, 1)
	w.As(t, w.maintainer).Do(t, "PUT", one, map[string]any{"status": "acknowledged"}).WantStatus(t, http.StatusOK)
	wantAsked("acted on", w.maintainer, 0)
	give()
	give(w.maintainer)
	w.As(t, w.developer).Do(t, "PUT", one, map[string]any{"status": "resolved"}).WantStatus(t, http.StatusOK)
	wantAsked("over", w.maintainer, 0)
	w.As(t, w.developer).Do(t, "PUT", one, map[string]any{"status": "triggered"}).WantStatus(t, http.StatusOK)
	give()
	give(w.maintainer)
	w.want(t, w.integration(t, "http"), `{"title":"a","fingerprint":"f","end_time":"2024-05-01"}`, 200, `[{"iid":1,"title":"a"}]`)
	wantAsked("over, says the sender", w.maintainer, 0)
	w.As(t, w.developer).Do(t, "PUT", one, map[string]any{"status": "triggered"}).WantStatus(t, http.StatusOK)
	give()
	give(w.maintainer)
	wantAsked("still a maintainer", w.maintainer, 1)
	if _, err := w.DB.Exec(t.Context(), `update members set access_level = 20 where user_id = $1`, w.maintainer.ID); err != nil {
		t.Fatal(err)
	}
	wantAsked("no developer any more", w.maintainer, 0)
}

// A time that is within the years that can be written, but not in UTC, is none: it would not be found again where a list goes on.
func TestAlertsOfOddYearsDoNotBreakLists(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	odd := []string{"9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "0001-01-01T00:00:00Z", "99999-01-01"}
	for i, at := range odd {
		w.want(t, in, fmt.Sprintf(`{"title":"a","start_time":"%[2]s","fingerprint":"%[1]d"}`, i, at), 200, fmt.Sprintf(`[{"iid":%d,"title":"a"}]`, i+1))
		w.want(t, in, fmt.Sprintf(`{"title":"a","end_time":"%[2]s","fingerprint":"%[1]d"}`, 0, "2024-01-01"), map[bool]int{true: 200, false: 400}[i == 0],
			map[bool]string{true: `[{"iid":1,"title":"a"}]`, false: ""}[i == 0])
	}
	as := w.As(t, w.developer)
	for _, sort := range []string{"asc", "desc"} {
		next, seen := w.at(alerts+"?pagination=keyset&per_page=1&order_by=started_at&sort="+sort), 0
		for next != "" && seen < 10 {
			r := as.Do(t, "GET", next, nil).WantStatus(t, http.StatusOK)
			seen += len(httpapitest.JSON[[]known](t, r))
			next = ""
			if _, rest, ok := strings.Cut(r.Header.Get("Link"), "<https://forge.example/api/v4"); ok {
				next, _, _ = strings.Cut(rest, ">; rel=\"next\"")
			}
		}
		if seen != len(odd) {
			t.Errorf("%s: %d of %d alerts", sort, seen, len(odd))
		}
	}
}
