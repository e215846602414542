package planning

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/label"
	"stithy/internal/milestone"
	"stithy/internal/owner"
	"stithy/internal/template"
	"stithy/internal/web/page"
)

// formBody is a page that is one form.
type formBody struct {
	Form      *page.Form
	Back      page.URL
	Delete    *page.Form
	Loses     string // what goes with what is deleted
	Templates []templateLink
}

// templateLink begins the form anew, with a template of the project as the description.
type templateLink struct {
	Name   string
	URL    page.URL
	Chosen bool
}

const (
	maxChoices = 50 // of labels; more are named
	maxGoals   = 100
	maxBegins  = 50 // templates; those beyond are chosen by their address

	templateParam = "issuable_template"
)

// values are what a form about an issue begins with.
type values struct {
	title, description   string
	assignees            []string
	labels               []int64
	milestoneID          int64
	due                  string
	weight               string
	kind                 issue.Type
	severity             issue.Severity
	confidential, locked bool
}

// choices are what an issue of the project can be given.
type choices struct {
	labels     []label.Seen
	milestones []milestone.Milestone
}

func (x *request) choices() (c choices, err error) {
	some := paging.Request{Page: 1, PerPage: maxChoices}
	labels, err := x.deps.Labels.List(x.Context(), x.Actor, owner.OfProject(x.Project), label.Filter{Ancestors: true}, some)
	if err != nil {
		return c, err
	}
	c.labels, some.PerPage = labels.Items, maxGoals
	goals, err := x.deps.Milestones.List(x.Context(), x.entity(), milestone.Filter{State: milestone.Active, Ancestors: true}, some)
	c.milestones = goals.Items
	return c, err
}

// entity is the project as the owner of labels and milestones.
func (x *request) entity() bus.Entity { return owner.OfProject(x.Project).Entity }

// textFields are what everybody says of an issue who may write one.
func textFields(v values) []page.Field {
	return []page.Field{
		{Name: "title", Label: "Title", Type: page.Text, Value: v.title, Required: true, Length: 255},
		{Name: "description", Label: "Description", Type: page.Textarea, Tall: true, Value: v.description, Hint: "Markdown. A line that begins with - [ ] is a task to tick off."},
	}
}

// planFields are what those who plan say of it.
func planFields(x *request, v values, c choices) []page.Field {
	enterprise := x.deps.Settings.Instance().Enterprise()
	who := page.Field{
		Name: "assignees", Label: "Assignee", Type: page.Text, Value: strings.Join(v.assignees, " "), Length: 2_000,
		Hint: "A username, as @ada. Empty: nobody.",
	}
	if enterprise {
		who.Label, who.Hint = "Assignees", "Usernames with spaces between them, as @ada @grace. Empty: nobody."
	}
	fields := append(kindFields(v), who)
	if len(c.labels) > 0 {
		f := page.Field{Name: "labels", Label: "Labels", Type: page.Checkboxes}
		for _, l := range c.labels {
			f.Options = append(f.Options, page.Choice{Value: strconv.FormatInt(l.ID, 10), Label: l.Name, Chosen: slices.Contains(v.labels, l.ID)})
		}
		fields = append(fields, f)
	}
	fields = append(fields, page.Field{
		Name: "more_labels", Label: "Other labels", Type: page.Text, Length: 5_000,
		Hint: "Names with commas between them. Those that do not exist are made, if you may.",
	})
	goals := page.Field{Name: "milestone", Label: "Milestone", Type: page.Select}
	goals.Options = []page.Choice{{Value: "", Label: "None", Chosen: v.milestoneID == 0}}
	for _, m := range c.milestones {
		goals.Options = append(goals.Options, page.Choice{Value: strconv.FormatInt(m.ID, 10), Label: m.Title, Chosen: m.ID == v.milestoneID})
	}
	fields = append(fields, goals, page.Field{Name: "due_date", Label: "Due date", Type: page.Date, Value: v.due})
	if enterprise {
		fields = append(fields, page.Field{Name: "weight", Label: "Weight", Type: page.Text, Mode: "numeric", Value: v.weight, Length: 10})
	}
	return append(fields, page.Field{
		Name: "discussion_locked", Label: "Lock the discussion", Type: page.Checkbox, Value: page.Checked(v.locked),
		Hint: "Only members of the project comment.",
	})
}

// kindFields say what an issue is. A task stays one.
func kindFields(v values) []page.Field {
	if v.kind != issue.Plain && v.kind != issue.Incident {
		return nil
	}
	kind := page.Field{Name: "type", Label: "Type", Type: page.Select, Options: []page.Choice{
		{Value: string(issue.Plain), Label: "Issue", Chosen: v.kind == issue.Plain}, {Value: string(issue.Incident), Label: "Incident", Chosen: v.kind == issue.Incident},
	}}
	if v.kind != issue.Incident {
		return []page.Field{kind}
	}
	bad := page.Field{Name: "severity", Label: "Severity", Type: page.Select}
	for _, s := range severities {
		bad.Options = append(bad.Options, page.Choice{Value: string(s), Label: severityWords[s], Chosen: s == v.severity})
	}
	return []page.Field{kind, bad}
}

