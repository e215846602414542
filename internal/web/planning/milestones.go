package planning

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stithy/internal/group"
	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/markdown"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const milestonesPerPage = 20

var (
	toReadMilestones  = owner.Needs{Group: access.ReadGroupMilestones, Project: access.ReadProjectMilestones}
	toAdminMilestones = owner.Needs{Group: access.AdminGroupMilestones, Project: access.AdminProjectMilestones}
)

func milestoneRoutes() []ownerRoute {
	return []ownerRoute{
		{route: "GET /-/milestones", needs: toReadMilestones, do: showMilestones, title: "Milestones", icon: ui.IconMilestone},
		{route: "POST /-/milestones", needs: toAdminMilestones, do: createMilestone},
		{route: "GET /-/milestones/new", needs: toAdminMilestones, do: newMilestone},
		{route: "GET /-/milestones/{id}", needs: toReadMilestones, do: showMilestone},
		{route: "POST /-/milestones/{id}", needs: toAdminMilestones, do: updateMilestone},
		{route: "GET /-/milestones/{id}/edit", needs: toAdminMilestones, do: editMilestone},
		{route: "POST /-/milestones/{id}/close", needs: toAdminMilestones, do: closeMilestone},
		{route: "POST /-/milestones/{id}/reopen", needs: toAdminMilestones, do: reopenMilestone},
		{route: "POST /-/milestones/{id}/promote", needs: toAdminMilestones, do: promoteMilestone},
		{route: "POST /-/milestones/{id}/delete", needs: toAdminMilestones, do: deleteMilestone},
	}
}

// progress is how much of a milestone is done.
type progress struct {
	Title       string
	Closed, All int
	Text        string
}

// progressOf counts the issues of a milestone that the reader may read.
func progressOf(d Deps, x *page.Request, in issue.Scope, id int64, title string) (*progress, error) {
	counts, err := d.Issues.CountUpTo(x.Context(), x.Actor, in, issue.Filter{Match: issue.Match{MilestoneID: id}}, maxCounted+1)
	all := counts.Opened + counts.Closed
	text := fmt.Sprintf("%s of %s closed", upTo(counts.Closed, false), upTo(all, false))
	if all == 0 {
		text = "No issues yet"
	}
	return &progress{Title: title, Closed: counts.Closed, All: max(1, all), Text: text}, err
}

// milestonesBody is one page of milestones.
type milestonesBody struct {
	States     []stateLink
	Milestones []milestoneRow
	Pager      page.Pager
	None       string
}

// milestoneRow is a milestone in a list.
type milestoneRow struct {
	milestoneLink
	Status   ui.Status
	From     string
	Due      string
	Progress *progress
}

// milestoneBody is a milestone and its issues.
type milestoneBody struct {
	Title       string
	Status      ui.Status
	Due         string
	Description []byte // HTML
	Progress    *progress
	Burnup      *burnup
	States      []stateLink
	Issues      []issueRow
	Pager       page.Pager
	None        string
	Edit        page.URL
	State       *page.Form
	Promote     *page.Form
	Delete      *page.Form
}

func milestoneStatus(s milestone.State, expired bool) ui.Status {
	switch {
	case s == milestone.Closed:
		return ui.Status{Text: "Closed", Tone: ui.Done, Icon: ui.IconClosed}
	case expired:
		return ui.Status{Text: "Past due", Tone: ui.Bad, Icon: ui.IconWarning}
	}
	return ui.Status{Text: "Active", Tone: ui.Good, Icon: ui.IconMilestone}
}

// days says from when until when a milestone is.
func days(m *milestone.Milestone) string {
	const form = "2 January 2006"
	switch {
	case m.StartDate != nil && m.DueDate != nil:
		return m.StartDate.Format(form) + " to " + m.DueDate.Format(form)
	case m.DueDate != nil:
		return "due " + m.DueDate.Format(form)
	case m.StartDate != nil:
		return "from " + m.StartDate.Format(form)
	}
	return ""
}

func expired(x *page.Request, m *milestone.Milestone) bool { return m.Expired(x.Clock.Now().UTC()) }

