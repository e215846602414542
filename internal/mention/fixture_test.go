package mention_test

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/mention"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public project with people of every role, and beside it a private one that the reporter alone is in.
type fixture struct {
	*apptest.Instance
	house           *group.Group
	project, hidden *project.Project
	root, stranger  *user.User
	guest, reporter *user.User
	owner           *user.User
	heard           func() []mention.Event // since the last call
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t)}
	w.heard = apptest.Heard[mention.Event](w.Instance)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.house = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, w.house.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	w.hidden = projecttest.New(t, w.DB, w.house.ID, projecttest.Named("hidden"))
	for name, at := range map[string]struct {
		who  **user.User
		role access.Role
	}{"guest": {&w.guest, access.Guest}, "reporter": {&w.reporter, access.Reporter}, "owner": {&w.owner, access.Owner}} {
		*at.who = usertest.New(t, w.DB, usertest.Named(name))
		projecttest.Join(t, w.DB, w.project, *at.who, at.role)
	}
	projecttest.Join(t, w.DB, w.hidden, w.reporter, access.Reporter)
	return w
}

// made is an issue.
type made struct {
	ID         int64 `json:"id"`
	IID        int   `json:"iid"`
	ProjectID  int64 `json:"project_id"`
	Subscribed bool  `json:"subscribed"`
}

func (m made) path() string { return fmt.Sprintf("/projects/%d/issues/%d", m.ProjectID, m.IID) }

func (w *fixture) open(t testing.TB, as *user.User, p *project.Project, description string, more ...map[string]any) made {
	t.Helper()
	body := map[string]any{"title": "Mend the door", "description": description}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	return httpapitest.JSON[made](t, w.As(t, as).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", p.ID), body).WantStatus(t, http.StatusCreated))
}

// say comments on an issue.
func (w *fixture) say(t testing.TB, as *user.User, m made, body string, more ...map[string]any) int64 {
	t.Helper()
	params := map[string]any{"body": body}
	for _, m := range more {
		for k, v := range m {
			params[k] = v
		}
	}
	return httpapitest.JSON[made](t, w.As(t, as).Do(t, "POST", m.path()+"/notes", params).WantStatus(t, http.StatusCreated)).ID
}

// named are the people of the events since the last call, those who are addressed with a !.
func (w *fixture) named(t testing.TB) []string {
	t.Helper()
	all := []string{}
	for _, e := range w.heard() {
		for _, who := range e.People {
			u, err := w.Users.Find(t.Context(), who.ID)
			if err != nil {
				t.Fatal(err)
			}
			if who.Direct {
				u.Username += "!"
			}
			all = append(all, u.Username)
		}
	}
	return all
}

func (w *fixture) participants(t testing.TB, as *user.User, m made) []string {
	t.Helper()
	all := []string{}
	for _, u := range httpapitest.JSON[[]struct{ Username string }](t, w.As(t, as).Do(t, "GET", m.path()+"/participants", nil).WantStatus(t, http.StatusOK)) {
		all = append(all, u.Username)
	}
	return all
}

// noted are the notes of the instance about an issue, the oldest first, as somebody reads them.
func (w *fixture) noted(t testing.TB, as *user.User, m made) []string {
	t.Helper()
	all := []string{}
	const query = "/notes?activity_filter=only_activity&sort=asc&per_page=100"
	for _, n := range httpapitest.JSON[[]struct{ Body string }](t, w.As(t, as).Do(t, "GET", m.path()+query, nil).WantStatus(t, http.StatusOK)) {
		all = append(all, n.Body)
	}
	return all
}
