package repository_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/setting"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func names(t testing.TB, r *httpapitest.Reply) (all []string) {
	t.Helper()
	for _, b := range httpapitest.JSON[[]struct{ Name string }](t, r.WantStatus(t, 200)) {
		all = append(all, b.Name)
	}
	return all
}

func TestABranchLivesThroughTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1\n"})
	dev, branches := w.as(t, access.Developer), w.at("/repository/branches")
	var made struct {
		Name      string
		Protected bool
		CanPush   bool `json:"can_push"`
		Merged    bool
		Default   bool
		Commit    struct{ Title string }
		WebURL    string `json:"web_url"`
	}
	dev.Do(t, "POST", branches, `{"branch":"feature/x","ref":"main"}`).WantStatus(t, 201).Decode(t, &made)
	if made.Name != "feature/x" || made.Protected || !made.CanPush || made.Merged || made.Default || made.Commit.Title != "Initial commit" ||
		made.WebURL != "https://forge.example/house/forge/-/tree/feature/x" {
		t.Errorf("got %+v", made)
	}
	dev.Do(t, "POST", branches, `{"branch":"feature/x","ref":"main"}`).Want(t, 400, `{"message":"Branch already exists"}`)
	dev.Do(t, "POST", branches, `{"branch":"a..b","ref":"main"}`).Want(t, 400, `{"message":"Branch name is invalid"}`)
	dev.Do(t, "POST", branches, `{"branch":"b","ref":"nope"}`).Want(t, 400, `{"message":"Failed to create branch 'b': invalid reference name 'nope'"}`)
	dev.Do(t, "POST", branches, `{"branch":""}`).Want(t, 400, `{"error":"branch is empty, ref is missing, ref is empty"}`)
	w.as(t, access.Reporter).Do(t, "POST", branches, `{"branch":"b","ref":"main"}`).Want(t, 403, `{"message":"403 Forbidden"}`)
	repositorytest.Commit(t, repo, "main", "More", repositorytest.Files{"b": "2\n"})
	for query, want := range map[string][]string{
		"": {"feature/x", "main"}, "?search=EAT": {"feature/x"}, "?search=^ma": {"main"}, "?search=x$": {"feature/x"}, "?regex=^f.*x$": {"feature/x"},
		"?sort=updated_desc": {"feature/x", "main"}, "?pagination=keyset&per_page=1": {"feature/x"},
		"?pagination=keyset&per_page=1&page_token=feature%2Fx": {"main"},
	} {
		if diff := cmp.Diff(want, names(t, w.Do(t, "GET", branches+query, nil))); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	w.Do(t, "GET", branches+"?regex=(", nil).Want(t, 400, `{"error":"regex is invalid"}`)
	w.Do(t, "GET", branches+"/feature%2Fx", nil).WantStatus(t, 200).Decode(t, &made)
	if !made.Merged || made.CanPush {
		t.Errorf("to a stranger it is %+v", made)
	}
	w.Do(t, "HEAD", branches+"/feature%2Fx", nil).WantStatus(t, 204)
	w.Do(t, "HEAD", branches+"/nope", nil).WantStatus(t, 404)
	w.Do(t, "GET", branches+"/nope", nil).Want(t, 404, `{"message":"404 Branch Not Found"}`)
	w.Do(t, "GET", branches+"/a..b", nil).Want(t, 400, `{"message":"The branch refname is invalid"}`)
	dev.Do(t, "DELETE", branches+"/main", nil).Want(t, 400, `{"message":"The default branch of a project cannot be deleted."}`)
	dev.With("If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT").Do(t, "DELETE", branches+"/feature%2Fx", nil).
		Want(t, 412, `{"message":"412 Precondition Failed"}`)
	dev.Do(t, "DELETE", branches+"/feature%2Fx", nil).Want(t, 204, ``)
	dev.Do(t, "DELETE", branches+"/feature%2Fx", nil).Want(t, 404, `{"message":"404 Branch Not Found"}`)

	boss := w.as(t, access.Maintainer)
	boss.Do(t, "PUT", branches+"/main/protect", `{"developers_can_push":true}`).WantStatus(t, 200).Decode(t, &made)
	if !made.Protected {
		t.Errorf("got %+v", made)
	}
	boss.Do(t, "PUT", branches+"/main/unprotect", nil).WantStatus(t, 200).Decode(t, &made)
	if made.Protected {
		t.Errorf("got %+v", made)
	}
}

