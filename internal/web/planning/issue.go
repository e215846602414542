package planning

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/markdown"
	"stithy/internal/note"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// issueBody is the page of an issue.
type issueBody struct {
	Title, Number string
	Status        ui.Status
	Confidential  bool
	Locked        bool
	Author        *person
	When          *page.DisplayTime
	Comments      string
	Closed        string // by whom
	ClosedAt      *page.DisplayTime
	MovedAway     bool // to where the reader may not look
	Edit          page.URL
	Description   []byte // HTML
	Tasks         string
	Checklist     *page.Form // ticks tasks, for those who may
	Kind          *kindMark
	Linked        linkedBody
	Reactions     *reactions
	Entries       []entry
	Pager         page.Pager
	NoNote        bool     // the note that the address names is not there
	SignIn        page.URL // for those who would read what was said
	Comment       *commentForm
	State         *page.Form // closes or reopens, for those who may not comment
	Side          sideBody
}

// sideBody is what stands beside the timeline.
type sideBody struct {
	Assignees   []person
	Labels      []labelBadge
	Milestone   *milestoneLink
	Progress    *progress
	Due         *page.DisplayTime
	Overdue     bool
	Severity    *kindMark // of an incident
	Time        string
	Estimate    *page.Form // and the next two, for those who may
	Spend       *page.Form
	Move        *page.Form
	Weight      string
	ShowsWeight bool
	Secret      string // who can see it
	Lock        string // who can comment
	Subscribe   *page.Form
	Mark        *page.Form // puts it on one's list of to-dos
	Subscribed  bool
	Edit        page.URL
}

// kindMark says what an issue is that is no plain one, and how bad.
type kindMark struct {
	Text string
	Tone ui.Tone
}

var (
	severities    = []issue.Severity{"critical", "high", "medium", "low", issue.Unknown}
	severityWords = map[issue.Severity]string{
		"critical": "Critical · S1", "high": "High · S2", "medium": "Medium · S3", "low": "Low · S4", issue.Unknown: "Unknown",
	}
	severityTones = map[issue.Severity]ui.Tone{"critical": ui.Bad, "high": ui.Bad, "medium": ui.Warn, "low": ui.Plain, issue.Unknown: ui.Plain}
)

func kindOf(i *issue.Issue) *kindMark {
	switch i.Type {
	case issue.Incident:
		mark := &kindMark{"Incident", severityTones[i.Severity]}
		if i.Severity != issue.Unknown {
			mark.Text += ", " + string(i.Severity)
		}
		return mark
	case issue.Task:
		return &kindMark{"Task", ui.Plain}
	case issue.TestCase:
		return &kindMark{"Test case", ui.Plain}
	}
	return nil
}

// found is an issue in the project of the request, as its reader may use it.
type found struct {
	*issue.Issue
	rights issue.Rights
}

// find reads the issue that the path names.
func find(x *request) (found, error) {
	iid, err := number(x.Request.Request)
	if err != nil {
		return found{}, err
	}
	i, err := x.deps.Issues.Find(x.Context(), x.Actor, x.Project, iid)
	if err != nil {
		return found{}, err
	}
	return found{i, issue.RightsOf(x.Actor, x.Project, i)}, nil
}

// findToChange is find for what changes the issue. It counts like a change by the API.
func findToChange(x *request) (found, error) {
	f, err := find(x)
	if err == nil {
		err = page.Within(x.Request.Request, "issues_update")
	}
	return f, err
}

func (f found) at(x *request) note.AtIssue {
	return note.AtIssue{Placed: issue.Placed{Project: x.Project, Issue: f.Issue}}
}

// path is that of the issue, or of a page below it.
func (f found) path(x *request, rest string) string { return x.At(below(issuesPath, f.IID)) + rest }