func showMilestones(x *ownerRequest) error {
	body, err := x.milestones()
	if err != nil {
		return err
	}
	l := x.layout("Milestones", milestonesPath)
	if x.may(toAdminMilestones) {
		l.Actions = primaryLink(x.linkTo(milestonesPath+"/new"), "New milestone")
	}
	return x.Show(http.StatusOK, l, milestonesPage(body))
}

// milestones is one page of those of a project and the groups above it, or of a group.
func (x *ownerRequest) milestones() (body milestonesBody, err error) {
	path, p := x.at(milestonesPath), x.owner.Project
	f := milestone.Filter{State: milestone.Active, Ancestors: p != nil}
	body.None = "No milestone is active. A milestone says what is to be done until when."
	state := x.Form.Get("state")
	switch state {
	case "closed":
		f.State, body.None = milestone.Closed, "No milestone was closed yet."
	case "all":
		f.State, body.None = "", "There are no milestones yet."
	default:
		state = "opened"
	}
	for i, s := range []string{"opened", "closed", "all"} {
		body.States = append(body.States, stateLink{
			Title: []string{"Active", "Closed", "All"}[i], URL: address(x.Request, path, url.Values{"state": {s}}), Here: s == state,
		})
	}
	req := x.Numbered("page", milestonesPerPage)
	found, err := x.deps.Milestones.List(x.Context(), x.owner.Entity, f, req)
	if err != nil {
		return body, err
	}
	ids := make([]int64, len(found.Items))
	for n := range found.Items {
		ids[n] = found.Items[n].ID
	}
	forms, err := x.deps.Milestones.Forms(x.Context(), ids, func(int64) string { return p.FullPath() })
	if err != nil {
		return body, err
	}
	for n := range found.Items {
		m := &found.Items[n]
		row := milestoneRow{
			milestoneLink: milestoneLink{m.Title, local(x.Request, forms[m.ID].WebURL)}, Status: milestoneStatus(m.State, expired(x.Request, m)), Due: days(m),
		}
		if m.NamespaceID != nil && p != nil {
			row.From = "of a group"
		}
		if row.Progress, err = progressOf(x.deps, x.Request, x.scope(), m.ID, m.Title); err != nil {
			return body, err
		}
		body.Milestones = append(body.Milestones, row)
	}
	body.Pager = x.NumberedPager(path, url.Values{"state": {state}}, "page", "", req, found.More)
	body.Pager.BackText, body.Pager.OnwardText = "Previous", "Next"
	return body, nil
}

// findMilestone reads a milestone of the project or group itself, by the number in the path.
func (x *ownerRequest) findMilestone() (*milestone.Milestone, error) {
	iid, err := number(x.Request)
	if err != nil {
		return nil, err
	}
	found, err := x.deps.Milestones.List(x.Context(), x.owner.Entity, milestone.Filter{IIDs: []int{iid}}, paging.Request{Page: 1, PerPage: 1})
	if err == nil && len(found.Items) == 0 {
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return nil, err
	}
	return &found.Items[0], nil
}

func showMilestone(x *ownerRequest) error {
	m, err := x.findMilestone()
	if err != nil {
		return err
	}
	path := x.at(below(milestonesPath, m.IID))
	body, err := x.milestone(m, path)
	if err != nil {
		return err
	}
	if x.may(toAdminMilestones) {
		body.Edit = x.Link(path + "/edit")
		if body.State = x.Button(path+"/close", "Close milestone", page.Secondary, ""); m.State == milestone.Closed {
			body.State = x.Button(path+"/reopen", "Reopen milestone", page.Secondary, "")
		}
		body.Delete = x.Button(path+"/delete", "Delete", page.Danger, "milestone").
			AskFirst("The milestone goes at once. Its issues stay, without a milestone. This cannot be undone.")
		if may, err := x.mayPromote(); err != nil {
			return err
		} else if may {
			body.Promote = x.Button(path+"/promote", "Promote to group", page.Secondary, "").
				AskFirst("The milestone becomes one of the group " + x.owner.Project.NamespaceFullPath +
					". Milestones of the same title in its other projects become one with it. This cannot be undone.")
		}
	}
	l := x.layout(m.Title, milestonesPath)
	l.Facts, l.Actions = milestoneFacts(body), milestoneActions(body)
	return x.Show(http.StatusOK, l, milestonePage(body))
}

