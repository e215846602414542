package project_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting"
)

func TestAProjectIsCreatedInOnesOwnNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := w.as(w.ada).Do(t, "POST", "/projects", map[string]any{
		"name": "Big Hammer", "description": "For <nails>", "topics": []string{"tools", "iron", "tools"}, "initialize_with_readme": true,
		"merge_method": "ff", "jobs_enabled": false, "wiki_access_level": "private", "build_timeout": 7200, "emails_enabled": false,
		"public_builds": false, "ci_config_path": "ci/x.yml", "ci_default_git_depth": nil,
	})
	got := read(t, r, http.StatusCreated)
	if got.Path != "big-hammer" || got.PathWithNamespace != "ada/big-hammer" || got.NameWithNamespace != "Ada / Big Hammer" ||
		got.Visibility != "private" || *got.DefaultBranch != "main" || got.CreatorID != w.ada.ID || got.Namespace.Kind != "user" ||
		got.HTTPURLToRepo != "https://forge.example/ada/big-hammer.git" || !slices.Equal(got.Topics, []string{"iron", "tools"}) ||
		got.ImportStatus != "none" {
		t.Errorf("got %+v", got)
	}
	all := httpapitest.JSON[map[string]any](t, r)
	for name, want := range map[string]any{
		"merge_method": "ff", "builds_access_level": "disabled", "jobs_enabled": false, "wiki_access_level": "private",
		"build_timeout": 7200.0, "emails_disabled": true, "emails_enabled": false, "public_jobs": false, "ci_config_path": "ci/x.yml",
		"ci_default_git_depth": nil, "empty_repo": true, "ssh_url_to_repo": "git@forge.example:ada/big-hammer.git",
		"web_url": "https://forge.example/ada/big-hammer", "description_html": `<p dir="auto">For &lt;nails&gt;</p>`,
		"readme_url": nil, "archived": false, "shared_with_groups": []any{}, "import_url": nil,
	} {
		if diff := fmt.Sprint(all[name]); diff != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", name, all[name], want)
		}
	}
	for _, name := range []string{"repository_storage", "permissions", "forked_from_project", "statistics", "custom_attributes"} {
		if _, there := all[name]; there {
			t.Errorf("%s is shown", name)
		}
	}
	if types := w.taken(); !slices.Equal(types, []string{"project_created"}) {
		t.Errorf("audited %v", types)
	}
}

func TestThePathFollowsFromTheNameAndTheNameFromThePath(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, want := range map[string]string{
		"Hammer": "Hammer", "with.dots_and-more": "with.dots_and-more", "Two Words": "two-words", "Öl 3": "ol-3", "a  b": "a-b",
		"_x_": "x", "Ünïcode": "unicode", "x.git": "x-git", "c--d": "c-d", "C++": "c",
	} {
		if got := read(t, w.as(w.ada).Do(t, "POST", "/projects", map[string]any{"name": name}), http.StatusCreated); got.Path != want || got.Name != name {
			t.Errorf("%s: got %+v, want %s", name, got, want)
		}
	}
	if got := read(t, w.as(w.bob).Do(t, "POST", "/projects", map[string]any{"path": "only-a-path"}), http.StatusCreated); got.Name != "only-a-path" {
		t.Errorf("got %+v", got)
	}
}

func TestCreatingAProjectIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	hidden := grouptest.New(t, w.db)
	reported := grouptest.New(t, w.db)
	grouptest.Join(t, w.db, reported, w.ada, access.Reporter)
	closed := grouptest.New(t, w.db, grouptest.With(`{"project_creation_level":"noone"}`))
	grouptest.Join(t, w.db, closed, w.ada, access.Owner)
	picky := grouptest.New(t, w.db, grouptest.With(`{"project_creation_level":"maintainer"}`))
	grouptest.Join(t, w.db, picky, w.ada, access.Developer)
	mine := grouptest.New(t, w.db, grouptest.Named("mine"))
	grouptest.Join(t, w.db, mine, w.ada, access.Developer)
	grouptest.New(t, w.db, grouptest.Named("sub"), grouptest.Under(mine))
	projecttest.New(t, w.db, mine.ID, projecttest.Named("taken"))
	w.set(t, func(s *setting.Settings) { s.RestrictedVisibilityLevels = []string{"public"} })

	const invalid = `400 {"message":{"namespace":["is not valid"]}}`
	const badPath = `400 {"message":{"path":["can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'"]}}`
	const badRuns = `400 {"message":{"path":["must not start or end with a special character and must not contain consecutive special characters."]}}`
	const badName = `400 {"message":{"name":["can contain only letters, digits, emoji, '_', '.', '+', dashes, or spaces. It must start with a letter, digit, emoji, or '_'."]}}`
	for name, tc := range map[string]struct {
		body map[string]any
		want string
	}{
		"nameless":              {map[string]any{"visibility": "private"}, `400 {"error":"name, path are missing, at least one parameter must be provided"}`},
		"blank":                 {map[string]any{"name": ""}, `400 {"message":{"name":["can't be blank"],"path":["can't be blank"]}}`},
		"nowhere":               {map[string]any{"name": "x", "namespace_id": 99999999}, invalid},
		"in a hidden group":     {map[string]any{"name": "x", "namespace_id": hidden.ID}, invalid},
		"as a reporter":         {map[string]any{"name": "x", "namespace_id": reported.ID}, invalid},
		"where nobody may":      {map[string]any{"name": "x", "namespace_id": closed.ID}, invalid},
		"as a mere developer":   {map[string]any{"name": "x", "namespace_id": picky.ID}, invalid},
		"at someone else's":     {map[string]any{"name": "x", "namespace_id": w.bob.NamespaceID}, invalid},
		"a taken name and path": {map[string]any{"name": "taken", "namespace_id": mine.ID}, `400 {"message":{"name":["has already been taken"],"path":["has already been taken"]}}`},
		"a taken path":          {map[string]any{"name": "free", "path": "TAKEN", "namespace_id": mine.ID}, `400 {"message":{"path":["has already been taken"]}}`},
		"a taken name":          {map[string]any{"name": "taken", "path": "free", "namespace_id": mine.ID}, `400 {"message":{"name":["has already been taken"]}}`},
		"the path of a group":   {map[string]any{"name": "x", "path": "sub", "namespace_id": mine.ID}, `400 {"message":{"path":["has already been taken"]}}`},
		"a reserved path":       {map[string]any{"name": "x", "path": "Blob"}, `400 {"message":{"path":["Blob is a reserved name"]}}`},
		"a dash first":          {map[string]any{"name": "x", "path": "-x"}, badPath},
		"a slash":               {map[string]any{"name": "x", "path": "a/b"}, badPath},
		"ending in .git":        {map[string]any{"name": "x", "path": "x.GIT"}, badPath},
		"ending in .atom":       {map[string]any{"name": "x", "path": "x.atom"}, badPath},
		"two dashes":            {map[string]any{"name": "x", "path": "a--b"}, badRuns},
		"a dot last":            {map[string]any{"name": "x", "path": "a."}, badRuns},
		"a long path":           {map[string]any{"name": "x", "path": strings.Repeat("a", 256)}, `400 {"message":{"path":["is too long (maximum is 255 characters)"]}}`},
		"a script":              {map[string]any{"name": "<b>", "path": "x"}, badName},
		"a line break":          {map[string]any{"name": "a\nb", "path": "x"}, badName},
		"a turned text":         {map[string]any{"name": "a\u202eb", "path": "x"}, badName},
		"a long name":           {map[string]any{"name": strings.Repeat("a", 256), "path": "x"}, `400 {"message":{"name":["is too long (maximum is 255 characters)"]}}`},
		"a long description":    {map[string]any{"name": "x", "description": strings.Repeat("ä", 2001)}, `400 {"message":{"description":["is too long (maximum is 2000 characters)"]}}`},
		"a path to root":        {map[string]any{"name": "x", "ci_config_path": "/x"}, `400 {"message":{"ci_config_path":["cannot include leading slash or directory traversal."]}}`},
		"a path upwards":        {map[string]any{"name": "x", "ci_config_path": "a/../../x"}, `400 {"message":{"ci_config_path":["cannot include leading slash or directory traversal."]}}`},
		"no time":               {map[string]any{"name": "x", "build_timeout": 599}, `400 {"message":{"build_timeout":["needs to be between 10 minutes and 1 month"]}}`},
		"too much time":         {map[string]any{"name": "x", "build_timeout": 2592001}, `400 {"message":{"build_timeout":["needs to be between 10 minutes and 1 month"]}}`},
		"a restricted level":    {map[string]any{"name": "x", "visibility": "public"}, `400 {"message":{"visibility_level":["public has been restricted by your Svc administrator"]}}`},
		"no level":              {map[string]any{"name": "x", "visibility": "secret"}, `400 {"error":"visibility does not have a valid value"}`},
		"a wrong feature level": {map[string]any{"name": "x", "issues_access_level": "public"}, `400 {"error":"issues_access_level does not have a valid value"}`},
		"a file to import":      {map[string]any{"name": "x", "import_url": "file:///etc/passwd"}, `400 {"message":{"import_url":["is blocked: Only allowed schemes are http, https"]}}`},
		"jobs without code": {map[string]any{"name": "x", "repository_access_level": "disabled", "builds_access_level": "enabled"},
			`400 {"message":{"builds_access_level":["cannot have higher visibility level than repository access level"]}}`},
	} {
		r := w.as(w.ada).Do(t, "POST", "/projects", tc.body)
		if got := fmt.Sprintf("%d %s", r.Status, r.Body); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, tc.want)
		}
	}
	w.Do(t, "POST", "/projects", map[string]any{"name": "x"}).Want(t, http.StatusUnauthorized, unauthorized)
	read(t, w.as(w.root).Do(t, "POST", "/projects", map[string]any{"name": "x", "visibility": "public"}), http.StatusCreated)
}