func showIssue(x *request) error {
	f, err := find(x)
	if err != nil {
		return err
	}
	if f.MovedToID != nil {
		other, in, err := x.deps.Issues.FindByID(x.Context(), x.Actor, *f.MovedToID)
		if err == nil {
			x.Redirect(issuePath(in, other.IID))
			return nil
		} else if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return issuePage(x, f, http.StatusOK, refusals{})
}

// issuePage shows an issue, with a form that was refused if there is one.
func issuePage(x *request, f found, code int, refused refusals) error {
	shown, err := x.deps.Issues.Beside(x.Context(), x.Actor, x.Project, *f.Issue)
	if err != nil {
		return err
	}
	body, err := newIssueBody(x, f, &shown[0])
	if err != nil {
		return err
	}
	if err := body.timeline(x, f); err != nil {
		return err
	}
	body.Side.acts(x, f, refused)
	if body.Linked, err = linked(x, f, refused.link); err != nil {
		return err
	}
	body.Checklist = checklist(x, f, refused.tasks)
	if body.Comment = newCommentForm(x, f, refused.comment); body.Comment == nil && f.rights.Edit {
		body.State = stateButton(x, f)
	}
	l := x.Layout(f.Title+" ("+body.Number+")", issuesPath)
	l.Heading, l.Facts, l.Actions = issueHeading(body), issueFacts(body), issueActions(body)
	return x.Show(code, l, issueDetail(body))
}

func newIssueBody(x *request, f found, b *issue.Beside) (body issueBody, err error) {
	body = issueBody{
		Title: b.Title, Number: fmt.Sprintf("#%d", b.IID), Status: statusOf(b.Closed), Confidential: b.Confidential,
		Locked: locked(f.Issue), Author: personOf(b.Author), When: x.Time(&b.CreatedAt), Comments: counted(b.NotesCount, "comment"),
		MovedAway: b.MovedToID != nil, Kind: kindOf(f.Issue),
	}
	if b.Closed {
		body.ClosedAt = x.Time(b.ClosedAt)
		if b.ClosedBy != nil {
			body.Closed = b.ClosedBy.Name
		}
	}
	if f.rights.Edit {
		body.Edit = x.Link(f.path(x, "/edit"))
	}
	if b.Tasks > 0 {
		body.Tasks = fmt.Sprintf("%d of %d tasks done", b.TasksDone, b.Tasks)
	}
	if b.Description != nil {
		if body.Description, err = prose(x, *b.Description); err != nil {
			return body, err
		}
	}
	body.Side, err = newSide(x, f, b)
	return body, err
}

func locked(i *issue.Issue) bool { return i.DiscussionLocked != nil && *i.DiscussionLocked }

// prose is a text as the reader sees it, as HTML that nothing acts in.
func prose(x *request, text string) ([]byte, error) {
	html, err := x.deps.Markdown.Show(x.Context(), markdown.Context{Reader: x.Actor, Project: x.Project}, text)
	return []byte(html), err
}

func newSide(x *request, f found, b *issue.Beside) (side sideBody, err error) {
	side = sideBody{
		Labels: badges(x.Request.Request, x.At(issuesPath), b.Labels), Milestone: milestoneOf(x.Request.Request, b), Due: x.Day(b.DueDate),
		Overdue: !b.Closed && b.DueDate != nil && b.DueDate.Before(x.Clock.Now().UTC().Truncate(24*time.Hour)), Time: timeOf(x, f.Issue),
		ShowsWeight: x.deps.Settings.Instance().Enterprise(), Secret: "Everyone who sees the project", Lock: "Everyone who sees the issue",
	}
	for n := range b.Assignees {
		side.Assignees = append(side.Assignees, *personOf(&b.Assignees[n]))
	}
	if b.Weight != nil {
		side.Weight = strconv.Itoa(*b.Weight)
	}
	if b.Confidential {
		side.Secret = "Confidential: reporters, its author and assignees"
	}
	if locked(f.Issue) {
		side.Lock = "Locked: members of the project"
	}
	if f.Type == issue.Incident {
		side.Severity = &kindMark{severityWords[f.Severity], severityTones[f.Severity]}
	}
	if f.rights.Plan {
		side.Edit = x.Link(f.path(x, "/edit"))
	}
	if b.Milestone != nil {
		in := issue.Scope{Project: x.Project}
		if side.Progress, err = progressOf(x.deps, x.Request.Request, in, b.Milestone.ID, b.Milestone.Title); err != nil {
			return side, err
		}
	}
	if x.Account != nil && x.May(access.SubscribeToIssues) {
		side.Subscribed, err = x.deps.Issues.Subscribed(x.Context(), x.Actor, f.Issue)
		side.Subscribe = x.Button(f.path(x, "/subscribe"), "Notify me", page.Secondary, "")
		if side.Subscribed {
			side.Subscribe = x.Button(f.path(x, "/unsubscribe"), "Stop notifying me", page.Secondary, "")
		}
		side.Subscribe.Icon = ui.IconBell
		side.Mark = x.Button(f.path(x, "/todo"), "Add a to-do", page.Secondary, "")
		side.Mark.Icon = ui.IconTodo
	}
	return side, err
}

// timeOf says how long an issue takes and took.
func timeOf(x *request, i *issue.Issue) string {
	hours := x.deps.Settings.Current().TimeTrackingLimitToHours
	spent, estimate := issue.FormatDuration(i.TimeSpent, hours), issue.FormatDuration(i.TimeEstimate, hours)
	switch {
	case spent == "" && estimate == "":
		return ""
	case spent == "":
		return estimate + " estimated"
	case estimate == "":
		return spent + " spent"
	}
	return spent + " spent of " + estimate
}

func stateButton(x *request, f found) *page.Form {
	if f.Closed {
		return x.Button(f.path(x, "/reopen"), "Reopen issue", page.Secondary, "")
	}
	return x.Button(f.path(x, "/close"), "Close issue", page.Secondary, "")
}

// belowIssue leads from where a form was sent to the issue. "edit" is a page of its own.
func belowIssue(x *request) error {
	f, err := find(x)
	if err != nil {
		return err
	}
	if x.R.PathValue("act") == "edit" {
		return showEdit(x, f)
	}
	x.Redirect(f.path(x, ""))
	return nil
}

// redirectIssue leads from another address of an issue to the one that it has here.
func redirectIssue(x *request) error {
	f, err := find(x)
	if err == nil {
		x.Redirect(f.path(x, ""))
	}
	return err
}

func closeIssue(x *request) error  { return setState(x, true) }
func reopenIssue(x *request) error { return setState(x, false) }

func setState(x *request, closed bool) error {
	f, err := findToChange(x)
	if err != nil {
		return err
	}
	i, err := x.deps.Issues.Update(x.Context(), x.Actor, x.Project, f.IID, issue.Change{Close: &closed})
	if err != nil {
		return err
	}
	if i.Closed != closed {
		return fault.WithMessage(fault.Conflict, "The discussion of this issue is locked, so it stays closed. Unlock it first.")
	}
	return x.Done(f.path(x, ""), stateSaid(closed))
}

func stateSaid(closed bool) string {
	if closed {
		return "Issue closed."
	}
	return "Issue reopened."
}

func subscribe(x *request) error {
	return setSubscribed(x, true, "You hear of what happens to this issue.")
}
func unsubscribe(x *request) error { return setSubscribed(x, false, "You hear of this issue no more.") }

func setSubscribed(x *request, on bool, said string) error {
	f, err := find(x)
	if err != nil {
		return err
	}
	_, err = x.deps.Issues.Subscribe(x.Context(), x.Actor, x.Project, f.IID, on)
	if err != nil && !fault.Is(err, fault.NotModified) { // sent twice, it is done as well
		return err
	}
	return x.Done(f.path(x, ""), said)
}

func deleteIssue(x *request) error {
	f, err := find(x)
	if err != nil {
		return err
	}
	if err := x.deps.Issues.Delete(x.Context(), x.Actor, x.Project, f.IID); err != nil {
		return err
	}
	return x.Done(x.At(issuesPath), "Issue deleted.")
}
