package planning

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/note"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// entriesPerPage is how many discussions and changes a page of an issue shows.
const entriesPerPage = 13

// entry is one entry of the timeline: a discussion, which is a note and its replies, or one line about a change.
type entry struct {
	Notes []noteBody
	Reply *page.Form
	More  int // if not 0: only so many replies are shown, and there are more
	Event *eventBody
}

// noteBody is a comment.
type noteBody struct {
	ID        string // of the element
	URL       page.URL
	Author    *person
	Badge     string
	When      *page.DisplayTime
	Edited    bool
	Internal  bool
	Body      []byte // HTML
	Whole     page.URL
	Edit      page.URL
	Delete    *page.Form
	Reactions *reactions
}

// eventBody is a change, in a line.
type eventBody struct {
	ID        string
	Icon      ui.IconPath
	Who       string
	Verb      string
	Labels    []labelBadge
	Milestone *milestoneLink
	Body      []byte    // HTML, instead of Verb
	Renamed   *renaming // instead of Verb
	When      *page.DisplayTime
	key       string // changes beside each other with the same key are shown in one line
}

// timeline reads a part of what happened to an issue.
func (b *issueBody) timeline(x *request, f found) error {
	if !x.May(access.ReadNotes) {
		if x.Account == nil {
			b.SignIn = x.SignInAndBack()
		}
		return nil
	}
	req, err := timelinePart(x, f)
	if errors.Is(err, errNoNote) {
		b.NoNote, err = true, nil
	}
	if err != nil {
		return err
	}
	found, err := x.deps.Notes.Timeline(x.Context(), x.Actor, f.at(x), req)
	if err != nil {
		return err
	}
	t, err := newTimelineView(x, f, found.Items)
	if err != nil {
		return err
	}
	b.Reactions = t.reactions(x, 0)
	if b.Entries, err = t.entries(found.Items); err != nil {
		return err
	}
	b.Pager = x.CursorPager(f.path(x, ""), url.Values{}, req, found.Next)
	if b.Pager.BackText, b.Pager.OnwardText = "First", "Later"; found.More {
		b.Pager.Last, b.Pager.LastText = address(x.Request.Request, f.path(x, ""), url.Values{partParam: {"latest"}}), "Latest"
	}
	return nil
}

// The parameters that choose a part of the timeline: the one with a note, or the last one. A fragment alone cannot, for browsers do not send it.
const (
	noteParam = "note"
	partParam = "part"
)

// noteLink is the address of a note at the path of its issue. It opens the part of the timeline that holds the note.
func noteLink(path string, id int64) string {
	return fmt.Sprintf("%s?%s=%d#note_%d", path, noteParam, id, id)
}

var errNoNote = errors.New("the note is not there")

// timelinePart is which part of the timeline is asked for. A form that is refused shows the first.
func timelinePart(x *request, f found) (req paging.Request, err error) {
	req = paging.Request{PerPage: entriesPerPage, Keyset: true}
	switch {
	case !x.Reading():
		return req, nil
	case x.Form.Get(noteParam) != "":
		n, err := readNote(x, f, x.Form.Get(noteParam))
		if fault.Is(err, fault.NotFound) {
			return req, errNoNote
		} else if err == nil {
			req.Cursor, err = cursorTo(x, f, n)
		}
		return req, err
	case x.Form.Get(partParam) == "latest":
		req.Cursor, err = x.deps.Notes.CursorToLatest(x.Context(), x.Actor, f.at(x), entriesPerPage)
		return req, err
	}
	return x.ByCursor(entriesPerPage)
}

// timelineView shows what happened to an issue.
type timelineView struct {
	x           *request
	f           found
	place       note.AtIssue
	people      map[int64]user.Brief
	reactionsOf map[int64][]note.Reaction
	mayComment  bool
}

