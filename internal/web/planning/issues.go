package planning

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/paging"
	"stithy/internal/label"
	"stithy/internal/project"
	"stithy/internal/user"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	issuesPerPage = 25
	maxCounted    = 10_000 // beyond it a list has "more"
)

// issuesBody is one page of a list of issues.
type issuesBody struct {
	Action    page.URL
	State     string // what the form sends along
	Search    string
	Assignees []page.Choice
	Sorts     []page.Choice
	States    []stateLink
	Problems  []string // what of the filter was not understood
	Narrowed  string   // by how many filters
	Clear     page.URL
	Issues    []issueRow
	Pager     page.Pager
	None      string // said where there is nothing
	New       page.URL
}

// stateLink leads to the issues of a state.
type stateLink struct {
	Title string
	URL   page.URL
	Icon  ui.IconPath
	Here  bool
}

// issueRow is an issue in a list.
type issueRow struct {
	URL          page.URL
	Title        string
	Number       string
	Status       ui.Status
	Confidential bool
	Kind         *kindMark
	Labels       []labelBadge
	Milestone    *milestoneLink
	Comments     int
	Upvotes      int
	Downvotes    int
	Tasks        string
	Author       *person
	Assignees    []person
	When         *page.DisplayTime
}

// labelBadge is a label with its colour, "#rrggbb".
type labelBadge struct {
	Name, Color string
	URL         page.URL
}

// milestoneLink is a milestone; without an address it is of a place that the reader may not see.
type milestoneLink struct {
	Title string
	URL   page.URL
}

// person is somebody as a page shows them.
type person struct{ Name, Username string }

func personOf(b *user.Brief) *person {
	if b == nil {
		return nil
	}
	return &person{Name: b.Name, Username: b.Username}
}

func (p person) avatar() ui.AvatarOf { return ui.AvatarOf{Name: p.Name, Key: p.Username} }

// The states of an issue.
var (
	openStatus   = ui.Status{Text: "Open", Tone: ui.Good, Icon: ui.IconIssue}
	closedStatus = ui.Status{Text: "Closed", Tone: ui.Done, Icon: ui.IconClosed}
)

func statusOf(closed bool) ui.Status {
	if closed {
		return closedStatus
	}
	return openStatus
}

func showIssues(x *request) error {
	list, err := x.deps.issues(x.Request.Request, issue.Scope{Project: x.Project}, x.At(issuesPath))
	if err != nil {
		return err
	}
	l := x.Layout("Issues", issuesPath)
	if x.May(access.CreateIssues) {
		list.New = x.LinkTo(issuesPath + "/new")
		l.Actions = primaryLink(list.New, "New issue")
	}
	return x.Show(http.StatusOK, l, issuesPage(list))
}

func showGroupIssues(x *groupRequest) error {
	list, err := x.deps.issues(x.Request.Request, issue.Scope{Group: x.Group}, x.At(issuesPath))
	if err != nil {
		return err
	}
	return x.Show(http.StatusOK, x.Layout("Issues", issuesPath), issuesPage(list))
}

// issues is the list that a request asks for, at a path.
func (d Deps) issues(x *page.Request, in issue.Scope, path string) (body issuesBody, err error) {
	f, err := readFilter(x.Form)
	if err != nil {
		return body, err
	}
	f.tellUnknown(x.Form)
	req, err := f.part(x)
	if err != nil {
		return body, err
	}
	match, err := f.match(x.Context(), d.Users)
	if err != nil {
		return body, err
	}
	counts, err := d.Issues.CountUpTo(x.Context(), x.Actor, in, match, maxCounted+1)
	if err != nil {
		return body, err
	}
	match.Closed = f.closed()
	found, err := d.Issues.List(x.Context(), x.Actor, in, match, req)
	if err != nil {
		return body, err
	}
	body = newIssuesBody(x, f, path, counts)
	body.Pager = pagerOf(x, f, path, req, found, counts)
	body.Issues, err = d.rows(x, in.Project, path, found.Items)
	return body, err
}

func newIssuesBody(x *page.Request, f filter, path string, counts issue.Counts) issuesBody {
	body := issuesBody{
		Action: x.Link(path), Search: f.search(), Assignees: f.assignees(x.Account), Sorts: f.sorts(), States: states(x, f, path, counts),
		None: "No issue matches. Try other words, or fewer filters.", Clear: x.Link(path), Problems: f.Problems,
	}
	if f.State != "opened" {
		body.State = f.State
	}
	if n := f.narrowed(); n > 0 {
		body.Narrowed = counted(n, "filter")
	} else {
		body.None = map[string]string{
			"opened": "No issue is open.", "closed": "No issue was closed yet.", "all": "There are no issues yet.",
		}[f.State]
	}
	return body
}

