package planning

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"stithy/internal/issue"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
	"stithy/internal/todo"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	todosPath    = "/dashboard/todos"
	todosPerPage = 20
	maxExcerpt   = 200 // characters of a text that names somebody
)

// todosBody is one page of what a person is asked to look at.
type todosBody struct {
	States []stateLink
	All    *page.Form // settles all of them
	Todos  []todoRow
	Pager  page.Pager
	None   string
}

// todoRow is a to-do in a list.
type todoRow struct {
	Who       *person
	Why       string // who did what
	URL       page.URL
	Title     string
	Reference string
	Excerpt   string
	When      *page.DisplayTime
	Done      *page.Form
}

// Pages are the pages of the area that are about neither a group nor a project.
func Pages(d Deps) []page.Page {
	return []page.Page{
		{
			Route: "GET " + todosPath, Do: d.doAlone(showTodos),
			Nav: page.Nav{List: page.OwnList, Title: "To-do list", Icon: ui.IconTodo, Count: d.countTodos},
		},
		{Route: "POST " + todosPath, Do: d.doAlone(finishTodos)},
		{Route: "POST " + todosPath + "/{id}", Do: d.doAlone(finishTodo)},
	}
}

// ownRequest is a request for a page that is about nobody but who asks.
type ownRequest struct {
	*page.Request
	deps Deps
}

func (d Deps) doAlone(handle func(*ownRequest) error) func(*page.Request) error {
	return func(r *page.Request) error { return handle(&ownRequest{Request: r, deps: d}) }
}

// countTodos is what the bar of every page shows of the list.
func (d Deps) countTodos(x *page.Request) (int, error) { return d.Todos.Pending(x.Context(), x.Actor) }

func showTodos(x *ownRequest) error {
	req := x.Numbered("page", todosPerPage)
	done := x.Form.Get("state") == "done"
	found, err := x.deps.Todos.List(x.Context(), x.Actor, todo.Filter{Done: done}, req)
	if err != nil {
		return err
	}
	body := todosBody{
		States: []stateLink{
			{Title: "To do", URL: x.Link(todosPath), Icon: ui.IconTodo, Here: !done},
			{Title: "Done", URL: x.Link(todosPath + "?state=done"), Icon: ui.IconCheck, Here: done},
		},
		None: "Nothing is asked of you. An issue comes here when somebody assigns it to you or names you in it.",
	}
	query := url.Values{}
	if done {
		query.Set("state", "done")
		body.None = "Nothing is done yet."
	}
	if body.Todos, err = todoRows(x, found.Items); err != nil {
		return err
	}
	if len(body.Todos) > 0 && !done {
		body.All = x.Button(todosPath, "Mark all as done", page.Secondary, "").AskFirst("All your to-dos are marked as done, also those of other pages.")
	}
	body.Pager = x.NumberedPager(todosPath, query, "page", "", req, found.More)
	body.Pager.BackText, body.Pager.OnwardText = "Newer", "Older"
	return x.Show(http.StatusOK, page.Layout{Title: "To-do list"}, todosPage(body))
}

// todoRows are to-dos as the list shows them.
func todoRows(x *ownRequest, all []todo.Todo) ([]todoRow, error) {
	var authors, issues []int64
	for _, t := range all {
		authors, issues = append(authors, t.AuthorID), append(issues, t.IssueID)
	}
	people, err := x.deps.Users.Briefs(x.Context(), authors...)
	if err != nil {
		return nil, err
	}
	targets, err := x.deps.Issues.Forms(x.Context(), x.Actor, issues)
	if err != nil {
		return nil, err
	}
	places, err := alertPlaces(x, all)
	if err != nil {
		return nil, err
	}
	rows := make([]todoRow, 0, len(all))
	for _, t := range all {
		if p := places[t.ProjectID]; p != nil && t.AlertIID != nil {
			rows = append(rows, newAlertRow(x, t, p, people))
			continue
		}
		if target, known := targets[t.IssueID]; known {
			rows = append(rows, newTodoRow(x, t, target, people))
		}
	}
	return rows, nil
}

