package project_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting"
	"stithy/internal/user"
)

// attempts are a value for everything that a form of a project shows, and for
// everything that a row of it holds.
var attempts = map[string]any{
	"name": "Other", "path": "other", "description": "changed", "default_branch": "trunk", "visibility": "internal",
	"topics": []string{"x"}, "tag_list": []string{"x"},
	"issues_access_level": "private", "repository_access_level": "private", "merge_requests_access_level": "disabled",
	"forking_access_level": "disabled", "wiki_access_level": "disabled", "builds_access_level": "disabled", "snippets_access_level": "disabled",
	"pages_access_level": "public", "analytics_access_level": "disabled", "container_registry_access_level": "disabled",
	"security_and_compliance_access_level": "enabled", "releases_access_level": "disabled", "environments_access_level": "disabled",
	"feature_flags_access_level": "disabled", "infrastructure_access_level": "disabled", "monitor_access_level": "disabled",
	"issues_enabled": false, "merge_requests_enabled": false, "wiki_enabled": false, "jobs_enabled": false, "snippets_enabled": false,
	"container_registry_enabled": false, "resolve_outdated_diff_discussions": true, "packages_enabled": false, "service_desk_enabled": true,
	"emails_disabled": true, "emails_enabled": false, "shared_runners_enabled": false, "group_runners_enabled": false, "lfs_enabled": false,
	"public_builds": false, "public_jobs": false, "ci_config_path": "x.yml", "ci_default_git_depth": 7, "ci_forward_deployment_enabled": false,
	"ci_forward_deployment_rollback_allowed": false, "ci_job_token_scope_enabled": true, "ci_separated_caches": false,
	"ci_allow_fork_pipelines_to_run_in_parent_project": false, "build_git_strategy": "clone", "keep_latest_artifact": false,
	"restrict_user_defined_variables": true, "auto_cancel_pending_pipelines": "disabled", "build_timeout": 600, "auto_devops_enabled": true,
	"auto_devops_deploy_strategy": "manual", "only_allow_merge_if_pipeline_succeeds": true, "allow_merge_on_skipped_pipeline": true,
	"request_access_enabled": false, "only_allow_merge_if_all_discussions_are_resolved": true, "remove_source_branch_after_merge": false,
	"printing_merge_request_link_enabled": false, "merge_method": "ff", "squash_option": "always", "enforce_auth_checks_on_uploads": false,
	"suggestion_commit_message": "s", "merge_commit_template": "m", "squash_commit_template": "q", "issue_branch_template": "i",
	"autoclose_referenced_issues": false, "mr_default_target_self": true,
	// Nobody sets these with a PUT, whatever their role.
	"id": 4711, "namespace_id": 4711, "namespace": "root", "creator_id": 4711, "owner": 4711, "archived": true, "avatar_url": "x",
	"storage": "elsewhere", "repository_storage": "elsewhere", "star_count": 99, "forks_count": 99, "forked_from_id": 4711,
	"forked_from_project": 4711, "import_status": "failed", "import_url": "http://x.example", "import_type": "x", "removal": true,
	"created_at": "2001-01-01", "updated_at": "2001-01-01", "last_activity_at": "2001-01-01", "runners_token": "x", "empty_repo": false,
	"path_with_namespace": "a/b", "permissions": map[string]any{"project_access": 50}, "shared_with_groups": []int{1}, "initialize_with_readme": true,
	"role": 50, "features": map[string]any{"issues": "disabled"}, "settings": map[string]any{"merge_method": "ff"}, "visibility_level": 20,
}

var neverByPut = []string{
	"id", "namespace_id", "namespace", "creator_id", "owner", "archived", "avatar_url", "storage", "repository_storage", "star_count",
	"forks_count", "forked_from_id", "forked_from_project", "import_status", "import_url", "import_type", "removal", "created_at",
	"updated_at", "last_activity_at", "runners_token", "empty_repo", "path_with_namespace", "permissions", "shared_with_groups",
	"initialize_with_readme", "role", "features", "settings", "visibility_level",
}

