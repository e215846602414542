package planning_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user/usertest"
)

func TestIssuesAreOpenedOnAPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.in(t, access.Reporter)
	b.done(home+"/-/labels", "name", "bug", "color", "crimson")
	b.done(home+"/-/milestones", "title", "2.5", "due_date", "2024-06-01")
	if s := b.shows(issues + "/new?issue[title]=Mend+it&issue[description]=soon"); !s.says(`value="Mend it"`, ">soon<", "bug", "2.5") {
		t.Error(s.text)
	}
	to := b.done(issues, "title", "Mend the door", "description", "It *squeaks*.\r\nA lot.", "assignees", "@role-30", "labels", "1", "more_labels", "noise, old",
		"milestone", "1", "due_date", "2024-05-31", "confidential", "1")
	if to != issues+"/1" {
		t.Fatalf("leads to %s", to)
	}
	s := b.shows(to)
	if !s.says("Mend the door", "<em>squeaks</em>", ">2.5<", "31 May 2024", "Confidential", "noise", "old", "bug", "0 of 1 closed", w.people[access.Developer].Name) {
		t.Error(s.text)
	}
	if s := b.post(issues, "title", " ", "due_date", "soon", "assignees", "nobody-at-all"); s.Code != http.StatusUnprocessableEntity ||
		!s.says("Is not a day", "Cannot be found: there is no nobody-at-all. Check the username") {
		t.Errorf("what means nothing: %d %s", s.Code, s.text)
	}
	if s := b.post(issues, "title", " ", "description", "kept"); s.Code != http.StatusUnprocessableEntity || !s.says("Can't be blank", ">kept<") {
		t.Errorf("without a title: %d", s.Code)
	}
	if s := w.anonymous(t).get(issues + "/new"); s.Code != http.StatusSeeOther || !strings.HasPrefix(s.leads(), "/users/sign_in") {
		t.Errorf("a stranger: %d", s.Code)
	}
}

func TestANewIssueBeginsWithATemplate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.in(t, access.Reporter)
	if s := b.shows(issues + "/new"); s.says("Begin with a template") {
		t.Error("there is none")
	}
	repositorytest.New(t, w.DB, w.Store, w.project, repositorytest.Files{
		".svc/issue_templates/Default.md": "By default.", ".svc/issue_templates/a & b.md": "What is </textarea> wrong?",
	})
	for _, tt := range []struct{ query, holds, chosen string }{
		{"", ">By default.<", ""},
		{"?issuable_template=a+%26+b", ">What is </textarea> wrong?<", "a & b"},
		{"?issuable_template=nothing", "></textarea>", ""},
		{"?issuable_template=Default&issue[description]=soon", ">soon<", "Default"},
	} {
		s := b.shows(issues + "/new" + tt.query)
		if !s.says(`href="/house/tool/-/issues/new?issuable_template=a+%26+b"`, ">a & b</a>", ">Default</a>", tt.holds) {
			t.Errorf("%q: %s", tt.query, s.text)
		}
		for _, name := range []string{"a & b", "Default"} {
			if s.says(`aria-current="true">`+name+"</a>") != (name == tt.chosen) {
				t.Errorf("%q: whether %q is marked", tt.query, name)
			}
		}
		if strings.Contains(s.Body.String(), "is </textarea> wrong") {
			t.Error("a template ends its field")
		}
	}
}

func TestWhoPlansChangesWhatStandsBesideAnIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=premium")
	i := w.open(t, issue.Draft{Title: "Mend the door", Labels: []string{"bug"}, AssigneeIDs: []int64{w.people[access.Developer].ID, w.people[access.Guest].ID}})
	b := w.in(t, access.Reporter)
	if s := b.shows(at(i) + "/edit"); !s.says(`value="Mend the door"`, "@role-30", "checked", "Weight") {
		t.Error(s.text)
	}
	b.done(at(i), "title", "Oil the door", "description", "now", "weight", "3", "discussion_locked", "1", "due_date", "2024-05-09")
	s := b.shows(at(i))
	if !s.says("Oil the door", "now", "<p>3</p>", "Locked: members", "9 May 2024", "Nobody") || s.says(">bug<") && !s.says("removed") {
		t.Error(s.text)
	}
}

