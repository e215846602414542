package label_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/label"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/postgres/postgrestest"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

const (
	missing  = `{"message":"404 Label Not Found"}`
	taken    = `{"message":"Label already exists"}`
	forbids  = `{"message":"403 Forbidden"}`
	unsigned = `{"message":"401 Unauthorized"}`
)

func TestALabelIsCreatedShownChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.reporter)
	in := inProject(w.project)
	r := by.Do(t, "POST", in, map[string]any{"name": " bug ", "color": "#fa0", "description": "a <b>", "priority": 3})
	l := httpapitest.JSON[made](t, r)
	r.Want(t, 201, `{"id":`+id(l.ID)+`,"name":"bug","description":"a \u003cb\u003e","description_html":"a \u0026lt;b\u0026gt;","text_color":"#FFFFFF",`+
		`"color":"#ffaa00","subscribed":false,"priority":3,"is_project_label":true}`)
	for _, ref := range []string{id(l.ID), "bug"} {
		by.Do(t, "GET", at(in, ref), nil).Want(t, 200, r.Body)
	}
	changed := httpapitest.JSON[made](t, by.Do(t, "PUT", at(in, "bug"), map[string]any{
		"new_name": "a/b?&", "color": "WhiteSmoke", "description": nil, "priority": nil,
	}).WantStatus(t, 200))
	want := made{ID: l.ID, Name: "a/b?&", Color: "#F5F5F5", TextColor: "#1F1E24", IsProjectLabel: new(true)}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, httpapitest.JSON[made](t, by.Do(t, "GET", at(in, "a/b?&"), nil))); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	by.Do(t, "DELETE", at(in, "a/b?&"), nil).Want(t, 204, "")
	for _, method := range []string{"GET", "DELETE"} {
		by.Do(t, method, at(in, id(l.ID)), nil).Want(t, 404, missing)
	}
	var acts []label.Action
	for _, e := range w.happened() {
		acts = append(acts, e.Action)
		if !e.By.Is(w.reporter.ID) || e.In.ID != w.project.ID || e.Label.ID != l.ID {
			t.Errorf("heard %+v", e)
		}
	}
	if !slices.Equal(acts, []label.Action{label.Created, label.Updated, label.Deleted}) {
		t.Errorf("heard %v", acts)
	}
}

func TestALabelOfAGroupHasNoPlaceInAProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.reporter)
	l := w.create(t, inGroup(w.top), "feature", map[string]any{"priority": 1})
	if l.Priority != nil || l.IsProjectLabel != nil {
		t.Errorf("got %+v", l)
	}
	by.Do(t, "PUT", at(inGroup(w.top), "feature"), map[string]any{"priority": 1}).
		Want(t, 400, `{"error":"new_name, color, description are missing, at least one parameter must be provided"}`)
	// A group below has it, and does not change it.
	by.Do(t, "GET", at(inGroup(w.sub), "feature"), nil).WantStatus(t, 200)
	by.Do(t, "GET", at(inGroup(w.sub), "feature")+"?include_ancestor_groups=false", nil).Want(t, 404, missing)
	by.Do(t, "PUT", at(inGroup(w.sub), "feature"), map[string]any{"color": "red"}).Want(t, 404, missing)
	if got := httpapitest.JSON[made](t, by.Do(t, "PUT", at(inGroup(w.top), id(l.ID)), map[string]any{"color": "red"})); got.Color != "#FF0000" {
		t.Errorf("got %+v", got)
	}
	by.Do(t, "DELETE", inGroup(w.top)+"?name=feature", nil).Want(t, 204, "")
}

