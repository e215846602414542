package mention_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}

func TestATextNamesThoseWhoMayReadIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	usertest.New(t, w.DB, usertest.Named("blocked"), usertest.With("state", "blocked"))
	for _, tt := range []struct {
		description  string
		confidential bool
		named        []string
	}{
		{"@Guest, @stranger: see @reporter, not `@owner`", false, []string{"guest!", "reporter", "stranger!"}},
		{"for @guest and @guest again", false, []string{"guest"}},
		{"@nobody @blocked @hidden nobody", false, []string{}},
		{"@guest @stranger @owner @root", true, []string{"owner!", "root!"}},
		{"nobody", false, []string{}},
	} {
		w.open(t, w.reporter, w.project, tt.description, map[string]any{"confidential": tt.confidential})
		if diff := cmp.Diff(tt.named, sorted(w.named(t))); diff != "" {
			t.Errorf("%s: %s", tt.description, diff)
		}
	}
	m := w.open(t, w.reporter, w.hidden, "@stranger @guest @reporter")
	if got := w.named(t); !slices.Equal(got, []string{"reporter!"}) {
		t.Errorf("in a private project %q are named", got)
	}
	w.say(t, w.reporter, m, "@owner")
	w.say(t, w.owner, w.open(t, w.reporter, w.project, ""), "@guest @reporter @stranger", map[string]any{"internal": true})
	if got := w.named(t); !slices.Equal(got, []string{"reporter!"}) {
		t.Errorf("in an internal note %q are named", got)
	}
}

func TestAnEditNamesThoseWhoAreNew(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.open(t, w.reporter, w.project, "@guest")
	edit := func(description string, want ...string) {
		t.Helper()
		w.heard()
		w.As(t, w.reporter).Do(t, "PUT", m.path(), map[string]any{"description": description}).WantStatus(t, http.StatusOK)
		if diff := cmp.Diff(append([]string{}, want...), w.named(t)); diff != "" {
			t.Errorf("%s: %s", description, diff)
		}
	}
	edit("see @guest")
	edit("see @guest and @owner", "owner")
	edit("see @owner")
	if got := w.participants(t, w.root, m); !slices.Contains(got, "owner") || slices.Contains(got, "guest") {
		t.Errorf("%q take part", got)
	}
	edit("@guest @owner", "guest!")
	note := w.say(t, w.reporter, m, "see @owner")
	w.heard()
	at := fmt.Sprintf("%s/notes/%d", m.path(), note)
	w.As(t, w.reporter).Do(t, "PUT", at, map[string]any{"body": "@stranger see @owner"}).WantStatus(t, http.StatusOK)
	if got := w.named(t); !slices.Equal(got, []string{"stranger!"}) {
		t.Errorf("an edited comment names %q", got)
	}
	if got := w.participants(t, w.root, m); !slices.Contains(got, "stranger") {
		t.Errorf("%q take part", got)
	}
	w.As(t, w.reporter).Do(t, "DELETE", at, nil).WantStatus(t, http.StatusNoContent)
	if got := w.participants(t, w.root, m); slices.Contains(got, "stranger") {
		t.Errorf("%q take part without the comment", got)
	}
	if got := httpapitest.JSON[made](t, w.As(t, w.stranger).Do(t, "GET", m.path(), nil)); !got.Subscribed {
		t.Error("who was named is not subscribed")
	}
}

func TestAGroupStandsForItsMembers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	secret := grouptest.New(t, w.DB, grouptest.Named("secret"))
	open := grouptest.New(t, w.DB, grouptest.Named("open"), grouptest.Visible(access.Public))
	quiet := grouptest.New(t, w.DB, grouptest.Named("quiet"), grouptest.Visible(access.Public), grouptest.With(`{"mentions_disabled": true}`))
	for _, g := range []*group.Group{secret, open, quiet} {
		grouptest.Join(t, w.DB, g, w.stranger, access.Guest)
	}
	grouptest.Join(t, w.DB, secret, w.owner, access.Guest)
	for _, tt := range []struct {
		as    *user.User
		text  string
		named []string
	}{
		{w.guest, "@open", []string{"stranger!"}},
		{w.guest, "ask @open", []string{"stranger"}},
		{w.guest, "@secret", []string{}},
		{w.owner, "@secret", []string{"owner!", "stranger!"}},
		{w.guest, "@quiet", []string{}},
		{w.guest, "@all", []string{"guest!", "owner!", "reporter!"}},
		{w.stranger, "@all", []string{}},
	} {
		w.open(t, tt.as, w.project, tt.text)
		if diff := cmp.Diff(tt.named, sorted(w.named(t))); diff != "" {
			t.Errorf("%s by %s: %s", tt.text, tt.as.Username, diff)
		}
	}
}

