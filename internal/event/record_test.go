package event_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/event"
	"stithy/internal/gitstore"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user/usertest"
)

func TestAnEventIsCalledByWhatWasDone(t *testing.T) {
	t.Parallel()
	many := new(5)
	for want, e := range map[string]event.Event{
		"pushed new": {Action: event.Pushed, PushAction: "created"}, "deleted": {Action: event.Pushed, PushAction: "removed"},
		"pushed to": {Action: event.Pushed, PushAction: "created", RefCount: many}, "closed": {Action: event.Closed, TargetType: "Issue"},
		"accepted": {Action: event.Merged, TargetType: "MergeRequest"}, "joined": {Action: event.Joined}, "left": {Action: event.Left},
		"removed due to membership expiration from": {Action: event.Expired}, "destroyed": {Action: event.Destroyed, TargetType: "Milestone"},
		"commented on": {Action: event.Commented, TargetType: "Note"}, "updated": {Action: event.Updated, TargetType: "WikiPage::Meta"},
		"created": {Action: event.Created}, "imported": {Action: event.Created, Imported: true}, "approved": {Action: event.Approved},
		"opened": {Action: event.Reopened, TargetType: "Issue"},
	} {
		if got := e.Name(); got != want {
			t.Errorf("%+v is called %q, want %q", e, got, want)
		}
	}
	for _, e := range []event.Event{
		{Action: event.Created, TargetType: "Milestone"}, {Action: event.Created, TargetType: "Issue"}, {Action: event.Updated, TargetType: "Issue"},
	} {
		if got := e.Name(); got != "opened" {
			t.Errorf("%+v is called %q", e, got)
		}
	}
}

func TestEachActAtAnIssueLeavesItsEvent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, other, w.owner(), access.Owner)
	want := func(fact string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), w.rows(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fact, diff)
		}
	}
	i := w.make(t, w.at+"/issues", object{"title": "Mend the door"})
	path := fmt.Sprintf("%s/issues/%d", w.at, i.IID)
	want("opening", "role-50 tool created Issue")
	w.do(t, "PUT", path, object{"title": "Mend the gate", "labels": "bug", "assignee_id": w.owner().ID})
	want("editing")
	w.do(t, "PUT", path, object{"state_event": "close"})
	want("closing", "role-50 tool closed Issue")
	w.do(t, "PUT", path, object{"state_event": "reopen"})
	want("reopening", "role-50 tool reopened Issue")
	n := w.make(t, path+"/notes", object{"body": "A comment\n/close"})
	want("commenting, and closing by a command", "role-50 tool commented Note", "role-50 tool closed Issue")
	w.do(t, "PUT", fmt.Sprintf("%s/notes/%d", path, n.ID), object{"body": "Another"})
	w.do(t, "POST", path+"/notes", object{"body": "/reopen"})
	want("changing a comment, and nothing but a command", "role-50 tool reopened Issue")
	w.do(t, "POST", path+"/discussions", object{"body": "A thread"})
	want("a thread", "role-50 tool commented DiscussionNote")
	w.do(t, "POST", path+"/clone", object{"to_project_id": other.ID})
	want("cloning", "role-50 other created Issue")
	w.do(t, "POST", path+"/move", object{"to_project_id": other.ID})
	want("moving", "role-50 other created Issue", "role-50 tool closed Issue")
}

