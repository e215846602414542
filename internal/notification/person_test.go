package notification_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/notification"
	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/signin"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func (w *mailing) remind(t testing.TB) {
	t.Helper()
	for range 2 { // a job may run twice
		if err := w.Notifications.Remind(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *mailing) due(t testing.TB, m made, days int) {
	t.Helper()
	w.exec(t, `update issues set due_date = $2::date where id = $1`, m.ID, w.Now().UTC().AddDate(0, 0, days))
}

func TestPeopleAreToldOnceOfAnIssueThatIsDueTomorrow(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	m := w.open(t, w.ann, map[string]any{"assignee_ids": []int64{w.ben.ID}})
	for title, days := range map[string]int{"Today": 0, "Next": 2} {
		w.due(t, w.open(t, w.ann, map[string]any{"title": title}), days)
	}
	done := w.open(t, w.ann, map[string]any{"title": "Done"})
	w.due(t, done, 1)
	w.As(t, w.ann).Do(t, "PUT", w.path(done), map[string]any{"state_event": "close"}).WantStatus(t, http.StatusOK)
	w.due(t, m, 1)
	w.mailed(t)
	chosen := usertest.New(t, w.DB, usertest.Named("chosen"))
	projecttest.Join(t, w.DB, w.tool, chosen, access.Guest)
	w.As(t, chosen).Do(t, "PUT", ofProject(w.tool), map[string]any{"level": "custom", "issue_due": true}).WantStatus(t, http.StatusOK)
	w.As(t, w.cleo).Do(t, "PUT", ofProject(w.tool), map[string]any{"level": "custom", "new_note": true}).WantStatus(t, http.StatusOK)
	w.remind(t)
	if n := value[int](t, w.DB, `select count(*) from mail_events`); n != 1 {
		t.Errorf("%d are written down", n)
	}
	got := w.wantMails(t, "the author, the assignee and who chose it; not who watches", "ann", "ben", "chosen")
	want := "This issue is due on " + w.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly) + "."
	if got[0].Header.Get("Subject") != "Re: "+w.tool.Name+" | Too hot (#1)" || !strings.Contains(got[0].Text, want) || !strings.Contains(got[0].HTML, want) ||
		!strings.Contains(got[0].Text, "because you take part in this issue") {
		t.Errorf("%s: %s", got[0].Subject, got[0].Text)
	}
	w.remind(t)
	w.wantMails(t, "again on the same day")
	w.due(t, m, 2)
	w.Turn(24 * time.Hour)
	w.remind(t)
	w.wantMails(t, "another date, with the one that was due later all along", "ann", "ann", "ben", "chosen", "chosen")
	w.Turn(-24 * time.Hour)
	w.due(t, m, 1)
	w.remind(t)
	w.wantMails(t, "the date of before, of which they know")
	w.Turn(72 * time.Hour)
	if err := w.Notifications.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := value[int](t, w.DB, `select (select count(*) from mail_reminders) + (select count(*) from mail_authors)`); left != 0 {
		t.Errorf("%d notes are left of what is over", left)
	}
}

func TestEM03_WhatIsDueIsAskedAgainWhenItIsSent(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]string{
		"closed by now":      `update issues set closed = true, closed_at = now() where $1::bigint > 0`,
		"due later by now":   `update issues set due_date = due_date + 1 where $1::bigint > 0`,
		"without a date now": `update issues set due_date = null where $1::bigint > 0`,
		"no member any more": `delete from members where user_id = $1`,
		"blocked":            `update users set state = 'blocked' where id = $1`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newMailing(t)
			m := w.open(t, w.ann, nil)
			w.mailed(t)
			w.due(t, m, 1)
			w.remind(t)
			queued := w.spread(t)
			if len(queued) != 1 || queued[0].UserID != w.ann.ID {
				t.Fatalf("queued %v", queued)
			}
			w.exec(t, change, w.ann.ID)
			if got := w.send(t, queued); len(got) > 0 {
				t.Errorf("mailed %v", who(got))
			}
		})
	}
}

