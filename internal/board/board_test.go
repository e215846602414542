package board_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"stithy/internal/board"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

const (
	missing  = `{"message":"404 Not found"}`
	noRoute  = `{"message":"404 Not Found"}`
	forbids  = `{"message":"403 Forbidden"}`
	unsigned = `{"message":"401 Unauthorized"}`
	unmoved  = `{"message":{"error":"List could not be moved!"}}`
	blank    = `{"message":"400 Bad request - Failed to save board {:name=\u003e[\"can't be blank\"]}"}`
)

func TestABoardIsCreatedShownChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	for _, in := range []string{ofProject(w.project), ofGroup(w.sub)} {
		w.happened()
		m := w.create(t, in, "Work")
		r := w.as(t).Do(t, "GET", m.path(), nil).WantStatus(t, 200)
		want := `"project":null,"lists":[],"group":{"id":` + fmt.Sprint(w.sub.ID) + `,"web_url":"https://forge.example/groups/top/sub","name":"sub"},"milestone"`
		if in == ofProject(w.project) {
			want = `"project":{"id":` + fmt.Sprint(w.project.ID) + `,`
		}
		head := `{"id":` + fmt.Sprint(m.ID) + `,"name":"Work","hide_backlog_list":false,"hide_closed_list":false,`
		if tail := `"milestone":null,"assignee":null,"labels":[],"weight":null}`; !strings.HasPrefix(r.Body, head+want) || !strings.HasSuffix(r.Body, tail) {
			t.Errorf("%s: got %s", in, r.Body)
		}
		if in == ofProject(w.project) && (!strings.Contains(r.Body, `"http_url_to_repo"`) || strings.Contains(r.Body, `"group":`)) {
			t.Errorf("got %s", r.Body)
		}
		r = w.as(t).Do(t, "PUT", m.path(), map[string]any{"name": "Play", "hide_backlog_list": true})
		if !strings.Contains(r.Body, `"name":"Play","hide_backlog_list":true,"hide_closed_list":false`) {
			t.Errorf("got %d %s", r.Status, r.Body)
		}
		r = w.as(t).Do(t, "PUT", m.path(), map[string]any{"hide_closed_list": true})
		if !strings.Contains(r.Body, `"name":"Play","hide_backlog_list":true,"hide_closed_list":true`) {
			t.Errorf("got %d %s", r.Status, r.Body)
		}
		second := w.create(t, in, "Play")
		if got := httpapitest.JSON[[]made](t, w.as(t).Do(t, "GET", in+"/boards", nil)); len(got) != 2 || got[0].ID != m.ID || got[1].ID != second.ID {
			t.Errorf("got %+v", got)
		}
		w.as(t).Do(t, "DELETE", m.path(), nil).Want(t, 204, "")
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			w.as(t).Do(t, method, m.path(), nil).Want(t, 404, missing)
		}
		var acts []board.Action
		for _, e := range w.happened() {
			if acts = append(acts, e.Action); !e.By.Is(w.reporter.ID) {
				t.Errorf("heard %+v", e)
			}
		}
		if !slices.Equal(acts, []board.Action{board.Created, board.Updated, board.Updated, board.Created, board.Deleted}) {
			t.Errorf("heard %v", acts)
		}
	}
}

func TestWhatABoardMayBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := ofProject(w.project)
	m := w.create(t, in, strings.Repeat("ü", 255))
	for body, want := range map[string]string{
		`{}`: `{"error":"name is missing"}`, `{"name":" \t"}`: blank,
		`{"name":"` + strings.Repeat("ü", 256) + `"}`: `{"message":"400 Bad request - Failed to save board {:name=\u003e[\"is too long (maximum is 255 characters)\"]}"}`,
	} {
		w.as(t).Do(t, "POST", in+"/boards", body).Want(t, 400, want)
	}
	w.as(t).Do(t, "PUT", m.path(), map[string]any{"name": ""}).Want(t, 400, blank)
	w.as(t).Do(t, "PUT", m.path(), map[string]any{"name": nil}).Want(t, 400, blank)
	w.exec(t, `insert into boards (project_id, name, created_at, updated_at) select $1, 'x', now(), now() from generate_series(1, 98)`, w.project.ID)
	w.create(t, in, "the hundredth")
	if r := w.as(t).Do(t, "POST", in+"/boards", map[string]any{"name": "one more"}); r.Status != 400 || !strings.Contains(r.Body, "a project has 100 boards at the most") {
		t.Errorf("got %d %s", r.Status, r.Body)
	}
}

