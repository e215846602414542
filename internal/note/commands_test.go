package note_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
)

// obeyed is what the API answers to a text of commands alone.
type obeyed struct {
	Changes map[string]any `json:"commands_changes"`
	Summary []string       `json:"summary"`
}

// tell comments with commands alone.
func (w *fixture) tell(t testing.TB, u *user.User, m made, body string) obeyed {
	t.Helper()
	return httpapitest.JSON[obeyed](t, w.As(t, u).Do(t, "POST", m.path()+"/notes", map[string]any{"body": body}).WantStatus(t, http.StatusAccepted))
}

// state is what commands change about an issue.
type state struct {
	Title        string               `json:"title"`
	Description  *string              `json:"description"`
	State        string               `json:"state"`
	Labels       []string             `json:"labels"`
	Assignees    []struct{ ID int64 } `json:"assignees"`
	Milestone    *struct{ ID int64 }
	DueDate      *string `json:"due_date"`
	Confidential bool    `json:"confidential"`
	Locked       *bool   `json:"discussion_locked"`
	IssueType    string  `json:"issue_type"`
	Severity     string  `json:"severity"`
	Weight       *int    `json:"weight"`
	MovedToID    *int64  `json:"moved_to_id"`
	Subscribed   bool    `json:"subscribed"`
	Upvotes      int     `json:"upvotes"`
	NotesCount   int     `json:"user_notes_count"`
	Time         struct {
		Estimate int `json:"time_estimate"`
		Spent    int `json:"total_time_spent"`
	} `json:"time_stats"`
	Links struct {
		DuplicateOf *string `json:"closed_as_duplicate_of"`
	} `json:"_links"`
}

func (w *fixture) state(t testing.TB, m made) state {
	t.Helper()
	return httpapitest.JSON[state](t, w.As(t, w.root).Do(t, "GET", m.path(), nil).WantStatus(t, http.StatusOK))
}

func (w *fixture) label(t testing.TB, name string) int64 {
	t.Helper()
	made := w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/labels", w.project.ID), map[string]any{"name": name, "color": "#112233"})
	return httpapitest.JSON[struct{ ID int64 }](t, made.WantStatus(t, http.StatusCreated)).ID
}

func (w *fixture) milestone(t testing.TB, title string) int64 {
	t.Helper()
	made := w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/milestones", w.project.ID), map[string]any{"title": title})
	return httpapitest.JSON[struct{ ID int64 }](t, made.WantStatus(t, http.StatusCreated)).ID
}

func TestACommentOfCommandsAloneIsDoneAndNotKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.happened()
	got := w.tell(t, w.people[access.Reporter], w.issue, "/close")
	if want := (obeyed{map[string]any{"state_event": "close"}, []string{"Closed this issue."}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if s := w.state(t, w.issue); s.State != "closed" || s.NotesCount != 0 {
		t.Errorf("the issue is %+v", s)
	}
	if all := bodies(t, w.reporter(t), w.issue.path()+"/notes"); len(all) != 0 {
		t.Errorf("it is kept: %q", all)
	}
	if events := w.happened(); len(events) != 0 {
		t.Errorf("%d comments are told of", len(events))
	}
	reply := w.reporter(t).Do(t, "POST", w.issue.path()+"/discussions", map[string]any{"body": "/reopen"}).WantStatus(t, http.StatusAccepted)
	if got := httpapitest.JSON[obeyed](t, reply); !slices.Equal(got.Summary, []string{"Reopened this issue."}) {
		t.Errorf("got %v", got)
	}
}

func TestACommentWithCommandsKeepsTheRest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reply := w.reporter(t).Do(t, "POST", w.issue.path()+"/notes", map[string]any{"body": "It is done.\n\n/close\n/title Mended\n```\n/lock\n```\n/unknown"})
	n := httpapitest.JSON[struct {
		Body    string
		Changes map[string]any `json:"commands_changes"`
	}](t, reply.WantStatus(t, http.StatusCreated))
	if n.Body != "It is done.\n\n```\n/lock\n```\n/unknown" || !reflect.DeepEqual(n.Changes, map[string]any{"state_event": "close", "title": "Mended"}) {
		t.Errorf("got %+v", n)
	}
	if s := w.state(t, w.issue); s.State != "closed" || s.Title != "Mended" || s.NotesCount != 1 || s.Locked != nil {
		t.Errorf("the issue is %+v", s)
	}
	if got := w.noted(t, w.root, w.issue); !slices.Equal(got, []string{"changed title from **Mend{- the door-}** to **Mend{+ed+}**"}) {
		t.Errorf("noted is %q", got)
	}
	first := httpapitest.JSON[[]discussion](t, w.reporter(t).Do(t, "GET", w.issue.path()+"/discussions", nil).WantStatus(t, http.StatusOK))[0].ID
	answer := w.reporter(t).Do(t, "POST", w.issue.path()+"/discussions/"+first+"/notes", map[string]any{"body": "Not quite.\n/reopen"}).WantStatus(t, http.StatusCreated)
	if s := w.state(t, w.issue); s.State != "opened" || !strings.Contains(answer.Body, `"commands_changes":{"state_event":"reopen"}`) {
		t.Errorf("the issue is %+v after %s", s, answer.Body)
	}
}

func TestEveryCommandDoesAsTheAPIDoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	bug, later := w.label(t, "bug"), w.label(t, "to do")
	first := w.milestone(t, "First one")
	u, guest := w.people[access.Reporter], w.people[access.Guest]
	other := w.open(t, w.project, "Other", map[string]any{"labels": "bug", "milestone_id": first})
	n := func(id int64) any { return float64(id) }
	list := func(ids ...int64) any {
		all := []any{}
		for _, id := range ids {
			all = append(all, n(id))
		}
		return all
	}
	for _, c := range []struct {
		text    string
		changes map[string]any
		so      func(s state) bool
	}{
		{"/assign me", map[string]any{"assignee_ids": list(u.ID)}, func(s state) bool { return s.Assignees[0].ID == u.ID }},
		{"/assign @" + guest.Username, map[string]any{"assignee_ids": list(guest.ID, u.ID)}, func(s state) bool { return len(s.Assignees) == 2 }},
		{"/unassign @" + u.Username, map[string]any{"assignee_ids": list(guest.ID)}, func(s state) bool { return len(s.Assignees) == 1 }},
		{"/unassign @" + guest.Username, map[string]any{"assignee_ids": list()}, func(s state) bool { return len(s.Assignees) == 0 }},
		{"/reassign me", map[string]any{"assignee_ids": list(u.ID)}, func(s state) bool { return s.Assignees[0].ID == u.ID }},
		{"/unassign", map[string]any{"assignee_ids": list()}, func(s state) bool { return len(s.Assignees) == 0 }},
		{`/label ~bug ~missing` + "\n" + `/labels "to do"`, map[string]any{"add_label_ids": list(bug, later)}, func(s state) bool { return slices.Equal(s.Labels, []string{"bug", "to do"}) }},
		{"/remove_label ~bug", map[string]any{"remove_label_ids": list(bug)}, func(s state) bool { return slices.Equal(s.Labels, []string{"to do"}) }},
		{"/relabel ~bug", map[string]any{"label_ids": list(bug)}, func(s state) bool { return slices.Equal(s.Labels, []string{"bug"}) }},
		{"/unlabel", map[string]any{"label_ids": list()}, func(s state) bool { return len(s.Labels) == 0 }},
		{`/milestone %"First one"`, map[string]any{"milestone_id": n(first)}, func(s state) bool { return s.Milestone.ID == first }},
		{"/remove_milestone", map[string]any{"milestone_id": nil}, func(s state) bool { return s.Milestone == nil }},
		{fmt.Sprintf("/copy_metadata #%d", other.IID), map[string]any{"add_label_ids": list(bug), "milestone_id": n(first)}, func(s state) bool { return s.Milestone.ID == first && slices.Equal(s.Labels, []string{"bug"}) }},
		{"/title One\n/title Two", map[string]any{"title": "Two"}, func(s state) bool { return s.Title == "Two" }},
		{"/lock", map[string]any{"discussion_locked": true}, func(s state) bool { return *s.Locked }},
		{"/unlock", map[string]any{"discussion_locked": false}, func(s state) bool { return !*s.Locked }},
		{"/unsubscribe", map[string]any{"subscription_event": "unsubscribe"}, func(state) bool { return true }},
		{"/subscribe", map[string]any{"subscription_event": "subscribe"}, func(state) bool { return true }},
		{"/subscribe", map[string]any{"subscription_event": "subscribe"}, func(state) bool { return true }}, // it is so already
		{"/estimate 1d 2h", map[string]any{"time_estimate": n(36000)}, func(s state) bool { return s.Time.Estimate == 36000 }},
		{"/remove_estimate", map[string]any{"time_estimate": n(0)}, func(s state) bool { return s.Time.Estimate == 0 }},
		{"/spend 1h 30m 2001-02-03", map[string]any{"spend_time": map[string]any{"duration": n(5400), "user_id": n(u.ID), "spent_at": "2001-02-03"}}, func(s state) bool { return s.Time.Spent == 5400 }},
		{"/remove_time_spent", map[string]any{}, func(s state) bool { return s.Time.Spent == 0 }},
		{"/award :+1:", map[string]any{"emoji_award": "+1"}, func(s state) bool { return s.Upvotes == 1 }},
		{"/award thumbsup", map[string]any{"emoji_award": "thumbsup"}, func(s state) bool { return s.Upvotes == 0 }},
		{"/due 2030-02-03", map[string]any{"due_date": "2030-02-03"}, func(s state) bool { return *s.DueDate == "2030-02-03" }},
		{"/remove_due_date", map[string]any{"due_date": nil}, func(s state) bool { return s.DueDate == nil }},
		{"/confidential", map[string]any{"confidential": true}, func(s state) bool { return s.Confidential }},
		{"/promote_to_incident\n/severity S2", map[string]any{"issue_type": "incident", "severity": "high"}, func(s state) bool { return s.IssueType == "incident" && s.Severity == "HIGH" }},
		{"/weight 3\n/health_status at_risk", map[string]any{"weight": n(3), "health_status": "at_risk"}, func(s state) bool { return *s.Weight == 3 }},
		{"/clear_weight\n/clear_health_status", map[string]any{"weight": nil, "health_status": nil}, func(s state) bool { return s.Weight == nil }},
		{"/severity low", map[string]any{"severity": "low"}, func(s state) bool { return s.Severity == "LOW" }},
	} {
		got := w.tell(t, u, w.issue, c.text)
		if !reflect.DeepEqual(got.Changes, c.changes) || len(got.Summary) == 0 {
			t.Errorf("%q changed %v and says %q, want %v", c.text, got.Changes, got.Summary, c.changes)
		}
		if s := w.state(t, w.issue); !c.so(s) {
			t.Errorf("after %q the issue is %+v", c.text, s)
		}
	}
	noted := w.noted(t, w.root, w.issue)
	for _, want := range []string{"assigned to @" + u.Username, "added 1h 30m of time spent at 2001-02-03", "removed time spent", "made the issue confidential", "locked this issue"} {
		if !slices.Contains(noted, want) {
			t.Errorf("%q is not among %q", want, noted)
		}
	}
	day, err := postgres.Value[string](t.Context(), w.DB, `select min(spent_at)::date::text from issue_time_logs`)
	if err != nil || day != "2001-02-03" {
		t.Errorf("time was spent on %s: %v", day, err)
	}
}