func TestMergedBranchesGoButForProtectedOnes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1\n"})
	boss, branches := w.as(t, access.Maintainer), w.at("/repository/branches")
	for _, name := range []string{"merged", "kept"} {
		boss.Do(t, "POST", branches, `{"branch":"`+name+`","ref":"main"}`).WantStatus(t, 201)
	}
	boss.Do(t, "POST", w.at("/protected_branches"), `{"name":"kept"}`).WantStatus(t, 201)
	repositorytest.Commit(t, repo, "main", "On", repositorytest.Files{"b": "2\n"})
	repositorytest.Commit(t, repo, "open", "Other", repositorytest.Files{"c": "3\n"})
	boss.Do(t, "DELETE", w.at("/repository/merged_branches"), nil).Want(t, 202, `{"message":"202 Accepted"}`)
	by := w.actor(access.Maintainer)
	p, err := w.projects.Find(t.Context(), by, w.project.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.repositories.DeleteMerged(t.Context(), by, p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kept", "main", "open"}, names(t, w.Do(t, "GET", branches, nil))); diff != "" {
		t.Error(diff)
	}
}

// CI-01 for branches: who asked for their removal is admitted as they are when it
// happens.
func TestCI01_MergedBranchesGoForThoseWhoWouldBeLetInNow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1\n"})
	closed := projecttest.New(t, w.db, w.home.ID, projecttest.Named("closed"))
	hidden := repositorytest.New(t, w.db, w.store, closed, repositorytest.Files{"a": "1\n"})
	type becomes struct {
		column string
		value  any
		admin  bool
		stays  bool
	}
	cases := map[string]becomes{
		"as before": {}, "an administrator": {admin: true}, "admin mode is on": {admin: true, stays: true},
		"unconfirmed": {column: "confirmed_at", stays: true},
		"expired":     {column: "password_expires_at", value: time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC), stays: true},
	}
	for _, state := range []user.State{user.Blocked, user.LDAPBlocked, user.Pending, user.Banned, user.Deactivated} {
		cases[string(state)] = becomes{column: "state", value: string(state), stays: true}
	}
	for name, c := range cases {
		who, p, at := usertest.New(t, w.db), w.project, repo
		if c.admin {
			who, p, at = usertest.New(t, w.db, usertest.Admin()), closed, hidden
		} else {
			projecttest.Join(t, w.db, p, who, access.Maintainer)
		}
		root, err := at.Ref(t.Context(), gitstore.Branches+"main")
		if err != nil {
			t.Fatal(err)
		}
		if err := at.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: gitstore.Branches + "merged", Old: gitstore.Zero, New: root.Target}}); err != nil {
			t.Fatal(err)
		}
		repositorytest.Commit(t, at, "main", "On", repositorytest.Files{"b": name})
		if c.column != "" {
			if _, err := w.db.Exec(t.Context(), `update users set `+c.column+` = $2 where id = $1`, who.ID, c.value); err != nil {
				t.Fatal(err)
			}
		}
		mode := name == "admin mode is on"
		if err := w.settings.Update(t.Context(), access.Actor{}, func(s *setting.Settings) { s.AdminMode = mode }); err != nil {
			t.Fatal(err)
		}
		if err := w.repositories.WorkMerged(t.Context(), p.ID, who.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		ref, err := at.Ref(t.Context(), gitstore.Branches+"merged")
		if there := err == nil; there != c.stays {
			t.Errorf("%s: the branch is there: %t, %v", name, there, err)
		}
		if err == nil {
			if err := at.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Name: gitstore.Branches + "merged", Old: ref.Target, New: gitstore.Zero}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestATagLivesThroughTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.fill(t, repositorytest.Files{"a": "1\n"})
	dev, tags := w.as(t, access.Developer), w.at("/repository/tags")
	var tag struct {
		Name, Message, Target string
		CreatedAt             *string `json:"created_at"`
		Commit                struct{ ID string }
		Release               *struct{}
	}
	dev.Do(t, "POST", tags, `{"tag_name":"v1.9.0","ref":"main"}`).WantStatus(t, 201).Decode(t, &tag)
	if tag.Message != "" || tag.Target != tag.Commit.ID || tag.CreatedAt != nil || tag.Release != nil {
		t.Errorf("got %+v", tag)
	}
	dev.Do(t, "POST", tags, `{"tag_name":"v1.10.0","ref":"main","message":"Ten"}`).WantStatus(t, 201).Decode(t, &tag)
	if tag.Message != "Ten" || tag.Target == tag.Commit.ID || tag.CreatedAt == nil {
		t.Errorf("got %+v", tag)
	}
	for body, want := range map[string]string{
		`{"tag_name":"v1.9.0","ref":"main"}`: "Tag v1.9.0 already exists", `{"tag_name":"a b","ref":"main"}`: "Tag name invalid",
		`{"tag_name":"t","ref":""}`: "Target is empty", `{"tag_name":"t","ref":"nope"}`: "Target nope is invalid",
		`{"tag_name":"main","ref":"main"}`: "You cannot use default branch name to create a tag",
	} {
		dev.Do(t, "POST", tags, body).Want(t, 400, `{"message":"`+want+`"}`)
	}
	for query, want := range map[string][]string{
		"?order_by=name": {"v1.9.0", "v1.10.0"}, "?order_by=version": {"v1.10.0", "v1.9.0"}, "?order_by=version&sort=asc": {"v1.9.0", "v1.10.0"},
		"?search=^v1.1": {"v1.10.0"}, "?order_by=name&sort=asc&pagination=keyset&per_page=1&page_token=v1.10.0": {"v1.9.0"},
	} {
		if diff := cmp.Diff(want, names(t, w.Do(t, "GET", tags+query, nil))); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	w.Do(t, "GET", tags+"?pagination=keyset&page_token=nope", nil).Want(t, 422, `{"message":"Invalid page token: refs/tags/nope"}`)
	w.Do(t, "GET", tags+"/nope", nil).Want(t, 404, `{"message":"404 Tag Not Found"}`)
	w.Do(t, "GET", tags+"/v1.9.0/signature", nil).Want(t, 404, `{"message":"404 Signature Not Found"}`)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_tags"), `{"name":"v*"}`).WantStatus(t, 201)
	dev.Do(t, "DELETE", tags+"/v1.9.0", nil).Want(t, 400,
		`{"message":"You are not allowed to delete protected tags from this project. Only a project maintainer or owner can delete a protected tag."}`)
	w.as(t, access.Maintainer).Do(t, "DELETE", tags+"/v1.9.0", nil).Want(t, 204, ``)
}

// GI-06: whatever writes through the API is held against the same rules.
func TestGI06_EveryWriterOfTheAPIIsHeldAgainstTheRules(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := w.fill(t, repositorytest.Files{"a": "1\n"})
	boss, dev := w.as(t, access.Maintainer), w.as(t, access.Developer)
	boss.Do(t, "POST", w.at("/repository/branches"), `{"branch":"safe","ref":"main"}`).WantStatus(t, 201)
	side := repositorytest.Commit(t, repo, "side", "Side", repositorytest.Files{"s": "1\n"})
	for _, rule := range []string{`{"name":"safe"}`, `{"name":"main","push_access_level":0}`, `{"name":"new*","push_access_level":40,"merge_access_level":0}`} {
		boss.Do(t, "POST", w.at("/protected_branches"), rule).WantStatus(t, 201)
	}
	boss.Do(t, "POST", w.at("/protected_tags"), `{"name":"v*"}`).WantStatus(t, 201)
	before := map[string]string{}
	for _, name := range []string{"refs/heads/safe", "refs/heads/main"} {
		ref, err := repo.Ref(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = string(ref.Target)
	}
	edit := `"commit_message":"m","content":"x"`
	for _, branch := range []string{"safe", "main", "new1"} {
		for _, call := range []struct{ method, path, body string }{
			{"POST", "/repository/files/n", `{"branch":"` + branch + `",` + edit + `}`},
			{"PUT", "/repository/files/a", `{"branch":"` + branch + `",` + edit + `}`},
			{"DELETE", "/repository/files/a", `{"branch":"` + branch + `","commit_message":"m"}`},
			{"POST", "/repository/commits", `{"branch":"` + branch + `","commit_message":"m","actions":[{"action":"create","file_path":"n"}]}`},
			{"POST", "/repository/commits", `{"branch":"` + branch + `","start_branch":"side","force":true,"commit_message":"m","actions":[{"action":"create","file_path":"n"}]}`},
			{"POST", "/repository/commits/" + string(side) + "/cherry_pick", `{"branch":"` + branch + `"}`},
			{"POST", "/repository/commits/main/revert", `{"branch":"` + branch + `"}`},
			{"POST", "/repository/branches", `{"branch":"` + branch + `","ref":"side"}`},
			{"DELETE", "/repository/branches/" + url.PathEscape(branch), ""},
		} {
			var body any
			if call.body != "" {
				body = call.body
			}
			if r := dev.Do(t, call.method, w.at(call.path), body); r.Status < 400 || r.Status > 404 {
				t.Errorf("%s %s on %s: %d %s", call.method, call.path, branch, r.Status, r.Body)
			}
		}
	}
	for _, body := range []string{`{"tag_name":"v1","ref":"main"}`, `{"tag_name":"v1","ref":"main","message":"m"}`} {
		dev.Do(t, "POST", w.at("/repository/tags"), body).Want(t, 400, `{"message":"You are not allowed to create this tag as it is protected."}`)
	}
	for name, was := range before {
		if ref, err := repo.Ref(t.Context(), name); err != nil || string(ref.Target) != was {
			t.Errorf("%s moved to %v, %v", name, ref, err)
		}
	}
	if _, err := repo.Ref(t.Context(), "refs/heads/new1"); err == nil {
		t.Error("a protected branch was made")
	}
}
