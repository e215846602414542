package protection_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
)

func TestARuleAboutBranchesLivesThroughTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	boss, rules := w.as(t, access.Maintainer), w.at("/protected_branches")
	boss.Do(t, "POST", rules, `{"name":"release/*","push_access_level":30,"allow_force_push":true}`).Want(t, 201,
		`{"id":1,"name":"release/*","push_access_levels":[{"id":1,"access_level":30,"access_level_description":"Developers + Maintainers",`+
			`"deploy_key_id":null,"user_id":null,"group_id":null}],`+
			`"merge_access_levels":[{"id":2,"access_level":40,"access_level_description":"Maintainers","user_id":null,"group_id":null}],`+
			`"allow_force_push":true,"unprotect_access_levels":[],"code_owner_approval_required":false}`)
	boss.Do(t, "POST", rules, `{"name":"release/*"}`).Want(t, 409, `{"message":"Protected branch 'release/*' already exists"}`)
	boss.Do(t, "POST", rules, `{"name":" "}`).Want(t, 422, `{"message":["Name can't be blank"]}`)
	boss.Do(t, "POST", rules, map[string]string{"name": strings.Repeat("x", 256)}).Want(t, 422,
		`{"message":["Name is too long (maximum is 255 characters)"]}`)
	boss.Do(t, "POST", rules, `{"name":"x","push_access_level":20}`).Want(t, 400, `{"error":"push_access_level does not have a valid value"}`)
	boss.Do(t, "POST", rules, `{}`).Want(t, 400, `{"error":"name is missing"}`)
	boss.Do(t, "GET", rules+"/release%2F*", nil).WantStatus(t, 200)
	boss.Do(t, "GET", rules+"/nope", nil).Want(t, 404, `{"message":"404 Not found"}`)
	if got := boss.Do(t, "GET", rules+"?search=LEASE", nil); got.Header.Get("X-Total") != "1" {
		t.Errorf("the search found %s", got.Body)
	}
	boss.Do(t, "GET", rules+"?search=other", nil).Want(t, 200, `[]`)
	boss.Do(t, "PATCH", rules+"/release%2F*", `{"allow_force_push":""}`).Want(t, 400, `{"error":"allow_force_push is empty"}`)
	var rule struct {
		AllowForcePush bool `json:"allow_force_push"`
	}
	boss.Do(t, "PATCH", rules+"/release%2F*", `{"allow_force_push":false}`).WantStatus(t, 200).Decode(t, &rule)
	if rule.AllowForcePush {
		t.Error("force stayed allowed")
	}
	boss.Do(t, "DELETE", rules+"/release%2F*", nil).Want(t, 204, ``)
	boss.Do(t, "DELETE", rules+"/release%2F*", nil).Want(t, 404, `{"message":"404 Not found"}`)
	if diff := cmp.Diff([]string{"protected_branch_created", "protected_branch_updated", "protected_branch_removed"}, w.taken()); diff != "" {
		t.Error(diff)
	}
}

