package ci

import (
	"net/http"
	"net/url"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/secretbox"
	"stithy/internal/variable"
	"stithy/internal/web/page"
)

// variablesBody is one page of the variables of a place. No value is on it.
type variablesBody struct {
	Variables []variableRow
	New       *page.Form
	Pager     page.Pager
}

type variableRow struct {
	Key, Scope, Description         string
	Edit                            page.URL
	File, Protected, Masked, Hidden bool
	Raw                             bool
	Delete                          *page.Form
}

// Whether a value is seen: by everybody who reads logs, by those who manage
// it, or never again.
const (
	seenValue   = "visible"
	maskedValue = "masked"
	hiddenValue = "hidden"
)

func variablesOf(x *ownerRequest, refused *page.Form) (*variablesBody, error) {
	if err := variablesHere(x); err != nil {
		return nil, err
	}
	req, pager := x.numbered("variables_page")
	var found paging.Result[*variable.Variable]
	var err error
	if x.instance() {
		found, err = x.deps.Variables.List(x.Context(), req)
	} else {
		found, err = x.deps.Variables.ListIn(x.Context(), x.of, req)
	}
	if err != nil {
		return nil, err
	}
	body := &variablesBody{New: refused}
	body.Pager = pager(found.More)
	for _, v := range found.Items {
		row := variableRow{
			Key: v.Key, Scope: v.Scope, File: v.Type == variable.File, Protected: v.Protected, Masked: v.Masked, Hidden: v.Hidden, Raw: v.Raw,
			Edit: x.Link(x.variables + "/edit?" + url.Values{"key": {v.Key}, "scope": {v.Scope}}.Encode()),
			Delete: x.Button(x.variables+"/delete", "Delete", page.Danger, v.Key).With("key", v.Key).With("scope", v.Scope).
				AskFirst("Jobs are given " + v.Key + " no more, and its value is forgotten. This cannot be undone."),
		}
		if v.Description != nil {
			row.Description = *v.Description
		}
		body.Variables = append(body.Variables, row)
	}
	if refused == nil {
		body.New = variableForm(x, nil)
	}
	return body, nil
}

// variablesHere refuses variables of an instance that has none: it is hosted
// for others.
func variablesHere(x *ownerRequest) error {
	if x.instance() && x.deps.Settings.Instance().Hosted {
		return fault.New(fault.NotFound)
	}
	return nil
}

// variableForm asks for a new variable, or for changes of one. A hidden value
// is not in it.
func variableForm(x *ownerRequest, old *variable.Variable) *page.Form {
	v, action, submit := variable.Variable{Scope: "*", Type: variable.EnvVar}, x.variables, "Add variable"
	if old != nil {
		v, action, submit = *old, x.variables+"/update", "Save changes"
	}
	value := page.Field{Name: "value", Label: "Value", Type: page.Textarea, Value: v.Value.Reveal(),
		Hint: "To be masked it needs 8 characters or more, without blanks."}
	if v.Hidden {
		value = page.Field{Name: "value", Label: "New value", Type: page.Password, Autocomplete: "new-password",
			Hint: "The value is hidden. It stays as it is where this is empty."}
	}
	seen := seenValue
	switch {
	case v.Hidden:
		seen = hiddenValue
	case v.Masked:
		seen = maskedValue
	}
	options := []page.Choice{{Value: seenValue, Label: "Visible in logs"}, {Value: maskedValue, Label: "Masked in logs"}}
	if old == nil && !x.instance() {
		options = append(options, page.Choice{Value: hiddenValue, Label: "Masked in logs, and never shown again"})
	}
	if v.Hidden {
		options = []page.Choice{{Value: hiddenValue, Label: "Masked in logs, and never shown again"}}
	}
	for i := range options {
		options[i].Chosen = options[i].Value == seen
	}
	description := ""
	if v.Description != nil {
		description = *v.Description
	}
	var fields []page.Field
	if old == nil {
		fields = append(fields, page.Field{Name: "key", Label: "Key", Type: page.Text, Required: true, Length: 255, Autocomplete: "off",
			Hint: "Letters, digits and _."})
	}
	fields = append(fields, value, page.Field{Name: "visibility", Label: "Visibility", Type: page.Select, Options: options})
	if !x.instance() {
		fields = append(fields, page.Field{Name: "environment_scope", Label: "Environments", Type: page.Text, Value: v.Scope, Length: 255,
			Hint: "* stands for any text."})
	}
	fields = append(fields,
		page.Field{Name: "variable_type", Label: "Jobs see it", Type: page.Select, Options: []page.Choice{
			{Value: string(variable.EnvVar), Label: "in their environment", Chosen: v.Type == variable.EnvVar},
			{Value: string(variable.File), Label: "as a file", Chosen: v.Type == variable.File},
		}},
		page.Field{Name: "protected", As: "variable-protected", Label: "Protected", Type: page.Checkbox, Value: page.Checked(v.Protected),
			Hint: "For jobs of protected branches and tags only."},
		page.Field{Name: "expand", Label: "Expand references", Type: page.Checkbox, Value: page.Checked(!v.Raw),
			Hint: "$NAME in the value stands for another variable."},
		page.Field{Name: "description", As: "variable-description", Label: "Description", Type: page.Text, Value: description, Length: 255},
	)
	f := x.NewForm(action, submit, fields...)
	if old != nil {
		f.With("key", old.Key).With("scope", old.Scope)
	}
	return f
}

