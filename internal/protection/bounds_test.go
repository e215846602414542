package protection_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"stithy/internal/gitstore"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
	"stithy/internal/protection"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/setting"
)

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) actor(role access.Role) access.Actor {
	return access.Actor{Person: w.people[role].Person(), Account: w.people[role]}
}

// PE-01: a rule about tags of one project is not found through another, nor is a line of one rule through another.
func TestPE01_RulesAboutTagsAndLinesBelongToTheirPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	boss := w.as(t, access.Maintainer)
	boss.Do(t, "POST", w.at("/protected_tags"), `{"name":"v*"}`).WantStatus(t, 201)
	type rule struct {
		Push []struct{ ID int64 } `json:"push_access_levels"`
	}
	a := httpapitest.JSON[rule](t, boss.Do(t, "POST", w.at("/protected_branches"), `{"name":"a"}`).WantStatus(t, 201))
	boss.Do(t, "POST", w.at("/protected_branches"), `{"name":"b"}`).WantStatus(t, 201)
	boss.Do(t, "PATCH", w.at("/protected_branches/b"), map[string]any{
		"allowed_to_push": []any{map[string]any{"id": a.Push[0].ID, "_destroy": true}},
	}).WantStatus(t, 200)
	if got := httpapitest.JSON[rule](t, boss.Do(t, "GET", w.at("/protected_branches/a"), nil)); len(got.Push) != 1 {
		t.Errorf("a rule lost a line through another: %+v", got)
	}
	w.project = projecttest.New(t, w.db, w.home.ID)
	projecttest.Join(t, w.db, w.project, w.people[access.Owner], access.Owner)
	for _, method := range []string{"GET", "DELETE"} {
		w.as(t, access.Owner).Do(t, method, w.at("/protected_tags/v*"), nil).Want(t, 404, `{"message":"404 Not found"}`)
	}
}

func TestAProjectHasAThousandRulesOfAKindAndNoMore(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, kind := range []string{"branches", "tags"} {
		w.exec(t, `insert into protected_`+kind+` (project_id, name, created_at, updated_at)
			select $1, 'n' || n, now(), now() from generate_series(1, 999) n`, w.project.ID)
		rules := w.at("/protected_" + kind)
		w.as(t, access.Maintainer).Do(t, "POST", rules, `{"name":"the thousandth"}`).WantStatus(t, 201)
		w.as(t, access.Maintainer).Do(t, "POST", rules, `{"name":"one more"}`).Want(t, 422, `{"message":["A project has 1000 rules at the most"]}`)
	}
}

func TestWhoIsAddedToARuleCouldUseIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	boss, rules := w.as(t, access.Maintainer), w.at("/protected_branches")
	boss.Do(t, "POST", rules, `{"name":"a"}`).WantStatus(t, 201)
	for act, name := range map[string]string{"push": "Push", "merge": "Merge", "unprotect": "Unprotect"} {
		boss.Do(t, "PATCH", rules+"/a", map[string]any{"allowed_to_" + act: []any{map[string]any{"user_id": w.people[access.Guest].ID}}}).
			Want(t, 422, `{"message":["`+name+` access levels user is not a member of the project"]}`)
	}
}

func TestMembersOfAGroupThatARuleNamesHaveItsRightsUntilItGoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	boss := w.as(t, access.Maintainer)
	groups := map[bool]int64{}
	for _, tag := range []bool{false, true} {
		g := grouptest.New(t, w.db)
		grouptest.Join(t, w.db, g, w.people[access.Developer], access.Guest)
		projecttest.Share(t, w.db, w.project, g, access.Developer)
		kind, act := "branches", "push"
		if tag {
			kind, act = "tags", "create"
		}
		boss.Do(t, "POST", w.at("/protected_"+kind), map[string]any{
			"name": "named", "allowed_to_" + act: []any{map[string]any{"group_id": g.ID}},
		}).WantStatus(t, 201)
		groups[tag] = g.ID
	}
	may := func(role access.Role, tag bool) bool {
		t.Helper()
		p, err := w.projects.Find(t.Context(), w.actor(role), w.project.ID)
		if err != nil {
			t.Fatal(err)
		}
		ok, err := w.MayUpdateRef(t.Context(), w.actor(role), p, "named", tag)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	w.exec(t, `delete from protection_grants where group_id is null`) // no other line lets them
	for _, tag := range []bool{false, true} {
		if !may(access.Developer, tag) || may(access.Maintainer, tag) {
			t.Errorf("tag %t: a member may %t, another %t", tag, may(access.Developer, tag), may(access.Maintainer, tag))
		}
		w.exec(t, `update namespaces set removal = true where id = $1`, groups[tag])
		if may(access.Developer, tag) {
			t.Errorf("tag %t: a member of a group that goes may", tag)
		}
	}
}

