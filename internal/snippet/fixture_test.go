package snippet_test

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/snippet"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public project with people of every role, and people who have none.
type fixture struct {
	*apptest.Instance
	project  *project.Project
	root     *user.User
	author   *user.User // of personal snippets
	stranger *user.User
	external *user.User
	people   map[access.Role]*user.User

	happened func() []snippet.Event // since the last call
}

func newFixture(t testing.TB, options ...projecttest.Option) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t), people: map[access.Role]*user.User{}}
	w.happened = apptest.Heard[snippet.Event](w.Instance)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.author = usertest.New(t, w.DB, usertest.Named("author"))
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.external = usertest.New(t, w.DB, usertest.Named("external"), usertest.With("external", true))
	house := grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, house.ID, append([]projecttest.Option{projecttest.Named("tool"), projecttest.Visible(access.Public)}, options...)...)
	for _, role := range access.Roles {
		u := usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("role-%d", role)))
		projecttest.Join(t, w.DB, w.project, u, role)
		w.people[role] = u
	}
	return w
}

// made is a snippet as the API shows it.
type made struct {
	ID            int64               `json:"id"`
	Title         string              `json:"title"`
	Description   *string             `json:"description"`
	Visibility    string              `json:"visibility"`
	Author        *struct{ ID int64 } `json:"author"`
	ProjectID     *int64              `json:"project_id"`
	WebURL        string              `json:"web_url"`
	RawURL        string              `json:"raw_url"`
	SSHURLToRepo  string              `json:"ssh_url_to_repo"`
	HTTPURLToRepo string              `json:"http_url_to_repo"`
	FileName      string              `json:"file_name"`
	UpdatedAt     string              `json:"updated_at"`
	Files         []struct {
		Path   string `json:"path"`
		RawURL string `json:"raw_url"`
	} `json:"files"`
}

func (m made) path() string {
	if m.ProjectID != nil {
		return fmt.Sprintf("/projects/%d/snippets/%d", *m.ProjectID, m.ID)
	}
	return fmt.Sprintf("/snippets/%d", m.ID)
}

func (m made) paths() []string {
	paths := []string{}
	for _, f := range m.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

type object = map[string]any

// create makes a snippet of somebody, in a project if it is not nil.
func (w *fixture) create(t testing.TB, u *user.User, p *project.Project, visibility string, files ...string) made {
	t.Helper()
	path, all := "/snippets", []object{}
	if p != nil {
		path = fmt.Sprintf("/projects/%d/snippets", p.ID)
	}
	for _, name := range files {
		all = append(all, object{"file_path": name, "content": "text of " + name + "\n"})
	}
	body := object{"title": "A " + visibility + " one", "visibility": visibility, "files": all}
	return httpapitest.JSON[made](t, w.As(t, u).Do(t, "POST", path, body).WantStatus(t, http.StatusCreated))
}
