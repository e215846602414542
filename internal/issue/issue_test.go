package issue_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestAnIssueIsCreatedShownChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	guest := w.people[access.Guest]
	m := w.create(t, "  Mend the door ", map[string]any{
		"description": "- [x] hinge\n- [ ] lock", "labels": "bug, wood", "assignee_ids": []int64{guest.ID}, "due_date": "2024-06-01", "confidential": true,
	})
	if m.IID != 1 || m.Title != "Mend the door" || m.State != "opened" || m.Type != "ISSUE" || m.IssueType != "issue" || m.Severity != "UNKNOWN" {
		t.Errorf("made is %+v", m)
	}
	if !slices.Equal(m.Labels, []string{"bug", "wood"}) || len(m.Assignees) != 1 || m.Assignee == nil || m.Assignee.ID != guest.ID || *m.DueDate != "2024-06-01" {
		t.Errorf("made is %+v", m)
	}
	if m.Tasks.Count != 2 || m.Tasks.Completed != 1 || !m.HasTasks || m.TaskStatus != "1 of 2 checklist items completed" || !*m.Subscribed || !m.Confidential {
		t.Errorf("made is %+v", m)
	}
	if want := "https://forge.example/house/tool/-/issues/1"; m.WebURL != want || m.References.Full != "house/tool#1" || m.References.Relative != "#1" {
		t.Errorf("made is at %s, %+v", m.WebURL, m.References)
	}
	w.Turn(time.Hour)
	m = w.change(t, w.people[access.Reporter], m, map[string]any{"title": "Mend the gate", "add_labels": "iron", "remove_labels": "wood,unknown", "due_date": ""})
	if m.Title != "Mend the gate" || !slices.Equal(m.Labels, []string{"bug", "iron"}) || m.DueDate != nil || m.UpdatedAt == m.CreatedAt {
		t.Errorf("changed is %+v", m)
	}
	got := httpapitest.JSON[made](t, w.reporter(t).Do(t, "GET", m.path(), nil).WantStatus(t, http.StatusOK))
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("(-changed +shown):\n%s", diff)
	}
	w.reporter(t).Do(t, "DELETE", m.path(), nil).WantStatus(t, http.StatusForbidden)
	w.As(t, w.people[access.Maintainer]).Do(t, "DELETE", m.path(), nil).WantStatus(t, http.StatusForbidden)
	w.As(t, w.people[access.Owner]).Do(t, "DELETE", m.path(), nil).WantStatus(t, http.StatusNoContent)
	w.reporter(t).Do(t, "GET", m.path(), nil).WantStatus(t, http.StatusNotFound)
	if next := w.create(t, "Next"); next.IID != 2 {
		t.Errorf("the number %d comes again", next.IID)
	}
	var acts []issue.Action
	for _, e := range w.happened() {
		acts = append(acts, e.Action)
	}
	if !slices.Equal(acts, []issue.Action{issue.Created, issue.Updated, issue.Deleted, issue.Created}) {
		t.Errorf("told is %v", acts)
	}
}

func TestWhatAnIssueMayBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for want, body := range map[string]map[string]any{
		`{"message":{"title":["can't be blank"]}}`:                          {"title": "  "},
		`{"message":{"title":["is too long (maximum is 255 characters)"]}}`: {"title": strings.Repeat("ä", 256)},
		`{"error":"title is missing"}`:                                      {},
		`{"error":"confidential is invalid"}`:                               {"title": "x", "confidential": "maybe"},
		`{"error":"confidential is empty"}`:                                 {"title": "x", "confidential": ""},
		`{"error":"issue_type does not have a valid value"}`:                {"title": "x", "issue_type": "epic"},
		`{"message":{"labels":["are too many (maximum is 100)"]}}`:          {"title": "x", "labels": strings.Repeat("l,", 101)},
	} {
		w.reporter(t).Do(t, "POST", of(w.project), body).Want(t, http.StatusBadRequest, want)
	}
	long := w.create(t, strings.Repeat("ä", 255), map[string]any{"description": strings.Repeat("x", 1<<20), "due_date": "never"})
	if long.DueDate != nil {
		t.Errorf("due is %s", *long.DueDate)
	}
	if r := w.reporter(t).Do(t, "POST", of(w.project), map[string]any{"title": "x", "description": strings.Repeat("x", 1<<20+1)}); r.Status != http.StatusBadRequest {
		t.Errorf("a description that is too long gives %d", r.Status)
	}
	// Nor does anything else that makes issues let one be longer.
	_, err := w.Issues.Create(t.Context(), access.Actor{Person: w.people[access.Reporter].Person()}, w.project, issue.Draft{Title: "x", Description: new(strings.Repeat("x", 1<<20+1))})
	if !fault.Is(err, fault.Rejected) || err.Error() != "description is too long (maximum is 1048576 bytes)" {
		t.Errorf("a description that is too long gives %v", err)
	}
	w.reporter(t).Do(t, "PUT", long.path(), map[string]any{"updated_at": "2024-01-01T00:00:00Z"}).WantStatus(t, http.StatusBadRequest)
	w.reporter(t).Do(t, "PUT", long.path(), map[string]any{"state_event": "lock"}).Want(t, http.StatusBadRequest, `{"error":"state_event does not have a valid value"}`)
}

// 200 at once, of which some fail after they have taken a number.
func TestNumbersCountWithoutGapsWhenManyCreateAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by, err := w.Projects.Find(t.Context(), access.Actor{Person: w.people[access.Owner].Person()}, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	actor := access.Actor{Person: w.people[access.Owner].Person()}
	var group sync.WaitGroup
	for n := range 200 {
		group.Go(func() {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			d := issue.Draft{Title: fmt.Sprint(n), Labels: []string{fmt.Sprint("label ", n%7)}}
			if n%5 == 0 {
				d.IID = 1 // is taken, or takes the place of the first
			}
			if n%11 == 0 {
				stop()
			}
			_, _ = w.Issues.Create(ctx, actor, by, d)
		})
	}
	group.Wait()
	page, err := w.Issues.List(t.Context(), actor, issue.Scope{Project: by}, issue.Filter{}, paging.Request{Page: 1, PerPage: 300, OrderBy: "created_at"})
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, i := range page.Items {
		numbers = append(numbers, i.IID)
	}
	slices.Sort(numbers)
	if len(numbers) < 100 || numbers[0] != 1 || numbers[len(numbers)-1] != len(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
		t.Errorf("numbers are %v", numbers)
	}
}

// The function that decides and the conditions of lists say the same, for every kind of project, of person and of issue, by every list.
func TestPE08_ListsHoldWhatTheReaderMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	people := map[string]access.Actor{
		"nobody":   {},
		"admin":    {Person: w.root.Person()},
		"auditor":  {Person: usertest.New(t, w.DB, usertest.With("auditor", true)).Person()},
		"external": {Person: usertest.New(t, w.DB, usertest.With("external", true)).Person()},
		"stranger": {Person: w.stranger.Person()},
	}
	inner := grouptest.New(t, w.DB, grouptest.Named("inner"), grouptest.Under(w.group), grouptest.Visible(access.Public))
	var authors []int64
	for _, role := range access.Roles {
		u := usertest.New(t, w.DB)
		grouptest.Join(t, w.DB, w.group, u, role)
		people[role.String()] = access.Actor{Person: u.Person()}
		authors = append(authors, u.ID)
	}
	banned := usertest.New(t, w.DB, usertest.With("state", "banned"))
	authors = append(authors, w.stranger.ID, people["external"].ID(), banned.ID)
	label := labelOf(t, w)
	titles, given := map[string]int64{}, map[string]int64{} // by project, and by whom they are given to
	for _, visibility := range []access.Visibility{access.Private, access.Internal, access.Public} {
		for _, level := range []string{"enabled", "private", "disabled"} {
			p := projecttest.New(t, w.DB, inner.ID, projecttest.Visible(visibility), projecttest.With("features", fmt.Sprintf(`{"issues": %q}`, level)))
			if _, err := w.DB.Exec(t.Context(), `insert into issue_counters (project_id, last) values ($1, 100)`, p.ID); err != nil {
				t.Fatal(err)
			}
			for n, author := range authors {
				for m, confidential := range []bool{false, true} {
					title := fmt.Sprintf("%s %s %d %v", visibility, level, n, confidential)
					id, err := insertIssue(t, w, p.ID, 2*n+m+1, author, title, confidential)
					if err != nil {
						t.Fatal(err)
					}
					if n%2 == 0 { // given to the next one
						given[title] = authors[(n+1)%len(authors)]
						mark(t, w, `insert into issue_assignees (issue_id, user_id) values ($1, $2)`, id, given[title])
					}
					mark(t, w, `insert into issue_labels (issue_id, label_id) values ($1, $2)`, id, label)
					titles[title] = p.ID
				}
			}
		}
	}
	for name, actor := range people {
		want := []string{}
		for title, projectID := range titles {
			p, err := w.Projects.Find(t.Context(), actor, projectID)
			if err != nil {
				continue
			}
			if _, err := w.Issues.Find(t.Context(), actor, p, numberOf(t, w, title)); err == nil {
				want = append(want, title)
			}
		}
		slices.Sort(want)
		req := paging.Request{Page: 1, PerPage: 500, OrderBy: "created_at", Desc: true}
		for place, in := range map[string]issue.Scope{"the group": {Group: w.group}, "everywhere": {}} {
			for _, f := range []issue.Filter{
				{},
				{Match: issue.Match{AuthorIDs: authors}},
				{Match: issue.Match{Labels: []string{"all"}}},
				{Match: issue.Match{AssigneeIDs: authors[1:2]}},
				{Match: issue.Match{AssigneeIDs: authors[1:2], Labels: []string{"all"}}},
			} {
				want := want
				if f.AssigneeIDs != nil {
					want = slices.DeleteFunc(slices.Clone(want), func(title string) bool { return given[title] != f.AssigneeIDs[0] })
				}
				page, err := w.Issues.List(t.Context(), actor, in, f, req)
				if err != nil {
					t.Fatal(err)
				}
				counts, err := w.Issues.Count(t.Context(), actor, in, f)
				if err != nil {
					t.Fatal(err)
				}
				got := []string{}
				for _, i := range page.Items {
					got = append(got, i.Title)
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s (-read alone +listed):\n%s", name, place, diff)
				}
				if page.Total != len(want) || counts.Opened != len(want) {
					t.Errorf("%s, %s: counted are %d and %d of %d", name, place, page.Total, counts.Opened, len(want))
				}
			}
		}
		for _, projectID := range titles {
			p, err := w.Projects.Find(t.Context(), actor, projectID)
			if err != nil || !access.Holds(actor, access.ReadIssues, p.Target()) {
				continue
			}
			mine, mineGiven := 0, 0
			for _, title := range want {
				if titles[title] == projectID {
					if mine++; given[title] == authors[1] {
						mineGiven++
					}
				}
			}
			for _, of := range []struct {
				issue.Match
				want int
			}{{issue.Match{}, mine}, {issue.Match{Labels: []string{"all"}}, mine}, {issue.Match{AssigneeIDs: authors[1:2]}, mineGiven}} {
				page, err := w.Issues.List(t.Context(), actor, issue.Scope{Project: p}, issue.Filter{Match: of.Match}, req)
				if err != nil {
					t.Fatal(err)
				}
				if len(page.Items) != of.want {
					t.Errorf("%s: the list of project %d with %+v holds %d of %d", name, projectID, of.Match, len(page.Items), of.want)
				}
			}
		}
	}
}