func confidentialField(v values) page.Field {
	return page.Field{
		Name: "confidential", Label: "Confidential", Type: page.Checkbox, Value: page.Checked(v.confidential),
		Hint: "Only reporters, its author and assignees can see it.",
	}
}

// newIssue shows the form, begun with what the address says.
func newIssue(x *request) error {
	get := func(name string) string { return x.Form.Get("issue[" + name + "]") }
	v := values{title: get("title"), description: get("description"), confidential: get("confidential") == "true"}
	v.milestoneID, _ = strconv.ParseInt(get("milestone_id"), 10, 64)
	if v.kind = issue.Plain; get("issue_type") == string(issue.Incident) && x.May(access.PlanIssues) {
		v.kind = issue.Incident
	}
	if err := x.beginWith(&v, x.Form.Get(templateParam)); err != nil {
		return err
	}
	form, err := createForm(x, v)
	if err != nil {
		return err
	}
	return showCreate(x, http.StatusOK, form)
}

// beginWith takes the description from a template, where the address gives none: the one that is named, or else the project's default one.
func (x *request) beginWith(v *values, name string) (err error) {
	if v.description != "" {
		return nil
	}
	if name == "" {
		v.description, err = x.deps.Templates.Default(x.Context(), x.Actor, x.Project)
		return err
	}
	t, err := x.deps.Templates.Find(x.Context(), x.Actor, x.Project, template.Issues, name)
	if fault.Is(err, fault.NotFound) {
		return nil
	} else if err != nil {
		return err
	}
	v.description = t.Content
	return nil
}

// templates are links to the form with each template.
func (x *request) templates() ([]templateLink, error) {
	names, err := x.deps.Templates.Listed(x.Context(), x.Actor, x.Project, template.Issues)
	var all []templateLink
	for _, name := range names[:min(len(names), maxBegins)] {
		all = append(all, templateLink{
			Name: name, URL: address(x.Request.Request, x.At(issuesPath+"/new"), url.Values{templateParam: {name}}), Chosen: name == x.Form.Get(templateParam),
		})
	}
	return all, err
}

func createForm(x *request, v values) (*page.Form, error) {
	form := x.NewForm(x.At(issuesPath), "Create issue", textFields(v)...)
	if x.Actor.Admin() || x.Project.Role >= access.Guest {
		c, err := x.choices()
		if err != nil {
			return nil, err
		}
		if !x.May(access.PlanIssues) {
			v.kind = "" // incidents are for those who plan
		}
		form.Fields = append(form.Fields, planFields(x, v, c)...)
		form.Fields = slices.DeleteFunc(form.Fields, func(q page.Field) bool { return q.Name == "severity" }) // is said once it is there
	}
	form.Fields = append(form.Fields, confidentialField(v))
	form.Fields = append(form.Fields, fileField(x, "file")...)
	return form, nil
}

func showCreate(x *request, code int, form *page.Form) error {
	templates, err := x.templates()
	if err != nil {
		return err
	}
	return x.Show(code, x.Layout("New issue", issuesPath), formPage(formBody{Form: form, Back: x.LinkTo(issuesPath), Templates: templates}))
}

func createIssue(x *request) error {
	if err := page.Within(x.Request.Request, "issues_create"); err != nil {
		return err
	}
	err := attach(x, "description")
	var s sent
	if err == nil {
		s, err = readSent(x)
	}
	var made *issue.Issue
	var told issue.Outcome
	if err == nil {
		made, err = x.deps.Issues.Create(x.Context(), x.Actor, x.Project, issue.Draft{
			Title: x.Form.Get("title"), Description: s.description, Confidential: s.confidential, DiscussionLocked: &s.locked,
			AssigneeIDs: s.assignees, Labels: s.labels, MilestoneID: s.milestoneID, DueDate: s.due, Weight: s.weight, Type: s.kind,
			UserAgent: x.R.UserAgent(), Outcome: &told,
		})
	}
	if err == nil {
		missing, err := x.leftOut(s.labels, made)
		if err != nil {
			return err
		}
		if words := noLabels(told.Summary, append(missing, told.Missing...)); words != "" {
			if err := x.Say(page.Flash{Text: words}); err != nil {
				return err
			}
		}
		x.Redirect(x.At(below(issuesPath, made.IID)))
		return nil
	}
	form, formErr := createForm(x, values{kind: issue.Plain})
	if formErr != nil {
		return formErr
	}
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return showCreate(x, http.StatusUnprocessableEntity, form)
}