func newTimelineView(x *request, f found, moments []note.Moment) (*timelineView, error) {
	t := &timelineView{x: x, f: f, place: f.at(x)}
	t.mayComment = x.Account != nil && x.May(access.CreateNotes) && note.MayComment(x.Actor, t.place)
	var people, notes []int64
	add := func(id *int64) {
		if id != nil {
			people = append(people, *id)
		}
	}
	for _, m := range moments {
		if m.Change != nil {
			add(m.Change.UserID)
		}
		for n := range m.Discussion {
			add(m.Discussion[n].AuthorID)
			notes = append(notes, m.Discussion[n].ID)
		}
	}
	var err error
	if t.people, err = x.deps.Users.Briefs(x.Context(), people...); err != nil {
		return nil, err
	}
	t.reactionsOf, err = x.deps.Notes.Reactions(x.Context(), x.Actor, t.place, notes)
	return t, err
}

func (t *timelineView) person(id *int64) *person {
	if id == nil {
		return nil
	}
	if b, found := t.people[*id]; found {
		return personOf(&b)
	}
	return nil
}

func (t *timelineView) name(id *int64) string {
	if p := t.person(id); p != nil {
		return p.Name
	}
	return "Somebody"
}

func (t *timelineView) entries(moments []note.Moment) (all []entry, err error) {
	for _, m := range moments {
		switch {
		case m.Change != nil:
			e, err := t.change(m)
			if err != nil {
				return nil, err
			}
			if last := len(all) - 1; last >= 0 && all[last].Event != nil && e.key != "" && all[last].Event.key == e.key {
				all[last].Event.Labels = append(all[last].Event.Labels, e.Labels...)
				continue
			}
			all = append(all, entry{Event: e})
		case m.Discussion[0].System:
			e, err := t.systemNote(&m.Discussion[0])
			if err != nil {
				return nil, err
			}
			all = append(all, entry{Event: e})
		default:
			said, err := t.discussion(m)
			if err != nil {
				return nil, err
			}
			all = append(all, said)
		}
	}
	return all, nil
}

// change says what became of the state, a label or the milestone. Labels that one act changed stand in one line.
func (t *timelineView) change(m note.Moment) (_ *eventBody, err error) {
	c := m.Change
	e := &eventBody{Who: t.name(c.UserID), When: t.x.Time(&c.CreatedAt)}
	verb := map[string]string{"add": "added", "remove": "removed"}[c.Action]
	switch c.Kind {
	case note.State:
		if e.Icon, e.Verb = ui.IconIssue, "reopened this"; c.Action == "closed" {
			e.Icon, e.Verb = ui.IconClosed, "closed this"
		}
		if m.Via != "" {
			e.Verb = ""
			e.Body, err = prose(t.x, "closed via "+m.Via)
		}
	case note.Labels:
		e.Icon, e.Verb = ui.IconTag, verb
		if m.Label == nil {
			e.Verb += " a label that is gone"
			break
		}
		e.Labels = []labelBadge{{
			Name: m.Label.Name, Color: m.Label.Color, URL: address(t.x.Request.Request, t.x.At(issuesPath), url.Values{labelParam: {m.Label.Name}}),
		}}
		e.key = fmt.Sprint(verb, " ", t.who(c.UserID), c.CreatedAt.UnixNano())
	case note.Milestone:
		e.Icon, e.Verb = ui.IconMilestone, verb+" the milestone"
		if m.Milestone != nil {
			e.Milestone = &milestoneLink{Title: m.Milestone.Title, URL: local(t.x.Request.Request, m.Milestone.WebURL)}
		}
	}
	return e, err
}

func (t *timelineView) who(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}

// renaming is two titles of an issue.
type renaming struct{ From, To markedText }

// markedText is a text of which a part is marked.
type markedText struct{ Before, Changed, After string }

var renamingNote = regexp.MustCompile(`^changed title from \*\*(.*)\*\* to \*\*(.*)\*\*$`)

// renamed reads what a note says about a title that was changed. What differs is between {- and -} in the old one and between {+ and +} in the new
// one; a title is no Markdown.
func renamed(body string) *renaming {
	titles := renamingNote.FindStringSubmatch(body)
	if titles == nil {
		return nil
	}
	read := func(title, open, end string) markedText {
		before, rest, found := strings.Cut(title, open)
		last := strings.LastIndex(rest, end)
		if !found || last < 0 {
			return markedText{Before: title}
		}
		return markedText{before, rest[:last], rest[last+len(end):]}
	}
	return &renaming{read(titles[1], "{-", "-}"), read(titles[2], "{+", "+}")}
}