func TestManyIssuesThatAreDueAreFoundInParts(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.exec(t, `insert into issues (project_id, iid, author_id, title, type, due_date, created_at, updated_at)
		select $1, n, $2, 'x', 'issue', $3::date, now(), now() from generate_series(1, 450) n`, w.tool.ID, w.ann.ID, w.Now().UTC().AddDate(0, 0, 1))
	w.remind(t)
	if n := value[int](t, w.DB, `select count(distinct issue_id) from mail_events where event = 'issue_due'`); n != 450 {
		t.Errorf("%d of 450", n)
	}
	if n := value[int](t, w.DB, `select count(*) from mail_events`); n != 450 {
		t.Errorf("%d are written down", n)
	}
	if plan := strings.Join(values(t, w.DB, `explain select id from issues where not closed and due_date = '2026-01-01' and id > 1 order by id limit 200`), "\n"); strings.Contains(plan, "Seq Scan") {
		t.Error(plan)
	}
}

// club is an open group with an open project, in which people decide about requests.
type club struct {
	*mailing
	group   *group.Group
	project *project.Project
}

func newClub(t testing.TB) *club {
	t.Helper()
	w := &club{mailing: newMailing(t)}
	w.group = grouptest.New(t, w.DB, grouptest.Named("club"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, w.group.ID, projecttest.Named("hall"), projecttest.Visible(access.Public))
	return w
}

func (w *club) joined(t testing.TB, name string, role access.Role, daysAgo int) *user.User {
	t.Helper()
	u := usertest.New(t, w.DB, usertest.Named(name))
	projecttest.Join(t, w.DB, w.project, u, role)
	w.exec(t, `update users set last_activity_on = $2::date where id = $1`, u.ID, w.Now().UTC().AddDate(0, 0, -daysAgo))
	return u
}

func (w *club) requests() string { return fmt.Sprintf("/projects/%d/access_requests", w.project.ID) }

func (w *club) ask(t testing.TB, u *user.User) {
	t.Helper()
	w.As(t, u).Do(t, "POST", w.requests(), nil).WantStatus(t, http.StatusCreated)
}

func TestTenWhoDecideAreToldOfAnAccessRequest(t *testing.T) {
	t.Parallel()
	w := newClub(t)
	var want []string
	for n := range 12 {
		name := fmt.Sprintf("keeper%02d", n)
		w.joined(t, name, access.Maintainer, 20-n)
		if n >= 2 {
			want = append(want, name)
		}
	}
	blocked := w.joined(t, "blocked", access.Owner, 0)
	w.exec(t, `update users set state = 'blocked' where id = $1`, blocked.ID)
	w.joined(t, "developer", access.Developer, 0)
	above := usertest.New(t, w.DB, usertest.Named("above"))
	grouptest.Join(t, w.DB, w.group, above, access.Owner)
	w.ask(t, w.outside)
	w.ask(t, w.ann)
	got := w.wantMails(t, "those seen last", want...)
	if m := got[0]; !strings.Contains(m.Text, "(@outside) asks for access to this project.") || !strings.Contains(m.Text, "(@ann) asks for access") ||
		!strings.Contains(m.HTML, "(@outside) asks for access") || !strings.Contains(m.Subject, "Access to the project") || !strings.Contains(m.Text, "https://forge.example/club/hall") ||
		!strings.Contains(m.Text, "because you decide who is a member of this project") || strings.Contains(m.Text+m.HTML, "unsubscribe") || m.Header.Get("List-Unsubscribe") != "" {
		t.Errorf("%s: %s", m.Subject, m.Text)
	}
	w.exec(t, `delete from members where project_id = $1 and access_level >= 40`, w.project.ID)
	w.ask(t, w.ben)
	w.wantMails(t, "nobody decides in the project itself: the group above", "above")
	grouptest.Join(t, w.DB, w.group, usertest.New(t, w.DB, usertest.Named("steward")), access.Maintainer) // decides in projects, not in groups
	w.As(t, w.outside).Do(t, "POST", fmt.Sprintf("/groups/%d/access_requests", w.group.ID), nil).WantStatus(t, http.StatusCreated)
	if got := w.wantMails(t, "a group", "above")[0]; !strings.Contains(got.Text, "asks for access to this group.") || !strings.Contains(got.Text, "https://forge.example/club\r\n") {
		t.Error(got.Text)
	}
	mine := projecttest.New(t, w.DB, grouptest.Personal(t, w.DB, w.cleo).ID, projecttest.Named("mine"), projecttest.Visible(access.Public))
	w.As(t, w.outside).Do(t, "POST", fmt.Sprintf("/projects/%d/access_requests", mine.ID), nil).WantStatus(t, http.StatusCreated)
	w.wantMails(t, "a personal project", "cleo")
}

func TestWhoAskedIsToldWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	w := newClub(t)
	keeper := w.joined(t, "keeper", access.Maintainer, 0)
	for _, u := range []*user.User{w.outside, w.ann, w.ben} {
		w.ask(t, u)
	}
	w.mailed(t)
	of := func(u *user.User) string { return fmt.Sprintf("%s/%d", w.requests(), u.ID) }
	w.As(t, keeper).Do(t, "PUT", of(w.outside)+"/approve", map[string]any{"access_level": 20}).WantStatus(t, http.StatusCreated)
	if got := w.wantMails(t, "granted", "outside")[0]; !strings.Contains(got.Text, "Your request for access to this project was granted. Your role is Reporter.") {
		t.Error(got.Text)
	}
	w.As(t, keeper).Do(t, "DELETE", of(w.ann), nil).WantStatus(t, http.StatusNoContent)
	if got := w.wantMails(t, "declined", "ann")[0]; !strings.Contains(got.Text, "was declined.") || strings.Contains(got.Text, keeper.Name) {
		t.Error(got.Text)
	}
	w.As(t, w.ben).Do(t, "DELETE", of(w.ben), nil).WantStatus(t, http.StatusNoContent)
	w.wantMails(t, "taken back")
}

