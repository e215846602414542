package milestone_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/milestone"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
)

const (
	missing  = `{"message":"404 Not found"}`
	forbids  = `{"message":"403 Forbidden"}`
	unsigned = `{"message":"401 Unauthorized"}`
	used     = `{:title=\u003e[\"already being used for another group or project milestone.\"]}`
)

func TestAMilestoneIsCreatedShownChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.reporter)
	for _, c := range []struct{ in, owner, path string }{
		{inProject(w.project), `"project_id":` + id(w.project.ID), "top/sub/tool"}, {inGroup(w.sub), `"group_id":` + id(w.sub.ID), "groups/top/sub"},
	} {
		w.happened()
		r := by.Do(t, "POST", c.in, map[string]any{"title": " 1.0 ", "description": "first", "start_date": "2024-05-01", "due_date": "2024-05-02"})
		m := httpapitest.JSON[made](t, r)
		r.Want(t, 201, `{"id":`+id(m.ID)+`,"iid":1,`+c.owner+`,"title":"1.0","description":"first","state":"active",`+
			`"created_at":"2024-05-02T15:04:05.678Z","updated_at":"2024-05-02T15:04:05.678Z","due_date":"2024-05-02","start_date":"2024-05-01",`+
			`"expired":false,"web_url":"https://forge.example/`+c.path+`/-/milestones/1"}`)
		at := c.in + "/" + id(m.ID)
		by.Do(t, "GET", at, nil).Want(t, 200, r.Body)
		got := httpapitest.JSON[made](t, by.Do(t, "PUT", at, map[string]any{"title": "1.1", "description": nil, "due_date": "", "state_event": "close"}).WantStatus(t, 200))
		if got.Title != "1.1" || got.Description != nil || got.DueDate != nil || *got.StartDate != "2024-05-01" || got.State != "closed" {
			t.Errorf("got %+v", got)
		}
		by.Do(t, "PUT", at, map[string]any{"state_event": "close"}).WantStatus(t, 200)
		if got := httpapitest.JSON[made](t, by.Do(t, "PUT", at, map[string]any{"state_event": "activate"})); got.State != "active" {
			t.Errorf("got %+v", got)
		}
		by.Do(t, "DELETE", at, nil).Want(t, 204, "")
		for _, method := range []string{"GET", "DELETE"} {
			by.Do(t, method, at, nil).Want(t, 404, missing)
		}
		by.Do(t, "PUT", at, map[string]any{"title": "x"}).Want(t, 404, missing)
		var acts []milestone.Action
		for _, e := range w.happened() {
			acts = append(acts, e.Action)
			if !e.By.Is(w.reporter.ID) || e.Milestone.ID != m.ID {
				t.Errorf("heard %+v", e)
			}
		}
		if !slices.Equal(acts, []milestone.Action{
			milestone.Created, milestone.Updated, milestone.WasClosed, milestone.Updated, milestone.Updated, milestone.WasReopened, milestone.Deleted,
		}) {
			t.Errorf("heard %v", acts)
		}
		// The number of what is gone is not given again.
		if next := w.create(t, c.in, "next of "+c.path); next.IID != 2 {
			t.Errorf("the next is number %d", next.IID)
		}
	}
}

func TestAMilestoneExpiresWhenItsDayIsOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.create(t, inProject(w.project), "today", map[string]any{"due_date": "2024-05-02"})
	w.create(t, inProject(w.project), "ever")
	expired := func() (all []string) {
		for _, m := range httpapitest.JSON[[]made](t, w.As(t, w.guest).Do(t, "GET", inProject(w.project), nil)) {
			if m.Expired {
				all = append(all, m.Title)
			}
		}
		return all
	}
	if got := expired(); got != nil {
		t.Errorf("%v are over", got)
	}
	w.Turn(9 * time.Hour) // 2024-05-03 in UTC
	if got := expired(); !slices.Equal(got, []string{"today"}) {
		t.Errorf("%v are over", got)
	}
}

func TestWhatAMilestoneMayBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.reporter)
	in := inProject(w.project)
	there := w.create(t, in, "there", map[string]any{"start_date": "2024-05-01"})
	message := func(act, text string) string { return `{"message":"Failed to ` + act + ` milestone ` + text + `"}` }
	const late = `{:%=\u003e[\"date must not be after 9999-12-31\"]}`
	for _, c := range []struct {
		fact string
		set  map[string]any
		body string
	}{
		{"no title", map[string]any{"title": nil}, `{"error":"title is missing"}`},
		{"a blank title", map[string]any{"title": " \t"}, message("create", `{:title=\u003e[\"can't be blank\"]}`)},
		{"a long title", map[string]any{"title": strings.Repeat("ü", 256)}, message("create", `{:title=\u003e[\"is too long (maximum is 255 characters)\"]}`)},
		{"a title that is used", map[string]any{"title": "there"}, message("create", used)},
		{"dates that are equal", map[string]any{"start_date": "2024-05-01", "due_date": "2024-05-01"}, message("create", `{:due_date=\u003e[\"must be greater than start date\"]}`)},
		{"dates in the wrong order", map[string]any{"start_date": "2024-05-02", "due_date": "2024-05-01"}, message("create", `{:due_date=\u003e[\"must be greater than start date\"]}`)},
		{"a start after all", map[string]any{"start_date": "10000-01-01"}, message("create", strings.ReplaceAll(late, "%", "start_date"))},
		{"an end after all", map[string]any{"due_date": "99999-12-31"}, message("create", strings.ReplaceAll(late, "%", "due_date"))},
		{"two things wrong", map[string]any{"title": "", "due_date": "99999-12-31"}, message("create", `{:title=\u003e[\"can't be blank\"], :due_date=\u003e[\"date must not be after 9999-12-31\"]}`)},
		{"no date", map[string]any{"due_date": "soon"}, `{"error":"due_date is invalid"}`},
		{"a day that is not there", map[string]any{"start_date": "2023-02-29"}, `{"error":"start_date is invalid"}`},
		{"a year before all", map[string]any{"start_date": "0000-01-01"}, `{"error":"start_date is invalid"}`},
		{"a long date", map[string]any{"start_date": strings.Repeat("1", 1000)}, `{"error":"start_date is invalid"}`},
		{"a long description", map[string]any{"description": strings.Repeat("x", 65_537)}, `{"error":"description is invalid"}`},
	} {
		body := map[string]any{"title": "new"}
		for k, v := range c.set {
			if body[k] = v; v == nil {
				delete(body, k)
			}
		}
		if r := by.Do(t, "POST", in, body); r.Status != 400 || r.Body != c.body {
			t.Errorf("%s: got %d %s, want %s", c.fact, r.Status, r.Body, c.body)
		}
	}
	// Nor does anything else that makes milestones let one be longer.
	o, err := w.Owners.FindProject(t.Context(), access.Actor{Person: w.reporter.Person()}, id(w.project.ID))
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Milestones.Create(t.Context(), access.Actor{Person: w.reporter.Person()}, o.Entity, milestone.Draft{Title: "new", Description: new(strings.Repeat("ü", 32_768) + "x")})
	if !fault.Is(err, fault.Rejected) || !strings.Contains(err.Error(), "is too long (maximum is 65536 bytes)") {
		t.Errorf("a description of 65,537 bytes gives %v", err)
	}
	other := w.create(t, in, "other")
	for at, changes := range map[string]map[string]string{
		in + "/" + id(other.ID): {
			`{"title":"there"}`: message("update", used), `{"title":""}`: message("update", `{:title=\u003e[\"can't be blank\"]}`),
			`{"state_event":"reopen"}`: `{"error":"state_event does not have a valid value"}`, `{"due_date":"x"}`: `{"error":"due_date is invalid"}`,
			`{}`: `{"error":"title, description, start_date, due_date, state_event are missing, at least one parameter must be provided"}`,
		},
		in + "/" + id(there.ID): {`{"due_date":"2024-04-30"}`: message("update", `{:due_date=\u003e[\"must be greater than start date\"]}`)},
		in + "/x":               {`{"title":"y"}`: `{"error":"milestone_id is invalid"}`},
	} {
		for body, want := range changes {
			by.Do(t, "PUT", at, body).Want(t, 400, want)
		}
	}
	// What was refused took no number.
	if other.IID != 2 {
		t.Errorf("got number %d", other.IID)
	}
}

