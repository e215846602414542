package planning

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/board"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// boardEditBody is the page on which a board is changed.
type boardEditBody struct {
	Form   *page.Form
	Back   page.URL
	Lists  []listRow
	Add    *page.Form
	Delete *page.Form // nil where the owner has one board
}

// listRow is a list of a board that is changed.
type listRow struct {
	column
	Earlier, Later *page.Form // nil at the ends
	Remove         *page.Form
}

// What a list can stand for, as the form about one names it.
const (
	byLabel     = "label"
	byMilestone = "milestone"
	byPerson    = "person"
)

func (x *ownerRequest) boardForm(b *board.Board) *page.Form {
	fields := append(
		boardFields(b),
		page.Field{Name: "hide_backlog_list", Label: "Leave the list of open issues out", Type: page.Checkbox, Value: page.Checked(b.HideBacklogList)},
		page.Field{Name: "hide_closed_list", Label: "Leave the list of closed issues out", Type: page.Checkbox, Value: page.Checked(b.HideClosedList)},
	)
	return x.NewForm(x.path(b, ""), "Save", fields...)
}

func (x *ownerRequest) listForm(b *board.Board) *page.Form {
	name := page.Field{Name: "of", Label: "Label", Type: page.Text, Required: true, Length: 255, Hint: "The name of a label, as “bug”."}
	var fields []page.Field
	if x.deps.Boards.ByMoreThanLabels() {
		name.Label, name.Hint = "Name", "The name of a label, the title of a milestone, or a username."
		fields = append(fields, page.Field{Name: "by", Label: "The list stands for", Type: page.Select, Options: []page.Choice{
			{Value: byLabel, Label: "A label"}, {Value: byMilestone, Label: "A milestone"}, {Value: byPerson, Label: "A person"},
		}})
	}
	f := x.NewForm(x.path(b, "/lists"), "Add list", append(fields, name)...)
	f.Look = page.Secondary
	return f
}

func editBoard(x *ownerRequest) error {
	b, err := x.found()
	if err != nil {
		return err
	}
	return x.showEdit(http.StatusOK, b, x.boardForm(b), x.listForm(b))
}

// showEdit shows the page, with forms that may have been refused.
func (x *ownerRequest) showEdit(code int, b *board.Board, form, add *page.Form) error {
	body := boardEditBody{Form: form, Add: add, Back: x.Link(x.shown(b))}
	lists, err := x.deps.Boards.Lists(x.Context(), b.ID)
	if err != nil {
		return err
	}
	shown, err := x.deps.Boards.Show(x.Context(), x.owner, lists[b.ID]...)
	if err != nil {
		return err
	}
	for n, l := range shown {
		row := listRow{column: newColumn(board.Column(l.ID), l)}
		own, about := x.path(b, "/lists/"+strconv.FormatInt(l.ID, 10)), "the list "+row.Name
		to := func(position int, icon ui.IconPath, text string) *page.Form {
			f := x.Button(own+"/move", text, page.Quiet, about).With("position", strconv.Itoa(position))
			f.Icon = icon
			return f
		}
		if n > 0 {
			row.Earlier = to(n-1, ui.IconLeft, "Left")
		}
		if n < len(shown)-1 {
			row.Later = to(n+1, ui.IconRight, "Right")
		}
		row.Remove = x.Button(own+"/delete", "Remove", page.Danger, about).
			AskFirst("The list “" + row.Name + "” goes from this board. Its issues stay as they are; those in no other list are shown among the open ones.")
		body.Lists = append(body.Lists, row)
	}
	if b.ID != 0 && x.deps.Boards.Several(x.owner.Entity) {
		body.Delete = x.Button(x.path(b, "/delete"), "Delete board", page.Danger, "").
			AskFirst("The board “" + b.Name + "” goes with its lists. Its issues stay as they are. This cannot be undone.")
	}
	return x.Show(code, x.layout("Edit board", boardsPath), boardEditPage(body))
}