func TestWhoDoesNotPlanChangesTitleAndDescriptionAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	guest := w.in(t, access.Guest)
	own := guest.done(issues, "title", "Mend the door")
	if s := guest.shows(own + "/edit"); s.says(`name="assignees"`) || s.says(`name="confidential"`) || !s.says(`name="title"`) {
		t.Error("the form of a guest holds more than they may change")
	}
	w.in(t, access.Reporter).done(own, "title", "Mend the door", "more_labels", "bug")
	guest.done(own, "title", "Oil the door", "confidential", "1")
	if s := guest.shows(own); !s.says("Oil the door", ">bug") && !s.says("bug") || s.says("big warn") {
		t.Error(s.text)
	}
	for _, b := range []*browser{w.browser(t, w.stranger)} {
		if b.get(own+"/edit").Code != http.StatusNotFound || b.post(own, "title", "Mine").Code != http.StatusNotFound {
			t.Error("a stranger edits it")
		}
	}
	if s := w.in(t, access.Developer).post(own + "/delete"); s.Code != http.StatusNotFound {
		t.Errorf("a developer deletes it: %d", s.Code)
	}
	w.in(t, access.Owner).done(own + "/delete")
	if guest.get(own).Code != http.StatusNotFound {
		t.Error("it is still there")
	}
}

func TestAFormThatIsOlderThanTheIssueIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Mend the door"})
	b := w.in(t, access.Reporter)
	_, rest, _ := strings.Cut(b.shows(at(i)+"/edit").text, `name="seen" value="`)
	seen, _, _ := strings.Cut(rest, `"`)
	w.change(t, i, issue.Change{Description: new(new("Better words."))})
	for range 2 { // who presses the button again has seen no more
		s := b.post(at(i), "title", "Mine", "seen", seen)
		if s.Code != http.StatusUnprocessableEntity || !s.says("Somebody changed the title or the description meanwhile", `name="seen" value="`+seen+`"`) {
			t.Errorf("%d", s.Code)
		}
	}
	if !b.shows(at(i)).says("Better words.", "Mend the door") {
		t.Error("it was changed all the same")
	}
}

func TestAFormThatIsOlderThanTheMilestoneIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const list, own = home + "/-/milestones", home + "/-/milestones/1"
	b := w.in(t, access.Reporter)
	b.done(list, "title", "1.0", "description", "Words.")
	seenNow := func() string {
		_, rest, _ := strings.Cut(b.shows(own+"/edit").text, `name="seen" value="`)
		seen, _, _ := strings.Cut(rest, `"`)
		return seen
	}
	for _, other := range [][]string{{"title", "1.0", "description", "Better words."}, {"title", "1.1", "description", "Better words."}, {"title", "1.1", "description", "Better words.", "due_date", "2030-01-01"}} {
		seen := seenNow()
		b.done(own, other...)
		for range 2 {
			s := b.post(own, "title", "Mine", "description", "Mine", "seen", seen)
			if s.Code != http.StatusUnprocessableEntity || !s.says("Somebody changed this milestone meanwhile", `name="seen" value="`+seen+`"`) {
				t.Errorf("%v: %d", other, s.Code)
			}
		}
	}
	if !b.shows(own).says("1.1", "Better words.", "1 January 2030") {
		t.Error("it was changed all the same")
	}
	b.done(own, "title", "Mine", "seen", seenNow())
}