// labelOf makes a label of the group that is called all.
func labelOf(t testing.TB, w *fixture) int64 {
	t.Helper()
	id, err := postgres.Value[int64](t.Context(), w.DB,
		`insert into labels (namespace_id, name, color, created_at, updated_at) values ($1, 'all', '#ffffff', now(), now()) returning id`, w.group.ID)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// mark writes a row beside an issue.
func mark(t testing.TB, w *fixture, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func TestPE02_AConfidentialIssueIsMissingToWhoMayNotReadIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := w.create(t, "secret", map[string]any{"confidential": true, "assignee_id": w.people[access.Guest].ID})
	for name, c := range map[string]struct {
		as     *httpapitest.Client
		status int
	}{
		"nobody": {w.Client, 404}, "a stranger": {w.As(t, w.stranger), 404}, "the assignee": {w.As(t, w.people[access.Guest]), 200},
		"a reporter": {w.reporter(t), 200}, "an administrator": {w.As(t, w.root), 200},
	} {
		for _, path := range []string{"", "/links", "/time_stats"} {
			if r := c.as.Do(t, "GET", secret.path()+path, nil); r.Status != c.status {
				t.Errorf("%s, %s: got %d", name, path, r.Status)
			}
		}
	}
	// A write says no more than a read.
	w.As(t, w.stranger).Do(t, "PUT", secret.path(), map[string]any{"title": "x"}).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
	w.As(t, w.stranger).Do(t, "POST", secret.path()+"/subscribe", nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.stranger).Do(t, "DELETE", secret.path(), nil).Want(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	w.As(t, w.stranger).Do(t, "DELETE", of(w.project)+"/99", nil).Want(t, http.StatusForbidden, `{"message":"403 Forbidden"}`)
	w.As(t, w.stranger).Do(t, "PUT", of(w.project)+"/99", map[string]any{"title": "x"}).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
}

func TestWhoMayChangeWhat(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	attributes := map[string]any{
		"labels": "bug", "assignee_ids": []int64{w.people[access.Developer].ID}, "due_date": "2024-06-01", "discussion_locked": true, "iid": 7, "created_at": "2020-01-01T00:00:00Z",
	}
	planned := func(m made) bool { return len(m.Assignees) > 0 || m.DueDate != nil || m.DiscussionLocked != nil }
	outside := w.createAs(t, w.stranger, w.project, "of a stranger", attributes)
	if planned(outside) || len(outside.Labels) > 0 || outside.IID != 1 {
		t.Errorf("a stranger plans: %+v", outside)
	}
	guests := w.createAs(t, w.people[access.Guest], w.project, "of a guest", attributes)
	if !planned(guests) || len(guests.Labels) > 0 || guests.IID != 2 {
		t.Errorf("a guest, who makes no labels, makes %+v", guests)
	}
	if m := w.createAs(t, w.people[access.Owner], w.project, "of an owner", attributes); m.IID != 7 || m.CreatedAt != "2020-01-01T00:00:00.000Z" {
		t.Errorf("an owner makes %+v", m)
	}
	w.As(t, w.people[access.Owner]).Do(t, "POST", of(w.project), map[string]any{"title": "again", "iid": 7}).Want(t, http.StatusConflict, `{"message":"Duplicated issue"}`)
	w.createAs(t, w.people[access.Owner], w.project, "before", map[string]any{"iid": 3})
	if m := w.createAs(t, w.people[access.Owner], w.project, "next"); m.IID != 8 {
		t.Errorf("after 7, and 3, comes %d", m.IID)
	}

	change := map[string]any{"title": "changed", "description": "changed", "state_event": "close", "labels": "bug", "assignee_ids": []int64{}, "confidential": true}
	if m := w.change(t, w.stranger, outside, change); m.Title != "changed" || m.State != "closed" || len(m.Labels) > 0 || m.Confidential {
		t.Errorf("the author makes it %+v", m)
	}
	w.As(t, w.people[access.Guest]).Do(t, "PUT", outside.path(), change).WantStatus(t, http.StatusForbidden)
	w.Client.Do(t, "PUT", outside.path(), change).WantStatus(t, http.StatusUnauthorized)
	if m := w.change(t, w.people[access.Reporter], guests, change); len(m.Labels) != 1 || len(m.Assignees) > 0 || !m.Confidential || m.ClosedBy == nil || m.ClosedAt == nil {
		t.Errorf("a reporter makes it %+v", m)
	}
	incident := w.create(t, "fire", map[string]any{"issue_type": "incident"})
	if m := w.createAs(t, w.stranger, w.project, "smoke", map[string]any{"issue_type": "incident"}); incident.IssueType != "incident" || m.IssueType != "issue" {
		t.Errorf("a reporter makes %s, a stranger %s", incident.IssueType, m.IssueType)
	}
	if m := w.change(t, w.people[access.Reporter], incident, map[string]any{"severity": "high"}); m.Severity != "HIGH" {
		t.Errorf("it is %s", m.Severity)
	}
	w.archive(t, w.project)
	w.reporter(t).Do(t, "PUT", incident.path(), map[string]any{"title": "x"}).WantStatus(t, http.StatusForbidden)
	w.reporter(t).Do(t, "GET", incident.path(), nil).WantStatus(t, http.StatusOK)
}

func TestALockedIssueStaysClosed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.people[access.Reporter]
	m := w.create(t, "x")
	w.change(t, reporter, m, map[string]any{"state_event": "close"})
	w.happened()
	w.Turn(time.Minute)
	w.change(t, reporter, m, map[string]any{"due_date": "2024-06-01"})
	closed := w.change(t, reporter, m, map[string]any{"labels": ""})
	w.happened()
	w.Turn(time.Minute)
	if again := w.change(t, reporter, m, map[string]any{"state_event": "close", "due_date": "2024-06-01", "labels": "", "assignee_ids": []int64{}}); *again.ClosedAt != *closed.ClosedAt || again.UpdatedAt != closed.UpdatedAt || len(w.happened()) > 0 {
		t.Errorf("closing it again changes it to %+v", again)
	}
	if open := w.change(t, reporter, m, map[string]any{"state_event": "reopen"}); open.State != "opened" || open.ClosedAt != nil || open.ClosedBy != nil {
		t.Errorf("reopened it is %+v", open)
	}
	w.change(t, reporter, m, map[string]any{"state_event": "close", "discussion_locked": true})
	if locked := w.change(t, reporter, m, map[string]any{"state_event": "reopen"}); locked.State != "closed" {
		t.Errorf("a locked one becomes %s", locked.State)
	}
}

func TestAnIssueIsGivenToWhoMayReadIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=premium")
	hidden := projecttest.New(t, w.DB, w.group.ID)
	guest := usertest.New(t, w.DB)
	projecttest.Join(t, w.DB, hidden, guest, access.Guest)
	blocked := usertest.New(t, w.DB, usertest.With("state", "blocked"))
	projecttest.Join(t, w.DB, hidden, blocked, access.Developer)
	m := w.createAs(t, w.root, hidden, "x", map[string]any{"assignee_ids": []int64{w.stranger.ID, guest.ID, guest.ID, blocked.ID, 999999, w.root.ID}, "weight": 3})
	if len(m.Assignees) != 2 || m.Weight == nil || *m.Weight != 3 {
		t.Errorf("it is given to %v and weighs %v", m.Assignees, m.Weight)
	}
	free := newFixture(t, "STITHY_INSTANCE_TIER=free")
	if m := free.create(t, "x", map[string]any{"assignee_ids": []int64{free.people[access.Guest].ID, free.people[access.Owner].ID}, "weight": 3}); len(m.Assignees) != 1 || m.Weight != nil {
		t.Errorf("on the free tier it is given to %v and weighs %v", m.Assignees, m.Weight)
	}
}