// systemNote is what the instance wrote about a change.
func (t *timelineView) systemNote(n *note.Note) (*eventBody, error) {
	if r := renamed(n.Body); r != nil {
		return &eventBody{ID: anchor(n), Icon: iconOf(n.Body), Who: t.name(n.AuthorID), Renamed: r, When: t.x.Time(&n.CreatedAt)}, nil
	}
	body := n.Body
	if endsInIssue.MatchString(body) {
		body += "+" // with its title
	}
	html, err := prose(t.x, body)
	return &eventBody{ID: anchor(n), Icon: iconOf(n.Body), Who: t.name(n.AuthorID), Body: html, When: t.x.Time(&n.CreatedAt)}, err
}

// endsInIssue is of a text that ends in the number of an issue.
var endsInIssue = regexp.MustCompile(`#[1-9][0-9]*$`)

// noteIcons are what notes of the instance are shown with, by how they begin. The first that fits counts.
var noteIcons = []struct {
	begins string
	icon   ui.IconPath
}{
	{"assigned to", ui.IconUser}, {"unassigned", ui.IconUser}, {"marked the checklist item", ui.IconTodo}, {"made the issue confidential", ui.IconLock},
	{"made the issue visible", ui.IconEye}, {"locked", ui.IconLock}, {"unlocked", ui.IconLock}, {"changed due date", ui.IconCalendar},
	{"removed due date", ui.IconCalendar}, {"changed time estimate", ui.IconClock}, {"removed time", ui.IconClock}, {"added ", ui.IconClock},
	{"subtracted ", ui.IconClock}, {"changed weight", ui.IconChart}, {"removed the weight", ui.IconChart}, {"mentioned in commit", ui.IconCommit},
	{"mentioned in", ui.IconComment}, {"marked", ui.IconLink}, {"removed the relation", ui.IconLink}, {"moved", ui.IconRight}, {"cloned", ui.IconFork},
	{"changed health status", ui.IconMonitor}, {"removed health status", ui.IconMonitor}, {"changed the severity", ui.IconWarning},
	{"changed type", ui.IconIssue}, {"promoted", ui.IconIssue},
}

// iconOf is the icon of a note that the instance wrote.
func iconOf(body string) ui.IconPath {
	for _, known := range noteIcons {
		if strings.HasPrefix(body, known.begins) {
			return known.icon
		}
	}
	return ui.IconEdit
}

func anchor(n *note.Note) string { return "note_" + strconv.FormatInt(n.ID, 10) }

func (t *timelineView) discussion(m note.Moment) (said entry, err error) {
	for n := range m.Discussion {
		body, err := t.note(&m.Discussion[n])
		if err != nil {
			return said, err
		}
		said.Notes = append(said.Notes, body)
	}
	if m.More {
		said.More = note.MaxReplies
	}
	if first := &m.Discussion[0]; t.mayComment {
		said.Reply = t.x.NewForm(t.f.path(t.x, "/notes"), "Reply", page.Field{
			Name: "note", As: "reply-" + strconv.FormatInt(first.ID, 10), Label: "Your reply", Type: page.Textarea, Required: true,
		}).With("discussion", first.Discussion())
		said.Reply.Look = page.Secondary
		if t.x.May(access.UploadFiles) {
			said.Reply.Fields = append(said.Reply.Fields, page.Field{Name: "file", As: "file-" + strconv.FormatInt(first.ID, 10), Label: "Attach a file", Type: page.File})
		}
	}
	return said, nil
}