func TestLabelsAreMadeChangedAndDeletedOnTheirPage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const list = home + "/-/labels"
	b := w.in(t, access.Reporter)
	if !b.shows(list).says("There are no labels yet") {
		t.Error("not empty")
	}
	b.done(list, "name", "bug", "color", "#123abc", "description", "It does not work", "priority", "1")
	if s := b.shows(list); !s.says("bug", `fill="#123abc"`, "It does not work", "priority 1", list+"/1/edit") {
		t.Error(s.text)
	}
	if s := b.post(list, "name", "worse", "color", `red" onload="x`); s.Code != http.StatusUnprocessableEntity {
		t.Errorf("a colour that is none: %d", s.Code)
	}
	if s := b.post(list, "name", "bug", "color", "red"); s.Code != http.StatusUnprocessableEntity && s.Code != http.StatusConflict {
		t.Errorf("a name twice: %d", s.Code)
	}
	if !b.shows(list+"/1/edit").says(`value="bug"`, `value="#123abc"`) {
		t.Error("the form is not filled in")
	}
	b.done(list+"/1", "name", "fault", "color", "#123abc")
	if s := b.shows(list + "?search=fau"); !s.says("fault") || s.says("priority 1") {
		t.Error(s.text)
	}
	guest := w.in(t, access.Guest)
	if s := guest.shows(list); s.says("/1/edit") || s.says("New label") {
		t.Error("a guest is offered to change labels")
	}
	for _, path := range []string{list, list + "/1", list + "/1/delete"} {
		if s := guest.post(path, "name", "x", "color", "red"); s.Code != http.StatusNotFound {
			t.Errorf("a guest changes labels at %s: %d", path, s.Code)
		}
	}
	b.done(list + "/1/delete")
	if b.get(list+"/1/edit").Code != http.StatusNotFound {
		t.Error("it is still there")
	}
}

func TestMilestonesAreMadeChangedAndClosedOnTheirPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const list = home + "/-/milestones"
	b := w.in(t, access.Reporter)
	own := b.done(list, "title", "2.5", "start_date", "2024-05-01", "due_date", "2024-06-01", "description", "All *doors*.")
	if own != list+"/1" {
		t.Fatalf("leads to %s", own)
	}
	w.open(t, issue.Draft{Title: "Mend the door", MilestoneID: new(int64(1))})
	done := w.open(t, issue.Draft{Title: "Oil the door", MilestoneID: new(int64(1))})
	w.open(t, issue.Draft{Title: "A secret", MilestoneID: new(int64(1)), Confidential: true})
	w.change(t, done, issue.Change{Close: new(true)})
	if s := b.shows(own); !s.says("2.5", "<em>doors</em>", "1 May 2024 to 1 June 2024", "1 of 3 closed", `value="1" max="3"`, "Mend the door", "A secret") {
		t.Error(s.text)
	}
	if s := w.in(t, access.Guest).shows(own); s.says("A secret") || !s.says("1 of 2 closed") || s.says(own+"/edit") {
		t.Error("a guest sees more than they may")
	}
	if s := b.shows(list); !s.says("2.5", "1 of 3 closed") {
		t.Error(s.text)
	}
	if s := b.post(list, "title", "2.6", "start_date", "2024-07-01", "due_date", "2024-06-01"); s.Code != http.StatusUnprocessableEntity {
		t.Errorf("due before it begins: %d", s.Code)
	}
	b.done(own, "title", "2.5.1")
	if s := b.shows(own); !s.says("2.5.1") || s.says("1 May 2024") {
		t.Error("it did not change")
	}
	b.done(own + "/close")
	if b.shows(list).says("2.5.1") || !b.shows(list+"?state=closed").says("2.5.1") || !b.shows(own).says("Reopen milestone") {
		t.Error("it is not closed")
	}
	b.done(own + "/reopen")
	if s := w.in(t, access.Guest).post(own + "/close"); s.Code != http.StatusNotFound {
		t.Errorf("a guest closes it: %d", s.Code)
	}
}