func TestEM03_AnAccessRequestIsAskedAboutAgainWhenItIsSent(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]string{
		"decided meanwhile":      `delete from members where requested_at is not null and $1::bigint > 0`,
		"a developer by now":     `update members set access_level = 30 where user_id = $1`,
		"no member any more":     `delete from members where user_id = $1`,
		"blocked":                `update users set state = 'blocked' where id = $1`,
		"not confirmed":          `update users set confirmed_at = null where id = $1`,
		"wants nothing":          `insert into notification_settings (user_id, level, created_at, updated_at) values ($1, 'disabled', now(), now())`,
		"mails are off there":    `update projects set settings = jsonb_set(settings, '{emails_disabled}', 'true') where $1::bigint > 0`,
		"mails are off above":    `update namespaces set settings = jsonb_set(settings, '{emails_disabled}', 'true') where full_path = 'club' and $1::bigint > 0`,
		"the project is deleted": `delete from projects where path = 'hall' and $1::bigint > 0`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newClub(t)
			keeper := w.joined(t, "keeper", access.Maintainer, 0)
			w.ask(t, w.outside)
			queued := w.spread(t)
			if len(queued) != 1 || queued[0].UserID != keeper.ID {
				t.Fatalf("queued %v", queued)
			}
			w.exec(t, change, keeper.ID)
			if got := w.send(t, queued); len(got) > 0 {
				t.Errorf("mailed %v: %s", who(got), got[0].Text)
			}
		})
	}
}

// What was decided is told to whom it concerns as they stand now.
func TestEM03_ADecisionIsToldAsItStands(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]string{
		"removed again":           `delete from members where user_id = $1`,
		"sees the place no more":  `update projects set visibility = 0 where path = 'hall'; delete from members where user_id = $1`,
		"wants nothing from here": `insert into notification_settings (user_id, project_id, level, created_at, updated_at) select $1, id, 'disabled', now(), now() from projects where path = 'hall'`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newClub(t)
			keeper := w.joined(t, "keeper", access.Maintainer, 0)
			w.ask(t, w.outside)
			w.mailed(t)
			w.As(t, keeper).Do(t, "PUT", fmt.Sprintf("%s/%d/approve", w.requests(), w.outside.ID), nil).WantStatus(t, http.StatusCreated)
			queued := w.spread(t)
			for sql := range strings.SplitSeq(change, ";") {
				if strings.Contains(sql, "$1") {
					w.exec(t, sql, w.outside.ID)
				} else {
					w.exec(t, sql)
				}
			}
			if got := w.send(t, queued); len(queued) != 1 || len(got) > 0 {
				t.Errorf("queued %v, mailed %v", queued, who(got))
			}
		})
	}
}