func TestATitleIsGivenOnceAlongALine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.reporter)
	beside := projecttest.New(t, w.DB, w.sub.ID)
	w.create(t, inGroup(w.top), "top")
	w.create(t, inGroup(w.sub), "sub")
	w.create(t, inProject(w.project), "own")
	w.create(t, inProject(beside), "theirs")
	for in, all := range map[string][]string{
		inProject(w.project): {"top", "sub", "own"}, inGroup(w.sub): {"top", "sub", "own", "theirs"}, inGroup(w.top): {"top", "sub", "own", "theirs"},
	} {
		other := w.create(t, in, "other of "+in)
		for _, title := range all {
			by.Do(t, "POST", in, map[string]any{"title": title}).Want(t, 400, `{"message":"Failed to create milestone `+used+`"}`)
			by.Do(t, "PUT", in+"/"+id(other.ID), map[string]any{"title": title}).Want(t, 400, `{"message":"Failed to update milestone `+used+`"}`)
		}
		by.Do(t, "PUT", in+"/"+id(other.ID), map[string]any{"title": other.Title, "description": "x"}).WantStatus(t, 200)
	}
	// What stands beside does not count, nor does another case.
	w.create(t, inProject(beside), "own")
	w.create(t, inProject(w.project), "OWN")
}