func TestTheOlderFormsNameALabelBesideThePath(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.reporter)
	for in, fields := range map[string]string{inProject(w.project): "new_name, color, description, priority", inGroup(w.sub): "new_name, color, description"} {
		l := w.create(t, in, "old")
		if got := httpapitest.JSON[made](t, by.Do(t, "PUT", in, map[string]any{"name": "old", "new_name": "new"})); got.ID != l.ID || got.Name != "new" {
			t.Errorf("got %+v", got)
		}
		if got := httpapitest.JSON[made](t, by.Do(t, "PUT", in, map[string]any{"label_id": l.ID, "description": "x"})); got.Description == nil || *got.Description != "x" {
			t.Errorf("got %+v", got)
		}
		by.Do(t, "PUT", in, map[string]any{"color": "red"}).
			Want(t, 400, `{"error":"label_id, name are missing, exactly one parameter must be provided"}`)
		by.Do(t, "PUT", in, map[string]any{"name": "new", "label_id": l.ID, "color": "red"}).Want(t, 400, `{"error":"label_id, name are mutually exclusive"}`)
		by.Do(t, "PUT", in, map[string]any{"name": "new"}).
			Want(t, 400, `{"error":"`+fields+` are missing, at least one parameter must be provided"}`)
		by.Do(t, "PUT", at(in, "new"), nil).Want(t, 400, `{"error":"`+fields+` are missing, at least one parameter must be provided"}`)
		by.Do(t, "DELETE", in, nil).Want(t, 400, `{"error":"label_id, name are missing, exactly one parameter must be provided"}`)
		by.Do(t, "DELETE", in+"?name=old", nil).Want(t, 404, missing)
		by.Do(t, "DELETE", in+"?label_id="+id(l.ID), nil).Want(t, 204, "")
	}
}

func TestWhatALabelMayBe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.reporter)
	in := inProject(w.project)
	for sent, kept := range map[string]string{
		"<b>bold</b>": "bold", "a < b": "a < b", "R&amp;D": "R&D", "R&D": "R&D", "<script>x</script>y": "xy", "\tü\n": "ü",
		strings.Repeat("ü", 255): strings.Repeat("ü", 255),
	} {
		l := httpapitest.JSON[made](t, by.Do(t, "POST", in, map[string]any{"name": sent, "color": "#ABCDEF"}).WantStatus(t, 201))
		if l.Name != kept || l.Color != "#ABCDEF" {
			t.Errorf("%q became %q, %s", sent, l.Name, l.Color)
		}
		by.Do(t, "DELETE", at(in, id(l.ID)), nil).Want(t, 204, "")
	}
	for _, c := range []struct {
		fact string
		set  map[string]any
		body string
	}{
		{"nothing", map[string]any{"name": nil, "color": nil}, `{"error":"name is missing, color is missing"}`},
		{"a blank name", map[string]any{"name": " "}, `{"message":{"title":["can't be blank","is invalid"]}}`},
		{"a name of markup alone", map[string]any{"name": "<br>"}, `{"message":{"title":["can't be blank","is invalid"]}}`},
		{"a comma", map[string]any{"name": "a,b"}, `{"message":{"title":["is invalid"]}}`},
		{"a hidden comma", map[string]any{"name": "a&#44;b"}, `{"message":{"title":["is invalid"]}}`},
		{"a long name", map[string]any{"name": strings.Repeat("x", 256)}, `{"message":{"title":["is too long (maximum is 255 characters)"]}}`},
		{"no colour", map[string]any{"color": "reddish"}, `{"message":{"color":["must be a valid color code"]}}`},
		{"an empty colour", map[string]any{"color": ""}, `{"message":{"color":["must be a valid color code"]}}`},
		{"a long colour", map[string]any{"color": strings.Repeat(" ", 1000) + "red"}, `{"message":{"color":["must be a valid color code"]}}`},
		{"both wrong", map[string]any{"name": ",", "color": "#12345"}, `{"message":{"color":["must be a valid color code"],"title":["is invalid"]}}`},
		{"a priority below 0", map[string]any{"priority": -1}, `{"message":{"priority":["must be greater than or equal to 0"]}}`},
		{"a priority above all", map[string]any{"priority": 1 << 31}, `{"message":{"priority":["must be less than or equal to 2147483647"]}}`},
		{"no priority", map[string]any{"priority": "high"}, `{"error":"priority is invalid"}`},
		{"a long description", map[string]any{"description": strings.Repeat("x", 65_537)}, `{"error":"description is invalid"}`},
	} {
		body := map[string]any{"name": "x", "color": "red"}
		for k, v := range c.set {
			if body[k] = v; v == nil {
				delete(body, k)
			}
		}
		if r := by.Do(t, "POST", in, body); r.Status != 400 || r.Body != c.body {
			t.Errorf("%s: got %d %s, want %s", c.fact, r.Status, r.Body, c.body)
		}
	}
	l := w.create(t, in, "x")
	for body, want := range map[string]string{
		`{"new_name":""}`: `{"message":{"title":["can't be blank","is invalid"]}}`, `{"color":null}`: `{"message":{"color":["must be a valid color code"]}}`,
		`{"priority":-1}`: `{"message":{"priority":["must be greater than or equal to 0"]}}`,
	} {
		by.Do(t, "PUT", at(in, id(l.ID)), body).Want(t, 400, want)
	}
}

