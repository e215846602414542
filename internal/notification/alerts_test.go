package notification_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/alert"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/notification"
	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// watched is a project that takes alerts and mails them to those responsible: keeper, a maintainer; boss, who owns the group above; and
// friend, a maintainer of a group that the project is shared with.
type watched struct {
	*mailing
	integration          *alert.Integration
	keeper, boss, friend *user.User
}

func newWatched(t testing.TB) *watched {
	t.Helper()
	w := &watched{mailing: newMailing(t)}
	w.keeper, w.boss, w.friend = usertest.New(t, w.DB, usertest.Named("keeper")), usertest.New(t, w.DB, usertest.Named("boss")), usertest.New(t, w.DB, usertest.Named("friend"))
	developer := usertest.New(t, w.DB, usertest.Named("developer"))
	projecttest.Join(t, w.DB, w.tool, w.keeper, access.Maintainer)
	projecttest.Join(t, w.DB, w.tool, developer, access.Developer)
	grouptest.Join(t, w.DB, w.house, w.boss, access.Owner)
	for name, role := range map[string]access.Role{"strong": access.Maintainer, "weak": access.Developer} {
		g := grouptest.New(t, w.DB, grouptest.Named(name))
		u := w.friend
		if name == "weak" {
			u = usertest.New(t, w.DB, usertest.Named("distant"))
		}
		grouptest.Join(t, w.DB, g, u, access.Owner)
		w.exec(t, `insert into shares (project_id, group_id, access_level, created_at) values ($1, $2, $3, now())`, w.tool.ID, g.ID, role)
	}
	w.settings(t, alert.Settings{SendEmail: true})
	in, err := w.Alerts.Create(t.Context(), access.Actor{Person: w.keeper.Person()}, w.tool, alert.Integration{Kind: alert.HTTP, Name: "probe", Active: true})
	if err != nil {
		t.Fatal(err)
	}
	w.integration = in
	return w
}

func (w *watched) settings(t testing.TB, to alert.Settings) {
	t.Helper()
	if err := w.Alerts.Set(t.Context(), access.Actor{Person: w.keeper.Person()}, w.tool, to); err != nil {
		t.Fatal(err)
	}
}

// fires sends an alert.
func (w *watched) fires(t testing.TB, payload string) {
	t.Helper()
	if _, err := w.Alerts.Take(t.Context(), w.integration, []byte(payload)); err != nil {
		t.Fatal(err)
	}
}

