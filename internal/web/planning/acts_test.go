package planning_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/wire"
	"stithy/internal/milestone"
	"stithy/internal/note"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

func TestIssuesAreLinkedAndCutOnTheirPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	w.open(t, issue.Draft{Title: "Buy oil"})
	w.open(t, issue.Draft{Title: "Find the <key>"})
	w.open(t, issue.Draft{Title: "Wake the smith"})
	secret := w.open(t, issue.Draft{Title: "A secret", Confidential: true})
	b := w.in(t, access.Reporter)
	for _, name := range []string{"#2", "house/tool#3", "https://forge.example/house/tool/-/issues/4#note_1", fmt.Sprint(secret.IID)} {
		if to := b.done(at(i)+"/links", "issue", name); to != at(i)+"#linked" {
			t.Errorf("%s leads to %s", name, to)
		}
	}
	s := b.shows(at(i))
	if !s.says("Linked issues", "Buy oil", "Find the <key>", "Wake the smith", "A secret", `href="/house/tool/-/issues/2"`, `<span class="count">4</span>`) {
		t.Error(s.text)
	}
	if s := w.in(t, access.Guest).shows(at(i)); s.says("A secret") || s.says("Link an issue") || s.says("/links") || !s.says("Buy oil") {
		t.Error("a guest sees what they may not, or is offered to link")
	}
	for name, why := range map[string]string{
		"#2": "Is linked already.", "#1": "Is this one. Name another.", "#99": "Is none that you can see.", "nonsense": "Is none that you can see.",
		"house/none#1": "Is none that you can see.", "https://elsewhere.example/house/tool/-/issues/3": "Is none that you can see.",
	} {
		if s := b.post(at(i)+"/links", "issue", name); s.Code != http.StatusUnprocessableEntity || !s.says(why, `<details class="fold pad" open>`) {
			t.Errorf("%s: %d", name, s.Code)
		}
	}
	cut := regexp.MustCompile(at(i) + `/links/\d+/delete`).FindString(s.text)
	if s := w.in(t, access.Guest).post(cut); s.Code != http.StatusNotFound {
		t.Errorf("a guest cuts a link: %d", s.Code)
	}
	b.done(cut)
	if s := b.shows(at(i)); s.says(`href="/house/tool/-/issues/2"><`) || !s.says(`<span class="count">3</span>`) {
		t.Error("the link is still there")
	}
}

func TestTimeIsEstimatedAndSpentOnThePage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	b := w.in(t, access.Reporter)
	b.done(at(i)+"/estimate", "duration", "1d 4h")
	b.done(at(i)+"/spend", "duration", "2h", "summary", "looked for the key")
	if s := b.shows(at(i)); !s.says("2h spent of 1d 4h", `value="1d 4h"`) {
		t.Error(s.text)
	}
	for act, why := range map[string]string{"/estimate": "Is no time that can be read. Write it as 2h or 1d 4h", "/spend": "Is no time that can be read."} {
		if s := b.post(at(i)+act, "duration", "soon"); s.Code != http.StatusUnprocessableEntity || !s.says(why, `value="soon"`) {
			t.Errorf("%s: %d", act, s.Code)
		}
	}
	if s := b.post(at(i)+"/spend", "duration", "-9h"); s.Code != http.StatusUnprocessableEntity || !s.says("exceeds the total time spent") {
		t.Errorf("more is taken back than was spent: %d", s.Code)
	}
	b.done(at(i)+"/estimate", "duration", "")
	if s := b.shows(at(i)); !s.says("2h spent") || s.says("spent of") {
		t.Error("the estimate is still there")
	}
	guest := w.in(t, access.Guest)
	if s := guest.post(at(i)+"/spend", "duration", "2h"); s.Code != http.StatusNotFound || guest.shows(at(i)).says("Track time") {
		t.Errorf("a guest tracks time: %d", s.Code)
	}
}

func TestAnIssueIsMovedOnItsPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	other := projecttest.New(t, w.DB, w.group.ID, projecttest.Named("shed"), projecttest.Visible(access.Public))
	b := w.in(t, access.Reporter)
	for to, why := range map[string]string{
		"house/none": "Is none that you can see.", "house/tool": "Is the one where the issue is already.", "house/shed": "Is one that you may not move issues to",
	} {
		if s := b.post(at(i)+"/move", "project", to); s.Code != http.StatusUnprocessableEntity || !s.says(why) {
			t.Errorf("%s: %d %s", to, s.Code, s.text)
		}
	}
	projecttest.Join(t, w.DB, other, w.people[access.Reporter], access.Reporter)
	if to := b.done(at(i)+"/move", "project", "shed"); to != "/house/shed/-/issues/1" {
		t.Errorf("it leads to %s", to)
	}
	if to := b.get(at(i)).leads(); to != "/house/shed/-/issues/1" {
		t.Errorf("the old address leads to %q", to)
	}
	if w.in(t, access.Guest).shows("/house/shed/-/issues/1").says("Move to another project") {
		t.Error("a guest is offered to move it")
	}
}

func TestIncidentsSayWhatTheyAreAndHowBad(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "The roof is gone", Type: issue.Incident})
	b := w.in(t, access.Reporter)
	if s := b.shows(issues); !s.says(">Incident<") {
		t.Error("the list does not say it")
	}
	if s := b.shows(at(i) + "/edit"); !s.says(`name="severity"`, `name="type"`, "Critical · S1") {
		t.Error("the form does not ask")
	}
	b.done(at(i), "title", "The roof is gone", "type", "incident", "severity", "high")
	if s := b.shows(issues); !s.says(">Incident, high<") {
		t.Error("the list does not say how bad")
	}
	if s := b.shows(at(i)); !s.says("Incident, high", "High · S2", "changed the severity") {
		t.Error("the page does not say how bad")
	}
	plain := w.open(t, issue.Draft{Title: "Mend the door"})
	if s := b.shows(at(plain)); s.says("Severity") || b.shows(at(plain)+"/edit").says(`name="severity"`) {
		t.Error("a plain issue has a severity")
	}
	b.done(at(plain), "title", "Mend the door", "type", "incident")
	if !b.shows(at(plain)).says(">Incident<") {
		t.Error("it is no incident")
	}
	if s := b.shows(issues + "/new?issue[issue_type]=incident"); !s.says(`value="incident" selected`) || s.says(`name="severity"`) {
		t.Error("a new incident is not begun")
	}
	if w.in(t, access.Guest).shows(issues + "/new").says(`name="type"`) {
		t.Error("a guest is asked for a type")
	}
}

func TestMilestonesArePromotedAndDeletedByWhoMay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.actor(access.Maintainer)
	planned := func(title string) string {
		m, err := w.Milestones.Create(t.Context(), by, owner.OfProject(w.as(t, by)).Entity, milestone.Draft{Title: title})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s/-/milestones/%d", home, m.IID)
	}
	first, second := planned("2.5"), planned("2.6")
	b := w.in(t, access.Reporter)
	if s := b.shows(first); !s.says(first+"/delete", "Its issues stay") || s.says(first+"/promote") {
		t.Error("a reporter of the project is not offered to delete it, or offered to change the group")
	}
	if s := b.post(first + "/promote"); s.Code != http.StatusForbidden {
		t.Errorf("a reporter of the project changes the group: %d", s.Code)
	}
	if s := w.in(t, access.Guest).shows(first); s.says(first+"/delete") || w.in(t, access.Guest).post(first+"/delete").Code != http.StatusNotFound {
		t.Error("a guest may delete it")
	}
	b.done(first + "/delete")
	if s := b.get(first); s.Code != http.StatusNotFound {
		t.Errorf("it is still there: %d", s.Code)
	}
	admin := w.browser(t, usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin()))
	if s := admin.shows(second); !s.says(second+"/promote", "one of the group house") {
		t.Error("who may is not offered to promote it")
	}
	admin.done(second + "/promote")
	if s := b.shows(home + "/-/milestones"); !s.says("2.6", "of a group") {
		t.Error("it is not one of the group")
	}
}

