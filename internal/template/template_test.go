package template_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public project with a reporter, and a stranger.
type fixture struct {
	*apptest.Instance
	project            *project.Project
	reporter, stranger *user.User
}

func newFixture(t testing.TB, files repositorytest.Files) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	house := grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, house.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	w.reporter, w.stranger = usertest.New(t, w.DB, usertest.Named("reporter")), usertest.New(t, w.DB, usertest.Named("stranger"))
	projecttest.Join(t, w.DB, w.project, w.reporter, access.Reporter)
	if files != nil {
		repositorytest.New(t, w.DB, w.Store, w.project, files)
	}
	return w
}

func (w *fixture) at(path string) string { return fmt.Sprintf("/projects/%d%s", w.project.ID, path) }

// codeForMembers hides the code from strangers.
func (w *fixture) codeForMembers(t testing.TB) {
	t.Helper()
	const sql = `update projects set features = jsonb_set(features, '{repository}', '"private"') where id = $1`
	if _, err := w.DB.Exec(t.Context(), sql, w.project.ID); err != nil {
		t.Fatal(err)
	}
}

// described is the description of a new issue.
func (w *fixture) described(t testing.TB, as *user.User, description any) string {
	t.Helper()
	made := httpapitest.JSON[struct{ Description *string }](t, w.As(t, as).Do(t, "POST", w.at("/issues"), map[string]any{
		"title": "Mend the door", "description": description,
	}).WantStatus(t, http.StatusCreated))
	if made.Description == nil {
		return "none"
	}
	return *made.Description
}

func TestTemplatesAreTheFilesOfTheirFolder(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repositorytest.Files{
		".svc/issue_templates/bug.md": "What is wrong?\n", ".svc/issue_templates/A wish.md": "What\x00 would \xffbe fine?", ".svc/issue_templates/readme.txt": "x",
		".svc/issue_templates/more/deep.md": "x", ".svc/issue_templates/.md": "x", ".svc/issue_templates/large.md": strings.Repeat("x", 1<<20+1),
		".svc/merge_request_templates/change.md": "What changes?", "bug.md": "x",
	})
	const list = `[{"key":"A wish","name":"A wish"},{"key":"bug","name":"bug"},{"key":"large","name":"large"}]`
	w.Do(t, "GET", w.at("/templates/issues"), nil).Want(t, http.StatusOK, list)
	w.Do(t, "GET", w.at("/templates/issues?per_page=1&page=2"), nil).Want(t, http.StatusOK, `[{"key":"bug","name":"bug"}]`)
	w.Do(t, "GET", w.at("/templates/merge_requests"), nil).Want(t, http.StatusOK, `[{"key":"change","name":"change"}]`)
	w.Do(t, "GET", w.at("/templates/issues/bug"), nil).Want(t, http.StatusOK, `{"name":"bug","content":"What is wrong?\n"}`)
	w.Do(t, "GET", w.at("/templates/issues/A%20wish"), nil).Want(t, http.StatusOK, `{"name":"A wish","content":"What would ?be fine?"}`)
	w.Do(t, "GET", w.at("/templates/merge_requests/change"), nil).Want(t, http.StatusOK, `{"name":"change","content":"What changes?"}`)
	for _, name := range []string{"change", "Bug", "bug.md", "large", "more%2Fdeep", "..%2F..%2Fbug", "readme", "readme.txt"} {
		w.Do(t, "GET", w.at("/templates/issues/"+name), nil).Want(t, http.StatusNotFound, `{"message":"404 Template Not Found"}`)
	}
	w.Do(t, "GET", w.at("/templates/poems"), nil).Want(t, http.StatusBadRequest, `{"error":"type does not have a valid value"}`)
	if got := w.described(t, w.reporter, nil); got != "none" {
		t.Errorf("without a default one: %q", got)
	}
}

func TestPE02_TemplatesAreCode(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repositorytest.Files{".svc/issue_templates/default.md": "A secret"})
	w.codeForMembers(t)
	w.As(t, w.stranger).Do(t, "GET", w.at("/templates/issues"), nil).Want(t, http.StatusOK, `[]`)
	w.As(t, w.stranger).Do(t, "GET", w.at("/templates/issues/default"), nil).Want(t, http.StatusNotFound, `{"message":"404 Template Not Found"}`)
	if got := w.described(t, w.stranger, nil); got != "none" {
		t.Errorf("a stranger is given %q", got)
	}
	w.As(t, w.reporter).Do(t, "GET", w.at("/templates/issues/default"), nil).Want(t, http.StatusOK, `{"name":"default","content":"A secret"}`)
}

func TestAnIssueWithoutADescriptionBeginsWithTheDefaultTemplate(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repositorytest.Files{".svc/issue_templates/Default.md": "What is wrong?\n\n/confidential\n"})
	for given, want := range map[any]string{nil: "What is wrong?", "": "What is wrong?", "It squeaks.": "It squeaks."} {
		if got := strings.TrimSpace(w.described(t, w.reporter, given)); got != want {
			t.Errorf("%v: %q", given, got)
		}
	}
}

func TestAProjectWithoutCodeHasNoTemplates(t *testing.T) {
	t.Parallel()
	for _, files := range []repositorytest.Files{nil, {}, {"a": "b"}} {
		w := newFixture(t, files)
		w.Do(t, "GET", w.at("/templates/issues"), nil).Want(t, http.StatusOK, `[]`)
		w.Do(t, "GET", w.at("/templates/issues/bug"), nil).Want(t, http.StatusNotFound, `{"message":"404 Template Not Found"}`)
		if got := w.described(t, w.reporter, nil); got != "none" {
			t.Errorf("%v: %q", files, got)
		}
	}
}
