package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"stithy/internal/kit/fault"
)

// csrfField is the field that ties a form to the session it was shown in.
const csrfField = "authenticity_token"

// form is a form of a page. It is made by visit.newForm, which gives it the
// CSRF value.
type form struct {
	Action  string
	Submit  string
	Look    string // of the button: "primary", "danger" or ""
	CSRF    string
	Method  string // "post" unless it only asks
	Hidden  []hidden
	Fields  []field
	Problem string // what is wrong with the whole
	About   string // what the button is about, for those who hear the page
}

type hidden struct{ Name, Value string }

// field is one question of a form.
type field struct {
	Name         string
	Also         string // another name that rooms complain about what stands here under
	As           string // its id on a page that asks for the name twice
	Label        string
	Type         string // of the input; "textarea", "select" and "checkboxes" are others
	Value        string
	Hint         string
	Autocomplete string
	Mode         string // the keyboard that a phone shows
	Required     bool
	Focus        bool
	Length       int
	Options      []choice
	Problems     []string
}

// ID is what the label and the problems of a field refer to.
func (f field) ID() string { return cmp.Or(f.As, f.Name) }

// choice is one answer of a select or of checkboxes.
type choice struct {
	Value, Label, Hint string
	Chosen             bool
}

// checked is the value of a checkbox.
func checked(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// Refused reports whether the form is shown again, with what is wrong with it.
func (f *form) Refused() bool {
	return f.Problem != "" || slices.ContainsFunc(f.Fields, func(q field) bool { return len(q.Problems) > 0 })
}

// newForm is a form that sends its fields to a path of this instance.
func (x *visit) newForm(action, submit string, fields ...field) *form {
	f := &form{Action: x.link(action), Submit: submit, Method: "post", Fields: fields, Look: "primary"}
	if x.session != "" {
		f.CSRF = x.Tokens.CSRF(x.session)
	}
	return f
}

// button is a form without questions.
func (x *visit) button(action, submit, look, about string) *form {
	f := x.newForm(action, submit)
	f.Look, f.About = look, about
	return f
}

// with hides a value in the form.
func (f *form) with(name, value string) *form {
	f.Hidden = append(f.Hidden, hidden{name, value})
	return f
}

// refused fills in what was sent and what is wrong with it. It returns the
// error that the form cannot show.
func (x *visit) refused(f *form, err error) error {
	e, shown := fault.Of(err)
	if !shown || e.Kind == fault.NotFound || e.Kind == fault.Internal {
		return err
	}
	fields := e.Fields
	for i := range f.Fields {
		q := &f.Fields[i]
		if q.Problems = fields[q.Name]; len(q.Problems) == 0 && q.Also != "" {
			q.Problems = fields[q.Also]
		}
		for n := range q.Options {
			q.Options[n].Chosen = slices.Contains(x.form[q.Name], q.Options[n].Value)
		}
		if q.Type != "password" {
			q.Value = x.form.Get(q.Name)
		}
	}
	shownBy := func(name string) bool {
		return slices.ContainsFunc(f.Fields, func(q field) bool { return q.Name == name || q.Also == name })
	}
	switch {
	case len(fields) == 0 && e.Text != "":
		f.Problem = e.Text
	case len(fields) == 0 && e.Reason != "":
		f.Problem = e.Reason
	case len(fields) == 0:
		_, body := failure(e)
		f.Problem = body.Text
	default:
		rest := fault.Fields{}
		for name, texts := range fields {
			if !shownBy(name) {
				rest[name] = texts
			}
		}
		f.Problem = inWords(rest)
	}
	return nil
}

// inWords is what is wrong as people say it. Names of fields are those of the API;
// what is wrong with the whole, which rooms call base, has none.
func inWords(fields fault.Fields) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, text := range fields[name] {
			if words := strings.ReplaceAll(name, "_", " "); name != "base" && words != "" {
				text = strings.ToUpper(words[:1]) + words[1:] + " " + text
			}
			parts = append(parts, strings.TrimRight(text, "."))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ". ") + "."
}