// PE-03: each role moves what is its own to move, and nothing else.
func TestPE03_OnlyAllowedFieldsMove(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	for _, role := range []access.Role{access.NoRole, access.Guest, access.Reporter, access.Developer, access.Maintainer, access.Owner} {
		p := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public))
		who := w.person(t, fmt.Sprintf("role%d", role))
		if role > access.NoRole {
			projecttest.Join(t, w.db, p, who, role)
		}
		before := w.row(t, p.ID)
		for name, value := range attempts {
			body, want := map[string]any{name: value}, http.StatusOK
			switch {
			case role < access.Maintainer, name == "visibility" && role < access.Owner:
				want = http.StatusForbidden
			case slices.Contains(neverByPut, name):
				want = http.StatusBadRequest
			}
			r := w.as(who).Do(t, "PUT", at(p), body)
			if r.Status != want {
				t.Errorf("%s sets %s: got %d %s, want %d", role, name, r.Status, r.Body, want)
			}
			after := w.row(t, p.ID)
			if moved := before != after; moved != (want == http.StatusOK) {
				t.Errorf("%s sets %s: moved %v\n%s\n%s", role, name, moved, before, after)
			}
			if want == http.StatusOK {
				w.exec(t, `delete from projects where id = $1`, p.ID)
				p = projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public))
				projecttest.Join(t, w.db, p, who, role)
				before = w.row(t, p.ID)
			}
		}
		// Hidden among what is allowed, the rest still does not move.
		if role == access.Owner {
			all := map[string]any{"description": "x"}
			for _, name := range neverByPut {
				all[name] = attempts[name]
			}
			read(t, w.as(who).Do(t, "PUT", at(p), all), http.StatusOK)
			after := projecttest.Read(t, w.db, p.ID)
			if after.Archived || after.NamespaceID != p.NamespaceID || after.CreatorID != nil || after.StarCount != 0 || after.Storage != "default" ||
				after.ForkedFromID != nil || after.ImportStatus != "none" || after.Settings.ImportURL != "" || after.Visibility != access.Public ||
				after.Settings.MergeMethod != "merge" || after.Features.Issues != "enabled" || !after.CreatedAt.Equal(p.CreatedAt) {
				t.Errorf("got %+v", after)
			}
		}
	}
}

// row is everything that is stored of a project.
func (w *fixture) row(t testing.TB, id int64) string {
	t.Helper()
	var text string
	err := w.db.QueryRow(t.Context(), `select to_jsonb(p)::text from projects p where id = $1`, id).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAnUpdateWithoutAttributesIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID)
	r := w.as(w.ada).Do(t, "PUT", at(p), map[string]any{"unknown": 1})
	text := httpapitest.JSON[map[string]string](t, r.WantStatus(t, http.StatusBadRequest))["error"]
	if !strings.HasPrefix(text, "name, path, description, default_branch, visibility, ") ||
		!strings.HasSuffix(text, ", mr_default_target_self are missing, at least one parameter must be provided") {
		t.Errorf("got %s", text)
	}
}

func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Named("p"))
	read(t, w.as(w.ada).Do(t, "PUT", at(p), map[string]any{
		"name": "N", "path": "n", "visibility": "public", "issues_access_level": "private", "merge_method": "ff", "default_branch": "x",
		"description": "no trace",
	}), http.StatusOK)
	w.mu.Lock()
	records := slices.Clone(w.records)
	w.mu.Unlock()
	var got []string
	for _, d := range records {
		got = append(got, fmt.Sprintf("%s %s: %s -> %s of %s %d", d.Type, d.Change.What, d.Change.From, d.Change.To, d.Entity.Kind, d.Entity.ID))
	}
	want := []string{
		"project_name_updated name: p -> N of Project 1", "project_path_updated path: ada/p -> ada/n of Project 1",
		"project_visibility_level_updated visibility: Private -> Public of Project 1",
		"project_default_branch_updated default_branch: main -> x of Project 1",
		"project_merge_method_updated merge_method: merge -> ff of Project 1",
		"project_feature_issues_access_level_updated issues_access_level: enabled -> private of Project 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	w.taken()
	read(t, w.as(w.ada).Do(t, "PUT", at(p), map[string]any{"name": "N", "visibility": "public"}), http.StatusOK)
	if types := w.taken(); types != nil {
		t.Errorf("audited %v of nothing", types)
	}
}