// On the free tier a group has the board that its page makes, and nothing adds to it or takes it away.
func TestGroupsHaveSeveralBoardsOnAPaidTier(t *testing.T) {
	t.Parallel()
	w := newFixture(t, free)
	o, err := w.Owners.FindGroup(t.Context(), person(w.reporter), fmt.Sprint(w.top.ID))
	if err != nil {
		t.Fatal(err)
	}
	first, err := w.Boards.First(t.Context(), o.Entity)
	if err != nil || first.ID != 0 || first.Name != "Development" {
		t.Errorf("got %+v, %v", first, err)
	}
	var ids [4]int64
	var wg sync.WaitGroup
	for n := range ids {
		wg.Go(func() {
			b, err := w.Boards.Ensure(t.Context(), person(w.reporter), o.Entity)
			if err != nil {
				t.Error(err)
				return
			}
			ids[n] = b.ID
		})
	}
	wg.Wait()
	if first, err = w.Boards.First(t.Context(), o.Entity); err != nil || first.ID != ids[0] || ids[0] != ids[1] || ids[1] != ids[2] || ids[2] != ids[3] {
		t.Errorf("got %+v of %v, %v", first, ids, err)
	}
	in := ofGroup(w.top)
	at := fmt.Sprintf("%s/boards/%d", in, first.ID)
	w.as(t).Do(t, "POST", in+"/boards", map[string]any{"name": "x"}).Want(t, 404, noRoute)
	w.as(t).Do(t, "DELETE", at, nil).Want(t, 404, noRoute)
	w.as(t).Do(t, "PUT", at, map[string]any{"name": "x"}).WantStatus(t, 200)
	if r := w.as(t).Do(t, "GET", at, nil).WantStatus(t, 200); strings.Contains(r.Body, `"weight"`) {
		t.Errorf("got %s", r.Body)
	}
	w.create(t, ofProject(w.project), "one")
	w.create(t, ofProject(w.project), "two")
}

func TestWhoReadsAndManagesBoards(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	open := grouptest.New(t, w.DB, grouptest.Visible(access.Public))
	public := projecttest.New(t, w.DB, open.ID, projecttest.Visible(access.Public))
	frozen := projecttest.New(t, w.DB, w.top.ID, projecttest.With("archived", true))
	closed := projecttest.New(t, w.DB, w.top.ID, projecttest.With("features", `{"issues": "disabled"}`))
	for _, c := range []struct {
		fact        string
		by          *httpapitest.Client
		at          string
		read, write int
	}{
		{"nobody, in a public project", w.Client, ofProject(public), 401, 401},
		{"nobody, in a public group", w.Client, ofGroup(open), 401, 401},
		{"a stranger", w.As(t, w.stranger), ofProject(w.project), 404, 404},
		{"a stranger, in a public project", w.As(t, w.stranger), ofProject(public), 200, 403},
		{"a stranger, in a public group", w.As(t, w.stranger), ofGroup(open), 200, 403},
		{"a guest", w.As(t, w.guest), ofProject(w.project), 200, 403},
		{"a guest, in the group", w.As(t, w.guest), ofGroup(w.top), 200, 403},
		{"a reporter", w.as(t), ofProject(w.project), 200, 201},
		{"a reporter, in the group", w.as(t), ofGroup(w.top), 200, 201},
		{"a reporter, in an archived project", w.as(t), ofProject(frozen), 200, 403},
		{"a reporter, where there are no issues", w.as(t), ofProject(closed), 403, 403},
	} {
		if r := c.by.Do(t, "GET", c.at+"/boards", nil); r.Status != c.read || (r.Status == 401 && r.Body != unsigned) {
			t.Errorf("%s reads: %d %s", c.fact, r.Status, r.Body)
		}
		if r := c.by.Do(t, "POST", c.at+"/boards", map[string]any{"name": c.fact}); r.Status != c.write || (r.Status == 403 && r.Body != forbids) {
			t.Errorf("%s creates: %d %s", c.fact, r.Status, r.Body)
		}
	}
}

