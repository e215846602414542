package note_test

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/note"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/repository/repositorytest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a public project with people of every role, a stranger, and an issue of the reporter.
type fixture struct {
	*apptest.Instance
	project  *project.Project
	root     *user.User
	stranger *user.User
	people   map[access.Role]*user.User
	issue    made

	happened func() []note.Event // since the last call
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t), people: map[access.Role]*user.User{}}
	w.happened = apptest.Heard[note.Event](w.Instance)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	house := grouptest.New(t, w.DB, grouptest.Named("house"), grouptest.Visible(access.Public))
	w.project = projecttest.New(t, w.DB, house.ID, projecttest.Named("tool"), projecttest.Visible(access.Public))
	for _, role := range access.Roles {
		u := usertest.New(t, w.DB, usertest.Named(fmt.Sprintf("role-%d", role)))
		projecttest.Join(t, w.DB, w.project, u, role)
		w.people[role] = u
	}
	w.issue = w.open(t, w.project, "Mend the door")
	return w
}

// made is an issue.
type made struct {
	ID         int64  `json:"id"`
	IID        int    `json:"iid"`
	ProjectID  int64  `json:"project_id"`
	NotesCount int    `json:"user_notes_count"`
	Upvotes    int    `json:"upvotes"`
	Downvotes  int    `json:"downvotes"`
	UpdatedAt  string `json:"updated_at"`
}

func (m made) path() string { return fmt.Sprintf("/projects/%d/issues/%d", m.ProjectID, m.IID) }

// open makes an issue as the reporter.
func (w *fixture) open(t testing.TB, p *project.Project, title string, attributes ...map[string]any) made {
	t.Helper()
	body := map[string]any{"title": title}
	for _, more := range attributes {
		for k, v := range more {
			body[k] = v
		}
	}
	return httpapitest.JSON[made](t, w.reporter(t).Do(t, "POST", fmt.Sprintf("/projects/%d/issues", p.ID), body).WantStatus(t, http.StatusCreated))
}

// again reads an issue.
func (w *fixture) again(t testing.TB, m made) made {
	t.Helper()
	return httpapitest.JSON[made](t, w.reporter(t).Do(t, "GET", m.path(), nil).WantStatus(t, http.StatusOK))
}

func (w *fixture) change(t testing.TB, m made, attributes map[string]any) {
	t.Helper()
	w.reporter(t).Do(t, "PUT", m.path(), attributes).WantStatus(t, http.StatusOK)
}

func (w *fixture) reporter(t testing.TB) *httpapitest.Client {
	return w.As(t, w.people[access.Reporter])
}

// said is a note as the API shows it.
type said struct {
	ID           int64               `json:"id"`
	Type         *string             `json:"type"`
	Body         string              `json:"body"`
	Author       *struct{ ID int64 } `json:"author"`
	CreatedAt    string              `json:"created_at"`
	UpdatedAt    string              `json:"updated_at"`
	System       bool                `json:"system"`
	NoteableID   int64               `json:"noteable_id"`
	NoteableType string              `json:"noteable_type"`
	NoteableIID  int                 `json:"noteable_iid"`
	ProjectID    int64               `json:"project_id"`
	Resolvable   bool                `json:"resolvable"`
	Internal     bool                `json:"internal"`
	Confidential bool                `json:"confidential"`
	Position     *position           `json:"position"`
}

type position struct {
	BaseSHA  string   `json:"base_sha"`
	StartSHA string   `json:"start_sha"`
	HeadSHA  string   `json:"head_sha"`
	OldPath  string   `json:"old_path"`
	NewPath  string   `json:"new_path"`
	Type     string   `json:"position_type"`
	OldLine  *int     `json:"old_line"`
	NewLine  *int     `json:"new_line"`
	Width    *int     `json:"width"`
	X        *float64 `json:"x"`
}

type discussion struct {
	ID         string `json:"id"`
	Individual bool   `json:"individual_note"`
	Notes      []said `json:"notes"`
}

// say comments on an issue.
func (w *fixture) say(t testing.TB, u *user.User, m made, body string, attributes ...map[string]any) said {
	t.Helper()
	params := map[string]any{"body": body}
	for _, more := range attributes {
		for k, v := range more {
			params[k] = v
		}
	}
	return httpapitest.JSON[said](t, w.As(t, u).Do(t, "POST", m.path()+"/notes", params).WantStatus(t, http.StatusCreated))
}

// bodies are those of a list of notes.
func bodies(t testing.TB, c *httpapitest.Client, path string) []string {
	t.Helper()
	all := []string{}
	for _, n := range httpapitest.JSON[[]said](t, c.Do(t, "GET", path, nil).WantStatus(t, http.StatusOK)) {
		all = append(all, n.Body)
	}
	return all
}

// noted are the notes of the instance about an issue, the oldest first, as somebody reads them.
func (w *fixture) noted(t testing.TB, u *user.User, m made) []string {
	t.Helper()
	return bodies(t, w.As(t, u), m.path()+"/notes?activity_filter=only_activity&sort=asc&per_page=100")
}

// thing carries notes.
type thing struct {
	Name string // on the wire
	ID   int64  // 0 of a commit
	Path string
}

// snip makes a snippet in a project as an administrator.
func (w *fixture) snip(t testing.TB, p *project.Project, visibility string) thing {
	t.Helper()
	at := fmt.Sprintf("/projects/%d/snippets", p.ID)
	s := httpapitest.JSON[struct{ ID int64 }](t, w.As(t, w.root).Do(t, "POST", at, map[string]any{
		"title": "A " + visibility + " one", "visibility": visibility, "files": []map[string]any{{"file_path": "a.txt", "content": "a"}},
	}).WantStatus(t, http.StatusCreated))
	return thing{"Snippet", s.ID, fmt.Sprintf("%s/%d", at, s.ID)}
}

// push makes the first commit of a project: the same in all of them.
func (w *fixture) push(t testing.TB, p *project.Project) thing {
	t.Helper()
	ref, err := repositorytest.New(t, w.DB, w.Store, p, repositorytest.Files{"a.txt": "one\ntwo\nthree\n"}).Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	return thing{"Commit", 0, fmt.Sprintf("/projects/%d/repository/commits/%s", p.ID, ref.Target)}
}

// things are one of each kind.
func (w *fixture) things(t testing.TB) []thing {
	t.Helper()
	return []thing{{"Issue", w.issue.ID, w.issue.path()}, w.snip(t, w.project, "public"), w.push(t, w.project)}
}

// discuss begins a discussion.
func (w *fixture) discuss(t testing.TB, u *user.User, of thing, body string) discussion {
	t.Helper()
	return httpapitest.JSON[discussion](t, w.As(t, u).Do(t, "POST", of.Path+"/discussions", map[string]any{"body": body}).WantStatus(t, http.StatusCreated))
}