func TestListsAreFilteredAndOrdered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	guest, reporter := w.people[access.Guest], w.people[access.Reporter]
	milestone := httpapitest.JSON[struct{ ID int64 }](t, w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/milestones", w.project.ID),
		map[string]any{"title": "v1", "start_date": "2024-05-01", "due_date": "2024-05-20"}).WantStatus(t, http.StatusCreated))
	w.create(t, "a", map[string]any{"labels": "bug,ui", "due_date": "2024-05-02", "description": "red door"})
	w.Turn(time.Hour)
	w.createAs(t, guest, w.project, "b", map[string]any{"labels": "bug", "assignee_ids": []int64{reporter.ID}, "due_date": "2024-05-03", "milestone_id": milestone.ID})
	w.Turn(time.Hour)
	c := w.create(t, "c door", map[string]any{"confidential": true, "due_date": "2024-04-01", "issue_type": "incident"})
	w.change(t, reporter, c, map[string]any{"state_event": "close"})
	w.Turn(time.Hour)
	w.create(t, "d", map[string]any{"milestone_id": milestone.ID, "assignee_ids": []int64{guest.ID}})
	for query, want := range map[string]string{
		"": "d c door b a", "state=opened": "d b a", "state=closed": "c door", "sort=asc": "a b c door d", "order_by=title&sort=asc": "a b c door d",
		"labels=bug": "b a", "labels=bug,ui": "a", "labels=Bug": "", "labels=None": "d c door", "labels=Any": "b a", "labels[]=bug&labels[]=ui": "a",
		"milestone=v1": "d b", "milestone=None": "c door a", "milestone=Any": "d b", "milestone=unknown": "", "milestone_id=Started": "d b",
		"milestone_id=Upcoming": "d b", "milestone_id=None": "c door a",
		"author_username=role-10": "b", "author_username=nobody": "", fmt.Sprintf("author_id=%d", reporter.ID): "d c door a",
		"assignee_id=None": "c door a", "assignee_id=Any": "d b", fmt.Sprintf("assignee_id=%d", guest.ID): "d", "assignee_username=role-20": "b",
		"assignee_username=nobody": "", "scope=assigned_to_me": "b", "scope=created-by-me": "d c door a", "iids[]=1&iids[]=2": "b a", "iids=1,2": "b a",
		"search=door": "c door a", "search=door&in=title": "c door", "search=DOOR&in=description": "a", "search=%25": "", "search=c+door": "c door", "search=c+door&in=description": "", "search=red+door": "a", "search=door+red": "",
		"search=RED+DOOR&in=description": "a", "search=red+door&in=title": "", "confidential=true": "c door", "confidential=false": "d b a",
		"issue_type=incident": "c door", "due_date=0": "d", "due_date=any": "c door b a", "due_date=today": "a", "due_date=tomorrow": "b", "due_date=overdue": "c door",
		"due_date=week": "b a", "due_date=month": "b a", "due_date=next_month_and_previous_two_weeks": "b a", "due_date=": "d c door b a",
		"not[labels]=ui": "d c door b", "not[labels]=ui,bug": "d c door", "not[milestone]=v1": "c door a", "not[author_username]=role-10": "d c door a",
		"not[assignee_username]=role-20": "d c door a", "not[iids]=1,2": "d c door", fmt.Sprintf("not[author_id]=%d", guest.ID): "d c door a",
		fmt.Sprintf("not[assignee_id]=%d", guest.ID): "c door b a", "not[milestone_id]=Started": "c door a", "not[labels]=unknown": "d c door b a",
		"created_after=2024-05-02T16:04:05.678Z": "d c door b", "created_before=2024-05-02T16:04:05.678Z": "b a", "updated_after=2024-05-02T18:00:00Z": "d",
		"updated_before=2024-05-02T15:04:05.678Z": "a", "order_by=due_date&sort=asc": "c door a b d", "order_by=due_date": "b a c door d",
		"order_by=milestone_due&sort=asc": "d b c door a", "order_by=relative_position": "a b c door d", "order_by=updated_at": "d c door b a", "order_by=priority": "d b c door a",
		"order_by=label_priority": "d c door b a", "order_by=popularity": "d c door b a", "order_by=weight": "d c door b a", "non_archived=true": "d c door b a",
	} {
		if got := strings.Join(titles(t, w.reporter(t).Do(t, "GET", of(w.project)+"?"+query, nil)), " "); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"author_id=1&author_username=x": "author_id, author_username are mutually exclusive", "assignee_id=1&assignee_username=x": "assignee_id, assignee_username are mutually exclusive",
		"milestone=a&milestone_id=Any": "milestone, milestone_id are mutually exclusive", "milestone_id=started": "milestone_id does not have a valid value",
		"assignee_id=me": "assignee_id should be an integer, none, or any, however got me", "state=merged": "state does not have a valid value",
		"not[author_id]=1&not[author_username]=x": "not[author_id], not[author_username] are mutually exclusive",
	} {
		w.reporter(t).Do(t, "GET", of(w.project)+"?"+query, nil).Want(t, http.StatusBadRequest, fmt.Sprintf(`{"error":%q}`, want))
	}
	var many strings.Builder
	for n := range 21 {
		fmt.Fprintf(&many, "label %d,", n)
	}
	w.reporter(t).Do(t, "GET", of(w.project)+"?labels="+url.QueryEscape(many.String()), nil).WantStatus(t, http.StatusBadRequest)
	if got := titles(t, w.reporter(t).Do(t, "GET", of(w.project)+"?labels="+strings.Repeat("ui,", 200), nil)); len(got) != 1 {
		t.Errorf("one label that is asked for often gives %v", got)
	}
	if got := titles(t, w.reporter(t).Do(t, "GET", fmt.Sprintf("/projects/%d/milestones/%d/issues", w.project.ID, milestone.ID), nil)); strings.Join(got, " ") != "d b" {
		t.Errorf("of the milestone are %v", got)
	}
}

func TestListsOfAGroupAndOfEverything(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.DB, grouptest.New(t, w.DB, grouptest.Named("sub"), grouptest.Under(w.group), grouptest.Visible(access.Public)).ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	elsewhere := projecttest.New(t, w.DB, grouptest.New(t, w.DB, grouptest.Visible(access.Public)).ID, projecttest.Visible(access.Public))
	for n, p := range []int64{w.project.ID, other.ID, elsewhere.ID, other.ID, w.project.ID} {
		w.As(t, w.stranger).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", p), map[string]any{"title": fmt.Sprint(n)}).WantStatus(t, http.StatusCreated)
		w.Turn(time.Second)
	}
	w.create(t, "of the reporter", map[string]any{"labels": "bug"})
	inGroup := fmt.Sprintf("/groups/%d/issues", w.group.ID)
	for path, want := range map[string][]string{
		inGroup: {"of the reporter", "4", "3", "1", "0"}, inGroup + "?per_page=2&page=2": {"3", "1"}, inGroup + "?labels=bug": {"of the reporter"},
		"/issues?scope=all": {"of the reporter", "4", "3", "2", "1", "0"}, "/issues": {"of the reporter"}, "/issues?scope=all&author_username=stranger&sort=asc": {"0", "1", "2", "3", "4"},
		"/issues?scope=all&labels=bug": {"of the reporter"}, inGroup + "?scope=created_by_me": {"of the reporter"}, inGroup + "?search=reporter": {"of the reporter"},
	} {
		if got := titles(t, w.reporter(t).Do(t, "GET", path, nil)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	w.Client.Do(t, "GET", "/issues", nil).WantStatus(t, http.StatusUnauthorized)
	if got := titles(t, w.Client.Do(t, "GET", "/issues?scope=all", nil)); len(got) != 6 {
		t.Errorf("anonymous callers get %v", got)
	}
	page := httpapitest.JSON[[]made](t, w.reporter(t).Do(t, "GET", inGroup, nil))
	if page[2].References.Relative != "sub/other#2" || page[2].References.Full != "house/sub/other#2" || page[2].Subscribed != nil {
		t.Errorf("in the group it is %+v, subscribed %v", page[2].References, page[2].Subscribed)
	}
	w.archive(t, other)
	for path, want := range map[string]int{inGroup: 3, inGroup + "?non_archived=false": 5, "/issues?scope=all": 4, "/issues?scope=all&non_archived=false": 6, of(other): 2} {
		if got := titles(t, w.reporter(t).Do(t, "GET", path, nil)); len(got) != want {
			t.Errorf("%s: got %v, want %d", path, got, want)
		}
	}
	for path, want := range map[string]string{
		of(w.project) + "_statistics":              `{"statistics":{"counts":{"all":3,"closed":0,"opened":3}}}`,
		inGroup + "_statistics?labels=bug":         `{"statistics":{"counts":{"all":1,"closed":0,"opened":1}}}`,
		"/issues_statistics?scope=all":             `{"statistics":{"counts":{"all":4,"closed":0,"opened":4}}}`,
		of(w.project) + "_statistics?state=closed": `{"statistics":{"counts":{"all":0,"closed":0,"opened":0}}}`,
	} {
		w.reporter(t).Do(t, "GET", path, nil).Want(t, http.StatusOK, want)
	}
	id := page[0].ID
	w.As(t, w.root).Do(t, "GET", fmt.Sprintf("/issues/%d", id), nil).WantStatus(t, http.StatusOK)
	w.reporter(t).Do(t, "GET", fmt.Sprintf("/issues/%d", id), nil).WantStatus(t, http.StatusForbidden)
}

// Pages by cursor hold every issue once, in every direction, wherever the list looks.
func TestEveryIssueIsOnOnePage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.DB, w.group.ID, projecttest.Visible(access.Public))
	for n := range 23 {
		p := w.project
		if n%3 == 0 {
			p = other
		}
		w.createAs(t, w.stranger, p, fmt.Sprint(n))
		if n%4 == 0 {
			w.Turn(time.Second)
		}
	}
	mark(t, w, `insert into issue_labels (issue_id, label_id) select id, $1 from issues where id % 5 > 0`, labelOf(t, w))
	mark(t, w, `insert into issue_assignees (issue_id, user_id) select id, $1 from issues where id % 4 > 0`, w.stranger.ID)
	actor := access.Actor{Person: w.stranger.Person()}
	for place, in := range map[string]issue.Scope{"project": {Project: w.project}, "group": {Group: w.group}, "everywhere": {}} {
		everyPageOnce(t, w, actor, place, in, issue.Filter{}, nil)
		everyPageOnce(t, w, actor, place+" with a label", in, issue.Filter{Match: issue.Match{Labels: []string{"all"}}}, func(id int64) bool { return id%5 > 0 })
		everyPageOnce(t, w, actor, place+" of an assignee", in, issue.Filter{Match: issue.Match{AssigneeIDs: []int64{w.stranger.ID}}}, func(id int64) bool { return id%4 > 0 })
	}
}