// enters signs somebody in from elsewhere, as the way in tells of it.
func (w *mailing) enters(t testing.TB, u *user.User, address, browser string) {
	t.Helper()
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		return w.Bus.Publish(t.Context(), tx, signin.UnknownEntry{
			By: access.Actor{Person: u.Person(), Address: netip.MustParseAddr(address)}, Browser: browser, At: w.Now(),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASignInFromAnUnknownNetworkIsMailed(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.As(t, w.ann).Do(t, "PUT", everywhere, map[string]any{"level": "disabled"}).WantStatus(t, http.StatusOK)
	work := "ann@work.example"
	if _, err := w.Users.AddEmail(t.Context(), access.Actor{}, w.ann.ID, work, true); err != nil {
		t.Fatal(err)
	}
	w.As(t, w.ann).Do(t, "PUT", everywhere, map[string]any{"notification_email": work}).WantStatus(t, http.StatusOK)
	w.enters(t, w.ann, "203.0.113.7", "Firefox\r\n<script>alert(1)</script> https://evil.example/x")
	got := w.wantMails(t, "whatever they chose, to the primary address", "ann")[0]
	if got.To[0] != "ann@example.com" || !strings.Contains(got.Text, "Address: 203.0.113.7") || !strings.Contains(got.Text, w.Now().UTC().Format("2006-01-02 15:04")) ||
		!strings.Contains(got.HTML, "203.0.113.7") || strings.Contains(got.HTML, "<script") || strings.Contains(got.Text+got.HTML, "https://evil") || strings.Contains(got.Text, "evil.example") {
		t.Errorf("%v: %s\n%s", got.To, got.Text, got.HTML)
	}
	if !strings.Contains(got.Text, "https://forge.example/-/user_settings/active_sessions") || strings.Contains(got.Text, "Stop ") {
		t.Error(got.Text)
	}
	w.enters(t, w.ann, "203.0.113.7", "")
	w.enters(t, w.ann, "2001:db8::1", "")
	if got := w.wantMails(t, "two at once are one mail", "ann")[0]; !strings.Contains(got.Text, "203.0.113.7") || !strings.Contains(got.Text, "2001:db8::1") {
		t.Error(got.Text)
	}
	w.enters(t, w.ben, "203.0.113.7", "")
	queued := w.spread(t)
	w.exec(t, `update users set state = 'banned' where id = $1`, w.ben.ID)
	if got := w.send(t, queued); len(got) > 0 {
		t.Errorf("mailed %v", who(got))
	}
	root := usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.As(t, root).Do(t, "PUT", "/application/settings", map[string]any{"notify_on_unknown_sign_in": false}).WantStatus(t, http.StatusOK)
	w.enters(t, w.ann, "203.0.113.8", "")
	w.wantMails(t, "the instance does not tell of it")
}

// token gives somebody a token that expires in so many days.
func (w *mailing) token(t testing.TB, u *user.User, name string, days int) int64 {
	t.Helper()
	return value[int64](t, w.DB, `insert into personal_access_tokens (user_id, name, digest, scopes, impersonation, expires_at, created_at, updated_at)
		values ($1, $2, sha256(convert_to($2::text || random()::text, 'utf8')), '{api}', false, $3, now(), now()) returning id`,
		u.ID, name, w.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, days))
}

func TestPeopleAreToldOnceOfTokensThatExpireWithinAWeek(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.As(t, w.ben).Do(t, "PUT", everywhere, map[string]any{"level": "disabled"}).WantStatus(t, http.StatusOK)
	for name, days := range map[string]int{"deploy https://evil.example": 7, "backup": 1, "later": 8, "gone": 0} {
		w.token(t, w.ann, name, days)
	}
	w.exec(t, `update personal_access_tokens set revoked_at = now() where id = $1`, w.token(t, w.ann, "revoked", 3))
	w.exec(t, `update personal_access_tokens set impersonation = true where id = $1`, w.token(t, w.ann, "made by others", 3))
	w.token(t, w.ben, "mirror", 3)
	w.token(t, w.cleo, "x", 3)
	w.token(t, w.watcher, "x", 3)
	w.exec(t, `update users set state = 'blocked' where id = $1`, w.cleo.ID)
	w.exec(t, `update users set kind = 'project_bot' where id = $1`, w.watcher.ID)
	w.remind(t)
	got := w.wantMails(t, "whose expire", "ann", "ben")
	at := slices.IndexFunc(got, func(m mailtest.Received) bool { return m.To[0] == "ann@example.com" })
	text := got[at].Text
	for _, want := range []string{
		"Your personal access token backup expires on " + w.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly), "https://forge.example/-/user_settings/personal_access_tokens",
		"token deploy https_evil_example expires on " + w.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing: %s", want, text)
		}
	}
	for _, never := range []string{"later", "gone", "revoked", "made by others", "mirror"} {
		if strings.Contains(text, never+" expires") {
			t.Errorf("%q is named: %s", never, text)
		}
	}
	w.Turn(24 * time.Hour)
	w.remind(t)
	if got := w.wantMails(t, "a day later", "ann")[0]; strings.Contains(got.Text, "deploy") || !strings.Contains(got.Text, "token later expires") {
		t.Error(got.Text)
	}
	revoked := w.token(t, w.ben, "second", 2)
	w.remind(t)
	queued := w.spread(t)
	w.exec(t, `update personal_access_tokens set revoked_at = now() where id = $1`, revoked)
	if got := w.send(t, queued); len(queued) != 1 || len(got) > 0 {
		t.Errorf("queued %v, mailed %v", queued, who(got))
	}
}