func TestANameIsFreeOnlyWhereNobodyAboveHasIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	by := w.As(t, w.reporter)
	beside := projecttest.New(t, w.DB, w.sub.ID)
	w.create(t, inGroup(w.top), "top")
	w.create(t, inGroup(w.sub), "sub")
	w.create(t, inProject(w.project), "own")
	other := w.create(t, inProject(w.project), "other")
	for in, names := range map[string][]string{
		inProject(w.project): {"top", "sub", "own"}, inGroup(w.sub): {"top", "sub"}, inGroup(w.top): {"top"}, inProject(beside): {"top", "sub"},
	} {
		for _, name := range names {
			by.Do(t, "POST", in, map[string]any{"name": name, "color": "red"}).Want(t, 409, taken)
		}
	}
	for _, name := range []string{"top", "sub", "own"} {
		by.Do(t, "PUT", at(inProject(w.project), id(other.ID)), map[string]any{"new_name": name}).Want(t, 409, taken)
	}
	by.Do(t, "PUT", at(inProject(w.project), id(other.ID)), map[string]any{"new_name": "other", "color": "red"}).WantStatus(t, 200)
	// Names below and beside do not count, nor does another case.
	w.create(t, inProject(beside), "own")
	w.create(t, inGroup(w.sub), "own")
	w.create(t, inProject(w.project), "OWN")
	if got := httpapitest.JSON[made](t, by.Do(t, "GET", at(inProject(w.project), "own"), nil)); !*got.IsProjectLabel {
		t.Errorf("the name means %+v, not the project's own", got)
	}
}

func TestAnIDIsTriedBeforeAName(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first := w.create(t, inProject(w.project), "first")
	second := w.create(t, inProject(w.project), id(first.ID))
	third := w.create(t, inProject(w.project), "999999")
	for ref, want := range map[string]int64{id(first.ID): first.ID, id(second.ID): second.ID, "999999": third.ID} {
		if got := httpapitest.JSON[made](t, w.As(t, w.guest).Do(t, "GET", at(inProject(w.project), ref), nil)); got.ID != want {
			t.Errorf("%s is %+v", ref, got)
		}
	}
	elsewhere := projecttest.New(t, w.DB, grouptest.New(t, w.DB).ID)
	for _, ref := range []string{id(first.ID), "first", "0", "-1", "99999999999999999999", strings.Repeat("x", 10_000)} {
		w.As(t, w.root).Do(t, "GET", at(inProject(elsewhere), ref), nil).Want(t, 404, missing)
	}
}

