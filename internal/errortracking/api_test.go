package errortracking_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stithy/internal/errortracking"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/setting"
	"stithy/internal/user/usertest"
)

const (
	unsigned = `{"message":"401 Unauthorized"}`
	refused  = `{"message":"403 Forbidden"}`
	none     = `{"message":"404 Error Tracking Setting Not Found"}`
)

func TestSettingsComeToBeWithThePut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.as(access.Maintainer)
	m.Do(t, "GET", w.at("settings"), nil).Want(t, http.StatusNotFound, none)
	m.Do(t, "PATCH", w.at("settings"), object{"active": true}).Want(t, http.StatusNotFound, none)
	const on = `{"active":true,"project_name":null,"api_url":null,"integrated":true,"personal_data":false,"events_per_minute":1000,"sample_percent":100,"errsvc_external_url":null}`
	m.Do(t, "PUT", w.at("settings"), object{"active": true, "integrated": true}).Want(t, http.StatusOK, on)
	m.Do(t, "GET", w.at("settings"), nil).Want(t, http.StatusOK, on)
	if got := w.heard(); !slices.Equal(got, []errortracking.Action{errortracking.KeyCreated, errortracking.SettingsChanged}) {
		t.Errorf("heard %q", got)
	}
	m.Do(t, "PATCH", w.at("settings"), object{"active": false}).Want(t, http.StatusOK, strings.Replace(on, `"active":true`, `"active":false`, 1))
	m.Do(t, "PUT", w.at("settings"), object{"active": true, "integrated": true}).Want(t, http.StatusOK, on)
	w.heard()
	m.Do(t, "PUT", w.at("settings"), object{"active": true, "integrated": true}).Want(t, http.StatusOK, on)
	m.Do(t, "PATCH", w.at("settings"), object{"active": true}).Want(t, http.StatusOK, on)
	if got := w.heard(); len(got) != 0 {
		t.Errorf("what changes nothing is told: %q", got)
	}
}

func TestParametersOfSettingsAreChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.as(access.Maintainer)
	m.Do(t, "PUT", w.at("settings"), object{"active": false, "integrated": true}).WantStatus(t, http.StatusOK)
	for _, c := range []struct {
		method, want string
		body         object
	}{
		{"PUT", "active is missing, active is empty", object{"integrated": true}},
		{"PUT", "active is empty", object{"active": "", "integrated": true}},
		{"PUT", "active is invalid", object{"active": "maybe", "integrated": true}},
		{"PUT", "integrated is missing", object{"active": true}},
		{"PUT", "integrated is invalid", object{"active": true, "integrated": "maybe"}},
		{"PATCH", "active is missing, active is empty", object{}},
		{"PATCH", "integrated is invalid", object{"active": true, "integrated": "maybe"}},
	} {
		m.Do(t, c.method, w.at("settings"), c.body).Want(t, http.StatusBadRequest, fmt.Sprintf(`{"error":%q}`, c.want))
	}
	m.Do(t, "PUT", w.at("settings"), object{"active": true, "integrated": false}).
		Want(t, http.StatusBadRequest, `{"message":{"api_url":["is a required field"],"token":["is a required field"]}}`)
	m.Do(t, "GET", w.at("settings"), nil).
		Want(t, http.StatusOK, `{"active":false,"project_name":null,"api_url":null,"integrated":true,"personal_data":false,"events_per_minute":1000,"sample_percent":100,"errsvc_external_url":null}`)
}

func TestMaintainersAloneSetErrorTrackingUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, c := range []struct{ method, path string }{
		{"GET", "settings"}, {"PUT", "settings"}, {"PATCH", "settings"}, {"GET", "client_keys"}, {"POST", "client_keys"}, {"DELETE", "client_keys/1"},
	} {
		w.Do(t, c.method, w.at("%s", c.path), nil).Want(t, http.StatusUnauthorized, unsigned)
		w.asPerson(w.stranger).Do(t, c.method, w.at("%s", c.path), nil).Want(t, http.StatusForbidden, refused)
		w.as(access.Developer).Do(t, c.method, w.at("%s", c.path), nil).Want(t, http.StatusForbidden, refused)
		for _, role := range []access.Role{access.Maintainer, access.Owner} {
			if r := w.as(role).Do(t, c.method, w.at("%s", c.path), nil); r.Status == http.StatusForbidden {
				t.Errorf("%s %s is refused to a %v", c.method, c.path, role)
			}
		}
	}
}

