package alert_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a private project with people of the roles that matter, and the whole server.
type fixture struct {
	*apptest.Instance
	server                                    *httptest.Server
	project                                   *project.Project
	maintainer, developer, reporter, stranger *user.User
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.server = httptest.NewServer(w.App.Handler())
	t.Cleanup(w.server.Close)
	for name, into := range map[string]**user.User{"maintainer": &w.maintainer, "developer": &w.developer, "reporter": &w.reporter, "stranger": &w.stranger} {
		*into = usertest.New(t, w.DB, usertest.Named(name))
	}
	g := grouptest.New(t, w.DB, grouptest.Named("ops"))
	w.project = projecttest.New(t, w.DB, g.ID, projecttest.Named("site"))
	grouptest.Join(t, w.DB, g, w.maintainer, access.Maintainer)
	grouptest.Join(t, w.DB, g, w.developer, access.Developer)
	grouptest.Join(t, w.DB, g, w.reporter, access.Reporter)
	return w
}

func (w *fixture) at(rest string) string { return fmt.Sprintf("/projects/%d%s", w.project.ID, rest) }

const integrations, alerts = "/alert_management_integrations", "/alert_management_alerts"

// integration is one as the API shows it.
type integration struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Active bool   `json:"active"`
	URL    string `json:"url"`
	Token  string `json:"token"`
}

func (w *fixture) integration(t testing.TB, kind string, more ...any) integration {
	t.Helper()
	body := map[string]any{"name": "From the " + kind + " side", "type": kind}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return httpapitest.JSON[integration](t, w.As(t, w.maintainer).Do(t, "POST", w.at(integrations), body).WantStatus(t, http.StatusCreated))
}

// send posts a payload to an integration's address on this server.
func (w *fixture) send(t testing.TB, in integration, body string) (status int, answer string) {
	t.Helper()
	return w.post(t, strings.TrimPrefix(in.URL, "https://forge.example"), "Bearer "+in.Token, strings.NewReader(body))
}

func (w *fixture) post(t testing.TB, path, authorization string, body io.Reader) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, w.server.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := w.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// want fails where a payload is not answered in this way.
func (w *fixture) want(t testing.TB, in integration, body string, status int, answer string) {
	t.Helper()
	if gotStatus, got := w.send(t, in, body); gotStatus != status || got != answer {
		t.Errorf("%s: %d %s", body, gotStatus, got)
	}
}

// known is an alert as the API shows it.
type known struct {
	IID       int                         `json:"iid"`
	Title     string                      `json:"title"`
	Status    string                      `json:"status"`
	Severity  string                      `json:"severity"`
	Events    int                         `json:"events"`
	EndedAt   *string                     `json:"ended_at"`
	Assignees []struct{ Username string } `json:"assignees"`
	Payload   map[string]any              `json:"payload"`
	Incident  *struct{ IID int }          `json:"incident"`
	Changes   []struct {
		From, To string
		User     *struct{ Username string }
	} `json:"changes"`
}

func (w *fixture) alert(t testing.TB, iid int) known {
	t.Helper()
	return httpapitest.JSON[known](t, w.As(t, w.developer).Do(t, "GET", w.at(fmt.Sprintf("%s/%d", alerts, iid)), nil).WantStatus(t, http.StatusOK))
}