func TestAListHoldsWhatAnOwnerHasAndInherits(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	beside := projecttest.New(t, w.DB, w.top.ID)
	w.create(t, inGroup(w.top), "b top", map[string]any{"description": "Hundred%"})
	w.create(t, inGroup(w.sub), "c sub")
	w.create(t, inProject(w.project), "d own")
	w.create(t, inProject(beside), "a beside")
	top, sub, own := inGroup(w.top), inGroup(w.sub), inProject(w.project)
	for path, want := range map[string][]string{
		own:                                     {"b top", "c sub", "d own"},
		own + "?include_ancestor_groups=false":  {"c sub", "d own"},
		own + "?search=SUB":                     {"c sub"},
		own + "?search=d%25":                    {"b top"},
		own + "?search=_":                       {},
		own + "?per_page=2":                     {"b top", "c sub"},
		own + "?per_page=2&page=2":              {"d own"},
		own + "?per_page=2&page=9":              {},
		sub:                                     {"b top", "c sub"},
		sub + "?include_ancestor_groups=false":  {"c sub"},
		top:                                     {"b top"},
		top + "?include_descendant_groups=true": {"b top", "c sub"},
		top + "?only_group_labels=false":        {"a beside", "b top"},
		top + "?only_group_labels=false&include_descendant_groups=true":            {"a beside", "b top", "c sub", "d own"},
		top + "?only_group_labels=false&include_descendant_groups=true&search=o":   {"b top", "d own"},
		sub + "?only_group_labels=false&include_ancestor_groups=false":             {"c sub", "d own"},
		top + "?only_group_labels=false&include_descendant_groups=true&per_page=3": {"a beside", "b top", "c sub"},
		inProject(beside):                        {"a beside", "b top"},
		inProject(beside) + "?with_counts=false": {"a beside", "b top"},
	} {
		if got := names(t, w.As(t, w.guest).Do(t, "GET", path, nil)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	r := w.As(t, w.guest).Do(t, "GET", own+"?with_counts=true&per_page=1", nil)
	l := httpapitest.JSON[[]made](t, r)
	if len(l) != 1 || l[0].OpenIssues == nil || *l[0].OpenIssues != 0 || *l[0].IsProjectLabel || r.Header.Get("X-Total") != "3" {
		t.Errorf("got %s, of %s", r.Body, r.Header.Get("X-Total"))
	}
}

func TestWhoReadsAndManagesLabels(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	open := grouptest.New(t, w.DB, grouptest.Visible(access.Public))
	public := projecttest.New(t, w.DB, open.ID, projecttest.Visible(access.Public))
	frozen := projecttest.New(t, w.DB, w.top.ID, projecttest.With("archived", true))
	grouptest.Join(t, w.DB, open, w.reporter, access.Reporter)
	for _, c := range []struct {
		fact                   string
		by                     *httpapitest.Client
		at                     string
		read, write            int
		refusedRead, forbidden string
	}{
		{"nobody, in a project", w.Client, inProject(w.project), 401, 401, unsigned, unsigned},
		{"nobody, in a public project", w.Client, inProject(public), 401, 401, unsigned, unsigned},
		{"nobody, in a public group", w.Client, inGroup(open), 401, 401, unsigned, unsigned},
		{"a stranger", w.As(t, w.stranger), inProject(w.project), 404, 404, `{"message":"404 Project Not Found"}`, `{"message":"404 Project Not Found"}`},
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
		r := c.by.Do(t, "POST", c.at, map[string]any{"name": strings.ReplaceAll(c.fact, ",", ""), "color": "red"})
		if r.Status != c.write || (c.forbidden != "" && r.Body != c.forbidden) {
			t.Errorf("%s creates: %d %s", c.fact, r.Status, r.Body)
		}
	}
}

func TestAProjectWithoutIssuesAndMergeRequestsHasNoLabels(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.DB, grouptest.Visible(access.Public))
	member := usertest.New(t, w.DB)
	grouptest.Join(t, w.DB, g, member, access.Reporter)
	for _, c := range []struct {
		features          string
		stranger, members int
	}{
		{`{"issues": "disabled", "merge_requests": "disabled"}`, 403, 403},
		{`{"issues": "private", "merge_requests": "disabled"}`, 403, 200},
		{`{"issues": "private", "merge_requests": "enabled"}`, 200, 200},
		{`{"issues": "enabled", "merge_requests": "disabled"}`, 200, 200},
	} {
		p := projecttest.New(t, w.DB, g.ID, projecttest.Visible(access.Public), projecttest.With("features", c.features))
		name := "of " + id(p.ID)
		if _, err := w.DB.Exec(t.Context(), `insert into labels (project_id, name, color, created_at, updated_at) values ($1, $2, '#000000', now(), now())`, p.ID, name); err != nil {
			t.Fatal(err)
		}
		for by, want := range map[*httpapitest.Client]int{w.As(t, w.stranger): c.stranger, w.As(t, member): c.members} {
			if r := by.Do(t, "GET", inProject(p), nil); r.Status != want {
				t.Errorf("%s: got %d %s, want %d", c.features, r.Status, r.Body, want)
			}
			below := names(t, by.Do(t, "GET", inGroup(g)+"?only_group_labels=false", nil))
			if slices.Contains(below, name) != (want == 200) {
				t.Errorf("%s: the list of the group is %v", c.features, below)
			}
		}
	}
}

func TestAListOfAGroupShowsWhatIsSeenBelow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.DB, grouptest.Visible(access.Public))
	hidden := grouptest.New(t, w.DB, grouptest.Under(g), grouptest.Visible(access.Private))
	internal := grouptest.New(t, w.DB, grouptest.Under(g), grouptest.Visible(access.Internal))
	member, outside := usertest.New(t, w.DB), usertest.New(t, w.DB, usertest.With("external", true))
	secret := projecttest.New(t, w.DB, g.ID)
	projecttest.Join(t, w.DB, secret, member, access.Guest)
	root := w.As(t, w.root)
	for in, name := range map[string]string{
		inGroup(g): "group", inGroup(hidden): "hidden group", inGroup(internal): "internal group", inProject(secret): "secret project",
		inProject(projecttest.New(t, w.DB, hidden.ID)): "deep project", inProject(projecttest.New(t, w.DB, g.ID, projecttest.Visible(access.Public))): "public project",
	} {
		root.Do(t, "POST", in, map[string]any{"name": name, "color": "red"}).WantStatus(t, 201)
	}
	path := inGroup(g) + "?only_group_labels=false&include_descendant_groups=true"
	for _, c := range []struct {
		by   *httpapitest.Client
		want []string
	}{
		{root, []string{"deep project", "group", "hidden group", "internal group", "public project", "secret project"}},
		{w.As(t, w.stranger), []string{"group", "internal group", "public project"}},
		{w.As(t, outside), []string{"group", "public project"}},
		{w.As(t, member), []string{"group", "internal group", "public project", "secret project"}},
	} {
		if got := names(t, c.by.Do(t, "GET", path, nil)); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestALabelOfTheGroupIsChangedThroughAProjectByWhoMayInTheGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.create(t, inGroup(w.top), "high")
	l := w.create(t, inGroup(w.sub), "near")
	in := inProject(w.project)
	helper, reporter := w.As(t, w.helper), w.As(t, w.reporter)
	helper.Do(t, "PUT", at(in, "near"), map[string]any{"color": "red"}).Want(t, 403, forbids)
	helper.Do(t, "PUT", at(in, "near"), map[string]any{"color": "red", "priority": 1}).Want(t, 403, forbids)
	helper.Do(t, "DELETE", at(in, "near"), nil).Want(t, 403, forbids)
	if got := httpapitest.JSON[made](t, helper.Do(t, "PUT", at(in, "near"), map[string]any{"priority": 7}).WantStatus(t, 200)); got.Priority == nil || *got.Priority != 7 || got.Color != "#6699cc" {
		t.Errorf("got %+v", got)
	}
	// The priority is this project's alone.
	beside := projecttest.New(t, w.DB, w.sub.ID)
	for p, want := range map[string]*int{in: new(7), inProject(beside): nil} {
		if got := httpapitest.JSON[made](t, reporter.Do(t, "GET", at(p, "near"), nil)); !cmp.Equal(got.Priority, want) || *got.IsProjectLabel {
			t.Errorf("%s: got %+v", p, got)
		}
	}
	helper.Do(t, "PUT", at(in, "near"), map[string]any{"priority": ""}).WantStatus(t, 200)
	if got := httpapitest.JSON[[]made](t, reporter.Do(t, "GET", in+"?search=near", nil)); len(got) != 1 || got[0].Priority != nil {
		t.Errorf("got %+v", got)
	}
	for _, by := range []*httpapitest.Client{helper, reporter} {
		by.Do(t, "GET", at(in, "high"), nil).WantStatus(t, 200)
		by.Do(t, "PUT", at(in, "high"), map[string]any{"color": "red"}).Want(t, 404, missing)
		by.Do(t, "PUT", at(in, "high"), map[string]any{"priority": 1}).Want(t, 404, missing)
		by.Do(t, "DELETE", at(in, "high"), nil).Want(t, 404, missing)
	}
	reporter.Do(t, "PUT", at(in, id(l.ID)), map[string]any{"new_name": "nearer"}).WantStatus(t, 200)
	reporter.Do(t, "DELETE", at(in, "nearer"), nil).Want(t, 204, "")
}