// alertPlaces are the projects of to-dos about alerts.
func alertPlaces(x *ownRequest, all []todo.Todo) (map[int64]*project.Project, error) {
	var ids []int64
	for _, t := range all {
		if t.AlertIID != nil {
			ids = append(ids, t.ProjectID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return x.deps.Projects.Among(x.Context(), x.Actor, ids)
}

// newAlertRow is a to-do about an alert.
func newAlertRow(x *ownRequest, t todo.Todo, p *project.Project, people map[int64]user.Brief) todoRow {
	row := todoRow{
		Title: t.Body, Reference: fmt.Sprintf("%s^alert#%d", p.FullPath(), *t.AlertIID), When: x.Time(&t.CreatedAt), Why: "Somebody gave you the alert",
		URL: x.Link("/" + p.FullPath() + fmt.Sprintf(todo.AlertPath, *t.AlertIID)),
	}
	if b, known := people[t.AuthorID]; known {
		row.Who, row.Why = personOf(&b), b.Name+" gave you the alert"
	}
	if !t.Done {
		row.Done = x.Button(fmt.Sprintf("%s/%d", todosPath, t.ID), "Done", page.Secondary, "with "+t.Body)
		row.Done.Icon = ui.IconCheck
	}
	return row
}

func newTodoRow(x *ownRequest, t todo.Todo, target issue.Form, people map[int64]user.Brief) todoRow {
	path, _, _ := strings.Cut(target.References.Full, "#")
	link := fmt.Sprintf("/%s/-/%s/%d", path, issuesPath, target.IID)
	row := todoRow{Title: target.Title, Reference: target.References.Full, When: x.Time(&t.CreatedAt)}
	b, known := people[t.AuthorID]
	switch {
	case !known:
		row.Why = "Somebody " + whyTodo[t.Action]
	case t.AuthorID == x.Account.ID:
		row.Who, row.Why = personOf(&b), "You "+whyOwnTodo(t.Action)
	default:
		row.Who, row.Why = personOf(&b), b.Name+" "+whyTodo[t.Action]
	}
	if t.NoteID != nil {
		link = noteLink(link, *t.NoteID)
		row.Excerpt = cut(t.Body, maxExcerpt)
	}
	row.URL = x.Link(link)
	if !t.Done {
		row.Done = x.Button(fmt.Sprintf("%s/%d", todosPath, t.ID), "Done", page.Secondary, "with "+target.Title)
		row.Done.Icon = ui.IconCheck
	}
	return row
}

// whyTodo says what somebody did that asks for a look.
var whyTodo = map[todo.Action]string{
	todo.Assigned: "assigned you", todo.Mentioned: "mentioned you", todo.Addressed: "wrote to you", todo.Marked: "put it on your list",
}

// whyOwnTodo says it of what somebody did themselves.
func whyOwnTodo(a todo.Action) string {
	if before, toYou := strings.CutSuffix(whyTodo[a], " you"); toYou {
		return before + " yourself"
	}
	return whyTodo[a]
}

func finishTodo(x *ownRequest) error {
	id, err := x.ID()
	if err == nil {
		_, err = x.deps.Todos.Done(x.Context(), x.Actor, id)
	}
	if err != nil {
		return err
	}
	return x.Done(todosPath, "That is done.")
}

func finishTodos(x *ownRequest) error {
	if err := x.deps.Todos.DoneAll(x.Context(), x.Actor); err != nil {
		return err
	}
	return x.Done(todosPath, "All of it is done.")
}

// markIssue puts an issue on the list of who asks.
func markIssue(x *request) error {
	f, err := find(x)
	if err != nil {
		return err
	}
	if _, err := x.deps.Todos.Mark(x.Context(), x.Actor, x.Project, f.IID); err != nil && !fault.Is(err, fault.NotModified) {
		return err
	}
	return x.Done(f.path(x, ""), "It is on your to-do list.")
}