// note is a comment. One that the list holds a part of leads to the whole.
func (t *timelineView) note(n *note.Note) (noteBody, error) {
	b := noteBody{
		ID: anchor(n), URL: t.x.Link(noteLink(t.f.path(t.x, ""), n.ID)), Author: t.person(n.AuthorID), When: t.x.Time(&n.CreatedAt), Internal: n.Internal,
		Edited: n.UpdatedAt.After(n.CreatedAt), Reactions: t.reactions(t.x, n.ID),
	}
	if a := t.f.AuthorID; n.AuthorID != nil && a != nil && *a == *n.AuthorID {
		b.Badge = "Author"
	}
	own := t.f.path(t.x, "/notes/"+strconv.FormatInt(n.ID, 10))
	if n.Cut() {
		b.Whole = t.x.Link(own + "/raw")
	}
	if t.x.Account != nil && t.x.May(access.EditNotes) && note.MayChange(t.x.Actor, t.place, n) {
		b.Edit = t.x.Link(own + "/edit")
		b.Delete = t.x.Button(own+"/delete", "Delete", page.Danger, "this comment").AskFirst("The comment goes at once. It cannot be brought back.")
	}
	var err error
	b.Body, err = prose(t.x, n.Body)
	return b, err
}

// commentForm is where something is said, and the issue closed or reopened with it.
type commentForm struct {
	*page.Form
	Me       person
	Then     string // "close" or "reopen", if the reader may
	ThenText string
	ThenURL  page.URL // says the same: what stands behind a file in a form is not read
}

func newCommentForm(x *request, f found, refused *page.Form) *commentForm {
	if x.Account == nil || !x.May(access.CreateNotes) || !note.MayComment(x.Actor, f.at(x)) {
		return nil
	}
	c := &commentForm{Form: refused, Me: person{x.Account.Name, x.Account.Username}}
	if c.Form == nil {
		c.Form = blankComment(x, f)
	}
	if f.rights.Edit {
		if c.Then, c.ThenText = "close", "Close issue"; f.Closed {
			c.Then, c.ThenText = "reopen", "Reopen issue"
		}
		c.ThenURL = address(x.Request.Request, f.path(x, "/notes"), url.Values{"then": {c.Then}})
	}
	return c
}

func blankComment(x *request, f found) *page.Form {
	form := x.NewForm(f.path(x, "/notes"), "Comment", page.Field{Name: "note", Label: "Comment", Type: page.Textarea})
	if x.May(access.ReadInternalNotes) {
		form.Fields = append(form.Fields, page.Field{
			Name: "internal", Label: "Internal note", Type: page.Checkbox, Hint: "Only reporters of the project can read it.",
		})
	}
	form.Fields = append(form.Fields, fileField(x, "attach")...)
	return form
}

// comment says something about an issue, or in reply to something, and closes or reopens it if it was sent by that button.
func comment(x *request) error {
	f, err := find(x)
	if err != nil {
		return err
	}
	then := cmp.Or(x.Form.Get("then"), x.R.URL.Query().Get("then"))
	if x.File == nil && strings.TrimSpace(x.Form.Get("note")) == "" && then != "" {
		return setState(x, then == "close")
	}
	if err := page.Within(x.Request.Request, "notes_create"); err != nil {
		return err
	}
	if err := attach(x, "note"); err != nil {
		return refuseComment(x, f, err)
	}
	d := note.Draft{Body: x.Form.Get("note"), Internal: x.Form.Get("internal") != ""}
	if id := x.Form.Get("discussion"); id != "" {
		if d.Discussion, err = hex.DecodeString(id); err != nil {
			return fault.New(fault.NotFound)
		}
	}
	if then != "" {
		d.Close = new(then == "close")
	}
	said, err := x.deps.Notes.Create(x.Context(), x.Actor, f.at(x), d)
	if err != nil {
		return refuseComment(x, f, err)
	}
	if said.Note == nil { // there was nothing but commands
		return x.Done(f.path(x, ""), noLabels(said.Commands.Summary, said.Commands.Missing))
	}
	if text := noLabels(said.Commands.Summary, said.Commands.Missing); text != "" {
		if err := x.Say(page.Flash{Text: text, Good: true}); err != nil {
			return err
		}
	}
	return toNote(x, f, said.Note)
}

// refuseComment shows the page again, with what was written and why it was not taken.
func refuseComment(x *request, f found, why error) error {
	form := blankComment(x, f)
	if err := x.Refuse(form, wordsOf(why)); err != nil {
		return err
	}
	return issuePage(x, f, http.StatusUnprocessableEntity, refusals{comment: form})
}

