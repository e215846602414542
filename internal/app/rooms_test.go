package app

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/platform/deps"
	"stithy/internal/project/projecttest"
)

// Every New refuses what is incomplete. This looks at the rooms once more after
// they were joined, at what they ask of rooms above them, too.
func TestEveryRoomHasAllThatItNeeds(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	rooms := 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[App]()) {
		room := reflect.ValueOf(i.App).Elem().FieldByIndex(field.Index)
		if !strings.HasSuffix(field.Type.String(), ".Service") {
			continue
		}
		rooms++
		given := room.Elem().FieldByName("deps")
		if !given.IsValid() {
			t.Fatalf("%s keeps no deps", field.Type)
		}
		if missing := deps.Missing(given); missing != "" {
			t.Errorf("%s lacks %s", field.Type, missing)
		}
	}
	if rooms < 19 {
		t.Errorf("only %d rooms were looked at", rooms)
	}
	if missing := deps.Missing(reflect.ValueOf(i.upwards)); missing != "" {
		t.Errorf("nobody answers for %s", missing)
	}
}

func TestAGroupShowsItsProjects(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	g := grouptest.New(t, i.DB, grouptest.Visible(access.Public))
	p := projecttest.New(t, i.DB, g.ID, projecttest.Visible(access.Public))
	hidden := projecttest.New(t, i.DB, g.ID)
	w := i.do("GET", fmt.Sprintf("/api/v4/groups/%d", g.ID), nil, func(r *http.Request) {
		r.Header.Set("PRIVATE-TOKEN", i.token(t, i.ann, access.ScopeAPI))
	})
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(body, fmt.Sprintf(`"projects":[{"id":%d,`, p.ID)) || strings.Contains(body, hidden.Path) {
		t.Errorf("%d %s", w.Code, body)
	}
}
