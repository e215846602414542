package project_test

import (
	"fmt"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

// The condition of lists and the policy say the same, for every kind of project and
// of person.
func TestPE08_ListsOfJobsAreFilteredByThePolicy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	home := grouptest.New(t, w.db, grouptest.Visible(access.Public))
	people := map[string]access.Actor{
		"admin":    {Person: w.root.Person()},
		"auditor":  {Person: usertest.New(t, w.db, usertest.With("auditor", true)).Person()},
		"external": {Person: usertest.New(t, w.db, usertest.With("external", true)).Person()},
		"stranger": {Person: w.bob.Person()},
	}
	for _, role := range access.Roles {
		u := usertest.New(t, w.db)
		people[role.String()] = access.Actor{Person: u.Person()}
		grouptest.Join(t, w.db, home, u, role)
	}
	levels := []string{"", "enabled", "private", "disabled"}
	for _, visibility := range []access.Visibility{access.Private, access.Internal, access.Public} {
		for _, code := range levels {
			for _, builds := range levels {
				for _, jobs := range []string{"{}", `{"public_jobs": true}`, `{"public_jobs": false}`} {
					features := `{}`
					switch {
					case code != "" && builds != "":
						features = fmt.Sprintf(`{"repository": %q, "builds": %q}`, code, builds)
					case code != "":
						features = fmt.Sprintf(`{"repository": %q}`, code)
					case builds != "":
						features = fmt.Sprintf(`{"builds": %q}`, builds)
					}
					projecttest.New(t, w.db, home.ID, projecttest.Visible(visibility), projecttest.With("features", features), projecttest.With("settings", jobs))
				}
			}
		}
	}
	ids, err := postgres.Values[int64](t.Context(), w.db, `select id from projects order by id`)
	if err != nil || len(ids) < 144 {
		t.Fatal(len(ids), err)
	}
	for name, actor := range people {
		seen, err := w.projects.Among(t.Context(), actor, ids)
		if err != nil {
			t.Fatal(err)
		}
		reader := w.projects.JobsReader(actor)
		listed, err := postgres.Values[int64](t.Context(), w.db,
			`select p.id from projects p join namespaces n on n.id = p.namespace_id where `+project.ReadsJobs, reader[:]...)
		if err != nil {
			t.Fatal(err)
		}
		read := map[int64]bool{}
		for _, id := range listed {
			read[id] = true
		}
		for _, id := range ids {
			p := seen[id]
			if want := p != nil && access.Holds(actor, access.ReadJobs, p.Target()); read[id] != want {
				p := projecttest.Read(t, w.db, id)
				t.Errorf("%s, visibility %v, code %s, builds %s, public jobs %v: listed %v, the policy says %v",
					name, p.Visibility, p.Features.Repository, p.Features.Builds, p.Settings.PublicJobs, read[id], want)
			}
		}
	}
}