func TestPE01_ABoardAndItsListsAreReachedThroughTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	beside := projecttest.New(t, w.DB, w.sub.ID)
	m, other := w.create(t, ofProject(w.project), "own"), w.create(t, ofProject(w.project), "other")
	label := w.label(t, ofGroup(w.top), "bug")
	l := w.add(t, m, "label_id", label)
	root := w.As(t, w.root)
	for _, in := range []string{ofProject(beside), ofGroup(w.sub), ofGroup(w.top)} {
		at := fmt.Sprintf("%s/boards/%d", in, m.ID)
		for _, path := range []string{at, at + "/lists", fmt.Sprintf("%s/lists/%d", at, l.ID)} {
			root.Do(t, "GET", path, nil).Want(t, 404, missing)
		}
		root.Do(t, "PUT", at, map[string]any{"name": "x"}).Want(t, 404, missing)
		root.Do(t, "DELETE", at, nil).Want(t, 404, missing)
		root.Do(t, "POST", at+"/lists", map[string]any{"label_id": label}).Want(t, 404, missing)
		root.Do(t, "PUT", fmt.Sprintf("%s/lists/%d", at, l.ID), map[string]any{"position": 1}).Want(t, 404, missing)
		root.Do(t, "DELETE", fmt.Sprintf("%s/lists/%d", at, l.ID), nil).Want(t, 404, missing)
	}
	at := fmt.Sprintf("%s/lists/%d", other.path(), l.ID)
	root.Do(t, "GET", at, nil).Want(t, 404, missing)
	root.Do(t, "PUT", at, map[string]any{"position": 1}).Want(t, 404, missing)
	root.Do(t, "DELETE", at, nil).Want(t, 404, missing)
}

func TestListsStandForLabelsThatTheOwnerHasOrInherits(t *testing.T) {
	t.Parallel()
	w := newFixture(t, free)
	beside := projecttest.New(t, w.DB, w.sub.ID)
	top, sub, own, theirs := w.label(t, ofGroup(w.top), "top"), w.label(t, ofGroup(w.sub), "sub"), w.label(t, ofProject(w.project), "own"), w.label(t, ofProject(beside), "theirs")
	m := w.create(t, ofProject(w.project), "work")
	for _, id := range []int64{top, sub, own} {
		w.add(t, m, "label_id", id)
	}
	if got := w.lists(t, m); !slices.Equal(got, []string{"top", "sub", "own"}) {
		t.Errorf("got %v", got)
	}
	at := m.path() + "/lists"
	for body, want := range map[string]string{
		fmt.Sprintf(`{"label_id":%d}`, theirs):    `{"message":{"error":"Label not found"}}`,
		`{"label_id":999999}`:                     `{"message":{"error":"Label not found"}}`,
		fmt.Sprintf(`{"label_id":%d}`, top):       `{"message":{"error":"Label has already been taken"}}`,
		`{}`:                                      `{"error":"label_id is missing"}`,
		`{"milestone_id":1}`:                      `{"error":"label_id is missing"}`,
		fmt.Sprintf(`{"label_id":%q}`, "label x"): `{"error":"label_id is invalid"}`,
	} {
		w.as(t).Do(t, "POST", at, body).Want(t, 400, want)
	}
	// A group's board has labels of groups alone.
	w.exec(t, `insert into boards (id, namespace_id, name, created_at, updated_at) values (777, $1, 'x', now(), now())`, w.sub.ID)
	of := made{ID: 777, at: ofGroup(w.sub)}
	w.add(t, of, "label_id", top)
	w.as(t).Do(t, "POST", of.path()+"/lists", map[string]any{"label_id": own}).Want(t, 400, `{"message":{"error":"Label not found"}}`)
	r := w.As(t, w.guest).Do(t, "GET", of.path()+"/lists", nil).WantStatus(t, 200)
	id := httpapitest.JSON[[]list](t, r)[0].ID
	r.Want(t, 200, fmt.Sprintf(`[{"id":%d,"label":{"id":%d,"name":"top","description":null,"description_html":null,"text_color":"#1F1E24","color":"#ffffff"},"position":0}]`, id, top))
	w.As(t, w.guest).Do(t, "GET", fmt.Sprintf("%s/lists/%d", of.path(), id), nil).Want(t, 200, strings.Trim(r.Body, "[]"))
	// As many as there may be.
	w.exec(t, `insert into labels (id, project_id, name, color, created_at, updated_at) select 5000 + n, $1, 'l' || n, '#aabbcc', now(), now() from generate_series(3, 100) n`, w.project.ID)
	w.exec(t, `insert into board_lists (board_id, label_id, position, created_at) select $1, 5000 + n, n, now() from generate_series(3, 99) n`, m.ID)
	w.as(t).Do(t, "POST", at, map[string]any{"label_id": 5100}).Want(t, 400, `{"message":{"error":"A board has 100 lists at the most: delete one first"}}`)
}