func TestPeopleAndGroupsAreNamedInRulesWhenTheyCouldUseThem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	boss, rules := w.as(t, access.Maintainer), w.at("/protected_branches")
	stranger, invited := grouptest.New(t, w.db), grouptest.New(t, w.db)
	projecttest.Share(t, w.db, w.project, invited, access.Developer)
	dev, guest := w.people[access.Developer], w.people[access.Guest]
	boss.Do(t, "POST", rules, map[string]any{"name": "a", "allowed_to_push": []any{map[string]any{"user_id": guest.ID}}}).
		Want(t, 422, `{"message":["Push access levels user is not a member of the project"]}`)
	boss.Do(t, "POST", rules, map[string]any{"name": "a", "allowed_to_merge": []any{map[string]any{"group_id": stranger.ID}}}).
		Want(t, 422, `{"message":["Merge access levels group does not have access to the project"]}`)
	boss.Do(t, "POST", rules, map[string]any{"name": "a", "allowed_to_push": []any{map[string]any{"access_level": 20}}}).
		Want(t, 422, `{"message":["Access level is not included in the list"]}`)
	type line struct {
		ID      int64  `json:"id"`
		Level   int    `json:"access_level"`
		Text    string `json:"access_level_description"`
		UserID  *int64 `json:"user_id"`
		GroupID *int64 `json:"group_id"`
	}
	type shown struct {
		Push      []line `json:"push_access_levels"`
		Merge     []line `json:"merge_access_levels"`
		Unprotect []line `json:"unprotect_access_levels"`
	}
	var got shown
	boss.Do(t, "POST", rules, map[string]any{
		"name": "a", "allowed_to_push": []any{map[string]any{"user_id": dev.ID}, map[string]any{"group_id": invited.ID}},
		"allowed_to_unprotect": []any{map[string]any{"access_level": 60}},
	}).WantStatus(t, 201).Decode(t, &got)
	if len(got.Push) != 2 || *got.Push[0].UserID != dev.ID || *got.Push[1].GroupID != invited.ID || len(got.Merge) != 1 ||
		got.Push[0].Text != dev.Name || len(got.Unprotect) != 1 {
		t.Fatalf("got %+v", got)
	}
	// Only whom the rule names may change it.
	boss.Do(t, "DELETE", rules+"/a", nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	boss.Do(t, "PATCH", rules+"/a", `{"allow_force_push":true}`).Want(t, 403, `{"message":"403 Forbidden"}`)
	got = shown{}
	w.admin().Do(t, "PATCH", rules+"/a", map[string]any{
		"allowed_to_push": []any{map[string]any{"id": 1, "_destroy": true}, map[string]any{"access_level": 0}}, "unprotect_access_level": 40,
	}).WantStatus(t, 200).Decode(t, &got)
	if len(got.Push) != 2 || *got.Push[0].GroupID != invited.ID || got.Push[1].Level != 0 || got.Push[1].Text != "No one" ||
		len(got.Unprotect) != 1 || got.Unprotect[0].Level != 40 {
		t.Fatalf("got %+v", got)
	}
	boss.Do(t, "DELETE", rules+"/a", nil).Want(t, 204, ``)
}

func TestARuleAboutTagsLivesThroughTheAPI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	boss, rules := w.as(t, access.Maintainer), w.at("/protected_tags")
	boss.Do(t, "POST", rules, `{"name":"v*","create_access_level":"30"}`).Want(t, 201,
		`{"name":"v*","create_access_levels":[{"id":1,"access_level":30,"access_level_description":"Developers + Maintainers",`+
			`"deploy_key_id":null,"user_id":null,"group_id":null}]}`)
	boss.Do(t, "POST", rules, `{"name":"v*"}`).Want(t, 422, `{"message":["Name has already been taken"]}`)
	boss.Do(t, "GET", rules+"/v*", nil).WantStatus(t, 200)
	if got := httpapitest.JSON[[]struct{ Name string }](t, boss.Do(t, "GET", rules, nil)); len(got) != 1 || got[0].Name != "v*" {
		t.Errorf("got %+v", got)
	}
	w.as(t, access.Developer).Do(t, "GET", rules, nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	w.as(t, access.Developer).Do(t, "DELETE", rules+"/v*", nil).Want(t, 403, `{"message":"403 Forbidden"}`)
	boss.Do(t, "DELETE", rules+"/v*", nil).Want(t, 204, ``)
	boss.Do(t, "GET", rules+"/v*", nil).Want(t, 404, `{"message":"404 Not found"}`)
}

// PE-01: a rule of one project is not found through another.
func TestARuleBelongsToItsProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := projecttest.New(t, w.db, w.home.ID)
	projecttest.Join(t, w.db, other, w.people[access.Owner], access.Owner)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_branches"), `{"name":"main"}`).WantStatus(t, 201)
	owner := w.as(t, access.Owner)
	w.project = other
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		owner.Do(t, method, w.at("/protected_branches/main"), nil).Want(t, 404, `{"message":"404 Not found"}`)
	}
}
