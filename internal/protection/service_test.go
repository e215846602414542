package protection_test

import (
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/project/projecttest"
	"stithy/internal/setting"
)

// Before the first push no rule is needed: the level of new default branches
// says who may make it.
func TestTheFirstPushIsForThoseWhomTheLevelOfNewBranchesLets(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for level, developers := range []bool{true, true, false, false, true} {
		err := w.settings.Update(t.Context(), access.Actor{Person: w.root.Person()}, func(s *setting.Settings) { s.DefaultBranchProtection = level })
		if err != nil {
			t.Fatal(err)
		}
		for _, w.empty = range []bool{true, false} {
			for role, want := range map[access.Role]bool{access.Developer: developers || !w.empty, access.Maintainer: true} {
				u := w.people[role]
				by := access.Actor{Person: u.Person(), Account: u}
				p, err := w.projects.Find(t.Context(), by, w.project.ID)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := w.MayPushTo(t.Context(), by, p, "side"); got != want || err != nil {
					t.Errorf("level %d, empty %t, role %d: %t, %v", level, w.empty, role, got, err)
				}
			}
		}
	}
}

func TestARefIsProtectedByARuleOfItsKindAndProject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	boss := w.as(t, access.Maintainer)
	boss.Do(t, "POST", w.at("/protected_branches"), `{"name":"release/*"}`).WantStatus(t, 201)
	boss.Do(t, "POST", w.at("/protected_tags"), `{"name":"v*"}`).WantStatus(t, 201)
	other := projecttest.New(t, w.db, w.home.ID)
	for _, c := range []struct {
		project int64
		name    string
		tag     bool
		want    bool
	}{
		{w.project.ID, "release/1", false, true}, {w.project.ID, "release/1", true, false}, {w.project.ID, "main", false, false},
		{w.project.ID, "v1", true, true}, {w.project.ID, "v1", false, false}, {other.ID, "release/1", false, false}, {other.ID, "v1", true, false},
	} {
		if got, err := w.ProtectedRef(t.Context(), w.db, c.project, c.name, c.tag); got != c.want || err != nil {
			t.Errorf("%+v: %t, %v", c, got, err)
		}
	}
}