// wordsOf replaces the API's wording of a rejected note, which clients know, by a text for people.
func wordsOf(err error) error {
	e, shown := fault.Of(err)
	if !shown || e.Kind != fault.Rejected {
		return err
	}
	switch text := err.Error(); {
	case strings.Contains(text, "can't be blank"):
		return fault.Field("note", "is empty. Write what you want to say.")
	case strings.Contains(text, "is too long"):
		return fault.Field("note", "is too long. A comment can have at most 1,000,000 characters: shorten it.")
	case strings.Contains(text, "Maximum number of comments"):
		return fault.WithMessage(fault.Rejected, "This issue has reached the limit of comments. Open another issue.")
	}
	return err
}

// toNote leads to the part of the timeline where a note is.
func toNote(x *request, f found, n *note.Note) error {
	cursor, err := cursorTo(x, f, n)
	if err != nil {
		return err
	}
	to := f.path(x, "") + "#" + anchor(n)
	if cursor != nil {
		to = noteLink(f.path(x, ""), n.ID)
	}
	x.Redirect(to)
	return nil
}

// cursorTo leads to the part of the timeline that holds a note. It is nil where that is the first.
func cursorTo(x *request, f found, n *note.Note) (*paging.Cursor, error) {
	first, err := x.deps.Notes.Timeline(x.Context(), x.Actor, f.at(x), paging.Request{PerPage: entriesPerPage, Keyset: true})
	if err != nil || !first.More || among(first.Items, n) {
		return nil, err
	}
	return x.deps.Notes.CursorTo(x.Context(), x.Actor, f.at(x), n)
}

func among(moments []note.Moment, n *note.Note) bool {
	for _, m := range moments {
		for i := range m.Discussion {
			if m.Discussion[i].ID == n.ID {
				return true
			}
		}
	}
	return false
}

// findNote reads the comment that the path names.
func findNote(x *request) (found, *note.Note, error) {
	f, err := find(x)
	if err != nil {
		return f, nil, err
	}
	n, err := readNote(x, f, x.R.PathValue("note"))
	return f, n, err
}

// readNote reads the note that a text names by its id.
func readNote(x *request, f found, text string) (*note.Note, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || !x.May(access.ReadNotes) {
		return nil, fault.New(fault.NotFound)
	}
	return x.deps.Notes.Find(x.Context(), x.Actor, f.at(x), id)
}

// showNote leads to where a comment is in the timeline.
func showNote(x *request) error {
	f, n, err := findNote(x)
	if err != nil {
		return err
	}
	return toNote(x, f, n)
}

// rawNote is what somebody said, whole.
func rawNote(x *request) error {
	_, n, err := findNote(x)
	if err != nil {
		return err
	}
	return x.Send(io.NopCloser(strings.NewReader(n.Body)), int64(len(n.Body)), "text/plain; charset=utf-8", anchor(n)+".md", false)
}

func editNote(x *request) error {
	f, n, err := findNote(x)
	if err != nil {
		return err
	}
	if !note.MayChange(x.Actor, f.at(x), n) || !x.May(access.EditNotes) {
		return fault.New(fault.NotFound)
	}
	return noteForm(x, f, http.StatusOK, noteEditForm(x, f, n, n.Body))
}

// noteEditForm changes what somebody said.
func noteEditForm(x *request, f found, n *note.Note, text string) *page.Form {
	form := x.NewForm(notePath(x, f, n), "Save", noteField(text))
	form.Fields = append(form.Fields, fileField(x, "attach")...)
	return form
}

func notePath(x *request, f found, n *note.Note) string {
	return f.path(x, "/notes/"+strconv.FormatInt(n.ID, 10))
}

func noteField(text string) page.Field {
	return page.Field{Name: "note", Label: "Comment", Type: page.Textarea, Value: text, Required: true, Hint: "Markdown."}
}

func noteForm(x *request, f found, code int, form *page.Form) error {
	l := x.Layout(fmt.Sprintf("Edit a comment on #%d", f.IID), issuesPath)
	return x.Show(code, l, formPage(formBody{Form: form, Back: x.Link(f.path(x, ""))}))
}

