package repository

import (
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/project"
)

// What a pipeline runs on is for those who see pipelines, and for jobs of the project: reading the code is not enough.
func TestWhoMayFetchTheCommitsOfPipelines(t *testing.T) {
	t.Parallel()
	person := access.Actor{Person: &access.Person{ID: 5}}
	job := func(projectID int64) access.Actor {
		return access.Actor{Person: &access.Person{ID: 5}, Credential: access.Credential{Kind: access.JobToken, ProjectID: projectID}}
	}
	for _, c := range []struct {
		name       string
		by         access.Actor
		role       access.Role
		visibility access.Visibility
		runs       project.Level
		code       project.Level
		publicJobs bool
		want       bool
	}{
		{"a stranger, all open", access.Actor{}, access.NoRole, access.Public, project.Everyone, project.Everyone, true, true},
		{"a stranger, pipelines of members", access.Actor{}, access.NoRole, access.Public, project.Members, project.Everyone, true, false},
		{"a stranger, code of members", access.Actor{}, access.NoRole, access.Public, project.Everyone, project.Members, true, false},
		{"a stranger, nothing runs", access.Actor{}, access.NoRole, access.Public, project.Off, project.Everyone, true, false},
		{"a person, pipelines of members", person, access.NoRole, access.Internal, project.Members, project.Everyone, true, false},
		{"a guest where jobs are public", person, access.Guest, access.Private, project.Members, project.Everyone, true, true},
		{"a guest where they are not", person, access.Guest, access.Private, project.Members, project.Everyone, false, false},
		{"a reporter", person, access.Reporter, access.Private, project.Members, project.Everyone, false, true},
		{"a maintainer, nothing runs", person, access.Maintainer, access.Private, project.Off, project.Everyone, true, false},
		{"a job of the project", job(7), access.Guest, access.Private, project.Members, project.Everyone, false, true},
		{"a job of another project", job(8), access.Guest, access.Private, project.Members, project.Everyone, false, false},
		{"a person with the number of the project", access.Actor{Person: person.Person, Credential: access.Credential{Kind: access.PersonalToken, ProjectID: 7}},
			access.Guest, access.Private, project.Members, project.Everyone, false, false},
	} {
		p := &project.Project{ID: 7, Visibility: c.visibility, Role: c.role}
		p.Features.Builds, p.Features.Repository, p.Settings.PublicJobs = c.runs, c.code, c.publicJobs
		if got := mayFetchPipelines(c.by, p); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
