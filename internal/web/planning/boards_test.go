package planning_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"stithy/internal/board"
	"stithy/internal/group/grouptest"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/label"
	"stithy/internal/owner"
	"stithy/internal/platform/postgres"
	"stithy/internal/project/projecttest"
	"stithy/internal/user/usertest"
)

const boards = home + "/-/boards"

// maker is who sets boards up: the maintainer.
func (w *fixture) maker(t testing.TB) (access.Actor, *owner.Owner) {
	t.Helper()
	by := w.actor(access.Maintainer)
	return by, owner.OfProject(w.as(t, by))
}

// board makes a board of the project with a list for each label, which are made where they are missing, and returns its address and its lists.
func (w *fixture) board(t testing.TB, name string, labels ...string) (at string, lists []string) {
	t.Helper()
	by, o := w.maker(t)
	b, err := w.Boards.Create(t.Context(), by, o.Entity, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range labels {
		l, err := w.Labels.Find(t.Context(), by, o, of, true)
		if err != nil {
			if l, err = w.Labels.Create(t.Context(), by, o, label.Draft{Name: of, Color: "#6699cc"}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := w.Boards.AddList(t.Context(), by, o.Entity, b.ID, board.Subject{LabelID: &l.ID})
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, fmt.Sprint(list.ID))
	}
	return fmt.Sprintf("%s/%d", boards, b.ID), lists
}

// cardTitle is the title of a card, without the sign of a confidential one.
var cardTitle = regexp.MustCompile(`(?s)<a class="title grow" href="[^"]*">(?:<svg.*?</span>)?(.*?)</a>`)

// list is the part of a board that is one of its lists.
func (s screen) list(t testing.TB, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(s.Body.String(), `data-list="`+name+`"`)
	if !found {
		t.Fatalf("there is no list %s in %s", name, s.text)
	}
	part, _, _ := strings.Cut(rest, "</section>")
	return html.UnescapeString(part)
}

// cards are the titles in a list of a board, in their order.
func (s screen) cards(t testing.TB, name string) string {
	t.Helper()
	var all []string
	for _, found := range cardTitle.FindAllStringSubmatch(s.list(t, name), -1) {
		all = append(all, strings.TrimSpace(found[1]))
	}
	return strings.Join(all, ", ")
}

// press finds the button of a card that has a text, and returns what it sends.
func (s screen) press(t testing.TB, list string, i *issue.Issue, text string) string {
	t.Helper()
	_, rest, _ := strings.Cut(s.list(t, list), fmt.Sprintf(`id="card-%s-%d-menu"`, list, i.ID))
	menu, _, _ := strings.Cut(rest, "</ul>")
	for _, button := range regexp.MustCompile(`(?s)<button form="move" name="move" value="([^"]*)"[^>]*>(.*?)</button>`).FindAllStringSubmatch(menu, -1) {
		if button[2] == text {
			return button[1]
		}
	}
	t.Fatalf("%s has no button %q in %s", i.Title, text, menu)
	return ""
}

func TestABoardShowsItsListsSideBySide(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at, lists := w.board(t, "Work", "bug", "hot")
	due := w.Now().UTC().AddDate(0, 0, -1)
	w.open(t, issue.Draft{Title: "Mend the <door>", Labels: []string{"bug", "old"}, AssigneeIDs: []int64{w.people[access.Developer].ID}, DueDate: &due})
	w.open(t, issue.Draft{Title: "Oil the door"})
	w.open(t, issue.Draft{Title: "Paint it", Labels: []string{"bug", "hot"}})
	done := w.open(t, issue.Draft{Title: "Buy oil", DueDate: &due})
	w.change(t, done, issue.Change{Close: new(true)})
	s := w.in(t, access.Guest).shows(at)
	for list, want := range map[string]string{"open": "Oil the door", lists[0]: "Mend the <door>, Paint it", lists[1]: "Paint it", "closed": "Buy oil"} {
		if got := s.cards(t, list); got != want {
			t.Errorf("the list %s has %q, want %q", list, got, want)
		}
	}
	first := s.list(t, lists[0])
	for _, text := range []string{
		`id="list-` + lists[0] + `">bug<`, `fill="#6699cc"`, `<span class="hidden">Issues: </span>2<`, `href="/house/tool/-/issues/1"`, "#1", "Assigned to " + w.people[access.Developer].Name,
		"yesterday", "Overdue", at + "?label_name%5B%5D=old",
	} {
		if !strings.Contains(first, text) {
			t.Errorf("%q is not in %s", text, first)
		}
	}
	if strings.Contains(first, "label_name%5B%5D=bug") {
		t.Error("a card says what its list says already")
	}
	if closed := s.list(t, "closed"); strings.Contains(closed, "Overdue") || !strings.Contains(closed, "yesterday") {
		t.Errorf("what is closed is overdue: %s", closed)
	}
	if order := regexp.MustCompile(`data-list="(\w+)"`).FindAllString(s.text, -1); len(order) != 4 || !strings.Contains(order[0], "open") || !strings.Contains(order[3], "closed") {
		t.Errorf("the lists are %v", order)
	}
	if strings.Contains(s.Body.String(), "<door>") || s.says(`form="move"`) || s.says("<script") {
		t.Error("a title is markup, or a guest is offered to move cards")
	}
	if s.says("Edit board") || s.says("New board") || !s.says("New issue") {
		t.Error("a guest is offered to change the board")
	}
}

func TestABoardThatNobodyMadeIsShownAndMadeWhenItChanges(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	i := w.open(t, issue.Draft{Title: "Oil the door", Labels: []string{"bug"}})
	b := w.in(t, access.Reporter)
	s := b.shows(boards)
	if !s.says("Development") || s.cards(t, "open") != "Oil the door" || s.cards(t, "closed") != "" {
		t.Error(s.text)
	}
	if to := b.get(boards + "/0").leads(); to != boards {
		t.Errorf("its own address leads to %s", to)
	}
	if to := b.done(boards+"/0/move", "move", s.press(t, "open", i, "Move to “Closed”")); to != fmt.Sprintf("%s#card-closed-%d", boards, i.ID) {
		t.Errorf("a move leads to %s", to)
	}
	if s := b.shows(boards); s.cards(t, "closed") != "Oil the door" {
		t.Error(s.text)
	}
	by, o := w.maker(t)
	made := func() int {
		found, err := w.Boards.List(t.Context(), o.Entity, paging.Request{Page: 1, PerPage: 9})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Items)
	}
	if !b.shows(boards+"/0/edit").says("Add list") || b.post(boards+"/0/lists", "of", "nothing").Code != http.StatusUnprocessableEntity || made() != 0 {
		t.Error("reading made a board, or a form that was refused did")
	}
	to := b.done(boards+"/0/lists", "of", "bug")
	first, err := w.Boards.First(t.Context(), o.Entity)
	if err != nil || made() != 1 || to != fmt.Sprintf("%s/%d/edit", boards, first.ID) {
		t.Fatalf("it leads to %s, %v", to, err)
	}
	// Sent again from a page that is older, it changes the board that is there.
	if b.done(boards+"/0", "name", "Work"); made() != 1 {
		t.Error("a second board was made")
	}
	if s := b.get(boards); s.leads() != fmt.Sprintf("%s/%d", boards, first.ID) {
		t.Errorf("the only board is not opened: %d %s", s.Code, s.leads())
	}
	if s := b.get(boards + "?search=door&sort=priority"); s.leads() != fmt.Sprintf("%s/%d?search=door&sort=priority", boards, first.ID) {
		t.Errorf("the filter is lost: %s", s.leads())
	}
	if _, err := w.Boards.Create(t.Context(), by, o.Entity, "Other"); err != nil {
		t.Fatal(err)
	}
	if s := b.shows(boards); !s.says(">Work<", ">Other<", "New board") {
		t.Error(s.text)
	}
	if s := b.shows(fmt.Sprintf("%s/%d", boards, first.ID)); !s.says(`aria-current="page"><span class="cut">Work<`, ">Other<") {
		t.Error("a board does not lead to the others")
	}
	if s := w.in(t, access.Guest).shows(boards); s.says("New board") {
		t.Error("a guest is offered to make boards")
	}
}

func TestMovingACardByItsMenuChangesLabelStateAndOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at, lists := w.board(t, "Work", "bug", "hot")
	first, second := w.open(t, issue.Draft{Title: "First", Labels: []string{"bug"}}), w.open(t, issue.Draft{Title: "Second", Labels: []string{"bug"}})
	b := w.in(t, access.Reporter)
	press := func(list string, i *issue.Issue, text, to string) screen {
		t.Helper()
		s := b.shows(at + "?search=s")
		if got, want := b.done(at+"/move", "move", s.press(t, list, i, text), "back", "search=s"), fmt.Sprintf("%s?search=s#card-%s-%d", at, to, i.ID); got != want {
			t.Errorf("it leads to %s, want %s", got, want)
		}
		return b.shows(at)
	}
	if s := b.shows(at); !s.says(`<form id="move" method="post" action="`+at+`/move" hidden>`, "/assets/board.") {
		t.Error("there is no form, or no script")
	}
	if s := press(lists[0], second, "Up", lists[0]); s.cards(t, lists[0]) != "Second, First" {
		t.Error(s.cards(t, lists[0]))
	}
	if s := press(lists[0], second, "Down", lists[0]); s.cards(t, lists[0]) != "First, Second" {
		t.Error(s.cards(t, lists[0]))
	}
	if s := press(lists[0], first, "Move to “hot”", lists[1]); s.cards(t, lists[0]) != "Second" || s.cards(t, lists[1]) != "First" {
		t.Error(s.text)
	}
	if s := press(lists[1], first, "Move to “Closed”", "closed"); s.cards(t, "closed") != "First" || !b.shows(issues+"?state=closed").says("First") {
		t.Error(s.text)
	}
	press("closed", first, "Move to “Open”", "open")
	if i, _, err := w.Issues.FindByID(t.Context(), w.actor(access.Owner), first.ID); err != nil || i.Closed || len(i.LabelIDs) != 0 {
		t.Errorf("%+v, %v", i, err)
	}
	// The first goes no further up, and the last no further down.
	if s := b.shows(at); strings.Contains(s.list(t, lists[0]), ">Up<") || strings.Contains(s.list(t, lists[0]), ">Down<") {
		t.Error("the only card of a list is offered to move in it")
	}
	// The keyboard goes to the neighbours.
	for _, way := range []string{`data-way="left">Move to “Open”<`, `data-way="right">Move to “hot”<`} {
		if !strings.Contains(b.shows(at).list(t, lists[0]), way) {
			t.Errorf("%s is missing", way)
		}
	}
	if strings.Contains(b.shows(at).list(t, "open"), `data-way="left"`) {
		t.Error("there is something left of the first list")
	}
}

func TestADragPutsACardBesideAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at, lists := w.board(t, "Work", "bug")
	a, c := w.open(t, issue.Draft{Title: "A", Labels: []string{"bug"}}), w.open(t, issue.Draft{Title: "C", Labels: []string{"bug"}})
	x := w.open(t, issue.Draft{Title: "X"})
	b := w.in(t, access.Reporter)
	b.done(at+"/move", "move", fmt.Sprintf("%d open %s after %d", x.ID, lists[0], a.ID))
	if got := b.shows(at).cards(t, lists[0]); got != "A, X, C" {
		t.Error(got)
	}
	b.done(at+"/move", "move", fmt.Sprintf("%d %s %s before %d", c.ID, lists[0], lists[0], a.ID))
	if got := b.shows(at).cards(t, lists[0]); got != "C, A, X" {
		t.Error(got)
	}
	for _, text := range []string{
		"", "1", "1 open", "0 open closed", "-1 open closed", "one open closed", "1 nowhere closed", "1 open nowhere", "1 open -1", "1 open closed after", "1 open closed beside 2",
		"1 open closed after 0", "1 open closed before x", "1 open closed after 2 before 3", "99999999999999999999 open closed",
	} {
		if s := b.post(at+"/move", "move", text); s.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", text, s.Code)
		}
	}
	if s := b.post(at+"/move", "move", fmt.Sprintf("%d open closed", x.ID), "back", "%zz"); s.Code != http.StatusBadRequest {
		t.Errorf("a way back that cannot be read: %d", s.Code)
	}
	if s := b.post(at+"/move", "move", fmt.Sprintf("%d open 999999", x.ID)); s.Code != http.StatusNotFound {
		t.Errorf("a list that is not there: %d", s.Code)
	}
}