func updateNote(x *request) error {
	f, n, err := findNote(x)
	if err != nil {
		return err
	}
	if !note.MayChange(x.Actor, f.at(x), n) {
		return fault.New(fault.NotFound) // before a file is stored
	}
	changed := n
	if err = attach(x, "note"); err == nil {
		changed, err = x.deps.Notes.Update(x.Context(), x.Actor, f.at(x), n.ID, x.Form.Get("note"))
	}
	if err != nil {
		form := noteEditForm(x, f, n, "")
		if err := x.Refuse(form, wordsOf(err)); err != nil {
			return err
		}
		return noteForm(x, f, http.StatusUnprocessableEntity, form)
	}
	return toNote(x, f, changed)
}

func deleteNote(x *request) error {
	f, n, err := findNote(x)
	if err == nil {
		err = x.deps.Notes.Delete(x.Context(), x.Actor, f.at(x), n.ID)
	}
	if err != nil {
		return err
	}
	return x.Done(f.path(x, ""), "Comment deleted.")
}

// reactions are the emoji of an issue or a comment, and the form that gives and takes them back.
type reactions struct {
	Form *page.Form // nil for those who may not
	All  []reaction
	Add  []reaction
}

type reaction struct {
	Name, Glyph, Label string
	Mine               bool
}

// glyphs are the emoji that are offered, and how they are said.
var glyphs = []reaction{
	{Name: "thumbsup", Glyph: "👍", Label: "Thumbs up"}, {Name: "thumbsdown", Glyph: "👎", Label: "Thumbs down"},
	{Name: "heart", Glyph: "❤️", Label: "Thanks"}, {Name: "tada", Glyph: "🎉", Label: "Celebrate"},
	{Name: "eyes", Glyph: "👀", Label: "Look into it"}, {Name: "rocket", Glyph: "🚀", Label: "Rocket"},
	{Name: "smile", Glyph: "😄", Label: "Smile"}, {Name: "confused", Glyph: "😕", Label: "Confused"},
}

// reactionOf shows an emoji; one that is not offered is shown by its name.
func reactionOf(name string) reaction {
	for _, g := range glyphs {
		if g.Name == name {
			return g
		}
	}
	return reaction{Name: name, Glyph: ":" + name + ":", Label: strings.ReplaceAll(name, "_", " ")}
}

// reactions are those of a note, or of the issue if it is 0.
func (t *timelineView) reactions(x *request, noteID int64) *reactions {
	r := &reactions{}
	for _, given := range t.reactionsOf[noteID] {
		one := reactionOf(given.Name)
		one.Mine = given.Mine
		one.Label = fmt.Sprintf("%s: %d", one.Label, given.Count)
		one.Glyph = fmt.Sprintf("%s %d", one.Glyph, given.Count)
		r.All = append(r.All, one)
	}
	if x.Account != nil && x.May(access.AwardEmoji) {
		r.Form, r.Add = x.NewForm(t.f.path(x, "/react"), ""), glyphs
		if noteID != 0 {
			r.Form.With("note", strconv.FormatInt(noteID, 10))
		}
	}
	if r.Form == nil && len(r.All) == 0 {
		return nil
	}
	return r
}

// react gives an emoji, or takes it back.
func react(x *request) error {
	f, err := find(x)
	if err != nil {
		return err
	}
	if err := page.Within(x.Request.Request, "notes_create"); err != nil {
		return err
	}
	to := note.Subject{Place: f.at(x)}
	if text := x.Form.Get("note"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !x.May(access.ReadNotes) {
			return fault.New(fault.NotFound)
		}
		if to.Note, err = x.deps.Notes.Find(x.Context(), x.Actor, to.Place, id); err != nil {
			return err
		}
	}
	if err := x.deps.Notes.Toggle(x.Context(), x.Actor, to, x.Form.Get("emoji")); err != nil {
		return err
	}
	if to.Note != nil {
		return toNote(x, f, to.Note)
	}
	x.Redirect(f.path(x, ""))
	return nil
}
