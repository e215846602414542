package web

import (
	"net/http"
	"net/url"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/platform/secretbox"
	"stithy/internal/variable"
)

// variablesBody is one page of the variables of a place. No value is on it.
type variablesBody struct {
	Variables  []variableRow
	New        *form
	Prev, Next string
}

type variableRow struct {
	Key, Scope, Description         string
	Edit                            string
	File, Protected, Masked, Hidden bool
	Raw                             bool
	Delete                          *form
}

// Whether a value is seen: by everybody who reads logs, by those who manage
// it, or never again.
const (
	seenValue   = "visible"
	maskedValue = "masked"
	hiddenValue = "hidden"
)

func (x *visit) variables(p ciPlace, refused *form) (*variablesBody, error) {
	if err := x.variablesHere(p); err != nil {
		return nil, err
	}
	req, turns := x.turned("variables_page")
	var found paging.Result[*variable.Variable]
	var err error
	if p.instance() {
		found, err = x.Variables.List(x.r.Context(), req)
	} else {
		found, err = x.Variables.ListIn(x.r.Context(), p.of, req)
	}
	if err != nil {
		return nil, err
	}
	body := &variablesBody{New: refused}
	body.Prev, body.Next = turns(found.More)
	for _, v := range found.Items {
		row := variableRow{
			Key: v.Key, Scope: v.Scope, File: v.Type == variable.File, Protected: v.Protected, Masked: v.Masked, Hidden: v.Hidden, Raw: v.Raw,
			Edit:   p.variables + "/edit?" + url.Values{"key": {v.Key}, "scope": {v.Scope}}.Encode(),
			Delete: x.button(p.variables+"/delete", "Delete", "danger", v.Key).with("key", v.Key).with("scope", v.Scope),
		}
		if v.Description != nil {
			row.Description = *v.Description
		}
		body.Variables = append(body.Variables, row)
	}
	if refused == nil {
		body.New = x.variableForm(p, nil)
	}
	return body, nil
}

// variablesHere refuses variables of an instance that has none: it is hosted
// for others.
func (x *visit) variablesHere(p ciPlace) error {
	if p.instance() && x.Settings.Instance().Hosted {
		return fault.New(fault.NotFound)
	}
	return nil
}

// variableForm asks for a new variable, or for changes of one. A hidden value
// is not in it.
func (x *visit) variableForm(p ciPlace, old *variable.Variable) *form {
	v, action, submit := variable.Variable{Scope: "*", Type: variable.EnvVar}, p.variables, "Add variable"
	if old != nil {
		v, action, submit = *old, p.variables+"/update", "Save changes"
	}
	value := field{Name: "value", Label: "Value", Type: "textarea", Value: v.Value.Reveal(), Hint: "To be masked it needs 8 characters or more, without blanks."}
	if v.Hidden {
		value = field{Name: "value", Label: "New value", Type: "password", Autocomplete: "new-password", Hint: "The value is hidden. It stays as it is where this is empty."}
	}
	seen := seenValue
	switch {
	case v.Hidden:
		seen = hiddenValue
	case v.Masked:
		seen = maskedValue
	}
	options := []choice{{Value: seenValue, Label: "Visible in logs"}, {Value: maskedValue, Label: "Masked in logs"}}
	if old == nil && !p.instance() {
		options = append(options, choice{Value: hiddenValue, Label: "Masked in logs, and never shown again"})
	}
	if v.Hidden {
		options = []choice{{Value: hiddenValue, Label: "Masked in logs, and never shown again"}}
	}
	for i := range options {
		options[i].Chosen = options[i].Value == seen
	}
	description := ""
	if v.Description != nil {
		description = *v.Description
	}
	var fields []field
	if old == nil {
		fields = append(fields, field{Name: "key", Label: "Key", Type: "text", Required: true, Length: 255, Autocomplete: "off", Hint: "Letters, digits and _."})
	}
	fields = append(fields, value, field{Name: "visibility", Label: "Visibility", Type: "select", Options: options})
	if !p.instance() {
		fields = append(fields, field{Name: "environment_scope", Label: "Environments", Type: "text", Value: v.Scope, Length: 255, Hint: "* stands for any text."})
	}
	fields = append(fields,
		field{Name: "variable_type", Label: "Jobs see it", Type: "select", Options: []choice{
			{Value: string(variable.EnvVar), Label: "in their environment", Chosen: v.Type == variable.EnvVar},
			{Value: string(variable.File), Label: "as a file", Chosen: v.Type == variable.File},
		}},
		field{Name: "protected", As: "variable-protected", Label: "Protected", Type: "checkbox", Value: checked(v.Protected), Hint: "For jobs of protected branches and tags only."},
		field{Name: "expand", Label: "Expand references", Type: "checkbox", Value: checked(!v.Raw), Hint: "$NAME in the value stands for another variable."},
		field{Name: "description", As: "variable-description", Label: "Description", Type: "text", Value: description, Length: 255},
	)
	f := x.newForm(action, submit, fields...)
	if old != nil {
		f.with("key", old.Key).with("scope", old.Scope)
	}
	return f
}

