package todo_test

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public project with a guest, a reporter and a developer, an administrator, and a stranger.
type fixture struct {
	*apptest.Instance
	house                      *group.Group
	project                    *project.Project
	root, stranger             *user.User
	guest, reporter, developer *user.User
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.house = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, w.house.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	for name, at := range map[string]struct {
		who  **user.User
		role access.Role
	}{"guest": {&w.guest, access.Guest}, "reporter": {&w.reporter, access.Reporter}, "developer": {&w.developer, access.Developer}} {
		*at.who = usertest.New(t, w.DB, usertest.Named(name))
		projecttest.Join(t, w.DB, w.project, *at.who, at.role)
	}
	return w
}

// made is an issue or a note.
type made struct {
	ID        int64 `json:"id"`
	IID       int   `json:"iid"`
	ProjectID int64 `json:"project_id"`
}

func (m made) path() string { return fmt.Sprintf("/projects/%d/issues/%d", m.ProjectID, m.IID) }

func with(body map[string]any, more []map[string]any) map[string]any {
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	return body
}

// open makes an issue.
func (w *fixture) open(t testing.TB, as *user.User, p *project.Project, description string, more ...map[string]any) made {
	t.Helper()
	body := with(map[string]any{"title": "Mend the door", "description": description}, more)
	return httpapitest.JSON[made](t, w.As(t, as).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", p.ID), body).WantStatus(t, http.StatusCreated))
}

// say comments on an issue.
func (w *fixture) say(t testing.TB, as *user.User, m made, body string, more ...map[string]any) int64 {
	t.Helper()
	params := with(map[string]any{"body": body}, more)
	return httpapitest.JSON[made](t, w.As(t, as).Do(t, "POST", m.path()+"/notes", params).WantStatus(t, http.StatusCreated)).ID
}

func (w *fixture) change(t testing.TB, as *user.User, m made, attributes map[string]any) {
	t.Helper()
	w.As(t, as).Do(t, "PUT", m.path(), attributes).WantStatus(t, http.StatusOK)
}

func given(to ...*user.User) map[string]any {
	ids := []int64{}
	for _, u := range to {
		ids = append(ids, u.ID)
	}
	return map[string]any{"assignee_ids": ids}
}

// asked is a to-do as the API shows it.
type asked struct {
	ID      int64 `json:"id"`
	Project struct {
		PathWithNamespace string `json:"path_with_namespace"`
	} `json:"project"`
	Author     struct{ Username string } `json:"author"`
	ActionName string                    `json:"action_name"`
	TargetType string                    `json:"target_type"`
	Target     struct {
		ID         int64
		IID        int
		Subscribed *bool
	} `json:"target"`
	TargetURL string `json:"target_url"`
	Body      string `json:"body"`
	State     string `json:"state"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func (w *fixture) list(t testing.TB, as *user.User, query string) []asked {
	t.Helper()
	return httpapitest.JSON[[]asked](t, w.As(t, as).Do(t, "GET", "/todos"+query, nil).WantStatus(t, http.StatusOK))
}

// todos are the pending ones of somebody, the latest first: why and where.
func (w *fixture) todos(t testing.TB, as *user.User) []string {
	t.Helper()
	all := []string{}
	for _, a := range w.list(t, as, "") {
		all = append(all, fmt.Sprintf("%s %s#%d", a.ActionName, a.Project.PathWithNamespace, a.Target.IID))
	}
	return all
}