func showEdit(x *request, f found) error {
	form, err := editForm(x, f, digest(f.Issue))
	if err != nil {
		return err
	}
	return editPage(x, f, http.StatusOK, form)
}

// editForm is the form of an issue, for somebody who has seen the texts that a digest names.
func editForm(x *request, f found, seen string) (*page.Form, error) {
	if !f.rights.Edit {
		return nil, fault.New(fault.NotFound)
	}
	v := values{title: f.Title, confidential: f.Confidential, locked: locked(f.Issue), labels: f.LabelIDs, kind: f.Type, severity: f.Severity}
	if f.Description != nil {
		v.description = *f.Description
	}
	form := x.NewForm(f.path(x, ""), "Save", textFields(v)...).With("seen", seen)
	if !f.rights.Plan {
		form.Fields = append(form.Fields, fileField(x, "file")...)
		return form, nil
	}
	if f.DueDate != nil {
		v.due = f.DueDate.Format(time.DateOnly)
	}
	if f.Weight != nil {
		v.weight = strconv.Itoa(*f.Weight)
	}
	people, err := x.deps.Users.Briefs(x.Context(), f.AssigneeIDs...)
	if err != nil {
		return nil, err
	}
	for _, id := range f.AssigneeIDs {
		if b, found := people[id]; found {
			v.assignees = append(v.assignees, "@"+b.Username)
		}
	}
	c, err := x.choices()
	if err != nil {
		return nil, err
	}
	if err := x.keepChosen(f, &c, &v); err != nil {
		return nil, err
	}
	form.Fields = append(append(form.Fields, planFields(x, v, c)...), confidentialField(v))
	form.Fields = append(form.Fields, fileField(x, "file")...)
	return form, nil
}

// keepChosen lets the form hold what the issue has, also where the lists to choose from do not.
func (x *request) keepChosen(f found, c *choices, v *values) error {
	shown, err := x.deps.Issues.Beside(x.Context(), x.Actor, x.Project, *f.Issue)
	if err != nil {
		return err
	}
	for _, l := range shown[0].Labels {
		if !slices.ContainsFunc(c.labels, func(s label.Seen) bool { return s.ID == l.ID }) {
			c.labels = append(c.labels, label.Seen{Label: l})
		}
	}
	m := shown[0].Milestone
	if m == nil {
		return nil
	}
	v.milestoneID = m.ID
	if !slices.ContainsFunc(c.milestones, func(o milestone.Milestone) bool { return o.ID == m.ID }) {
		c.milestones = append(c.milestones, milestone.Milestone{ID: m.ID, Title: m.Title})
	}
	return nil
}

func editPage(x *request, f found, code int, form *page.Form) error {
	body := formBody{Form: form, Back: x.Link(f.path(x, ""))}
	if x.May(access.DeleteIssues) {
		body.Delete = x.Button(f.path(x, "/delete"), "Delete issue", page.Danger, "")
		body.Loses = "The issue goes at once, with all that was said about it. It cannot be brought back."
		body.Delete.AskFirst(body.Loses)
	}
	return x.Show(code, x.Layout(fmt.Sprintf("Edit issue #%d", f.IID), issuesPath), formPage(body))
}

// digest names the texts of an issue, so that a form knows whether they are still those that it began with.
func digest(i *issue.Issue) string { return digestOf(i.Title, i.Description) }

