package notification_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/notification"
	"stithy/internal/pipeline"
	"stithy/internal/platform/mail/mailtest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// mailing is a private project with people in it, and the server that gets their mail.
type mailing struct {
	*apptest.Instance
	sink                    *mailtest.Sink
	house                   *group.Group
	tool                    *project.Project
	ann, ben, cleo, watcher *user.User // reporters, and a guest who watches
	outside                 *user.User
}

func newMailing(t testing.TB) *mailing {
	t.Helper()
	sink := mailtest.New(t)
	return newMailingBy(t, sink, sink.URL.Reveal())
}

// newMailingBy sends mails to a server by an address of it.
func newMailingBy(t testing.TB, sink *mailtest.Sink, server string) *mailing {
	t.Helper()
	w := &mailing{Instance: apptest.New(t, "STITHY_SMTP_URL="+server), sink: sink}
	w.house = grouptest.New(t, w.DB, grouptest.Named("house"))
	w.tool = projecttest.New(t, w.DB, w.house.ID, projecttest.Named("tool"))
	named := func(name string, role access.Role) *user.User {
		u := usertest.New(t, w.DB, usertest.Named(name))
		if role > access.NoRole {
			projecttest.Join(t, w.DB, w.tool, u, role)
		}
		return u
	}
	w.ann, w.ben, w.cleo = named("ann", access.Reporter), named("ben", access.Reporter), named("cleo", access.Reporter)
	w.watcher, w.outside = named("watcher", access.Guest), named("outside", access.NoRole)
	w.set(t, w.watcher, "watch")
	w.set(t, w.outside, "watch")
	return w
}

// set chooses a level for the project, whoever could.
func (w *mailing) set(t testing.TB, u *user.User, level string) {
	t.Helper()
	w.exec(t, `insert into notification_settings (user_id, project_id, level, created_at, updated_at) values ($1, $2, $3, now(), now())
		on conflict (project_id, user_id) where project_id is not null do update set level = $3`, u.ID, w.tool.ID, level)
}

func (w *mailing) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

type made struct {
	ID  int64 `json:"id"`
	IID int   `json:"iid"`
}

func (w *mailing) open(t testing.TB, by *user.User, attributes map[string]any) made {
	t.Helper()
	body := map[string]any{"title": "Too hot"}
	for k, v := range attributes {
		body[k] = v
	}
	return httpapitest.JSON[made](t, w.As(t, by).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", w.tool.ID), body).WantStatus(t, http.StatusCreated))
}

func (w *mailing) path(m made) string { return fmt.Sprintf("/projects/%d/issues/%d", w.tool.ID, m.IID) }

func (w *mailing) comment(t testing.TB, by *user.User, m made, text string) {
	t.Helper()
	w.As(t, by).Do(t, "POST", w.path(m)+"/notes", map[string]any{"body": text}).WantStatus(t, http.StatusCreated)
}

// jobs takes the jobs of a kind out of the queue.
func jobs[A any](t testing.TB, w *mailing, kind string) (all []A) {
	t.Helper()
	rows, err := postgres.Values[string](t.Context(), w.DB, `with taken as (delete from river_job where kind = $1 returning id, args) select args::text from taken order by id`, kind)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		var args A
		if err := json.Unmarshal([]byte(row), &args); err != nil {
			t.Fatal(err)
		}
		all = append(all, args)
	}
	return all
}

// spread finds the people of what happened, and returns the jobs that would mail them.
func (w *mailing) spread(t testing.TB) []notification.MailArgs {
	t.Helper()
	for _, args := range jobs[notification.SpreadArgs](t, w, "notification_spread") {
		for range 2 { // a job may run twice
			if err := w.Notifications.Spread(t.Context(), args); err != nil {
				t.Fatal(err)
			}
		}
	}
	return jobs[notification.MailArgs](t, w, "notification_mail")
}

