package planning

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/label"
	"stithy/internal/owner"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const labelsPerPage = 50

var (
	toReadLabels  = owner.Needs{Group: access.ReadGroupLabels, Project: access.ReadProjectLabels}
	toAdminLabels = owner.Needs{Group: access.AdminGroupLabels, Project: access.AdminProjectLabels}
)

func labelRoutes() []ownerRoute {
	return []ownerRoute{
		{route: "GET /-/labels", needs: toReadLabels, do: showLabels, title: "Labels", icon: ui.IconTag},
		{route: "POST /-/labels", needs: toAdminLabels, do: createLabel},
		{route: "GET /-/labels/new", needs: toAdminLabels, do: newLabel},
		{route: "GET /-/labels/{id}", needs: toReadLabels, do: toLabels},
		{route: "POST /-/labels/{id}", needs: toAdminLabels, do: updateLabel},
		{route: "GET /-/labels/{id}/edit", needs: toAdminLabels, do: editLabel},
		{route: "POST /-/labels/{id}/delete", needs: toAdminLabels, do: deleteLabel},
	}
}

// labelsBody is one page of the labels of a project or group.
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

func showLabels(x *ownerRequest) error {
	req := x.Numbered("page", labelsPerPage)
	search := cut(strings.TrimSpace(x.Form.Get("search")), maxSearch)
	found, err := x.deps.Labels.List(x.Context(), x.Actor, x.owner, label.Filter{Search: search, Ancestors: true}, req)
	if err != nil {
		return err
	}
	body := labelsBody{
		Action: x.linkTo(labelsPath), Search: search, None: "There are no labels yet. They say what issues are about, as “bug”.",
	}
	if search != "" {
		body.None = "No label matches."
	}
	for _, l := range found.Items {
		body.Labels = append(body.Labels, newLabelRow(x, l))
	}
	body.Pager = x.NumberedPager(x.at(labelsPath), url.Values{"search": {search}}, "page", "", req, found.More)
	body.Pager.BackText, body.Pager.OnwardText = "Previous", "Next"
	l := x.layout("Labels", labelsPath)
	if x.may(toAdminLabels) {
		l.Actions = primaryLink(x.linkTo(labelsPath+"/new"), "New label")
	}
	return x.Show(http.StatusOK, l, labelsPage(body))
}

func newLabelRow(x *ownerRequest, l label.Seen) labelRow {
	row := labelRow{labelBadge: badges(x.Request, x.at(issuesPath), []label.Label{l.Label})[0]}
	if l.Description != nil {
		row.Description = *l.Description
	}
	if l.Priority != nil {
		row.Priority = strconv.Itoa(*l.Priority)
	}
	if !x.owns(l) {
		row.From = "of a group"
		return row
	}
	if x.may(toAdminLabels) {
		own := x.at(labelsPath + "/" + strconv.FormatInt(l.ID, 10))
		row.Edit = x.Link(own + "/edit")
		row.Delete = x.Button(own+"/delete", "Delete", page.Danger, "the label "+l.Name).
			AskFirst("The label “" + l.Name + "” goes from all issues that have it. This cannot be undone.")
	}
	return row
}

// owns reports whether a label is of the project or group itself, and not of a group above.
func (x *ownerRequest) owns(l label.Seen) bool {
	of := l.Owner()
	return of.Kind == x.owner.Kind && of.ID == x.owner.ID
}

// labelFields are those of a label. What comes first is for each project to say.
func (x *ownerRequest) labelFields(l *label.Seen) []page.Field {
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
	fields := []page.Field{
		{Name: "name", Also: "title", Label: "Name", Type: page.Text, Value: v.Name, Required: true, Length: 255},
		{Name: "color", Label: "Colour", Type: page.Text, Value: v.Color, Required: true, Length: 64, Hint: "#rrggbb, or a name as “crimson”."},
		{Name: "description", Label: "Description", Type: page.Text, Value: text, Length: 1024},
	}
	if x.owner.Project != nil {
		fields = append(fields, page.Field{
			Name: "priority", Label: "Priority", Type: page.Text, Mode: "numeric", Value: priority, Length: 10,
			Hint: "A number; 0 comes first. Empty: none.",
		})
	}
	return fields
}

func newLabel(x *ownerRequest) error {
	return showLabelForm(x, http.StatusOK, "New label", x.NewForm(x.at(labelsPath), "Create label", x.labelFields(nil)...))
}

func showLabelForm(x *ownerRequest, code int, title string, form *page.Form) error {
	return x.Show(code, x.layout(title, labelsPath), formPage(formBody{Form: form, Back: x.linkTo(labelsPath)}))
}