// mayPromote reports whether the actor may make a milestone of the project one of its group.
func (x *ownerRequest) mayPromote() (bool, error) {
	p := x.owner.Project
	if p == nil || p.NamespaceKind != string(group.Shared) {
		return false, nil
	}
	g, err := x.deps.Groups.Find(x.Context(), x.Actor, p.NamespaceID)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && access.Holds(x.Actor, access.AdminGroupMilestones, g.Target()), err
}

func promoteMilestone(x *ownerRequest) error {
	m, err := x.findMilestone()
	if err != nil {
		return err
	}
	if x.owner.Project == nil {
		return fault.New(fault.NotFound)
	}
	if err := x.deps.Milestones.Promote(x.Context(), x.Actor, x.owner, m.ID); err != nil {
		return err
	}
	return x.Done(x.at(milestonesPath), "The milestone is one of the group now.")
}

func deleteMilestone(x *ownerRequest) error {
	m, err := x.findMilestone()
	if err != nil {
		return err
	}
	if err := x.deps.Milestones.Delete(x.Context(), x.Actor, x.owner.Entity, m.ID); err != nil {
		return err
	}
	return x.Done(x.at(milestonesPath), "Milestone deleted. Its issues have none any more.")
}

// milestone is a milestone with one page of the issues that are to be done for it.
func (x *ownerRequest) milestone(m *milestone.Milestone, path string) (body milestoneBody, err error) {
	d, in := x.deps, x.scope()
	body = milestoneBody{
		Title: m.Title, Status: milestoneStatus(m.State, expired(x.Request, m)), Due: days(m), None: "No issue of this milestone is open.",
	}
	if m.Description != nil {
		html, err := d.Markdown.Show(x.Context(), markdown.Context{Reader: x.Actor, Project: in.Project}, *m.Description)
		if err != nil {
			return body, err
		}
		body.Description = []byte(html)
	}
	if body.Progress, err = progressOf(d, x.Request, in, m.ID, m.Title); err != nil {
		return body, err
	}
	days, err := d.Issues.History(x.Context(), x.Actor, in, issue.Filter{Match: issue.Match{MilestoneID: m.ID}})
	if err != nil {
		return body, err
	}
	body.Burnup = drawBurnup(days, m, x.Clock.Now().UTC().Truncate(24*time.Hour))
	f, err := readFilter(url.Values{"state": {x.Form.Get("state")}})
	if err != nil {
		return body, err
	}
	if f.State != "opened" {
		body.None = "There is no such issue of this milestone."
	}
	for i, s := range []string{"opened", "closed", "all"} {
		body.States = append(body.States, stateLink{
			Title: []string{"Open", "Closed", "All"}[i], URL: address(x.Request, path, url.Values{"state": {s}}), Here: s == f.State,
		})
	}
	req, err := f.part(x.Request)
	if err != nil {
		return body, err
	}
	found, err := d.Issues.List(x.Context(), x.Actor, in, issue.Filter{Match: issue.Match{MilestoneID: m.ID}, Closed: f.closed()}, req)
	if err != nil {
		return body, err
	}
	body.Pager = x.CursorPager(path, f.query(), req, found.Next)
	body.Issues, err = d.rows(x.Request, in.Project, strings.TrimSuffix(path, "/"+below(milestonesPath, m.IID))+"/"+issuesPath, found.Items)
	return body, err
}

func milestoneFields(m *milestone.Milestone) []page.Field {
	if m == nil {
		m = &milestone.Milestone{}
	}
	var text, from, until string
	if m.Description != nil {
		text = *m.Description
	}
	if m.StartDate != nil {
		from = m.StartDate.Format("2006-01-02")
	}
	if m.DueDate != nil {
		until = m.DueDate.Format("2006-01-02")
	}
	return []page.Field{
		{Name: "title", Label: "Title", Type: page.Text, Value: m.Title, Required: true, Length: 255},
		{Name: "start_date", Label: "Start date", Type: page.Date, Value: from},
		{Name: "due_date", Label: "Due date", Type: page.Date, Value: until},
		{Name: "description", Label: "Description", Type: page.Textarea, Tall: true, Value: text, Hint: "Markdown."},
	}
}

