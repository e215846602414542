package planning_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/mention"
	"stithy/internal/note"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
)

func TestAnIssueIsShownWithWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{
		Title: "Mend the <door>", Description: new("It is **open**.\n\n- [x] look\n- [ ] mend\n\n<script>evil()</script>"), Labels: []string{"bug"},
		AssigneeIDs: []int64{w.people[access.Developer].ID}, DueDate: new(time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)),
	})
	s := w.browser(t, w.stranger).shows(at(i))
	if !s.says("Mend the <door>", "<strong>open</strong>", "1 of 2 tasks done", "Open", `fill="#6699cc"`, "1 May 2024", "Overdue", w.people[access.Developer].Name) {
		t.Error(s.text)
	}
	if strings.Contains(s.Body.String(), "<script") || strings.Contains(s.Body.String(), "<door>") || strings.Contains(s.Body.String(), " style=") {
		t.Error("a text acts")
	}
	if s.says(at(i)+"/edit", `value="close"`, "Internal note") {
		t.Error("a stranger is offered to change it")
	}
	if s := w.in(t, access.Reporter).shows(at(i)); !s.says(at(i)+"/edit", `value="close"`, "Internal note") {
		t.Error("a reporter is not")
	}
}

func TestPE02_WhatMayNotBeReadIsNotFound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "A secret", Confidential: true})
	n := w.say(t, access.Reporter, i, note.Draft{Body: "hush"})
	for who, b := range map[string]*browser{"a stranger": w.anonymous(t), "somebody": w.browser(t, w.stranger), "a guest": w.in(t, access.Guest)} {
		for _, path := range []string{at(i), at(i) + "/edit", at(i) + "/notes", fmt.Sprintf("%s/notes/%d/raw", at(i), n.ID), home + "/-/work_items/1", issues + "/999", issues + "/x"} {
			if s := b.get(path); s.Code == http.StatusOK || s.says("hush") || strings.HasSuffix(s.leads(), at(i)) {
				t.Errorf("%s, %s: %d %s", who, path, s.Code, s.leads())
			}
		}
	}
	for _, act := range []string{"", "/close", "/notes", "/react", "/subscribe", fmt.Sprintf("/notes/%d", n.ID), fmt.Sprintf("/notes/%d/delete", n.ID)} {
		if s := w.in(t, access.Guest).post(at(i)+act, "note", "x", "title", "x", "emoji", "tada"); s.Code != http.StatusNotFound {
			t.Errorf("a guest does %q to what they may not see: %d", act, s.Code)
		}
	}
	if w.in(t, access.Reporter).shows(at(i)).says("hush") == false {
		t.Error("a reporter does not read it")
	}
}

func TestPE02_AnIssueLeadsToWhatItsReaderMaySee(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	closed := projecttest.New(t, w.DB, w.group.ID, projecttest.Named("closed"), projecttest.Visible(access.Public),
		projecttest.With("features", `{"issues": "private", "merge_requests": "private"}`))
	projecttest.Join(t, w.DB, closed, w.people[access.Reporter], access.Reporter)
	w.As(t, w.people[access.Reporter]).Do(t, "POST", fmt.Sprintf("/projects/%d/labels", closed.ID), map[string]any{"name": "bug", "color": "red"}).WantStatus(t, http.StatusCreated)
	i := w.open(t, issue.Draft{Title: "Mend the door", Description: new("Like closed~bug, says @role-10.")})
	const label, person = `https://forge.example/house/closed/-/issues?label_name[]=bug"`, `href="https://forge.example/role-10"`
	for _, c := range []struct {
		fact           string
		by             *browser
		labels, people bool
	}{
		{"nobody", w.anonymous(t), false, false}, {"a stranger", w.browser(t, w.stranger), false, true}, {"a member of both", w.in(t, access.Reporter), true, true},
	} {
		s := c.by.shows(at(i))
		if s.says(label) != c.labels || s.says("closed~bug") == c.labels {
			t.Errorf("%s is led to the label: %v", c.fact, s.says(label))
		}
		if s.says(person) != c.people || !s.says("@role-10") {
			t.Errorf("%s is led to the person: %v", c.fact, s.says(person))
		}
	}
}