func TestPeopleSubscribeToLabels(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.create(t, inGroup(w.top), "high")
	own := w.create(t, inProject(w.project), "own")
	guest := w.As(t, w.guest)
	for _, c := range []struct{ in, ref string }{{inProject(w.project), "own"}, {inProject(w.project), "high"}, {inGroup(w.sub), "high"}} {
		subscribed := func(by *httpapitest.Client) bool {
			return httpapitest.JSON[made](t, by.Do(t, "GET", at(c.in, c.ref), nil).WantStatus(t, 200)).Subscribed
		}
		guest.Do(t, "POST", at(c.in, c.ref)+"/unsubscribe", nil).Want(t, 304, "")
		if got := httpapitest.JSON[made](t, guest.Do(t, "POST", at(c.in, c.ref)+"/subscribe", nil).WantStatus(t, 201)); !got.Subscribed {
			t.Errorf("got %+v", got)
		}
		guest.Do(t, "POST", at(c.in, c.ref)+"/subscribe", nil).Want(t, 304, "")
		if !subscribed(guest) || subscribed(w.As(t, w.reporter)) {
			t.Errorf("%s: a subscription is not the guest's alone", c.ref)
		}
		guest.Do(t, "POST", at(c.in, c.ref)+"/unsubscribe", nil).WantStatus(t, 201)
		if subscribed(guest) {
			t.Errorf("%s: the subscription stays", c.ref)
		}
	}
	guest.Do(t, "POST", at(inProject(w.project), "none")+"/subscribe", nil).Want(t, 404, missing)
	w.Do(t, "POST", at(inProject(w.project), "own")+"/subscribe", nil).Want(t, 401, unsigned)
	// A subscription goes with its label, and with the project of its label.
	another := w.create(t, inProject(w.project), "another")
	for _, l := range []made{own, another} {
		guest.Do(t, "POST", at(inProject(w.project), id(l.ID))+"/subscribe", nil).WantStatus(t, 201)
	}
	w.As(t, w.reporter).Do(t, "DELETE", at(inProject(w.project), "own"), nil).Want(t, 204, "")
	if n := w.count(t, "subscriptions"); n != 1 {
		t.Errorf("%d subscriptions are left", n)
	}
	if _, err := w.DB.Exec(t.Context(), "delete from projects where id = $1", w.project.ID); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, "subscriptions"); n != 0 {
		t.Errorf("%d subscriptions are left of a project that is gone", n)
	}
}

