package board_test

import (
	"fmt"
	"slices"
	"testing"

	"stithy/internal/board"
	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

func labels(names string) map[string]any { return map[string]any{"labels": names} }

func (w *fixture) wantTitles(t testing.TB, m made, c board.Column, want ...string) {
	t.Helper()
	if got := w.titles(t, w.reporter, m, c); !slices.Equal(got, want) {
		t.Errorf("list %d has %v, want %v", c, got, want)
	}
}

func TestAListHasTheIssuesOfWhatItStandsFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	bug, hot := w.label(t, ofGroup(w.top), "bug"), w.label(t, ofProject(w.project), "hot")
	milestone := w.milestone(t, ofProject(w.project), "1.0")
	in := w.project
	w.issue(t, in, "plain")
	w.issue(t, in, "bug", labels("bug"))
	w.issue(t, in, "both", labels("bug,hot"))
	w.issue(t, in, "other", labels("unsorted"))
	w.issue(t, in, "planned", map[string]any{"milestone_id": milestone})
	w.issue(t, in, "given", map[string]any{"assignee_ids": []int64{w.guest.ID}})
	w.issue(t, in, "done", labels("bug"))
	w.As(t, w.root).Do(t, "PUT", ofProject(in)+"/issues/7", map[string]any{"state_event": "close"}).WantStatus(t, 200)
	m := w.create(t, ofProject(in), "work")
	w.wantTitles(t, m, board.Open, "plain", "bug", "both", "other", "planned", "given")
	w.wantTitles(t, m, board.Closed, "done")
	bugs, hots := w.add(t, m, "label_id", bug), w.add(t, m, "label_id", hot)
	w.wantTitles(t, m, board.Open, "plain", "other", "planned", "given")
	w.wantTitles(t, m, board.Column(bugs.ID), "bug", "both")
	w.wantTitles(t, m, board.Column(hots.ID), "both")
	goal, hers := w.add(t, m, "milestone_id", milestone), w.add(t, m, "assignee_id", w.guest.ID)
	w.wantTitles(t, m, board.Open, "plain", "other")
	w.wantTitles(t, m, board.Column(goal.ID), "planned")
	w.wantTitles(t, m, board.Column(hers.ID), "given")
	// What people ask for narrows a list further.
	for _, c := range []struct {
		column board.Column
		filter issue.Filter
		want   []string
	}{
		{board.Column(bugs.ID), issue.Filter{Match: issue.Match{Labels: []string{"hot"}}}, []string{"both"}},
		{board.Column(bugs.ID), issue.Filter{Not: issue.Match{Labels: []string{"hot"}}}, []string{"bug"}},
		{board.Column(hers.ID), issue.Filter{Match: issue.Match{AssigneeIDs: []int64{w.root.ID}}}, []string{}},
		{board.Open, issue.Filter{Search: "oth"}, []string{"other"}},
	} {
		if got := w.titles(t, w.reporter, m, c.column, c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.filter, got, c.want)
		}
	}
	o, b := w.seen(t, w.reporter, m)
	page, err := w.Boards.Issues(t.Context(), person(w.reporter), o, b, board.Column(bugs.ID), issue.Filter{}, paging.Request{Page: 2, PerPage: 1})
	if err != nil || page.Total != 2 || len(page.Items) != 1 || page.Items[0].Title != "both" {
		t.Errorf("got %+v, %v", page, err)
	}
	if _, err := w.Boards.Issues(t.Context(), person(w.reporter), o, b, 999_999, issue.Filter{}, paging.Request{Page: 1, PerPage: 1}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a list that is not there: %v", err)
	}
}