func TestANewProjectIsNoMoreOpenThanItsGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Internal))
	grouptest.Join(t, w.db, g, w.ada, access.Developer)
	got := read(t, w.as(w.ada).Do(t, "POST", "/projects", map[string]any{"name": "x", "namespace_id": g.ID, "visibility": "public"}), http.StatusCreated)
	if got.Visibility != "internal" || got.Namespace.Kind != "group" {
		t.Errorf("got %+v", got)
	}
	w.set(t, func(s *setting.Settings) { s.DefaultProjectVisibility, s.DefaultBranchName = "public", "trunk" })
	got = read(t, w.as(w.ada).Do(t, "POST", "/projects", map[string]any{"name": "y"}), http.StatusCreated)
	if got.Visibility != "public" || *got.DefaultBranch != "trunk" {
		t.Errorf("got %+v", got)
	}
}

func TestPersonalProjectsAreLimited(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.exec(t, `update users set projects_limit = 2 where id = $1`, w.ada.ID)
	w.exec(t, `update users set projects_limit = 0 where id = $1`, w.bob.ID)
	var wait sync.WaitGroup
	made := make([]int, 4)
	for i := range made {
		wait.Go(func() {
			made[i] = w.as(w.ada).Do(t, "POST", "/projects", map[string]any{"name": fmt.Sprintf("p%d", i)}).Status
		})
	}
	wait.Wait()
	slices.Sort(made)
	if !slices.Equal(made, []int{201, 201, 403, 403}) {
		t.Errorf("got %v", made)
	}
	w.as(w.ada).Do(t, "POST", "/projects", map[string]any{"name": "more"}).
		Want(t, http.StatusForbidden, `{"error":["Your project limit is 2 projects! Please contact your administrator to increase it"]}`)
	w.as(w.bob).Do(t, "POST", "/projects", map[string]any{"name": "more"}).
		Want(t, http.StatusForbidden, `{"error":["Personal project creation is not allowed. Please contact your administrator with questions"]}`)
	g := grouptest.New(t, w.db)
	grouptest.Join(t, w.db, g, w.bob, access.Developer)
	read(t, w.as(w.bob).Do(t, "POST", "/projects", map[string]any{"name": "more", "namespace_id": g.ID}), http.StatusCreated)
}

func TestAnAdministratorCreatesForSomeoneElse(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	to := "/projects/user/" + id(w.ada.ID)
	got := read(t, w.as(w.root).Do(t, "POST", to, map[string]any{"name": "gift"}), http.StatusCreated)
	if got.PathWithNamespace != "ada/gift" || got.CreatorID != w.ada.ID {
		t.Errorf("got %+v", got)
	}
	w.as(w.root).Do(t, "POST", to, map[string]any{"path": "gift"}).Want(t, http.StatusBadRequest, `{"error":"name is missing"}`)
	w.as(w.root).Do(t, "POST", "/projects/user/99999999", map[string]any{"name": "x"}).Want(t, http.StatusNotFound, `{"message":"404 User Not Found"}`)
	w.as(w.ada).Do(t, "POST", to, map[string]any{"name": "x"}).Want(t, http.StatusForbidden, forbidden)
	w.Do(t, "POST", to, map[string]any{"name": "x"}).Want(t, http.StatusUnauthorized, unauthorized)
}

func TestTheAddressOfAnImportIsKeptWithoutItsSecret(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	r := w.as(w.ada).Do(t, "POST", "/projects", map[string]any{"name": "x", "import_url": "https://ann:hunter2@93.184.216.34/a/b.git"})
	got := read(t, r, http.StatusCreated)
	form := httpapitest.JSON[map[string]any](t, r)
	if form["import_url"] != "https://93.184.216.34/a/b.git" || form["import_type"] != "git" {
		t.Errorf("got %v %v", form["import_url"], form["import_type"])
	}
	if stored := projecttest.Read(t, w.db, got.ID); strings.Contains(fmt.Sprintf("%+v", stored), "hunter2") {
		t.Error("the secret is stored")
	}
}

func TestIM07_AnImportFromTheNetworkAroundUsIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for address, why := range map[string]string{
		"http://127.0.0.1:5432/x.git": "Requests to localhost are not allowed", "http://[::1]/x.git": "Requests to localhost are not allowed",
		"http://10.0.0.1/x.git":   "Requests to the local network are not allowed",
		"http://169.254.169.254/": "Requests to the link local network are not allowed",
		"http://0x7f.1/x.git":     "Host cannot be resolved or invalid",
		"ext::sh -c id":           "Only allowed schemes are http, https", "file:///etc": "Only allowed schemes are http, https",
		"ssh://git@93.184.216.34/x": "Only allowed schemes are http, https", "--upload-pack=id": "Only allowed schemes are http, https",
	} {
		w.as(w.ada).Do(t, "POST", "/projects", map[string]any{"name": "x", "import_url": address}).
			Want(t, http.StatusBadRequest, `{"message":{"import_url":["is blocked: `+why+`"]}}`)
	}
}

func TestTheTakenNameIsThatOfOneNamespaceAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var made []*project.Project
	for _, u := range []int64{w.ada.NamespaceID, w.bob.NamespaceID} {
		made = append(made, projecttest.New(t, w.db, u, projecttest.Named("same")))
	}
	if made[0].FullPath() == made[1].FullPath() {
		t.Error("two projects share a path")
	}
}
