package httpapi

import (
	"reflect"
	"slices"
	"strings"

	"stithy/internal/kit/fault"
)

// Changes are the members of a T that a request gave. They are the params of
// an endpoint that may change any of so many members that a params struct
// beside T would only be its shadow. At least one must be given.
type Changes[T any] struct {
	given  []int // indexes of fields
	values T
}

// Apply sets the members that were given.
func (c Changes[T]) Apply(to *T) {
	dst, src := reflect.ValueOf(to).Elem(), reflect.ValueOf(&c.values).Elem()
	for _, i := range c.given {
		dst.Field(i).Set(src.Field(i))
	}
}

// binder reads the tags of T:
//
//	json:"name"      its name on the wire
//	doc:"…"          one line for readers
//	enum:"a,b"       for readers; T's own rules refuse other values
//	split:"comma"    a list may come as one string
//	needs:"a,b"      what must be given as well when it is switched on
//
// A field that is a pointer takes null.
func (c Changes[T]) binder() binder { return members[T](membersOf(reflect.TypeFor[T]())) }

// members binds the fields of a T that a request gives.
type members[T any] []member

type member struct {
	Param
	index  int
	needs  []string
	decode decoder
}

func membersOf(t reflect.Type) (all []member) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		m := member{index: i, Param: Param{Name: name, Doc: f.Tag.Get("doc"), Type: f.Type}}
		if needs := f.Tag.Get("needs"); needs != "" {
			m.needs = strings.Split(needs, ",")
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			m.Enum = strings.Split(enum, ",")
		}
		if f.Type.Kind() == reflect.Pointer {
			m.Type = f.Type.Elem()
			m.decode = nullable(decoderOf(m.Type, f.Tag))
		} else {
			m.decode = present(decoderOf(f.Type, f.Tag))
		}
		all = append(all, m)
	}
	return all
}

// nullable points to what inner reads, and to nothing for an empty value.
func nullable(inner decoder) decoder {
	return func(dst reflect.Value, node any) bool {
		if node == nil || node == "" {
			dst.SetZero()
			return true
		}
		dst.Set(reflect.New(dst.Type().Elem()))
		return inner(dst.Elem(), node)
	}
}

// present refuses an empty value where only text and lists have one.
func present(inner decoder) decoder {
	return func(dst reflect.Value, node any) bool {
		if node == nil || node == "" {
			if kind := dst.Kind(); kind != reflect.String && kind != reflect.Slice {
				return false
			}
		}
		return inner(dst, node)
	}
}

func (ms members[T]) params() []Param {
	all := make([]Param, len(ms))
	for i, m := range ms {
		all[i] = m.Param
	}
	return all
}

// bindPath has nothing to do: such an endpoint has no parameters in its path.
func (ms members[T]) bindPath(reflect.Value, map[string]string) error { return nil }

func (ms members[T]) bind(dst reflect.Value, from values) error {
	changes := dst.Addr().Interface().(*Changes[T])
	fields := reflect.ValueOf(&changes.values).Elem()
	var texts []string
	for _, m := range ms {
		node, given := from[m.Name]
		if !given {
			continue
		}
		changes.given = append(changes.given, m.index)
		if !m.decode(fields.Field(m.index), node) {
			texts = append(texts, m.Name+" is invalid")
		}
		for _, companion := range m.needs {
			text := companion + " is missing"
			if _, given := from[companion]; !given && fields.Field(m.index).Bool() && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	if changes.given == nil {
		var names []string
		for _, m := range ms {
			names = append(names, m.Name)
		}
		return fault.WithMessage(fault.BadParams, "%s are missing, at least one parameter must be provided", strings.Join(names, ", "))
	}
	if texts != nil {
		return fault.WithMessage(fault.BadParams, "%s", strings.Join(texts, ", "))
	}
	return nil
}
