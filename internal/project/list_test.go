package project_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestAListHoldsWhatItsViewerSees(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	sub := grouptest.New(t, w.db, grouptest.Under(g))
	other := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	open := projecttest.New(t, w.db, other.ID, projecttest.Visible(access.Public)).ID
	internal := projecttest.New(t, w.db, other.ID, projecttest.Visible(access.Internal)).ID
	hidden := projecttest.New(t, w.db, other.ID)
	inherited := projecttest.New(t, w.db, sub.ID).ID
	direct := projecttest.New(t, w.db, other.ID)
	shared := projecttest.New(t, w.db, other.ID)
	personal := projecttest.New(t, w.db, w.ada.NamespaceID).ID
	marked := projecttest.New(t, w.db, other.ID, projecttest.Visible(access.Public), projecttest.With("removal", true)).ID
	into := grouptest.New(t, w.db)
	grouptest.Share(t, w.db, into, g, access.Reporter)
	through := projecttest.New(t, w.db, into.ID).ID
	projecttest.Share(t, w.db, shared, g, access.Guest)

	member := w.person(t, "member")
	outsider := w.person(t, "outsider", usertest.With("external", true))
	auditor := w.person(t, "auditor", usertest.With("auditor", true))
	for _, u := range []*user.User{member, outsider} {
		grouptest.Join(t, w.db, g, u, access.Developer)
		projecttest.Join(t, w.db, direct, u, access.Owner)
	}
	mine := []int64{inherited, direct.ID, shared.ID, through}
	all := slices.Concat(mine, []int64{open, internal, hidden.ID, personal})
	for name, tc := range map[string]struct {
		as    *httpapitest.Client
		query string
		want  []int64
	}{
		"anonymous":                  {w.Client, "", []int64{open}},
		"anonymous members":          {w.Client, "membership=true", nil},
		"anonymous owners":           {w.Client, "owned=true", nil},
		"a stranger":                 {w.as(w.bob), "", []int64{open, internal}},
		"a stranger's own":           {w.as(w.bob), "membership=true", nil},
		"a member":                   {w.as(member), "", slices.Concat(mine, []int64{open, internal})},
		"a member's own":             {w.as(member), "membership=true", mine},
		"owned":                      {w.as(member), "owned=true", []int64{direct.ID}},
		"at least reporter":          {w.as(member), "min_access_level=20", []int64{inherited, direct.ID, through}},
		"at least developer":         {w.as(member), "min_access_level=30", []int64{inherited, direct.ID}},
		"an external member":         {w.as(outsider), "", slices.Concat(mine, []int64{open})},
		"an owner of a namespace":    {w.as(w.ada), "owned=true", []int64{personal}},
		"an auditor":                 {w.as(auditor), "", all},
		"an administrator":           {w.as(w.root), "", all},
		"an administrator's own":     {w.as(w.root), "membership=true", nil},
		"the private ones":           {w.as(member), "visibility=private", mine},
		"the internal ones":          {w.as(member), "visibility=internal", []int64{internal}},
		"private ones to a stranger": {w.as(w.bob), "visibility=private", nil},
	} {
		got := ids(t, tc.as.Do(t, "GET", "/projects?"+tc.query, nil))
		slices.Sort(tc.want)
		slices.Reverse(tc.want)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
	if slices.Contains(ids(t, w.as(w.root).Do(t, "GET", "/projects", nil)), marked) {
		t.Error("a marked project is shown")
	}
}

// PE-08: what is hidden moves neither order nor totals.
func TestPE08_CountsAndOrderCarryNoHiddenBit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	for i := range 5 {
		projecttest.New(t, w.db, g.ID, projecttest.Named(fmt.Sprintf("seen%d", i)), projecttest.Visible(access.Public))
	}
	type view struct{ body, total, pages, next, link string }
	look := func(c *httpapitest.Client, query string) view {
		r := c.Do(t, "GET", "/projects?"+query, nil).WantStatus(t, http.StatusOK)
		return view{r.Body, r.Header.Get("X-Total"), r.Header.Get("X-Total-Pages"), r.Header.Get("X-Next-Page"), r.Header.Get("Link")}
	}
	queries := []string{"per_page=2", "per_page=2&page=3", "per_page=2&page=4", "search=seen&per_page=3", "search=hidden", "search=secret"}
	for _, order := range []string{"id", "name", "path", "updated_at", "last_activity_at", "storage_size", "similarity&search=seen"} {
		queries = append(queries, "per_page=3&order_by="+order, "per_page=3&sort=asc&order_by="+order)
	}
	queries = append(queries, "pagination=keyset&order_by=id&per_page=2", "topic=secret", "archived=true", "with_issues_enabled=true")
	before := map[string][2]view{}
	for _, q := range queries {
		before[q] = [2]view{look(w.Client, q), look(w.as(w.bob), q)}
	}
	for i := range 20 {
		p := projecttest.New(t, w.db, g.ID, projecttest.Named(fmt.Sprintf("hidden%d-seen", i)), projecttest.With("description", "secret seen"),
			projecttest.With("topics", []string{"secret"}), projecttest.With("archived", i%2 == 0), projecttest.With("last_activity_at", w.now))
		projecttest.Join(t, w.db, p, w.ada, access.Owner)
	}
	for _, q := range queries {
		if after := [2]view{look(w.Client, q), look(w.as(w.bob), q)}; after != before[q] {
			t.Errorf("%s:\ngot  %+v\nwant %+v", q, after, before[q])
		}
	}
	if got := look(w.as(w.ada), "search=hidden&per_page=3"); got.total != "20" {
		t.Errorf("the owner counts %s", got.total)
	}
	// Nor do a project's own counts tell more to those who may not read its code.
	private := projecttest.New(t, w.db, g.ID, projecttest.With("forks_count", 9))
	projecttest.Join(t, w.db, private, w.bob, access.Guest)
	if r := w.as(w.bob).Do(t, "GET", at(private), nil); strings.Contains(r.Body, "forks_count") {
		t.Errorf("got %s", r.Body)
	}
}