// sentLabel is what a form about a label says.
func sentLabel(x *ownerRequest) (d label.Draft, err error) {
	d = label.Draft{Name: strings.TrimSpace(x.Form.Get("name")), Color: strings.TrimSpace(x.Form.Get("color"))}
	if text := strings.TrimSpace(x.Form.Get("description")); text != "" {
		d.Description = &text
	}
	if text := strings.TrimSpace(x.Form.Get("priority")); text != "" && x.owner.Project != nil {
		n, err := strconv.Atoi(text)
		if err != nil {
			return d, fault.Field("priority", "is not a number")
		}
		d.Priority = &n
	}
	return d, nil
}

func createLabel(x *ownerRequest) error {
	d, err := sentLabel(x)
	if err == nil {
		_, err = x.deps.Labels.Create(x.Context(), x.Actor, x.owner, d)
	}
	if err == nil {
		return x.Done(x.at(labelsPath), "Label created.")
	}
	form := x.NewForm(x.at(labelsPath), "Create label", x.labelFields(nil)...)
	if err := x.Refuse(form, labelWords(err)); err != nil {
		return err
	}
	return showLabelForm(x, http.StatusUnprocessableEntity, "New label", form)
}

// labelWords replaces the API's wording of what is wrong with a label, which clients know, by a text for people.
func labelWords(err error) error {
	e, shown := fault.Of(err)
	if !shown || len(e.Fields) == 0 {
		return err
	}
	said := map[string]string{
		"title is invalid":                 "Name cannot hold a comma, which stands between names of labels. Leave it out.",
		"title can't be blank":             "Name is empty. Write what the label is about, as “bug”.",
		"color must be a valid color code": "Colour is neither #rrggbb, as #cc3311, nor the name of a colour, as “crimson”.",
	}
	blank := slices.Contains(e.Fields["title"], "can't be blank")
	var f fault.Fields
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		for _, text := range e.Fields[name] {
			if words := said[name+" "+text]; words == "" {
				f.Add(name, "%s", text)
			} else if !blank || name != "title" || text == "can't be blank" {
				f.Add(name, "%s", words)
			}
		}
	}
	return f.Err()
}

// findLabel reads the label that the path names, of the project or group itself.
func findLabel(x *ownerRequest) (*label.Seen, error) {
	id, err := x.ID()
	if err != nil {
		return nil, err
	}
	l, err := x.deps.Labels.Find(x.Context(), x.Actor, x.owner, strconv.FormatInt(id, 10), false)
	if err == nil && (l.ID != id || !x.owns(*l)) {
		err = fault.New(fault.NotFound)
	}
	return l, err
}

func labelPath(x *ownerRequest, l *label.Seen) string {
	return x.at(labelsPath + "/" + strconv.FormatInt(l.ID, 10))
}

func editLabel(x *ownerRequest) error {
	l, err := findLabel(x)
	if err != nil {
		return err
	}
	return showLabelForm(x, http.StatusOK, "Edit label", x.NewForm(labelPath(x, l), "Save", x.labelFields(l)...))
}

func updateLabel(x *ownerRequest) error {
	l, err := findLabel(x)
	if err != nil {
		return err
	}
	d, err := sentLabel(x)
	if err == nil {
		c := label.Change{Color: &d.Color, Description: &d.Description}
		if x.owner.Project != nil {
			c.Priority = &d.Priority
		}
		if d.Name != l.Name {
			c.Name = &d.Name
		}
		_, err = x.deps.Labels.Update(x.Context(), x.Actor, x.owner, strconv.FormatInt(l.ID, 10), c)
	}
	if err == nil {
		return x.Done(x.at(labelsPath), "Label saved.")
	}
	form := x.NewForm(labelPath(x, l), "Save", x.labelFields(l)...)
	if err := x.Refuse(form, labelWords(err)); err != nil {
		return err
	}
	return showLabelForm(x, http.StatusUnprocessableEntity, "Edit label", form)
}

func deleteLabel(x *ownerRequest) error {
	l, err := findLabel(x)
	if err == nil {
		err = x.deps.Labels.Delete(x.Context(), x.Actor, x.owner, strconv.FormatInt(l.ID, 10))
	}
	if err != nil {
		return err
	}
	return x.Done(x.at(labelsPath), "Label deleted. Issues do not have it any more.")
}

// toLabels leads from where a form was sent to the list.
func toLabels(x *ownerRequest) error {
	x.Redirect(x.at(labelsPath))
	return nil
}
