package planning

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/board"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/label"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	listsPerBoard = 8 // side by side, beside the two that every board has
	cardsPerList  = 10
	cardsAlone    = 20 // of a list that is looked at alone
)

// boardBody is a board: some of its lists side by side, each with its first cards.
type boardBody struct {
	Action    page.URL
	Search    string
	Assignees []page.Choice
	Problems  []string // what of the filter was not understood
	Narrowed  string   // by how many filters
	Clear     page.URL
	Boards    []boardLink // empty where there is no other
	Back      page.URL    // to all lists, from one of them
	Move      *page.Form  // what the menus of cards belong to; nil: the reader moves none
	Columns   []column
	Pager     page.Pager
}

// column is a list of a board.
type column struct {
	ID     string // as in addresses
	Name   string
	Icon   ui.IconPath
	Color  string  // of a label
	Person *person // whose issues they are
	Count  string
	Cards  []card
	More   page.URL // to the list alone; empty: all of it is here
}

// card is an issue on a board.
type card struct {
	Issue        string
	URL          page.URL
	Title        string
	Number       string
	Confidential bool
	Labels       []labelBadge
	Assignees    []person
	Due          *page.DisplayTime
	Late         bool
	Moves        []cardMove // empty: the reader may not move it
}

// cardMove is a button that moves a card.
type cardMove struct {
	Text string
	Move string // as readDrop reads it
	Way  string // where the card goes as people see it, for the keyboard: up, down, left or right
}

// element is the id of a card. An issue may stand in several lists.
func (c column) element(of card) string { return "card-" + c.ID + "-" + of.Issue }

// columnName is a list in addresses and forms.
func columnName(c board.Column) string {
	switch c {
	case board.Open:
		return "open"
	case board.Closed:
		return "closed"
	}
	return strconv.FormatInt(int64(c), 10)
}

func readColumn(name string) (board.Column, bool) {
	switch name {
	case "open":
		return board.Open, true
	case "closed":
		return board.Closed, true
	}
	id, err := strconv.ParseInt(name, 10, 64)
	return board.Column(id), err == nil && id > 0
}

// drop is what a button of a card sends: the issue, the list where it is, the list where it goes, and perhaps beside which issue.
func drop(i issue.Issue, from, to board.Column, beside ...string) string {
	return strings.Join(append([]string{strconv.FormatInt(i.ID, 10), columnName(from), columnName(to)}, beside...), " ")
}

var errDrop = fault.WithMessage(fault.BadParams, "The move could not be read: reload the board and try again.")

// readDrop reads what drop wrote.
func readDrop(text string) (d board.Drop, err error) {
	words := strings.Fields(text)
	if len(words) != 3 && len(words) != 5 {
		return d, errDrop
	}
	number := func(word string) (id int64) {
		if id, err = strconv.ParseInt(word, 10, 64); err == nil && id < 1 {
			err = errDrop
		}
		return id
	}
	known := [2]bool{}
	d.From, known[0] = readColumn(words[1])
	d.To, known[1] = readColumn(words[2])
	if d.IssueID = number(words[0]); err != nil || known != [2]bool{true, true} {
		return d, errDrop
	}
	if len(words) == 5 {
		switch words[3] {
		case "after":
			d.After = number(words[4])
		case "before":
			d.Before = number(words[4])
		default:
			err = errDrop
		}
	}
	if err != nil {
		return d, errDrop
	}
	return d, nil
}

// window is which part of a board a page shows.
type window struct {
	lists   []board.List   // all of the board
	near    []board.List   // those of them that stand side by side
	columns []board.Column // what is shown
	targets []board.Column // where cards can be moved to
	alone   bool           // one list, with more of its cards
	cards   paging.Request
	turn    paging.Request // of the lists
	more    bool
}

func (x *ownerRequest) window(b *board.Board) (w window, err error) {
	all, err := x.deps.Boards.Lists(x.Context(), b.ID)
	if err != nil {
		return w, err
	}
	w.lists, w.turn = all[b.ID], x.Numbered("lists", listsPerBoard)
	part := paging.Cut(w.lists, w.turn)
	w.near, w.more = part.Items, part.More
	if !b.HideBacklogList {
		w.targets = append(w.targets, board.Open)
	}
	for _, l := range w.near {
		w.targets = append(w.targets, board.Column(l.ID))
	}
	if !b.HideClosedList {
		w.targets = append(w.targets, board.Closed)
	}
	w.columns, w.cards = w.targets, paging.Request{Page: 1, PerPage: cardsPerList}
	if name := x.Form.Get("list"); name != "" {
		c, known := readColumn(name)
		if !known {
			return w, fault.New(fault.NotFound)
		}
		w.columns, w.cards, w.alone = []board.Column{c}, x.Numbered("page", cardsAlone), true
		if !slices.Contains(w.targets, c) {
			w.near = append(slices.Clone(w.near), slices.DeleteFunc(slices.Clone(w.lists), func(l board.List) bool { return board.Column(l.ID) != c })...)
		}
	}
	return w, nil
}