func TestPE08_AListHasTheIssuesThatItsReaderMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hidden := projecttest.New(t, w.DB, w.sub.ID, projecttest.With("features", `{"issues": "private"}`))
	frozen := projecttest.New(t, w.DB, w.sub.ID)
	outside := projecttest.New(t, w.DB, grouptest.New(t, w.DB).ID)
	w.issue(t, w.project, "open")
	w.issue(t, w.project, "confidential", map[string]any{"confidential": true})
	w.issue(t, hidden, "hidden")
	w.issue(t, frozen, "frozen")
	w.issue(t, outside, "outside")
	w.exec(t, `update projects set archived = true where id = $1`, frozen.ID)
	of := w.create(t, ofProject(w.project), "work")
	above := w.create(t, ofGroup(w.top), "work")
	for _, c := range []struct {
		m           made
		guest, more []string
	}{{of, []string{"open"}, []string{"open", "confidential"}}, {above, []string{"hidden", "open"}, []string{"hidden", "open", "confidential"}}} {
		if got := w.titles(t, w.guest, c.m, board.Open); !slices.Equal(got, c.guest) {
			t.Errorf("guests read %v", got)
		}
		if got := w.titles(t, w.reporter, c.m, board.Open); !slices.Equal(got, c.more) {
			t.Errorf("reporters read %v", got)
		}
	}
	o, b := w.seen(t, w.guest, of)
	o.Project.Role = access.NoRole
	if _, err := w.Boards.Issues(t.Context(), person(w.guest), o, b, board.Open, issue.Filter{}, paging.Request{Page: 1, PerPage: 9}); !fault.Is(err, fault.NotFound) {
		t.Errorf("who may not read issues: %v", err)
	}
}

// had is what a board sorts an issue by.
type had struct {
	labels            []string
	milestone, closed bool
	assignees         []int64
}

func (w *fixture) hadBy(t testing.TB, id int64) (h had) {
	t.Helper()
	i, _, err := w.Issues.FindByID(t.Context(), person(w.root), id)
	if err != nil {
		t.Fatal(err)
	}
	named, err := w.Labels.Among(t.Context(), w.DB, i.LabelIDs)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range named {
		h.labels = append(h.labels, l.Name)
	}
	slices.Sort(h.labels)
	h.milestone, h.closed, h.assignees = i.MilestoneID != nil, i.Closed, i.AssigneeIDs
	return h
}