// fillVariable takes over what was filled in.
func fillVariable(x *ownerRequest, v *variable.Variable) {
	if value := x.Form.Get("value"); value != "" || !v.Hidden {
		v.Value = secretbox.Secret(strings.ReplaceAll(value, "\r\n", "\n")) // as browsers send lines
	}
	seen := x.Form.Get("visibility")
	v.Masked = v.Hidden || seen == maskedValue || seen == hiddenValue
	v.Protected, v.Raw = x.Form.Get("protected") != "", x.Form.Get("expand") == ""
	if v.Type = variable.EnvVar; x.Form.Get("variable_type") == string(variable.File) {
		v.Type = variable.File
	}
	if !x.instance() {
		v.Scope = strings.TrimSpace(x.Form.Get("environment_scope"))
	}
	v.Description = nil
	if text := strings.TrimSpace(x.Form.Get("description")); text != "" {
		v.Description = &text
	}
}

func createVariable(x *ownerRequest) error {
	if err := variablesHere(x); err != nil {
		return err
	}
	v := &variable.Variable{Key: x.Form.Get("key"), Hidden: !x.instance() && x.Form.Get("visibility") == hiddenValue}
	fillVariable(x, v)
	var err error
	if x.instance() {
		err = x.deps.Variables.Create(x.Context(), x.Actor, v)
	} else {
		err = x.deps.Variables.CreateIn(x.Context(), x.Actor, x.of, v)
	}
	if err == nil {
		return x.Done(x.shown(x.variables), "The variable "+v.Key+" is added.")
	}
	f := variableForm(x, nil)
	if err := refusedVariable(x, f, v.Hidden, err); err != nil {
		return err
	}
	return settingsWith(x, http.StatusUnprocessableEntity, nil, f)
}

// refusedVariable shows a form again. A value that was to be hidden is not
// sent back, not even to who sent it.
func refusedVariable(x *ownerRequest, f *page.Form, hide bool, err error) error {
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	for i := range f.Fields {
		if hide && f.Fields[i].Name == "value" {
			f.Fields[i].Value = ""
		}
	}
	return nil
}

// namedVariable finds the variable that a form or link names.
func namedVariable(x *ownerRequest) (*variable.Variable, error) {
	if err := variablesHere(x); err != nil {
		return nil, err
	}
	if x.instance() {
		return x.deps.Variables.Find(x.Context(), x.Form.Get("key"))
	}
	return x.deps.Variables.FindIn(x.Context(), x.of, x.Form.Get("key"), new(x.Form.Get("scope")))
}

func showVariable(x *ownerRequest) error {
	v, err := namedVariable(x)
	if err != nil {
		return err
	}
	return showVariableForm(x, http.StatusOK, v, variableForm(x, v))
}

// variableBody is one variable.
type variableBody struct {
	Form *page.Form
	Back page.URL
}

func showVariableForm(x *ownerRequest, code int, v *variable.Variable, f *page.Form) error {
	return x.Show(code, x.layout("Variable "+v.Key), variablePage(variableBody{Form: f, Back: x.Link(x.shown(x.variables))}))
}

func updateVariable(x *ownerRequest) error {
	v, err := namedVariable(x)
	if err != nil {
		return err
	}
	if x.instance() {
		_, err = x.deps.Variables.Update(x.Context(), x.Actor, v.Key, func(v *variable.Variable) { fillVariable(x, v) })
	} else {
		_, err = x.deps.Variables.UpdateIn(x.Context(), x.Actor, x.of, v.ID, func(v *variable.Variable) { fillVariable(x, v) })
	}
	if err == nil {
		return x.Done(x.shown(x.variables), "The variable "+v.Key+" is changed.")
	}
	f := variableForm(x, v)
	if err := refusedVariable(x, f, v.Hidden, err); err != nil {
		return err
	}
	return showVariableForm(x, http.StatusUnprocessableEntity, v, f)
}

func deleteVariable(x *ownerRequest) error {
	v, err := namedVariable(x)
	if err != nil {
		return err
	}
	if x.instance() {
		err = x.deps.Variables.Delete(x.Context(), x.Actor, v.Key)
	} else {
		err = x.deps.Variables.DeleteIn(x.Context(), x.Actor, x.of, v)
	}
	if err != nil {
		return err
	}
	return x.Done(x.shown(x.variables), "The variable "+v.Key+" is deleted.")
}

// badges are words about a variable.
func (v variableRow) badges() []string {
	var all []string
	for _, b := range []struct {
		on   bool
		text string
	}{{v.Hidden, "hidden"}, {v.Masked && !v.Hidden, "masked"}, {v.Protected, "protected"}, {v.File, "file"}, {v.Raw, "not expanded"}} {
		if b.on {
			all = append(all, b.text)
		}
	}
	return all
}

// whoseJobs says which jobs are given the variables of a kind of owner.
func whoseJobs(noun string) string {
	switch noun {
	case "project":
		return "this project"
	case "group":
		return "all projects in this group"
	}
	return "all projects"
}