func TestPE02_InternalNotesAreShownToReporters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	n := w.say(t, access.Reporter, i, note.Draft{Body: "the key is below the mat", Internal: true})
	if s := w.in(t, access.Guest).shows(at(i)); s.says("below the mat") {
		t.Error("a guest reads an internal note")
	}
	if s := w.in(t, access.Guest).get(fmt.Sprintf("%s/notes/%d/raw", at(i), n.ID)); s.Code != http.StatusNotFound {
		t.Errorf("a guest reads it raw: %d", s.Code)
	}
	if s := w.in(t, access.Reporter).shows(at(i)); !s.says("below the mat", "Internal note") {
		t.Error("a reporter does not")
	}
	if s := w.in(t, access.Guest).post(at(i)+"/notes", "note", "hm", "internal", "1"); s.Code != http.StatusUnprocessableEntity && s.Code != http.StatusForbidden {
		t.Errorf("a guest writes an internal note: %d", s.Code)
	}
	w.in(t, access.Reporter).done(at(i)+"/notes", "note", "and another", "internal", "1")
	if w.in(t, access.Guest).shows(at(i)).says("and another") {
		t.Error("an internal note is not")
	}
}

func TestPE02_WhatSomebodyBannedRepliedIsNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	first := w.say(t, access.Reporter, i, note.Draft{Body: "It squeaks.", Thread: true})
	w.say(t, access.Guest, i, note.Draft{Body: "Buy this.", Discussion: first.DiscussionID})
	reporter := w.in(t, access.Reporter)
	if !reporter.shows(at(i)).says("It squeaks.", "Buy this.") {
		t.Error("a reply is not shown")
	}
	if _, err := w.DB.Exec(t.Context(), `update users set state = 'banned' where id = $1`, w.people[access.Guest].ID); err != nil {
		t.Fatal(err)
	}
	if s := reporter.shows(at(i)); !s.says("It squeaks.") || s.says("Buy this.") {
		t.Error("the reply of somebody banned is shown")
	}
}

func TestStrangersAreAskedToSignInForTheTalk(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	w.say(t, access.Reporter, i, note.Draft{Body: "which one?"})
	if s := w.anonymous(t).shows(at(i)); s.says("which one?") || !s.says("to read what was said about this") {
		t.Error(s.text)
	}
}

func TestTheTalkIsInTheOrderInWhichItHappened(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	step := func() { w.Turn(time.Minute) }
	step()
	first := w.say(t, access.Guest, i, note.Draft{Body: "It squeaks.", Thread: true})
	step()
	w.change(t, i, issue.Change{AddLabels: []string{"bug", "noise"}})
	step()
	w.change(t, i, issue.Change{Title: new("Oil the door")})
	step()
	w.say(t, access.Reporter, i, note.Draft{Body: "So it does.", Discussion: first.DiscussionID})
	step()
	w.change(t, i, issue.Change{Close: new(true)})
	s := w.in(t, access.Guest).shows(at(i))
	last := -1
	for _, text := range []string{"It squeaks.", "So it does.", "added ", "bug", "noise", "changed title", "closed this"} {
		at := strings.Index(s.text[max(0, last):], text) + max(0, last)
		if at <= last {
			t.Fatalf("%q does not follow:\n%s", text, s.text)
		}
		last = at
	}
	if strings.Count(s.text, "added ") != 1 {
		t.Error("labels that one act added stand in several lines")
	}
}