func TestWhatIsWrongWithALabelIsSaidInWords(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.in(t, access.Reporter)
	for _, c := range []struct{ name, color, why string }{
		{"a,b", "#cc3311", "Name cannot hold a comma"}, {" ", "#cc3311", "Name is empty."}, {"bug", "reddish", "Colour is neither #rrggbb, as #cc3311"},
	} {
		if s := b.post(home+"/-/labels", "name", c.name, "color", c.color); s.Code != http.StatusUnprocessableEntity || !s.says(c.why) || s.says("s invalid") {
			t.Errorf("%q %q: %d", c.name, c.color, s.Code)
		}
	}
}

func TestTasksAreTickedByWhoMayEdit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door", Description: new("To do:\n\n- [x] look\n- [ ] mend <it>\n\n```\n- [ ] code\n```\n1. [ ] paint")})
	b := w.in(t, access.Reporter)
	s := b.shows(at(i))
	seen := regexp.MustCompile(at(i) + `/tasks"[\s\S]*?name="seen" value="(\w+)"`).FindStringSubmatch(s.text)
	if seen == nil || !s.says("Tick tasks", `value="0" checked`, "mend <it></label>", "paint</label>") || s.says("code</label>") {
		t.Fatal(s.text)
	}
	b.done(at(i)+"/tasks", "seen", seen[1], "done", "1", "done", "2")
	if s := b.shows(at(i) + "/edit"); !s.says("- [ ] look\n- [x] mend <it>\n\n```\n- [ ] code\n```\n1. [x] paint") {
		t.Error(s.text)
	}
	if s := b.shows(at(i)); !s.says("2 of 3 tasks done", "marked the checklist item") {
		t.Error("it is not noted")
	}
	if s := b.post(at(i)+"/tasks", "seen", seen[1], "done", "0"); s.Code != http.StatusUnprocessableEntity || !s.says("changed the title or the description meanwhile") {
		t.Errorf("tasks of another text: %d", s.Code)
	}
	guest := w.in(t, access.Guest)
	if s := guest.post(at(i)+"/tasks", "seen", seen[1]); s.Code != http.StatusNotFound || guest.shows(at(i)).says("Tick tasks") {
		t.Errorf("a guest ticks tasks: %d", s.Code)
	}
}

func TestAPageThatIsNotThereSaysWhyAndOffersToSignIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if s := w.anonymous(t).get(home + "x/-/issues/1"); s.Code != http.StatusNotFound && s.leads() == "" || s.Code == http.StatusNotFound && !s.says("moved or removed", "private", "Sign in") {
		t.Errorf("%d %s", s.Code, s.text)
	}
	if s := w.anonymous(t).get(issues + "/99"); s.Code != http.StatusNotFound || !s.says("it may be private", "You are not signed in.", "/users/sign_in?return_to=") {
		t.Errorf("%d %s", s.Code, s.text)
	}
	if s := w.in(t, access.Guest).get(issues + "/99"); s.Code != http.StatusNotFound || !s.says("moved or removed", "not open to you") || s.says("You are not signed in.") {
		t.Errorf("%d %s", s.Code, s.text)
	}
}

func TestWhatTheInstanceNotesHasASubjectAndAnIconOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	w.open(t, issue.Draft{Title: "Buy oil"})
	b := w.in(t, access.Reporter)
	b.done(at(i)+"/links", "issue", "#2")
	b.done(at(i)+"/estimate", "duration", "2h")
	s := b.shows(at(i))
	if !s.says("marked this issue as related to", "Buy oil (#2)</a>") {
		t.Error("the other issue is not named", s.text)
	}
	icons := regexp.MustCompile(`<span class="dot"><svg[^>]*><path d="([^"]+)"`).FindAllStringSubmatch(s.text, -1)
	if len(icons) != 3 || icons[1][1] == icons[2][1] {
		t.Errorf("%v", icons)
	}
}