func TestASubscriptionIsOfOnePersonToOneThing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	in := inProject(w.project)
	one, two := w.create(t, in, "one"), w.create(t, in, "two")
	guest, reporter := w.As(t, w.guest), w.As(t, w.reporter)
	act := func(by *httpapitest.Client, l made, act string) {
		t.Helper()
		by.Do(t, "POST", at(in, id(l.ID))+"/"+act, nil).WantStatus(t, 201)
	}
	check := func(by *httpapitest.Client, want ...string) {
		t.Helper()
		var got []string
		for _, l := range httpapitest.JSON[[]made](t, by.Do(t, "GET", in, nil)) {
			if l.Subscribed {
				got = append(got, l.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("subscribed to %q instead of %q", got, want)
		}
	}
	act(guest, one, "subscribe")
	act(guest, two, "subscribe")
	act(reporter, one, "subscribe")
	act(guest, one, "unsubscribe")
	check(guest, "two")
	check(reporter, "one")
	// Who takes the place of another label gets those who are subscribed to that one alone.
	reporter.Do(t, "PUT", at(in, id(one.ID))+"/promote", nil).WantStatus(t, 200)
	check(guest, "two")
	check(reporter, "one")
}

func TestAPriorityIsThatOfOneProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	l := w.create(t, inGroup(w.sub), "near")
	beside := projecttest.New(t, w.DB, w.sub.ID)
	by := w.As(t, w.reporter)
	for _, p := range []string{inProject(w.project), inProject(beside)} {
		by.Do(t, "PUT", at(p, id(l.ID)), map[string]any{"priority": 3}).WantStatus(t, 200)
	}
	by.Do(t, "PUT", at(inProject(w.project), id(l.ID)), map[string]any{"priority": ""}).WantStatus(t, 200)
	for p, want := range map[string]*int{inProject(w.project): nil, inProject(beside): new(3)} {
		if got := httpapitest.JSON[made](t, by.Do(t, "GET", at(p, id(l.ID)), nil)); !cmp.Equal(got.Priority, want) {
			t.Errorf("%s: got %+v", p, got)
		}
	}
}