func TestAListIsFilteredAndOrdered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	day := func(n int) time.Time { return time.Date(2024, 3, n, 0, 0, 0, 0, time.UTC) }
	ns := w.ada.NamespaceID
	a := projecttest.New(t, w.db, ns, projecttest.Named("zebra"), projecttest.With("last_activity_at", day(1)), projecttest.With("updated_at", day(9)),
		projecttest.With("topics", []string{"go", "web"}), projecttest.With("description", "Stripes of 50% _wool_")).ID
	b := projecttest.New(t, w.db, ns, projecttest.Named("Apple"), projecttest.With("last_activity_at", day(3)), projecttest.With("updated_at", day(8)),
		projecttest.With("topics", []string{"go"}), projecttest.With("archived", true), projecttest.With("storage", "fast"),
		projecttest.With("features", `{"issues":"disabled"}`)).ID
	c := projecttest.New(t, w.db, ns, projecttest.Named("mango"), projecttest.With("path", "ab"), projecttest.With("last_activity_at", day(2)), projecttest.With("updated_at", day(7)),
		projecttest.With("features", `{"merge_requests":"disabled"}`), projecttest.With("settings", `{"import_type":"git"}`), projecttest.By(w.ada)).ID
	w.exec(t, `insert into project_stars (project_id, user_id, created_at) values ($1, $2, now())`, c, w.ada.ID)
	for query, want := range map[string][]int64{
		"":                                  {c, b, a},
		"sort=asc":                          {a, b, c},
		"order_by=created_at&sort=asc":      {a, b, c},
		"order_by=id":                       {c, b, a},
		"order_by=name&sort=asc":            {b, c, a},
		"order_by=name":                     {a, c, b},
		"order_by=path&sort=asc":            {b, c, a},
		"order_by=updated_at":               {a, b, c},
		"order_by=last_activity_at":         {b, c, a},
		"order_by=storage_size":             {c, b, a},
		"search=STRIPES":                    {a},
		"search=50%25+_wool":                {a},
		"search=50%25":                      {},
		"search=_":                          {},
		"search=zeb-":                       {},
		"search=_wool_":                     {a},
		"search=0_w":                        {},
		"search=ang":                        {c},
		"search=ab":                         {c},
		"search=AB":                         {c},
		"search=ap":                         {},
		"search=%25":                        {},
		"search=ada":                        {},
		"search=ada&search_namespaces=true": {c, b, a},
		"search=apple&order_by=similarity":  {b},
		"archived=true":                     {b},
		"archived=false":                    {c, a},
		"topic=go":                          {b, a},
		"topic=go,web":                      {a},
		"topic=none":                        {},
		"topic_id=1":                        {},
		"with_programming_language=Go":      {},
		"with_issues_enabled=true":          {c, a},
		"with_merge_requests_enabled=true":  {b, a},
		"starred=true":                      {c},
		"imported=true":                     {c},
		"id_after=" + id(a):                 {c, b},
		"id_before=" + id(c):                {b, a},
		"last_activity_after=2024-03-02T00:00:00Z":                    {c, b},
		"last_activity_before=2024-03-02T00:00:00Z":                   {c, a},
		"updated_after=2024-03-08":                                    {b, a},
		"updated_before=2024-03-08&order_by=updated_at":               {b, c},
		"repository_storage=fast":                                     {c, b, a},
		"per_page=2":                                                  {c, b},
		"per_page=2&page=2":                                           {a},
		"pagination=keyset&order_by=id&per_page=2":                    {c, b},
		"pagination=keyset&order_by=id&per_page=2&id_before=" + id(b): {a},
		"pagination=keyset&order_by=id&sort=asc&id_after=" + id(a):    {b, c},
		"pagination=keyset&order_by=id&per_page=2&page=7":             {c, b},
	} {
		if got := ids(t, w.as(w.ada).Do(t, "GET", "/projects?"+query, nil)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	if got := ids(t, w.as(w.root).Do(t, "GET", "/projects?repository_storage=fast", nil)); !slices.Equal(got, []int64{b}) {
		t.Errorf("an administrator finds %v on a storage", got)
	}
	for query, want := range map[string]string{
		"order_by=size":                          `400 {"error":"order_by does not have a valid value"}`,
		"sort=up":                                `400 {"error":"sort does not have a valid value"}`,
		"visibility=x":                           `400 {"error":"visibility does not have a valid value"}`,
		"min_access_level=7":                     `400 {"error":"min_access_level does not have a valid value"}`,
		"per_page=0":                             `400 {"error":"per_page has a value not allowed"}`,
		"id_after=x":                             `400 {"error":"id_after is invalid"}`,
		"pagination=keyset":                      `405 {"error":"Keyset pagination is not yet available for this type of request"}`,
		"pagination=keyset&order_by=name":        `405 {"error":"Keyset pagination is not yet available for this type of request"}`,
		"updated_after=2024-01-01&order_by=name": "400 {\"message\":\"400 Bad request - `updated_at` filter and `updated_at` sorting must be paired\"}",
	} {
		r := w.as(w.ada).Do(t, "GET", "/projects?"+query, nil)
		if got := fmt.Sprintf("%d %s", r.Status, r.Body); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

func TestKeysetPagesVisitEachProjectOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	grouptest.Join(t, w.db, g, w.ada, access.Guest)
	var want []int64
	for i := range 11 {
		want = append(want, projecttest.New(t, w.db, g.ID, projecttest.Visible([]access.Visibility{access.Private, access.Internal, access.Public}[i%3])).ID)
	}
	for _, sort := range []string{"asc", "desc"} {
		var got []int64
		next := "/projects?pagination=keyset&order_by=id&per_page=4&private_token=&sort=" + sort
		for pages := 0; next != "" && pages < 10; pages++ {
			r := w.as(w.ada).Do(t, "GET", next, nil)
			got = append(got, ids(t, r)...)
			if r.Header.Get("X-Total") != "" || r.Header.Get("X-Page") != "" {
				t.Error("a keyset page has headers of an offset page")
			}
			next = ""
			if link := r.Header.Get("Link"); link != "" {
				u, err := url.Parse(strings.TrimPrefix(strings.TrimSuffix(link, `>; rel="next"`), "<https://forge.example/api/v4"))
				if err != nil {
					t.Fatal(err)
				}
				if name := map[string]string{"asc": "id_after", "desc": "id_before"}[sort]; !u.Query().Has(name) {
					t.Errorf("the link has no %s: %s", name, link)
				}
				next = u.String()
			}
		}
		if sort == "desc" {
			slices.Reverse(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", sort, got, want)
		}
	}
}

func TestAListHasItsForm(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	p := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public))
	projecttest.Join(t, w.db, p, w.ada, access.Reporter)
	for _, tc := range []struct {
		as                               *httpapitest.Client
		path                             string
		full, permissions, statisticsToo bool
	}{
		{w.Client, "/projects?statistics=true", false, false, false},
		{w.as(w.ada), "/projects?statistics=true", true, true, true},
		{w.as(w.bob), "/projects?statistics=true", true, true, false},
		{w.as(w.ada), "/projects?simple=true", false, false, false},
		{w.Client, "/groups/" + id(g.ID) + "/projects", true, false, false},
		{w.as(w.ada), "/groups/" + id(g.ID) + "/projects", true, false, false},
		{w.as(w.ada), "/groups/" + id(g.ID) + "/projects?simple=true", false, false, false},
	} {
		form := httpapitest.JSON[[]map[string]any](t, tc.as.Do(t, "GET", tc.path, nil).WantStatus(t, http.StatusOK))[0]
		_, full := form["_links"]
		_, permissions := form["permissions"]
		_, statistics := form["statistics"]
		if full != tc.full || permissions != tc.permissions || statistics != tc.statisticsToo {
			t.Errorf("%s: full %v, permissions %v, statistics %v", tc.path, full, permissions, statistics)
		}
	}
}

func TestTheProjectsOfAUser(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	own := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Public))
	secret := projecttest.New(t, w.db, w.ada.NamespaceID)
	made := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public), projecttest.By(w.ada))
	madeInSecret := projecttest.New(t, w.db, g.ID, projecttest.By(w.ada))
	projecttest.Join(t, w.db, madeInSecret, w.ada, access.Owner)
	for _, p := range []*project.Project{made, secret} {
		w.exec(t, `insert into project_stars (project_id, user_id, created_at) values ($1, $2, now())`, p.ID, w.ada.ID)
	}
	for path, want := range map[string][2][]int64{
		"/users/ada/projects":                    {{own.ID}, {secret.ID, own.ID}},
		"/users/" + id(w.ada.ID) + "/projects":   {{own.ID}, {secret.ID, own.ID}},
		"/users/ada/starred_projects":            {{made.ID}, {made.ID, secret.ID}},
		"/users/ada/contributed_projects":        {{made.ID}, {madeInSecret.ID, made.ID}},
		"/users/ada/projects?visibility=private": {{}, {secret.ID}},
		"/users/bob/projects":                    {{}, {}},
	} {
		for _, stranger := range []*httpapitest.Client{w.Client, w.as(w.bob)} {
			if got := ids(t, stranger.Do(t, "GET", path, nil)); !slices.Equal(got, want[0]) {
				t.Errorf("%s: a stranger gets %v, want %v", path, got, want[0])
			}
		}
		if got := ids(t, w.as(w.ada).Do(t, "GET", path, nil)); !slices.Equal(got, want[1]) {
			t.Errorf("%s: got %v, want %v", path, got, want[1])
		}
	}
	w.Do(t, "GET", "/users/nobody/projects", nil).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
	w.exec(t, `update users set private_profile = true where id = $1`, w.ada.ID)
	for _, path := range []string{"/users/ada/starred_projects", "/users/ada/contributed_projects"} {
		if got := ids(t, w.as(w.bob).Do(t, "GET", path, nil)); len(got) != 0 {
			t.Errorf("%s: a private profile shows %v", path, got)
		}
	}
}

func TestTheProjectsOfAGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	top := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	g := grouptest.New(t, w.db, grouptest.Under(top))
	sub := grouptest.New(t, w.db, grouptest.Under(g))
	other := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	above := projecttest.New(t, w.db, top.ID, projecttest.Visible(access.Public)).ID
	own := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public)).ID
	hidden := projecttest.New(t, w.db, g.ID).ID
	below := projecttest.New(t, w.db, sub.ID, projecttest.Visible(access.Public)).ID
	shared := projecttest.New(t, w.db, other.ID, projecttest.Visible(access.Public))
	sharedHidden := projecttest.New(t, w.db, other.ID)
	projecttest.Share(t, w.db, shared, g, access.Developer)
	projecttest.Share(t, w.db, sharedHidden, g, access.Developer)
	grouptest.Join(t, w.db, g, w.ada, access.Reporter)
	for query, want := range map[string][2][]int64{
		"/projects":                   {{shared.ID, own}, {sharedHidden.ID, shared.ID, hidden, own}},
		"/projects?with_shared=false": {{own}, {hidden, own}},
		"/projects?with_shared=false&include_subgroups=true":                {{below, own}, {below, hidden, own}},
		"/projects?with_shared=false&include_ancestor_groups=true":          {{own, above}, {hidden, own, above}},
		"/projects?with_shared=false&order_by=name&sort=asc&search=project": {{own}, {own, hidden}},
		"/projects?min_access_level=20":                                     {{}, {sharedHidden.ID, shared.ID, hidden, own}},
		"/projects?min_access_level=30":                                     {{}, {}},
		"/projects/shared":                                                  {{shared.ID}, {sharedHidden.ID, shared.ID}},
	} {
		path := "/groups/" + id(g.ID) + query
		if got := ids(t, w.Do(t, "GET", path, nil)); !slices.Equal(got, want[0]) {
			t.Errorf("%s: a stranger gets %v, want %v", query, got, want[0])
		}
		if got := ids(t, w.as(w.ada).Do(t, "GET", path, nil)); !slices.Equal(got, want[1]) {
			t.Errorf("%s: got %v, want %v", query, got, want[1])
		}
	}
	private := grouptest.New(t, w.db)
	w.as(w.bob).Do(t, "GET", "/groups/"+id(private.ID)+"/projects", nil).Want(t, http.StatusNotFound, `{"message":"404 Group Not Found"}`)
	projects, others, err := w.projects.OfGroup(t.Context(), access.Actor{}, g)
	if err != nil || len(projects) != 1 || len(others) != 1 {
		t.Errorf("a group shows %d and %d projects, %v", len(projects), len(others), err)
	}
}