// everyPageOnce turns the pages of a list, which holds what of all issues is asked for.
func everyPageOnce(t *testing.T, w *fixture, actor access.Actor, place string, in issue.Scope, f issue.Filter, asked func(int64) bool) {
	t.Helper()
	for _, order := range []string{"created_at", "updated_at"} {
		for _, desc := range []bool{true, false} {
			whole, err := w.Issues.List(t.Context(), actor, in, issue.Filter{}, paging.Request{Page: 1, PerPage: 100, OrderBy: order, Desc: desc})
			if err != nil {
				t.Fatal(err)
			}
			for _, keyset := range []bool{true, false} {
				turned, _ := turn(t, w, actor, in, f, paging.Request{Page: 1, PerPage: 4, OrderBy: order, Desc: desc, Keyset: keyset})
				var want []int64
				for _, i := range whole.Items {
					if asked == nil || asked(i.ID) {
						want = append(want, i.ID)
					}
				}
				if !slices.Equal(turned, want) {
					t.Errorf("%s by %s, descending %v, keyset %v: got %v, want %v", place, order, desc, keyset, turned, want)
				}
			}
		}
	}
}

func TestIssuesAreFoundByTheEmojiThatTheReaderGaveThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, b := w.create(t, "a"), w.create(t, "b")
	w.create(t, "c")
	w.reporter(t).Do(t, "POST", a.path()+"/award_emoji", map[string]any{"name": "thumbsup"}).WantStatus(t, http.StatusCreated)
	w.reporter(t).Do(t, "POST", b.path()+"/award_emoji", map[string]any{"name": "tada"}).WantStatus(t, http.StatusCreated)
	w.As(t, w.stranger).Do(t, "POST", b.path()+"/award_emoji", map[string]any{"name": "thumbsup"}).WantStatus(t, http.StatusCreated)
	for query, want := range map[string]string{
		"my_reaction_emoji=thumbsup": "a", "my_reaction_emoji=tada": "b", "my_reaction_emoji=heart": "", "my_reaction_emoji=Any": "b a", "my_reaction_emoji=none": "c", "my_reaction_emoji=": "c b a",
	} {
		if got := strings.Join(titles(t, w.reporter(t).Do(t, "GET", of(w.project)+"?"+query, nil)), " "); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	if got := titles(t, w.Client.Do(t, "GET", of(w.project)+"?my_reaction_emoji=Any", nil)); len(got) != 3 {
		t.Errorf("who gave nothing because nobody knows them gets %v", got)
	}
}

// Clients ask for them before they show an issue.
func TestNoMergeRequestClosesOrNamesAnIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	open, secret := w.create(t, "open"), w.create(t, "secret", map[string]any{"confidential": true})
	for _, list := range []string{"/closed_by", "/related_merge_requests"} {
		w.Client.Do(t, "GET", open.path()+list, nil).Want(t, http.StatusOK, `[]`)
		w.As(t, w.stranger).Do(t, "GET", secret.path()+list, nil).WantStatus(t, http.StatusNotFound)
	}
}

func TestPeopleSubscribeToIssues(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.create(t, "x")
	stranger := w.As(t, w.stranger)
	for _, c := range []struct {
		act    string
		status int
	}{{"unsubscribe", 304}, {"subscribe", 201}, {"subscribe", 304}, {"unsubscribe", 201}} {
		if r := stranger.Do(t, "POST", m.path()+"/"+c.act, nil); r.Status != c.status {
			t.Errorf("%s: got %d, want %d", c.act, r.Status, c.status)
		}
	}
	if got := httpapitest.JSON[made](t, stranger.Do(t, "POST", m.path()+"/subscribe", nil)); got.Subscribed == nil || !*got.Subscribed {
		t.Errorf("subscribed is %v", got.Subscribed)
	}
}

func TestTimeIsEstimatedSpentAndTakenBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.create(t, "x")
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"time_estimate", "1mo 2w 3d 4h 5m", 200, `{"time_estimate":965100,"total_time_spent":0,"human_time_estimate":"1mo 2w 3d 4h 5m","human_total_time_spent":null}`},
		{"time_estimate", "-1h", 400, `{"message":"400 Bad request - Time estimate must have a valid format and be greater than or equal to zero."}`},
		{"time_estimate", "soon", 400, `{"message":"400 Bad request - Time estimate must have a valid format and be greater than or equal to zero."}`},
		{"add_spent_time", "1.5", 201, `{"time_estimate":965100,"total_time_spent":5400,"human_time_estimate":"1mo 2w 3d 4h 5m","human_total_time_spent":"1h 30m"}`},
		{"add_spent_time", "-2h", 400, `{"message":{"base":["Time to subtract exceeds the total time spent"]}}`},
		{"add_spent_time", "-30m", 201, `{"time_estimate":965100,"total_time_spent":3600,"human_time_estimate":"1mo 2w 3d 4h 5m","human_total_time_spent":"1h"}`},
		{"reset_spent_time", "", 200, `{"time_estimate":965100,"total_time_spent":0,"human_time_estimate":"1mo 2w 3d 4h 5m","human_total_time_spent":null}`},
		{"reset_time_estimate", "", 200, `{"time_estimate":0,"total_time_spent":0,"human_time_estimate":null,"human_total_time_spent":null}`},
	} {
		w.reporter(t).Do(t, "POST", m.path()+"/"+c.path, map[string]any{"duration": c.body}).Want(t, c.status, c.want)
	}
	w.As(t, w.stranger).Do(t, "GET", m.path()+"/time_stats", nil).WantStatus(t, http.StatusOK)
	w.As(t, w.people[access.Guest]).Do(t, "POST", m.path()+"/add_spent_time", map[string]any{"duration": "1h"}).WantStatus(t, http.StatusForbidden)
	w.reporter(t).Do(t, "POST", m.path()+"/add_spent_time", map[string]any{"duration": "1h", "summary": strings.Repeat("x", 256)}).WantStatus(t, http.StatusBadRequest)
	w.reporter(t).Do(t, "POST", m.path()+"/add_spent_time", map[string]any{"duration": "1h", "summary": strings.Repeat("ä", 255)}).WantStatus(t, http.StatusCreated)
	w.reporter(t).Do(t, "POST", m.path()+"/add_spent_time", map[string]any{"duration": "2147483647s"}).
		Want(t, http.StatusBadRequest, `{"message":{"base":["Time spent is more than can be counted"]}}`)
}

func TestIssuesAreLinkedOnceAndSeenByWhoReadsBoth(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=free")
	hidden := projecttest.New(t, w.DB, w.group.ID)
	projecttest.Join(t, w.DB, hidden, w.people[access.Reporter], access.Reporter)
	projecttest.Join(t, w.DB, hidden, w.people[access.Developer], access.Guest)
	a, b, secret := w.create(t, "a"), w.create(t, "b"), w.createAs(t, w.people[access.Reporter], hidden, "secret")
	link := func(as *user.User, m, to made) *httpapitest.Reply {
		return w.As(t, as).Do(t, "POST", m.path()+"/links", map[string]any{"target_project_id": to.ProjectID, "target_issue_iid": to.IID})
	}
	reporter := w.people[access.Reporter]
	made1 := httpapitest.JSON[struct {
		ID     int64  `json:"id"`
		Source made   `json:"source_issue"`
		Target made   `json:"target_issue"`
		Type   string `json:"link_type"`
	}](t, link(reporter, a, b).WantStatus(t, http.StatusCreated))
	if made1.Source.ID != a.ID || made1.Target.ID != b.ID || made1.Type != "relates_to" {
		t.Errorf("made is %+v", made1)
	}
	link(reporter, a, b).Want(t, http.StatusConflict, `{"message":"Issue(s) already assigned"}`)
	link(reporter, b, a).WantStatus(t, http.StatusConflict)
	link(reporter, a, a).Want(t, http.StatusUnprocessableEntity, `{"message":"#1 cannot be added: cannot be related to itself"}`)
	link(reporter, a, made{ProjectID: w.project.ID, IID: 99}).WantStatus(t, http.StatusNotFound)
	link(w.people[access.Developer], a, secret).WantStatus(t, http.StatusForbidden)
	link(w.people[access.Owner], a, secret).Want(t, http.StatusNotFound, `{"message":"No matching issue found. Make sure that you are adding a valid issue URL."}`)
	link(reporter, a, secret).WantStatus(t, http.StatusCreated)
	for as, want := range map[*user.User]string{reporter: "b secret", w.stranger: "b", w.people[access.Developer]: "b secret"} {
		if got := strings.Join(titles(t, w.As(t, as).Do(t, "GET", a.path()+"/links", nil)), " "); got != want {
			t.Errorf("%s sees %q, want %q", as.Username, got, want)
		}
	}
	all := httpapitest.JSON[[]struct {
		LinkID int64 `json:"issue_link_id"`
	}](t, w.reporter(t).Do(t, "GET", a.path()+"/links", nil))
	hiddenLink := fmt.Sprintf("%s/links/%d", a.path(), all[1].LinkID)
	w.As(t, w.stranger).Do(t, "GET", hiddenLink, nil).WantStatus(t, http.StatusNotFound)
	w.As(t, w.people[access.Developer]).Do(t, "DELETE", hiddenLink, nil).Want(t, http.StatusNotFound, `{"message":"No Issue Link found"}`)
	w.reporter(t).Do(t, "DELETE", hiddenLink, nil).WantStatus(t, http.StatusOK)
	w.reporter(t).Do(t, "GET", hiddenLink, nil).WantStatus(t, http.StatusNotFound)
	w.reporter(t).Do(t, "POST", a.path()+"/links", map[string]any{"target_project_id": w.project.ID, "target_issue_iid": b.IID, "link_type": "blocks"}).
		Want(t, http.StatusBadRequest, `{"error":"link_type does not have a valid value"}`)
}