func TestACommitThatClosedAnIssueIsALinkToWhoReadsItsCode(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	repo := repositorytest.New(t, w.DB, w.Store, w.project, repositorytest.Files{"a": "b"})
	old, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	sha := string(repositorytest.Commit(t, repo, "main", fmt.Sprintf("Closes #%d", i.IID), repositorytest.Files{"a": "c"}))
	if err := w.Mentions.ReadCommits(t.Context(), mention.CommitsArgs{
		ProjectID: w.project.ID, UserID: w.people[access.Developer].ID, Branch: "main", Old: string(old.Target), New: sha,
	}); err != nil {
		t.Fatal(err)
	}
	link := fmt.Sprintf(`href="https://forge.example/house/tool/-/commit/%s" title="Closes #%d">%s</a>`, sha, i.IID, sha[:8])
	s := w.in(t, access.Guest).shows(at(i))
	for _, verb := range []string{"closed via commit ", "mentioned in commit "} {
		if !s.says(verb + `<a class="reference commit" ` + link) {
			t.Errorf("%q is not there: %s", verb, s.text)
		}
	}
	if s.says("closed this") {
		t.Error("closed twice")
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set features = jsonb_set(features, '{repository}', '"private"') where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	if s := w.browser(t, w.stranger).shows(at(i)); s.says(sha[:8]) || s.says("via commit") || !s.says("closed this") {
		t.Error(s.text)
	}
}

func TestALongTalkIsTurnedByPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	if _, err := w.DB.Exec(t.Context(), `
insert into notes (issue_id, author_id, discussion_id, first, thread, body, created_at, updated_at)
select $1, $2, decode(lpad(to_hex(n), 40, '0'), 'hex'), true, false, 'remark ' || n || '.', '2024-05-01', '2024-05-01' from generate_series(1, 2000) n`,
		i.ID, w.people[access.Guest].ID); err != nil {
		t.Fatal(err)
	}
	b := w.in(t, access.Guest)
	s, seen := b.shows(at(i)), map[string]bool{}
	for range 3 {
		if n := strings.Count(s.text, "remark "); n != 13 {
			t.Fatalf("%d remarks on a page", n)
		}
		link := onward.FindStringSubmatch(s.text)
		if link == nil || seen[link[1]] {
			t.Fatalf("no way on: %v", link)
		}
		seen[link[1]] = true
		s = b.shows(link[1])
	}
	if !s.says("remark 40.", "remark 52.") || s.says("remark 39.", "remark 53.") {
		t.Error("the fourth page has not the fourth part")
	}
	to := b.done(at(i)+"/notes", "note", "the last word")
	if path, fragment, _ := strings.Cut(to, "#"); !strings.Contains(path, "?note=") || !b.shows(path).says("the last word", `id="`+fragment+`"`) {
		t.Errorf("a new comment leads to %s", to)
	}
	for _, cursor := range []string{"nonsense", "eyJhIjpbIngiXX0", "W10"} {
		if s := b.get(at(i) + "?cursor=" + cursor); s.Code != http.StatusBadRequest {
			t.Errorf("cursor %s: %d", cursor, s.Code)
		}
	}
}

// talk writes so many remarks about an issue at once, and returns the ids of the first and the last.
func (w *fixture) talk(t testing.TB, i *issue.Issue, n int) (first, last int64) {
	t.Helper()
	if err := w.DB.QueryRow(t.Context(), `
with said as (insert into notes (issue_id, author_id, discussion_id, first, thread, body, created_at, updated_at)
select $1, $2, decode(lpad(to_hex(n), 40, '0'), 'hex'), true, false, 'remark ' || n || '.', '2024-05-01', '2024-05-01' from generate_series(1, $3) n returning id)
select min(id), max(id) from said`, i.ID, w.people[access.Guest].ID, n).Scan(&first, &last); err != nil {
		t.Fatal(err)
	}
	return first, last
}

func TestTheAddressOfACommentOpensThePartOfTheTalkThatHoldsIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	first, last := w.talk(t, i, 100)
	b := w.in(t, access.Guest)
	for _, id := range []int64{first, first + 12, first + 13, first + 60, last} {
		here := fmt.Sprintf(`id="note_%d"`, id)
		if s := b.shows(fmt.Sprintf("%s?note=%d", at(i), id)); !s.says(here, fmt.Sprintf(`href="%s?note=%d#note_%d"`, at(i), id, id)) {
			t.Errorf("remark %d is not on its page", id-first+1)
		}
		to := b.get(fmt.Sprintf("%s/notes/%d", at(i), id)).leads()
		if path, fragment, _ := strings.Cut(to, "#"); fragment != fmt.Sprintf("note_%d", id) || !b.shows(path).says(here) {
			t.Errorf("remark %d: its address leads to %s", id-first+1, to)
		}
	}
	for _, gone := range []string{"999999999", "x", "-1"} {
		if s := b.shows(at(i) + "?note=" + gone); !s.says("remark 1.", "The comment that the address names is not here.") {
			t.Errorf("a comment that is not there, %s: %s", gone, s.text)
		}
	}
	if s := w.anonymous(t).shows(fmt.Sprintf("%s?note=%d", at(i), last)); s.says("remark") {
		t.Error("a stranger reads the talk")
	}
}