// query is the part of the board in an address, with a filter.
func (w window) query(f filter) url.Values {
	q := f.query()
	if w.turn.Page > 1 {
		q.Set("lists", strconv.Itoa(w.turn.Page))
	}
	if w.alone {
		q.Set("list", columnName(w.columns[0]))
	}
	if w.cards.Page > 1 {
		q.Set("page", strconv.Itoa(w.cards.Page))
	}
	return q
}

func showBoard(x *ownerRequest) error {
	b, err := x.found()
	if err != nil {
		return err
	}
	if x.R.PathValue("id") == "0" {
		x.Redirect(x.shown(b))
		return nil
	}
	return x.board(b)
}

// board shows a board.
func (x *ownerRequest) board(b *board.Board) error {
	f, err := readFilter(x.Form)
	if err != nil {
		return err
	}
	f = f.ofBoard()
	w, err := x.window(b)
	if err != nil {
		return err
	}
	body, err := x.boardBody(b, f, w)
	if err != nil {
		return err
	}
	l := x.layout(b.Name, boardsPath)
	l.Wide, l.Actions = true, boardActions(x.actions(b))
	if body.Move != nil {
		l.Script = page.BoardScript
	}
	return x.Show(http.StatusOK, l, boardPage(body))
}

// ofBoard leaves out what a board says itself: its lists have a state and an order.
func (f filter) ofBoard() filter {
	f.State, f.Sort = "opened", sortings[0].value
	return f
}

// boardButtons lead from a board to what can be done with it.
type boardButtons struct{ Edit, Board, Issue page.URL }

func (x *ownerRequest) actions(b *board.Board) (to boardButtons) {
	if x.may(toAdminBoards) {
		to.Edit = x.Link(x.path(b, "/edit"))
		if x.deps.Boards.Several(x.owner.Entity) {
			to.Board = x.Link(x.at(boardsPath + "/new"))
		}
	}
	if p := x.owner.Project; p != nil && access.Holds(x.Actor, access.CreateIssues, p.Target()) {
		to.Issue = x.Link(x.at(issuesPath + "/new"))
	}
	return to
}

func (x *ownerRequest) boardBody(b *board.Board, f filter, w window) (body boardBody, err error) {
	path := x.shown(b)
	body = boardBody{Action: x.Link(path), Search: f.search(), Assignees: f.assignees(x.Account), Clear: x.Link(path), Problems: f.Problems}
	if n := f.narrowed(); n > 0 {
		body.Narrowed = counted(n, "filter")
	}
	if all, err := x.links(b.ID); err != nil {
		return body, err
	} else if len(all) > 1 {
		body.Boards = all
	}
	if body.Columns, err = x.columns(path, f, w); err != nil {
		return body, err
	}
	if slices.ContainsFunc(body.Columns, func(c column) bool {
		return slices.ContainsFunc(c.Cards, func(of card) bool { return len(of.Moves) > 0 })
	}) {
		body.Move = x.NewForm(x.path(b, "/move"), "").With("back", w.query(f).Encode())
	}
	if w.alone {
		body.Back = address(x.Request, path, f.query())
		only := &body.Columns[0]
		body.Pager = x.NumberedPager(path, w.query(f), "page", "", w.cards, only.More != "")
		body.Pager.BackText, body.Pager.OnwardText, only.More = "Previous", "Next", ""
	} else {
		body.Pager = x.NumberedPager(path, f.query(), "lists", "", w.turn, w.more)
		body.Pager.BackText, body.Pager.OnwardText = "Earlier lists", "Further lists"
	}
	return body, nil
}

// columns reads the lists that are shown, with their cards.
func (x *ownerRequest) columns(path string, f filter, w window) ([]column, error) {
	match, err := f.match(x.Context(), x.deps.Users)
	if err != nil {
		return nil, err
	}
	shown, err := x.deps.Boards.Show(x.Context(), x.owner, w.near...)
	if err != nil {
		return nil, err
	}
	names := map[board.Column]board.Shown{}
	for _, l := range shown {
		names[board.Column(l.ID)] = l
	}
	found, err := x.deps.Boards.IssuesIn(x.Context(), x.Actor, x.owner, w.lists, w.columns, match, w.cards)
	if err != nil {
		return nil, err
	}
	var issues []issue.Issue
	for _, part := range found {
		issues = append(issues, part.Items...)
	}
	beside, err := x.deps.Issues.Beside(x.Context(), x.Actor, x.owner.Project, issues...)
	if err != nil {
		return nil, err
	}
	all := make([]column, len(w.columns))
	for n, c := range w.columns {
		here := beside[:len(found[n].Items)]
		beside = beside[len(here):]
		all[n] = newColumn(c, names[c])
		all[n].Count = upTo(found[n].Total, false)
		all[n].Cards = x.cards(path, w, names, c, slices.DeleteFunc(here, func(b issue.Beside) bool { return b.Project == nil }))
		if found[n].More {
			alone := w
			alone.columns, alone.alone, alone.cards.Page = []board.Column{c}, true, 1
			all[n].More = address(x.Request, path, alone.query(f))
		}
	}
	return all, nil
}