func TestManyTokensThatExpireAreFoundInParts(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.exec(t, `insert into personal_access_tokens (user_id, name, digest, scopes, impersonation, expires_at, created_at, updated_at)
		select $1, 't' || n, sha256(convert_to(n::text, 'utf8')), '{api}', false, $2::timestamptz + (n % 3) * interval '1 day', now(), now() from generate_series(1, 450) n`,
		w.ann.ID, w.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2))
	w.remind(t)
	if n := value[int](t, w.DB, `select count(distinct subject_id) from mails where user_id = $1 and thread = 'account'`, w.ann.ID); n != 450 {
		t.Errorf("%d of 450", n)
	}
	if n := value[int](t, w.DB, `select count(*) from mails`); n != 450 {
		t.Errorf("%d are queued", n)
	}
	if got := w.mailed(t); len(got) != 9 {
		t.Errorf("%d mails of fifty tokens each", len(got))
	}
}

func TestAReminderThatIsUndoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.token(t, w.ann, "x", 3)
	w.exec(t, `create function refuse_job() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$`)
	w.exec(t, `create trigger refuse before insert on river_job for each row when (new.kind like 'notification%') execute function refuse_job()`)
	if err := w.Notifications.Remind(t.Context()); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Fatal(err)
	}
	w.exec(t, `drop trigger refuse on river_job`)
	w.remind(t)
	w.wantMails(t, "after that", "ann")
}

func TestAPlaceWhoseMailsAreOffMailsNobody(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	root := usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	keeper := usertest.New(t, w.DB, usertest.Named("keeper"))
	projecttest.Join(t, w.DB, w.tool, keeper, access.Maintainer)
	switches := map[string]string{"/projects/": fmt.Sprint(w.tool.ID), "/groups/": fmt.Sprint(w.house.ID)}
	for kind, id := range switches {
		off := func(off bool) {
			t.Helper()
			w.As(t, root).Do(t, "PUT", kind+id, map[string]any{"emails_disabled": off}).WantStatus(t, http.StatusOK)
		}
		before := w.open(t, w.ann, nil)
		queued := w.spread(t)
		if len(queued) == 0 {
			t.Fatal("nothing is queued")
		}
		off(true)
		if got := w.send(t, queued); len(got) > 0 {
			t.Errorf("%s: turned off meanwhile, and mailed %v", kind, who(got))
		}
		w.comment(t, w.ann, before, "You there, @watcher")
		w.due(t, before, 1)
		w.remind(t)
		w.pipeline(t, w.ann, "failed")
		w.wantMails(t, kind+": comments, mentions, due dates, pipelines")
		w.exec(t, `insert into members (project_id, user_id, access_level, requested_at, created_at, updated_at) values ($1, $2, 30, now(), now(), now())`, w.tool.ID, w.outside.ID)
		w.As(t, keeper).Do(t, "PUT", fmt.Sprintf("/projects/%d/access_requests/%d/approve", w.tool.ID, w.outside.ID), nil).WantStatus(t, http.StatusCreated)
		w.enters(t, w.ann, "203.0.113.7", "")
		w.wantMails(t, kind+": what concerns somebody themselves", "ann", "outside")
		w.exec(t, `delete from members where user_id = $1`, w.outside.ID)
		off(false)
		w.comment(t, w.ann, before, "Again")
		if got := who(w.mailed(t)); !slices.Contains(got, "watcher") {
			t.Errorf("%s: on again, and mailed %v", kind, got)
		}
	}
}