func updateBoard(x *ownerRequest) error {
	b, err := x.kept()
	if err != nil {
		return err
	}
	name := strings.TrimSpace(x.Form.Get("name"))
	changed, err := x.deps.Boards.Update(x.Context(), x.Actor, x.owner.Entity, b.ID, board.Change{
		Name: &name, HideBacklogList: new(x.Form.Get("hide_backlog_list") != ""), HideClosedList: new(x.Form.Get("hide_closed_list") != ""),
	})
	if err == nil {
		return x.Done(x.path(changed, ""), "Board saved.")
	}
	form := x.boardForm(b)
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return x.showEdit(http.StatusUnprocessableEntity, b, form, x.listForm(b))
}

func deleteBoard(x *ownerRequest) error {
	if !x.deps.Boards.Several(x.owner.Entity) {
		return errOneBoard
	}
	b, err := x.found()
	if err == nil {
		err = x.deps.Boards.Delete(x.Context(), x.Actor, x.owner.Entity, b.ID)
	}
	if err != nil {
		return err
	}
	return x.Done(x.at(boardsPath), "Board deleted.")
}

// subject is what a new list is to stand for, by its name.
func (x *ownerRequest) subject() (s board.Subject, err error) {
	name, by := strings.TrimSpace(x.Form.Get("of")), x.Form.Get("by")
	if !x.deps.Boards.ByMoreThanLabels() {
		by = byLabel
	}
	switch by {
	case byMilestone:
		found, err := x.deps.Milestones.List(x.Context(), x.owner.Entity, milestone.Filter{Title: &name, Ancestors: true}, paging.Request{Page: 1, PerPage: 1})
		if err != nil || len(found.Items) == 0 {
			return s, absent(err, "No milestone has the title “%s”.", name)
		}
		s.MilestoneID = &found.Items[0].ID
	case byPerson:
		u, err := x.deps.Users.FindByUsername(x.Context(), strings.TrimPrefix(name, "@"))
		if err != nil {
			return s, absent(err, "Nobody has the username “%s”.", name)
		}
		s.UserID = &u.ID
	default:
		l, err := x.deps.Labels.Find(x.Context(), x.Actor, x.owner, name, true)
		if err != nil {
			return s, absent(err, "No label of this "+owner.Noun(x.owner.Entity)+" or of a group above it has the name “%s”.", name)
		}
		s.LabelID = &l.ID
	}
	return s, nil
}

// absent says of a field that what it names is not there, unless looking for it failed.
func absent(err error, format, name string) error {
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return fault.Field("of", format, name)
}

func addList(x *ownerRequest) error {
	b, err := x.found()
	if err != nil {
		return err
	}
	subject, err := x.subject()
	if err == nil {
		if b, err = x.kept(); err != nil {
			return err
		}
		_, err = x.deps.Boards.AddList(x.Context(), x.Actor, x.owner.Entity, b.ID, subject)
	}
	if err == nil {
		return x.Done(x.path(b, "/edit"), "List added.")
	}
	add := x.listForm(b)
	if err := x.Refuse(add, err); err != nil {
		return err
	}
	return x.showEdit(http.StatusUnprocessableEntity, b, x.boardForm(b), add)
}

// listID is the list in the path.
func (x *ownerRequest) listID() (int64, error) {
	id, err := strconv.ParseInt(x.R.PathValue("list"), 10, 64)
	if err != nil {
		return 0, fault.New(fault.NotFound)
	}
	return id, nil
}

func moveList(x *ownerRequest) error {
	b, err := x.found()
	if err != nil {
		return err
	}
	id, err := x.listID()
	if err != nil {
		return err
	}
	position, err := strconv.Atoi(x.Form.Get("position"))
	if err != nil {
		return fault.WithMessage(fault.BadParams, "The place of the list is not a number.")
	}
	if _, err := x.deps.Boards.MoveList(x.Context(), x.Actor, x.owner.Entity, b.ID, id, position); err != nil {
		return err
	}
	return x.Done(x.path(b, "/edit"), "The list is moved.")
}

func removeList(x *ownerRequest) error {
	b, err := x.found()
	if err != nil {
		return err
	}
	id, err := x.listID()
	if err == nil {
		err = x.deps.Boards.RemoveList(x.Context(), x.Actor, x.owner.Entity, b.ID, id)
	}
	if err != nil {
		return err
	}
	return x.Done(x.path(b, "/edit"), "The list is removed.")
}