// DO-03: each name may be many people.
func TestDO03_OfManyPeopleWhomATextNamesSomeAreTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	crowd := grouptest.New(t, w.DB, grouptest.Named("crowd"), grouptest.Visible(access.Public))
	if _, err := w.DB.Exec(t.Context(), `
		with people as (
			insert into users (username, name, email, confirmed_at, projects_limit, created_at, updated_at)
			select 'many' || n, 'x', 'many' || n || '@example.com', now(), 1, now(), now() from generate_series(1, 120) n returning id
		) insert into members (namespace_id, user_id, access_level, created_at, updated_at) select $1, id, 10, now(), now() from people`, crowd.ID); err != nil {
		t.Fatal(err)
	}
	m := w.open(t, w.guest, w.project, "@crowd")
	if got := len(w.named(t)); got != 100 {
		t.Errorf("%d people of a group are named", got)
	}
	var names strings.Builder
	for n := range 60 {
		fmt.Fprintf(&names, "@many%d ", n+1)
	}
	w.say(t, w.guest, m, names.String())
	if got := len(w.named(t)); got != 50 {
		t.Errorf("%d people of a text are named", got)
	}
	for range 25 {
		w.open(t, w.reporter, w.project, "")
	}
	var issues strings.Builder
	for n := range 26 {
		fmt.Fprintf(&issues, "#%d ", n+1)
	}
	w.say(t, w.reporter, m, issues.String())
	told, err := postgres.Value[int](t.Context(), w.DB, `select count(*) from notes where body like 'mentioned in issue %'`)
	if err != nil || told != 19 { // twenty, of which one is itself
		t.Errorf("%d issues note it, %v", told, err)
	}
}

func TestTheSameIsNotedOnceAtAnIssueThatIsNamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target, far := w.open(t, w.reporter, w.project, ""), w.open(t, w.reporter, w.hidden, "")
	source := w.open(t, w.reporter, w.project, "like #1, #1 and #99, not `#1`")
	w.say(t, w.reporter, source, "again tool#1, house/tool#1 and hidden#1, and #2 itself")
	w.As(t, w.reporter).Do(t, "PUT", source.path(), map[string]any{"description": "Like #1"}).WantStatus(t, http.StatusOK)
	w.say(t, w.reporter, far, "as in tool#1")
	for who, want := range map[*user.User][]string{
		w.reporter: {"mentioned in issue #2", "mentioned in issue house/hidden#1"}, w.stranger: {"mentioned in issue #2"},
	} {
		if diff := cmp.Diff(want, w.noted(t, who, target)); diff != "" {
			t.Errorf("to %s: %s", who.Username, diff)
		}
	}
	if diff := cmp.Diff([]string{"mentioned in issue house/tool#2"}, w.noted(t, w.reporter, far)); diff != "" {
		t.Error(diff)
	}
	if got := w.noted(t, w.reporter, source); !slices.Equal(got, []string{"changed the description"}) {
		t.Errorf("at the issue itself: %q", got)
	}
}

// PE-02: what names an issue is not told to who may not read it, nor at an issue that its author may not read.
func TestPE02_AMentionTellsNothingToWhoMayNotReadIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	target := w.open(t, w.reporter, w.project, "")
	w.open(t, w.reporter, w.project, "#1", map[string]any{"confidential": true})
	if got := w.noted(t, w.guest, target); len(got) != 0 {
		t.Errorf("a guest is told %q", got)
	}
	if got := w.noted(t, w.reporter, target); !slices.Equal(got, []string{"mentioned in issue #2"}) {
		t.Errorf("a reporter is told %q", got)
	}
	secret := w.open(t, w.reporter, w.project, "", map[string]any{"confidential": true})
	far := w.open(t, w.reporter, w.hidden, "")
	open := w.open(t, w.guest, w.project, "#3 and hidden#1")
	for _, m := range []made{secret, far} {
		if got := w.noted(t, w.reporter, m); len(got) != 0 {
			t.Errorf("a guest leaves %q", got)
		}
	}
	w.say(t, w.reporter, open, "#1", map[string]any{"internal": true})
	if got := w.noted(t, w.reporter, target); len(got) != 1 {
		t.Errorf("an internal note leaves %q", got)
	}
	archived := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("old"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, archived, w.reporter, access.Reporter)
	old := w.open(t, w.reporter, archived, "")
	if _, err := w.DB.Exec(t.Context(), `update projects set archived = true where id = $1`, archived.ID); err != nil {
		t.Fatal(err)
	}
	w.say(t, w.reporter, open, "old#1")
	if got := w.noted(t, w.reporter, old); len(got) != 0 {
		t.Errorf("in an archived project: %q", got)
	}
}

func TestIssuesThatNameEachOtherDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, b := w.open(t, w.reporter, w.project, ""), w.open(t, w.reporter, w.project, "")
	c := w.As(t, w.reporter)
	var all sync.WaitGroup
	for n := range 20 {
		at, text := a, "#2"
		if n%2 == 0 {
			at, text = b, "#1"
		}
		all.Go(func() {
			c.Do(t, "POST", at.path()+"/notes", map[string]any{"body": text}).WantStatus(t, http.StatusCreated)
		})
	}
	all.Wait()
}

func TestWhoTakesPartInAnIssue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dan, eve := usertest.New(t, w.DB, usertest.Named("dan")), usertest.New(t, w.DB, usertest.Named("eve"))
	fay := usertest.New(t, w.DB, usertest.Named("fay"))
	m := w.open(t, w.reporter, w.project, "for @eve", map[string]any{"assignee_ids": []int64{w.guest.ID}})
	w.say(t, w.stranger, m, "I see.")
	w.say(t, w.owner, m, "@fay @root knows", map[string]any{"internal": true})
	w.As(t, dan).Do(t, "POST", m.path()+"/award_emoji", map[string]any{"name": "thumbsup"}).WantStatus(t, http.StatusCreated)
	open := []string{"dan", "eve", "guest", "reporter", "stranger"}
	if diff := cmp.Diff(open, sorted(w.participants(t, w.stranger, m))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"dan", "eve", "guest", "owner", "reporter", "root", "stranger"}, sorted(w.participants(t, w.reporter, m))); diff != "" {
		t.Error(diff)
	}
	w.Do(t, "GET", m.path()+"/participants", nil).WantStatus(t, http.StatusOK)
	r := w.As(t, w.stranger).Do(t, "GET", m.path()+"/participants?per_page=2&page=3", nil).WantStatus(t, http.StatusOK)
	if got := httpapitest.JSON[[]struct{ ID int64 }](t, r); len(got) != 1 || r.Header.Get("X-Total") != "5" {
		t.Errorf("the last page has %d of %s", len(got), r.Header.Get("X-Total"))
	}
	if _, err := w.DB.Exec(t.Context(), `update users set state = 'blocked' where id = $1`, eve.ID); err != nil {
		t.Fatal(err)
	}
	w.As(t, w.reporter).Do(t, "PUT", m.path(), map[string]any{"confidential": true}).WantStatus(t, http.StatusOK)
	if diff := cmp.Diff([]string{"guest", "reporter"}, sorted(w.participants(t, w.guest, m))); diff != "" {
		t.Errorf("of a confidential one: %s", diff)
	}
	w.As(t, fay).Do(t, "GET", m.path()+"/participants", nil).Want(t, http.StatusNotFound, `{"message":"404 Issue Not Found"}`)
}

func TestWhoIsNamedGoesWithAnIssueThatMoves(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.open(t, w.reporter, w.project, "for @owner")
	w.say(t, w.reporter, m, "and @guest")
	to := projecttest.New(t, w.DB, w.house.ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	projecttest.Join(t, w.DB, to, w.reporter, access.Reporter)
	move := func(how string) []string {
		t.Helper()
		moved := httpapitest.JSON[made](t, w.As(t, w.reporter).Do(t, "POST", m.path()+how, map[string]any{"to_project_id": to.ID}).WantStatus(t, http.StatusCreated))
		return sorted(w.participants(t, w.root, moved))
	}
	if got := move("/clone"); !slices.Equal(got, []string{"owner", "reporter"}) {
		t.Errorf("%q take part in a clone", got)
	}
	if got := move("/move"); !slices.Equal(got, []string{"guest", "owner", "reporter"}) {
		t.Errorf("%q take part", got)
	}
}