// upload sends a form with a file, as browsers do: the file last, and the button behind it.
func (b *browser) upload(target, name string, content []byte, then string, pairs ...string) screen {
	b.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	_ = m.WriteField("authenticity_token", b.csrf)
	for n := 0; n < len(pairs); n += 2 {
		_ = m.WriteField(pairs[n], pairs[n+1])
	}
	part, err := m.CreateFormFile("file", name)
	if err != nil {
		b.t.Fatal(err)
	}
	_, _ = part.Write(content)
	if then != "" {
		_ = m.WriteField("then", then)
	}
	_ = m.Close()
	r := httptest.NewRequest(http.MethodPost, target, &body)
	r.RemoteAddr, r.Host = "192.0.2.7:4711", "forge.example"
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Origin", "https://forge.example")
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: wire.Names{Service: "svc"}.SessionCookie(), Value: b.cookie})
	}
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, r)
	return screen{rec, html.UnescapeString(rec.Body.String())}
}

func TestAFileIsAttachedToACommentAndToANewIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	b := w.in(t, access.Reporter)
	if s := b.shows(at(i)); !s.says(`enctype="multipart/form-data"`, `type="file"`, "Attach a file") {
		t.Error("the form takes no file")
	}
	if s := b.upload(at(i)+"/notes", "door.png", []byte("\x89PNG"), "", "note", "It looks so:"); s.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", s.Code, s.text)
	}
	s := b.shows(at(i))
	picture := regexp.MustCompile(`<img[^>]* src="([^"]+door\.png)"`).FindStringSubmatch(s.text)
	if picture == nil || !s.says("It looks so:") {
		t.Fatal(s.text)
	}
	if got := b.get(strings.TrimPrefix(picture[1], "https://forge.example")); got.Code != http.StatusOK || got.Body.String() != "\x89PNG" {
		t.Errorf("the picture: %d", got.Code)
	}
	// The word in its address is not kept: who reads the database cannot fetch it.
	word := regexp.MustCompile(`/uploads/([0-9a-f]{32})/door`).FindStringSubmatch(picture[1])
	if word == nil {
		t.Fatal(picture[1])
	}
	if kept, err := postgres.Value[bool](t.Context(), w.DB, `select bool_or(digest in (convert_to($1, 'UTF8'), decode($1, 'hex'))) from uploads`, word[1]); err != nil || kept {
		t.Errorf("the word in the address is kept: %v, %v", kept, err)
	}
	if s := b.upload(at(i)+"/notes?then=close", "log.txt", []byte("x"), "close", "note", ""); s.Code != http.StatusSeeOther || !b.shows(at(i)).says("log.txt</a>", "closed this") {
		t.Errorf("a file alone, and the issue is closed: %d", s.Code)
	}
	if s := b.upload(issues, "plan.txt", []byte("x"), "", "title", "A plan"); s.Code != http.StatusSeeOther || !b.shows(s.leads()).says("A plan", "plan.txt</a>") {
		t.Errorf("a new issue: %d %s", s.Code, s.text)
	}
	if s := b.upload(issues, "plan.txt", []byte("x"), "", "title", " "); s.Code != http.StatusUnprocessableEntity || !s.says("[plan.txt](/uploads/") {
		t.Errorf("a form that is refused loses the file: %d", s.Code)
	}
	other := *b
	other.csrf = "stale"
	if s := other.upload(at(i)+"/notes", "a.txt", []byte("x"), "", "note", "x"); s.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", s.Code)
	}
	if s := w.anonymous(t).upload(at(i)+"/notes", "a.txt", []byte("x"), "", "note", "x"); s.Code == http.StatusOK || strings.Contains(s.leads(), "note_") {
		t.Errorf("a stranger: %d", s.Code)
	}
}

func TestAFileThatIsTooLargeIsRefusedAndTheTextIsKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	root := w.As(t, usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin()))
	root.Do(t, "PUT", "/application/settings", map[string]any{"max_attachment_size": 1}).WantStatus(t, http.StatusOK)
	s := w.in(t, access.Reporter).upload(at(i)+"/notes", "a.bin", make([]byte, 1<<20+1), "", "note", "here it is")
	if s.Code != http.StatusUnprocessableEntity || !s.says("Is too large: 1 MB are the most.", "here it is</textarea>") {
		t.Errorf("%d %s", s.Code, s.text)
	}
}

func TestChangesOnPagesCountLikeThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door", Description: new("- [ ] oil")})
	b := w.in(t, access.Reporter)
	for _, path := range []string{"/close", "/reopen", "", "/tasks", "/estimate", "/spend", "/links", "/links/1/delete"} {
		if s := b.post(at(i) + path); s.Header().Get("RateLimit-Name") != "issues_update" {
			t.Errorf("%s is not counted: %d", path, s.Code)
		}
	}
}

func TestAFileIsAttachedToAChangedIssueAChangedCommentAndAReply(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door", Description: new("It squeaks.")})
	n := w.say(t, access.Reporter, i, note.Draft{Body: "first"})
	b := w.in(t, access.Reporter)
	for _, path := range []string{at(i) + "/edit", fmt.Sprintf("%s/notes/%d/edit", at(i), n.ID)} {
		if s := b.shows(path); !s.says(`enctype="multipart/form-data"`, `type="file"`) {
			t.Errorf("the form at %s takes no file", path)
		}
	}
	if s := b.shows(at(i)); !s.says(fmt.Sprintf(`id="file-%d"`, n.ID)) {
		t.Error("a reply takes no file")
	}
	if s := b.upload(at(i), "plan.txt", []byte("x"), "", "title", "Mend the gate", "description", "It squeaks."); s.Code != http.StatusSeeOther ||
		!b.shows(at(i)).says("Mend the gate", "It squeaks.", "plan.txt</a>") {
		t.Errorf("a changed issue: %d %s", s.Code, s.text)
	}
	if s := b.upload(fmt.Sprintf("%s/notes/%d", at(i), n.ID), "log.txt", []byte("x"), "", "note", "second"); s.Code != http.StatusSeeOther ||
		!b.shows(at(i)).says("second", "log.txt</a>") {
		t.Errorf("a changed comment: %d %s", s.Code, s.text)
	}
	if s := b.upload(at(i)+"/notes", "answer.txt", []byte("x"), "", "note", "so", "discussion", n.Discussion()); s.Code != http.StatusSeeOther ||
		!b.shows(at(i)).says("answer.txt</a>") {
		t.Errorf("a reply: %d %s", s.Code, s.text)
	}
	if s := w.in(t, access.Guest).upload(fmt.Sprintf("%s/notes/%d", at(i), n.ID), "evil.txt", []byte("x"), "", "note", "mine"); s.Code == http.StatusSeeOther {
		t.Errorf("a comment of somebody else: %d", s.Code)
	}
}

func TestALabelThatIsNotMadeIsToldOnThePage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.in(t, access.Reporter).done(home+"/-/labels", "name", "bug", "color", "crimson")
	const words = "This project has no such label"
	told := func(b *browser, target string, pairs ...string) screen {
		t.Helper()
		s := b.post(target, pairs...)
		if s.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", target, s.Code, s.text)
		}
		b.flash = s.Result().Cookies()
		defer func() { b.flash = nil }()
		to, _, _ := strings.Cut(s.leads(), "#")
		return b.shows(to)
	}
	guest := w.in(t, access.Guest)
	if s := told(guest, issues, "title", "One", "more_labels", "bug, brand new"); !s.says(words, "brand new", ">bug<") {
		t.Errorf("named in the form: %s", s.text)
	}
	if s := told(guest, issues, "title", "Two", "description", "x\n/label ~bug ~unknown"); !s.says(words, "unknown", ">bug<") {
		t.Errorf("named by a command: %s", s.text)
	}
	if s := told(guest, issues, "title", "Three", "more_labels", "bug"); s.says(words) {
		t.Errorf("a label that is there: %s", s.text)
	}
	if s := told(w.in(t, access.Reporter), issues, "title", "Four", "more_labels", "made now"); s.says(words) || !s.says("made now") {
		t.Errorf("who may make labels: %s", s.text)
	}
	if s := told(w.in(t, access.Reporter), issues+"/1/notes", "note", "x\n/label ~bug ~nowhere"); !s.says(words, "nowhere") {
		t.Errorf("in a comment: %s", s.text)
	}
}
