package todo_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
	"stithy/internal/todo"
	"stithy/internal/user"
)

func TestPeopleAreAskedForAReason(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.open(t, w.reporter, w.project, "@guest see @stranger", given(w.developer))
	note := w.say(t, w.stranger, m, "@root what now?")
	for who, want := range map[*user.User][]string{
		w.developer: {"assigned house/tool#1"}, w.guest: {"directly_addressed house/tool#1"}, w.stranger: {}, w.root: {"directly_addressed house/tool#1"}, w.reporter: {},
	} {
		if diff := cmp.Diff(want, w.todos(t, who)); diff != "" {
			t.Errorf("%s: %s", who.Username, diff)
		}
	}
	got := w.list(t, w.root, "")[0]
	want := asked{ID: got.ID, ActionName: "directly_addressed", TargetType: "Issue", Body: "@root what now?", State: "pending", CreatedAt: "2024-05-02T15:04:05.678Z", UpdatedAt: "2024-05-02T15:04:05.678Z"}
	want.Project.PathWithNamespace, want.Author.Username, want.Target.ID, want.Target.IID = "house/tool", "stranger", m.ID, 1
	want.TargetURL = fmt.Sprintf("https://forge.example/house/tool/-/issues/1#note_%d", note)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := w.list(t, w.developer, "")[0]; got.Body != "Mend the door" || got.TargetURL != "https://forge.example/house/tool/-/issues/1" {
		t.Errorf("of an issue: %q at %s", got.Body, got.TargetURL)
	}
	w.say(t, w.reporter, m, "also @guest and @developer")
	if got := w.todos(t, w.guest); len(got) != 1 {
		t.Errorf("of one issue somebody is asked %q", got)
	}
	w.open(t, w.reporter, w.project, "", given(w.reporter))
	if got := w.todos(t, w.reporter); len(got) != 0 {
		t.Errorf("who gives an issue to themselves is asked %q", got)
	}
	w.change(t, w.reporter, w.open(t, w.reporter, w.project, ""), given(w.developer))
	if got := w.todos(t, w.developer); !slices.Equal(got, []string{"assigned house/tool#3", "assigned house/tool#1"}) {
		t.Errorf("whom an issue is given to later is asked %q", got)
	}
	if count, err := w.Todos.Count(t.Context(), access.Actor{Person: w.developer.Person()}); count != 2 || err != nil {
		t.Errorf("%d, %v", count, err)
	}
}

func TestPendingToDosAreCountedAsFarAsAPageShows(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	want := func(who *user.User, want int) {
		t.Helper()
		if n, err := w.Todos.Pending(t.Context(), access.Actor{Person: who.Person()}); n != want || err != nil {
			t.Errorf("%s has %d, want %d, %v", who.Username, n, want, err)
		}
	}
	want(w.developer, 0)
	w.open(t, w.reporter, w.project, "", given(w.developer))
	w.open(t, w.reporter, w.project, "", given(w.developer))
	w.open(t, w.reporter, w.project, "", given(w.guest))
	want(w.developer, 2)
	if _, err := w.Todos.Done(t.Context(), access.Actor{Person: w.developer.Person()}, w.list(t, w.developer, "")[0].ID); err != nil {
		t.Fatal(err)
	}
	want(w.developer, 1)
	if _, err := w.DB.Exec(t.Context(), `with i as (
	insert into issues (project_id, iid, author_id, title, type, created_at, updated_at) select $1, 1000 + n, $2, 'x', 'issue', now(), now() from generate_series(1, 120) n returning id)
insert into todos (user_id, project_id, issue_id, author_id, action, created_at, updated_at) select $3, $1, i.id, $2, 'marked', now(), now() from i`,
		w.project.ID, w.reporter.ID, w.developer.ID); err != nil {
		t.Fatal(err)
	}
	want(w.developer, todo.MaxPending)
}