func TestCommandsLinkIssues(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := w.people[access.Reporter]
	second, third := w.open(t, w.project, "Second"), w.open(t, w.project, "Third")
	links := func(m made) (titles []string) {
		t.Helper()
		for _, l := range httpapitest.JSON[[]state](t, w.reporter(t).Do(t, "GET", m.path()+"/links", nil).WantStatus(t, http.StatusOK)) {
			titles = append(titles, l.Title)
		}
		return titles
	}
	w.tell(t, u, w.issue, fmt.Sprintf("/relate #%d, house/tool#%d", second.IID, third.IID))
	if got := links(w.issue); !slices.Equal(got, []string{"Second", "Third"}) {
		t.Errorf("it is linked to %q", got)
	}
	w.tell(t, u, w.issue, fmt.Sprintf("/unlink #%d", second.IID))
	if got := links(w.issue); !slices.Equal(got, []string{"Third"}) {
		t.Errorf("it is linked to %q", got)
	}
	got := w.tell(t, u, w.issue, fmt.Sprintf("/duplicate #%d", second.IID))
	if s := w.state(t, w.issue); s.State != "closed" || s.Links.DuplicateOf == nil || !reflect.DeepEqual(got.Changes, map[string]any{"canonical_issue_id": float64(second.ID)}) {
		t.Errorf("the issue is %+v, and changed is %v", s, got.Changes)
	}
	if got := links(second); !slices.Equal(got, []string{"Mend the door"}) {
		t.Errorf("the other one is linked to %q", got)
	}
	if noted := w.noted(t, w.root, w.issue); !slices.Contains(noted, fmt.Sprintf("marked this issue as a duplicate of #%d", second.IID)) {
		t.Errorf("noted is %q", noted)
	}
	if noted := w.noted(t, w.root, second); !slices.Contains(noted, fmt.Sprintf("marked #%d as a duplicate of this issue", w.issue.IID)) {
		t.Errorf("noted at the other one is %q", noted)
	}
}

