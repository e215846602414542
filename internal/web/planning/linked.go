package planning

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/project"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// linkedBody is the issues that an issue has to do with.
type linkedBody struct {
	Issues []linkedRow
	Count  string
	Add    *page.Form // for those who may
}

// linkedRow is one of them.
type linkedRow struct {
	Kind         string // "blocks" or "is blocked by"
	Status       ui.Status
	URL          page.URL
	Title        string
	Number       string
	Confidential bool
	Cut          *page.Form
}

var kindWords = map[issue.LinkKind]string{issue.Blocks: "blocks", issue.BlockedBy: "is blocked by"}

// linked reads what an issue is linked to. refused is the form as it was sent, if it was refused.
func linked(x *request, f found, refused *page.Form) (body linkedBody, err error) {
	related, err := x.deps.Issues.Links(x.Context(), x.Actor, f.Issue)
	if err != nil {
		return body, err
	}
	if plans := x.Account != nil && x.May(access.PlanIssues); plans {
		if body.Add = refused; body.Add == nil {
			body.Add = linkForm(x, f)
		}
	}
	if len(related) == 0 {
		return body, nil
	}
	body.Count = strconv.Itoa(len(related))
	issues := make([]issue.Issue, len(related))
	for n := range related {
		issues[n] = related[n].Issue
	}
	shown, err := x.deps.Issues.Beside(x.Context(), x.Actor, nil, issues...)
	if err != nil {
		return body, err
	}
	for n := range shown {
		if shown[n].Project != nil {
			body.Issues = append(body.Issues, newLinkedRow(x, f, &related[n], &shown[n]))
		}
	}
	return body, nil
}

func newLinkedRow(x *request, f found, r *issue.Related, b *issue.Beside) linkedRow {
	link := issue.Link{SourceID: r.SourceID, TargetID: r.TargetID, Kind: r.Kind}
	row := linkedRow{
		Kind: kindWords[link.As(f.ID)], Status: statusOf(b.Closed), URL: x.Link(issuePath(b.Project, b.IID)), Title: b.Title,
		Number: "#" + strconv.Itoa(b.IID), Confidential: b.Confidential,
	}
	if b.Project.ID != x.Project.ID {
		row.Number = b.Project.FullPath() + row.Number
	}
	if x.Account != nil && x.May(access.PlanIssues) && access.Holds(x.Actor, access.PlanIssues, b.Project.Target()) {
		row.Cut = x.Button(f.path(x, "/links/"+strconv.FormatInt(r.LinkID, 10)+"/delete"), "Remove", page.Danger, "the link to "+row.Number)
	}
	return row
}

func linkForm(x *request, f found) *page.Form {
	form := x.NewForm(f.path(x, "/links"), "Link", page.Field{
		Name: "issue", As: "link-issue", Label: "Issue", Type: page.Text, Required: true, Length: 1_000, Hint: "#5, group/project#5 or the address of an issue.",
	})
	if form.Look = page.Secondary; x.deps.Settings.Instance().Enterprise() {
		form.Fields = append([]page.Field{{Name: "kind", As: "link-kind", Label: "This issue", Type: page.Select, Options: []page.Choice{
			{Value: string(issue.RelatesTo), Label: "relates to", Chosen: true}, {Value: string(issue.Blocks), Label: "blocks"},
			{Value: string(issue.BlockedBy), Label: "is blocked by"},
		}}}, form.Fields...)
	}
	return form
}

func addLink(x *request) error {
	f, err := findToChange(x)
	if err != nil {
		return err
	}
	if err := link(x, f); err != nil {
		form := linkForm(x, f)
		if err := x.Refuse(form, linkWords(err)); err != nil {
			return err
		}
		return issuePage(x, f, http.StatusUnprocessableEntity, refusals{link: form})
	}
	return x.Done(f.path(x, "")+"#linked", "The issues are linked.")
}

// link does what the form says.
func link(x *request, f found) error {
	to, iid, err := namedIssue(x, x.Form.Get("issue"))
	if err != nil {
		return err
	}
	if to.ID == x.Project.ID && iid == f.IID {
		return fault.Field("issue", "is this one. Name another.")
	}
	kind := issue.RelatesTo
	if sent := issue.LinkKind(x.Form.Get("kind")); kindWords[sent] != "" && x.deps.Settings.Instance().Enterprise() {
		kind = sent
	}
	_, _, err = x.deps.Issues.AddLink(x.Context(), x.Actor, x.Project, f.Issue, to, iid, kind)
	return err
}

// linkWords is why issues could not be linked, for people.
func linkWords(err error) error {
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.Field("issue", "is none that you can see. Write #5, group/project#5 or the address of an issue.")
	case fault.Is(err, fault.Conflict):
		return fault.Field("issue", "is linked already.")
	case fault.Is(err, fault.Forbidden):
		return fault.Field("issue", "is in a project where you may not link issues: that needs the role Reporter in both projects.")
	}
	return err
}

func removeLink(x *request) error {
	f, err := findToChange(x)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(x.R.PathValue("link"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound)
	}
	if _, _, _, err := x.deps.Issues.RemoveLink(x.Context(), x.Actor, x.Project, f.Issue, id); err != nil {
		return err
	}
	return x.Done(f.path(x, ""), "The link is removed.")
}

// namedIssue is the issue that a text names: #5 of this project, group/project#5, or an address of this instance.
func namedIssue(x *request, text string) (*project.Project, int, error) {
	place, number, ok := splitReference(strings.TrimSpace(text), x.ExternalURL)
	iid, err := strconv.Atoi(number)
	if !ok || err != nil || iid < 1 || iid > maxNumber {
		return nil, 0, fault.New(fault.NotFound)
	}
	if place == "" {
		return x.Project, iid, nil
	}
	p, err := namedProject(x, place)
	return p, iid, err
}

// namedProject is the project of a path. One without a group is beside this project.
func namedProject(x *request, place string) (*project.Project, error) {
	if place = strings.Trim(place, "/ "); !strings.Contains(place, "/") {
		place = path.Dir(x.Project.FullPath()) + "/" + place
	}
	p, _, err := x.deps.Projects.FindByRef(x.Context(), x.Actor, place)
	return p, err
}

// splitReference takes the path of a project and the number of an issue out of how people write them.
func splitReference(text string, home *url.URL) (place, number string, ok bool) {
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		u, err := url.Parse(text)
		if err != nil || !strings.EqualFold(u.Host, home.Host) {
			return "", "", false
		}
		rest, below := strings.CutPrefix(u.Path, strings.TrimSuffix(home.Path, "/")+"/")
		place, thing, found := strings.Cut(rest, "/-/")
		kind, number := path.Split(strings.TrimSuffix(thing, "/"))
		return place, number, below && found && (kind == "issues/" || kind == "work_items/" || kind == "issues/incident/")
	}
	if place, number, found := strings.Cut(text, "#"); found {
		return place, number, true
	}
	return "", text, true
}
