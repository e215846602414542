package setting_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/platform/ratelimit"
	"stithy/internal/setting"
	"stithy/internal/setting/settingtest"
)

func TestReadingSingleAccountsIsLimitedForThoseWhoDoNotAdminister(t *testing.T) {
	t.Parallel()
	s := settingtest.New(t, postgrestest.New(t))
	limit := func(a access.Actor) ratelimit.Rule {
		rule, on := s.Endpoint("users_get_by_id", a)
		if on != (rule.Limit > 0) {
			t.Errorf("%+v is on: %v", rule, on)
		}
		return rule
	}
	want := ratelimit.Rule{Name: "users_get_by_id", Limit: 300, Period: 10 * time.Minute}
	for name, a := range map[string]access.Actor{"ada": ada, "nobody": {}} {
		if diff := cmp.Diff(want, limit(a)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if rule := limit(admin); rule.Limit != 0 {
		t.Errorf("an administrator is limited to %d", rule.Limit)
	}
	update := func(change func(*setting.Settings)) {
		t.Helper()
		if err := s.Update(t.Context(), admin, change); err != nil {
			t.Fatal(err)
		}
	}
	update(func(now *setting.Settings) { now.UsersGetByIDLimitAllowlist = []string{"ADA"} })
	if rule := limit(ada); rule.Limit != 0 {
		t.Errorf("ada is on the list and limited to %d", rule.Limit)
	}
	update(func(now *setting.Settings) { now.UsersGetByIDLimitAllowlist, now.UsersGetByIDLimit = nil, 0 })
	if rule := limit(ada); rule.Limit != 0 {
		t.Errorf("0 does not switch the limit off: %d", rule.Limit)
	}
}

func TestOtherLimitsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	s := offline(t)
	for _, want := range []ratelimit.Rule{
		{Name: "project_repositories_archive", Limit: 100, Period: time.Minute},
		{Name: "jobs_index", Limit: 600, Period: time.Minute},
		{Name: "group_export", Limit: 6, Period: time.Minute},
		{Name: "group_download_export", Limit: 1, Period: time.Minute},
		{Name: "projects_api_rate_limit_unauthenticated", Limit: 400, Period: 10 * time.Minute},
		{Name: "user_sign_in", Limit: 5, Period: 10 * time.Minute},
		{Name: "update_namespace_name", Limit: 120, Period: time.Hour},
	} {
		if got, on := s.Endpoint(want.Name, access.Actor{}); got != want || !on {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if got, _ := s.Endpoint("project_repositories_archive", access.Actor{Person: &access.Person{ID: 1}}); got.Limit != 5 {
		t.Errorf("a person may fetch %d archives", got.Limit)
	}
	for _, off := range []string{"pipelines_create", "unheard_of"} {
		if rule, on := s.Endpoint(off, access.Actor{}); on {
			t.Errorf("%+v is on", rule)
		}
	}
	if s.ThrottleText() != "Retry later" {
		t.Error(s.ThrottleText())
	}
}

func TestLimitsOnStrangersDoNotCountPeople(t *testing.T) {
	t.Parallel()
	s := offline(t)
	for _, name := range []string{"projects_api_rate_limit_unauthenticated", "search_rate_limit_unauthenticated"} {
		if _, on := s.Endpoint(name, access.Actor{}); !on {
			t.Errorf("%s is off for strangers", name)
		}
		if _, on := s.Endpoint(name, access.Actor{Person: &access.Person{ID: 7}}); on {
			t.Errorf("%s is on for people", name)
		}
	}
}

func TestTheDepthOfListsFollowsTheSettings(t *testing.T) {
	t.Parallel()
	s := settingtest.New(t, postgrestest.New(t))
	if s.MaxOffset() != 50_000 {
		t.Errorf("%d by default", s.MaxOffset())
	}
	for _, deepest := range []int{100, 0} {
		if err := s.Update(t.Context(), admin, func(now *setting.Settings) { now.OffsetPaginationLimit = deepest }); err != nil {
			t.Fatal(err)
		}
		if s.MaxOffset() != deepest {
			t.Errorf("%d after it was set to %d", s.MaxOffset(), deepest)
		}
	}
}
