package setting_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/setting"
	"stithy/internal/setting/settingtest"
)

var _ httpapi.Limits = (*setting.Service)(nil)

func TestOnlyAdministratorsReachTheseRoutesWhateverTheyBring(t *testing.T) {
	t.Parallel()
	s := offline(t)
	client := httpapitest.Serve(t, s.Endpoints()...)
	for _, route := range []string{
		"GET /application/settings", "PUT /application/settings", "GET /features", "GET /features/definitions",
		"POST /features/flag", "DELETE /features/flag",
	} {
		method, path, _ := strings.Cut(route, " ")
		client.Do(t, method, path, nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
		client.As(httpapitest.User).Do(t, method, path, nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	}
}

func TestTheSettingsAreShownWhole(t *testing.T) {
	t.Parallel()
	s := offline(t)
	reply := httpapitest.Serve(t, s.Endpoints()...).As(httpapitest.Admin).Do(t, "GET", "/application/settings", nil).WantStatus(t, 200)
	got := httpapitest.JSON[map[string]any](t, reply)
	if len(got) < 200 {
		t.Errorf("%d members", len(got))
	}
	for name, want := range map[string]any{
		"id": 1.0, "signup_enabled": true, "require_admin_approval_after_user_signup": true, "email_confirmation_setting": "off",
		"default_projects_limit": 100000.0, "can_create_group": true, "user_default_internal_regex": nil,
		"minimum_password_length": 8.0, "two_factor_grace_period": 48.0, "deactivate_dormant_users_period": 90.0,
		"personal_access_token_prefix": "svcpat-", "max_personal_access_token_lifetime": nil, "session_expire_delay": 10080.0,
		"max_import_size": 0.0, "max_pages_size": 100.0, "push_event_activities_limit": 3.0, "users_get_by_id_limit": 300.0,
		"rate_limiting_response_text": nil, "throttle_unauthenticated_api_enabled": false,
		"throttle_authenticated_api_requests_per_period": 7200.0, "throttle_authenticated_api_period_in_seconds": 3600.0,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
	if diff := cmp.Diff(map[string]any{"default": 100.0}, got["repository_storages_weighted"]); diff != "" {
		t.Error(diff)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", got["updated_at"].(string)); err != nil {
		t.Error(err)
	}
}

func TestSettingsAreChangedByFormOrJSON(t *testing.T) {
	t.Parallel()
	s := settingtest.New(t, postgrestest.New(t))
	client := httpapitest.Serve(t, s.Endpoints()...).As(httpapitest.Admin)
	for _, body := range []any{
		url.Values{
			"signup_enabled": {"false"}, "domain_allowlist": {"a.example, b.example"}, "max_login_attempts": {"5"},
			"repository_storages_weighted[default]": {"40"}, "sign_in_text": {"Hello"}, "unknown": {"ignored"},
		},
		`{"signup_enabled":true,"domain_allowlist":["c.example"],"max_login_attempts":null,
			"repository_storages_weighted":{"other":60},"sign_in_text":""}`,
	} {
		client.Do(t, "PUT", "/application/settings", body).WantStatus(t, 200)
		now := s.Current()
		got := []any{now.SignupEnabled, now.DomainAllowlist, now.MaxLoginAttempts, now.RepositoryStoragesWeighted, now.SignInText}
		want := []any{false, []string{"a.example", "b.example"}, new(5), setting.Weights{"default": 40}, setting.Text("Hello")}
		if _, isForm := body.(url.Values); !isForm {
			want = []any{true, []string{"c.example"}, (*int)(nil), setting.Weights{"other": 60}, setting.Text("")}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	reply := client.Do(t, "PUT", "/application/settings?first_day_of_week=1", nil).WantStatus(t, 200)
	if got := httpapitest.JSON[map[string]any](t, reply)["first_day_of_week"]; got != 1.0 {
		t.Errorf("the answer shows %v", got)
	}
}

func TestSettingsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	s := settingtest.New(t, postgrestest.New(t))
	client := httpapitest.Serve(t, s.Endpoints()...).As(httpapitest.Admin)
	for body, want := range map[string]string{
		`{"require_two_factor_authentication":true}`:  `{"error":"two_factor_grace_period is missing"}`,
		`{"shared_runners_enabled":true}`:             `{"error":"shared_runners_text is missing"}`,
		`{"enforce_terms":true}`:                      `{"error":"terms is missing"}`,
		`{"throttle_authenticated_web_enabled":"on"}`: `{"error":"throttle_authenticated_web_requests_per_period is missing, throttle_authenticated_web_period_in_seconds is missing"}`,
		`{"throttle_protected_paths_enabled":true,"throttle_protected_paths_period_in_seconds":9}`: `{"error":"throttle_protected_paths_requests_per_period is missing"}`,
		`{"signup_enabled":"perhaps"}`:                             `{"error":"signup_enabled is invalid"}`,
		`{"signup_enabled":null,"max_import_size":"x"}`:            `{"error":"signup_enabled is invalid, max_import_size is invalid"}`,
		`{"max_import_size":{"a":1}}`:                              `{"error":"max_import_size is invalid"}`,
		`{"repository_storages_weighted":null}`:                    `{"error":"repository_storages_weighted is invalid"}`,
		`{"max_import_size":-1}`:                                   `{"message":{"max_import_size":["must be greater than or equal to 0"]}}`,
		`{"default_project_visibility":"secret"}`:                  `{"message":{"default_project_visibility":["is not included in the list"]}}`,
		`{"personal_access_token_prefix":"123456789012345678901"}`: `{"message":{"personal_access_token_prefix":["is too long (maximum is 20 characters)"]}}`,
	} {
		client.Do(t, "PUT", "/application/settings", body).Want(t, 400, want)
	}
	client.Do(t, "PUT", "/application/settings", `{"require_two_factor_authentication":false}`).WantStatus(t, 200)
	client.Do(t, "PUT", "/application/settings", `{"require_two_factor_authentication":true,"two_factor_grace_period":0}`).WantStatus(t, 200)

	reply := client.Do(t, "PUT", "/application/settings", `{"unknown":true}`).WantStatus(t, 400)
	text := httpapitest.JSON[map[string]string](t, reply)["error"]
	if !strings.HasPrefix(text, "signup_enabled, require_admin_approval_after_user_signup, ") ||
		!strings.HasSuffix(text, " are missing, at least one parameter must be provided") {
		t.Error(text)
	}
}

func TestEverySettingIsAParameterWithADoc(t *testing.T) {
	t.Parallel()
	s := offline(t)
	for _, e := range s.Endpoints() {
		if e.Route != "PUT /application/settings" {
			continue
		}
		if len(e.Params) < 200 {
			t.Errorf("%d parameters", len(e.Params))
		}
		for _, p := range e.Params {
			if p.Name == "" || p.Doc == "" || p.Type == nil {
				t.Errorf("%+v", p)
			}
		}
	}
}

func TestFeatureFlagsAreSetListedAndRemoved(t *testing.T) {
	t.Parallel()
	s := knowing(t, func(_ context.Context, kind, ref string) (setting.Actor, error) {
		if ref == "unknown" {
			return "", fault.NotFoundf("User")
		}
		return setting.Actor(kind + ":" + ref), nil
	})
	client := httpapitest.Serve(t, s.Endpoints()...).As(httpapitest.Admin)

	client.Do(t, "GET", "/features", nil).Want(t, 200, `[]`)
	client.Do(t, "POST", "/features/b", url.Values{"value": {"30"}}).
		Want(t, 201, `{"name":"b","state":"conditional","gates":[{"key":"boolean","value":false},{"key":"percentage_of_time","value":30}],"definition":null}`)
	client.Do(t, "POST", "/features/b", `{"value":42,"key":"percentage_of_actors"}`).
		Want(t, 201, `{"name":"b","state":"conditional","gates":[{"key":"boolean","value":false},{"key":"percentage_of_actors","value":42},{"key":"percentage_of_time","value":30}],"definition":null}`)
	client.Do(t, "POST", "/features/b", `{"value":false}`).
		Want(t, 201, `{"name":"b","state":"off","gates":[{"key":"boolean","value":false}],"definition":null}`)
	client.Do(t, "POST", "/features/b", `{"value":"true","user":"ada, grace","project":"a/b","feature_group":"staff"}`).
		Want(t, 201, `{"name":"b","state":"conditional","gates":[{"key":"boolean","value":false},{"key":"actors","value":["project:a/b","user:ada","user:grace"]},{"key":"groups","value":["staff"]}],"definition":null}`)

	const definition = `{"name":"ops_prune_old_events","feature_issue_url":null,"introduced_by_url":null,"rollout_issue_url":null,"milestone":null,"log_state_changes":null,"type":"ops","group":null,"default_enabled":true}`
	client.Do(t, "POST", "/features/ops_prune_old_events", `{"value":true,"force":true}`).
		Want(t, 201, `{"name":"ops_prune_old_events","state":"on","gates":[{"key":"boolean","value":true}],"definition":`+definition+`}`)
	reply := client.Do(t, "GET", "/features/definitions", nil).WantStatus(t, 200)
	if got := len(httpapitest.JSON[[]any](t, reply)); got != 6 || !strings.Contains(reply.Body, definition) {
		t.Errorf("%d definitions: %s", got, reply.Body)
	}
	var listed []string
	for _, f := range httpapitest.JSON[[]struct{ Name string }](t, client.Do(t, "GET", "/features", nil)) {
		listed = append(listed, f.Name)
	}
	if diff := cmp.Diff([]string{"b", "ops_prune_old_events"}, listed); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		client.Do(t, "DELETE", "/features/b", nil).Want(t, 204, "")
	}
}

func TestFeatureFlagsAreRefusedInKnownWords(t *testing.T) {
	t.Parallel()
	s := offline(t) // without a finder, nobody is known
	client := httpapitest.Serve(t, s.Endpoints()...).As(httpapitest.Admin)
	for body, want := range map[string]string{
		`{}`: `{"error":"value is missing"}`,
		`{"value":true,"key":"percentage_of_time","user":"ada"}`:                         `{"error":"key, user are mutually exclusive"}`,
		`{"value":true,"key":"percentage_of_time","feature_group":"a","repository":"b"}`: `{"error":"key, feature_group are mutually exclusive, key, repository are mutually exclusive"}`,
		`{"value":"maybe"}`:              `{"message":"400 Bad request - Value must be boolean or numeric, got maybe"}`,
		`{"value":true,"user":"nobody"}`: `{"message":"400 Bad request - nobody is not found!"}`,
	} {
		client.Do(t, "POST", "/features/flag", body).Want(t, 400, want)
	}
	if s.Enabled("flag") || len(s.Features()) != 0 {
		t.Error("a refused flag was set")
	}
}

func TestVersionAndMetadataSayWhatTheInstanceIs(t *testing.T) {
	t.Parallel()
	for tier, enterprise := range map[string]string{setting.Free: "false", setting.Premium: "true", setting.Ultimate: "true"} {
		d := settingtest.Deps(t, &postgres.DB{})
		d.Instance.Tier = tier
		client := httpapitest.Serve(t, setting.New(d).Endpoints()...)
		for _, path := range []string{"/version", "/metadata"} {
			client.As(httpapitest.User).Do(t, "GET", path, nil).Want(t, 200,
				`{"version":"16.11.0","revision":"0123456789a","kas":{"enabled":false,"externalUrl":null,"version":null},"enterprise":`+enterprise+`}`)
			client.Do(t, "GET", path, nil).Want(t, 401, `{"message":"401 Unauthorized"}`)
			for _, scope := range []access.Scope{access.ScopeReadUser, access.ScopeReadAPI, access.ScopeAIFeatures} {
				client.As(httpapitest.User, scope).Do(t, "GET", path, nil).WantStatus(t, 200)
			}
			client.As(httpapitest.User, access.ScopeReadRegistry).Do(t, "GET", path, nil).Want(t, 403,
				`{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"read_user ai_features api read_api"}`)
		}
	}
}

func TestThrottlesFollowTheSettings(t *testing.T) {
	t.Parallel()
	s := settingtest.New(t, postgrestest.New(t))
	now := func() time.Time { return time.Unix(1_700_000_000, 0).UTC() }
	client := httpapitest.Start(t, &httpapi.Server{Endpoints: s.Endpoints(), Limits: s, Clock: now, Limiter: ratelimit.New(now, nil)})
	root, user := client.As(httpapitest.Admin), client.As(httpapitest.User)
	for range 5 {
		user.Do(t, "GET", "/version", nil).WantStatus(t, 200)
		client.Do(t, "GET", "/version", nil).WantStatus(t, 401)
	}
	root.Do(t, "PUT", "/application/settings", `{
		"throttle_authenticated_api_enabled":true,"throttle_authenticated_api_requests_per_period":2,"throttle_authenticated_api_period_in_seconds":600,
		"throttle_unauthenticated_api_enabled":true,"throttle_unauthenticated_api_requests_per_period":1,"throttle_unauthenticated_api_period_in_seconds":60,
		"rate_limiting_response_text":"Later"}`).WantStatus(t, 200)
	user.Do(t, "GET", "/version", nil).WantStatus(t, 200)
	user.Do(t, "GET", "/version", nil).WantStatus(t, 200)
	reply := user.Do(t, "GET", "/version", nil)
	reply.Want(t, http.StatusTooManyRequests, "Later\n")
	if got := reply.Header.Get("RateLimit-Name"); got != "throttle_authenticated_api" {
		t.Errorf("throttled by %q", got)
	}
	client.Do(t, "GET", "/version", nil).WantStatus(t, 401)
	reply = client.Do(t, "GET", "/version", nil).WantStatus(t, http.StatusTooManyRequests)
	if got := reply.Header.Get("RateLimit-Name"); got != "throttle_unauthenticated_api" {
		t.Errorf("throttled by %q", got)
	}
}