// found has people told of alerts, each job twice, and returns the jobs that would mail them.
func (w *watched) found(t testing.TB) []notification.MailArgs {
	t.Helper()
	for _, args := range jobs[alert.TellArgs](t, w.mailing, "alert_tell") {
		for range 2 {
			if err := w.Alerts.Tell(t.Context(), args); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range jobs[notification.AlertsArgs](t, w.mailing, "notification_alerts") {
		for range 2 {
			if err := w.Notifications.SpreadAlerts(t.Context(), args); err != nil {
				t.Fatal(err)
			}
		}
	}
	return jobs[notification.MailArgs](t, w.mailing, "notification_mail")
}

func (w *watched) wantAlerts(t testing.TB, what string, want ...string) []mailtest.Received {
	t.Helper()
	got := w.send(t, w.found(t))
	if diff := cmp.Diff(append([]string{}, want...), who(got)); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
	if left := value[int](t, w.DB, `select (select count(*) from mails) + (select count(*) from mail_events)`); left > 0 {
		t.Errorf("%s: %d rows are left", what, left)
	}
	return got
}

func TestOwnersAndMaintainersAreMailedAboutNewAlerts(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fires(t, `{"title":"Disk is full","severity":"high","fingerprint":"f","description":"see https://evil.example/x\nBcc: all"}`)
	w.fires(t, `{"title":"Disk is full","fingerprint":"f"}`)
	if n := value[int](t, w.DB, `select count(*) from river_job where kind = 'alert_tell'`); n != 1 {
		t.Errorf("%d jobs", n)
	}
	got := w.wantAlerts(t, "a new one", "boss", "friend", "keeper")
	m := got[0]
	for _, part := range []string{
		"Alert #1: Disk is full", "Severity: high", "https://forge.example/house/tool/-/alert_management/1/details", "because you are responsible for this project",
		"Stop mails about alerts of this project: https://forge.example/-/unsubscribe/",
	} {
		if !strings.Contains(m.Text, part) {
			t.Errorf("%q is not in %s", part, m.Text)
		}
	}
	if !strings.HasSuffix(m.Subject, " | Alert: Disk is full") || strings.Contains(m.Text, "evil.example") || strings.Contains(m.HTML, "evil.example") {
		t.Errorf("%s: %s", m.Subject, m.Text)
	}
	w.wantAlerts(t, "nothing new")
	w.fires(t, `{"title":"Disk is full","fingerprint":"f","end_time":"2024-05-01"}`)
	w.wantAlerts(t, "its end")
	w.settings(t, alert.Settings{})
	w.fires(t, `{"title":"quiet"}`)
	if n := value[int](t, w.DB, `select count(*) from river_job where kind like 'alert%'`); n != 0 {
		t.Errorf("%d jobs though it is switched off", n)
	}
	w.settings(t, alert.Settings{SendEmail: true})
	w.fires(t, `{"title":"loud"}`)
	if got := w.wantAlerts(t, "switched on again", "boss", "friend", "keeper"); len(got) == 3 && strings.Contains(got[0].Text, "quiet") {
		t.Errorf("what came before is told: %s", got[0].Text)
	}
	w.fires(t, `{"title":"late"}`)
	w.settings(t, alert.Settings{})
	w.wantAlerts(t, "switched off before the job ran")
}

// DO-10: a storm of alerts is one mail for each of those responsible, which names some.
func TestDO10_AStormOfAlertsIsOneMail(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	for i := range 35 {
		w.fires(t, fmt.Sprintf(`{"title":"storm %d"}`, i+1))
	}
	got := w.wantAlerts(t, "a storm", "boss", "friend", "keeper")
	if m := got[0]; !strings.HasSuffix(m.Subject, " | 35 alerts: storm 1") || !strings.Contains(m.Text, "Alert #20: ") || strings.Contains(m.Text, "Alert #21: ") ||
		!strings.Contains(m.Text, "There are 15 more.") {
		t.Errorf("%s: %s", m.Subject, m.Text)
	}
}

// PE-04: rights and wishes are asked again when a mail is sent.
func TestPE04_WhoIsNoMaintainerAnyMoreIsToldOfNoAlert(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fires(t, `{"title":"a"}`)
	all := w.found(t)
	w.exec(t, `update members set access_level = 30 where user_id = $1`, w.keeper.ID)
	w.exec(t, `delete from members where user_id = $1`, w.friend.ID)
	w.exec(t, `insert into notification_settings (user_id, project_id, level, created_at, updated_at) values ($1, $2, 'disabled', now(), now())`, w.boss.ID, w.tool.ID)
	if got := w.send(t, all); len(all) != 3 || len(got) != 0 {
		t.Errorf("%d of %d mails were sent, to %v", len(got), len(all), who(got))
	}
	w.fires(t, `{"title":"b"}`)
	w.wantAlerts(t, "nobody is left")
	w.exec(t, `update notification_settings set level = 'mention' where user_id = $1`, w.boss.ID)
	w.fires(t, `{"title":"c"}`)
	w.wantAlerts(t, "mentions alone")
	w.exec(t, `update notification_settings set level = 'participating' where user_id = $1`, w.boss.ID)
	w.exec(t, `update users set state = 'blocked' where id = $1`, w.boss.ID)
	w.fires(t, `{"title":"d"}`)
	w.wantAlerts(t, "blocked")
}

func TestMailsAboutAlertsCanBeDeclined(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.fires(t, `{"title":"a"}`)
	late := w.found(t)
	w.fires(t, `{"title":"b"}`)
	first := w.send(t, late)
	_, rest, _ := strings.Cut(first[0].Text, "/-/unsubscribe/")
	link, _, _ := strings.Cut(rest, "\n")
	declining := who(first[:1])[0]
	if what, err := w.Notifications.Unsubscribing(t.Context(), link); err != nil || what != "mails about alerts of this project" {
		t.Errorf("%q, %v", what, err)
	}
	waiting := w.found(t)
	if err := w.Notifications.Unsubscribe(t.Context(), link); err != nil {
		t.Fatal(err)
	}
	if got := who(w.send(t, waiting)); len(got) != 2 || strings.Contains(strings.Join(got, " "), declining) {
		t.Errorf("%s declined, and these are mailed: %v", declining, got)
	}
	w.fires(t, `{"title":"c"}`)
	if all := w.found(t); len(all) != 2 {
		t.Errorf("%d are asked", len(all))
	}
	u := map[string]*user.User{"keeper": w.keeper, "boss": w.boss, "friend": w.friend}[declining]
	by := access.Actor{Person: u.Person()}
	if all, err := w.Notifications.DeclinedBy(t.Context(), by, 10); err != nil || len(all) != 1 || !all[0].Alerts || all[0].Project.ID != w.tool.ID {
		t.Errorf("%+v, %v", all, err)
	}
	if err := w.Notifications.Undecline(t.Context(), by, w.tool.ID); err != nil {
		t.Fatal(err)
	}
	w.fires(t, `{"title":"d"}`)
	if all := w.found(t); len(all) != 3 {
		t.Errorf("%d are asked", len(all))
	}
}