// sentMilestone is what a form about a milestone says.
func sentMilestone(x *ownerRequest) (d milestone.Draft, err error) {
	var f fault.Fields
	d = milestone.Draft{
		Title: strings.TrimSpace(x.Form.Get("title")), StartDate: day(x.Form.Get("start_date"), "start_date", &f),
		DueDate: day(x.Form.Get("due_date"), "due_date", &f),
	}
	if text := strings.ReplaceAll(x.Form.Get("description"), "\r\n", "\n"); text != "" {
		d.Description = &text
	}
	return d, f.Err()
}

func newMilestone(x *ownerRequest) error {
	form := x.NewForm(x.at(milestonesPath), "Create milestone", milestoneFields(nil)...)
	return showMilestoneForm(x, http.StatusOK, "New milestone", milestonesPath, form)
}

func showMilestoneForm(x *ownerRequest, code int, title, back string, form *page.Form) error {
	return x.Show(code, x.layout(title, milestonesPath), formPage(formBody{Form: form, Back: x.linkTo(back)}))
}

func createMilestone(x *ownerRequest) error {
	d, err := sentMilestone(x)
	var m *milestone.Milestone
	if err == nil {
		m, err = x.deps.Milestones.Create(x.Context(), x.Actor, x.owner.Entity, d)
	}
	if err == nil {
		return x.Done(x.at(below(milestonesPath, m.IID)), "Milestone created.")
	}
	form := x.NewForm(x.at(milestonesPath), "Create milestone", milestoneFields(nil)...)
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return showMilestoneForm(x, http.StatusUnprocessableEntity, "New milestone", milestonesPath, form)
}

func editMilestone(x *ownerRequest) error {
	m, err := x.findMilestone()
	if err != nil {
		return err
	}
	own := below(milestonesPath, m.IID)
	return showMilestoneForm(x, http.StatusOK, "Edit milestone", own, milestoneForm(x, m, milestoneDigest(m)))
}

// milestoneDigest names what a form of a milestone holds, as digest does of an issue.
func milestoneDigest(m *milestone.Milestone) string { return digestOf(m.Title, m.Description, days(m)) }

// milestoneForm is the form of a milestone, for somebody who has seen what a digest names.
func milestoneForm(x *ownerRequest, m *milestone.Milestone, seen string) *page.Form {
	return x.NewForm(x.at(below(milestonesPath, m.IID)), "Save", milestoneFields(m)...).With("seen", seen)
}

func updateMilestone(x *ownerRequest) error {
	m, err := x.findMilestone()
	if err != nil {
		return err
	}
	own := below(milestonesPath, m.IID)
	d, err := sentMilestone(x)
	seen := x.Form.Get("seen")
	if err == nil && seen != "" && seen != milestoneDigest(m) {
		err = fault.WithMessage(fault.Conflict, "Somebody changed this milestone meanwhile. Copy what you wrote, open the milestone again and look at both.")
	}
	if err == nil {
		_, err = x.deps.Milestones.Update(x.Context(), x.Actor, x.owner.Entity, m.ID, milestone.Change{
			Title: &d.Title, Description: &d.Description, StartDate: &d.StartDate, DueDate: &d.DueDate,
		})
	}
	if err == nil {
		return x.Done(x.at(own), "Milestone saved.")
	}
	form := milestoneForm(x, m, seen)
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return showMilestoneForm(x, http.StatusUnprocessableEntity, "Edit milestone", own, form)
}

func closeMilestone(x *ownerRequest) error {
	return setMilestone(x, milestone.Closed, "Milestone closed.")
}
func reopenMilestone(x *ownerRequest) error {
	return setMilestone(x, milestone.Active, "Milestone reopened.")
}

func setMilestone(x *ownerRequest, state milestone.State, said string) error {
	m, err := x.findMilestone()
	if err != nil {
		return err
	}
	if _, err := x.deps.Milestones.Update(x.Context(), x.Actor, x.owner.Entity, m.ID, milestone.Change{State: &state}); err != nil {
		return err
	}
	return x.Done(x.at(below(milestonesPath, m.IID)), said)
}
