package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

func TestPeopleWithoutProjectsAreListed(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	maker, member := usertest.New(t, i.DB, usertest.Named("maker")), usertest.New(t, i.DB, usertest.Named("member"))
	p := projecttest.New(t, i.DB, grouptest.New(t, i.DB).ID, projecttest.By(maker))
	projecttest.Join(t, i.DB, p, member, access.Guest)
	w := i.do("GET", "/api/v4/users?without_projects=true", nil, func(r *http.Request) {
		r.Header.Set("PRIVATE-TOKEN", i.token(t, i.root, access.ScopeAPI))
	})
	for name, listed := range map[string]bool{"maker": false, "member": false, "ann": true, "root": true} {
		if strings.Contains(w.Body.String(), `"username":"`+name+`"`) != listed {
			t.Errorf("%s is listed: %v; %s", name, !listed, w.Body)
		}
	}
}

func TestAGroupIsShownWithItsProjects(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	projecttest.Share(t, d.DB, d.other, d.house, access.Developer)
	paths := func(role access.Role) string {
		t.Helper()
		w := d.do("GET", "/api/v4/groups/house", nil, func(r *http.Request) { r.Header.Set("PRIVATE-TOKEN", d.token(t, d.people[role], access.ScopeAPI)) })
		var g struct {
			Projects       []struct{ Path string }
			SharedProjects []struct{ Path string } `json:"shared_projects"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &g); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s, %v", w.Code, w.Body, err)
		}
		var all []string
		for _, p := range append(g.Projects, g.SharedProjects...) {
			all = append(all, p.Path)
		}
		return strings.Join(all, " ")
	}
	if got := paths(access.NoRole); got != "open" {
		t.Errorf("a stranger sees %q", got)
	}
	if got := paths(access.Owner); !strings.Contains(got, "hidden open") {
		t.Errorf("the owner sees %q", got)
	}
}