func TestAnIssueHasAHundredLinksAtTheMost(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	full, next := w.create(t, "full"), w.create(t, "next")
	mark(t, w, `insert into issues (project_id, iid, title, type, created_at, updated_at) select $1, n, 'other', 'issue', now(), now() from generate_series(1001, 1099) n`, w.project.ID)
	// Half of them begin at the issue, half end there.
	mark(t, w, `insert into issue_links (source_id, target_id, kind, created_at, updated_at)
		select case when iid % 2 = 0 then id else $1 end, case when iid % 2 = 0 then $1 else id end, 'relates_to', now(), now() from issues where title = 'other'`, full.ID)
	link := func(from, to made) *httpapitest.Reply {
		return w.reporter(t).Do(t, "POST", from.path()+"/links", map[string]any{"target_project_id": w.project.ID, "target_issue_iid": to.IID})
	}
	link(full, w.create(t, "the hundredth")).WantStatus(t, http.StatusCreated)
	link(full, next).WantStatus(t, http.StatusUnprocessableEntity)
	link(next, full).WantStatus(t, http.StatusUnprocessableEntity)
}

func TestWhatAnIssueLosesWhenItIsCopied(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.people[access.Reporter]
	hidden := projecttest.New(t, w.DB, w.group.ID)
	projecttest.Join(t, w.DB, hidden, reporter, access.Reporter)
	projecttest.Join(t, w.DB, hidden, w.people[access.Developer], access.Guest)
	milestone := httpapitest.JSON[struct{ ID int64 }](t, w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/milestones", w.project.ID), map[string]any{"title": "v1"}))
	m := w.create(t, "x", map[string]any{"assignee_ids": []int64{w.people[access.Guest].ID}, "milestone_id": milestone.ID})
	w.As(t, w.people[access.Developer]).Do(t, "POST", m.path()+"/subscribe", nil).WantStatus(t, http.StatusCreated)
	copied := func(m made, how string, to int64) made {
		t.Helper()
		return httpapitest.JSON[made](t, w.reporter(t).Do(t, "POST", m.path()+"/"+how, map[string]any{"to_project_id": to}).WantStatus(t, http.StatusCreated))
	}
	moved := copied(m, "move", hidden.ID)
	if len(moved.Assignees) > 0 {
		t.Errorf("it is given to %v, who may not read it there", moved.Assignees)
	}
	if moved.Milestone != nil {
		t.Errorf("it has a milestone of the other project: %v", moved.Milestone)
	}
	if there := httpapitest.JSON[made](t, w.As(t, w.people[access.Developer]).Do(t, "GET", moved.path(), nil)); there.Subscribed == nil || !*there.Subscribed {
		t.Error("who heard of it does not hear of it any more")
	}
	if clone := copied(m, "clone", w.project.ID); clone.MovedToID != nil || clone.State != "opened" || clone.ClosedAt != nil || clone.ClosedBy != nil {
		t.Errorf("a clone of the one that moved is %+v", clone)
	}
}

func TestWhatAChangeCannotMakeOfAnIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter, elsewhere := w.people[access.Reporter], projecttest.New(t, w.DB, w.group.ID, projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, elsewhere, reporter, access.Reporter)
	if task := w.change(t, reporter, w.create(t, "task", map[string]any{"issue_type": "task"}), map[string]any{"issue_type": "incident"}); task.IssueType != "task" {
		t.Errorf("a task became an %s", task.IssueType)
	}
	m := w.create(t, "x")
	w.Turn(time.Hour)
	if got := w.change(t, reporter, m, map[string]any{"title": "y", "updated_at": "2020-01-01T00:00:00Z"}); got.UpdatedAt <= m.UpdatedAt {
		t.Errorf("a reporter says that it changed at %s", got.UpdatedAt)
	}
	milestone := httpapitest.JSON[struct{ ID int64 }](t, w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/milestones", elsewhere.ID), map[string]any{"title": "v1"}))
	if got := w.create(t, "x", map[string]any{"milestone_id": milestone.ID}); got.Milestone != nil {
		t.Errorf("it has a milestone of another project: %v", got.Milestone)
	}
	if got := w.change(t, reporter, m, map[string]any{"milestone_id": milestone.ID}); got.Milestone != nil {
		t.Errorf("it gets a milestone of another project: %v", got.Milestone)
	}
	for half := range 2 {
		var names strings.Builder
		for n := range 50 {
			fmt.Fprintf(&names, "label %d,", half*50+n)
		}
		w.change(t, reporter, m, map[string]any{"add_labels": names.String()})
	}
	w.reporter(t).Do(t, "PUT", m.path(), map[string]any{"add_labels": "one more"}).Want(t, http.StatusBadRequest, `{"message":{"labels":["are too many (maximum is 100)"]}}`)
}

func TestIssuesThatNobodyWroteAreNotLeftOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.createAs(t, w.people[access.Guest], w.project, "of a guest")
	w.create(t, "of nobody")
	mark(t, w, `update issues set author_id = null where title = 'of nobody'`)
	if got := titles(t, w.reporter(t).Do(t, "GET", of(w.project)+"?not[author_username]=role-10", nil)); !slices.Equal(got, []string{"of nobody"}) {
		t.Errorf("got %v", got)
	}
}

func TestTheStateThatIsAskedForIsCounted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.create(t, "open")
	for range 2 {
		w.change(t, w.people[access.Reporter], w.create(t, "done"), map[string]any{"state_event": "close"})
	}
	for _, c := range []struct {
		closed *bool
		want   issue.Counts
	}{{nil, issue.Counts{Opened: 1, Closed: 2}}, {new(true), issue.Counts{Closed: 2}}, {new(false), issue.Counts{Opened: 1}}} {
		got, err := w.Issues.Count(t.Context(), access.Actor{Person: w.stranger.Person()}, issue.Scope{Project: w.project}, issue.Filter{Closed: c.closed})
		if err != nil || got != c.want {
			t.Errorf("got %+v, want %+v: %v", got, c.want, err)
		}
	}
}

func TestTheNextMilestoneIsTheFirstThatIsDue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for title, due := range map[string]string{"over": "2024-05-01", "next": "2024-06-01", "later": "2024-07-01"} {
		id := httpapitest.JSON[struct{ ID int64 }](t, w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/milestones", w.project.ID), map[string]any{"title": title, "due_date": due})).ID
		w.create(t, title, map[string]any{"milestone_id": id})
	}
	if got := titles(t, w.reporter(t).Do(t, "GET", of(w.project)+"?milestone_id=Upcoming", nil)); !slices.Equal(got, []string{"next"}) {
		t.Errorf("next is %v", got)
	}
}

func TestNoIssueComesToBeInAProjectThatIsAboutToGo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := access.Actor{Person: w.people[access.Owner].Person()}
	p, err := w.Projects.Find(t.Context(), by, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	mark(t, w, `update projects set removal = true where id = $1`, p.ID)
	if _, err := w.Issues.Create(t.Context(), by, p, issue.Draft{Title: "late"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
}

func TestAMovedIssueIsAnotherWithWhatItHad(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.people[access.Reporter]
	to := projecttest.New(t, w.DB, w.group.ID, projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, to, reporter, access.Reporter)
	w.createAs(t, reporter, to, "first", map[string]any{"labels": "bug"})
	m := w.createAs(t, w.people[access.Guest], w.project, "x", map[string]any{"assignee_ids": []int64{reporter.ID}, "due_date": "2024-06-01"})
	m = w.change(t, reporter, m, map[string]any{"labels": "bug,only here"})
	other := w.create(t, "other")
	w.reporter(t).Do(t, "POST", m.path()+"/links", map[string]any{"target_project_id": other.ProjectID, "target_issue_iid": other.IID}).WantStatus(t, http.StatusCreated)
	w.reporter(t).Do(t, "POST", m.path()+"/add_spent_time", map[string]any{"duration": "1h"}).WantStatus(t, http.StatusCreated)
	move := func(as *user.User, project int64) *httpapitest.Reply {
		return w.As(t, as).Do(t, "POST", m.path()+"/move", map[string]any{"to_project_id": project})
	}
	move(w.people[access.Developer], to.ID).Want(t, http.StatusBadRequest, `{"message":"Cannot move issue due to insufficient permissions!"}`)
	move(reporter, w.project.ID).Want(t, http.StatusBadRequest, `{"message":"Cannot move issue to project it originates from!"}`)
	move(reporter, 99999).Want(t, http.StatusNotFound, `{"message":"404 Project Not Found"}`)
	moved := httpapitest.JSON[made](t, move(reporter, to.ID).WantStatus(t, http.StatusCreated))
	if moved.ProjectID != to.ID || moved.IID != 2 || moved.Author.ID != w.people[access.Guest].ID || !slices.Equal(moved.Labels, []string{"bug"}) || len(moved.Assignees) != 1 ||
		moved.Time.Spent != 3600 || moved.State != "opened" || moved.CreatedAt != m.CreatedAt || *moved.DueDate != "2024-06-01" {
		t.Errorf("moved it is %+v", moved)
	}
	old := httpapitest.JSON[made](t, w.reporter(t).Do(t, "GET", m.path(), nil))
	if old.State != "closed" || old.MovedToID == nil || *old.MovedToID != moved.ID {
		t.Errorf("the old one is %+v", old)
	}
	if got := titles(t, w.reporter(t).Do(t, "GET", moved.path()+"/links", nil)); !slices.Equal(got, []string{"other"}) {
		t.Errorf("it is linked to %v", got)
	}
	move(reporter, to.ID).WantStatus(t, http.StatusBadRequest)
	clone := httpapitest.JSON[made](t, w.reporter(t).Do(t, "POST", moved.path()+"/clone", map[string]any{"to_project_id": to.ID}).WantStatus(t, http.StatusCreated))
	if clone.IID != 3 || clone.Author.ID != reporter.ID || !slices.Equal(clone.Labels, []string{"bug"}) || clone.Time.Spent != 0 {
		t.Errorf("the clone is %+v", clone)
	}
	task := w.create(t, "task", map[string]any{"issue_type": "task"})
	w.reporter(t).Do(t, "POST", task.path()+"/move", map[string]any{"to_project_id": to.ID}).Want(t, http.StatusBadRequest, `{"message":"Cannot move issues of 'task' type."}`)
	if reopened := w.change(t, reporter, old, map[string]any{"state_event": "reopen"}); reopened.MovedToID != nil {
		t.Errorf("reopened it still says that it moved")
	}
}

func TestIssuesArePutBetweenOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var all []made
	for n := range 4 {
		all = append(all, w.create(t, fmt.Sprint(n)))
	}
	order := func() string {
		return strings.Join(titles(t, w.reporter(t).Do(t, "GET", of(w.project)+"?order_by=relative_position", nil)), "")
	}
	put := func(m, after, before made) *httpapitest.Reply {
		return w.reporter(t).Do(t, "PUT", m.path()+"/reorder", map[string]any{"move_after_id": after.ID, "move_before_id": before.ID})
	}
	for _, c := range []struct {
		m, after, before made
		want             string
	}{
		{all[3], made{}, all[0], "3012"}, {all[0], all[2], made{}, "3120"}, {all[3], all[1], all[2], "1320"},
	} {
		if put(c.m, c.after, c.before).WantStatus(t, http.StatusOK); order() != c.want {
			t.Errorf("got %s, want %s", order(), c.want)
		}
	}
	for n := range 24 { // until there is no room, and then some
		if put(all[n%2+2], all[1], made{}).WantStatus(t, http.StatusOK); order() != []string{"1230", "1320"}[n%2] {
			t.Fatalf("after %d it is %s", n, order())
		}
	}
	put(all[0], made{ID: 99999}, made{}).WantStatus(t, http.StatusUnprocessableEntity)
	put(all[0], made{}, made{}).WantStatus(t, http.StatusBadRequest)
	for range 3 { // there is no place between an issue and itself, nor can one be made
		put(all[0], all[1], all[1]).WantStatus(t, http.StatusUnprocessableEntity)
		put(all[0], all[2], all[1]).WantStatus(t, http.StatusUnprocessableEntity)
	}
	before := w.positions(t)
	own := w.createAs(t, w.stranger, w.project, "of a stranger")
	for range 30 { // an author takes what room there is, and makes none
		w.As(t, w.stranger).Do(t, "PUT", own.path()+"/reorder", map[string]any{"move_after_id": all[1].ID})
	}
	if now := w.positions(t); !maps.Equal(before, now) {
		t.Errorf("the places of others were %v and are %v", before, now)
	}
	secret := w.create(t, "secret", map[string]any{"confidential": true})
	for _, id := range []int64{secret.ID, 99999} {
		w.As(t, w.stranger).Do(t, "PUT", own.path()+"/reorder", map[string]any{"move_after_id": id}).WantStatus(t, http.StatusUnprocessableEntity)
	}
	w.As(t, w.stranger).Do(t, "PUT", all[0].path()+"/reorder", map[string]any{"move_after_id": all[1].ID}).WantStatus(t, http.StatusForbidden)
}

func TestIssuesFollowLabelsAndMilestonesThatArePromoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	grouptest.Join(t, w.DB, w.group, w.people[access.Reporter], access.Reporter)
	below := fmt.Sprintf("/projects/%d", w.project.ID)
	milestone := httpapitest.JSON[struct{ ID int64 }](t, w.reporter(t).Do(t, "POST", below+"/milestones", map[string]any{"title": "v1"}))
	m := w.create(t, "x", map[string]any{"labels": "bug", "milestone_id": milestone.ID})
	w.reporter(t).Do(t, "PUT", below+"/labels/bug/promote", nil).WantStatus(t, http.StatusOK)
	w.reporter(t).Do(t, "POST", fmt.Sprintf("%s/milestones/%d/promote", below, milestone.ID), nil).WantStatus(t, http.StatusOK)
	got := httpapitest.JSON[made](t, w.reporter(t).Do(t, "GET", m.path(), nil))
	if !slices.Equal(got.Labels, []string{"bug"}) || got.Milestone == nil || got.Milestone.ID == milestone.ID {
		t.Errorf("it has %v and %v", got.Labels, got.Milestone)
	}
}