func TestListsStandForMilestonesAndMembersOnAPaidTier(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	milestone, label := w.milestone(t, ofGroup(w.top), "1.0"), w.label(t, ofGroup(w.top), "bug")
	open := projecttest.New(t, w.DB, grouptest.New(t, w.DB, grouptest.Visible(access.Public)).ID, projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, open, w.reporter, access.Reporter)
	elsewhere := w.milestone(t, ofProject(open), "1.0")
	// Who sees a project is not in it yet.
	w.as(t).Do(t, "POST", w.create(t, ofProject(open), "work").path()+"/lists", map[string]any{"assignee_id": w.stranger.ID}).
		Want(t, 400, `{"message":{"error":"User not found"}}`)
	for _, m := range []made{w.create(t, ofProject(w.project), "work"), w.create(t, ofGroup(w.sub), "work")} {
		w.add(t, m, "milestone_id", milestone)
		w.add(t, m, "assignee_id", w.guest.ID)
		w.add(t, m, "label_id", label)
		if got := w.lists(t, m); !slices.Equal(got, []string{"%1.0", fmt.Sprint("@", w.guest.ID), "bug"}) {
			t.Errorf("got %v", got)
		}
		blocked := usertest.New(t, w.DB, usertest.In(user.Blocked))
		grouptest.Join(t, w.DB, w.top, blocked, access.Developer)
		for body, want := range map[string]string{
			`{"milestone_id":999999}`:                        `{"message":{"error":"Milestone not found"}}`,
			fmt.Sprintf(`{"milestone_id":%d}`, elsewhere):    `{"message":{"error":"Milestone not found"}}`,
			fmt.Sprintf(`{"milestone_id":%d}`, milestone):    `{"message":{"error":"Milestone has already been taken"}}`,
			fmt.Sprintf(`{"assignee_id":%d}`, w.guest.ID):    `{"message":{"error":"User has already been taken"}}`,
			fmt.Sprintf(`{"assignee_id":%d}`, w.stranger.ID): `{"message":{"error":"User not found"}}`,
			fmt.Sprintf(`{"assignee_id":%d}`, blocked.ID):    `{"message":{"error":"User not found"}}`,
			`{"assignee_id":999999}`:                         `{"message":{"error":"User not found"}}`,
			`{}`:                                             `{"error":"label_id, milestone_id, assignee_id are missing, exactly one parameter must be provided"}`,
			`{"label_id":1,"milestone_id":1}`:                `{"error":"label_id, milestone_id, assignee_id are mutually exclusive"}`,
		} {
			w.as(t).Do(t, "POST", m.path()+"/lists", body).Want(t, 400, want)
		}
		r := w.as(t).Do(t, "GET", m.path()+"/lists", nil)
		if !strings.Contains(r.Body, `"label":null,"position":0,"max_issue_count":0,"max_issue_weight":0,"limit_metric":null,"milestone":{"id":`) {
			t.Errorf("got %s", r.Body)
		}
	}
}