func (w *fixture) count(t testing.TB, table string) int {
	t.Helper()
	n, err := postgres.Value[int](t.Context(), w.DB, "select count(*) from "+table)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAPromotedLabelTakesThePlaceOfAllOfItsName(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter, guest := w.As(t, w.reporter), w.As(t, w.guest)
	beside, far := projecttest.New(t, w.DB, w.top.ID), projecttest.New(t, w.DB, grouptest.New(t, w.DB).ID)
	promoted := w.create(t, inProject(beside), "bug", map[string]any{"color": "red", "description": "broken", "priority": 2})
	own := w.create(t, inProject(w.project), "bug", map[string]any{"priority": 5})
	kept := w.create(t, inProject(w.project), "other")
	sub := w.create(t, inGroup(w.sub), "bug")
	reporter.Do(t, "PUT", at(inProject(w.project), id(sub.ID)), map[string]any{"priority": 9}).WantStatus(t, 200)
	theirs := httpapitest.JSON[made](t, w.As(t, w.root).Do(t, "POST", inProject(far), map[string]any{"name": "bug", "color": "red"}))
	for _, l := range []made{own, sub} {
		guest.Do(t, "POST", at(inProject(w.project), id(l.ID))+"/subscribe", nil).WantStatus(t, 201)
	}
	w.happened()
	r := reporter.Do(t, "PUT", at(inProject(beside), "bug")+"/promote", nil)
	got := httpapitest.JSON[made](t, r.WantStatus(t, 200))
	want := made{ID: got.ID, Name: "bug", Description: new("broken"), DescriptionHTML: new("broken"), Color: "#FF0000", TextColor: "#FFFFFF"}
	if diff := cmp.Diff(want, got); diff != "" || got.ID == promoted.ID {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for p, priority := range map[string]int{inProject(w.project): 5, inProject(beside): 2} {
		l := httpapitest.JSON[[]made](t, guest.Do(t, "GET", p+"?search=bug", nil))
		if len(l) != 1 || l[0].ID != got.ID || l[0].Priority == nil || *l[0].Priority != priority || !l[0].Subscribed {
			t.Errorf("%s: got %+v", p, l)
		}
	}
	heard := w.happened()
	merged := []int64{promoted.ID, own.ID, sub.ID}
	if len(heard) != 1 || heard[0].Action != label.Promoted || heard[0].Label.ID != got.ID || !slices.Equal(heard[0].Merged, merged) {
		t.Errorf("heard %+v", heard)
	}
	for _, gone := range merged {
		reporter.Do(t, "GET", at(inProject(w.project), id(gone)), nil).Want(t, 404, missing)
	}
	reporter.Do(t, "GET", at(inProject(w.project), id(kept.ID)), nil).WantStatus(t, 200)
	w.As(t, w.root).Do(t, "GET", at(inProject(far), id(theirs.ID)), nil).WantStatus(t, 200)
	if n := w.count(t, "subscriptions"); n != 1 {
		t.Errorf("%d subscriptions", n)
	}
}

func TestWhatCannotBePromoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.As(t, w.reporter)
	const failed = `{"message":"Failed to promote project label to group label"}`
	in := inProject(w.project)
	w.create(t, inGroup(w.sub), "of the group")
	w.create(t, in, "own")
	reporter.Do(t, "PUT", at(in, "of the group")+"/promote", nil).Want(t, 400, failed)
	reporter.Do(t, "PUT", at(in, "none")+"/promote", nil).Want(t, 404, missing)
	w.As(t, w.helper).Do(t, "PUT", at(in, "own")+"/promote", nil).Want(t, 403, forbids)
	w.As(t, w.guest).Do(t, "PUT", at(in, "own")+"/promote", nil).Want(t, 403, forbids)
	personal := projecttest.New(t, w.DB, grouptest.Personal(t, w.DB, w.reporter).ID)
	w.create(t, inProject(personal), "mine")
	reporter.Do(t, "PUT", at(inProject(personal), "mine")+"/promote", nil).Want(t, 400, failed)
	// What a group above has already stays unique.
	w.create(t, inGroup(w.top), "own")
	reporter.Do(t, "PUT", in+"/promote", map[string]any{"name": "own"}).Want(t, 409, taken)
	// What the group itself has is what the label becomes.
	w.create(t, in, "twice")
	into := w.create(t, inGroup(w.sub), "twice", map[string]any{"color": "blue"})
	if got := httpapitest.JSON[made](t, reporter.Do(t, "PUT", in+"/promote", map[string]any{"name": "twice"}).WantStatus(t, 200)); got.ID != into.ID || got.Color != "#0000FF" {
		t.Errorf("got %+v", got)
	}
	reporter.Do(t, "PUT", in+"/promote", nil).Want(t, 400, `{"error":"name is missing"}`)
}

// Who manages the labels of the group that a project was in may not manage those of the group that it is in now.
func TestALabelOfAProjectThatMovedMeanwhileIsNotPromoted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.create(t, inProject(w.project), "own")
	by := access.Actor{Person: w.reporter.Person()}
	o, err := w.Owners.FindProject(t.Context(), by, id(w.project.ID))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set namespace_id = $2 where id = $1`, w.project.ID, grouptest.New(t, w.DB).ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Labels.Promote(t.Context(), by, o, "own"); !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v", err)
	}
	if left, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from labels where project_id = $1`, w.project.ID); err != nil || left != 1 {
		t.Errorf("the project has %d: %v", left, err)
	}
}

func TestWhoSubscribesToALabelThatGoesLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gone := w.create(t, inProject(w.project), "own")
	subscribed := make(chan *httpapitest.Reply)
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		// Nobody subscribes before the label is gone, whether they hold it or not.
		if _, err := tx.Exec(t.Context(), `lock table subscriptions in share mode`); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `delete from labels where id = $1`, gone.ID); err != nil {
			return err
		}
		go func() {
			subscribed <- w.As(t, w.guest).Do(t, "POST", at(inProject(w.project), "own")+"/subscribe", nil)
		}()
		postgrestest.WaitForLock(t, w.DB)
		return nil
	})
	if r := <-subscribed; err != nil || r.Status != http.StatusNotFound {
		t.Errorf("got %d %s: %v", r.Status, r.Body, err)
	}
	if left := w.count(t, "subscriptions"); left != 0 {
		t.Errorf("%d subscriptions are left", left)
	}
}

// A change of one attribute leaves the others as they are when it is made.
func TestWhoChangesALabelWaitsForWhoChangesItNow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.create(t, inProject(w.project), "own", map[string]any{"color": "red"})
	changed := make(chan *httpapitest.Reply)
	err := w.DB.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `update labels set color = '#112233', description = 'new' where id = $1`, m.ID); err != nil {
			return err
		}
		go func() {
			changed <- w.As(t, w.reporter).Do(t, "PUT", at(inProject(w.project), "own"), map[string]any{"new_name": "other"})
		}()
		postgrestest.WaitForLock(t, w.DB)
		return nil
	})
	got := httpapitest.JSON[made](t, (<-changed).WantStatus(t, http.StatusOK))
	if err != nil || got.Name != "other" || got.Color != "#112233" || got.Description == nil || *got.Description != "new" {
		t.Errorf("got %+v: %v", got, err)
	}
}

// Many ask for the same names at once, in a project and above it, and promote what they made: nobody fails for another reason than that the name
// is taken or gone, and no name is there twice on one line.
func TestNamesStayUniqueWhenManyGiveThemAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const people, rounds = 6, 12
	var wg sync.WaitGroup
	var made atomic.Int64
	for n := range people {
		by := w.As(t, w.reporter)
		wg.Go(func() {
			for round := range rounds {
				name := "label " + strconv.Itoa(round%3)
				in := []string{inGroup(w.top), inGroup(w.sub), inProject(w.project)}[(n+round)%3]
				r := by.Do(t, "POST", in, map[string]any{"name": name, "color": "red"})
				switch {
				case r.Status == http.StatusCreated:
					made.Add(1)
				case r.Status != http.StatusConflict:
					t.Errorf("create: %d %s", r.Status, r.Body)
				}
				if round%4 == 3 {
					r := by.Do(t, "PUT", at(inProject(w.project), name)+"/promote", nil)
					if !slices.Contains([]int{200, 400, 404, 409}, r.Status) {
						t.Errorf("promote: %d %s", r.Status, r.Body)
					}
				}
			}
		})
	}
	wg.Wait()
	twice, err := postgres.Values[string](t.Context(), w.DB, `
		select l.name from labels l group by l.name, l.namespace_id, l.project_id having count(*) > 1`)
	if err != nil || len(twice) > 0 || made.Load() == 0 {
		t.Errorf("%v are there twice of %d, %v", twice, made.Load(), err)
	}
	// One name in one project: one of all who ask gets it.
	var got atomic.Int64
	for range people {
		by := w.As(t, w.reporter)
		wg.Go(func() {
			if by.Do(t, "POST", inProject(w.project), map[string]any{"name": "single", "color": "red"}).Status == http.StatusCreated {
				got.Add(1)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d made it", got.Load())
	}
}

// A name that a group and a project below it are given at once is there twice only if the project had it first, as it might have had the day before.
func TestANameThatSomebodyIsGivingAboveIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for round := range 10 {
		name := fmt.Sprintf("race %d", round)
		var wg sync.WaitGroup
		for _, in := range []string{inGroup(w.top), inProject(w.project)} {
			by := w.As(t, w.reporter)
			wg.Go(func() {
				if r := by.Do(t, "POST", in, map[string]any{"name": name, "color": "red"}); r.Status != 201 && r.Body != taken {
					t.Errorf("%d %s", r.Status, r.Body)
				}
			})
		}
		wg.Wait()
		// Ids are given in the order of the lock.
		ids, err := postgres.Values[int64](t.Context(), w.DB, "select id from labels where name = $1 order by namespace_id nulls first", name)
		if err != nil || len(ids) == 0 || !slices.IsSorted(ids) {
			t.Errorf("%s: the project's and the group's are %v, %v", name, ids, err)
		}
	}
}