func TestWhatIssuesKeptFromAGroupThatTheirProjectLeftIsNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hidden := grouptest.New(t, w.DB, grouptest.Named("hidden"))
	p := projecttest.New(t, w.DB, hidden.ID, projecttest.Named("left"))
	root := w.As(t, w.root)
	root.Do(t, "POST", fmt.Sprintf("/groups/%d/labels", hidden.ID), map[string]any{"name": "secret", "color": "red"}).WantStatus(t, http.StatusCreated)
	milestone := httpapitest.JSON[struct{ ID int64 }](t, root.Do(t, "POST", fmt.Sprintf("/groups/%d/milestones", hidden.ID), map[string]any{"title": "secret"}))
	m := w.createAs(t, w.root, p, "x", map[string]any{"labels": "secret,own", "milestone_id": milestone.ID})
	if !slices.Equal(m.Labels, []string{"own", "secret"}) || m.Milestone == nil {
		t.Fatalf("it has %v and %v", m.Labels, m.Milestone)
	}
	root.Do(t, "PUT", fmt.Sprintf("/projects/%d/transfer", p.ID), map[string]any{"namespace": w.group.ID}).WantStatus(t, http.StatusOK)
	for _, path := range []string{m.path(), of(p)} {
		if r := root.Do(t, "GET", path+"?with_labels_details=true", nil); strings.Contains(r.Body, "secret") || !strings.Contains(r.Body, "own") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	actor := access.Actor{Person: w.root.Person()}
	i, there, err := w.Issues.FindByID(t.Context(), actor, m.ID)
	if err != nil {
		t.Fatal(err)
	}
	if beside, err := w.Issues.Beside(t.Context(), actor, there, *i); err != nil || beside[0].Milestone != nil || len(beside[0].Labels) != 1 {
		t.Errorf("beside it stand %+v and %+v: %v", beside[0].Milestone, beside[0].Labels, err)
	}
	// Nor is it guessed by asking for it.
	for _, in := range []string{fmt.Sprintf("/groups/%d/issues?", w.group.ID), of(p) + "?", "/issues?scope=all&", fmt.Sprintf("/issues?author_id=%d&scope=all&", w.root.ID)} {
		for query, want := range map[string]int{"labels=secret": 0, "milestone=secret": 0, "not[labels]=secret": 1, "not[milestone]=secret": 1, "labels=own": 1} {
			if got := titles(t, root.Do(t, "GET", in+query, nil)); len(got) != want {
				t.Errorf("%s%s finds %v", in, query, got)
			}
		}
	}
}

func TestASearchInAllProjectsNeedsWhatAnIndexKnows(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.create(t, "A door, a gate!")
	for _, in := range []string{fmt.Sprintf("/groups/%d/issues?", w.group.ID), "/issues?scope=all&", "/issues_statistics?scope=all&"} {
		w.reporter(t).Do(t, "GET", in+"search=a+d!!", nil).WantStatus(t, http.StatusBadRequest)
		w.reporter(t).Do(t, "GET", in+"search=door,", nil).WantStatus(t, http.StatusOK)
	}
	for _, in := range []string{of(w.project) + "?", "/issues?"} { // of one project, or of one person
		if got := titles(t, w.reporter(t).Do(t, "GET", in+"search=r,", nil)); !slices.Equal(got, []string{"A door, a gate!"}) {
			t.Errorf("%s finds %v", in, got)
		}
	}
}

// Of a word that many issues have, the newest are met soon when they are passed in order; of one that few have, an index knows all.
func TestASearchAmongManyIssuesFindsThemInOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.DB, w.group.ID, projecttest.Visible(access.Public))
	for _, p := range []struct {
		id    int64
		count int
	}{{w.project.ID, 12_000}, {other.ID, 500}} {
		mark(t, w, `insert into issues (project_id, iid, author_id, title, type, confidential, created_at, updated_at)
			select $1, n, $3, case when n % 100 = 0 then 'a door' when n <= 30 then 'a roof' else 'a wall' end, 'issue', n % 200 = 0,
				timestamptz '2024-01-01' + n / 3 * interval '1 second', timestamptz '2025-01-01' - n / 3 * interval '1 second' from generate_series(1, $2::int) n`, p.id, p.count, w.people[access.Owner].ID)
		mark(t, w, `insert into issue_counters (project_id, last) values ($1, $2)`, p.id, p.count)
	}
	mark(t, w, `analyze issues`)
	for word, want := range map[string]issue.Counts{"door": {Opened: 25, More: true}, "roof": {Opened: 30}} { // those of the newest 5,000 that are not confidential
		got, err := w.Issues.CountUpTo(t.Context(), access.Actor{Person: w.stranger.Person()}, issue.Scope{Project: w.project}, issue.Filter{Search: word}, 1000)
		if err != nil || got != want {
			t.Errorf("a page counts %+v with %s, want %+v: %v", got, word, want, err)
		}
	}
	if got, err := w.Issues.Count(t.Context(), access.Actor{Person: w.stranger.Person()}, issue.Scope{Project: w.project}, issue.Filter{Search: "door"}); err != nil || got.Opened != 60 {
		t.Errorf("statistics count %+v: %v", got, err)
	}
	everyIssueOfTheGroupOnce(t, w, other.ID)
	for who, confidential := range map[*user.User]bool{w.stranger: false, w.root: true} {
		actor := access.Actor{Person: who.Person()}
		for place, in := range map[string]struct {
			issue.Scope
			projects []int64
		}{
			"project": {issue.Scope{Project: w.project}, []int64{w.project.ID}}, "group": {issue.Scope{Group: w.group}, []int64{w.project.ID, other.ID}},
			"everywhere": {issue.Scope{}, []int64{w.project.ID, other.ID}},
		} {
			for word, told := range map[string]bool{"door": false, "roof": true} {
				for order, sql := range map[string]string{
					"created_at": `select id from issues where title like '% ' || $1 and project_id = any($2) and ($3 or not confidential) order by created_at desc, id desc`,
					"updated_at": `select id from issues where title like '% ' || $1 and project_id = any($2) and ($3 or not confidential) order by updated_at desc, id desc`,
				} {
					want, err := postgres.Values[int64](t.Context(), w.DB, sql, word, in.projects, confidential)
					if err != nil {
						t.Fatal(err)
					}
					for _, keyset := range []bool{true, false} {
						req := paging.Request{Page: 1, PerPage: 20, OrderBy: order, Desc: true, Keyset: keyset}
						got, first := turn(t, w, actor, in.Scope, issue.Filter{Search: word}, req)
						if !slices.Equal(got, want) {
							t.Errorf("%s of %s by %s in the %s, keyset %v: got %d, want %d: %v", who.Username, word, order, place, keyset, len(got), len(want), got)
						}
						if !keyset && order == "created_at" && (first.Counted() != told || told && first.Total != len(want)) {
							t.Errorf("%s of %s in the %s: the total is %d", who.Username, word, place, first.Total)
						}
					}
				}
			}
		}
	}
}

