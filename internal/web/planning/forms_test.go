package planning_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
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
		!s.says("Is not a day", "Name nobody: there is no nobody-at-all") {
		t.Errorf("what means nothing: %d %s", s.Code, s.text)
	}
	if s := b.post(issues, "title", " ", "description", "kept"); s.Code != http.StatusUnprocessableEntity || !s.says("Can't be blank", ">kept<") {
		t.Errorf("without a title: %d", s.Code)
	}
	if s := w.anonymous(t).get(issues + "/new"); s.Code != http.StatusSeeOther || !strings.HasPrefix(s.leads(), "/users/sign_in") {
		t.Errorf("a stranger: %d", s.Code)
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
	if s := b.post(at(i), "title", "Mine", "seen", seen); s.Code != http.StatusUnprocessableEntity || !s.says("Somebody changed the title or the description meanwhile") {
		t.Errorf("%d", s.Code)
	}
	if !b.shows(at(i)).says("Better words.", "Mend the door") {
		t.Error("it was changed all the same")
	}
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