func TestPE08_ToDosOfWhatIsHiddenAreNotCountedOnPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	outside := projecttest.New(t, w.DB, grouptest.New(t, w.DB).ID)
	own, given, of := w.open(t, w.guest, w.project, ""), w.open(t, w.reporter, w.project, ""), w.open(t, w.reporter, w.project, "")
	said := w.say(t, w.reporter, of, "x")
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	insert := func(m made, note *int64) {
		t.Helper()
		exec(`insert into todos (user_id, project_id, issue_id, note_id, author_id, action, created_at, updated_at) values ($1, $2, $3, $4, $5, 'mentioned', now(), now())
on conflict do nothing`, w.guest.ID, m.ProjectID, m.ID, note, w.reporter.ID)
	}
	hidden := w.open(t, w.root, outside, "")
	for _, m := range []made{own, given, hidden} {
		insert(m, nil)
	}
	insert(of, &said)
	exec(`insert into issue_assignees (issue_id, user_id) values ($1, $2)`, given.ID, w.guest.ID)
	guest := access.Actor{Person: w.guest.Person()}
	for _, c := range []struct {
		fact, sql string
		id        int64
		want      int
	}{
		{"of a project that is not seen", `select $1::bigint`, 1, 3},
		{"their own that is confidential", `update issues set confidential = true where id = $1`, own.ID, 3},
		{"one that was given to them, confidential", `update issues set confidential = true where id = $1`, given.ID, 3},
		{"confidential, and taken from them", `delete from issue_assignees where issue_id = $1`, given.ID, 2},
		{"in an internal note", `update notes set internal = true where id = $1`, said, 1},
		{"of an author who is banned", `update users set state = 'banned' where id = (select author_id from issues where id = $1)`, own.ID, 0},
	} {
		exec(c.sql, c.id)
		n, err := w.Todos.Pending(t.Context(), guest)
		all, listed := w.Todos.Count(t.Context(), guest)
		if n != c.want || err != nil || all != n || listed != nil {
			t.Errorf("%s: %d, want %d, %v; the list has %d, %v", c.fact, n, c.want, err, all, listed)
		}
	}
}

func TestLongBodiesAreCutInTheListOfTodos(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.open(t, w.reporter, w.project, "")
	w.say(t, w.reporter, m, "@root "+strings.Repeat("ä", 5000))
	if got := w.list(t, w.root, "")[0].Body; got != "@root "+strings.Repeat("ä", 3994) {
		t.Errorf("a body has %d bytes", len(got))
	}
}

func TestATodoIsSettledByWhatHappens(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	emoji := func(m made) {
		w.As(t, w.developer).Do(t, "POST", m.path()+"/award_emoji", map[string]any{"name": "heart"}).WantStatus(t, http.StatusCreated)
	}
	assigned := func() made { return w.open(t, w.reporter, w.project, "", given(w.developer)) }
	mentioned := func() made { return w.open(t, w.reporter, w.project, "see @developer") }
	marked := func() made {
		m := w.open(t, w.reporter, w.project, "")
		w.As(t, w.developer).Do(t, "POST", m.path()+"/todo", nil).WantStatus(t, http.StatusCreated)
		return m
	}
	shut := map[string]any{"state_event": "close"}
	for _, tt := range []struct {
		name  string
		begin func() made
		do    func(made)
		left  int
	}{
		{"assigned, closed by another", assigned, func(m made) { w.change(t, w.reporter, m, shut) }, 0},
		{"assigned, taken away", assigned, func(m made) { w.change(t, w.reporter, m, given(w.guest)) }, 0},
		{"assigned, own comment", assigned, func(m made) { w.say(t, w.developer, m, "yes") }, 0},
		{"assigned, comment of another", assigned, func(m made) { w.say(t, w.reporter, m, "yes") }, 1},
		{"assigned, changed by another", assigned, func(m made) { w.change(t, w.reporter, m, map[string]any{"title": "x"}) }, 1},
		{"mentioned, own edit", mentioned, func(m made) { w.change(t, w.developer, m, map[string]any{"title": "x"}) }, 0},
		{"mentioned, own label", mentioned, func(m made) { w.change(t, w.developer, m, map[string]any{"add_labels": "x"}) }, 0},
		{"mentioned, own emoji", mentioned, emoji, 0},
		{"mentioned, closed by themselves", mentioned, func(m made) { w.change(t, w.developer, m, shut) }, 0},
		{"mentioned, closed by another", mentioned, func(m made) { w.change(t, w.reporter, m, shut) }, 1},
		{"mentioned, given and taken away", mentioned, func(m made) {
			w.change(t, w.reporter, m, given(w.developer))
			w.change(t, w.reporter, m, given(w.guest))
		}, 1},
		{"marked, own comment", marked, func(m made) { w.say(t, w.developer, m, "yes") }, 1},
		{"marked, closed by themselves", marked, func(m made) { w.change(t, w.developer, m, shut) }, 1},
		{"named by themselves", mentioned, func(m made) { w.say(t, w.developer, m, "note to @developer") }, 1},
	} {
		m := tt.begin()
		if got := w.todos(t, w.developer); len(got) != 1 {
			t.Fatalf("%s: begins with %q", tt.name, got)
		}
		w.Turn(1)
		if tt.do(m); len(w.todos(t, w.developer)) != tt.left {
			t.Errorf("%s: %q are left", tt.name, w.todos(t, w.developer))
		}
		w.As(t, w.developer).Do(t, "POST", "/todos/mark_as_done", nil).WantStatus(t, http.StatusNoContent)
	}
}

func TestATodoIsSettledOneByOneAndAllAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(t, w.reporter, w.project, "@developer @guest @stranger")
	w.open(t, w.reporter, w.project, "@developer")
	first := w.list(t, w.developer, "")[1]
	done := fmt.Sprintf("/todos/%d/mark_as_done", first.ID)
	w.As(t, w.guest).Do(t, "POST", done, nil).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
	w.As(t, w.root).Do(t, "POST", done, nil).WantStatus(t, http.StatusNotFound)
	w.Do(t, "POST", done, nil).WantStatus(t, http.StatusUnauthorized)
	w.Do(t, "GET", "/todos", nil).WantStatus(t, http.StatusUnauthorized)
	w.Turn(1e9)
	for range 2 {
		got := httpapitest.JSON[asked](t, w.As(t, w.developer).Do(t, "POST", done, nil).WantStatus(t, http.StatusCreated))
		if got.State != "done" || got.ID != first.ID || got.UpdatedAt != "2024-05-02T15:04:06.678Z" {
			t.Errorf("got %+v", got)
		}
		w.Turn(1e9)
	}
	if got := w.todos(t, w.developer); !slices.Equal(got, []string{"directly_addressed house/tool#2"}) {
		t.Errorf("%q are left", got)
	}
	w.As(t, w.developer).Do(t, "POST", "/todos/mark_as_done", nil).WantStatus(t, http.StatusNoContent)
	if pending, settled := w.list(t, w.developer, ""), w.list(t, w.developer, "?state=done"); len(pending) != 0 || len(settled) != 2 {
		t.Errorf("%d pending, %d done", len(pending), len(settled))
	}
	// Those of others stay, whether they came before or after.
	for _, who := range []*user.User{w.guest, w.stranger} {
		if got := w.todos(t, who); len(got) != 1 {
			t.Errorf("%s has %q", who.Username, got)
		}
	}
	w.As(t, w.stranger).Do(t, "POST", "/todos/mark_as_done", nil).WantStatus(t, http.StatusNoContent)
	if got := w.todos(t, w.guest); len(got) != 1 {
		t.Errorf("the guest has %q when the stranger has done all", got)
	}
}

func TestManyTodosAreSettledInBatches(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if _, err := w.DB.Exec(t.Context(), `
		with made as (
			insert into issues (project_id, iid, title, type, created_at, updated_at)
			select $1, n, 'x', 'issue', now(), now() from generate_series(1, 2500) n returning id
		) insert into todos (user_id, project_id, issue_id, author_id, action, created_at, updated_at)
		select $2, $1, id, $2, 'marked', now(), now() from made`, w.project.ID, w.guest.ID); err != nil {
		t.Fatal(err)
	}
	r := w.As(t, w.guest).Do(t, "GET", "/todos?pagination=keyset&per_page=100", nil).WantStatus(t, http.StatusOK)
	if got := httpapitest.JSON[[]asked](t, r); len(got) != 100 || r.Header.Get("Link") == "" {
		t.Errorf("the first page has %d, then %s", len(got), r.Header.Get("Link"))
	}
	w.As(t, w.guest).Do(t, "POST", "/todos/mark_as_done", nil).WantStatus(t, http.StatusNoContent)
	if got := w.todos(t, w.guest); len(got) != 0 {
		t.Errorf("%d are left", len(got))
	}
}

func TestAnIssueIsMarkedOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.open(t, w.reporter, w.project, "@guest")
	got := httpapitest.JSON[asked](t, w.As(t, w.stranger).Do(t, "POST", m.path()+"/todo", nil).WantStatus(t, http.StatusCreated))
	if got.ActionName != "marked" || got.State != "pending" || got.Author.Username != "stranger" || got.Target.ID != m.ID {
		t.Errorf("got %+v", got)
	}
	for _, who := range []*user.User{w.stranger, w.guest} {
		w.As(t, who).Do(t, "POST", m.path()+"/todo", nil).WantStatus(t, http.StatusNotModified)
	}
	w.Do(t, "POST", m.path()+"/todo", nil).WantStatus(t, http.StatusUnauthorized)
	secret := w.open(t, w.reporter, w.project, "", map[string]any{"confidential": true})
	w.As(t, w.stranger).Do(t, "POST", secret.path()+"/todo", nil).Want(t, http.StatusNotFound, `{"message":"404 Issue Not Found"}`)
}

func TestTodosAreFiltered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	below := grouptest.New(t, w.DB, grouptest.Named("below"), grouptest.Under(w.house), grouptest.Visible(access.Public))
	other := projecttest.New(t, w.DB, below.ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	elsewhere := projecttest.New(t, w.DB, grouptest.New(t, w.DB, grouptest.Named("elsewhere"), grouptest.Visible(access.Public)).ID, projecttest.Named("far"), projecttest.Visible(access.Public))
	w.open(t, w.reporter, w.project, "", given(w.developer))
	w.open(t, w.guest, w.project, "see @developer")
	w.open(t, w.guest, other, "@developer")
	m := w.open(t, w.guest, elsewhere, "")
	w.As(t, w.developer).Do(t, "POST", m.path()+"/todo", nil).WantStatus(t, http.StatusCreated)
	for query, want := range map[string][]string{
		"":                                    {"marked", "directly_addressed", "mentioned", "assigned"},
		"?action=mentioned":                   {"mentioned"},
		"?action=build_failed":                {},
		fmt.Sprint("?author_id=", w.guest.ID): {"directly_addressed", "mentioned"},
		fmt.Sprint("?project_id=", other.ID):  {"directly_addressed"},
		fmt.Sprint("?group_id=", w.house.ID):  {"directly_addressed", "mentioned", "assigned"},
		fmt.Sprint("?group_id=", below.ID):    {"directly_addressed"},
		"?type=Issue":                         {"marked", "directly_addressed", "mentioned", "assigned"},
		"?type=MergeRequest":                  {},
		"?state=done":                         {},
		"?per_page=2&page=2":                  {"mentioned", "assigned"},
		"?pagination=keyset&per_page=3":       {"marked", "directly_addressed", "mentioned"},
		fmt.Sprint("?project_id=", 1<<40):     {},
		"?action=assigned&state=pending&type=" + url.QueryEscape("AlertManagement::Alert"): {},
	} {
		got := []string{}
		for _, a := range w.list(t, w.developer, query) {
			got = append(got, a.ActionName)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	for query, want := range map[string]string{
		"?action=x": `{"error":"action does not have a valid value"}`, "?state=x": `{"error":"state does not have a valid value"}`,
		"?type=x": `{"error":"type does not have a valid value"}`,
	} {
		w.As(t, w.developer).Do(t, "GET", "/todos"+query, nil).Want(t, http.StatusBadRequest, want)
	}
}

// PE-08: what somebody may no longer read is neither listed nor counted.
func TestPE05_AToDoOfWhatIsHiddenIsNotShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hidden := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("hidden"))
	for u, role := range map[*user.User]access.Role{w.guest: access.Reporter, w.reporter: access.Reporter} {
		projecttest.Join(t, w.DB, hidden, u, role)
	}
	open := w.open(t, w.reporter, w.project, "@guest")
	w.open(t, w.reporter, hidden, "@guest")
	w.say(t, w.reporter, w.open(t, w.reporter, hidden, ""), "@guest", map[string]any{"internal": true})
	shown := func(when string, want ...string) {
		t.Helper()
		r := w.As(t, w.guest).Do(t, "GET", "/todos?per_page=1", nil).WantStatus(t, http.StatusOK)
		if diff := cmp.Diff(append([]string{}, want...), w.todos(t, w.guest)); diff != "" || r.Header.Get("X-Total") != fmt.Sprint(len(want)) {
			t.Errorf("%s: %s, %s in all", when, diff, r.Header.Get("X-Total"))
		}
	}
	level := func(role access.Role) {
		t.Helper()
		if _, err := w.DB.Exec(t.Context(), `update members set access_level = $3 where project_id = $1 and user_id = $2`, hidden.ID, w.guest.ID, role); err != nil {
			t.Fatal(err)
		}
	}
	first, second, third := "directly_addressed house/tool#1", "directly_addressed house/hidden#1", "directly_addressed house/hidden#2"
	shown("at first", third, second, first)
	level(access.Guest)
	shown("without internal notes", second, first)
	lost := w.list(t, w.guest, "")[0]
	if _, err := w.DB.Exec(t.Context(), `delete from members where project_id = $1 and user_id = $2`, hidden.ID, w.guest.ID); err != nil {
		t.Fatal(err)
	}
	shown("outside", first)
	w.As(t, w.guest).Do(t, "POST", fmt.Sprintf("/todos/%d/mark_as_done", lost.ID), nil).WantStatus(t, http.StatusNotFound)
	w.change(t, w.reporter, open, map[string]any{"confidential": true})
	shown("confidential")
	w.change(t, w.reporter, open, map[string]any{"confidential": false})
	shown("visible again", first)
	if _, err := w.DB.Exec(t.Context(), `update users set state = 'banned' where id = $1`, w.reporter.ID); err != nil {
		t.Fatal(err)
	}
	shown("of a banned author")
}

func TestTodosMoveWithTheirIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	to := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, to, w.reporter, access.Reporter)
	m := w.open(t, w.reporter, w.project, "see @guest", given(w.developer))
	w.As(t, w.reporter).Do(t, "POST", m.path()+"/clone", map[string]any{"to_project_id": to.ID}).WantStatus(t, http.StatusCreated)
	w.As(t, w.reporter).Do(t, "POST", m.path()+"/move", map[string]any{"to_project_id": to.ID}).WantStatus(t, http.StatusCreated)
	if got := w.todos(t, w.developer); !slices.Equal(got, []string{"assigned house/other#1", "assigned house/other#2"}) {
		t.Errorf("%q", got)
	}
	if got := w.todos(t, w.guest); !slices.Equal(got, []string{"mentioned house/other#2"}) {
		t.Errorf("%q", got)
	}
	note := w.say(t, w.reporter, made{IID: 2, ProjectID: to.ID}, "@stranger")
	if got := w.todos(t, w.stranger); len(got) != 1 {
		t.Errorf("%q", got)
	}
	w.As(t, w.reporter).Do(t, "DELETE", fmt.Sprintf("/projects/%d/issues/2/notes/%d", to.ID, note), nil).WantStatus(t, http.StatusNoContent)
	if got := w.todos(t, w.stranger); len(got) != 0 {
		t.Errorf("%q without the comment", got)
	}
}

func TestCommandsMarkIssuesAndFinishThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := httpapitest.JSON[made](t, w.As(t, w.guest).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", w.project.ID),
		map[string]any{"title": "The roof", "description": "It leaks.\n/todo"}).WantStatus(t, http.StatusCreated))
	mine := []string{fmt.Sprintf("marked house/tool#%d", m.IID)}
	if got := w.todos(t, w.guest); !slices.Equal(got, mine) {
		t.Errorf("after a description: %q", got)
	}
	say := func(body string) string {
		t.Helper()
		return w.As(t, w.guest).Do(t, "POST", m.path()+"/notes", map[string]any{"body": body}).WantStatus(t, http.StatusAccepted).Body
	}
	if got := say("/done"); !strings.Contains(got, `"todo_event":"done"`) || !strings.Contains(got, "Marked to-do item as done.") {
		t.Error(got)
	}
	if got := w.todos(t, w.guest); len(got) > 0 {
		t.Errorf("after it is done: %q", got)
	}
	for range 2 { // it is there once
		if got := say("/todo"); !strings.Contains(got, `"todo_event":"add"`) || !strings.Contains(got, "Added a to-do item.") {
			t.Error(got)
		}
	}
	if got := w.todos(t, w.guest); !slices.Equal(got, mine) {
		t.Errorf("after it is marked: %q", got)
	}
	if got := w.todos(t, w.developer); len(got) > 0 {
		t.Errorf("on the list of somebody else: %q", got)
	}
}