func TestMilestonesAreListedInTheOrderInWhichTheyAreDue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := inProject(w.project)
	w.create(t, in, "never", map[string]any{"description": "Hundred%"})
	late := w.create(t, in, "late", map[string]any{"due_date": "2025-01-01"})
	w.create(t, in, "soon", map[string]any{"due_date": "2024-06-01"})
	w.create(t, inGroup(w.top), "top", map[string]any{"due_date": "2024-12-01"})
	w.create(t, inGroup(w.sub), "sub")
	w.Turn(time.Hour)
	w.As(t, w.reporter).Do(t, "PUT", in+"/"+id(late.ID), map[string]any{"state_event": "close"}).WantStatus(t, 200)
	for query, want := range map[string][]string{
		"":                                    {"soon", "late", "never"},
		"?state=all":                          {"soon", "late", "never"},
		"?state=active":                       {"soon", "never"},
		"?state=closed":                       {"late"},
		"?title=soon":                         {"soon"},
		"?title=soo":                          {},
		"?search=OO":                          {"soon"},
		"?search=d%25":                        {"never"},
		"?iids[]=1&iids[]=3&iids[]=99":        {"soon", "never"},
		"?iids[]=99999999999":                 {},
		"?include_parent_milestones=true":     {"soon", "top", "late", "never", "sub"},
		"?include_ancestors=true&iids[]=1":    {"soon", "top", "late", "never", "sub"},
		"?include_ancestors=true&search=t":    {"top", "late"},
		"?include_ancestors=false":            {"soon", "late", "never"},
		"?per_page=2":                         {"soon", "late"},
		"?per_page=2&page=2":                  {"never"},
		"?per_page=2&page=5":                  {},
		"?updated_after=2024-05-02T16:00:00Z": {"late"},
		"?updated_before=2024-05-02T16:00:00Z&state=active": {"soon", "never"},
	} {
		if got := titles(t, w.As(t, w.guest).Do(t, "GET", in+query, nil)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	for path, want := range map[string][]string{
		inGroup(w.top): {"top"}, inGroup(w.sub): {"sub"}, inGroup(w.sub) + "?include_ancestors=true": {"top", "sub"},
		inGroup(w.top) + "?include_parent_milestones=true": {"top"},
	} {
		if got := titles(t, w.As(t, w.guest).Do(t, "GET", path, nil)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	r := w.As(t, w.guest).Do(t, "GET", in+"?include_ancestors=true&per_page=2", nil)
	if m := httpapitest.JSON[[]made](t, r); m[1].WebURL != "https://forge.example/groups/top/-/milestones/1" || m[1].ProjectID != nil || r.Header.Get("X-Total") != "5" {
		t.Errorf("got %+v of %s", m, r.Header.Get("X-Total"))
	}
	for query, want := range map[string]string{
		"?include_ancestors=true&include_parent_milestones=false": `{"error":"include_parent_milestones, include_ancestors are mutually exclusive"}`,
		"?state=open":         `{"error":"state does not have a valid value"}`,
		"?iids[]=x":           `{"error":"iids is invalid"}`,
		"?updated_after=soon": `{"error":"updated_after is invalid"}`,
	} {
		w.As(t, w.guest).Do(t, "GET", in+query, nil).Want(t, 400, want)
	}
}

func TestAMilestoneIsReachedThroughItsOwnerAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	top, own := w.create(t, inGroup(w.top), "top"), w.create(t, inProject(w.project), "own")
	beside := projecttest.New(t, w.DB, w.sub.ID)
	root := w.As(t, w.root)
	for _, at := range []string{
		inProject(w.project) + "/" + id(top.ID), inGroup(w.sub) + "/" + id(top.ID), inGroup(w.sub) + "/" + id(own.ID), inProject(beside) + "/" + id(own.ID),
	} {
		root.Do(t, "GET", at, nil).Want(t, 404, missing)
		root.Do(t, "PUT", at, map[string]any{"title": "x"}).Want(t, 404, missing)
		root.Do(t, "DELETE", at, nil).Want(t, 404, missing)
	}
	root.Do(t, "POST", inProject(beside)+"/"+id(own.ID)+"/promote", nil).Want(t, 404, missing)
}

func TestWhoReadsAndManagesMilestones(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	open := grouptest.New(t, w.DB, grouptest.Visible(access.Public))
	public := projecttest.New(t, w.DB, open.ID, projecttest.Visible(access.Public))
	frozen := projecttest.New(t, w.DB, w.top.ID, projecttest.With("archived", true))
	const hidden = `{"message":"404 Project Not Found"}`
	for _, c := range []struct {
		fact                 string
		by                   *httpapitest.Client
		at                   string
		read, write          int
		refusedRead, refused string
	}{
		{"nobody, in a project", w.Client, inProject(w.project), 401, 401, unsigned, unsigned},
		{"nobody, in a public project", w.Client, inProject(public), 401, 401, unsigned, unsigned},
		{"nobody, in a public group", w.Client, inGroup(open), 401, 401, unsigned, unsigned},
		{"a stranger", w.As(t, w.stranger), inProject(w.project), 404, 404, hidden, hidden},
		{"a stranger, in a public project", w.As(t, w.stranger), inProject(public), 200, 403, "", forbids},
		{"a stranger, in a public group", w.As(t, w.stranger), inGroup(open), 200, 403, "", forbids},
		{"a guest", w.As(t, w.guest), inProject(w.project), 200, 403, "", forbids},
		{"a guest, in the group", w.As(t, w.guest), inGroup(w.top), 200, 403, "", forbids},
		{"a reporter", w.As(t, w.reporter), inProject(w.project), 200, 201, "", ""},
		{"a reporter, in the group", w.As(t, w.reporter), inGroup(w.top), 200, 201, "", ""},
		{"a reporter of the project, in the group", w.As(t, w.helper), inGroup(w.sub), 403, 403, forbids, forbids},
		{"a reporter, in an archived project", w.As(t, w.reporter), inProject(frozen), 200, 403, "", forbids},
		{"an administrator", w.As(t, w.root), inProject(w.project), 200, 201, "", ""},
	} {
		if r := c.by.Do(t, "GET", c.at, nil); r.Status != c.read || (c.refusedRead != "" && r.Body != c.refusedRead) {
			t.Errorf("%s reads: %d %s", c.fact, r.Status, r.Body)
		}
		if r := c.by.Do(t, "POST", c.at, map[string]any{"title": c.fact}); r.Status != c.write || (c.refused != "" && r.Body != c.refused) {
			t.Errorf("%s creates: %d %s", c.fact, r.Status, r.Body)
		}
	}
}

func TestAPromotedMilestoneTakesThePlaceOfAllOfItsTitle(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.As(t, w.reporter)
	beside, far := projecttest.New(t, w.DB, w.top.ID), projecttest.New(t, w.DB, grouptest.New(t, w.DB).ID)
	one := w.create(t, inProject(beside), "1.0", map[string]any{"description": "d", "start_date": "2024-05-01", "due_date": "2024-06-01"})
	two, kept := w.create(t, inProject(w.project), "1.0"), w.create(t, inProject(w.project), "2.0")
	theirs := httpapitest.JSON[made](t, w.As(t, w.root).Do(t, "POST", inProject(far), map[string]any{"title": "1.0"}))
	w.create(t, inGroup(w.top), "0.9")
	w.happened()
	reporter.Do(t, "POST", inProject(beside)+"/"+id(one.ID)+"/promote", nil).Want(t, 200, "")
	got := httpapitest.JSON[[]made](t, reporter.Do(t, "GET", inGroup(w.top)+"?title=1.0", nil))
	if len(got) != 1 || got[0].IID != 2 || *got[0].Description != "d" || *got[0].DueDate != "2024-06-01" || *got[0].StartDate != "2024-05-01" || got[0].State != "active" {
		t.Fatalf("got %+v", got)
	}
	heard := w.happened()
	if len(heard) != 1 || heard[0].Action != milestone.Promoted || heard[0].Milestone.ID != got[0].ID || !slices.Equal(heard[0].Merged, []int64{one.ID, two.ID}) {
		t.Errorf("heard %+v", heard)
	}
	for at, status := range map[string]int{
		inProject(beside) + "/" + id(one.ID): 404, inProject(w.project) + "/" + id(two.ID): 404,
		inProject(w.project) + "/" + id(kept.ID): 200, inProject(far) + "/" + id(theirs.ID): 200,
	} {
		w.As(t, w.root).Do(t, "GET", at, nil).WantStatus(t, status)
	}
	done := inProject(w.project) + "/" + id(w.create(t, inProject(w.project), "done").ID)
	reporter.Do(t, "PUT", done, map[string]any{"state_event": "close"}).WantStatus(t, 200)
	reporter.Do(t, "POST", done+"/promote", nil).WantStatus(t, 200)
	if got := httpapitest.JSON[[]made](t, reporter.Do(t, "GET", inGroup(w.sub)+"?title=done", nil)); len(got) != 1 || got[0].State != "closed" {
		t.Errorf("one that was closed became %+v", got)
	}
}

func TestWhatMilestoneCannotBePromoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.As(t, w.reporter)
	own := w.create(t, inProject(w.project), "own")
	at := inProject(w.project) + "/" + id(own.ID) + "/promote"
	w.As(t, w.helper).Do(t, "POST", at, nil).Want(t, 403, forbids)
	w.As(t, w.guest).Do(t, "POST", at, nil).Want(t, 403, forbids)
	w.Do(t, "POST", at, nil).Want(t, 401, unsigned)
	personal := projecttest.New(t, w.DB, grouptest.Personal(t, w.DB, w.reporter).ID)
	mine := w.create(t, inProject(personal), "mine")
	reporter.Do(t, "POST", inProject(personal)+"/"+id(mine.ID)+"/promote", nil).
		Want(t, 400, `{"message":"Promotion failed - Project does not belong to a group."}`)
	// A transfer may bring two of a title together. The group's own takes the other in; one further up stands in the way.
	for _, c := range []struct {
		groupID int64
		status  int
	}{{w.top.ID, 400}, {w.sub.ID, 200}} {
		if _, err := w.DB.Exec(t.Context(), `insert into milestones (namespace_id, iid, title, state, created_at, updated_at) values ($1, 1, 'own', 'active', now(), now())`, c.groupID); err != nil {
			t.Fatal(err)
		}
		r := reporter.Do(t, "POST", at, nil)
		if r.Status != c.status || (c.status == 400 && r.Body != `{"message":"Promotion failed - Title already being used for another group or project milestone."}`) {
			t.Errorf("got %d %s", r.Status, r.Body)
		}
	}
}

// Who manages the milestones of the group that a project was in may not manage those of the group that it is in now.
func TestAMilestoneOfAProjectThatMovedMeanwhileIsNotPromoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	own := w.create(t, inProject(w.project), "own")
	by := access.Actor{Person: w.reporter.Person()}
	o, err := w.Owners.FindProject(t.Context(), by, id(w.project.ID))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set namespace_id = $2 where id = $1`, w.project.ID, grouptest.New(t, w.DB).ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Milestones.Promote(t.Context(), by, o, own.ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v", err)
	}
	if left, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from milestones where project_id = $1`, w.project.ID); err != nil || left != 1 {
		t.Errorf("the project has %d: %v", left, err)
	}
}