// fillVariable takes over what was filled in.
func (x *visit) fillVariable(p ciPlace, v *variable.Variable) {
	if value := x.form.Get("value"); value != "" || !v.Hidden {
		v.Value = secretbox.Secret(strings.ReplaceAll(value, "\r\n", "\n")) // as browsers send lines
	}
	seen := x.form.Get("visibility")
	v.Masked = v.Hidden || seen == maskedValue || seen == hiddenValue
	v.Protected, v.Raw = x.form.Get("protected") != "", x.form.Get("expand") == ""
	if v.Type = variable.EnvVar; x.form.Get("variable_type") == string(variable.File) {
		v.Type = variable.File
	}
	if !p.instance() {
		v.Scope = strings.TrimSpace(x.form.Get("environment_scope"))
	}
	v.Description = nil
	if text := strings.TrimSpace(x.form.Get("description")); text != "" {
		v.Description = &text
	}
}

func (x *visit) createVariable(p ciPlace) error {
	if err := x.variablesHere(p); err != nil {
		return err
	}
	v := &variable.Variable{Key: x.form.Get("key"), Hidden: !p.instance() && x.form.Get("visibility") == hiddenValue}
	x.fillVariable(p, v)
	var err error
	if p.instance() {
		err = x.Variables.Create(x.r.Context(), x.actor, v)
	} else {
		err = x.Variables.CreateIn(x.r.Context(), x.actor, p.of, v)
	}
	if err == nil {
		return x.done(p.shown(p.variables), "The variable "+v.Key+" is added.")
	}
	f := x.variableForm(p, nil)
	if err := x.refusedVariable(f, v.Hidden, err); err != nil {
		return err
	}
	return x.showPlace(http.StatusUnprocessableEntity, p, nil, f)
}

// refusedVariable shows a form again. A value that was to be hidden is not
// sent back, not even to who sent it.
func (x *visit) refusedVariable(f *form, hide bool, err error) error {
	if err := x.refused(f, err); err != nil {
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
func (x *visit) namedVariable(p ciPlace) (*variable.Variable, error) {
	if err := x.variablesHere(p); err != nil {
		return nil, err
	}
	if p.instance() {
		return x.Variables.Find(x.r.Context(), x.form.Get("key"))
	}
	return x.Variables.FindIn(x.r.Context(), p.of, x.form.Get("key"), new(x.form.Get("scope")))
}

func (x *visit) showVariable(p ciPlace) error {
	v, err := x.namedVariable(p)
	if err != nil {
		return err
	}
	return x.variable(http.StatusOK, p, v, x.variableForm(p, v))
}

// variableBody is one variable.
type variableBody struct {
	Form *form
	Back string
}

func (x *visit) variable(code int, p ciPlace, v *variable.Variable, f *form) error {
	return x.show(code, "ci_variable", "Variable "+v.Key, variableBody{Form: f, Back: p.shown(p.variables)}, p.laid(p.variables+"/edit"))
}

func (x *visit) updateVariable(p ciPlace) error {
	v, err := x.namedVariable(p)
	if err != nil {
		return err
	}
	if p.instance() {
		_, err = x.Variables.Update(x.r.Context(), x.actor, v.Key, func(v *variable.Variable) { x.fillVariable(p, v) })
	} else {
		_, err = x.Variables.UpdateIn(x.r.Context(), x.actor, p.of, v.ID, func(v *variable.Variable) { x.fillVariable(p, v) })
	}
	if err == nil {
		return x.done(p.shown(p.variables), "The variable "+v.Key+" is changed.")
	}
	f := x.variableForm(p, v)
	if err := x.refusedVariable(f, v.Hidden, err); err != nil {
		return err
	}
	return x.variable(http.StatusUnprocessableEntity, p, v, f)
}

func (x *visit) deleteVariable(p ciPlace) error {
	v, err := x.namedVariable(p)
	if err != nil {
		return err
	}
	if p.instance() {
		err = x.Variables.Delete(x.r.Context(), x.actor, v.Key)
	} else {
		err = x.Variables.DeleteIn(x.r.Context(), x.actor, p.of, v)
	}
	if err != nil {
		return err
	}
	return x.done(p.shown(p.variables), "The variable "+v.Key+" is deleted.")
}