// everyIssueOfTheGroupOnce turns the pages of a list that a large project is looked at alone for.
func everyIssueOfTheGroupOnce(t *testing.T, w *fixture, other int64) {
	t.Helper()
	want, err := postgres.Values[int64](t.Context(), w.DB, `
		select id from issues where project_id = any($1) and not confidential and created_at between '2024-01-01 00:02:05Z' and '2024-01-01 00:02:25Z' order by created_at desc, id desc`, []int64{w.project.ID, other})
	if err != nil {
		t.Fatal(err)
	}
	since, until := time.Date(2024, 1, 1, 0, 2, 5, 0, time.UTC), time.Date(2024, 1, 1, 0, 2, 25, 0, time.UTC) // with a confidential one in each project
	for _, keyset := range []bool{true, false} {
		got, first := turn(t, w, access.Actor{Person: w.stranger.Person()}, issue.Scope{Group: w.group}, issue.Filter{CreatedAfter: &since, CreatedBefore: &until},
			paging.Request{Page: 1, PerPage: 7, OrderBy: "created_at", Desc: true, Keyset: keyset})
		if !slices.Equal(got, want) || !keyset && first.Total != len(want) {
			t.Errorf("keyset %v: got %v of %d, want %v", keyset, got, first.Total, want)
		}
	}
	wrong := paging.Request{PerPage: 7, OrderBy: "created_at", Desc: true, Keyset: true, Cursor: &paging.Cursor{OrderBy: "created_at", Desc: true, After: []string{"no time", "1"}}}
	if _, err := w.Issues.List(t.Context(), access.Actor{Person: w.stranger.Person()}, issue.Scope{Group: w.group}, issue.Filter{}, wrong); !fault.Is(err, fault.BadParams) {
		t.Errorf("a cursor that is none gives %v", err)
	}
	counts, err := w.Issues.Count(t.Context(), access.Actor{Person: w.root.Person()}, issue.Scope{Group: w.group}, issue.Filter{})
	if err != nil || counts.Opened != 12_500 {
		t.Errorf("the group has %+v: %v", counts, err)
	}
}

// turn reads all pages of a list: the ids, and the first page.
func turn(t *testing.T, w *fixture, actor access.Actor, in issue.Scope, f issue.Filter, req paging.Request) (ids []int64, first paging.Result[issue.Issue]) {
	t.Helper()
	for n := range 20 {
		page, err := w.Issues.List(t.Context(), actor, in, f, req)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = page
		}
		for _, i := range page.Items {
			ids = append(ids, i.ID)
		}
		if req.Page, req.Cursor = req.Page+1, page.Next; !page.More {
			break
		}
	}
	return ids, first
}

// Whoever links two issues and whoever cuts the link hold both in the same order.
func TestManyLinkAndCutOnePair(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pair := []made{w.create(t, "x"), w.create(t, "y")}
	var all sync.WaitGroup
	var linked, cuts atomic.Int64
	for n := range 8 {
		all.Go(func() {
			from, to := pair[n%2], pair[1-n%2]
			for range 6 {
				r := w.reporter(t).Do(t, "POST", from.path()+"/links", map[string]any{"target_project_id": w.project.ID, "target_issue_iid": to.IID})
				for _, l := range httpapitest.JSON[[]struct {
					ID int64 `json:"issue_link_id"`
				}](t, w.reporter(t).Do(t, "GET", from.path()+"/links", nil)) {
					if cut := w.reporter(t).Do(t, "DELETE", fmt.Sprintf("%s/links/%d", from.path(), l.ID), nil); cut.Status >= 500 {
						t.Errorf("cut: %d %s", cut.Status, cut.Body)
					} else if cut.Status == http.StatusOK {
						cuts.Add(1)
					}
				}
				if r.Status >= 500 {
					t.Errorf("link: %d %s", r.Status, r.Body)
				} else if r.Status == http.StatusCreated {
					linked.Add(1)
				}
			}
		})
	}
	all.Wait()
	if left := len(titles(t, w.reporter(t).Do(t, "GET", pair[0].path()+"/links", nil))); linked.Load()-cuts.Load() != int64(left) {
		t.Errorf("they were linked %d times and cut %d times, and %d links are left", linked.Load(), cuts.Load(), left)
	}
}

// Who waits for an issue that another changes sees what became of it.
func TestManyChangeOneIssueAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m, second := w.create(t, "x"), w.create(t, "y")
	var all sync.WaitGroup
	for n := range 12 {
		all.Go(func() {
			var r *httpapitest.Reply
			switch n % 4 {
			case 0:
				r = w.reporter(t).Do(t, "PUT", m.path(), map[string]any{"assignee_ids": []int64{w.people[access.Guest].ID}})
			case 1:
				r = w.reporter(t).Do(t, "PUT", m.path(), map[string]any{"add_labels": "bug"})
			case 2:
				r = w.reporter(t).Do(t, "POST", m.path()+"/clone", map[string]any{"to_project_id": w.project.ID})
			case 3:
				r = w.reporter(t).Do(t, "PUT", m.path()+"/reorder", map[string]any{"move_after_id": second.ID})
			}
			if r.Status >= 400 {
				t.Errorf("%d: %d %s", n%4, r.Status, r.Body)
			}
		})
	}
	all.Wait()
	if got := httpapitest.JSON[made](t, w.reporter(t).Do(t, "GET", m.path(), nil)); len(got.Assignees) != 1 || len(got.Labels) != 1 {
		t.Errorf("it is given to %v with %v", got.Assignees, got.Labels)
	}
}

// It is read after it is held: what somebody else does meanwhile is neither lost nor left out.
func TestWhoChangesAnIssueWaitsForWhoChangesItNow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m, guest := w.create(t, "x"), w.people[access.Guest].ID
	changed := make(chan *httpapitest.Reply)
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		for _, sql := range []string{`select id from issues where id = $1 and $2::bigint > 0 for no key update`, `insert into issue_assignees (issue_id, user_id) values ($1, $2)`} {
			if _, err := tx.Exec(t.Context(), sql, m.ID, guest); err != nil {
				return err
			}
		}
		go func() { changed <- w.reporter(t).Do(t, "PUT", m.path(), map[string]any{"title": "y"}) }()
		postgrestest.WaitForLock(t, w.DB)
		return nil
	})
	got := httpapitest.JSON[made](t, (<-changed).WantStatus(t, http.StatusOK))
	if err != nil || got.Title != "y" || len(got.Assignees) != 1 || got.Assignees[0].ID != guest {
		t.Errorf("it is %q and given to %v: %v", got.Title, got.Assignees, err)
	}
}

func TestDO05_APageOfIssuesHoldsABoundedText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/labels", w.project.ID), map[string]any{"name": "long", "color": "red", "description": strings.Repeat("ä", 20_000)}).
		WantStatus(t, http.StatusCreated)
	m := w.create(t, "x", map[string]any{"description": strings.Repeat("<", 100_000), "labels": "long"})
	listed := httpapitest.JSON[[]struct {
		Description string
		Labels      []struct{ Description string }
	}](t, w.reporter(t).Do(t, "GET", of(w.project)+"?with_labels_details=true", nil))
	if len(listed) != 1 || len(listed[0].Description) != 65_536 || listed[0].Labels[0].Description != strings.Repeat("ä", 255) {
		t.Errorf("the list holds %d bytes, and %d of the label", len(listed[0].Description), len(listed[0].Labels[0].Description))
	}
	if got := httpapitest.JSON[made](t, w.reporter(t).Do(t, "GET", m.path(), nil)); len(*got.Description) != 100_000 {
		t.Errorf("it is shown with %d", len(*got.Description))
	}
	w.As(t, w.people[access.Owner]).Do(t, "POST", of(w.project), map[string]any{"title": "last", "iid": 1<<30 + 1}).WantStatus(t, http.StatusBadRequest)

	// All of a page share two megabytes, of which none takes more than it is shown with.
	for range 10 {
		w.create(t, "x", map[string]any{"description": strings.Repeat("\U0001F525", 200_000)})
	}
	shown := 0
	for _, i := range httpapitest.JSON[[]made](t, w.reporter(t).Do(t, "GET", of(w.project), nil)) {
		shown += len(*i.Description)
	}
	if shown < 1<<20 || shown > 2<<20+10*4000 {
		t.Errorf("a page holds %d bytes of descriptions", shown)
	}
}

