package planning

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/label"
	"stithy/internal/owner"
	"stithy/internal/web/page"
)

const labelsPerPage = 50

// labelsBody is one page of a project's labels.
type labelsBody struct {
	Action page.URL
	Search string
	Labels []labelRow
	Pager  page.Pager
	None   string
}

// labelRow is a label in a list.
type labelRow struct {
	labelBadge
	Description string
	From        string // the group that has it
	Priority    string
	Edit        page.URL
	Delete      *page.Form
}

func showLabels(x *request) error {
	req := x.Numbered("page", labelsPerPage)
	search := cut(strings.TrimSpace(x.Form.Get("search")), maxSearch)
	found, err := x.deps.Labels.List(x.Context(), x.Actor, owner.OfProject(x.Project), label.Filter{Search: search, Ancestors: true}, req)
	if err != nil {
		return err
	}
	body := labelsBody{
		Action: x.LinkTo(labelsPath), Search: search, None: "There are no labels yet. They say what issues are about, as “bug”.",
	}
	if search != "" {
		body.None = "No label matches."
	}
	for _, l := range found.Items {
		body.Labels = append(body.Labels, newLabelRow(x, l))
	}
	body.Pager = x.NumberedPager(x.At(labelsPath), url.Values{"search": {search}}, "page", "", req, found.More)
	body.Pager.BackText, body.Pager.OnwardText = "Previous", "Next"
	l := x.Layout("Labels", labelsPath)
	if x.May(access.AdminProjectLabels) {
		l.Actions = primaryLink(x.LinkTo(labelsPath+"/new"), "New label")
	}
	return x.Show(http.StatusOK, l, labelsPage(body))
}

func newLabelRow(x *request, l label.Seen) labelRow {
	row := labelRow{labelBadge: badges(x.Request.Request, x.At(issuesPath), []label.Label{l.Label})[0]}
	if l.Description != nil {
		row.Description = *l.Description
	}
	if l.Priority != nil {
		row.Priority = strconv.Itoa(*l.Priority)
	}
	if l.NamespaceID != nil {
		row.From = "of a group"
		return row
	}
	if x.May(access.AdminProjectLabels) {
		own := x.At(labelsPath + "/" + strconv.FormatInt(l.ID, 10))
		row.Edit = x.Link(own + "/edit")
		row.Delete = x.Button(own+"/delete", "Delete", page.Danger, "the label "+l.Name).
			AskFirst("The label “" + l.Name + "” goes from all issues that have it. This cannot be undone.")
	}
	return row
}

func labelFields(l *label.Seen) []page.Field {
	v := label.Seen{Label: label.Label{Color: label.DefaultColor}}
	if l != nil {
		v = *l
	}
	var text, priority string
	if v.Description != nil {
		text = *v.Description
	}
	if v.Priority != nil {
		priority = strconv.Itoa(*v.Priority)
	}
	return []page.Field{
		{Name: "name", Also: "title", Label: "Name", Type: page.Text, Value: v.Name, Required: true, Length: 255},
		{Name: "color", Label: "Colour", Type: page.Text, Value: v.Color, Required: true, Length: 64, Hint: "#rrggbb, or a name as “crimson”."},
		{Name: "description", Label: "Description", Type: page.Text, Value: text, Length: 1024},
		{
			Name: "priority", Label: "Priority", Type: page.Text, Mode: "numeric", Value: priority, Length: 10,
			Hint: "A number; 0 comes first. Empty: none.",
		},
	}
}

func newLabel(x *request) error {
	return showLabelForm(x, http.StatusOK, "New label", x.NewForm(x.At(labelsPath), "Create label", labelFields(nil)...))
}

func showLabelForm(x *request, code int, title string, form *page.Form) error {
	return x.Show(code, x.Layout(title, labelsPath), formPage(formBody{Form: form, Back: x.LinkTo(labelsPath)}))
}

// sentLabel is what a form about a label says.
func sentLabel(x *request) (d label.Draft, err error) {
	d = label.Draft{Name: strings.TrimSpace(x.Form.Get("name")), Color: strings.TrimSpace(x.Form.Get("color"))}
	if text := strings.TrimSpace(x.Form.Get("description")); text != "" {
		d.Description = &text
	}
	if text := strings.TrimSpace(x.Form.Get("priority")); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return d, fault.Field("priority", "is not a number")
		}
		d.Priority = &n
	}
	return d, nil
}

func createLabel(x *request) error {
	d, err := sentLabel(x)
	if err == nil {
		_, err = x.deps.Labels.Create(x.Context(), x.Actor, owner.OfProject(x.Project), d)
	}
	if err == nil {
		return x.Done(x.At(labelsPath), "Label created.")
	}
	form := x.NewForm(x.At(labelsPath), "Create label", labelFields(nil)...)
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return showLabelForm(x, http.StatusUnprocessableEntity, "New label", form)
}

// findLabel reads the label of the project itself that the path names.
func findLabel(x *request) (*label.Seen, error) {
	id, err := x.ID()
	if err != nil {
		return nil, err
	}
	l, err := x.deps.Labels.Find(x.Context(), x.Actor, owner.OfProject(x.Project), strconv.FormatInt(id, 10), false)
	if err == nil && (l.ID != id || l.ProjectID == nil) {
		err = fault.New(fault.NotFound)
	}
	return l, err
}

func labelPath(x *request, l *label.Seen) string {
	return x.At(labelsPath + "/" + strconv.FormatInt(l.ID, 10))
}

func editLabel(x *request) error {
	l, err := findLabel(x)
	if err != nil {
		return err
	}
	return showLabelForm(x, http.StatusOK, "Edit label", x.NewForm(labelPath(x, l), "Save", labelFields(l)...))
}

func updateLabel(x *request) error {
	l, err := findLabel(x)
	if err != nil {
		return err
	}
	d, err := sentLabel(x)
	if err == nil {
		c := label.Change{Color: &d.Color, Description: &d.Description, Priority: &d.Priority}
		if d.Name != l.Name {
			c.Name = &d.Name
		}
		_, err = x.deps.Labels.Update(x.Context(), x.Actor, owner.OfProject(x.Project), strconv.FormatInt(l.ID, 10), c)
	}
	if err == nil {
		return x.Done(x.At(labelsPath), "Label saved.")
	}
	form := x.NewForm(labelPath(x, l), "Save", labelFields(l)...)
	if err := x.Refuse(form, err); err != nil {
		return err
	}
	return showLabelForm(x, http.StatusUnprocessableEntity, "Edit label", form)
}

func deleteLabel(x *request) error {
	l, err := findLabel(x)
	if err == nil {
		err = x.deps.Labels.Delete(x.Context(), x.Actor, owner.OfProject(x.Project), strconv.FormatInt(l.ID, 10))
	}
	if err != nil {
		return err
	}
	return x.Done(x.At(labelsPath), "Label deleted. Issues do not have it any more.")
}

// toLabels leads from where a form was sent to the list.
func toLabels(x *request) error {
	x.Redirect(x.At(labelsPath))
	return nil
}