func TestWithTheFlagOffNothingIsIntegrated(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	if _, err := w.core.Settings.SetFeature(t.Context(), access.Actor{}, "integrated_error_tracking", setting.FeatureChange{Value: "false"}); err != nil {
		t.Fatal(err)
	}
	if err := w.core.Settings.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := w.as(access.Maintainer)
	m.Do(t, "GET", w.at("settings"), nil).
		Want(t, http.StatusOK, `{"active":true,"project_name":null,"api_url":null,"integrated":false,"personal_data":false,"events_per_minute":1000,"sample_percent":100,"errsvc_external_url":null}`)
	m.Do(t, "PUT", w.at("settings"), object{"active": true, "integrated": true}).Want(t, http.StatusNotFound, `{"message":"404 Not Found"}`)
	if rec := w.send(t, w.intake("store"), `{}`, auth(k)); rec.Code != http.StatusNotFound {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestKeysAreMadeListedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.as(access.Maintainer)
	first := w.enable(t)
	w.heard()
	second := httpapitest.JSON[key](t, m.Do(t, "POST", w.at("client_keys"), nil).WantStatus(t, http.StatusCreated))
	if !regexp.MustCompile(`^svcet_[0-9a-f]{32}$`).MatchString(second.PublicKey) || !second.Active || second.PublicKey == first.PublicKey {
		t.Errorf("got %+v", second)
	}
	if want := fmt.Sprintf("https://%s@forge.example/errortracking/api/v1/projects/%d", second.PublicKey, w.project.ID); second.DSN != want {
		t.Errorf("got %s, want %s", second.DSN, want)
	}
	list := m.Do(t, "GET", w.at("client_keys?per_page=1&page=2"), nil).WantStatus(t, http.StatusOK)
	if got := httpapitest.JSON[[]key](t, list); !slices.Equal(got, []key{second}) || list.Header.Get("X-Total") != "2" {
		t.Errorf("got %+v, %s in all", got, list.Header.Get("X-Total"))
	}
	gone := m.Do(t, "DELETE", w.at("client_keys/%d", first.ID), nil).WantStatus(t, http.StatusOK)
	if got := httpapitest.JSON[key](t, gone); got != first {
		t.Errorf("got %+v, want %+v", got, first)
	}
	m.Do(t, "DELETE", w.at("client_keys/%d", first.ID), nil).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
	m.Do(t, "DELETE", w.at("client_keys/x"), nil).Want(t, http.StatusBadRequest, `{"error":"key_id is invalid"}`)
	if got := w.heard(); !slices.Equal(got, []errortracking.Action{errortracking.KeyCreated, errortracking.KeyDeleted}) {
		t.Errorf("heard %q", got)
	}
	if rec := w.send(t, w.intake("store"), `{}`, auth(first)); rec.Code != http.StatusNotFound {
		t.Errorf("a deleted key is good for a report: %d", rec.Code)
	}
}

func TestKeysAreNotReadableInTheDatabase(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	k := w.enable(t)
	if n := w.count(t, `select count(*)::integer from error_client_keys where position($1::bytea in public_key) > 0 or position($1::bytea in digest) > 0`,
		[]byte(k.PublicKey)); n != 0 {
		t.Error("the key stands in the table")
	}
}

func TestAProjectHasABoundedNumberOfKeys(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if _, err := w.core.DB.Exec(t.Context(), `insert into error_client_keys (project_id, digest, public_key, active, created_at)
		select $1, sha256(i::text::bytea), '', true, now() from generate_series(1, 500) i`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	w.as(access.Maintainer).Do(t, "POST", w.at("client_keys"), nil).
		Want(t, http.StatusBadRequest, `{"message":{"base":["a project has at most 500 client keys"]}}`)
}

func TestAnAdministratorAllowsMoreEventsThanAProjectMay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.enable(t)
	m, admin := w.as(access.Maintainer), w.asPerson(usertest.New(t, w.core.DB, usertest.Admin()))
	const few = `{"message":{"events_per_minute":["must be from 1 to 1000; more is for an administrator to allow"]}}`
	for _, n := range []int{-1, 0, 1001} {
		m.Do(t, "PATCH", w.at("settings"), object{"active": true, "events_per_minute": n}).Want(t, http.StatusBadRequest, few)
	}
	for _, n := range []int{-5, 0, 101} {
		m.Do(t, "PATCH", w.at("settings"), object{"active": true, "sample_percent": n}).
			Want(t, http.StatusBadRequest, `{"message":{"sample_percent":["must be from 1 to 100"]}}`)
	}
	kept := func(c *httpapitest.Client, change object, perMinute, percent int) {
		t.Helper()
		change["active"] = true
		got := httpapitest.JSON[struct {
			PerMinute int `json:"events_per_minute"`
			Percent   int `json:"sample_percent"`
		}](t, c.Do(t, "PATCH", w.at("settings"), change).WantStatus(t, http.StatusOK))
		if got.PerMinute != perMinute || got.Percent != percent {
			t.Errorf("got %+v", got)
		}
	}
	kept(m, object{"events_per_minute": 7, "sample_percent": 50}, 7, 50)
	kept(admin, object{"events_per_minute": 50000}, 50000, 50)
	kept(m, object{"sample_percent": 100}, 50000, 100) // what an administrator allowed stays allowed
	kept(m, object{"events_per_minute": 40000}, 40000, 100)
	admin.Do(t, "PATCH", w.at("settings"), object{"active": true, "events_per_minute": 1_000_001}).WantStatus(t, http.StatusBadRequest)
}