// follow sends a form and looks at where it leads, with what was left to say.
func (b *browser) follow(target string, pairs ...string) screen {
	b.t.Helper()
	s := b.post(target, pairs...)
	if s.Code != http.StatusSeeOther {
		b.t.Fatalf("%s: %d %s", target, s.Code, s.text)
	}
	path, _, _ := strings.Cut(s.leads(), "#")
	b.flash = s.Result().Cookies()
	defer func() { b.flash = nil }()
	return b.shows(path)
}

func TestACardThatCannotBeMovedSaysWhy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at, _ := w.board(t, "Work", "bug")
	i, other := w.open(t, issue.Draft{Title: "Mend the door"}), w.open(t, issue.Draft{Title: "Oil the door"})
	b := w.in(t, access.Reporter)
	move := fmt.Sprintf("%d open open after %d", i.ID, other.ID)
	if s := b.follow(at+"/move", "move", move); !s.says("The card is moved.", `class="notice good"`) {
		t.Error(s.text)
	}
	_, o := w.maker(t)
	if err := w.Issues.Delete(t.Context(), w.actor(access.Owner), o.Project, other.IID); err != nil {
		t.Fatal(err)
	}
	if s := b.follow(at+"/move", "move", move); !s.says("The board has changed meanwhile") || s.says("notice good") {
		t.Error(s.text)
	}
	w.change(t, i, issue.Change{Close: new(true), DiscussionLocked: new(true)})
	if s := b.follow(at+"/move", "move", fmt.Sprintf("%d closed open", i.ID)); !s.says("unlock it before it is reopened") {
		t.Error(s.text)
	}
}