func TestCommandsMoveAndCloneIssuesLast(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := w.people[access.Reporter]
	shed := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("shed"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, shed, u, access.Reporter)
	titles := func(projectID int64) (all []string) {
		t.Helper()
		list := w.As(t, w.root).Do(t, "GET", fmt.Sprintf("/projects/%d/issues?sort=asc", projectID), nil).WantStatus(t, http.StatusOK)
		for _, i := range httpapitest.JSON[[]state](t, list) {
			all = append(all, fmt.Sprintf("%s %s %d", i.Title, i.State, len(i.Assignees)))
		}
		slices.Sort(all)
		return all
	}
	w.say(t, u, w.issue, "A word.")
	w.tell(t, u, w.issue, "/clone house/shed --with_notes")
	w.tell(t, u, w.issue, "/clone")
	w.tell(t, u, w.issue, "/move house/shed\n/title Moved\n/assign me")
	if got := titles(w.project.ID); !slices.Equal(got, []string{"Mend the door opened 0", "Moved closed 1"}) {
		t.Errorf("here are %q", got)
	}
	if got := titles(shed.ID); !slices.Equal(got, []string{"Mend the door opened 0", "Moved opened 1"}) {
		t.Errorf("there are %q", got)
	}
	if got := bodies(t, w.reporter(t), fmt.Sprintf("/projects/%d/issues/1/notes?activity_filter=only_comments", shed.ID)); !slices.Equal(got, []string{"A word."}) {
		t.Errorf("the clone says %q", got)
	}
}

func TestWhatSomebodyMayNotCommandStaysInTheText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.label(t, "bug")
	all := "/close\n/assign me\n/label ~bug\n/title No\n/lock\n/estimate 1h\n/spend 1h\n/due 2030-01-01\n/confidential\n/relate #1\n/move house/tool\n/clone\n" +
		"/duplicate #1\n/promote_to_incident\n/weight 1\n/health_status on_track\n/cc @root\n/zoom x\n/create_merge_request\n/reopen\n/severity S1"
	for _, u := range []*user.User{w.stranger, w.people[access.Guest]} {
		if n := w.say(t, u, w.issue, all); n.Body != all {
			t.Errorf("of what %s commands stays %q", u.Username, n.Body)
		}
	}
	if s := w.state(t, w.issue); s.State != "opened" || s.Title != "Mend the door" || len(s.Labels)+len(s.Assignees) != 0 {
		t.Errorf("the issue is %+v", s)
	}
	own := httpapitest.JSON[made](t, w.As(t, w.stranger).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", w.project.ID), map[string]any{"title": "Own"}).WantStatus(t, http.StatusCreated))
	if n := w.say(t, w.stranger, own, "Hm.\n/title Mine\n/label ~bug\n/close"); n.Body != "Hm.\n/label ~bug" {
		t.Errorf("of what an author commands stays %q", n.Body)
	}
	if s := w.state(t, own); s.Title != "Mine" || s.State != "closed" {
		t.Errorf("their issue is %+v", s)
	}
	if n := w.say(t, w.people[access.Reporter], w.issue, "/reopen\n/unlock\n/remove_milestone\n/remove_due_date\n/severity S1"); !strings.HasPrefix(n.Body, "/reopen\n/unlock") {
		t.Errorf("what cannot be done now is gone: %q", n.Body)
	}
}

func TestCommandsThatFailAreToldAndLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := w.people[access.Reporter]
	other := w.open(t, w.project, "Other")
	for _, body := range []string{
		"/assign @nobody", "/assign", "/label ~nothing", "/milestone %nothing", "/title", "/title " + strings.Repeat("a", 256), "/estimate x", "/estimate -1h",
		"/spend 0", "/spend -1h", "/spend 1h 2999-01-01", "/due never", "/due 2030-13-01", "/relate #999", "/relate", "/relate #1", "/unlink #2", "/duplicate #1", "/move",
		"/move house/nothing", "/move house/tool", "/clone house/nothing", "/copy_metadata #999", "/award :nothing:",
	} {
		reply := w.As(t, u).Do(t, "POST", w.issue.path()+"/notes", map[string]any{"body": body}).WantStatus(t, http.StatusBadRequest)
		if !strings.Contains(reply.Body, `400 Bad request - Note {:commands_only=\u003e[\"`) || !strings.Contains(reply.Body, "Failed to apply commands.") {
			t.Errorf("%q is answered with %s", body, reply.Body)
		}
	}
	if noted := w.noted(t, w.root, w.issue); len(noted) != 0 {
		t.Errorf("noted is %q", noted)
	}
	got := w.tell(t, u, w.issue, fmt.Sprintf("/relate #%d #1\n/close", other.IID))
	if s := w.state(t, w.issue); s.State != "closed" || len(got.Summary) != 2 {
		t.Errorf("the issue is %+v, and said is %q", s, got.Summary)
	}
	if noted := w.noted(t, w.root, other); len(noted) != 0 {
		t.Errorf("half a command is noted: %q", noted)
	}
	if n := w.say(t, u, w.issue, "Words.\n/label ~nothing"); n.Body != "Words." {
		t.Errorf("kept is %q", n.Body)
	}
}

func TestPE02_CommandsFindNothingThatTheirAuthorMayNotRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := w.people[access.Reporter]
	hidden := projecttest.New(t, w.DB, w.project.NamespaceID, projecttest.Named("hidden"), projecttest.Visible(access.Private))
	made := httpapitest.JSON[made](t, w.As(t, w.root).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", hidden.ID), map[string]any{"title": "Secret"}).WantStatus(t, http.StatusCreated))
	for _, command := range []string{"/relate %s#%d", "/duplicate %s#%d", "/unlink %s#%d", "/copy_metadata %s#%d"} {
		var answers []string
		for _, where := range []string{"house/hidden", "house/missing"} {
			body := map[string]any{"body": fmt.Sprintf(command, where, made.IID)}
			answers = append(answers, w.As(t, u).Do(t, "POST", w.issue.path()+"/notes", body).WantStatus(t, http.StatusBadRequest).Body)
		}
		if answers[0] != answers[1] {
			t.Errorf("%s tells what is hidden: %q", command, answers)
		}
	}
	if noted := w.noted(t, w.root, made); len(noted) != 0 {
		t.Errorf("noted is %q", noted)
	}
}

func TestShrugsAreText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if n := w.say(t, w.stranger, w.issue, "/shrug Who knows\n/tableflip"); n.Body != "Who knows ¯\\＿(ツ)＿/¯\n(╯°□°)╯︵ ┻━┻" {
		t.Errorf("got %q", n.Body)
	}
}

func TestDaysOfCommandsAreWrittenInManyWays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	today := w.Now().UTC()
	for text, want := range map[string]string{
		"today": today.Format("2006-01-02"), "Tomorrow": today.AddDate(0, 0, 1).Format("2006-01-02"), "in 3 days": today.AddDate(0, 0, 3).Format("2006-01-02"),
		"in 2 weeks": today.AddDate(0, 0, 14).Format("2006-01-02"), "in 1 month": today.AddDate(0, 1, 0).Format("2006-01-02"),
	} {
		if got := w.tell(t, w.people[access.Reporter], w.issue, "/due "+text).Changes["due_date"]; got != want {
			t.Errorf("%s is %v, want %s", text, got, want)
		}
	}
}

func TestCommandsNameABoundedNumberOfThings(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reply := w.reporter(t).Do(t, "POST", w.issue.path()+"/notes", map[string]any{"body": "/assign " + strings.Repeat("@nobody ", 101)})
	if reply.WantStatus(t, http.StatusBadRequest); !strings.Contains(reply.Body, "The commands name too much.") {
		t.Errorf("got %s", reply.Body)
	}
}