// What the API calls web_url is where the page is.
func TestAddressesThatTheAPIGivesOpenPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	type shown struct {
		WebURL    string `json:"web_url"`
		Milestone *struct {
			WebURL string `json:"web_url"`
		} `json:"milestone"`
	}
	owner := w.As(t, w.people[access.Owner])
	own := httpapitest.JSON[shown](t, owner.Do(t, "POST", fmt.Sprintf("/projects/%d/milestones", w.project.ID), map[string]any{"title": "2.5"}).WantStatus(t, http.StatusCreated))
	if _, err := w.DB.Exec(t.Context(), `insert into milestones (namespace_id, iid, title, state, created_at, updated_at) values ($1, 1, 'All', 'active', now(), now())`, w.group.ID); err != nil {
		t.Fatal(err)
	}
	i := httpapitest.JSON[shown](t, owner.Do(t, "POST", fmt.Sprintf("/projects/%d/issues", w.project.ID), map[string]any{"title": "Door", "milestone_id": 2}).WantStatus(t, http.StatusCreated))
	if i.Milestone == nil || !strings.Contains(i.Milestone.WebURL, "/groups/house/") {
		t.Fatalf("%+v", i)
	}
	for _, address := range []string{own.WebURL, i.WebURL, i.Milestone.WebURL} {
		path, ours := strings.CutPrefix(address, "https://forge.example")
		if s := w.browser(t, w.stranger).get(path); !ours || s.Code != http.StatusOK {
			t.Errorf("%s: %d", address, s.Code)
		}
	}
	if s := w.browser(t, w.stranger).shows("/groups/house/-/milestones"); !s.says("All", "0 of 1 closed") {
		t.Error(s.text)
	}
}

func TestLabelsOfGroupsAreNotChangedInAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if _, err := w.DB.Exec(t.Context(), `insert into labels (namespace_id, name, color, created_at, updated_at) values ($1, 'shared', '#112233', now(), now())`, w.group.ID); err != nil {
		t.Fatal(err)
	}
	const list = home + "/-/labels"
	b := w.in(t, access.Owner)
	if s := b.shows(list); !s.says("shared", "of a group") || s.says(list+"/1/edit") {
		t.Error(s.text)
	}
	for _, s := range []screen{b.get(list + "/1/edit"), b.post(list+"/1", "name", "mine", "color", "red"), b.post(list + "/1/delete")} {
		if s.Code != http.StatusNotFound {
			t.Errorf("%d", s.Code)
		}
	}
}

func TestAMilestoneDrawsHowItsIssuesCameAndWereClosed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const own = home + "/-/milestones/1"
	b := w.in(t, access.Reporter)
	b.done(home+"/-/milestones", "title", "2.5", "start_date", "2024-04-25", "due_date", "2024-05-05")
	if b.shows(own).says("Issues by day") {
		t.Error("a milestone without issues has a drawing")
	}
	for _, days := range [][2]string{{"2024-04-27T23:30:00Z", ""}, {"2024-04-27T00:10:00Z", ""}, {"2024-04-30T12:00:00Z", "2024-04-30T13:00:00Z"}, {"2024-05-01T01:00:00+02:00", ""}} {
		i := w.open(t, issue.Draft{Title: "Mend the door", MilestoneID: new(int64(1))})
		if _, err := w.DB.Exec(t.Context(), `update issues set created_at = $2::text::timestamptz, closed = $3 <> '', closed_at = nullif($3, '')::timestamptz where id = $1`,
			i.ID, days[0], days[1]); err != nil {
			t.Fatal(err)
		}
	}
	w.open(t, issue.Draft{Title: "Not of it"})
	w.open(t, issue.Draft{Title: "Hidden", MilestoneID: new(int64(1)), Confidential: true})
	guest := w.in(t, access.Guest)
	// Two tenths of ten days on 27 April, five on 30 April, seven today: of 560.
	for _, want := range []string{
		`class="all" d="M112.0 60.0H112.0V31.0H280.0V2.0H392.0"`, `<path d="M112.0 60.0H112.0V60.0H280.0V45.5H392.0"`, `class="area" d="M112.0 60.0H112.0V60.0H280.0V45.5H392.0V60H0z"`,
		"25 April 2024", "5 May 2024", "Issues from 25 April 2024 to 5 May 2024: the first 2 on 27 April 2024, now 4, of which 1 are closed",
	} {
		if s := guest.shows(own); !s.says(want) {
			t.Errorf("nothing of %q in %s", want, s.text)
		}
	}
	if !b.shows(own).says("now 5, of which 1 are closed") {
		t.Error("who reads confidential issues does not see them in the drawing")
	}
	for dates, want := range map[[2]string]string{
		{"", ""}:                     "Issues from 27 April 2024 to 2 May 2024", // from its first issue until today
		{"", "2024-04-28"}:           "Issues from 27 April 2024 to 2 May 2024", // past its end
		{"2024-04-29", "2024-05-09"}: "Issues from 27 April 2024 to 9 May 2024", // with issues from before
	} {
		b.done(own, "title", "2.5", "start_date", dates[0], "due_date", dates[1])
		if s := b.shows(own); !s.says(want) {
			t.Errorf("%v: nothing of %q in %s", dates, want, s.text)
		}
	}
}