func TestEachCommentLeavesItsEvent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	snippet := w.make(t, w.at+"/snippets", object{"title": "s", "visibility": "public", "files": []object{{"file_path": "a", "content": "a"}}})
	sha := w.commit(t, "b", "Add b")
	w.rows(t)
	w.do(t, "POST", fmt.Sprintf("%s/snippets/%d/notes", w.at, snippet.ID), object{"body": "x"})
	w.do(t, "POST", w.at+"/repository/commits/"+sha+"/comments", object{"note": "x"})
	w.do(t, "POST", w.at+"/repository/commits/"+sha+"/comments", object{"note": "x", "path": "b", "line": 1, "line_type": "new"})
	want := []string{"role-50 tool commented Note", "role-50 tool commented Note", "role-50 tool commented DiffNote"}
	if diff := cmp.Diff(want, w.rows(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEachActOnAMilestoneOrAWikiPageLeavesItsEvent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.make(t, w.at+"/milestones", object{"title": "1.0"})
	path := fmt.Sprintf("%s/milestones/%d", w.at, m.ID)
	w.do(t, "PUT", path, object{"state_event": "close"})
	w.do(t, "PUT", path, object{"state_event": "activate"})
	w.do(t, "PUT", path, object{"title": "2.0"})
	w.do(t, "DELETE", path, nil)
	w.do(t, "POST", w.at+"/wikis", object{"title": "Home page", "content": "x"})
	w.do(t, "PUT", w.at+"/wikis/Home-page", object{"content": "y"})
	w.do(t, "DELETE", w.at+"/wikis/Home-page", nil)
	// Those of groups leave none.
	w.by(t, w.root, "POST", fmt.Sprintf("/groups/%d/milestones", w.house.ID), object{"title": "above"})
	w.by(t, w.root, "POST", fmt.Sprintf("/groups/%d/wikis", w.house.ID), object{"title": "above", "content": "x"})
	want := []string{
		"role-50 tool created Milestone", "role-50 tool closed Milestone", "role-50 tool reopened Milestone", "role-50 tool destroyed Milestone 2.0",
		"role-50 tool created WikiPage::Meta Home-page Home page markdown", "role-50 tool updated WikiPage::Meta Home-page Home page markdown",
		"role-50 tool destroyed WikiPage::Meta Home-page Home page markdown",
	}
	if diff := cmp.Diff(want, w.rows(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first := w.list(t, w.owner(), w.at+"/events")[0]
	if first.WikiPage == nil || first.WikiPage.Slug != "Home-page" || first.WikiPage.Format != "markdown" || first.ActionName != "destroyed" || *first.TargetTitle != "Home page" {
		t.Errorf("got %+v", first)
	}
}

func TestMembersOfProjectsComeAndGo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	u := usertest.New(t, w.DB, usertest.Named("ann"))
	w.do(t, "POST", w.at+"/members", object{"user_id": u.ID, "access_level": 20})
	w.do(t, "PUT", fmt.Sprintf("%s/members/%d", w.at, u.ID), object{"access_level": 30})
	w.do(t, "DELETE", fmt.Sprintf("%s/members/%d", w.at, u.ID), nil)
	w.do(t, "POST", w.at+"/members", object{"user_id": u.ID, "access_level": 20, "expires_at": "2024-05-10"})
	w.do(t, "POST", w.at+"/invitations", object{"email": "bob@example.com", "access_level": 20})
	w.by(t, w.root, "POST", fmt.Sprintf("/groups/%d/members", w.house.ID), object{"user_id": w.stranger.ID, "access_level": 10})
	w.Turn(30 * 24 * time.Hour)
	if err := w.Members.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"ann tool joined", "ann tool left", "ann tool joined", "ann tool expired"}
	if diff := cmp.Diff(want, w.rows(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAProjectThatIsMadeLeavesItsEvent(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.by(t, w.root, "POST", "/projects", object{"name": "fresh", "namespace_id": w.house.ID})
	w.by(t, w.root, "POST", w.at+"/fork", object{"namespace_id": w.house.ID, "path": "forked", "name": "forked"})
	imported := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("fetched"), projecttest.By(w.root), projecttest.With("import_status", "scheduled"))
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		return w.Bus.Publish(t.Context(), tx, project.Event{Action: project.Created, By: actor(w.root), Project: imported})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"root fresh created", "root forked created", "root fetched created imported"}
	if diff := cmp.Diff(want, w.rows(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPushLeavesAnEventForEachRef(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	main := func() gitstore.OID {
		ref, err := w.repo.Ref(t.Context(), "refs/heads/main")
		if err != nil {
			t.Fatal(err)
		}
		return ref.Target
	}
	by := actor(w.owner())
	at, err := w.Projects.Find(t.Context(), by, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	push := func(updates ...gitstore.RefUpdate) {
		t.Helper()
		if err := w.Repositories.Push(t.Context(), by, at, gitstore.Quarantine{}, updates...); err != nil {
			t.Fatal(err)
		}
	}
	before := main()
	w.commit(t, "b", "Add b\n\nbecause of it")
	long := strings.Repeat("ä", 80)
	w.commit(t, "c", long)
	w.do(t, "POST", w.at+"/repository/branches", object{"branch": "topic", "ref": "main"})
	w.do(t, "POST", w.at+"/repository/tags", object{"tag_name": "v1", "ref": "main"})
	w.do(t, "POST", w.at+"/repository/tags", object{"tag_name": "v2", "ref": "main", "message": "annotated"})
	w.do(t, "DELETE", w.at+"/repository/branches/topic", nil)
	w.do(t, "DELETE", w.at+"/repository/tags/v1", nil)
	cutTitle := strings.Repeat("ä", 67) + "..."
	want := []string{
		"role-50 tool pushed pushed branch main 1 Add b", "role-50 tool pushed pushed branch main 1 " + cutTitle,
		"role-50 tool pushed created branch topic", "role-50 tool pushed created tag v1 1 " + cutTitle, "role-50 tool pushed created tag v2 1 " + cutTitle,
		"role-50 tool pushed removed branch topic", "role-50 tool pushed removed tag v1",
	}
	if diff := cmp.Diff(want, w.rows(t)); diff != "" {
		t.Errorf("one by one (-want +got):\n%s", diff)
	}
	events := w.list(t, w.owner(), w.at+"/events?sort=asc")
	first, last := events[0].PushData, events[len(events)-1]
	if *first.CommitFrom != string(before) || len(*first.CommitTo) != 40 || *first.Ref != "main" || *first.CommitTitle != "Add b" || first.RefCount != nil {
		t.Errorf("got %+v", first)
	}
	if last.ActionName != "deleted" || last.PushData.CommitTo != nil || last.PushData.CommitTitle != nil || last.PushData.CommitCount != 0 || last.TargetType != nil {
		t.Errorf("got %+v, %+v", last, last.PushData)
	}

	// Two commits at once, and so many refs at once that they are told of as a whole.
	repositorytest.Commit(t, w.repo, "aside", "One", repositorytest.Files{"d": "d"})
	tip := repositorytest.Commit(t, w.repo, "aside", "Two", repositorytest.Files{"e": "e"})
	base := main()
	push(gitstore.RefUpdate{Name: "refs/heads/wide", Old: gitstore.Zero, New: tip})
	var three, four []gitstore.RefUpdate
	for n := range 4 {
		four = append(four, gitstore.RefUpdate{Name: fmt.Sprintf("refs/heads/many-%d", n), Old: gitstore.Zero, New: base})
		if n < 3 {
			three = append(three, gitstore.RefUpdate{Name: fmt.Sprintf("refs/tags/few-%d", n), Old: gitstore.Zero, New: base})
		}
	}
	push(append(four, three...)...)
	got := w.rows(t)
	want = []string{
		"role-50 tool pushed created tag few-0 1 " + cutTitle, "role-50 tool pushed created tag few-1 1 " + cutTitle,
		"role-50 tool pushed created tag few-2 1 " + cutTitle, "role-50 tool pushed created branch of 4",
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" {
		t.Errorf("many at once (-want +got):\n%s", diff)
	}
	if !strings.HasSuffix(got[0], " Two") {
		t.Errorf("got %q", got[0])
	}
	bulk := w.list(t, w.owner(), w.at+"/events")[0]
	if bulk.ActionName != "pushed to" || *bulk.PushData.RefCount != 4 || bulk.PushData.Ref != nil || bulk.PushData.CommitCount != 0 || bulk.PushData.Action != "created" {
		t.Errorf("got %+v", bulk.PushData)
	}
}

func TestAnActAndItsEventAreThereTogetherOrNot(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	count := func(table string) int {
		n, err := postgres.Value[int](t.Context(), w.DB, `select (select count(*) from issues) + (select count(*) from `+table+`)`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var broken error
	bus.On(w.Bus, func(context.Context, pgx.Tx, issue.Event) error { return broken })
	broken = errors.New("undo")
	w.As(t, w.owner()).Do(t, "POST", w.at+"/issues", object{"title": "x"}).WantStatus(t, http.StatusInternalServerError)
	if n := count("events"); n != 0 {
		t.Errorf("an act that failed left %d rows", n)
	}
	broken = nil
	w.exec(t, `alter table events rename to away`)
	w.As(t, w.owner()).Do(t, "POST", w.at+"/issues", object{"title": "x"}).WantStatus(t, http.StatusInternalServerError)
	if n := count("away"); n != 0 {
		t.Errorf("an event that failed left %d rows", n)
	}
}

func TestDO09_LongTextsOfEventsAreCutToTheirColumns(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	long := strings.Repeat("\xff", 5) + strings.Repeat("ä", 3000)
	name := "refs/heads/" + long
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		return w.Events.OnPushed(t.Context(), tx, repository.Pushed{
			Project: w.project, By: actor(w.owner()), Updates: []gitstore.RefUpdate{{Name: name, Old: gitstore.Zero, New: gitstore.EmptyTree}},
			Summaries: map[string]repository.Summary{name: {Commits: 1, Title: long}},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	length, err := postgres.Value[string](t.Context(), w.DB, `select length(ref) || ' ' || length(title) from events`)
	if err != nil || length != "1024 255" {
		t.Error(length, err)
	}
}
