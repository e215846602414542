package event_test

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/gitstore"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

type object = map[string]any

// fixture is a public project with a repository and people of every role, an administrator, and a stranger.
type fixture struct {
	*apptest.Instance
	house          *group.Group
	project        *project.Project
	repo           *gitstore.Repo
	root, stranger *user.User
	people         map[access.Role]*user.User
	at             string // the path of the project
	told           int64  // the last event that rows gave
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t), people: map[access.Role]*user.User{}}
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.house = grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, w.house.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	w.repo = repositorytest.New(t, w.DB, w.Store, w.project, repositorytest.Files{"a": "a"})
	for _, role := range access.Roles {
		u := usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("role-%d", role)))
		projecttest.Join(t, w.DB, w.project, u, role)
		w.people[role] = u
	}
	w.at = fmt.Sprintf("/projects/%d", w.project.ID)
	return w
}

func (w *fixture) owner() *user.User { return w.people[access.Owner] }

// actor is somebody who acts without the API.
func actor(u *user.User) access.Actor { return access.Actor{Person: u.Person(), Account: u} }

// made is what an answer says of something new.
type made struct {
	ID  int64  `json:"id"`
	IID int64  `json:"iid"`
	SHA string `json:"short_id"`
}

// do is a call of the owner, which succeeds.
func (w *fixture) do(t testing.TB, method, path string, body any) *httpapitest.Reply {
	t.Helper()
	return w.by(t, w.owner(), method, path, body)
}

func (w *fixture) by(t testing.TB, u *user.User, method, path string, body any) *httpapitest.Reply {
	t.Helper()
	r := w.As(t, u).Do(t, method, path, body)
	if r.Status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	return r
}

// make is do, for what is new then.
func (w *fixture) make(t testing.TB, path string, body any) made {
	t.Helper()
	return httpapitest.JSON[made](t, w.do(t, "POST", path, body))
}

// commit adds a commit to main.
func (w *fixture) commit(t testing.TB, file, message string) (sha string) {
	t.Helper()
	var c struct{ ID string }
	w.do(t, "POST", w.at+"/repository/commits", object{
		"branch": "main", "commit_message": message, "actions": []object{{"action": "create", "file_path": file, "content": "x"}},
	}).Decode(t, &c)
	return c.ID
}

// rows are the events since the last call, as the table has them.
func (w *fixture) rows(t testing.TB) []string {
	t.Helper()
	type row struct {
		ID   int64
		Text string
	}
	all, err := postgres.All[row](t.Context(), w.DB, `
select e.id, concat_ws(' ', u.username, p.path, e.action, e.target_type, e.push_action, e.ref_type, e.ref, e.commit_count, e.title,
	case when e.ref_count > 0 then 'of ' || e.ref_count end, e.format, case when e.imported then 'imported' end) as text
from events e join users u on u.id = e.author_id join projects p on p.id = e.project_id where e.id > $1 order by e.id limit 1000`, w.told)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{}
	for _, r := range all {
		texts = append(texts, r.Text)
		w.told = r.ID
	}
	return texts
}

// shown is an event as the API shows it.
type shown struct {
	ID          int64   `json:"id"`
	ProjectID   int64   `json:"project_id"`
	ActionName  string  `json:"action_name"`
	TargetID    *int64  `json:"target_id"`
	TargetIID   *int64  `json:"target_iid"`
	TargetType  *string `json:"target_type"`
	TargetTitle *string `json:"target_title"`
	AuthorID    int64   `json:"author_id"`
	Author      struct {
		Username string `json:"username"`
	} `json:"author"`
	AuthorUsername string `json:"author_username"`
	CreatedAt      string `json:"created_at"`
	Note           *struct {
		Body         string  `json:"body"`
		Type         *string `json:"type"`
		NoteableID   *int64  `json:"noteable_id"`
		NoteableIID  *int64  `json:"noteable_iid"`
		NoteableType string  `json:"noteable_type"`
	} `json:"note"`
	PushData *struct {
		CommitCount int     `json:"commit_count"`
		Action      string  `json:"action"`
		RefType     string  `json:"ref_type"`
		CommitFrom  *string `json:"commit_from"`
		CommitTo    *string `json:"commit_to"`
		Ref         *string `json:"ref"`
		CommitTitle *string `json:"commit_title"`
		RefCount    *int    `json:"ref_count"`
	} `json:"push_data"`
	WikiPage *struct{ Format, Slug, Title string } `json:"wiki_page"`
}

// list asks as somebody, or as nobody.
func (w *fixture) list(t testing.TB, as *user.User, path string) []shown {
	t.Helper()
	client := w.Client
	if as != nil {
		client = w.As(t, as)
	}
	return httpapitest.JSON[[]shown](t, client.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK))
}

func ids(all []shown) []int64 {
	out := []int64{}
	for _, e := range all {
		out = append(out, e.ID)
	}
	return out
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
