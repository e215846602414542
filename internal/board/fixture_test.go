package board_test

import (
	"fmt"
	"net/http"
	"testing"

	"stithy/internal/app/apptest"
	"stithy/internal/board"
	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi/httpapitest"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/project"
	"stithy/internal/project/projecttest"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// fixture is a group with a subgroup, a project in the subgroup, and people of every role.
type fixture struct {
	*apptest.Instance
	top, sub        *group.Group
	project         *project.Project
	root, stranger  *user.User
	reporter, guest *user.User // of the top group

	happened func() []board.Event // since the last call
}

func newFixture(t testing.TB, environ ...string) *fixture {
	t.Helper()
	w := &fixture{Instance: apptest.New(t, environ...)}
	w.happened = apptest.Heard[board.Event](w.Instance)
	w.root = usertest.New(t, w.DB, usertest.Named("root"), usertest.Admin())
	w.stranger = usertest.New(t, w.DB, usertest.Named("stranger"))
	w.reporter = usertest.New(t, w.DB, usertest.Named("reporter"))
	w.guest = usertest.New(t, w.DB, usertest.Named("guest"))
	w.top = grouptest.New(t, w.DB, grouptest.Named("top"))
	w.sub = grouptest.New(t, w.DB, grouptest.Named("sub"), grouptest.Under(w.top))
	w.project = projecttest.New(t, w.DB, w.sub.ID, projecttest.Named("tool"))
	grouptest.Join(t, w.DB, w.top, w.reporter, access.Reporter)
	grouptest.Join(t, w.DB, w.top, w.guest, access.Guest)
	return w
}

const (
	free    = "STITHY_INSTANCE_TIER=free"
	premium = "STITHY_INSTANCE_TIER=premium"
)

func ofProject(p *project.Project) string { return fmt.Sprintf("/projects/%d", p.ID) }
func ofGroup(g *group.Group) string       { return fmt.Sprintf("/groups/%d", g.ID) }

type made struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Lists []list `json:"lists"`
	at    string
}

// path is where the board is.
func (m made) path() string { return fmt.Sprintf("%s/boards/%d", m.at, m.ID) }

type list struct {
	ID       int64 `json:"id"`
	Position int   `json:"position"`
	Label    *struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	} `json:"label"`
	Milestone *struct{ Title string } `json:"milestone"`
	Assignee  *struct{ ID int64 }     `json:"assignee"`
}

// create makes a board as the reporter.
func (w *fixture) create(t testing.TB, in, name string) made {
	t.Helper()
	m := httpapitest.JSON[made](t, w.as(t).Do(t, "POST", in+"/boards", map[string]any{"name": name}).WantStatus(t, http.StatusCreated))
	m.at = in
	return m
}

func (w *fixture) as(t testing.TB) *httpapitest.Client { return w.As(t, w.reporter) }

// label makes a label and returns its id.
func (w *fixture) label(t testing.TB, in, name string) int64 {
	t.Helper()
	return idOf(t, w.As(t, w.root).Do(t, "POST", in+"/labels", map[string]any{"name": name, "color": "#ffffff"}))
}

func (w *fixture) milestone(t testing.TB, in, title string) int64 {
	t.Helper()
	return idOf(t, w.As(t, w.root).Do(t, "POST", in+"/milestones", map[string]any{"title": title}))
}

func idOf(t testing.TB, r *httpapitest.Reply) int64 {
	t.Helper()
	return httpapitest.JSON[struct{ ID int64 }](t, r.WantStatus(t, http.StatusCreated)).ID
}

// add puts a list at the end of a board.
func (w *fixture) add(t testing.TB, m made, of string, id int64) list {
	t.Helper()
	return httpapitest.JSON[list](t, w.as(t).Do(t, "POST", m.path()+"/lists", map[string]any{of: id}).WantStatus(t, http.StatusCreated))
}

// lists are what those of a board stand for. They count from 0 without gaps.
func (w *fixture) lists(t testing.TB, m made) []string {
	t.Helper()
	all := []string{}
	for n, l := range httpapitest.JSON[[]list](t, w.As(t, w.root).Do(t, "GET", m.path()+"/lists?per_page=100", nil).WantStatus(t, http.StatusOK)) {
		if l.Position != n {
			t.Errorf("list %d of the board %s is at %d", n, m.Name, l.Position)
		}
		switch {
		case l.Label != nil:
			all = append(all, l.Label.Name)
		case l.Milestone != nil:
			all = append(all, "%"+l.Milestone.Title)
		case l.Assignee != nil:
			all = append(all, fmt.Sprint("@", l.Assignee.ID))
		default:
			all = append(all, "hidden")
		}
	}
	return all
}

// issue makes an issue in a project as the administrator.
func (w *fixture) issue(t testing.TB, p *project.Project, title string, attributes ...map[string]any) int64 {
	t.Helper()
	body := map[string]any{"title": title}
	for _, more := range attributes {
		for k, v := range more {
			body[k] = v
		}
	}
	return idOf(t, w.As(t, w.root).Do(t, "POST", ofProject(p)+"/issues", body))
}

func person(u *user.User) access.Actor { return access.Actor{Person: u.Person()} }

// seen is an owner as somebody sees it, with one of its boards.
func (w *fixture) seen(t testing.TB, u *user.User, m made) (*owner.Owner, *board.Board) {
	t.Helper()
	find, id := w.Owners.FindProject, ""
	if _, err := fmt.Sscanf(m.at, "/projects/%s", &id); err != nil {
		find = w.Owners.FindGroup
		if _, err := fmt.Sscanf(m.at, "/groups/%s", &id); err != nil {
			t.Fatal(err)
		}
	}
	o, err := find(t.Context(), person(u), id)
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Boards.Find(t.Context(), o.Entity, m.ID)
	if err != nil {
		t.Fatal(err)
	}
	return o, b
}

// titles are those of the issues in a column.
func (w *fixture) titles(t testing.TB, u *user.User, m made, c board.Column, filters ...issue.Filter) []string {
	t.Helper()
	o, b := w.seen(t, u, m)
	var f issue.Filter
	if len(filters) > 0 {
		f = filters[0]
	}
	page, err := w.Boards.Issues(t.Context(), person(u), o, b, c, f, paging.Request{Page: 1, PerPage: 50})
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, i := range page.Items {
		all = append(all, i.Title)
	}
	return all
}

// move puts an issue into a list as somebody.
func (w *fixture) move(t testing.TB, u *user.User, m made, d board.Drop) (*issue.Issue, error) {
	t.Helper()
	o, b := w.seen(t, u, m)
	return w.Boards.Move(t.Context(), person(u), o, b, d)
}

func (w *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