func TestVisibilityIsBoundedFromAbove(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Internal))
	grouptest.Join(t, w.db, g, w.ada, access.Owner)
	p := projecttest.New(t, w.db, g.ID)
	w.as(w.ada).Do(t, "PUT", at(p), map[string]any{"visibility": "public"}).
		Want(t, http.StatusBadRequest, `{"message":{"visibility_level":["public is not allowed in a internal group."]}}`)
	source := projecttest.New(t, w.db, w.ada.NamespaceID)
	fork := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.With("forked_from_id", source.ID))
	w.as(w.ada).Do(t, "PUT", at(fork), map[string]any{"visibility": "public"}).
		Want(t, http.StatusBadRequest, `{"message":{"visibility_level":["public is not allowed since the fork source project has lower visibility."]}}`)
	w.set(t, func(s *setting.Settings) { s.RestrictedVisibilityLevels = []string{"internal"} })
	w.as(w.ada).Do(t, "PUT", at(p), map[string]any{"visibility": "internal"}).
		Want(t, http.StatusBadRequest, `{"message":{"visibility_level":["internal has been restricted by your Svc administrator"]}}`)
	read(t, w.as(w.root).Do(t, "PUT", at(p), map[string]any{"visibility": "internal"}), http.StatusOK)
}

// PE-06: a fork does not stay open when its source closes.
func TestPE06_ClosingASourceCutsMoreOpenForks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	source := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Public), projecttest.With("forks_count", 2))
	open := projecttest.New(t, w.db, w.bob.NamespaceID, projecttest.Visible(access.Public), projecttest.With("forked_from_id", source.ID))
	private := projecttest.New(t, w.db, w.bob.NamespaceID, projecttest.With("forked_from_id", source.ID))
	if got := read(t, w.as(w.ada).Do(t, "PUT", at(source), map[string]any{"visibility": "private"}), http.StatusOK); got.ForksCount != 1 {
		t.Errorf("counts %d forks", got.ForksCount)
	}
	if projecttest.Read(t, w.db, open.ID).ForkedFromID != nil || projecttest.Read(t, w.db, private.ID).ForkedFromID == nil {
		t.Error("the wrong forks were cut")
	}
}

func TestFeaturesCloseWithTheRepository(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID)
	r := w.as(w.ada).Do(t, "PUT", at(p), map[string]any{"repository_access_level": "disabled"})
	form := httpapitest.JSON[map[string]any](t, r.WantStatus(t, http.StatusOK))
	for name, want := range map[string]any{
		"merge_requests_access_level": "disabled", "builds_access_level": "disabled", "issues_access_level": "enabled", "jobs_enabled": false,
		"default_branch": nil, "forks_count": nil, "readme_url": nil, "ci_config_path": nil,
	} {
		if form[name] != want {
			t.Errorf("%s: got %v", name, form[name])
		}
	}
	w.as(w.ada).Do(t, "PUT", at(p), map[string]any{"merge_requests_access_level": "private"}).
		Want(t, http.StatusBadRequest, `{"message":{"merge_requests_access_level":["cannot have higher visibility level than repository access level"]}}`)
	w.as(w.ada).Do(t, "GET", at(p)+"/languages", nil).Want(t, http.StatusForbidden, forbidden)
}

func TestOwnersArchive(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db)
	p := projecttest.New(t, w.db, g.ID)
	projecttest.Join(t, w.db, p, w.ada, access.Owner)
	maintainer := w.member(t, p, access.Maintainer)
	for _, verb := range []string{"archive", "archive", "unarchive", "unarchive"} {
		if got := read(t, w.as(w.ada).Do(t, "POST", at(p)+"/"+verb, nil), http.StatusCreated); got.Archived != (verb == "archive") {
			t.Errorf("%s: got %v", verb, got.Archived)
		}
	}
	if types := w.taken(); !slices.Equal(types, []string{"project_archived", "project_unarchived"}) {
		t.Errorf("audited %v", types)
	}
	for _, verb := range []string{"archive", "unarchive"} {
		w.as(maintainer).Do(t, "POST", at(p)+"/"+verb, nil).Want(t, http.StatusForbidden, forbidden)
		w.as(w.bob).Do(t, "POST", at(p)+"/"+verb, nil).Want(t, http.StatusNotFound, noProject)
		w.Do(t, "POST", at(p)+"/"+verb, nil).Want(t, http.StatusUnauthorized, unauthorized)
	}
}

func TestWhereARepositoryIsStoredIsForAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID)
	w.as(w.root).Do(t, "GET", at(p)+"/storage", nil).Want(t, http.StatusOK, `{"project_id":1,`+
		`"disk_path":"@hashed/6b/86/6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b","created_at":"2024-01-01T00:00:00.000Z","repository_storage":"default"}`)
	w.as(w.ada).Do(t, "GET", at(p)+"/storage", nil).Want(t, http.StatusForbidden, forbidden)
	w.as(w.ada).Do(t, "GET", at(p)+"/languages", nil).Want(t, http.StatusOK, `{}`)
}

func TestCustomAttributesAreForAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Public))
	as, to := w.as(w.root), at(p)+"/custom_attributes"
	as.Do(t, "GET", to, nil).Want(t, http.StatusOK, `[]`)
	as.Do(t, "PUT", to+"/cost", map[string]any{"value": "3"}).Want(t, http.StatusOK, `{"key":"cost","value":"3"}`)
	as.Do(t, "PUT", to+"/cost", map[string]any{"value": "4"}).Want(t, http.StatusOK, `{"key":"cost","value":"4"}`)
	as.Do(t, "PUT", to+"/cost", nil).Want(t, http.StatusBadRequest, `{"error":"value is missing"}`)
	as.Do(t, "PUT", to+"/cost", map[string]any{"value": " "}).Want(t, http.StatusBadRequest, `{"message":{"value":["can't be blank"]}}`)
	as.Do(t, "GET", to+"/cost", nil).Want(t, http.StatusOK, `{"key":"cost","value":"4"}`)
	as.Do(t, "GET", to, nil).Want(t, http.StatusOK, `[{"key":"cost","value":"4"}]`)
	for _, path := range []string{"/projects?with_custom_attributes=true", at(p) + "?with_custom_attributes=true"} {
		if r := as.Do(t, "GET", path, nil); !strings.Contains(r.Body, `"custom_attributes":[{"key":"cost","value":"4"}]`) {
			t.Errorf("%s: got %s", path, r.Body)
		}
		for _, c := range []*httpapitest.Client{w.Client, w.as(w.ada)} {
			if r := c.Do(t, "GET", path, nil); r.Status != http.StatusOK || strings.Contains(r.Body, "custom_attributes") {
				t.Errorf("%s: got %s", path, r.Body)
			}
		}
	}
	projecttest.New(t, w.db, w.ada.NamespaceID, projecttest.Visible(access.Public))
	for query, want := range map[string]int{"cost]=4": 1, "cost]=5": 0, "price]=4": 0, "cost]=4&custom_attributes[price]=4": 0} {
		path := "/projects?simple=true&custom_attributes[" + query
		if got := httpapitest.JSON[[]any](t, as.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)); len(got) != want {
			t.Errorf("%s: an administrator finds %d projects", path, len(got))
		}
		if got := httpapitest.JSON[[]any](t, w.as(w.ada).Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)); len(got) != 2 {
			t.Errorf("%s: somebody else finds %d projects", path, len(got))
		}
	}
	many := "/projects?"
	for n := range 11 {
		many += fmt.Sprintf("custom_attributes[k%d]=v&", n)
	}
	as.Do(t, "GET", many, nil).WantStatus(t, http.StatusBadRequest)
	for _, c := range []struct{ method, path string }{{"GET", to}, {"GET", to + "/cost"}, {"PUT", to + "/cost"}, {"DELETE", to + "/cost"}} {
		w.as(w.ada).Do(t, c.method, c.path, nil).Want(t, http.StatusForbidden, forbidden)
		w.Do(t, c.method, c.path, nil).Want(t, http.StatusUnauthorized, unauthorized)
	}
	as.Do(t, "DELETE", to+"/cost", nil).Want(t, http.StatusNoContent, "")
	as.Do(t, "DELETE", to+"/cost", nil).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
	as.Do(t, "GET", to+"/cost", nil).Want(t, http.StatusNotFound, `{"message":"404 Not found"}`)
	as.Do(t, "GET", "/projects/99999999/custom_attributes", nil).Want(t, http.StatusNotFound, noProject)
}