func TestLabelsAreListedWithTheIssuesThatTheirReaderSees(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in, inGroup := fmt.Sprintf("/projects/%d", w.project.ID), fmt.Sprintf("/groups/%d/labels", w.group.ID)
	w.As(t, w.root).Do(t, "POST", inGroup, map[string]any{"name": "common", "color": "#112233"}).WantStatus(t, http.StatusCreated)
	w.As(t, w.root).Do(t, "POST", in+"/labels", map[string]any{"name": "unused", "color": "#112233"}).WantStatus(t, http.StatusCreated)
	w.create(t, "a", map[string]any{"labels": "common,own"})
	w.create(t, "b", map[string]any{"labels": "common", "confidential": true})
	w.change(t, w.root, w.create(t, "c", map[string]any{"labels": "common"}), map[string]any{"state_event": "close"})
	beside := projecttest.New(t, w.DB, w.group.ID, projecttest.Visible(access.Private))
	w.createAs(t, w.root, beside, "d", map[string]any{"labels": "common"})
	type counted struct {
		Name   string
		Opened *int `json:"open_issues_count"`
		Closed *int `json:"closed_issues_count"`
	}
	for _, c := range []struct {
		fact string
		by   *httpapitest.Client
		at   string
		want map[string][2]int
	}{
		{"an administrator in the project", w.As(t, w.root), in + "/labels", map[string][2]int{"common": {2, 1}, "own": {1, 0}, "unused": {}}},
		{"an administrator in the group", w.As(t, w.root), inGroup, map[string][2]int{"common": {3, 1}}},
		{"a stranger in the project", w.As(t, w.stranger), in + "/labels", map[string][2]int{"common": {1, 1}, "own": {1, 0}, "unused": {}}},
		{"a stranger in the group", w.As(t, w.stranger), inGroup, map[string][2]int{"common": {1, 1}}},
	} {
		got := map[string][2]int{}
		for _, l := range httpapitest.JSON[[]counted](t, c.by.Do(t, "GET", c.at+"?with_counts=true", nil).WantStatus(t, http.StatusOK)) {
			got[l.Name] = [2]int{*l.Opened, *l.Closed}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.fact, got, c.want)
		}
	}
	w.As(t, w.root).Do(t, "PUT", in, map[string]any{"issues_access_level": "private"}).WantStatus(t, http.StatusOK)
	for _, l := range httpapitest.JSON[[]counted](t, w.As(t, w.stranger).Do(t, "GET", in+"/labels?with_counts=true", nil).WantStatus(t, http.StatusOK)) {
		if *l.Opened != 0 || *l.Closed != 0 {
			t.Errorf("issues that the reader does not see are counted: %+v", l)
		}
	}
	if l := httpapitest.JSON[[]counted](t, w.As(t, w.root).Do(t, "GET", in+"/labels", nil)); l[0].Opened != nil {
		t.Errorf("unasked: %+v", l)
	}
}

func TestAProjectSaysHowManyOfItsOpenIssuesTheReaderMayRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.create(t, "a")
	w.create(t, "b")
	w.create(t, "c", map[string]any{"confidential": true})
	w.change(t, w.root, w.create(t, "d"), map[string]any{"state_event": "close"})
	banned := usertest.New(t, w.DB, usertest.Named("banned"))
	w.createAs(t, banned, w.project, "e")
	if _, err := w.DB.Exec(t.Context(), "update users set state = 'banned' where id = $1", banned.ID); err != nil {
		t.Fatal(err)
	}
	beside := projecttest.New(t, w.DB, w.group.ID, projecttest.Visible(access.Public))
	w.createAs(t, w.root, beside, "f")
	counts := func(u *user.User) (one *int, listed map[int64]*int) {
		t.Helper()
		type counted struct {
			ID   int64
			Open *int `json:"open_issues_count"`
		}
		one = httpapitest.JSON[counted](t, w.As(t, u).Do(t, "GET", fmt.Sprintf("/projects/%d", w.project.ID), nil).WantStatus(t, http.StatusOK)).Open
		listed = map[int64]*int{}
		for _, p := range httpapitest.JSON[[]counted](t, w.As(t, u).Do(t, "GET", "/projects", nil).WantStatus(t, http.StatusOK)) {
			listed[p.ID] = p.Open
		}
		return one, listed
	}
	for _, c := range []struct {
		fact string
		by   *user.User
		want int
	}{
		{"a stranger", w.stranger, 2},
		{"a guest", w.people[access.Guest], 2},
		{"a reporter", w.people[access.Reporter], 3},
		{"an administrator, who sees what banned people wrote", w.root, 4},
	} {
		one, listed := counts(c.by)
		if one == nil || *one != c.want || listed[w.project.ID] == nil || *listed[w.project.ID] != c.want || *listed[beside.ID] != 1 {
			t.Errorf("%s is told %v, and in the list %v; want %d", c.fact, one, listed, c.want)
		}
	}
	w.As(t, w.root).Do(t, "PUT", fmt.Sprintf("/projects/%d", w.project.ID), map[string]any{"issues_access_level": "private"}).WantStatus(t, http.StatusOK)
	if one, listed := counts(w.stranger); one != nil || listed[w.project.ID] != nil {
		t.Errorf("who reads no issues there is told %v, and in the list %v", one, listed)
	}
}

func TestAnIssueKeepsTheClientThatItWasMadeWithForAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := httpapitest.JSON[made](t, w.reporter(t).With("User-Agent", "Browser/1").Do(t, "POST", of(w.project), map[string]any{"title": "spam"}).WantStatus(t, http.StatusCreated))
	got := httpapitest.JSON[struct {
		UserAgent string `json:"user_agent"`
		IPAddress string `json:"ip_address"`
		Submitted *bool  `json:"akismet_submitted"`
	}](t, w.As(t, w.root).Do(t, "GET", m.path()+"/user_agent_detail", nil).WantStatus(t, http.StatusOK))
	kept, err := postgres.One[issue.Agent](t.Context(), w.DB, `select user_agent, ip_address from issue_agents where issue_id = $1`, m.ID)
	if err != nil || got.UserAgent != "Browser/1" || got.UserAgent != kept.UserAgent || got.IPAddress != kept.IPAddress || got.Submitted == nil || *got.Submitted {
		t.Errorf("shown is %+v, kept %+v, %v", got, kept, err)
	}
	w.As(t, w.people[access.Owner]).Do(t, "GET", m.path()+"/user_agent_detail", nil).WantStatus(t, http.StatusForbidden)
	w.Do(t, "GET", m.path()+"/user_agent_detail", nil).WantStatus(t, http.StatusUnauthorized)
	w.As(t, w.root).Do(t, "GET", of(w.project)+"/999/user_agent_detail", nil).WantStatus(t, http.StatusNotFound)
	if _, err := w.DB.Exec(t.Context(), `delete from issue_agents`); err != nil {
		t.Fatal(err)
	}
	w.As(t, w.root).Do(t, "GET", m.path()+"/user_agent_detail", nil).WantStatus(t, http.StatusNotFound)
}

func TestIssuesAreListedByTypeWeightAndWhatTheyDoNotHave(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=ultimate")
	guest := w.people[access.Guest].ID
	w.create(t, "plain", map[string]any{"labels": "bug", "assignee_ids": []int64{guest}})
	w.create(t, "incident", map[string]any{"issue_type": "incident", "weight": 3})
	w.create(t, "test", map[string]any{"issue_type": "test_case", "weight": 0})
	w.change(t, w.root, w.create(t, "late"), map[string]any{"health_status": "at_risk"})
	for query, want := range map[string]string{
		"issue_type=issue,incident": "late incident plain", "issue_type[]=incident&issue_type[]=test_case": "test incident", "issue_type=test_case": "test",
		"type[]=INCIDENT&type[]=test_case": "test incident", "issue_type=requirement": "",
		"weight=3": "incident", "weight=None": "late plain", "weight=any": "test incident", "not[weight]=3": "late test plain", "not[weight]=None": "test incident",
		"health_status=at_risk": "late", "health_status=None": "test incident plain", "health_status=Any": "late", "not[health_status]=at_risk": "test incident plain",
		"not[labels]=Any": "late test incident", "not[labels]=None": "plain", "not[assignee_id]=None": "plain", "not[assignee_id]=Any": "late test incident",
		"not[milestone_id]=Any": "late test incident plain", "not[milestone_id]=None": "",
		"epic_id=None": "late test incident plain", "epic_id=7": "", "iteration_id=Any": "", "iteration_title=x": "", "not[iteration_id]=7": "late test incident plain",
	} {
		if got := strings.Join(titles(t, w.reporter(t).Do(t, "GET", of(w.project)+"?"+query, nil)), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for query, why := range map[string]string{
		"weight=heavy":                     `{"error":"weight should be an integer, none, or any, however got heavy"}`,
		"not[weight]=-1":                   `{"error":"not[weight] should be an integer, none, or any, however got -1"}`,
		"health_status=ill":                `{"error":"health_status does not have a valid value"}`,
		"iteration_id=1&iteration_title=x": `{"error":"iteration_id, iteration_title are mutually exclusive"}`,
		"issue_type=issue,epic":            `{"error":"issue_type does not have a valid value"}`,
	} {
		w.reporter(t).Do(t, "GET", of(w.project)+"?"+query, nil).Want(t, http.StatusBadRequest, why)
	}
}

// Labels of one name in many projects of a tree are promoted at once, while issues get and lose them: each is done or refused, and nobody is ended by the
// database because two wait for each other.
func TestLabelsArePromotedAtOnceWhileIssuesChange(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const projects, rounds = 4, 5
	below := grouptest.New(t, w.DB, grouptest.Under(w.group))
	all := []*project.Project{w.project}
	for n := 1; n < projects; n++ {
		in := w.group.ID
		if n%2 == 0 {
			in = below.ID
		}
		all = append(all, projecttest.New(t, w.DB, in, projecttest.Visible(access.Public)))
	}
	for round := range rounds {
		name := fmt.Sprintf("label-%d", round)
		var acts sync.WaitGroup
		for n, p := range all {
			m := w.createAs(t, w.root, p, "x", map[string]any{"labels": name + ",other"})
			by := w.As(t, w.root)
			acts.Go(func() {
				r := by.Do(t, "PUT", fmt.Sprintf("/projects/%d/labels/%s/promote", p.ID, name), nil)
				if !slices.Contains([]int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusConflict}, r.Status) {
					t.Errorf("promoting in project %d: %d %s", n, r.Status, r.Body)
				}
			})
			for k, change := range []map[string]any{{"remove_labels": name}, {"add_labels": name}, {"labels": "other," + name}} {
				again := w.As(t, w.root)
				acts.Go(func() {
					r := again.Do(t, "PUT", m.path(), change)
					if !slices.Contains([]int{http.StatusOK, http.StatusNotFound, http.StatusConflict}, r.Status) {
						t.Errorf("change %d in project %d: %d %s", k, n, r.Status, r.Body)
					}
				})
			}
		}
		acts.Wait()
		if left, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from labels where name = $1 and namespace_id is not null`, name); err != nil || left == 0 {
			t.Errorf("%s is no label of a group: %d, %v", name, left, err)
		}
	}
}
