package gitpath_test

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/gitpath"
	"stithy/internal/gitstore"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// found is what a path leads to: "" where it may be a project, else a path or the kind of the error.
func found(t testing.TB, s *gitpath.Service, by access.Actor, path string, service gitstore.Service) string {
	t.Helper()
	at, named, err := s.Find(t.Context(), by, path, service)
	switch f, told := fault.Of(err); {
	case told:
		return f.Kind.String()
	case err != nil:
		t.Fatal(err)
	case !named:
		return ""
	}
	return at.Path
}

func TestPathsOfWikisAndSnippets(t *testing.T) {
	t.Parallel()
	i := apptest.New(t, "STITHY_INSTANCE_TIER=premium")
	s := gitpath.New(gitpath.Deps{Projects: i.Projects, Groups: i.Groups, Wikis: i.Wikis, Snippets: i.Snippets})
	ann := usertest.New(t, i.DB, usertest.Named("ann"))
	house := grouptest.New(t, i.DB, grouptest.Named("house"), grouptest.Visible(access.Private))
	grouptest.Join(t, i.DB, house, ann, access.Owner)
	tool := projecttest.New(t, i.DB, house.ID, projecttest.Named("tool"))
	projecttest.New(t, i.DB, house.ID, projecttest.Named("odd.wiki"))
	create := func(path string, body map[string]any) (made struct{ ID int64 }) {
		t.Helper()
		return httpapitest.JSON[struct{ ID int64 }](t, i.As(t, ann).Do(t, "POST", path, body).WantStatus(t, http.StatusCreated))
	}
	create(fmt.Sprintf("/projects/%d/wikis", tool.ID), map[string]any{"title": "home", "content": "x"})
	create(fmt.Sprintf("/groups/%d/wikis", house.ID), map[string]any{"title": "home", "content": "x"})
	text := map[string]any{"title": "x", "visibility": "private", "file_name": "a", "content": "x"}
	own := fmt.Sprintf("snippets/%d", create("/snippets", text).ID)
	in := fmt.Sprintf("house/tool/snippets/%d", create(fmt.Sprintf("/projects/%d/snippets", tool.ID), text).ID)

	as := func(u *user.User, kind access.Kind) access.Actor {
		return access.Actor{Person: u.Person(), Account: u, Credential: access.Credential{Kind: kind, ProjectID: tool.ID, Scopes: access.Scopes{access.ScopeAPI}}}
	}
	missing, forbidden := fault.NotFound.String(), fault.Forbidden.String()
	bob := usertest.New(t, i.DB, usertest.Named("bob"))
	for _, c := range []struct {
		path               string
		ann, job, stranger string
	}{
		{"house/tool", "", "", ""},
		{"house/odd.wiki", "", "", ""},
		{"snippets", "", "", ""},
		{"house/snippets/x", "", "", ""},
		{"house/tool.wiki", "house/tool.wiki", missing, missing}, // the job is none of the project's
		{"house.wiki", "house.wiki", missing, missing},
		{"house/none.wiki", missing, missing, missing},
		{own, own, missing, missing},
		{in, in, missing, missing},
		{"snippets/999", missing, missing, missing},
		{"house/tool/" + own, missing, missing, missing},
		{in[len("house/tool/"):], missing, missing, missing},
	} {
		if got := found(t, s, as(ann, access.SSHKey), c.path, gitstore.ReceivePack); got != c.ann {
			t.Errorf("%s is %q to its owner, want %q", c.path, got, c.ann)
		}
		if got := found(t, s, as(ann, access.JobToken), c.path, gitstore.UploadPack); got != c.job {
			t.Errorf("%s is %q to a job, want %q", c.path, got, c.job)
		}
		if got := found(t, s, as(bob, access.SSHKey), c.path, gitstore.UploadPack); got != c.stranger {
			t.Errorf("%s is %q to a stranger, want %q", c.path, got, c.stranger)
		}
	}
	reader := as(ann, access.PersonalToken)
	reader.Credential.Scopes = access.Scopes{access.ScopeReadRepository}
	for service, want := range map[gitstore.Service]string{gitstore.UploadPack: own, gitstore.ReceivePack: forbidden, "git-shell": forbidden} {
		if got := found(t, s, reader, own, service); got != want {
			t.Errorf("%s with a token that reads is %q, want %q", service, got, want)
		}
	}
}

// A push to a path that is free makes a project, but none that would stand in the place of a wiki.
func TestNoProjectIsMadeWhereAWikiMayBe(t *testing.T) {
	t.Parallel()
	i := apptest.New(t)
	ann := usertest.New(t, i.DB, usertest.Named("ann"))
	home := grouptest.Personal(t, i.DB, ann)
	by := access.Actor{Person: ann.Person(), Account: ann}
	if _, err := i.Projects.CreateAt(t.Context(), by, home.FullPath+"/tool.wiki"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a project for a wiki: %v", err)
	}
	if _, err := i.Projects.CreateAt(t.Context(), by, home.FullPath+"/tool"); err != nil {
		t.Errorf("a project: %v", err)
	}
}
