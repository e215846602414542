package core_test

import (
	"fmt"
	"strings"
	"testing"

	"stithy/internal/core"
	"stithy/internal/core/coretest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting"
	"stithy/internal/user/usertest"
)

func TestAFeatureFlagIsSetForAPerson(t *testing.T) {
	t.Parallel()
	c := coretest.New(t)
	ada := usertest.New(t, c.DB, usertest.Named("ada"))
	set := func(kind, ref string) error {
		_, err := c.Settings.SetFeature(t.Context(), access.Actor{}, "flag", setting.FeatureChange{
			Value: "true", Actors: []setting.ActorRef{{Kind: kind, Ref: ref}},
		})
		return err
	}
	if err := set("user", ada.Username); err != nil {
		t.Fatal(err)
	}
	actor := func(id int64) setting.Actor { return setting.Actor(fmt.Sprintf("User:%d", id)) }
	if !c.Settings.Enabled("flag", actor(ada.ID)) || c.Settings.Enabled("flag", actor(ada.ID+1)) {
		t.Error("the flag is not open for her alone")
	}
	if set("user", "nobody") == nil || set("project", "ada/tool") == nil || set("project", "ada") == nil {
		t.Error("a flag is set for what does not exist")
	}
}

func TestAGroupShowsItsProjects(t *testing.T) {
	t.Parallel()
	c := coretest.New(t)
	g := grouptest.New(t, c.DB, grouptest.Visible(access.Public))
	p := projecttest.New(t, c.DB, g.ID, projecttest.Visible(access.Public))
	reply := httpapitest.Serve(t, c.Groups.Endpoints()...).Do(t, "GET", fmt.Sprintf("/groups/%d", g.ID), nil).WantStatus(t, 200)
	shown := httpapitest.JSON[struct{ Projects []struct{ ID int64 } }](t, reply).Projects
	if len(shown) != 1 || shown[0].ID != p.ID {
		t.Errorf("got %v", shown)
	}
}

func TestTheWayOutIsTheOneThatTheSettingsAllow(t *testing.T) {
	t.Parallel()
	c := coretest.New(t)
	root := access.Actor{Person: usertest.New(t, c.DB, usertest.Admin()).Person()}
	may := func(address string) bool { return c.Outbound.Check(t.Context(), address) == nil }
	set := func(name string, value any) {
		t.Helper()
		api := httpapitest.Serve(t, c.Settings.Endpoints()...).As(*root.Person, access.ScopeAPI)
		api.Do(t, "PUT", "/application/settings", map[string]any{name: value}).WantStatus(t, 200)
	}
	if may("http://127.0.0.1:8000/") || may("http://10.0.0.1/") {
		t.Error("the own network is open")
	}
	set("outbound_local_requests_whitelist", []string{"127.0.0.1:8000"})
	if !may("http://127.0.0.1:8000/") || may("http://10.0.0.1/") {
		t.Error("not what is named is open")
	}
	set("allow_local_requests_from_web_hooks_and_services", true)
	if !may("http://10.0.0.1/") {
		t.Error("the own network is closed")
	}
}

func TestTheAddressOfAProjectHasThePortOfSSH(t *testing.T) {
	t.Parallel()
	c := coretest.New(t, func(d *core.Deps) { d.SSHPort = 2222 })
	g := grouptest.New(t, c.DB, grouptest.Visible(access.Public))
	p := projecttest.New(t, c.DB, g.ID, projecttest.Visible(access.Public))
	reply := httpapitest.Serve(t, c.Projects.Endpoints()...).Do(t, "GET", fmt.Sprintf("/projects/%d", p.ID), nil).WantStatus(t, 200)
	if !strings.Contains(reply.Body, "forge.example:2222/") {
		t.Error(reply.Body)
	}
}

func TestWhatWasForgottenIsNamed(t *testing.T) {
	t.Parallel()
	d := coretest.New(t).Deps
	d.Code = nil
	defer func() {
		if got, want := recover(), "core.Deps.Code is nil: give it where the application is put together"; got != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}()
	core.New(d)
}