func TestAProtectedTagIsForThoseWhomItsRuleLets(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.as(t, access.Maintainer).Do(t, "POST", w.at("/protected_tags"), `{"name":"v*"}`).WantStatus(t, 201)
	for role, want := range map[access.Role]bool{access.Developer: false, access.Maintainer: true} {
		p, err := w.projects.Find(t.Context(), w.actor(role), w.project.ID)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"v1": want, "w1": true} {
			if got, err := w.MayUpdateRef(t.Context(), w.actor(role), p, name, true); got != want || err != nil {
				t.Errorf("%d on %s: %t, %v", role, name, got, err)
			}
		}
	}
}

// The group of a project says how its first branch is protected where owners of groups may, and the instance elsewhere.
func TestTheFirstBranchIsProtectedAsTheGroupOrTheInstanceWants(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	admin := access.Actor{Person: w.root.Person()}
	want := []string{"none", "push 30 merge 40", "push 40 merge 40", "push 40 merge 30", "push 40 merge 40"}
	for _, groupsDecide := range []bool{true, false} {
		for level := range want {
			other := (level + 1) % len(want)
			ofGroup, ofInstance := level, other
			if !groupsDecide {
				ofGroup, ofInstance = other, level
			}
			if err := w.settings.Update(t.Context(), admin, func(s *setting.Settings) {
				s.GroupOwnersCanManageDefaultBranchProtection, s.DefaultBranchProtection = groupsDecide, ofInstance
			}); err != nil {
				t.Fatal(err)
			}
			g := grouptest.New(t, w.db, grouptest.With(fmt.Sprintf(`{"default_branch_protection": %d}`, ofGroup)))
			p := projecttest.New(t, w.db, g.ID)
			for range 2 { // a rule that is there stays
				if err := w.db.InTx(t.Context(), func(tx pgx.Tx) error { return w.ProtectFirst(t.Context(), tx, p, "main") }); err != nil {
					t.Fatalf("level %d: %v", level, err)
				}
			}
			got := "none"
			if r, err := w.BranchRule(t.Context(), p, "main"); err == nil {
				got = fmt.Sprintf("push %d merge %d", r.Push[0].Role, r.Merge[0].Role)
			}
			if got != want[level] {
				t.Errorf("groups decide %t, level %d: %s, want %s", groupsDecide, level, got, want[level])
			}
		}
	}
}

// Git is asked what is lost and what is known, for every ref.
func TestEveryRefOfAPushIsJudgedByWhatGitKnows(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := repositorytest.New(t, w.db, repositorytest.Store(t), w.project, repositorytest.Files{"a": "1"})
	first := repositorytest.Commit(t, repo, "main", "two", repositorytest.Files{"a": "2"})
	second := repositorytest.Commit(t, repo, "main", "three", repositorytest.Files{"a": "3"})
	hidden := repositorytest.Commit(t, repo, "side", "four", repositorytest.Files{"a": "4"})
	const main, other = gitstore.Branches + "main", gitstore.Branches + "free"
	rules := &protection.Rules{Default: "x", Branches: []protection.BranchRule{
		{Name: "main", Push: []protection.Grant{{Role: access.Developer}}},
		{Name: "kept", Merge: []protection.Grant{{Role: access.Developer}}},
	}}
	dev := protection.Writer{UserID: 3, Role: access.Developer, May: true, Web: true}
	free := gitstore.RefUpdate{Name: other, Old: gitstore.Zero, New: first}
	for name, c := range map[string]struct {
		updates []gitstore.RefUpdate
		refused bool
	}{
		"forward":                        {[]gitstore.RefUpdate{{Name: main, Old: first, New: second}}, false},
		"back":                           {[]gitstore.RefUpdate{{Name: main, Old: second, New: first}}, true},
		"back, behind another":           {[]gitstore.RefUpdate{free, {Name: main, Old: second, New: first}}, true},
		"from a protected branch":        {[]gitstore.RefUpdate{{Name: gitstore.Branches + "kept", Old: gitstore.Zero, New: first}}, false},
		"from one that is not":           {[]gitstore.RefUpdate{{Name: gitstore.Branches + "kept", Old: gitstore.Zero, New: hidden}}, true},
		"a branch that no rule is about": {[]gitstore.RefUpdate{free}, false},
	} {
		err := rules.Judge(t.Context(), repo, dev, c.updates)
		if _, refused := errors.AsType[*gitstore.RefusedError](err); refused != c.refused || (err != nil && !refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