func TestALongTalkHasAWayToItsLatestPart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	w.talk(t, i, 40)
	w.change(t, i, issue.Change{AddLabels: []string{"bug"}})
	b := w.in(t, access.Guest)
	if s := b.shows(at(i)); !s.says(at(i)+"?part=latest", ">Latest<") {
		t.Error("there is no way to it")
	}
	s := b.shows(at(i) + "?part=latest")
	if !s.says("remark 29.", "remark 40.", "added ", `rel="first"`) || s.says("remark 28.", ">Latest<", `rel="next"`) {
		t.Error(s.text)
	}
	short := w.open(t, issue.Draft{Title: "Paint it"})
	if s := b.shows(at(short) + "?part=latest"); s.says(">Latest<", `rel="first"`) {
		t.Error("a talk of one part has others")
	}
}

func TestCommentsAreWrittenChangedAndTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	b := w.in(t, access.Guest)
	to := b.done(at(i)+"/notes", "note", "It *squeaks*.")
	own := strings.Replace(strings.Replace(to, "#", "/", 1), "note_", "notes/", 1)
	if !b.shows(at(i)).says("<em>squeaks</em>", own+"/edit", own+"/delete") {
		t.Fatalf("the comment is not there: %s", to)
	}
	if s := b.post(at(i)+"/notes", "note", "  "); s.Code != http.StatusUnprocessableEntity || !s.says("Is empty. Write what you want to say.") {
		t.Errorf("an empty comment: %d", s.Code)
	}
	if !b.shows(own + "/edit").says("It *squeaks*.") {
		t.Error("the form does not hold the text")
	}
	b.done(own, "note", "It is quiet.")
	if s := b.shows(at(i)); !s.says("It is quiet.") || s.says("squeaks") {
		t.Error("the comment did not change")
	}
	for who, other := range map[string]*browser{"a developer": w.in(t, access.Developer), "a stranger": w.browser(t, w.stranger)} {
		if s := other.get(own + "/edit"); s.Code != http.StatusNotFound || other.shows(at(i)).says(own+"/edit") {
			t.Errorf("%s may edit it: %d", who, s.Code)
		}
		if s := other.post(own + "/delete"); s.Code != http.StatusForbidden {
			t.Errorf("%s deletes it: %d", who, s.Code)
		}
	}
	if to := b.get(own).leads(); !strings.HasPrefix(to, at(i)+"#note_") {
		t.Errorf("the address of a comment leads to %q", to)
	}
	w.in(t, access.Maintainer).done(own + "/delete")
	if b.shows(at(i)).says("It is quiet.") {
		t.Error("the comment is still there")
	}
}

func TestRepliesStandBelowWhatTheyAnswer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	first := w.say(t, access.Guest, i, note.Draft{Body: "Which door?"})
	w.say(t, access.Guest, i, note.Draft{Body: "By the way."})
	b := w.in(t, access.Reporter)
	b.done(at(i)+"/notes", "note", "The red one.", "discussion", first.Discussion())
	s := b.shows(at(i))
	if a, r, c := strings.Index(s.text, "Which door?"), strings.Index(s.text, "The red one."), strings.Index(s.text, "By the way."); a < 0 || r < a || c < r {
		t.Errorf("%d %d %d", a, r, c)
	}
	if s := b.post(at(i)+"/notes", "note", "x", "discussion", strings.Repeat("0", 40)); s.Code != http.StatusNotFound {
		t.Errorf("a reply to nothing: %d", s.Code)
	}
}

func TestACommentMayCloseTheIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	b := w.in(t, access.Reporter)
	b.done(at(i)+"/notes", "note", "Done.", "then", "close")
	if s := b.shows(at(i)); !s.says("Done.", "closed this", "Reopen issue") {
		t.Error("the issue is not closed")
	}
	b.done(at(i)+"/notes", "note", "", "then", "reopen")
	if s := b.shows(at(i)); !s.says("reopened this", "Close issue") {
		t.Error("the issue is not reopened")
	}
	if s := w.browser(t, w.stranger).post(at(i) + "/close"); s.Code != http.StatusForbidden {
		t.Errorf("a stranger closes it: %d", s.Code)
	}
}

func TestALockedDiscussionIsForMembers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door", DiscussionLocked: new(true)})
	if s := w.browser(t, w.stranger).shows(at(i)); s.says("Write a comment") || !s.says("Locked: members of the project") {
		t.Error("a stranger is offered to comment")
	}
	if !w.in(t, access.Guest).shows(at(i)).says("Write a comment") {
		t.Error("a member is not")
	}
}

func TestReactionsAreGivenAndTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	n := w.say(t, access.Guest, i, note.Draft{Body: "Yes."})
	b := w.in(t, access.Guest)
	b.done(at(i)+"/react", "emoji", "thumbsup")
	b.done(at(i)+"/react", "emoji", "tada", "note", fmt.Sprint(n.ID))
	if s := b.shows(at(i)); !s.says(`value="thumbsup" aria-pressed="true" aria-label="Thumbs up: 1"`, `value="tada" aria-pressed="true" aria-label="Celebrate: 1"`) {
		t.Error(s.text)
	}
	if s := w.in(t, access.Reporter).shows(at(i)); !s.says(`value="thumbsup" aria-pressed="false" aria-label="Thumbs up: 1"`) {
		t.Error("what others gave is shown as one's own")
	}
	b.done(at(i)+"/react", "emoji", "thumbsup")
	if s := b.shows(at(i)); s.says("Thumbs up: 1") || !s.says("Celebrate: 1") {
		t.Error("it was not taken back")
	}
	if s := b.post(at(i)+"/react", "emoji", "no such thing"); s.Code != http.StatusNotFound {
		t.Errorf("an emoji that is none: %d", s.Code)
	}
}

func TestAMovedIssueLeadsToWhereItIs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	hidden := projecttest.New(t, w.DB, w.group.ID, projecttest.Named("hidden"))
	projecttest.Join(t, w.DB, hidden, w.people[access.Maintainer], access.Maintainer)
	by := w.actor(access.Maintainer)
	to, err := w.Projects.Find(t.Context(), by, hidden.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Issues.Move(t.Context(), by, w.as(t, by), i.IID, to); err != nil {
		t.Fatal(err)
	}
	if s := w.in(t, access.Maintainer).get(at(i)); s.Code != http.StatusSeeOther || s.leads() != "/house/hidden/-/issues/1" {
		t.Errorf("%d %s", s.Code, s.leads())
	}
	if s := w.in(t, access.Guest).shows(at(i)); !s.says("was moved to another project, which you may not see") || s.says("house/hidden") {
		t.Error("where it went is told, or that it went is not")
	}
}

func TestOtherAddressesOfAnIssueLeadToItsPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	for _, path := range []string{home + "/-/work_items/1", issues + "/incident/1", at(i) + "/notes", at(i) + "/react"} {
		if s := w.browser(t, w.stranger).get(path); s.Code != http.StatusSeeOther || s.leads() != at(i) {
			t.Errorf("%s: %d %s", path, s.Code, s.leads())
		}
	}
}

func TestPeopleSayWhetherTheyWantToHearOfAnIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	b := w.in(t, access.Guest)
	if !b.shows(at(i)).says("Notify me") {
		t.Error("not offered")
	}
	b.done(at(i) + "/subscribe")
	b.done(at(i) + "/subscribe")
	if !b.shows(at(i)).says("Stop notifying me") {
		t.Error("not subscribed")
	}
	b.done(at(i) + "/unsubscribe")
	if !b.shows(at(i)).says("Notify me") {
		t.Error("still subscribed")
	}
}

func TestATimelineHoldsSomeRepliesOfEachDiscussion(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	first := w.say(t, access.Guest, i, note.Draft{Body: "Which door?", Thread: true})
	for n := range 25 {
		w.say(t, access.Guest, i, note.Draft{Body: fmt.Sprintf("answer %02d", n), Discussion: first.DiscussionID})
	}
	s := w.in(t, access.Guest).shows(at(i))
	if n := strings.Count(s.text, "answer "); n != note.MaxReplies || !s.says("There are more replies than the 20") {
		t.Errorf("%d replies", n)
	}
}

// Lists hold two megabytes of texts. What is cut says so, wherever the cut is.
func TestACutCommentLeadsToTheWhole(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "The roof leaks"})
	w.say(t, access.Owner, i, note.Draft{Body: "short"})
	if s := w.in(t, access.Guest).shows(at(i)); s.says("The text is cut here.") {
		t.Error("a short text is said to be cut")
	}
	for range 8 { // of three bytes each
		w.say(t, access.Owner, i, note.Draft{Body: strings.Repeat("€ ", 70_000)})
	}
	last := w.say(t, access.Owner, i, note.Draft{Body: strings.Repeat("rain ", 100)})
	s := w.in(t, access.Guest).shows(at(i))
	if n := strings.Count(s.text, "The text is cut here."); n != 9 || !s.says(fmt.Sprintf("%s/notes/%d/raw", at(i), last.ID)) {
		t.Errorf("%d texts are said to be cut", n)
	}
}
