package issue_test

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public project in a group, people of every role in it, and a stranger.
type fixture struct {
	*apptest.Instance
	group    *group.Group
	project  *project.Project
	root     *user.User
	stranger *user.User
	people   map[access.Role]*user.User

	happened func() []issue.Event // since the last call
}

func newFixture(t testing.TB, environ ...string) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t, environ...), people: map[access.Role]*user.User{}}
	w.happened = apptest.Heard[issue.Event](w.Instance)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.group = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, w.group.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		u := usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("role-%d", role)))
		projecttest.Join(t, w.DB, w.project, u, role)
		w.people[role] = u
	}
	return w
}

func (w *fixture) reporter(t testing.TB) *httpapitest.Client {
	return w.As(t, w.people[access.Reporter])
}

func of(p *project.Project) string { return fmt.Sprintf("/projects/%d/issues", p.ID) }

// made is an issue as the API shows it.
type made struct {
	ID               int64    `json:"id"`
	IID              int      `json:"iid"`
	ProjectID        int64    `json:"project_id"`
	Title            string   `json:"title"`
	Description      *string  `json:"description"`
	State            string   `json:"state"`
	CreatedAt        string   `json:"created_at"`
	UpdatedAt        string   `json:"updated_at"`
	ClosedAt         *string  `json:"closed_at"`
	ClosedBy         *person  `json:"closed_by"`
	Labels           []string `json:"labels"`
	Milestone        *struct{ ID int64 }
	Assignees        []person `json:"assignees"`
	Assignee         *person  `json:"assignee"`
	Author           *person  `json:"author"`
	Type             string   `json:"type"`
	IssueType        string   `json:"issue_type"`
	DueDate          *string  `json:"due_date"`
	Confidential     bool     `json:"confidential"`
	DiscussionLocked *bool    `json:"discussion_locked"`
	WebURL           string   `json:"web_url"`
	Weight           *int     `json:"weight"`
	Severity         string   `json:"severity"`
	MovedToID        *int64   `json:"moved_to_id"`
	Subscribed       *bool    `json:"subscribed"`
	HasTasks         bool     `json:"has_tasks"`
	TaskStatus       string   `json:"task_status"`
	References       struct{ Short, Relative, Full string }
	Time             struct {
		Estimate int     `json:"time_estimate"`
		Spent    int     `json:"total_time_spent"`
		Human    *string `json:"human_time_estimate"`
	} `json:"time_stats"`
	Tasks struct {
		Count     int `json:"count"`
		Completed int `json:"completed_count"`
	} `json:"task_completion_status"`
}

type person struct {
	ID int64 `json:"id"`
}

// path is where the issue is.
func (m made) path() string { return fmt.Sprintf("/projects/%d/issues/%d", m.ProjectID, m.IID) }

// create makes an issue as the reporter.
func (w *fixture) create(t testing.TB, title string, attributes ...map[string]any) made {
	t.Helper()
	return w.createAs(t, w.people[access.Reporter], w.project, title, attributes...)
}

func (w *fixture) createAs(t testing.TB, u *user.User, p *project.Project, title string, attributes ...map[string]any) made {
	t.Helper()
	body := map[string]any{"title": title}
	for _, more := range attributes {
		for k, v := range more {
			body[k] = v
		}
	}
	return httpapitest.JSON[made](t, w.As(t, u).Do(t, "POST", of(p), body).WantStatus(t, http.StatusCreated))
}

func (w *fixture) change(t testing.TB, u *user.User, m made, attributes map[string]any) made {
	t.Helper()
	return httpapitest.JSON[made](t, w.As(t, u).Do(t, "PUT", m.path(), attributes).WantStatus(t, http.StatusOK))
}

// titles are those of a list.
func titles(t testing.TB, r *httpapitest.Reply) []string {
	t.Helper()
	all := []string{}
	for _, m := range httpapitest.JSON[[]made](t, r.WantStatus(t, http.StatusOK)) {
		all = append(all, m.Title)
	}
	return all
}

// insertIssue writes an issue as it is, whoever could.
func insertIssue(t testing.TB, w *fixture, projectID int64, iid int, author int64, title string, confidential bool) (int64, error) {
	t.Helper()
	return postgres.Value[int64](t.Context(), w.DB, `
insert into issues (project_id, iid, author_id, title, type, confidential, created_at, updated_at) values ($1, $2, $3, $4, 'issue', $5, now(), now()) returning id`,
		projectID, iid, author, title, confidential)
}

func numberOf(t testing.TB, w *fixture, title string) int {
	t.Helper()
	iid, err := postgres.Value[int](t.Context(), w.DB, `select iid from issues where title = $1`, title)
	if err != nil {
		t.Fatal(err)
	}
	return iid
}

func (w *fixture) archive(t testing.TB, p *project.Project) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), `update projects set archived = true where id = $1`, p.ID); err != nil {
		t.Fatal(err)
	}
}

// positions are the places of all issues but those of the stranger.
func (w *fixture) positions(t testing.TB) map[int64]int64 {
	t.Helper()
	rows, err := postgres.All[struct{ ID, RelativePosition int64 }](t.Context(), w.DB, `select id, relative_position from issues where author_id <> $1`, w.stranger.ID)
	if err != nil {
		t.Fatal(err)
	}
	all := map[int64]int64{}
	for _, r := range rows {
		all[r.ID] = r.RelativePosition
	}
	return all
}