func TestPE02_WhoSeesABoardAndMovesItsCards(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at, lists := w.board(t, "Work", "bug")
	i := w.open(t, issue.Draft{Title: "Mend the door", Labels: []string{"bug"}})
	w.open(t, issue.Draft{Title: "A secret", Labels: []string{"bug"}, Confidential: true})
	move := fmt.Sprintf("%d %s closed", i.ID, lists[0])
	for _, b := range []*browser{w.browser(t, w.stranger), w.in(t, access.Guest)} {
		s := b.shows(at)
		if s.says("A secret") || s.cards(t, lists[0]) != "Mend the door" || !strings.Contains(s.list(t, lists[0]), `<span class="hidden">Issues: </span>1<`) {
			t.Error("a confidential issue is shown or counted")
		}
		for path, form := range map[string][]string{
			"/move": {"move", move}, "": {"name", "Mine"}, "/delete": nil, "/lists": {"of", "bug"}, "/lists/" + lists[0] + "/delete": nil, "/lists/" + lists[0] + "/move": {"position", "0"},
		} {
			if s := b.post(at+path, form...); s.Code != http.StatusNotFound {
				t.Errorf("%s: %d", path, s.Code)
			}
		}
		for _, path := range []string{at + "/edit", boards + "/new"} {
			if s := b.get(path); s.Code != http.StatusNotFound {
				t.Errorf("%s: %d", path, s.Code)
			}
		}
		if s := b.post(boards, "name", "Mine"); s.Code != http.StatusNotFound {
			t.Errorf("a board is made: %d", s.Code)
		}
	}
	if s := w.in(t, access.Reporter).shows(at); !strings.Contains(s.cards(t, lists[0]), "A secret") {
		t.Error(s.text)
	}
	if s := w.anonymous(t).get(at); s.Code != http.StatusSeeOther || !strings.HasPrefix(s.leads(), "/users/sign_in") {
		t.Errorf("nobody is signed in: %d", s.Code)
	}
	if s := w.anonymous(t).post(at+"/move", "move", move); s.Code != http.StatusSeeOther || !strings.HasPrefix(s.leads(), "/users/sign_in") {
		t.Errorf("nobody is signed in: %d", s.Code)
	}
	if i, _, err := w.Issues.FindByID(t.Context(), w.actor(access.Owner), i.ID); err != nil || i.Closed {
		t.Error("it was moved all the same")
	}
	// A card that is not of the project, or is no board of it, is not there.
	projecttest.New(t, w.DB, w.group.ID, projecttest.Named("other"), projecttest.Visible(access.Public))
	if s := w.in(t, access.Owner).get(fmt.Sprintf("/house/other/-/boards/%s", strings.TrimPrefix(at, boards+"/"))); s.Code != http.StatusNotFound {
		t.Errorf("the board of another project: %d", s.Code)
	}
	if _, err := w.DB.Exec(t.Context(), `update projects set visibility = 0 where id = $1`, w.project.ID); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{boards, at} {
		if s := w.browser(t, w.stranger).get(path); s.Code != http.StatusNotFound {
			t.Errorf("a stranger at %s of a private project: %d", path, s.Code)
		}
	}
}