// send runs jobs, each twice, and returns what the server got from them.
func (w *mailing) send(t testing.TB, all []notification.MailArgs) []mailtest.Received {
	t.Helper()
	before := len(w.sink.All())
	for _, args := range all {
		for range 2 {
			if err := w.Notifications.Send(t.Context(), args); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w.sink.All()[before:]
}

// mailed is what the server gets of all that happened.
func (w *mailing) mailed(t testing.TB) []mailtest.Received {
	t.Helper()
	return w.send(t, w.spread(t))
}

// who are the names before the addresses that mails went to, sorted.
func who(all []mailtest.Received) []string {
	names := []string{}
	for _, m := range all {
		for _, to := range m.To {
			name, _, _ := strings.Cut(to, "@")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *mailing) wantMails(t testing.TB, what string, want ...string) []mailtest.Received {
	t.Helper()
	got := w.mailed(t)
	if diff := cmp.Diff(append([]string{}, want...), who(got)); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
	left, err := postgres.Value[int](t.Context(), w.DB, `select (select count(*) from mails) + (select count(*) from mail_events)`)
	if err != nil || left > 0 {
		t.Errorf("%s: %d rows are left, %v", what, left, err)
	}
	return got
}

func TestWhoIsMailedAboutAnIssue(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	m := w.open(t, w.ann, map[string]any{"assignee_ids": []int64{w.ben.ID}})
	w.wantMails(t, "a new one: the assignee and who watches, not the author nor who may not read it", "ben", "watcher")
	w.comment(t, w.cleo, m, "Same here")
	w.wantMails(t, "a comment: also the author, not the commenter", "ann", "ben", "watcher")
	w.As(t, w.ann).Do(t, "PUT", w.path(m), map[string]any{"state_event": "close"}).WantStatus(t, http.StatusOK)
	w.wantMails(t, "closed: also who commented", "ben", "cleo", "watcher")
	w.As(t, w.ben).Do(t, "PUT", w.path(m), map[string]any{"state_event": "reopen"}).WantStatus(t, http.StatusOK)
	w.wantMails(t, "reopened", "ann", "cleo", "watcher")
	w.set(t, w.ben, "mention")
	w.set(t, w.watcher, "disabled")
	w.As(t, w.ann).Do(t, "PUT", w.path(m), map[string]any{"assignee_ids": []int64{w.cleo.ID}}).WantStatus(t, http.StatusOK)
	got := w.wantMails(t, "given to another: who has it and who had it", "ben", "cleo")
	if !strings.Contains(got[0].Text, "assigned this issue. It is Cleo") {
		t.Errorf("%s", got[0].Text)
	}
	w.comment(t, w.ann, m, "Nothing new")
	w.wantMails(t, "who wants mentions alone, or nothing", "cleo")
	w.comment(t, w.ann, m, "What do you say, @ben and @watcher and @outside?")
	w.wantMails(t, "mentioned", "ben", "cleo")
	w.As(t, w.ann).Do(t, "PUT", w.path(m), map[string]any{"title": "Far too hot"}).WantStatus(t, http.StatusOK)
	w.wantMails(t, "another title")
	w.set(t, w.watcher, "watch")
	w.As(t, w.ann).Do(t, "PUT", w.path(m), map[string]any{"description": "for @watcher"}).WantStatus(t, http.StatusOK)
	w.wantMails(t, "a text that names somebody later", "watcher")
}

func TestSomebodyWhoWatchesEverywhereHearsOfProjectsThatTheyAreIn(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.set(t, w.watcher, "disabled")
	for _, u := range []*user.User{w.cleo, w.outside} {
		w.As(t, u).Do(t, "PUT", everywhere, map[string]any{"level": "watch"}).WantStatus(t, http.StatusOK)
	}
	w.exec(t, `delete from notification_settings where user_id = $1 and project_id is not null`, w.outside.ID)
	above := usertest.New(t, w.DB, usertest.Named("above"))
	grouptest.Join(t, w.DB, w.house, above, access.Guest)
	w.As(t, above).Do(t, "PUT", everywhere, map[string]any{"level": "custom", "new_issue": true}).WantStatus(t, http.StatusOK)
	invited := grouptest.New(t, w.DB, grouptest.Named("guests"))
	through := usertest.New(t, w.DB, usertest.Named("through"))
	grouptest.Join(t, w.DB, invited, through, access.Guest)
	projecttest.Share(t, w.DB, w.tool, invited, access.Guest)
	w.As(t, through).Do(t, "PUT", everywhere, map[string]any{"level": "watch"}).WantStatus(t, http.StatusOK)
	w.exec(t, `insert into notification_settings (user_id, namespace_id, level, created_at, updated_at) values ($1, $2, 'watch', now(), now())`, w.ben.ID, w.house.ID)
	m := w.open(t, w.ann, nil)
	w.wantMails(t, "a new issue", "above", "ben", "cleo", "through")
	w.comment(t, w.ann, m, "More")
	w.wantMails(t, "an event that was not chosen", "ben", "cleo", "through")
}

func TestEM03_WhatIsConfidentialOrInternalIsMailedToThoseWhoReadItAlone(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.set(t, w.ben, "watch")
	m := w.open(t, w.ann, map[string]any{"confidential": true, "description": "for @watcher and @cleo"})
	w.wantMails(t, "a confidential issue: not to the guest", "ben", "cleo")
	open := w.open(t, w.ann, map[string]any{"title": "Open"})
	w.wantMails(t, "an open one", "ben", "watcher")
	w.As(t, w.ann).Do(t, "POST", w.path(open)+"/notes", map[string]any{"body": "among us, @watcher", "internal": true}).WantStatus(t, http.StatusCreated)
	w.wantMails(t, "an internal comment", "ben")
	_ = m
}

func TestEM03_WhoMayNotReadItAnyMoreWhenItIsSentGetsNothing(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]string{
		"no member any more":   `delete from members where user_id = $1`,
		"blocked":              `update users set state = 'blocked' where id = $1`,
		"banned":               `update users set state = 'banned' where id = $1`,
		"deactivated":          `update users set state = 'deactivated' where id = $1`,
		"not confirmed":        `update users set confirmed_at = null where id = $1`,
		"a bot":                `update users set kind = 'project_bot' where id = $1`,
		"confidential by now":  `update issues set confidential = true where $1::bigint > 0`,
		"deleted by now":       `delete from issues where $1::bigint > 0`,
		"issues are off":       `update projects set features = jsonb_set(features, '{issues}', '"disabled"') where $1::bigint > 0`,
		"another level by now": `update notification_settings set level = 'disabled' where user_id = $1`,
		"unsubscribed by now":  `insert into unsubscriptions select 'issue', i.id, $1, now() from issues i`,
		"the account is gone":  `delete from users where id = $1`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newMailing(t)
			w.set(t, w.cleo, "disabled")
			w.open(t, w.ann, nil)
			queued := w.spread(t)
			if len(queued) != 1 || queued[0].UserID != w.watcher.ID {
				t.Fatalf("queued %v", queued)
			}
			w.exec(t, change, w.watcher.ID)
			if got := w.send(t, queued); len(got) > 0 {
				t.Errorf("mailed %v", who(got))
			}
			if n, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from mails`); err != nil || n > 0 {
				t.Errorf("%d are left, %v", n, err)
			}
		})
	}
}

func TestAMailSaysWhatHappenedTwiceAndBelongsToItsThread(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	m := w.open(t, w.ann, map[string]any{
		"title": "Too hot", "description": "Look at **this**, #1\n\n![a picture](https://elsewhere.example/spy.png)\n\n- [x] done\n\n<script>alert(1)</script>",
	})
	got := w.wantMails(t, "new", "watcher")[0]
	id := fmt.Sprint(m.ID)
	for name, want := range map[string]string{
		"In-Reply-To": "<issue-" + id + "@forge.example>", "References": "<issue-" + id + "@forge.example>", "Auto-Submitted": "auto-generated",
		"List-Id": fmt.Sprintf("house/tool <%d.project.forge.example>", w.tool.ID), "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"X-Svc-Issue-Iid": "1", "X-Svc-Issue-Id": id, "X-Svc-Project-Path": "house/tool", "X-Svc-Project-Id": fmt.Sprint(w.tool.ID),
		"X-Svc-Notificationreason": "settings", "To": "<watcher@example.com>", "Subject": w.tool.Name + " | Too hot (#1)",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s is %q, not %q", name, value, want)
		}
	}
	from, err := got.Header.AddressList("From")
	if err != nil || from[0].Address != "noreply@forge.example" || from[0].Name != w.ann.Name {
		t.Errorf("from %v, %v", from, err)
	}
	for _, want := range []string{"opened this issue.", "Look at **this**", "https://forge.example/house/tool/-/issues/1\n", "because you watch this project", "/-/unsubscribe/"} {
		if !strings.Contains(strings.ReplaceAll(got.Text, "\r\n", "\n"), want) {
			t.Errorf("the text lacks %q: %s", want, got.Text)
		}
	}
	for _, want := range []string{
		"<strong>this</strong>", `href="https://forge.example/house/tool/-/issues/1"`, `href="https://elsewhere.example/spy.png">a picture</a>`, "☑", `lang="en"`, "max-width:640px",
	} {
		if !strings.Contains(got.HTML, want) {
			t.Errorf("the HTML lacks %q: %s", want, got.HTML)
		}
	}
	for _, never := range []string{"<script", "<img", "class=", "<link", "url("} {
		if strings.Contains(got.HTML, never) {
			t.Errorf("the HTML has %q", never)
		}
	}
	w.comment(t, w.ann, m, "More")
	next := w.wantMails(t, "comment", "watcher")[0]
	if next.Header.Get("References") != got.Header.Get("References") || next.Header.Get("Message-Id") == got.Header.Get("Message-Id") ||
		next.Header.Get("Subject") != "Re: "+got.Header.Get("Subject") || !strings.Contains(next.Text, "#note_") {
		t.Errorf("%v", next.Header)
	}
}

// A text is shown with the rights of its reader: who does not see an issue that it names finds no link to it.
func TestEM03_ATextIsShownAsItsReaderSeesIt(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.set(t, w.cleo, "watch")
	secret := w.open(t, w.ann, map[string]any{"title": "The plan", "confidential": true})
	w.mailed(t)
	w.open(t, w.ann, map[string]any{"title": "Open", "description": fmt.Sprintf("See #%d", secret.IID)})
	for _, m := range w.wantMails(t, "new", "cleo", "watcher") {
		sees := m.To[0] == "cleo@example.com"
		if linked := strings.Contains(m.HTML, fmt.Sprintf("/-/issues/%d\"", secret.IID)); linked != sees || strings.Contains(m.HTML, "The plan") && !sees {
			t.Errorf("%s finds a link: %t", m.To, linked)
		}
	}
}

func TestEM01_NoNameOrTitleBreaksOutOfAHeader(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	for n, hostile := range []string{
		"x\r\nBcc: evil@example.org", "x\nX-Evil: 1\n\nbody", `"Ann" <evil@example.org>`, "a, evil@example.org", "=?utf-8?q?=0D=0ABcc:_evil@example.org?=", "ü\u2028\u0085Bcc: x", strings.Repeat("long ", 50),
	} {
		w.exec(t, `update users set name = left($2, 120) where id = $1`, w.ann.ID, hostile)
		w.exec(t, `update projects set name = left($2, 120) where id = $1`, w.tool.ID, hostile)
		m := w.open(t, w.ann, nil)
		w.exec(t, `update issues set title = left($2, 250) where id = $1`, m.ID, hostile)
		got := w.wantMails(t, hostile, "watcher")
		if len(got) != 1 {
			t.Fatalf("%d: %v", n, who(got))
		}
		head, _, _ := strings.Cut(got[0].Raw, "\r\n\r\n")
		from, err := got[0].Header.AddressList("From")
		if err != nil || len(from) != 1 || from[0].Address != "noreply@forge.example" || got[0].Header.Get("Bcc") != "" || got[0].Header.Get("X-Evil") != "" ||
			len(got[0].To) != 1 || strings.Contains(strings.ReplaceAll(head, "\r\n", ""), "\n") {
			t.Errorf("%q: %v, %v, %s", hostile, from, err, head)
		}
	}
}

func TestEM02_NamesAndTitlesAreTextAndNoLinksInMails(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	for _, hostile := range []string{
		`<a href="https://evil.example">x</a>`, "https://evil.example/x", "evil.example", `"><script>alert(1)</script>`, "www.evil.example", "javascript:alert(1)", "[x](https://evil.example)",
	} {
		w.exec(t, `update users set name = left($2, 120) where id = $1`, w.ann.ID, hostile)
		m := w.open(t, w.ann, nil)
		w.exec(t, `update issues set title = $2 where id = $1`, m.ID, hostile)
		for _, got := range w.wantMails(t, hostile, "watcher") {
			if strings.Contains(got.HTML, `href="https://evil`) || strings.Contains(got.HTML, "<script") || strings.Contains(got.HTML, `href="javascript`) ||
				strings.Contains(got.Text, "https://evil") {
				t.Errorf("%q: %s\n%s", hostile, got.Text, got.HTML)
			}
			for line := range strings.Lines(got.Text) {
				if strings.Contains(line, "opened this issue") && strings.Contains(line, "evil.example") {
					t.Errorf("a name is an address: %q", line)
				}
			}
		}
	}
}

func TestALongTextIsCut(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	m := w.open(t, w.ann, map[string]any{"description": strings.Repeat("many words ", 90_000)})
	for range 8 {
		w.comment(t, w.ann, m, strings.Repeat("ü and more ", 20_000))
	}
	got := w.wantMails(t, "long", "watcher")
	if len(got) != 1 || len(got[0].Raw) > 500_000 || !strings.Contains(got[0].Text, "There is more of it at https://forge.example/house/tool/-/issues/1") {
		t.Fatalf("%d mails, %d bytes", len(got), len(got[0].Raw))
	}
}

func TestWhatHappensWithinAMinuteIsOneMail(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	m := w.open(t, w.ann, nil)
	w.comment(t, w.ann, m, "First thought")
	w.comment(t, w.ben, m, "Second thought, @watcher")
	w.As(t, w.ann).Do(t, "PUT", w.path(m), map[string]any{"state_event": "close"}).WantStatus(t, http.StatusOK)
	for _, args := range jobs[notification.SpreadArgs](t, w, "notification_spread") {
		if err := w.Notifications.Spread(t.Context(), args); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := postgres.All[struct {
		UserID int64
		At     time.Time
	}](t.Context(), w.DB, `select (args->>'user_id')::bigint as user_id, scheduled_at as at from river_job where kind = 'notification_mail' and args->>'user_id' = $1::text`, fmt.Sprint(w.watcher.ID))
	if err != nil || len(rows) != 1 || !rows[0].At.Equal(w.Now().Add(time.Minute)) {
		t.Fatalf("%v, %v", rows, err)
	}
	var mine []mailtest.Received
	for _, got := range w.send(t, jobs[notification.MailArgs](t, w, "notification_mail")) {
		if got.To[0] == "watcher@example.com" {
			mine = append(mine, got)
		}
	}
	if len(mine) != 1 {
		t.Fatalf("%d mails", len(mine))
	}
	at := 0
	for _, want := range []string{"opened this issue", "First thought", "mentioned you in a comment", "Second thought", "closed this issue"} {
		next := strings.Index(mine[0].Text[at:], want)
		if next < 0 || !strings.Contains(mine[0].HTML, want) {
			t.Errorf("%q is missing, or out of order: %s", want, mine[0].Text)
		}
		at += max(next, 0)
	}
}

func TestAMailGoesToTheAddressOfTheGroup(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	if _, err := w.Users.AddEmail(t.Context(), access.Actor{}, w.watcher.ID, "Watcher@Work.example", true); err != nil {
		t.Fatal(err)
	}
	work := "Watcher@Work.example"
	if _, err := w.Notifications.Update(t.Context(), w.watcher.ID, w.house.Entity(), notification.Change{Email: &work}); err != nil {
		t.Fatal(err)
	}
	w.open(t, w.ann, nil)
	got := w.mailed(t)
	if len(got) != 1 || !strings.EqualFold(got[0].To[0], work) {
		t.Fatalf("%v", who(got))
	}
	w.open(t, w.ann, nil)
	queued := w.spread(t)
	w.exec(t, `delete from email_claims where address = 'watcher@work.example'`)
	if got := w.send(t, queued); len(got) != 1 || got[0].To[0] != "watcher@example.com" {
		t.Errorf("given up: %v", got)
	}
}

// unsubscribing is the path in the link of a mail.
func unsubscribing(t testing.TB, m mailtest.Received) string {
	t.Helper()
	link := strings.Trim(m.Header.Get("List-Unsubscribe"), "<>")
	path, ok := strings.CutPrefix(link, "https://forge.example")
	if !ok || !strings.Contains(m.Text, link) || !strings.Contains(m.HTML, link) {
		t.Fatalf("the link is %q", link)
	}
	return path
}

func TestEM06_ALinkEndsTheMailsOfOnePersonAboutOneThing(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.set(t, w.cleo, "watch")
	m := w.open(t, w.ann, nil)
	var path string
	for _, got := range w.wantMails(t, "new", "cleo", "watcher") {
		if got.To[0] == "watcher@example.com" {
			path = unsubscribing(t, got)
		}
	}
	token := strings.TrimPrefix(path, "/-/unsubscribe/")
	for range 2 {
		if what, err := w.Notifications.Unsubscribing(t.Context(), token); err != nil || what != "mails about this issue" {
			t.Fatal(what, err)
		}
	}
	w.comment(t, w.ann, m, "Looking changes nothing")
	w.wantMails(t, "looked at", "cleo", "watcher")
	parts := strings.Split(token, ".")
	for _, forged := range []string{
		"", "x", token[:len(token)-2], token + "a", strings.Join(append([]string{fmt.Sprint(w.cleo.ID)}, parts[1:]...), "."),
		strings.Replace(token, ".issue.", ".label.", 1), strings.Replace(token, ".issue.", ".pipelines.", 1), strings.Replace(token, "."+parts[3]+".", ".9999999999.", 1),
	} {
		if err := w.Notifications.Unsubscribe(t.Context(), forged); err == nil {
			t.Errorf("%q was taken", forged)
		}
	}
	for range 2 { // programs may send it again
		if err := w.Notifications.Unsubscribe(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	w.comment(t, w.ann, m, "They hear nothing")
	w.wantMails(t, "unsubscribed", "cleo")
	other := w.open(t, w.ann, nil)
	w.wantMails(t, "another issue", "cleo", "watcher")
	w.comment(t, w.ann, m, "But you, @watcher")
	w.wantMails(t, "mentioned", "cleo", "watcher")
	w.comment(t, w.ann, m, "No more")
	w.wantMails(t, "after that", "cleo")
	w.As(t, w.watcher).Do(t, "POST", w.path(m)+"/subscribe", nil).WantStatus(t, http.StatusCreated)
	w.comment(t, w.ann, m, "Again")
	w.wantMails(t, "subscribed again", "cleo", "watcher")
	w.As(t, w.watcher).Do(t, "POST", w.path(m)+"/unsubscribe", nil).WantStatus(t, http.StatusCreated)
	w.comment(t, w.ann, m, "And not")
	w.wantMails(t, "unsubscribed by the API", "cleo")

	w.comment(t, w.ann, other, "x")
	var last string
	for _, got := range w.mailed(t) {
		if got.To[0] == "watcher@example.com" {
			last = strings.TrimPrefix(unsubscribing(t, got), "/-/unsubscribe/")
		}
	}
	w.Turn(61 * 24 * time.Hour)
	if err := w.Notifications.Unsubscribe(t.Context(), last); err == nil {
		t.Error("an old link works")
	}
	w.Turn(-61 * 24 * time.Hour)
	w.exec(t, `update email_claims set address = 'other@example.com' where address = 'watcher@example.com'`)
	if err := w.Notifications.Unsubscribe(t.Context(), last); err == nil {
		t.Error("a link of an address that was given up works")
	}
}

func TestAnAddressThatIsRefusedForGoodIsNotMailedAgain(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	asked := 0
	w.sink.Answer(func(to string) error {
		if to == "watcher@example.com" {
			asked++
			return mailtest.Refusal(550, [3]int{5, 1, 1}, "no such person")
		}
		return nil
	})
	m := w.open(t, w.ann, nil)
	queued := w.spread(t)
	w.send(t, queued)
	w.comment(t, w.ann, m, "Hello?")
	w.send(t, w.spread(t))
	refused, err := w.Notifications.RefusedOf(t.Context(), w.watcher.ID, 10)
	if err != nil || asked != 1 || len(refused) != 1 || refused[0].Address != "watcher@example.com" || !strings.Contains(refused[0].Answer, "no such person") {
		t.Fatalf("asked %d times, %v, %v", asked, refused, err)
	}
	if failed, err := w.Notifications.Failed(t.Context(), w.watcher.ID, 10); err != nil || failed != 1 {
		t.Errorf("%d failed, %v", failed, err)
	}
	w.sink.Answer(func(string) error { return nil })
	if err := w.Notifications.Clear(t.Context(), "watcher@example.com"); err != nil {
		t.Fatal(err)
	}
	if err := w.Notifications.Clear(t.Context(), "watcher@example.com"); err == nil {
		t.Error("cleared twice")
	}
	w.comment(t, w.ann, m, "Hello again")
	if got := w.send(t, w.spread(t)); len(got) != 1 || !strings.Contains(got[0].Text, "Hello again") || strings.Contains(got[0].Text, "Hello?") {
		t.Errorf("cleared: %v", who(got))
	}
	w.Turn(31 * 24 * time.Hour)
	if err := w.Notifications.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if failed, err := w.Notifications.Failed(t.Context(), w.watcher.ID, 10); err != nil || failed != 0 {
		t.Errorf("after a month: %d failed, %v", failed, err)
	}
}

func TestAMailThatIsRefusedForNowIsTriedForTwoDays(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.sink.AnswerMessage(func(mailtest.Received) error { return mailtest.Refusal(451, [3]int{4, 3, 0}, "later") })
	w.open(t, w.ann, nil)
	queued := w.spread(t)
	for range 5 {
		if err := w.Notifications.Send(t.Context(), queued[0]); err == nil || !strings.Contains(err.Error(), "later") {
			t.Fatal(err)
		}
		w.Turn(time.Hour)
	}
	ids := map[string]bool{}
	for _, m := range w.sink.All() {
		ids[m.Header.Get("Message-Id")] = true
	}
	if len(ids) != 1 || len(w.sink.All()) != 5 {
		t.Errorf("%d times, under %v", len(w.sink.All()), ids)
	}
	w.sink.AnswerMessage(func(mailtest.Received) error { return nil })
	w.Turn(48 * time.Hour)
	if got := w.send(t, queued); len(got) > 0 {
		t.Errorf("sent after two days")
	}
	if failed, err := w.Notifications.Failed(t.Context(), w.watcher.ID, 10); err != nil || failed != 1 {
		t.Errorf("%d failed, %v", failed, err)
	}
}

// The server took the mail, and the process died before it could write that down: it is sent once more under the same Message-ID, and never again.
func TestEM05_AMailIsHandedOverTwiceAtMostUnderOneMessageID(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	m := w.open(t, w.ann, nil)
	queued := w.spread(t)
	die := func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.sink.AnswerMessage(func(mailtest.Received) error { cancel(); return nil }) // it has the mail; nobody hears of it
		if err := w.Notifications.Send(ctx, queued[0]); err == nil {
			t.Fatal("the end of the process was not noticed")
		}
		w.sink.AnswerMessage(func(mailtest.Received) error { return nil })
	}
	die()
	// Another job finds that the mail is in other hands, and comes again later.
	if err := w.Notifications.Send(t.Context(), queued[0]); err != nil || len(w.sink.All()) != 1 {
		t.Fatalf("%d mails, %v", len(w.sink.All()), err)
	}
	if again := jobs[notification.MailArgs](t, w, "notification_mail"); len(again) != 1 || again[0] != queued[0] {
		t.Fatalf("queued %v", again)
	}
	w.comment(t, w.ann, m, "Meanwhile")
	w.spread(t)
	w.Turn(5 * time.Minute)
	die()
	w.Turn(5 * time.Minute)
	if err := w.Notifications.Send(t.Context(), queued[0]); err != nil {
		t.Fatal(err)
	}
	all := w.sink.All()
	if len(all) != 3 || all[0].Header.Get("Message-Id") != all[1].Header.Get("Message-Id") || strings.Contains(all[1].Text, "Meanwhile") || !strings.Contains(all[2].Text, "Meanwhile") {
		t.Errorf("%d mails", len(all))
	}
	if failed, err := w.Notifications.Failed(t.Context(), w.watcher.ID, 10); err != nil || failed != 1 {
		t.Errorf("%d count as failed, %v", failed, err)
	}
}

func TestEM05_OnePersonCausesALimitedNumberOfMailsToAnother(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.set(t, w.watcher, "mention")
	w.exec(t, `insert into issues (project_id, iid, author_id, title, type, created_at, updated_at)
		select $1, n, $2, 'x', 'issue', now(), now() from generate_series(1, 65) n`, w.tool.ID, w.ann.ID)
	w.exec(t, `insert into issue_counters (project_id, last) values ($1, 65)`, w.tool.ID)
	for n := range 65 {
		w.comment(t, w.ann, made{IID: n + 1}, "You there, @watcher!")
	}
	w.comment(t, w.ben, made{IID: 65}, "And I, @watcher")
	if got := w.send(t, w.spread(t)); len(who(got)) == 0 || len(slices.DeleteFunc(who(got), func(name string) bool { return name != "watcher" })) != 61 {
		t.Errorf("%d mails: %v", len(got), who(got))
	}
	if failed, err := w.Notifications.Failed(t.Context(), w.watcher.ID, 100); err != nil || failed != 5 {
		t.Errorf("%d failed, %v", failed, err)
	}
	w.Turn(time.Hour)
	w.comment(t, w.ann, made{IID: 1}, "Later, @watcher")
	if got := w.send(t, w.spread(t)); len(got) != 1 {
		t.Errorf("an hour later: %v", who(got))
	}
}

func TestManyWatchersAreFoundInParts(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	for n := range 1_200 {
		u := usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("many%d", n)))
		projecttest.Join(t, w.DB, w.tool, u, access.Guest)
		w.set(t, u, "watch")
	}
	w.open(t, w.ann, nil)
	queued := w.spread(t)
	seen := map[int64]bool{}
	for _, args := range queued {
		seen[args.UserID] = true
	}
	if len(queued) != 1201 || len(seen) != 1201 {
		t.Errorf("%d jobs for %d people", len(queued), len(seen))
	}
}

func (w *mailing) pipeline(t testing.TB, by *user.User, status pipeline.Status) int64 {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), w.DB, `
insert into pipelines (project_id, iid, sha, before_sha, ref, tag, status, source, user_id, created_at, updated_at)
select $1, 1 + count(*), repeat('a', 40), repeat('0', 40), 'main', false, $2, 'push', $3, now(), now() from pipelines returning id`, w.tool.ID, status, by.ID)
	if err != nil {
		t.Fatal(err)
	}
	err = w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		pl, err := w.Pipelines.ByID(t.Context(), tx, id)
		if err != nil {
			return err
		}
		return w.Bus.Publish(t.Context(), tx, pipeline.PipelineChanged{Pipeline: *pl, From: pipeline.Running})
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestWhoStartedAPipelineIsToldHowItEnded(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	w.set(t, w.cleo, "watch")
	w.pipeline(t, w.ann, pipeline.Success)
	w.wantMails(t, "success")
	w.pipeline(t, w.ann, pipeline.Failed)
	got := w.wantMails(t, "failure", "ann")[0]
	if !strings.Contains(got.Subject, "Pipeline failed for main") || got.Header.Get("X-Svc-Pipeline-Status") != "failed" || !strings.Contains(got.Text, "because you started this pipeline") {
		t.Errorf("%s: %s", got.Subject, got.Text)
	}
	w.pipeline(t, w.ben, pipeline.Running)
	w.wantMails(t, "one that runs")
	w.pipeline(t, w.ann, pipeline.Success)
	if got := w.wantMails(t, "fixed", "ann")[0]; !strings.Contains(got.Subject, "succeeded again") {
		t.Error(got.Subject)
	}
	w.pipeline(t, w.ann, pipeline.Failed)
	queued := w.spread(t)
	w.exec(t, `update pipelines set status = 'running'`)
	if got := w.send(t, queued); len(got) > 0 {
		t.Error("it runs again, and was told to have failed")
	}
	w.exec(t, `update pipelines set status = 'failed'`)
	if err := w.Notifications.Unsubscribe(t.Context(), strings.TrimPrefix(unsubscribing(t, got), "/-/unsubscribe/")); err != nil {
		t.Fatal(err)
	}
	w.pipeline(t, w.ann, pipeline.Failed)
	w.wantMails(t, "unsubscribed")
	me := access.Actor{Person: w.ann.Person()}
	if declined, err := w.Notifications.DeclinedBy(t.Context(), me, 10); err != nil || len(declined) != 1 || !declined[0].Pipelines {
		t.Errorf("%v, %v", declined, err)
	}
	if err := w.Notifications.Undecline(t.Context(), me, w.tool.ID); err != nil {
		t.Fatal(err)
	}
	w.pipeline(t, w.ann, pipeline.Failed)
	w.wantMails(t, "again", "ann")
}

func TestWhoWatchesAProjectIsToldThatItMoved(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	root := usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	grouptest.New(t, w.DB, grouptest.Named("yard"))
	w.As(t, root).Do(t, "PUT", fmt.Sprintf("/projects/%d/transfer", w.tool.ID), map[string]any{"namespace": "yard"}).WantStatus(t, http.StatusOK)
	got := w.wantMails(t, "moved", "watcher")
	if len(got) != 1 || !strings.Contains(got[0].Text, "yard/tool") {
		t.Fatalf("%v", got)
	}
}

func TestWithoutAMailServerNothingIsWrittenDown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.As(t, w.ada).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", w.tool.ID), map[string]any{"title": "x", "description": "@stranger"}).WantStatus(t, http.StatusCreated)
	if n := value[int](t, w.DB, `select (select count(*) from mail_events) + (select count(*) from river_job where kind like 'notification%')`); n != 0 {
		t.Errorf("%d are left", n)
	}
}

func TestAChangeThatIsUndoneMailsNobody(t *testing.T) {
	t.Parallel()
	w := newMailing(t)
	m := w.open(t, w.ann, nil)
	w.mailed(t)
	undone := errors.New("undone")
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		pl := pipeline.Pipeline{ID: 1, ProjectID: w.tool.ID, Status: pipeline.Failed, UserID: &w.ann.ID}
		if err := w.Bus.Publish(t.Context(), tx, pipeline.PipelineChanged{Pipeline: pl}); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	w.wantMails(t, "undone")
	_ = m
}