func TestListsMoveAndThoseBetweenMakeRoom(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m, other := w.create(t, ofProject(w.project), "work"), w.create(t, ofProject(w.project), "other")
	ids := map[string]int64{}
	for _, name := range []string{"a", "b", "c", "d"} {
		label := w.label(t, ofProject(w.project), name)
		ids[name] = w.add(t, m, "label_id", label).ID
		w.add(t, other, "label_id", label)
	}
	at := func(name string) string { return fmt.Sprintf("%s/lists/%d", m.path(), ids[name]) }
	for _, c := range []struct {
		name     string
		position int
		want     string
	}{{"a", 2, "bcad"}, {"d", 0, "dbca"}, {"c", 1, "dcba"}, {"d", 3, "cbad"}} {
		if got := httpapitest.JSON[list](t, w.as(t).Do(t, "PUT", at(c.name), map[string]any{"position": c.position}).WantStatus(t, 200)); got.Position != c.position {
			t.Errorf("got %+v", got)
		}
		if got := strings.Join(w.lists(t, m), ""); got != c.want {
			t.Errorf("%s at %d: got %s, want %s", c.name, c.position, got, c.want)
		}
	}
	if got := strings.Join(w.lists(t, other), ""); got != "abcd" {
		t.Errorf("the other board became %s", got)
	}
	for _, position := range []int{-1, 0, 4} { // c is at 0
		w.as(t).Do(t, "PUT", at("c"), map[string]any{"position": position}).Want(t, 400, unmoved)
	}
	w.as(t).Do(t, "PUT", at("c"), nil).Want(t, 400, `{"error":"position is missing"}`)
	w.As(t, w.guest).Do(t, "PUT", at("c"), map[string]any{"position": 2}).Want(t, 403, forbids)
	w.As(t, w.guest).Do(t, "DELETE", at("c"), nil).Want(t, 403, forbids)
	w.as(t).Do(t, "DELETE", at("b"), nil).Want(t, 204, "")
	w.as(t).Do(t, "DELETE", at("b"), nil).Want(t, 404, missing)
	if got := strings.Join(w.lists(t, m), ""); got != "cad" {
		t.Errorf("got %s", got)
	}
}

// Many add, move and delete lists of one board, and labels go at the same time.
func TestPositionsHaveNoGapsWhenManyChangeABoardAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.create(t, ofProject(w.project), "work")
	const people, rounds = 5, 6
	var labels [people][rounds]int64
	for n := range people {
		for round := range rounds {
			labels[n][round] = w.label(t, ofProject(w.project), fmt.Sprintf("l%d-%d", n, round))
		}
	}
	var wg sync.WaitGroup
	for n := range people {
		by := w.as(t)
		wg.Go(func() {
			for round, label := range labels[n] {
				r := by.Do(t, "POST", m.path()+"/lists", map[string]any{"label_id": label})
				if r.Status != 201 {
					t.Errorf("%d %s", r.Status, r.Body)
					return
				}
				var l list
				r.Decode(t, &l)
				at := fmt.Sprintf("%s/lists/%d", m.path(), l.ID)
				if r := by.Do(t, "PUT", at, map[string]any{"position": n % 2}); r.Status != 200 && r.Body != unmoved {
					t.Errorf("%d %s", r.Status, r.Body)
				}
				switch round % 3 {
				case 0:
					by.Do(t, "DELETE", at, nil).WantStatus(t, 204)
				case 1:
					by.Do(t, "DELETE", fmt.Sprintf("%s/labels/%d", ofProject(w.project), label), nil).WantStatus(t, 204)
				}
			}
		})
	}
	wg.Wait()
	if got := w.lists(t, m); len(got) != people*rounds/3 {
		t.Errorf("%d lists are left: %v", len(got), got)
	}
}

func TestListsGoWithWhatTheyStandFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	m := w.create(t, ofProject(w.project), "work")
	label, milestone := w.label(t, ofGroup(w.sub), "bug"), w.milestone(t, ofProject(w.project), "1.0")
	gone := usertest.New(t, w.DB, usertest.Named("gone"))
	projecttest.Join(t, w.DB, w.project, gone, access.Developer)
	w.add(t, m, "label_id", label)
	w.add(t, m, "label_id", w.label(t, ofProject(w.project), "x"))
	w.add(t, m, "milestone_id", milestone)
	w.add(t, m, "label_id", w.label(t, ofProject(w.project), "y"))
	w.add(t, m, "assignee_id", gone.ID)
	w.add(t, m, "label_id", w.label(t, ofProject(w.project), "z"))
	root := w.As(t, w.root)
	root.Do(t, "DELETE", fmt.Sprintf("%s/labels/%d", ofGroup(w.sub), label), nil).WantStatus(t, 204)
	if got := w.lists(t, m); !slices.Equal(got, []string{"x", "%1.0", "y", fmt.Sprint("@", gone.ID), "z"}) {
		t.Errorf("without the label: %v", got)
	}
	root.Do(t, "DELETE", fmt.Sprintf("%s/milestones/%d", ofProject(w.project), milestone), nil).WantStatus(t, 204)
	if got := w.lists(t, m); !slices.Equal(got, []string{"x", "y", fmt.Sprint("@", gone.ID), "z"}) {
		t.Errorf("without the milestone: %v", got)
	}
	w.exec(t, `delete from users where id = $1`, gone.ID)
	if got := w.lists(t, m); !slices.Equal(got, []string{"x", "y", "z"}) {
		t.Errorf("without the person: %v", got)
	}
	w.exec(t, `delete from boards where id = $1`, m.ID)
	left, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from board_lists`)
	if err != nil || left != 0 {
		t.Errorf("%d are left, %v", left, err)
	}
}

func TestListsFollowLabelsAndMilestonesThatArePromoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	beside := projecttest.New(t, w.DB, w.sub.ID)
	one, two := w.create(t, ofProject(w.project), "one"), w.create(t, ofProject(beside), "two")
	bug, other := w.label(t, ofProject(w.project), "bug"), w.label(t, ofProject(w.project), "other")
	theirs := w.label(t, ofProject(beside), "bug")
	first, second := w.milestone(t, ofProject(w.project), "1.0"), w.milestone(t, ofProject(beside), "1.0")
	w.add(t, one, "label_id", bug)
	w.add(t, one, "label_id", other)
	w.add(t, one, "milestone_id", first)
	w.add(t, two, "milestone_id", second)
	w.add(t, two, "label_id", theirs)
	w.as(t).Do(t, "PUT", fmt.Sprintf("%s/labels/%d/promote", ofProject(w.project), bug), nil).WantStatus(t, 200)
	w.as(t).Do(t, "POST", fmt.Sprintf("%s/milestones/%d/promote", ofProject(w.project), first), nil).WantStatus(t, 200)
	if got := w.lists(t, one); !slices.Equal(got, []string{"bug", "other", "%1.0"}) {
		t.Errorf("got %v", got)
	}
	if got := w.lists(t, two); !slices.Equal(got, []string{"%1.0", "bug"}) {
		t.Errorf("got %v", got)
	}
	// A transfer may bring labels of one name together; a board keeps the first of their lists.
	w.exec(t, `insert into labels (id, project_id, name, color, created_at, updated_at) values (7001, $1, 'hot', '#ffffff', now(), now())`, w.project.ID)
	w.exec(t, `insert into labels (id, namespace_id, name, color, created_at, updated_at) values (7002, $1, 'hot', '#ffffff', now(), now())`, w.sub.ID)
	w.add(t, one, "label_id", 7002)
	w.add(t, one, "label_id", w.label(t, ofProject(w.project), "last"))
	w.add(t, one, "label_id", 7001)
	w.as(t).Do(t, "PUT", ofProject(w.project)+"/labels/7001/promote", nil).WantStatus(t, 200)
	if got := w.lists(t, one); !slices.Equal(got, []string{"bug", "other", "%1.0", "hot", "last"}) {
		t.Errorf("got %v", got)
	}
}

func TestPE02_LabelsOfAGroupThatAProjectLeftAreNotShownOnItsBoards(t *testing.T) {
	t.Parallel()
	w := newFixture(t, premium)
	m := w.create(t, ofProject(w.project), "work")
	w.add(t, m, "label_id", w.label(t, ofGroup(w.top), "secret"))
	w.add(t, m, "milestone_id", w.milestone(t, ofGroup(w.top), "secret"))
	w.add(t, m, "label_id", w.label(t, ofProject(w.project), "own"))
	w.exec(t, `update projects set namespace_id = $2 where id = $1`, w.project.ID, grouptest.New(t, w.DB).ID)
	if got := w.lists(t, m); !slices.Equal(got, []string{"hidden", "hidden", "own"}) {
		t.Errorf("got %v", got)
	}
}