func TestABoardOfAGroupShowsTheIssuesOfItsProjects(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=free")
	other := projecttest.New(t, w.DB, w.group.ID, projecttest.Named("roof"), projecttest.Visible(access.Public))
	boss := usertest.New(t, w.DB, usertest.Named("boss"))
	grouptest.Join(t, w.DB, w.group, boss, access.Owner)
	const all = "/groups/house/-/boards"
	mine := w.open(t, issue.Draft{Title: "Mend the door"})
	by := access.Actor{Person: boss.Person()}
	p, err := w.Projects.Find(t.Context(), by, other.ID)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := w.Issues.Create(t.Context(), by, p, issue.Draft{Title: "Mend the roof"})
	if err != nil {
		t.Fatal(err)
	}
	// Who plans in one of the projects moves its issues, and is not asked for what a group may.
	b := w.in(t, access.Reporter)
	s := b.shows(all)
	if !s.says("house/tool#1", "house/roof#1", "Development") || s.says("Edit board") || s.says("New issue") {
		t.Error(s.text)
	}
	if strings.Contains(s.list(t, "open"), fmt.Sprintf(`id="card-open-%d-menu"`, theirs.ID)) {
		t.Error("a card is offered to be moved that may not be")
	}
	b.done(all+"/0/move", "move", s.press(t, "open", mine, "Move to “Closed”"))
	if s := b.post(all+"/0/move", "move", fmt.Sprintf("%d open closed", theirs.ID)); s.Code != http.StatusForbidden {
		t.Errorf("a card of the other project: %d", s.Code)
	}
	if s := b.shows(all); s.cards(t, "open") != "Mend the roof" || s.cards(t, "closed") != "Mend the door" {
		t.Error(s.text)
	}
	for _, path := range []string{"/0", "/0/lists", "/0/delete"} {
		if s := b.post(all+path, "name", "Mine", "of", "x"); s.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, s.Code)
		}
	}
	// The group has one board on the free tier, which its reporters change.
	chief := w.browser(t, boss)
	if s := chief.shows(all); !s.says("Edit board") || s.says("New board") {
		t.Error(s.text)
	}
	if s := chief.get(all + "/new"); s.Code != http.StatusNotFound {
		t.Errorf("%d", s.Code)
	}
	if s := chief.post(all, "name", "Second"); s.Code != http.StatusNotFound {
		t.Errorf("%d", s.Code)
	}
	edit := chief.done(all+"/0", "name", "Ours", "hide_closed_list", "1")
	if s := chief.shows(edit); !s.says(">Ours<") || s.says(`data-list="closed"`) || !s.says(`data-list="open"`) {
		t.Error(s.text)
	}
	if s := chief.shows(edit + "/edit"); s.says("Delete board") {
		t.Error("the only board of a group is offered to be deleted")
	}
	if s := chief.post(edit + "/delete"); s.Code != http.StatusNotFound {
		t.Errorf("%d", s.Code)
	}
	if s := w.browser(t, w.stranger).shows("/groups/house"); !s.says(all) {
		t.Error("the group does not lead to its board")
	}
}

func TestABoardIsNarrowedByWhatAnAddressSays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at, lists := w.board(t, "Work", "bug")
	w.open(t, issue.Draft{Title: "First door", Labels: []string{"bug", "old"}})
	w.open(t, issue.Draft{Title: "Second door", Labels: []string{"bug"}, AssigneeIDs: []int64{w.people[access.Developer].ID}})
	w.open(t, issue.Draft{Title: "Third roof"})
	b := w.in(t, access.Reporter)
	for query, want := range map[string][2]string{
		"":                                  {"Third roof", "First door, Second door"},
		"search=door":                       {"", "First door, Second door"},
		"label_name[]=old":                  {"", "First door"},
		"assignee=@role-30":                 {"", "Second door"},
		"assignee=none":                     {"Third roof", "First door"},
		"search=roof&state=closed":          {"Third roof", ""},
		"search=label:old+author:@x":        {"", ""},
		"label_name[]=old&label_name[]=bug": {"", "First door"},
	} {
		s := b.shows(at + "?" + query)
		if got := [2]string{s.cards(t, "open"), s.cards(t, lists[0])}; got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
		if s.says(">Clear<") == (query == "") {
			t.Errorf("%s: whether it is narrowed is not said", query)
		}
	}
	if s := b.shows(at + "?search=door&state=closed"); !s.says(`name="back" value="search=door"`) {
		t.Error("a move does not lead back to the filter")
	}
}

func TestFurtherCardsOfAListAreOnAPageOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at, lists := w.board(t, "Work", "bug")
	for n := range 23 {
		w.open(t, issue.Draft{Title: fmt.Sprintf("Door %02d", n), Labels: []string{"bug"}})
	}
	last := w.open(t, issue.Draft{Title: "The last", Labels: []string{"bug"}})
	b := w.in(t, access.Reporter)
	s := b.shows(at + "?assignee=none")
	more := at + "?assignee=none&list=" + lists[0]
	if got := strings.Count(s.list(t, lists[0]), `class="card"`); got != 10 || !strings.Contains(s.list(t, lists[0]), `href="`+more+`"`) || strings.Contains(s.list(t, "open"), ">More<") {
		t.Errorf("%d cards in %s", got, s.list(t, lists[0]))
	}
	if !strings.Contains(s.list(t, lists[0]), `<span class="hidden">Issues: </span>24<`) {
		t.Error("the list does not say how much it holds")
	}
	if s := b.shows(more); strings.Count(s.text, `class="card"`) != 20 || s.says(`data-list="open"`) || !s.says(more+"&page=2", "All lists of the board", ">bug<") || s.says(">More<") {
		t.Error(s.text)
	}
	s = b.shows(more + "&page=2")
	if got := s.cards(t, lists[0]); got != "Door 20, Door 21, Door 22, The last" || !s.says(more+"&page=1") || s.says("page=3") {
		t.Error(got)
	}
	if strings.Contains(s.text, "data-way=\"left\"") || !strings.Contains(s.text, "data-way=\"up\"") {
		t.Error("what stands alone has a neighbour")
	}
	if to := b.done(at+"/move", "move", s.press(t, lists[0], last, "Move to “Closed”"), "back", "assignee=none&list="+lists[0]+"&page=2&evil=1"); to != fmt.Sprintf("%s&page=2#card-closed-%d", more, last.ID) {
		t.Errorf("it leads to %s", to)
	}
	if s := b.shows(at + "?list=closed"); s.cards(t, "closed") != "The last" || s.says(`data-list="open"`) {
		t.Error(s.text)
	}
	for _, list := range []string{"999999", "nowhere", "-1", "0"} {
		if s := b.get(at + "?list=" + list); s.Code != http.StatusNotFound {
			t.Errorf("%s: %d", list, s.Code)
		}
	}
}

func TestABoardWithManyListsIsTurned(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var names []string
	for n := range 10 {
		names = append(names, fmt.Sprintf("label %d", n))
	}
	at, lists := w.board(t, "Work", names...)
	w.open(t, issue.Draft{Title: "Mend the door", Labels: []string{"label 9"}})
	b := w.in(t, access.Reporter)
	if s := b.shows(at); !s.says("label 7", at+"?lists=2") || s.says("label 8") || s.cards(t, "open") != "" {
		t.Error(s.text)
	}
	s := b.shows(at + "?lists=2")
	if s.says("label 7") || !s.says("label 8", at+"?lists=1") || s.cards(t, lists[9]) != "Mend the door" || !s.says(`value="lists=2"`) {
		t.Error(s.text)
	}
	// A list that stands elsewhere is named when it is looked at alone.
	if s := b.shows(at + "?list=" + lists[9]); !strings.Contains(s.list(t, lists[9]), ">label 9<") || s.cards(t, lists[9]) != "Mend the door" {
		t.Error(s.text)
	}
}

