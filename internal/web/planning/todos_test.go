package planning_test

import (
	"net/http"
	"testing"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/note"
)

func TestTheListOfToDosSaysWhoAsksForWhatAndIsWorkedOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b, developer := w.in(t, access.Developer), w.people[access.Developer]
	if s := b.shows("/dashboard/todos"); !s.says("Nothing is asked of you") || s.says("Mark all as done") {
		t.Error(s.text)
	}
	w.open(t, issue.Draft{Title: "The roof leaks", AssigneeIDs: []int64{developer.ID}})
	named := w.open(t, issue.Draft{Title: "The door sticks"})
	w.say(t, access.Owner, named, note.Draft{Body: "@" + developer.Username + " can you <b>help</b>?"})
	s := b.shows("/dashboard/todos")
	for _, text := range []string{
		"The roof leaks", w.people[access.Maintainer].Name + " assigned you", "house/tool#1", "The door sticks", w.people[access.Owner].Name + " wrote to you", "can you <b>help</b>?", home + "/-/issues/2?note=", "Mark all as done",
	} {
		if !s.says(text) {
			t.Errorf("%q is not in %s", text, s.text)
		}
	}
	if to := b.done("/dashboard/todos/1"); to != "/dashboard/todos" {
		t.Errorf("it leads to %s", to)
	}
	if s := b.shows("/dashboard/todos"); s.says("The roof leaks") || !s.says("The door sticks") {
		t.Error(s.text)
	}
	if s := b.shows("/dashboard/todos?state=done"); !s.says("The roof leaks") || s.says("The door sticks") || s.says("Mark all as done") {
		t.Error(s.text)
	}
	b.done("/dashboard/todos")
	if s := b.shows("/dashboard/todos"); s.says("The door sticks") || !s.says("Nothing is asked of you") {
		t.Error(s.text)
	}
}

func TestAnIssueIsPutOnOnesOwnList(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i, b := w.open(t, issue.Draft{Title: "The roof leaks"}), w.in(t, access.Guest)
	if !b.shows(at(i)).says("Add a to-do") || w.anonymous(t).shows(at(i)).says("Add a to-do") {
		t.Error("the button is not for those who are signed in")
	}
	for range 2 { // sent twice, it is there once
		if to := b.done(at(i) + "/todo"); to != at(i) {
			t.Errorf("it leads to %s", to)
		}
	}
	if s := b.shows("/dashboard/todos"); !s.says("The roof leaks", "You put it on your list") {
		t.Error(s.text)
	}
	if s := w.in(t, access.Owner).shows("/dashboard/todos"); s.says("The roof leaks") {
		t.Error("it is on the list of somebody else")
	}
}

func TestToDosOfOthersAndOfWhatIsHiddenAreNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	guest := w.people[access.Guest]
	i := w.open(t, issue.Draft{Title: "The roof leaks", AssigneeIDs: []int64{guest.ID}})
	if s := w.in(t, access.Owner).post("/dashboard/todos/1"); s.Code != http.StatusNotFound {
		t.Errorf("somebody else's to-do: %d", s.Code)
	}
	if s := w.anonymous(t).get("/dashboard/todos"); s.Code != http.StatusSeeOther {
		t.Errorf("a stranger: %d", s.Code)
	}
	w.change(t, i, issue.Change{Confidential: new(true), AssigneeIDs: &[]int64{}})
	if s := w.in(t, access.Guest).shows("/dashboard/todos"); s.says("The roof leaks") {
		t.Error("an issue that became confidential is on the list of a guest")
	}
}

func TestTheBarOfEveryPageSaysHowManyToDosWait(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	developer := w.people[access.Developer]
	b := w.in(t, access.Developer)
	if s := b.shows(home); !s.says(`aria-label="To-do list"`) {
		t.Error("nothing is counted where nothing is")
	}
	w.open(t, issue.Draft{Title: "The roof leaks", AssigneeIDs: []int64{developer.ID}})
	w.open(t, issue.Draft{Title: "The door sticks", AssigneeIDs: []int64{developer.ID}})
	for _, path := range []string{home, issues, "/", "/nothing/here"} {
		if s := b.get(path); !s.says(`aria-label="To-do list, 2 to do"`, `<b class="num">2</b>`) {
			t.Errorf("%s: %s", path, s.text)
		}
	}
	for _, other := range []*browser{w.anonymous(t), w.in(t, access.Owner)} {
		if s := other.shows(issues); s.says(" to do") {
			t.Error("somebody else is told of them")
		}
	}
	b.done("/dashboard/todos/2")
	if s := b.shows(home); !s.says("To-do list, 1 to do") {
		t.Error("what is done is counted")
	}
	b.done("/dashboard/todos")
	if s := b.shows("/dashboard/todos"); s.says(" to do\"") {
		t.Error(s.text)
	}
}