func TestAnAlertIsSentRepeatedAndResolved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{"title":"Disk","fingerprint":"f","severity":"low","extra":{"a":[1]}}`, 200, `[{"iid":1,"title":"Disk"}]`)
	w.want(t, in, `{"title":"Disk again","fingerprint":"f"}`, 200, `[{"iid":1,"title":"Disk"}]`)
	if a := w.alert(t, 1); a.Events != 2 || a.Status != "triggered" || a.Severity != "low" || a.Payload["extra"] == nil || a.EndedAt != nil {
		t.Errorf("got %+v", a)
	}
	w.want(t, in, `{"title":"Disk","fingerprint":"f","end_time":"2024-05-01T00:00:00Z"}`, 200, `[{"iid":1,"title":"Disk"}]`)
	a := w.alert(t, 1)
	if a.Status != "resolved" || a.EndedAt == nil || len(a.Changes) != 1 || a.Changes[0].User != nil || a.Changes[0].To != "resolved" {
		t.Errorf("got %+v", a)
	}
	w.want(t, in, `{"title":"Disk","fingerprint":"f","end_time":"2024-05-01T00:00:00Z"}`, 400, "")
	w.want(t, in, `{"title":"Disk","fingerprint":"f"}`, 200, `[{"iid":2,"title":"Disk"}]`)
}

func TestKeysAreTakenAsBearerAndBasicAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in, other := w.integration(t, "http"), w.integration(t, "http")
	path := strings.TrimPrefix(in.URL, "https://forge.example")
	basic := func(user, password string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	for header, status := range map[string]int{
		"Bearer " + in.Token: 200, "bearer " + in.Token: 200, basic("", in.Token): 200, basic("anyone", in.Token): 200,
		"": 401, "Bearer ": 401, "Bearer wrong": 401, basic("", ""): 401, basic(in.Token, ""): 401, "Bearer " + other.Token: 401, "Token " + in.Token: 401,
	} {
		got, answer := w.post(t, path, header, strings.NewReader(`{}`))
		if got != status || (status != 200 && answer != "") {
			t.Errorf("%q: %d %q", header, got, answer)
		}
	}
}

func TestNobodyLearnsWhichProjectsTakeAlerts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	inactive := w.integration(t, "http", "active", false)
	slug := "/alerts/notify/x/"
	for path, status := range map[string]int{
		"/ops/site" + slug + strings.Repeat("0", 16) + ".json":    403,
		"/ops/none" + slug + strings.Repeat("0", 16) + ".json":    403,
		"/none/at/all" + slug + "abc.json":                        403,
		strings.TrimPrefix(inactive.URL, "https://forge.example"): 403,
		"/ops/none/alerts/notify.json":                            401,
		"/ops/site/prometheus/alerts/notify.json":                 401,
		"/ops/none/prometheus/alerts/notify.json":                 401,
	} {
		if got, answer := w.post(t, path, "Bearer "+in.Token, strings.NewReader(`{}`)); got != status || answer != "" {
			t.Errorf("%s: %d %q", path, got, answer)
		}
	}
}

func TestTheOldAddressesAreThoseOfTheFirstIntegrationOfAKind(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first, second, prometheus := w.integration(t, "http"), w.integration(t, "http"), w.integration(t, "prometheus")
	for _, c := range []struct {
		path, key string
		status    int
	}{
		{"/ops/site/alerts/notify.json", first.Token, 200},
		{"/ops/site/alerts/notify.json", second.Token, 401},
		{"/ops/site/prometheus/alerts/notify.json", prometheus.Token, 200},
		{"/ops/site/prometheus/alerts/notify.json", first.Token, 401},
	} {
		if got, _ := w.post(t, c.path, "Bearer "+c.key, strings.NewReader(`{}`)); got != c.status {
			t.Errorf("%s: %d", c.path, got)
		}
	}
}

func TestIN03_AReplacedKeyAndADeletedIntegrationAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	at := w.at(fmt.Sprintf("%s/%d", integrations, in.ID))
	renewed := httpapitest.JSON[integration](t, w.As(t, w.maintainer).Do(t, "POST", at+"/reset_token", nil).WantStatus(t, http.StatusOK))
	if renewed.Token == in.Token || renewed.URL != in.URL {
		t.Errorf("got %+v", renewed)
	}
	w.want(t, in, `{}`, 401, "")
	w.want(t, renewed, `{}`, 200, `[{"iid":1,"title":"New: Alert"}]`)
	w.As(t, w.maintainer).Do(t, "DELETE", at, nil).WantStatus(t, http.StatusNoContent)
	w.want(t, renewed, `{}`, 403, "")
	if a := w.alert(t, 1); a.Title != "New: Alert" {
		t.Errorf("the alert went with its integration: %+v", a)
	}
}

func TestAProjectThatIsArchivedOrLeavingTakesNoAlerts(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"archived", "removal"} {
		w := newFixture(t)
		in := w.integration(t, "http")
		if _, err := w.DB.Exec(t.Context(), "update projects set "+column+" = true where id = $1", w.project.ID); err != nil {
			t.Fatal(err)
		}
		w.want(t, in, `{}`, 403, "")
	}
}

func TestIN07_ManySendersOfOneAlertMakeOneWithTheExactCount(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			body := `{"title":"same","fingerprint":"f"}`
			if i%3 == 0 {
				body = fmt.Sprintf(`{"title":"own %d","fingerprint":"%d"}`, i, i)
			}
			if status, answer := w.send(t, in, body); status != 200 {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	wg.Wait()
	rows, err := postgres.All[struct {
		IID    int32
		Title  string
		Events int64
	}](t.Context(), w.DB, "select iid, title, events from alerts order by iid")
	if err != nil || len(rows) != 21 {
		t.Fatalf("%d alerts, %v", len(rows), err)
	}
	for i, r := range rows {
		want := int64(1)
		if r.Title == "same" {
			want = 40
		}
		if r.IID != int32(i+1) || r.Events != want {
			t.Errorf("got %+v", r)
		}
	}
}

func TestIN02_WhatIsTooLargeOrNoJSONIsRefusedWithoutABody(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{"title":`, 400, "")
	w.want(t, in, `[]`, 400, "")
	w.want(t, in, `{"a":"`+strings.Repeat("x", 2<<20)+`"}`, 400, "")
	path := strings.TrimPrefix(in.URL, "https://forge.example")
	unsized := io.MultiReader(strings.NewReader(`{"a":"`), strings.NewReader(strings.Repeat("x", 2<<20)), strings.NewReader(`"}`))
	if status, _ := w.post(t, path, "Bearer "+in.Token, unsized); status != 400 {
		t.Errorf("without a length: %d", status)
	}
	// Half the size in one field, which is stored.
	w.want(t, in, `{"title":"big","a":"`+strings.Repeat("x", 1<<19)+`"}`, 200, `[{"iid":1,"title":"big"}]`)
}