func TestEM05_OneAccountCausesAFixedPartOfAllMails(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	caused := func(by *user.User, n int) {
		t.Helper()
		w.exec(t, `insert into mail_authors (by_id, hour, mails) values ($1, date_trunc('hour', $2::timestamptz), $3)
			on conflict (by_id, hour) do update set mails = $3`, by.ID, w.Now(), n)
	}
	m := w.open(t, w.ann, map[string]any{"assignee_ids": []int64{w.cleo.ID}})
	w.mailed(t)
	if n := value[int](t, w.DB, `select mails from mail_authors where by_id = $1`, w.ann.ID); n != 2 {
		t.Errorf("%d are counted", n)
	}
	caused(w.ann, 19_997)
	w.comment(t, w.ann, m, "To three of you, @ben")
	w.wantMails(t, "all of what may be", "ben", "cleo", "watcher")
	caused(w.ann, 19_998)
	w.comment(t, w.ann, m, "To two of you, @ben")
	w.wantMails(t, "who is named and who takes part come first", "ben", "cleo")
	w.comment(t, w.ann, m, "To nobody, @ben")
	w.wantMails(t, "nothing is left")
	if n := w.Notifications.Dropped(); n != 4 {
		t.Errorf("%d are said to be dropped", n)
	}
	w.comment(t, w.ben, m, "From another")
	w.wantMails(t, "another author", "ann", "cleo", "watcher")
	caused(w.ben, 20_000)
	w.pipeline(t, w.ben, "failed")
	w.wantMails(t, "a pipeline of theirs")
	w.Turn(time.Hour)
	w.comment(t, w.ann, m, "An hour later")
	w.wantMails(t, "an hour later", "ben", "cleo", "watcher")
}

// What one account causes leaves half of the workers to others, also while people are found.
func TestEM05_ASpreadIsTheShareOfItsAuthor(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.open(t, w.ann, nil)
	w.pipeline(t, w.ben, "failed")
	var shares []int64
	for _, text := range values(t, w.DB, `select args::text from river_job where kind = 'notification_spread' order by id`) {
		var args notification.SpreadArgs
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			t.Fatal(err)
		}
		_, share := args.Apart()
		shares = append(shares, share)
	}
	if diff := cmp.Diff([]int64{w.ann.ID, w.ben.ID}, shares); diff != "" {
		t.Error(diff)
	}
}

// Somebody who may read the project where it is now must not learn where it was.
func TestPE11_AMailAboutAMovedProjectDoesNotNameItsFormerPath(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	root := usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	yard := grouptest.New(t, w.DB, grouptest.Named("yard"))
	grouptest.Join(t, w.DB, yard, w.outside, access.Guest)
	w.As(t, root).Do(t, "PUT", fmt.Sprintf("/projects/%d/transfer", w.tool.ID), map[string]any{"namespace": "yard"}).WantStatus(t, http.StatusOK)
	for _, got := range w.wantMails(t, "moved", "outside", "watcher") {
		if !strings.Contains(got.Text, "yard/tool") || strings.Contains(got.Raw, "house") {
			t.Errorf("%v: %s", got.To, got.Raw)
		}
	}
	left, err := postgres.Values[string](t.Context(), w.DB, `select coalesce(detail, '') from mails union all select coalesce(detail, '') from mail_events`)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestEM02_NamesInMailsToOnePersonAreTextInOneLine(t *testing.T) {
	t.Parallel()
	w := newClub(t)
	w.joined(t, "keeper", access.Maintainer, 0)
	for _, hostile := range []string{
		`<a href="https://evil.example">x</a>`, "https://evil.example/x", `"><script>alert(1)</script>`, "x\r\nBcc: evil@example.org", "[x](https://evil.example)", `"Ann" <evil@example.org>`,
	} {
		w.exec(t, `update users set name = $2 where id = $1`, w.outside.ID, hostile)
		w.exec(t, `update projects set name = $2 where id = $1`, w.project.ID, hostile)
		w.exec(t, `delete from members where user_id = $1`, w.outside.ID)
		w.ask(t, w.outside)
		w.enters(t, w.ann, "203.0.113.7", hostile)
		w.token(t, w.ben, hostile, 3)
		w.remind(t)
		for _, got := range w.wantMails(t, hostile, "ann", "ben", "keeper") {
			head, _, _ := strings.Cut(got.Raw, "\r\n\r\n")
			from, err := got.Header.AddressList("From")
			if err != nil || len(from) != 1 || from[0].Address != "noreply@forge.example" || got.Header.Get("Bcc") != "" || len(got.To) != 1 ||
				strings.Contains(strings.ReplaceAll(head, "\r\n", ""), "\n") {
				t.Errorf("%q: %v, %v, %s", hostile, from, err, head)
			}
			if strings.Contains(got.HTML, `href="https://evil`) || strings.Contains(got.HTML, "<script") || strings.Contains(got.Text, "https://evil") || strings.Contains(got.Text, "evil@") {
				t.Errorf("%q: %s\n%s", hostile, got.Text, got.HTML)
			}
		}
	}
}