func digestOf(title string, description *string, more ...string) string {
	text := title + "\x00"
	if description != nil {
		text += *description
	}
	for _, m := range more {
		text += "\x00" + m
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func updateIssue(x *request) error {
	f, err := findToChange(x)
	if err != nil {
		return err
	}
	if !f.rights.Edit {
		return fault.New(fault.NotFound)
	}
	var s sent
	err = attach(x, "description")
	if err == nil {
		s, err = readSent(x)
	}
	seen := x.Form.Get("seen")
	if err == nil && seen != "" && seen != digest(f.Issue) {
		err = fault.WithMessage(fault.Conflict, "Somebody changed the title or the description meanwhile. "+
			"Copy what you wrote, open the issue again and look at both.")
	}
	var saved *issue.Issue
	if err == nil {
		saved, err = x.deps.Issues.Update(x.Context(), x.Actor, x.Project, f.IID, s.change(x, f))
	}
	if err == nil {
		missing := []string{}
		if f.rights.Plan {
			if missing, err = x.leftOut(s.labels, saved); err != nil {
				return err
			}
		}
		return x.Done(f.path(x, ""), noLabels([]string{"Issue saved."}, missing))
	}
	form, formErr := editForm(x, f, seen)
	if formErr != nil {
		return formErr
	}
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return editPage(x, f, http.StatusUnprocessableEntity, form)
}

// sent is what a form about an issue says.
type sent struct {
	description  *string
	assignees    []int64
	labels       []string
	milestoneID  *int64
	due          *time.Time
	weight       *int
	confidential bool
	locked       bool
	kind         issue.Type     // none where the form does not ask
	severity     issue.Severity // the same
}

// change is what the form says of an issue. What those who plan say counts for them alone: the form of others does not hold it.
func (s sent) change(x *request, f found) issue.Change {
	c := issue.Change{Title: new(x.Form.Get("title")), Description: &s.description}
	if !f.rights.Plan {
		return c
	}
	c.Confidential, c.AssigneeIDs, c.Labels, c.MilestoneID, c.DueDate = &s.confidential, &s.assignees, &s.labels, &s.milestoneID, &s.due
	if s.kind != "" {
		c.Type = &s.kind
	}
	if s.severity != "" {
		c.Severity = &s.severity
	}
	if s.locked != locked(f.Issue) {
		c.DiscussionLocked = &s.locked
	}
	if x.deps.Settings.Instance().Enterprise() {
		c.Weight = &s.weight
	}
	return c
}

// readSent reads a form, and says what in it means nothing.
func readSent(x *request) (s sent, err error) {
	get := func(name string) string { return strings.TrimSpace(x.Form.Get(name)) }
	s.confidential, s.locked, s.labels = get("confidential") != "", get("discussion_locked") != "", []string{}
	if text := strings.ReplaceAll(x.Form.Get("description"), "\r\n", "\n"); text != "" {
		s.description = &text
	}
	var f fault.Fields
	if kind := issue.Type(get("type")); kind == issue.Plain || kind == issue.Incident {
		s.kind = kind
	}
	if severity := issue.Severity(get("severity")); slices.Contains(severities, severity) {
		s.severity = severity
	}
	if s.assignees, err = people(x, get("assignees"), &f); err != nil {
		return s, err
	}
	if s.labels, err = labelNames(x); err != nil {
		return s, err
	}
	if text := get("milestone"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			f.Add("milestone", "is none of this project")
		}
		s.milestoneID = &id
	}
	s.due = day(get("due_date"), "due_date", &f)
	if text := get("weight"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			f.Add("weight", "is not a number")
		}
		s.weight = &n
	}
	return s, f.Err()
}

// day reads a date of a form.
func day(text, field string, f *fault.Fields) *time.Time {
	if text == "" {
		return nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		f.Add(field, "is not a day, as 2026-11-30")
		return nil
	}
	return &t
}

const maxPeople = 50

// people are those whom a field names.
func people(x *request, text string, f *fault.Fields) ([]int64, error) {
	ids := []int64{}
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
	if len(names) > maxPeople {
		f.Add("assignees", "are too many (%d are the most)", maxPeople)
		return ids, nil
	}
	for _, name := range names {
		u, err := x.deps.Users.FindByUsername(x.Context(), strings.TrimPrefix(name, "@"))
		if fault.Is(err, fault.NotFound) {
			f.Add("assignees", "cannot be found: there is no %s. Check the username", cut(name, 100))
			continue
		} else if err != nil {
			return nil, err
		}
		ids = append(ids, u.ID)
	}
	return ids, nil
}

// cut is the beginning of a text.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// leftOut are the labels that an issue did not get of those that were asked for.
func (x *request) leftOut(asked []string, i *issue.Issue) ([]string, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	shown, err := x.deps.Issues.Beside(x.Context(), x.Actor, x.Project, *i)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(asked), func(name string) bool {
		return slices.ContainsFunc(shown[0].Labels, func(l label.Label) bool { return l.Name == name })
	}), nil
}

// noLabels says that something was asked for which is no label, after what else is said.
func noLabels(said, missing []string) string {
	if len(missing) > 0 {
		said = append(slices.Clone(said), "This project has no such label, so the issue did not get it: "+cut(strings.Join(missing, ", "), 300)+
			". Ask somebody who may make labels to add it.")
	}
	return strings.Join(said, " ")
}

// labelNames are the labels that were chosen, by name, and those that were written.
func labelNames(x *request) ([]string, error) {
	names := []string{}
	if len(x.Form["labels"]) > 200 {
		return nil, fault.WithMessage(fault.BadParams, "These are too many labels.")
	}
	for _, text := range x.Form["labels"] {
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			continue
		}
		l, err := x.deps.Labels.Find(x.Context(), x.Actor, owner.OfProject(x.Project), text, true)
		if fault.Is(err, fault.NotFound) {
			continue // it went meanwhile
		} else if err != nil {
			return nil, err
		}
		names = append(names, l.Name)
	}
	for name := range strings.SplitSeq(x.Form.Get("more_labels"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}
