package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/notification"
	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
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

// mails works the jobs that mail people, now.
func (i *instance) mails(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"notification_spread", "notification_mail"} {
		rows, err := postgres.Values[string](t.Context(), i.DB, `with taken as (delete from river_job where kind = $1 returning args) select args::text from taken`, kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			var spread notification.SpreadArgs
			var one notification.MailArgs
			if err := json.Unmarshal([]byte(row), &spread); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(row), &one); err != nil {
				t.Fatal(err)
			}
			if kind == "notification_mail" {
				err = i.Notifications.Send(t.Context(), one)
			} else {
				err = i.Notifications.Spread(t.Context(), spread)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// EM-06: mail programs open links, and send the form of one by themselves, without a session.
func TestEM06_AFormWithoutASessionEndsMailsAndALookDoesNot(t *testing.T) {
	t.Parallel()
	sink := mailtest.New(t)
	i := newInstance(t, "STITHY_SMTP_URL="+sink.URL.Reveal())
	ann, bob := i.withPassword(t), usertest.New(t, i.DB)
	home := grouptest.New(t, i.DB, grouptest.Named("smithy"), grouptest.Visible(access.Public))
	tool := projecttest.New(t, i.DB, home.ID, projecttest.Named("anvil"), projecttest.Visible(access.Public))
	watch := notification.Watch
	if _, err := i.Notifications.Update(t.Context(), ann.ID, tool.Entity(), notification.Change{Level: &watch}); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		t.Helper()
		if _, err := i.Issues.Create(t.Context(), access.Actor{Person: bob.Person()}, tool, issue.Draft{Title: "Too hot"}); err != nil {
			t.Fatal(err)
		}
		i.mails(t)
		return len(sink.All())
	}
	if n := open(); n != 1 {
		t.Fatalf("%d mails", n)
	}
	link := strings.TrimPrefix(strings.Trim(sink.All()[0].Header.Get("List-Unsubscribe"), "<>"), "https://forge.example")
	stopped := func() bool {
		t.Helper()
		n, err := postgres.Value[int](t.Context(), i.DB, `select count(*) from unsubscriptions`)
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	}
	stranger := i.browser(t)
	if w := stranger.send(http.MethodGet, link, nil); w.Code != http.StatusOK || stopped() || !strings.Contains(w.Body.String(), "mails about this issue") || strings.Contains(w.Body.String(), "Too hot") {
		t.Errorf("opened: %d, stopped %t: %s", w.Code, stopped(), w.Body)
	}
	if w := stranger.send(http.MethodPost, link+"x", url.Values{"List-Unsubscribe": {"One-Click"}}); w.Code != http.StatusNotFound || stopped() {
		t.Errorf("another link: %d, stopped %t", w.Code, stopped())
	}
	if w := stranger.send(http.MethodPost, link, url.Values{"List-Unsubscribe": {"One-Click"}}); w.Code != http.StatusOK || !stopped() {
		t.Errorf("sent: %d, stopped %t: %s", w.Code, stopped(), w.Body)
	}
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	if _, err := i.DB.Exec(t.Context(), `delete from unsubscriptions`); err != nil {
		t.Fatal(err)
	}
	if s := b.submit(b.get(link), link, nil); !s.says("Done. You get no more mails about this issue.") || !stopped() {
		t.Errorf("by who is signed in: %d %s", s.Code, s.Body)
	}

	// What became of mails stands on the page.
	if s := b.get(notificationsPage); s.says("sends no mail") || s.says("refused") {
		t.Errorf("%s", s.Body)
	}
	sink.Answer(func(string) error { return mailtest.Refusal(550, [3]int{5, 1, 1}, "nobody of that name") })
	open()
	if s := b.get(notificationsPage); !s.says("nobody of that name") || !s.says("One mail to you could not be sent") {
		t.Errorf("%s", s.Body)
	}
	if _, err := i.DB.Exec(t.Context(), `insert into unsubscriptions (kind, subject_id, user_id, created_at) values ('pipelines', $1, $2, now())`, tool.ID, ann.ID); err != nil {
		t.Fatal(err)
	}
	resume := fmt.Sprintf("%s/declined/%d", notificationsPage, tool.ID)
	if s := b.submit(b.get(notificationsPage), resume, nil); !s.says("You are mailed about this project again.") || s.says("Mails that you stopped") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

func TestAnInstanceWithoutMailSaysSo(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	b := i.browser(t)
	b.signIn(i.withPassword(t).Username, goodPassword)
	if s := b.get(notificationsPage); !s.says("This instance sends no mail.") {
		t.Errorf("%s", s.Body)
	}
}
