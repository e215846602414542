package app

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/notification"
	"stithy/internal/project/projecttest"
)

const notificationsPage = "/-/user_settings/notifications"

// chosenOption is how a page shows that something is chosen.
func chosenOption(value string) string { return `<option value="` + value + `" selected>` }

// What a person is mailed about is chosen for everywhere, for a group and for a project, by forms alone.
func TestPeopleChooseWhatTheyAreMailedAbout(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	group := grouptest.New(t, i.DB, grouptest.Named("smithy"), grouptest.Visible(access.Public))
	tool := projecttest.New(t, i.DB, group.ID, projecttest.Named("anvil"), projecttest.Visible(access.Public))
	hidden := grouptest.New(t, i.DB, grouptest.Named("hidden"))
	const work = "ann@work.example"
	if _, err := i.Users.AddEmail(t.Context(), access.Actor{}, ann.ID, work, true); err != nil {
		t.Fatal(err)
	}
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	find := func(in bus.Entity) notification.Setting {
		t.Helper()
		s, err := i.Notifications.Find(t.Context(), ann.ID, in)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}

	s := b.get(notificationsPage)
	f := s.form(notificationsPage)
	if f == nil || !s.says(chosenOption("participating")) || !slices.Equal(f.values["events"], []string{"failed_pipeline", "fixed_pipeline"}) || !s.says("None has a setting of its own.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	values := f.values
	values.Set("level", "custom")
	values.Set("notification_email", work)
	values["events"] = []string{"new_issue", "fixed_pipeline"}
	if s = b.follow(http.MethodPost, notificationsPage, values); !s.says("Your notification settings are saved.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	got := find(bus.Instance())
	want := notification.Flags{}.With(notification.NewIssue, true).With(notification.FailedPipeline, false)
	if got.Level != notification.Custom || got.Flags != want || got.Email == nil || *got.Email != work {
		t.Errorf("got %+v", got)
	}
	if f := s.form(notificationsPage); !s.says(chosenOption("custom")) || !s.says(chosenOption(work)) || len(f.values["events"]) != 2 {
		t.Errorf("it shows %s", s.Body)
	}
	for _, wrong := range []map[string]string{
		{"level": "shout", "notification_email": work}, {"level": "watch", "notification_email": "other@example.com"},
	} {
		if s := b.submit(s, notificationsPage, wrong); s.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", wrong, s.Code)
		}
	}

	for _, path := range []string{"nowhere", hidden.FullPath, ""} {
		if s := b.submit(s, notificationsPage+"/places", map[string]string{"path": path}); s.Code != http.StatusUnprocessableEntity || !s.says("Is not that of a group or project that you see") {
			t.Errorf("%q: %d", path, s.Code)
		}
	}
	ofGroup, ofProject := fmt.Sprintf("%s/groups/%d", notificationsPage, group.ID), fmt.Sprintf("%s/projects/%d", notificationsPage, tool.ID)
	place := b.submit(s, notificationsPage+"/places", map[string]string{"path": " /smithy/ "})
	if place.path != ofGroup || !place.says(chosenOption("global")) {
		t.Fatalf("%s: %s", place.path, place.Body)
	}
	if s = b.submit(place, ofGroup, map[string]string{"level": "watch", "notification_email": ann.Email}); !s.says("Your notification settings of smithy are saved.") || !s.says("Watch") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	place = b.submit(s, notificationsPage+"/places", map[string]string{"path": "smithy/anvil"})
	if place.path != ofProject {
		t.Fatalf("%s: %s", place.path, place.Body)
	}
	if place.says("notification_email") {
		t.Error("a project has an address")
	}
	if s = b.submit(place, ofProject, map[string]string{"level": "disabled"}); !s.says("smithy/anvil") || !s.says("Disabled") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	if s := b.submit(place, ofProject, map[string]string{"level": "shout"}); s.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d", s.Code)
	}
	if got := find(group.Entity()); got.Level != notification.Watch || got.Email == nil || *got.Email != ann.Email || got.Flags != (notification.Flags{}) {
		t.Errorf("got %+v", got)
	}
	if got := find(tool.Entity()); got.Level != notification.Disabled {
		t.Errorf("got %+v", got)
	}
	for _, path := range []string{fmt.Sprintf("%s/groups/%d", notificationsPage, hidden.ID), notificationsPage + "/projects/987654", notificationsPage + "/groups/x"} {
		if w := b.send("GET", path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