// A form holds what its viewer may see, and not one member more.
func TestTheFormDependsOnTheViewer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	g := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	p := projecttest.New(t, w.db, g.ID, projecttest.Visible(access.Public))
	private := projecttest.New(t, w.db, g.ID)
	guest := w.person(t, "guest")
	projecttest.Join(t, w.db, private, guest, access.Guest)
	maintainer := w.person(t, "maintainer")
	projecttest.Join(t, w.db, p, maintainer, access.Maintainer)
	grouptest.Join(t, w.db, g, maintainer, access.Reporter)
	members := func(c *httpapitest.Client, path string) map[string]json.RawMessage {
		return httpapitest.JSON[map[string]json.RawMessage](t, c.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK))
	}
	has := func(form map[string]json.RawMessage, name string, want bool) {
		t.Helper()
		if _, there := form[name]; there != want {
			t.Errorf("%s: there %v, want %v", name, there, want)
		}
	}
	anonymous := members(w.Client, at(p)+"?statistics=true&license=true")
	for name, want := range map[string]bool{
		"id": true, "default_branch": true, "forks_count": true, "readme_url": true, "namespace": true, "license": true, "license_url": true,
		"_links": false, "visibility": false, "statistics": false, "permissions": false, "repository_storage": false, "runners_token": false,
	} {
		has(anonymous, name, want)
	}
	stranger := members(w.as(w.ada), at(p)+"?statistics=true")
	for name, want := range map[string]bool{
		"_links": true, "visibility": true, "permissions": true, "statistics": false, "runners_token": false, "build_timeout": false,
		"import_url": false, "import_error": false, "import_status": true, "ci_config_path": true, "open_issues_count": true, "owner": false, "license": false,
	} {
		has(stranger, name, want)
	}
	if got := string(stranger["permissions"]); got != `{"project_access":null,"group_access":null}` {
		t.Errorf("got %s", got)
	}
	kept := members(w.as(maintainer), at(p)+"?statistics=true")
	for name, want := range map[string]bool{
		"statistics": true, "runners_token": true, "build_timeout": true, "import_url": true, "import_error": true, "repository_storage": false,
	} {
		has(kept, name, want)
	}
	if got := string(kept["permissions"]); got != `{"project_access":{"access_level":40,"notification_level":3},"group_access":{"access_level":20,"notification_level":3}}` {
		t.Errorf("got %s", got)
	}
	without := members(w.as(guest), at(private))
	for name, want := range map[string]bool{"default_branch": false, "forks_count": false, "readme_url": false, "ci_config_path": false, "open_issues_count": true} {
		has(without, name, want)
	}
	if got := string(without["_links"]); got != `{"self":"https://forge.example/api/v4`+at(private)+`","repo_branches":"https://forge.example/api/v4`+at(private)+`/repository/branches","members":"https://forge.example/api/v4`+at(private)+`/members"}` {
		t.Errorf("got %s", got)
	}
	has(members(w.as(w.root), at(p)), "repository_storage", true)
	own := projecttest.New(t, w.db, w.ada.NamespaceID)
	mine := members(w.as(w.ada), at(own))
	if got := string(mine["permissions"]); got != `{"project_access":{"access_level":50,"notification_level":3},"group_access":null}` {
		t.Errorf("got %s", got)
	}
	if got := httpapitest.JSON[struct{ Owner user.Public }](t, w.as(w.ada).Do(t, "GET", at(own), nil)); got.Owner.Username != "ada" {
		t.Errorf("got %+v", got)
	}
}
