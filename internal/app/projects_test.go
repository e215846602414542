package app

import (
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
