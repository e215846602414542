package planning

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/board"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	boardsPath = "boards"
	maxBoards  = 100 // of an owner
)

var (
	toReadBoards  = owner.Needs{Group: access.ReadGroupBoards, Project: access.ReadProjectBoards}
	toAdminBoards = owner.Needs{Group: access.AdminGroupBoards, Project: access.AdminProjectBoards}
	// In a group, what may be moved depends on the project of each card.
	toMoveCards = owner.Needs{Group: access.ReadGroupBoards, Project: access.PlanIssues}
)

func boardRoutes() []ownerRoute {
	return []ownerRoute{
		{route: "GET /-/boards", needs: toReadBoards, do: showBoards, many: manyParams, title: "Board", icon: ui.IconBoard},
		{route: "POST /-/boards", needs: toAdminBoards, do: createBoard},
		{route: "GET /-/boards/new", needs: toAdminBoards, do: newBoard},
		{route: "GET /-/boards/{id}", needs: toReadBoards, do: showBoard, many: manyParams},
		{route: "POST /-/boards/{id}", needs: toAdminBoards, do: updateBoard},
		{route: "GET /-/boards/{id}/edit", needs: toAdminBoards, do: editBoard},
		{route: "GET /-/boards/{id}/{act}", needs: toReadBoards, do: toBoard},
		{route: "POST /-/boards/{id}/delete", needs: toAdminBoards, do: deleteBoard},
		{route: "POST /-/boards/{id}/move", needs: toMoveCards, do: moveCard},
		{route: "POST /-/boards/{id}/lists", needs: toAdminBoards, do: addList},
		{route: "POST /-/boards/{id}/lists/{list}/move", needs: toAdminBoards, do: moveList},
		{route: "POST /-/boards/{id}/lists/{list}/delete", needs: toAdminBoards, do: removeList},
	}
}

// path is that of a board and what follows it.
func (x *ownerRequest) path(b *board.Board, rest string) string {
	return x.at(boardsPath + "/" + strconv.FormatInt(b.ID, 10) + rest)
}

// found reads the board that the path names. The one that an owner has before anybody made one is number 0.
func (x *ownerRequest) found() (*board.Board, error) {
	if x.R.PathValue("id") == "0" {
		return x.deps.Boards.First(x.Context(), x.owner.Entity)
	}
	id, err := x.ID()
	if err != nil {
		return nil, err
	}
	return x.deps.Boards.Find(x.Context(), x.owner.Entity, id)
}

// kept is the board that the path names, made if nobody did so yet.
func (x *ownerRequest) kept() (*board.Board, error) {
	if x.R.PathValue("id") == "0" {
		return x.deps.Boards.Ensure(x.Context(), x.Actor, x.owner.Entity)
	}
	return x.found()
}

// boardLink leads to a board.
type boardLink struct {
	Name string
	URL  page.URL
	Here bool
}

// boardsBody is the boards of a project or group.
type boardsBody struct{ Boards []boardLink }

// links are the boards of the owner, of which one may be shown.
func (x *ownerRequest) links(here int64) ([]boardLink, error) {
	found, err := x.deps.Boards.List(x.Context(), x.owner.Entity, paging.Request{Page: 1, PerPage: maxBoards})
	all := make([]boardLink, len(found.Items))
	for n := range found.Items {
		b := &found.Items[n]
		all[n] = boardLink{Name: b.Name, URL: x.Link(x.path(b, "")), Here: b.ID == here}
	}
	return all, err
}

// showBoards lists the boards where there are several, and opens the only one.
func showBoards(x *ownerRequest) error {
	found, err := x.deps.Boards.List(x.Context(), x.owner.Entity, paging.Request{Page: 1, PerPage: 2})
	if err != nil {
		return err
	}
	switch len(found.Items) {
	case 0:
		b, err := x.deps.Boards.First(x.Context(), x.owner.Entity)
		if err != nil {
			return err
		}
		return x.board(b)
	case 1:
		f, err := readFilter(x.Form)
		if err != nil {
			return err
		}
		x.Redirect(withQuery(x.path(&found.Items[0], ""), f.query()))
		return nil
	}
	all, err := x.links(0)
	if err != nil {
		return err
	}
	l := x.layout("Boards", boardsPath)
	if x.may(toAdminBoards) && x.deps.Boards.Several(x.owner.Entity) {
		l.Actions = primaryLink(x.Link(x.at(boardsPath+"/new")), "New board")
	}
	return x.Show(http.StatusOK, l, boardsPage(boardsBody{Boards: all}))
}

func boardFields(b *board.Board) []page.Field {
	return []page.Field{{Name: "name", Label: "Name", Type: page.Text, Value: b.Name, Required: true, Length: 255}}
}

// errOneBoard hides what an owner with one board does not have.
var errOneBoard = fault.New(fault.NotFound)

func newBoard(x *ownerRequest) error {
	if !x.deps.Boards.Several(x.owner.Entity) {
		return errOneBoard
	}
	return x.showNew(http.StatusOK, x.NewForm(x.at(boardsPath), "Create board", boardFields(&board.Board{})...))
}

func (x *ownerRequest) showNew(code int, form *page.Form) error {
	return x.Show(code, x.layout("New board", boardsPath), formPage(formBody{Form: form, Back: x.Link(x.at(boardsPath))}))
}

func createBoard(x *ownerRequest) error {
	if !x.deps.Boards.Several(x.owner.Entity) {
		return errOneBoard
	}
	b, err := x.deps.Boards.Create(x.Context(), x.Actor, x.owner.Entity, strings.TrimSpace(x.Form.Get("name")))
	if err == nil {
		return x.Done(x.path(b, ""), "Board created.")
	}
	form := x.NewForm(x.at(boardsPath), "Create board", boardFields(&board.Board{})...)
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return x.showNew(http.StatusUnprocessableEntity, form)
}

// toBoard leads from where a form was sent to the board.
func toBoard(x *ownerRequest) error {
	b, err := x.found()
	if err != nil {
		return err
	}
	x.Redirect(x.shown(b))
	return nil
}

// shown is the path where a board is looked at.
func (x *ownerRequest) shown(b *board.Board) string {
	if b.ID == 0 {
		return x.at(boardsPath)
	}
	return x.path(b, "")
}