// nameOf is what a list is called.
func nameOf(c board.Column, of board.Shown) string {
	switch {
	case c == board.Open:
		return "Open"
	case c == board.Closed:
		return "Closed"
	case of.Label != nil:
		return of.Label.Name
	case of.Milestone != nil:
		return of.Milestone.Title
	case of.Person != nil:
		return of.Person.Name
	}
	return "Something that you cannot see"
}

func newColumn(c board.Column, of board.Shown) column {
	shown := column{ID: columnName(c), Name: nameOf(c, of)}
	switch {
	case c == board.Open:
		shown.Icon = openStatus.Icon
	case c == board.Closed:
		shown.Icon = closedStatus.Icon
	case of.Label != nil:
		shown.Color = of.Label.Color
	case of.Milestone != nil:
		shown.Icon = ui.IconMilestone
	case of.Person != nil:
		shown.Person = personOf(of.Person)
	default:
		shown.Icon = ui.IconLock
	}
	return shown
}

// cards shows the issues of a list.
func (x *ownerRequest) cards(path string, w window, names map[board.Column]board.Shown, c board.Column, issues []issue.Beside) []card {
	today := x.Clock.Now().UTC().Truncate(24 * time.Hour)
	all := make([]card, len(issues))
	for n := range issues {
		i := &issues[n]
		labels := slices.DeleteFunc(slices.Clone(i.Labels), func(l label.Label) bool { return names[c].Label != nil && names[c].Label.ID == l.ID })
		all[n] = card{
			Issue: strconv.FormatInt(i.ID, 10), URL: x.Link(issuePath(i.Project, i.IID)), Title: i.Title, Number: fmt.Sprintf("#%d", i.IID),
			Confidential: i.Confidential, Labels: badges(x.Request, path, labels), Due: x.Day(i.DueDate),
			Late: i.DueDate != nil && !i.Closed && i.DueDate.Before(today),
		}
		if x.owner.Project == nil {
			all[n].Number = i.Project.FullPath() + all[n].Number
		}
		for _, u := range i.Assignees[:min(len(i.Assignees), maxAvatars)] {
			all[n].Assignees = append(all[n].Assignees, *personOf(&u))
		}
		if access.Holds(x.Actor, access.PlanIssues, i.Project.Target()) {
			all[n].Moves = moves(w, names, c, issues, n)
		}
	}
	return all
}

// moves are where a card can go: one up or down in its list, and to the other lists.
func moves(w window, names map[board.Column]board.Shown, c board.Column, issues []issue.Beside, n int) []cardMove {
	var all []cardMove
	it := issues[n].Issue
	if n > 0 {
		all = append(all, cardMove{"Up", drop(it, c, c, "before", strconv.FormatInt(issues[n-1].ID, 10)), "up"})
	}
	if n < len(issues)-1 {
		all = append(all, cardMove{"Down", drop(it, c, c, "after", strconv.FormatInt(issues[n+1].ID, 10)), "down"})
	}
	here := slices.Index(w.targets, c)
	for at, to := range w.targets {
		way := ""
		switch {
		case to == c:
			continue
		case w.alone || here < 0:
		case at == here-1:
			way = "left"
		case at == here+1:
			way = "right"
		}
		all = append(all, cardMove{"Move to “" + nameOf(to, names[to]) + "”", drop(it, c, to), way})
	}
	return all
}

// moveCard is what all ways of moving a card send. It leads back to the part of the board from where it was sent, and there to the card.
func moveCard(x *ownerRequest) error {
	b, err := x.found()
	if err != nil {
		return err
	}
	d, err := readDrop(x.Form.Get("move"))
	if err != nil {
		return err
	}
	back, err := x.back(b)
	if err != nil {
		return err
	}
	if err := page.Within(x.Request, "issues_update"); err != nil {
		return err
	}
	_, err = x.deps.Boards.Move(x.Context(), x.Actor, x.owner, b, d)
	switch {
	case err == nil:
		return x.Done(back+"#card-"+columnName(d.To)+"-"+strconv.FormatInt(d.IssueID, 10), "The card is moved.")
	case errors.Is(err, issue.ErrPlace):
		err = fault.WithMessage(fault.Unprocessable, "The board has changed meanwhile, and the card is where it was. Look again, and move it from there.")
	}
	if !fault.Is(err, fault.Unprocessable) && !fault.Is(err, fault.Rejected) {
		return err
	}
	why := &page.Form{}
	if err := x.Refuse(why, err); err != nil {
		return err
	}
	if err := x.Say(page.Flash{Text: why.Problem}); err != nil {
		return err
	}
	x.Redirect(back)
	return nil
}

// back is the part of a board that a form was sent from.
func (x *ownerRequest) back(b *board.Board) (string, error) {
	sent, err := url.ParseQuery(x.Form.Get("back"))
	if err != nil {
		return "", errDrop
	}
	f, err := readFilter(sent)
	if err != nil {
		return "", err
	}
	q := f.ofBoard().query()
	for _, name := range []string{"list", "lists", "page"} {
		if sent.Has(name) {
			q.Set(name, sent.Get(name))
		}
	}
	return withQuery(x.shown(b), q), nil
}