func TestAMappingIsKeptAndUsed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http", "payload_attribute_mapping", map[string]any{"title": []string{"event", "name"}}, "payload_example", `{"event":{"name":"x"}}`)
	w.want(t, in, `{"event":{"name":"inner"}}`, 200, `[{"iid":1,"title":"inner"}]`)
	for _, bad := range []map[string]any{
		{"payload_attribute_mapping": map[string]any{"nothing": []string{"a"}}}, {"payload_attribute_mapping": map[string]any{"title": []string{}}},
		{"payload_example": "no JSON"}, {"name": " "}, {"type": "pager"},
	} {
		body := map[string]any{"name": "x", "type": "http"}
		for k, v := range bad {
			body[k] = v
		}
		w.As(t, w.maintainer).Do(t, "POST", w.at(integrations), body).WantStatus(t, http.StatusBadRequest)
	}
}

func TestWhoSeesAndChangesAlerts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{"title":"a"}`, 200, `[{"iid":1,"title":"a"}]`)
	one := w.at(alerts + "/1")
	test := w.at(fmt.Sprintf("%s/%d/test", integrations, in.ID))
	for _, c := range []struct {
		who                         *user.User
		read, change, test, secrets int
	}{
		{w.maintainer, 200, 200, 200, 200}, {w.developer, 200, 200, 200, 403}, {w.reporter, 403, 403, 403, 403}, {w.stranger, 404, 404, 404, 404},
	} {
		as := w.As(t, c.who)
		as.Do(t, "GET", one, nil).WantStatus(t, c.read)
		as.Do(t, "GET", w.at(alerts), nil).WantStatus(t, c.read)
		as.Do(t, "GET", w.at(alerts+"/status_counts"), nil).WantStatus(t, c.read)
		as.Do(t, "PUT", one, map[string]any{"status": "acknowledged"}).WantStatus(t, c.change)
		as.Do(t, "POST", test, map[string]any{"title": "test " + c.who.Username}).WantStatus(t, c.test)
		as.Do(t, "GET", w.at(integrations), nil).WantStatus(t, c.secrets)
	}
	w.Do(t, "GET", one, nil).WantStatus(t, http.StatusUnauthorized)
}

func TestPeopleChangeTheStatusAndLeaveATrace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{"title":"a","fingerprint":"f"}`, 200, `[{"iid":1,"title":"a"}]`)
	as, one := w.As(t, w.developer), w.at(alerts+"/1")
	set := func(status string) known {
		t.Helper()
		return httpapitest.JSON[known](t, as.Do(t, "PUT", one, map[string]any{"status": status}).WantStatus(t, http.StatusOK))
	}
	if a := set("acknowledged"); a.Status != "acknowledged" || a.EndedAt != nil || a.Changes[0].User.Username != "developer" {
		t.Errorf("got %+v", a)
	}
	if a := set("resolved"); a.EndedAt == nil {
		t.Errorf("got %+v", a)
	}
	if a := set("ignored"); a.EndedAt != nil || len(a.Changes) != 3 {
		t.Errorf("got %+v", a)
	}
	set("resolved")
	w.want(t, in, `{"title":"a","fingerprint":"f"}`, 200, `[{"iid":2,"title":"a"}]`)
	as.Do(t, "PUT", one, map[string]any{"status": "triggered"}).Want(t, http.StatusBadRequest, `{"message":"Cannot have multiple unresolved alerts"}`)
	as.Do(t, "PUT", one, map[string]any{"status": "odd"}).WantStatus(t, http.StatusBadRequest)
}