func TestGroupsHavePagesOfTheirLabelsAndMilestones(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	above := w.group
	grouptest.New(t, w.DB, grouptest.Named("wing"), grouptest.Under(above), grouptest.Visible(access.Public))
	reporter, guest := usertest.New(t, w.DB), usertest.New(t, w.DB)
	grouptest.Join(t, w.DB, above, reporter, access.Reporter)
	grouptest.Join(t, w.DB, above, guest, access.Guest)
	b := w.browser(t, reporter)
	const labels, milestones, below = "/groups/house/-/labels", "/groups/house/-/milestones", "/groups/house/wing/-/labels"
	if s := b.shows(labels); !s.says("There are no labels yet", "New label") {
		t.Error(s.text)
	}
	b.done(labels, "name", "shared", "color", "#123abc", "priority", "7")
	if s := b.shows(labels); !s.says("shared", labels+"/1/edit", "/groups/house/-/issues?") || s.says("priority 7") {
		t.Error(s.text)
	}
	if s := b.shows(labels + "/1/edit"); !s.says(`value="shared"`) || s.says("Priority") {
		t.Error(s.text)
	}
	b.done(labels+"/1", "name", "renamed", "color", "#123abc")
	if s := b.shows(below); !s.says("renamed", "of a group") || s.says("/1/edit") {
		t.Error(s.text)
	}
	if s := b.get(below + "/1/edit"); s.Code != http.StatusNotFound {
		t.Errorf("a label of the group above is changed in the one below: %d", s.Code)
	}
	if own := b.done(milestones, "title", "Spring", "start_date", "2024-05-01"); own != milestones+"/1" {
		t.Errorf("leads to %s", own)
	}
	if s := b.shows(milestones); !s.says("Spring", "New milestone") {
		t.Error(s.text)
	}
	b.done(milestones+"/1", "title", "Summer")
	b.done(milestones + "/1/close")
	if s := b.shows(milestones + "/1"); !s.says("Summer", "Closed", "Reopen milestone") {
		t.Error(s.text)
	}
	reader := w.browser(t, guest)
	for _, path := range []string{labels, milestones, milestones + "/1"} {
		if s := reader.shows(path); s.says("New label") || s.says("New milestone") || s.says("Edit") || s.says("Reopen") {
			t.Errorf("%s offers a guest what a guest may not: %s", path, s.text)
		}
	}
	for _, path := range []string{labels, labels + "/1", labels + "/1/delete", milestones, milestones + "/1", milestones + "/1/reopen"} {
		if s := reader.post(path, "name", "x", "title", "x", "color", "red"); s.Code != http.StatusNotFound {
			t.Errorf("a guest at %s: %d", path, s.Code)
		}
	}
	for _, path := range []string{labels + "/new", labels + "/1/edit", milestones + "/new", milestones + "/1/edit"} {
		if s := reader.get(path); s.Code != http.StatusNotFound {
			t.Errorf("a guest at %s: %d", path, s.Code)
		}
	}
	b.done(labels + "/1/delete")
	if s := b.shows(below); s.says("renamed") {
		t.Error("a deleted label is still shown")
	}
	grouptest.New(t, w.DB, grouptest.Named("vault"))
	for _, path := range []string{"/groups/vault/-/labels", "/groups/vault/-/milestones"} {
		if s := w.browser(t, w.stranger).get(path); s.Code != http.StatusNotFound {
			t.Errorf("a stranger at %s of a private group: %d", path, s.Code)
		}
	}
}