// states are the lists of open, closed and all issues, with the same filter.
func states(x *page.Request, f filter, path string, counts issue.Counts) []stateLink {
	all := []stateLink{
		{Title: "Open " + upTo(counts.Opened, counts.More), Icon: ui.IconIssue}, {Title: "Closed " + upTo(counts.Closed, counts.More), Icon: ui.IconClosed},
		{Title: "All " + upTo(counts.Opened+counts.Closed, counts.More)},
	}
	for i, state := range []string{"opened", "closed", "all"} {
		other := f
		other.State = state
		all[i].URL, all[i].Here = address(x, path, other.query()), state == f.State
	}
	return all
}

func address(x *page.Request, path string, q url.Values) page.URL { return x.Link(withQuery(path, q)) }

func withQuery(path string, q url.Values) string {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// upTo is a count as far as it was made.
func upTo(n int, more bool) string {
	if n > maxCounted || more {
		return grouped(min(n, maxCounted)) + "+"
	}
	return grouped(n)
}

// grouped writes a number with separators.
func grouped(n int) string {
	text := strconv.Itoa(n)
	if n >= 1000 {
		return grouped(n/1000) + "," + text[len(text)-3:]
	}
	return text
}

// counted is a number of things.
func counted(n int, one string) string {
	if n != 1 {
		one += "s"
	}
	return grouped(n) + " " + one
}

func pagerOf(x *page.Request, f filter, path string, req paging.Request, found paging.Result[issue.Issue], counts issue.Counts) page.Pager {
	var p page.Pager
	if req.Keyset {
		p = x.CursorPager(path, f.query(), req, found.Next)
	} else {
		p = x.NumberedPager(path, f.query(), "page", "", req, found.More)
	}
	p.BackText, p.OnwardText = "Previous", "Next"
	if req.Keyset {
		p.BackText = "First"
	}
	n, what := counts.Opened+counts.Closed, "issue"
	switch f.State {
	case "opened":
		n, what = counts.Opened, "open issue"
	case "closed":
		n, what = counts.Closed, "closed issue"
	}
	switch {
	case n == 0:
	case n > maxCounted || counts.More:
		p.Note = upTo(n, counts.More) + " " + what + "s"
	case p.Back == "" && p.Onward == "" && n > 1:
		p.Note = "All " + counted(n, what)
	default:
		p.Note = counted(n, what)
	}
	return p
}

// rows shows issues; known is their project, nil in a list of several. Labels lead to the list at a path.
func (d Deps) rows(x *page.Request, known *project.Project, path string, issues []issue.Issue) ([]issueRow, error) {
	shown, err := d.Issues.Beside(x.Context(), x.Actor, known, issues...)
	if err != nil {
		return nil, err
	}
	rows := make([]issueRow, 0, len(shown))
	for i := range shown {
		b := &shown[i]
		if b.Project == nil {
			continue // it moved out of sight meanwhile
		}
		rows = append(rows, newRow(x, b, known == nil, path))
	}
	return rows, nil
}

func newRow(x *page.Request, b *issue.Beside, several bool, path string) issueRow {
	row := issueRow{
		URL: x.Link(issuePath(b.Project, b.IID)), Title: b.Title, Number: fmt.Sprintf("#%d", b.IID), Status: statusOf(b.Closed),
		Confidential: b.Confidential, Kind: kindOf(&b.Issue), Labels: badges(x, path, b.Labels), Comments: b.NotesCount, Upvotes: b.Upvotes, Downvotes: b.Downvotes,
		Author: personOf(b.Author), When: x.Time(&b.CreatedAt), Milestone: milestoneOf(x, b),
	}
	if several {
		row.Number = b.Project.FullPath() + row.Number
	}
	if b.Tasks > 0 {
		row.Tasks = fmt.Sprintf("%d of %d tasks", b.TasksDone, b.Tasks)
	}
	for n := range b.Assignees {
		if n == maxAvatars {
			break
		}
		row.Assignees = append(row.Assignees, *personOf(&b.Assignees[n]))
	}
	return row
}

// maxAvatars is how many people a row shows.
const maxAvatars = 4

func issuePath(p *project.Project, iid int) string {
	return "/" + p.FullPath() + "/-/" + below(issuesPath, iid)
}

// badges are labels that lead to the issues which have them, in the list at a path.
func badges(x *page.Request, path string, labels []label.Label) []labelBadge {
	all := make([]labelBadge, len(labels))
	for i, l := range labels {
		all[i] = labelBadge{Name: l.Name, Color: l.Color, URL: address(x, path, url.Values{labelParam: {l.Name}})}
	}
	return all
}

// milestoneOf is the milestone of an issue, with its page: that of a group is the group's.
func milestoneOf(x *page.Request, b *issue.Beside) *milestoneLink {
	if b.Milestone == nil {
		return nil
	}
	return &milestoneLink{Title: b.Milestone.Title, URL: local(x, b.Milestone.WebURL)}
}

// local is an address that a room wrote for clients, as pages link to it.
func local(x *page.Request, webURL string) page.URL {
	return x.Link(strings.TrimPrefix(webURL, strings.TrimSuffix(x.ExternalURL.String(), "/")))
}