// PE-11: what hangs on a project is shown as far as its viewer may know it.
func TestPE11_NestedPartsAreFiltered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Named("seen-home"), grouptest.Visible(access.Public))
	cave := grouptest.New(t, w.db, grouptest.Named("hidden-cave"))
	hall := grouptest.New(t, w.db, grouptest.Named("seen-hall"), grouptest.Visible(access.Public))
	dweller := w.person(t, "hidden-dweller")
	guest := w.person(t, "seen-guest")
	grouptest.Join(t, w.db, cave, dweller, access.Developer)
	grouptest.Join(t, w.db, hall, guest, access.Developer)
	source := projecttest.New(t, w.db, cave.ID, projecttest.Named("hidden-source"))
	p := projecttest.New(t, w.db, g.ID, projecttest.Named("seen-project"), projecttest.Visible(access.Public), projecttest.With("forked_from_id", source.ID))
	projecttest.Share(t, w.db, p, cave, access.Developer)
	projecttest.Share(t, w.db, p, hall, access.Reporter)
	private := w.person(t, "hidden-starrer", usertest.With("private_profile", true))
	public := w.person(t, "seen-starrer")
	for _, u := range []*user.User{private, public} {
		w.exec(t, `insert into project_stars (project_id, user_id, created_at) values ($1, $2, now())`, p.ID, u.ID)
	}
	paths := []string{at(p), "/projects", "/groups/" + id(g.ID) + "/projects", at(p) + "/groups?with_shared=true", at(p) + "/starrers", "/users/ada/projects"}
	for _, path := range paths {
		for _, c := range []*httpapitest.Client{w.Client, w.as(w.bob)} {
			if r := c.Do(t, "GET", path, nil); r.Status != http.StatusOK || strings.Contains(r.Body, "hidden") {
				t.Errorf("%s: got %d %s", path, r.Status, r.Body)
			}
		}
	}
	if r := w.as(w.bob).Do(t, "GET", at(p)+"/users", nil); strings.Contains(r.Body, "hidden") || !strings.Contains(r.Body, "seen-guest") {
		t.Errorf("got %s", r.Body)
	}
	if r := w.as(w.bob).Do(t, "GET", at(p), nil); !strings.Contains(r.Body, `"shared_with_groups":[{"group_id":`+id(hall.ID)+`,"group_name":"seen-hall","group_full_path":"seen-hall","group_access_level":20,"expires_at":null}]`) {
		t.Errorf("got %s", r.Body)
	}
	inside := w.as(dweller).Do(t, "GET", at(p), nil)
	if got := read(t, inside, http.StatusOK); got.ForkedFromProject == nil || got.ForkedFromProject.ID != source.ID || !strings.Contains(inside.Body, `"group_name":"hidden-cave"`) {
		t.Errorf("got %s", inside.Body)
	}
	for path, want := range map[string]string{
		at(p) + "/groups": "seen-home", at(p) + "/groups?with_shared=true": "hidden-cave seen-hall seen-home",
		at(p) + "/groups?with_shared=true&shared_min_access_level=30":   "hidden-cave seen-home",
		at(p) + "/groups?with_shared=true&search=HALL":                  "seen-hall",
		at(p) + "/groups?with_shared=true&skip_groups[]=" + id(hall.ID): "hidden-cave seen-home",
		at(p) + "/users":                            "hidden-dweller seen-guest",
		at(p) + "/users?search=dwell":               "hidden-dweller",
		at(p) + "/users?skip_users=" + id(guest.ID): "hidden-dweller",
	} {
		var names []string
		for _, x := range httpapitest.JSON[[]struct{ Name, Username string }](t, w.as(w.root).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)) {
			if x.Username != "" {
				x.Name = x.Username
			}
			names = append(names, x.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	w.Do(t, "GET", at(p)+"/users", nil).Want(t, http.StatusUnauthorized, unauthorized)
}