func TestBoardsAndTheirListsAreMadeChangedAndRemovedByForms(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=premium")
	b := w.in(t, access.Reporter)
	if !b.shows(boards + "/new").says("Create board") {
		t.Error("there is no form")
	}
	if s := b.post(boards, "name", " "); s.Code != http.StatusUnprocessableEntity || !s.says("can't be blank") {
		t.Errorf("without a name: %d %s", s.Code, s.text)
	}
	at := b.done(boards, "name", "Plan <b>", "x", "y")
	if s := b.shows(at); !s.says("Plan <b>") || strings.Contains(s.Body.String(), "Plan <b>") {
		t.Error(s.text)
	}
	b.done(home+"/-/labels", "name", "bug", "color", "crimson")
	b.done(home+"/-/milestones", "title", "2.5")
	for _, form := range [][]string{{"by", "label", "of", "bug"}, {"by", "milestone", "of", "2.5"}, {"by", "person", "of", "@role-30"}} {
		if to := b.done(at+"/lists", form...); to != at+"/edit" {
			t.Errorf("it leads to %s", to)
		}
	}
	for _, c := range [][2]string{{"label", "No label of this project or of a group above it has the name “nothing”."}, {"milestone", "No milestone has the title “nothing”."}, {"person", "Nobody has the username “nothing”."}} {
		if s := b.post(at+"/lists", "by", c[0], "of", "nothing"); s.Code != http.StatusUnprocessableEntity || !s.says(c[1], `value="nothing"`) {
			t.Errorf("%s: %d %s", c[0], s.Code, s.text)
		}
	}
	if s := b.post(at+"/lists", "by", "label", "of", "bug"); s.Code != http.StatusUnprocessableEntity || !s.says("Label has already been taken") {
		t.Errorf("a label twice: %d", s.Code)
	}
	if s := b.post(at+"/lists", "by", "person", "of", "stranger"); s.Code != http.StatusUnprocessableEntity || !s.says("User not found") {
		t.Errorf("somebody who is not in the project: %d", s.Code)
	}
	order := func() []string {
		var names []string
		for _, found := range regexp.MustCompile(`<h2 class="grow cut"[^>]*>([^<]*)<`).FindAllStringSubmatch(b.shows(at).text, -1) {
			names = append(names, found[1])
		}
		return names
	}
	person := w.people[access.Developer].Name
	if got := order(); !slices.Equal(got, []string{"Open", "bug", "2.5", person, "Closed"}) {
		t.Fatal(got)
	}
	ids, err := postgres.Values[int64](t.Context(), w.DB, `select id from board_lists order by position`)
	if err != nil {
		t.Fatal(err)
	}
	list := func(n int) string { return fmt.Sprintf("%s/lists/%d", at, ids[n]) }
	edit := b.shows(at + "/edit")
	if !edit.says(`action="`+list(1)+`/move"`, "goes from this board", "Delete board", `name="position" value="0"`, `name="position" value="2"`) || strings.Count(edit.text, `action="`+list(0)+`/move"`) != 1 {
		t.Error(edit.text)
	}
	b.done(list(0)+"/move", "position", "2")
	if got := order(); !slices.Equal(got, []string{"Open", "2.5", person, "bug", "Closed"}) {
		t.Error(got)
	}
	for path, form := range map[string]string{list(0) + "/move": "x", at + "/lists/x/move": "0", at + "/lists/999999/move": "0", at + "/lists/999999/delete": ""} {
		if s := b.post(path, "position", form); s.Code != http.StatusBadRequest && s.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, s.Code)
		}
	}
	b.done(list(1) + "/delete")
	if got := order(); !slices.Equal(got, []string{"Open", person, "bug", "Closed"}) {
		t.Error(got)
	}
	if s := b.post(at, "name", ""); s.Code != http.StatusUnprocessableEntity || !s.says("can't be blank", person) {
		t.Errorf("renamed to nothing: %d", s.Code)
	}
	b.done(at, "name", "Sprint", "hide_backlog_list", "1")
	if got := order(); !slices.Equal(got, []string{person, "bug", "Closed"}) || !b.shows(at+"/edit").says(`value="Sprint"`, `name="hide_backlog_list" value="1" checked`) {
		t.Error(got)
	}
	if to := b.get(at + "/lists").leads(); to != at {
		t.Errorf("from where a form was sent to: %s", to)
	}
	if to := b.done(at + "/delete"); to != boards {
		t.Errorf("it leads to %s", to)
	}
	if s := b.get(at); s.Code != http.StatusNotFound {
		t.Errorf("it is still there: %d", s.Code)
	}
}

func TestListsStandForLabelsAloneOnTheFreeTier(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "STITHY_INSTANCE_TIER=free")
	at, _ := w.board(t, "Work")
	b := w.in(t, access.Reporter)
	b.done(home+"/-/milestones", "title", "2.5")
	if s := b.shows(at + "/edit"); s.says(`name="by"`) || !s.says(`name="of"`) {
		t.Error(s.text)
	}
	if s := b.post(at+"/lists", "by", "milestone", "of", "2.5"); s.Code != http.StatusUnprocessableEntity || !s.says("No label of this") {
		t.Errorf("%d", s.Code)
	}
}
