package page

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stithy/internal/kit/fault"
	"stithy/internal/web/ui"
)

// CSRFField is the field that ties a form to the session it was shown in.
const CSRFField = "authenticity_token"

// Form is a form of a page. It is made by Request.NewForm, which gives it the CSRF value.
type Form struct {
	Action  URL
	Submit  string
	Look    Look
	Icon    ui.IconPath // on the button, if any
	ID      string      // of the button, where it must keep the focus
	CSRF    string
	Hidden  []Hidden
	Fields  []Field
	Problem string // what is wrong with the whole
	Next    NextStep
	About   string // what the button is about, for those who hear the page
	Sure    string // what follows, where a button asks first whether somebody is sure
	Open    bool   // what is folded away is shown at first
}

// NextStep is what to do about what is wrong with a form: words, and the page that they lead to, if any.
type NextStep struct {
	Text string
	URL  URL
}

// Look is how a button looks.
type Look string

// The looks of buttons. A page has one primary button.
const (
	Secondary Look = ""
	Primary   Look = "primary"
	Danger    Look = "danger"
	Quiet     Look = "plain"
)

// Hidden is a value that a form carries unseen.
type Hidden struct{ Name, Value string }

// Kind is what a field is filled in with: a type of input, or one of the kinds below.
type Kind string

// The kinds of fields.
const (
	Text       Kind = "text"
	Password   Kind = "password"
	Email      Kind = "email"
	Date       Kind = "date"
	Textarea   Kind = "textarea"
	Select     Kind = "select"
	Checkbox   Kind = "checkbox"
	Checkboxes Kind = "checkboxes"
	File       Kind = "file" // the last field of its form, of a page that takes files
)

// Field is one question of a form.
type Field struct {
	Name         string
	Also         string // another name that rooms complain about what stands here under
	As           string // its id on a page that asks for the name twice
	Label        string
	Type         Kind
	Value        string
	Hint         string
	Autocomplete string
	Mode         string // the keyboard that a phone shows
	Required     bool
	Focus        bool
	Tall         bool // a Textarea for more than a few lines
	Length       int
	Min          string // the first day that a date may be
	Fold         string // the title of the part of the form that it is folded away in, with the fields beside it that say the same
	Options      []Choice
	Problems     []string
}

// ID is what the label and the problems of a field refer to.
func (f Field) ID() string { return cmp.Or(f.As, f.Name) }

// describedBy are the ids of what stands below the field.
func (f Field) describedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if len(f.Problems) > 0 {
		ids = append(ids, f.ID()+"-problem")
	}
	return strings.Join(ids, " ")
}

// Choice is one answer of a select or of checkboxes.
type Choice struct {
	Value, Label, Hint string
	Chosen             bool
}

// Checked is the value of a checkbox.
func Checked(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// parts are the fields, those that are folded away together beside each other.
func (f *Form) parts() (all [][]Field) {
	for _, q := range f.Fields {
		if last := len(all) - 1; last >= 0 && all[last][0].Fold == q.Fold {
			all[last] = append(all[last], q)
		} else {
			all = append(all, []Field{q})
		}
	}
	return all
}

// faulty reports whether something is wrong with one of some fields.
func faulty(fields []Field) bool {
	return slices.ContainsFunc(fields, func(q Field) bool { return len(q.Problems) > 0 })
}

// Refused reports whether the form is shown again, with what is wrong with it.
func (f *Form) Refused() bool {
	return f.Problem != "" || faulty(f.Fields)
}

// InParts reports whether the form is sent as parts, for it may hold a file.
func (f *Form) InParts() bool {
	return slices.ContainsFunc(f.Fields, func(q Field) bool { return q.Type == File })
}

// NewForm is a form that sends its fields to a path of this instance.
func (x *Request) NewForm(action, submit string, fields ...Field) *Form {
	return &Form{Action: x.Link(action), Submit: submit, Fields: fields, Look: Primary, CSRF: x.CSRF}
}

// Button is a form without questions.
func (x *Request) Button(action, submit string, look Look, about string) *Form {
	f := x.NewForm(action, submit)
	f.Look, f.About = look, about
	return f
}

// With hides a value in the form.
func (f *Form) With(name, value string) *Form {
	f.Hidden = append(f.Hidden, Hidden{name, value})
	return f
}

// AskFirst makes a button ask whether somebody is sure, and say what follows.
func (f *Form) AskFirst(text string) *Form {
	f.Sure = text
	return f
}

// ElementID is the id of something that belongs to the form. It stays the same when the page is shown again.
func (f *Form) ElementID(kind string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(f.Action))
	for _, h := range f.Hidden {
		_, _ = hash.Write([]byte("\x00" + h.Name + "\x00" + h.Value))
	}
	return kind + "-" + strconv.FormatUint(hash.Sum64(), 36)
}

// Refuse fills in what was sent and what is wrong with it. It returns the error that the form cannot show.
func (x *Request) Refuse(f *Form, err error) error {
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
			q.Options[n].Chosen = slices.Contains(x.Form[q.Name], q.Options[n].Value)
		}
		if q.Type != Password && q.Type != File {
			q.Value = x.Form.Get(q.Name)
		}
	}
	f.focus()
	shownBy := func(name string) bool {
		return slices.ContainsFunc(f.Fields, func(q Field) bool { return q.Name == name || q.Also == name })
	}
	switch {
	case len(fields) == 0 && e.Text != "":
		f.Problem = e.Text
	case len(fields) == 0 && e.Reason != "":
		f.Problem = e.Reason
	case len(fields) == 0:
		f.Problem = FailureOf(e).Text
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

// focus has a browser go to the first answer that is wrong: a form may stand far below the top of its page.
func (f *Form) focus() {
	at := slices.IndexFunc(f.Fields, func(q Field) bool { return len(q.Problems) > 0 })
	if at < 0 {
		at = max(0, slices.IndexFunc(f.Fields, func(q Field) bool { return q.Focus }))
	}
	for i := range f.Fields {
		f.Fields[i].Focus = i == at
	}
}

// capital begins a text with a capital letter. Rooms say what is wrong with a field as it follows its name: here the
// name stands above.
func capital(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(r)) + text[size:]
}

// inWords is what is wrong as people say it. Names of fields are those of the API; what is wrong with the whole, which
// rooms call base, has none.
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