func TestAlertsAreGivenToPeopleWhoMayReadThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{"title":"a"}`, 200, `[{"iid":1,"title":"a"}]`)
	as, one := w.As(t, w.developer), w.at(alerts+"/1")
	a := httpapitest.JSON[known](t, as.Do(t, "PUT", one, map[string]any{"assignee_ids": []int64{w.developer.ID, w.maintainer.ID}}).WantStatus(t, http.StatusOK))
	if len(a.Assignees) != 2 {
		t.Errorf("got %+v", a.Assignees)
	}
	for _, nobody := range []*user.User{w.reporter, w.stranger} {
		as.Do(t, "PUT", one, map[string]any{"assignee_ids": []int64{w.developer.ID, nobody.ID}}).WantStatus(t, http.StatusBadRequest)
	}
	list := httpapitest.JSON[[]known](t, as.Do(t, "GET", w.at(fmt.Sprintf("%s?assignee_id=%d", alerts, w.maintainer.ID)), nil))
	if len(list) != 1 || len(list[0].Assignees) != 2 {
		t.Errorf("got %+v", list)
	}
	a = httpapitest.JSON[known](t, as.Do(t, "PUT", one, map[string]any{"assignee_ids": ""}).WantStatus(t, http.StatusOK))
	if len(a.Assignees) != 0 {
		t.Errorf("got %+v", a.Assignees)
	}
}

func TestAlertsAreFilteredOrderedAndPaged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	for i, severity := range []string{"low", "critical", "info", "high", "low"} {
		body := fmt.Sprintf(`{"title":"a%d","severity":"%s","fingerprint":"%d","start_time":"2024-01-0%dT00:00:00Z","service":"s%d"}`, i+1, severity, i+1, i+1, i%2)
		w.want(t, in, body, 200, fmt.Sprintf(`[{"iid":%d,"title":"a%d"}]`, i+1, i+1))
		for range i {
			w.send(t, in, body)
		}
	}
	as := w.As(t, w.developer)
	for _, iid := range []string{"2", "4"} {
		as.Do(t, "PUT", w.at(alerts+"/"+iid), map[string]any{"status": "resolved"}).WantStatus(t, http.StatusOK)
	}
	for query, want := range map[string]string{
		"": "a5 a4 a3 a2 a1", "sort=asc": "a1 a2 a3 a4 a5", "order_by=severity&sort=asc": "a2 a4 a1 a5 a3", "order_by=event_count": "a5 a4 a3 a2 a1",
		"order_by=ended_at&sort=asc": "a2 a4", "order_by=status&sort=asc": "a1 a3 a5 a2 a4", "status=resolved": "a4 a2", "status=triggered,resolved&severity=low": "a5 a1",
		"search=S1": "a4 a2", "search=%25": "", "severity=info": "a3", "per_page=2&page=2": "a3 a2", "assignee_id=1": "",
	} {
		var got []string
		for _, a := range httpapitest.JSON[[]known](t, as.Do(t, "GET", w.at(alerts+"?"+query), nil).WantStatus(t, http.StatusOK)) {
			got = append(got, a.Title)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	as.Do(t, "GET", w.at(alerts+"?status=odd"), nil).WantStatus(t, http.StatusBadRequest)
	as.Do(t, "GET", w.at(alerts+"/status_counts"), nil).Want(t, http.StatusOK, `{"triggered":3,"acknowledged":0,"resolved":2,"ignored":0}`)
}

func TestAProjectHasABoundedNumberOfIntegrations(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	as := w.As(t, w.maintainer)
	for range 50 {
		w.integration(t, "http")
	}
	as.Do(t, "POST", w.at(integrations), map[string]any{"name": "x", "type": "http"}).WantStatus(t, http.StatusBadRequest)
}

func TestKeysAreStoredSealedAndByDigest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	row, err := postgres.Value[string](t.Context(), w.DB, "select a::text from alert_integrations a")
	if err != nil || strings.Contains(row, in.Token) || strings.Contains(row, fmt.Sprintf("%x", in.Token)) || len(in.Token) != 32 {
		t.Errorf("%s, %v", row, err)
	}
}

func TestTheRateOfAProjectIsLimitedWhereTheInstanceSaysSo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	admin := w.As(t, usertest.New(t, w.DB, usertest.Admin()))
	admin.Do(t, "PUT", "/application/settings", map[string]any{
		"throttle_incident_management_notification_enabled": true, "throttle_incident_management_notification_per_period": 2,
		"throttle_incident_management_notification_period_in_seconds": 3600,
	}).WantStatus(t, http.StatusOK)
	w.want(t, in, `{"title":"a"}`, 200, `[{"iid":1,"title":"a"}]`)
	w.want(t, in, `{"title":"b"}`, 200, `[{"iid":2,"title":"b"}]`)
	w.want(t, in, `{"title":"c"}`, 429, "")
}

func TestAnIncidentIsMadeOfAnAlertOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{"title":"Disk","severity":"high","description":"@all /close `+"`x`"+`","fingerprint":"f"}`, 200, `[{"iid":1,"title":"Disk"}]`)
	as, incident := w.As(t, w.developer), w.at(alerts+"/1/incident")
	w.As(t, w.reporter).Do(t, "POST", incident, nil).WantStatus(t, http.StatusForbidden)
	a := httpapitest.JSON[known](t, as.Do(t, "POST", incident, nil).WantStatus(t, http.StatusCreated))
	if a.Incident == nil || a.Incident.IID != 1 {
		t.Fatalf("got %+v", a)
	}
	as.Do(t, "POST", incident, nil).Want(t, http.StatusBadRequest, `{"message":"An issue already exists"}`)
	made := httpapitest.JSON[[]struct {
		Title, State, Description, Severity string
		Type                                string `json:"issue_type"`
	}](t, as.Do(t, "GET", w.at("/issues"), nil))
	if len(made) != 1 || made[0].Title != "Disk" || made[0].State != "opened" || made[0].Severity != "HIGH" || made[0].Type != "incident" ||
		!strings.Contains(made[0].Description, "`` @all /close `x` ``") {
		t.Errorf("got %+v", made)
	}
	w.want(t, in, `{"title":"Over","fingerprint":"g"}`, 200, `[{"iid":2,"title":"Over"}]`)
	w.want(t, in, `{"title":"Over","fingerprint":"g","end_time":"2024-05-02"}`, 200, `[{"iid":2,"title":"Over"}]`)
	as.Do(t, "POST", w.at(alerts+"/2/incident"), nil).WantStatus(t, http.StatusBadRequest)
	if n, err := postgres.Value[int](t.Context(), w.DB, "select count(*) from issues"); n != 1 || err != nil {
		t.Errorf("%d issues, %v", n, err)
	}
}

func TestManyWhoReportAnAlertMakeOneIncident(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := w.integration(t, "http")
	w.want(t, in, `{}`, 200, `[{"iid":1,"title":"New: Alert"}]`)
	as := w.As(t, w.developer)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { as.Do(t, "POST", w.at(alerts+"/1/incident"), nil) })
	}
	wg.Wait()
	titles, err := postgres.Values[string](t.Context(), w.DB, "select title from issues")
	if err != nil || len(titles) != 1 || titles[0] != "New: Incident 1" {
		t.Errorf("%v, %v", titles, err)
	}
}