func TestAnIssueThatMovesGetsWhatItsListStandsFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	in := ofProject(w.project)
	bug, hot, goal := w.label(t, in, "bug"), w.label(t, in, "hot"), w.milestone(t, in, "1.0")
	m := w.create(t, in, "work")
	bugs, hots := board.Column(w.add(t, m, "label_id", bug).ID), board.Column(w.add(t, m, "label_id", hot).ID)
	goals := board.Column(w.add(t, m, "milestone_id", goal).ID)
	hers, his := board.Column(w.add(t, m, "assignee_id", w.guest.ID).ID), board.Column(w.add(t, m, "assignee_id", w.reporter.ID).ID)
	id := w.issue(t, w.project, "it", labels("kept"))
	guest, reporter := []int64{w.guest.ID}, []int64{w.reporter.ID}
	for _, c := range []struct {
		fact     string
		from, to board.Column
		want     had
	}{
		{"to a label", board.Open, bugs, had{labels: []string{"bug", "kept"}}},
		{"to another label", bugs, hots, had{labels: []string{"hot", "kept"}}},
		{"to a person", hots, hers, had{labels: []string{"hot", "kept"}, assignees: guest}},
		{"to another person", hers, his, had{labels: []string{"hot", "kept"}, assignees: reporter}},
		{"to a milestone", his, goals, had{labels: []string{"hot", "kept"}, assignees: reporter, milestone: true}},
		{"to the closed", goals, board.Closed, had{labels: []string{"kept"}, assignees: reporter, milestone: true, closed: true}},
		{"to a label again", board.Closed, bugs, had{labels: []string{"bug", "kept"}, assignees: reporter, milestone: true}},
		{"to the open", bugs, board.Open, had{labels: []string{"kept"}}},
		{"nowhere", board.Open, board.Open, had{labels: []string{"kept"}}},
	} {
		if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: id, From: c.from, To: c.to}); err != nil {
			t.Errorf("%s: %v", c.fact, err)
		}
		if got := w.hadBy(t, id); !slices.Equal(got.labels, c.want.labels) || !slices.Equal(got.assignees, c.want.assignees) ||
			got.milestone != c.want.milestone || got.closed != c.want.closed {
			t.Errorf("%s: got %+v, want %+v", c.fact, got, c.want)
		}
		if got := w.titles(t, w.reporter, m, c.to); !slices.Equal(got, []string{"it"}) {
			t.Errorf("%s: it is not there: %v", c.fact, got)
		}
	}
	// It is noted as any change is.
	events, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from resource_events where issue_id = $1`, id)
	if err != nil || events < 9 {
		t.Errorf("%d events, %v", events, err)
	}
}

func TestAnIssueMovesBetweenOthersAsOneChange(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := ofProject(w.project)
	m := w.create(t, in, "work")
	list := board.Column(w.add(t, m, "label_id", w.label(t, in, "bug")).ID)
	a, b := w.issue(t, w.project, "a", labels("bug")), w.issue(t, w.project, "b", labels("bug"))
	c := w.issue(t, w.project, "c")
	drop := board.Drop{IssueID: c, To: list, After: a, Before: b}
	if _, err := w.move(t, w.reporter, m, drop); err != nil {
		t.Fatal(err)
	}
	w.wantTitles(t, m, list, "a", "c", "b")
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: c, From: list, To: list, After: b}); err != nil {
		t.Fatal(err)
	}
	w.wantTitles(t, m, list, "a", "b", "c")
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: c, From: list, To: list, Before: a}); err != nil {
		t.Fatal(err)
	}
	w.wantTitles(t, m, list, "c", "a", "b")
	// Where there is no room, it is made.
	for range 12 {
		for _, id := range []int64{a, b} {
			after, before := c, a
			if id == a {
				before = b
			}
			if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: id, From: list, To: list, After: after, Before: before}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A place that is none undoes all of it.
	d := w.issue(t, w.project, "d")
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: d, To: list, After: 999_999}); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("beside nothing: %v", err)
	}
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: d, To: list, After: b, Before: c}); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("in the wrong order: %v", err)
	}
	if got := w.hadBy(t, d); got.labels != nil {
		t.Errorf("got %+v", got)
	}
}

func TestIssuesOfAGroupMoveBetweenThoseOfOtherProjects(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	beside := projecttest.New(t, w.DB, w.top.ID)
	m := w.create(t, ofGroup(w.top), "work")
	list := board.Column(w.add(t, m, "label_id", w.label(t, ofGroup(w.top), "bug")).ID)
	first := w.issue(t, w.project, "first", labels("bug"))
	w.issue(t, beside, "unsorted")
	second := w.issue(t, beside, "second", labels("bug"))
	it := w.issue(t, beside, "it")
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: it, To: list, After: first, Before: second}); err != nil {
		t.Fatal(err)
	}
	w.wantTitles(t, m, list, "first", "it", "second")
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: it, From: list, To: list, Before: first}); err != nil {
		t.Fatal(err)
	}
	w.wantTitles(t, m, list, "it", "first", "second")
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: first, From: list, To: list, After: second}); err != nil {
		t.Fatal(err)
	}
	w.wantTitles(t, m, list, "it", "second", "first")
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: first, From: list, To: list, After: second, Before: it}); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("in the wrong order: %v", err)
	}
	// Those without room share a place.
	w.exec(t, `update issues set relative_position = 512`)
	if _, err := w.move(t, w.reporter, m, board.Drop{IssueID: it, From: list, To: list, After: second, Before: first}); err != nil {
		t.Fatal(err)
	}
	w.wantTitles(t, m, list, "it", "second", "first")
}

func TestPE02_WhoMayMoveIssuesOnABoard(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	in := ofProject(w.project)
	beside := projecttest.New(t, w.DB, w.sub.ID)
	outside := projecttest.New(t, w.DB, grouptest.New(t, w.DB).ID)
	m, above := w.create(t, in, "work"), w.create(t, ofGroup(w.sub), "work")
	list := board.Column(w.add(t, m, "label_id", w.label(t, in, "bug")).ID)
	id, secret := w.issue(t, w.project, "it"), w.issue(t, w.project, "secret", map[string]any{"confidential": true})
	theirs, far := w.issue(t, beside, "theirs"), w.issue(t, outside, "far")
	far2 := board.Drop{IssueID: far, To: board.Closed}
	for _, c := range []struct {
		fact string
		m    made
		drop board.Drop
		by   string
		kind fault.Kind
	}{
		{"a guest", m, board.Drop{IssueID: id, To: list}, "guest", fault.Forbidden},
		{"a guest who only orders", m, board.Drop{IssueID: id, After: id}, "guest", fault.Forbidden},
		{"a guest, what is confidential", m, board.Drop{IssueID: secret, To: list}, "guest", fault.NotFound},
		{"an issue of another project", m, board.Drop{IssueID: theirs, To: list}, "root", fault.NotFound},
		{"an issue of another group", above, far2, "root", fault.NotFound},
		{"an issue that is not there", m, board.Drop{IssueID: 999_999, To: list}, "root", fault.NotFound},
		{"into a list of another board", above, board.Drop{IssueID: id, To: list}, "root", fault.NotFound},
		{"from a list of another board", above, board.Drop{IssueID: id, From: list, To: board.Closed}, "root", fault.NotFound},
	} {
		by := w.root
		if c.by == "guest" {
			by = w.guest
		}
		if _, err := w.move(t, by, c.m, c.drop); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v", c.fact, err)
		}
	}
	// What may not be read is as good as missing to who puts something beside it.
	helper := usertest.New(t, w.DB)
	projecttest.Join(t, w.DB, w.project, helper, access.Reporter)
	grouptest.Join(t, w.DB, w.sub, helper, access.Guest)
	hidden := w.issue(t, beside, "hidden", map[string]any{"confidential": true})
	if _, err := w.move(t, helper, above, board.Drop{IssueID: id, To: board.Open, After: hidden}); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("beside what is hidden: %v", err)
	}
	if _, err := w.move(t, helper, above, board.Drop{IssueID: theirs, To: board.Closed}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("who plans elsewhere: %v", err)
	}
	if got := w.hadBy(t, id); got.labels != nil || got.closed {
		t.Errorf("got %+v", got)
	}
}

func TestAnIssueDoesNotMoveToWhereItCannotBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	in := ofProject(w.project)
	m := w.create(t, in, "work")
	label := board.Column(w.add(t, m, "label_id", w.label(t, ofGroup(w.top), "bug")).ID)
	goal := board.Column(w.add(t, m, "milestone_id", w.milestone(t, ofGroup(w.top), "1.0")).ID)
	left := usertest.New(t, w.DB)
	projecttest.Join(t, w.DB, w.project, left, access.Developer)
	hers := board.Column(w.add(t, m, "assignee_id", left.ID).ID)
	w.exec(t, `delete from members where user_id = $1`, left.ID)
	locked := w.issue(t, w.project, "locked", map[string]any{"discussion_locked": true})
	if _, err := w.move(t, w.root, m, board.Drop{IssueID: locked, To: board.Closed}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.move(t, w.root, m, board.Drop{IssueID: locked, From: board.Closed, To: board.Open}); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("a locked issue: %v", err)
	}
	id := w.issue(t, w.project, "it")
	w.exec(t, `update projects set namespace_id = $2 where id = $1`, w.project.ID, grouptest.New(t, w.DB).ID)
	for what, to := range map[string]board.Column{"a label": label, "a milestone": goal, "a person": hers} {
		if _, err := w.move(t, w.root, m, board.Drop{IssueID: id, To: to}); !fault.Is(err, fault.Unprocessable) {
			t.Errorf("%s that the project does not have: %v", what, err)
		}
	}
	if got := fmt.Sprint(w.hadBy(t, id)); got != fmt.Sprint(had{assignees: []int64{}}) {
		t.Errorf("got %s", got)
	}
}