func TestAProjectHasItsOwnMilestonesAndThoseAboveIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	far := grouptest.New(t, w.DB)
	theirs := httpapitest.JSON[made](t, w.As(t, w.root).Do(t, "POST", inGroup(far), map[string]any{"title": "far"}).WantStatus(t, http.StatusCreated))
	beside := w.create(t, inProject(projecttest.New(t, w.DB, w.sub.ID)), "beside")
	for m, has := range map[made]bool{
		w.create(t, inProject(w.project), "own"): true, w.create(t, inGroup(w.sub), "sub"): true, w.create(t, inGroup(w.top), "top"): true, theirs: false, beside: false,
	} {
		found, err := w.Milestones.FindFor(t.Context(), w.DB, w.project.ID, m.ID)
		if has && (err != nil || found.ID != m.ID) || !has && !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: got %+v, %v", m.Title, found, err)
		}
	}
}

// Many make milestones at once, in a project and above it: no title is there twice along the line, and the numbers of each owner are all there.
func TestTitlesAndNumbersHoldWhenManyMakeThemAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const people, rounds = 6, 8
	var wg sync.WaitGroup
	for n := range people {
		by := w.As(t, w.reporter)
		wg.Go(func() {
			for round := range rounds {
				in := []string{inGroup(w.top), inGroup(w.sub), inProject(w.project)}[(n+round)%3]
				for _, title := range []string{"shared " + strconv.Itoa(round), "of " + strconv.Itoa(n) + " " + strconv.Itoa(round)} {
					if r := by.Do(t, "POST", in, map[string]any{"title": title}); r.Status != http.StatusCreated && !strings.Contains(r.Body, "already being used") {
						t.Errorf("%d %s", r.Status, r.Body)
					}
				}
			}
		})
	}
	wg.Wait()
	twice, err := postgres.Values[string](t.Context(), w.DB, `select title from milestones group by title having count(*) > 1`)
	if err != nil || len(twice) > 0 {
		t.Errorf("%v are there twice, %v", twice, err)
	}
	gaps, err := postgres.Values[int](t.Context(), w.DB, `
		select max(iid) - count(*)::integer from milestones group by namespace_id, project_id order by 1`)
	if err != nil || !slices.Equal(gaps, []int{0, 0, 0}) {
		t.Errorf("numbers left out: %v, %v", gaps, err)
	}
	made, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from milestones`)
	if err != nil || made != rounds+people*rounds {
		t.Errorf("%d were made, %v", made, err)
	}
}
