package httpapi

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/sorting"
)

// Opt tells absent, null and given apart.
type Opt[T any] struct {
	Given bool // the name was there
	Null  bool // with null, or with an empty value where T is not text
	Value T
}

// Or is the value, or a default when there is none.
func (o Opt[T]) Or(fallback T) T {
	if !o.Given || o.Null {
		return fallback
	}
	return o.Value
}

// Ptr is the value, or nil when there is none.
func (o Opt[T]) Ptr() *T {
	if !o.Given || o.Null {
		return nil
	}
	return &o.Value
}

// Validator is implemented by params with rules over several of them. The
// texts join those of the single parameters.
type Validator interface{ Validate() []string }

// Param is one parameter of an endpoint, as documents show it.
type Param struct {
	Name     string
	Doc      string
	Type     reflect.Type
	Required bool
	Enum     []string
	Default  string
	Format   string // "date" where only the day counts
	InPath   bool
	Children []Param // of a list of hashes
}

// binder fills the params of an endpoint from a request.
type binder interface {
	params() []Param
	bindPath(dst reflect.Value, path map[string]string) error
	bind(dst reflect.Value, from values) error
}

// binderOf is the own binder of a type of params, if it has one, or the plan of its tags.
func binderOf(params reflect.Type, path []string) binder {
	if own, ok := reflect.Zero(params).Interface().(interface{ binder() binder }); ok {
		return own.binder()
	}
	return compile(params, path)
}

// plan is how a params struct is filled; it is made once, when an endpoint is
// declared, so that a request pays for its own parameters only.
type plan struct {
	fields    []field
	validates bool
}

type field struct {
	Param
	index  []int
	blank  bool // an empty value is refused
	decode decoder
}

// decoder sets dst from a node of the tree. It reports false for a value that
// cannot be read as dst's type.
type decoder func(dst reflect.Value, node any) bool

// compile reads the tags of a params struct:
//
//	param:"name"     its name on the wire
//	doc:"…"          one line for readers
//	required:"true"  absent is an error
//	blank:"refuse"   so is an empty value
//	enum:"a,b"       the values that are taken
//	default:"20"     what an absent value means
//	format:"date"    a day, not an instant
//	split:"comma"    a list may come as one string
//	bytes:"1048576"  most bytes of a text, where it may be longer than most are
func compile(t reflect.Type, path []string) plan {
	p := plan{validates: t.Implements(reflect.TypeFor[Validator]())}
	for _, f := range reflect.VisibleFields(t) {
		if _, joined := f.Tag.Lookup("joined"); joined {
			for _, inner := range compile(f.Type, path).fields {
				inner.index = slices.Concat(f.Index, inner.index)
				p.fields = append(p.fields, inner)
			}
			continue
		}
		name, tagged := f.Tag.Lookup("param")
		if !tagged {
			continue
		}
		fd := field{index: f.Index, blank: f.Tag.Get("blank") == "refuse", Param: Param{
			Name: name, Doc: f.Tag.Get("doc"), Type: f.Type, Required: f.Tag.Get("required") == "true",
			Default: f.Tag.Get("default"), Format: f.Tag.Get("format"), InPath: slices.Contains(path, name),
		}}
		if enum := f.Tag.Get("enum"); enum != "" {
			fd.Enum = strings.Split(enum, ",")
		}
		fd.decode = decoderOf(f.Type, f.Tag)
		if item, ok := itemOf(f.Type); ok {
			for _, child := range compile(item, nil).fields {
				fd.Children = append(fd.Children, child.Param)
			}
		}
		p.fields = append(p.fields, fd)
	}
	return p
}

// joined are two structs of params as one: Go does not embed what a type parameter stands for.
type joined[Ref, Rest any] struct {
	Ref  Ref  `joined:"true"`
	Rest Rest `joined:"true"`
}

// The fields of joined.
const (
	joinedRef = iota
	joinedRest
)

// reach tells a list how deep it goes.
func (j *joined[Ref, Rest]) reach(maxOffset int) {
	if list, ok := any(&j.Rest).(interface{ reach(int) }); ok {
		list.reach(maxOffset)
	}
}

// Validate asks both.
func (j joined[Ref, Rest]) Validate() (texts []string) {
	for _, part := range []any{j.Ref, j.Rest} {
		if v, validates := part.(Validator); validates {
			texts = append(texts, v.Validate()...)
		}
	}
	return texts
}

// itemOf is the hash that a list of hashes holds.
func itemOf(t reflect.Type) (reflect.Type, bool) {
	if inner, ok := optional(t); ok {
		t = inner
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem() != reflect.TypeFor[time.Time]() {
		return t.Elem(), true
	}
	return nil, false
}

// optional is the T of an Opt[T].
func optional(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[Opt[int]]().PkgPath() && strings.HasPrefix(t.Name(), "Opt[") {
		f, _ := t.FieldByName("Value")
		return f.Type, true
	}
	return nil, false
}

func (p plan) params() []Param {
	all := make([]Param, len(p.fields))
	for i, f := range p.fields {
		all[i] = f.Param
	}
	return all
}

// bindPath fills the fields that stand in the path.
func (p plan) bindPath(dst reflect.Value, path map[string]string) error {
	for _, f := range p.fields {
		if !f.InPath {
			continue
		}
		if !f.decode(dst.FieldByIndex(f.index), path[f.Name]) {
			return fault.WithMessage(fault.BadParams, "%s is invalid", f.Name)
		}
	}
	return nil
}

// bind fills the rest and lists everything that is wrong, in the order of
// declaration.
func (p plan) bind(dst reflect.Value, from values) error {
	var texts []string
	for i := range p.fields {
		if f := &p.fields[i]; !f.InPath {
			texts = append(texts, f.bind(dst.FieldByIndex(f.index), from)...)
		}
	}
	if p.validates {
		texts = append(texts, dst.Interface().(Validator).Validate()...)
	}
	if len(texts) > 0 {
		return fault.WithMessage(fault.BadParams, "%s", strings.Join(texts, ", "))
	}
	return nil
}

func (f *field) bind(dst reflect.Value, from values) []string {
	node, given := from[f.Name]
	if !given {
		if f.Required {
			texts := []string{f.Name + " is missing"}
			if f.blank {
				texts = append(texts, f.Name+" is empty")
			}
			return texts
		}
		if f.Default != "" {
			f.decode(dst, f.Default)
		}
		return nil
	}
	if f.blank && isBlank(node) {
		return []string{f.Name + " is empty"}
	}
	if f.Default != "" && (node == nil || (node == "" && f.Type.Kind() != reflect.String)) {
		node = f.Default
	}
	if text, nested := nestedMissing(f.Name, f.Children, node); nested {
		return text
	}
	if !f.decode(dst, node) {
		return []string{f.Name + " is invalid"}
	}
	if (node != nil || f.Required) && !f.inEnum(dst) {
		return []string{f.Name + " does not have a valid value"}
	}
	return nil
}

// nestedMissing names the absent members of a list of hashes.
func nestedMissing(name string, children []Param, node any) (texts []string, found bool) {
	list, _ := node.([]any)
	for _, c := range children {
		for _, item := range list {
			hash, isHash := item.(map[string]any)
			if _, given := hash[c.Name]; isHash && c.Required && !given {
				texts = append(texts, fmt.Sprintf("%s[%s] is missing", name, c.Name))
				break
			}
		}
	}
	return texts, len(texts) > 0
}

func isBlank(node any) bool {
	switch n := node.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(n) == ""
	case []any:
		return len(n) == 0
	}
	return false
}

func (f *field) inEnum(dst reflect.Value) bool {
	if f.Enum == nil {
		return true
	}
	if _, ok := optional(dst.Type()); ok {
		if dst.FieldByName("Null").Bool() || !dst.FieldByName("Given").Bool() {
			return true
		}
		dst = dst.FieldByName("Value")
	}
	if dst.Kind() == reflect.Slice {
		for i := range dst.Len() {
			if !slices.Contains(f.Enum, fmt.Sprint(dst.Index(i))) {
				return false
			}
		}
		return true
	}
	return slices.Contains(f.Enum, fmt.Sprint(dst.Interface()))
}

// decoderOf chooses how a Go type is read from the tree.
func decoderOf(t reflect.Type, tag reflect.StructTag) decoder {
	if inner, ok := optional(t); ok {
		return optionalDecoder(decoderOf(inner, tag), inner.Kind() == reflect.String)
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return timeDecoder(tag.Get("format") == "date")
	case reflect.TypeFor[*File]():
		return decodeFile
	}
	switch t.Kind() {
	case reflect.String:
		return stringDecoder(tag)
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int64:
		return decodeInt
	case reflect.Float64:
		return decodeFloat
	case reflect.Interface:
		return decodeAny
	case reflect.Map:
		return mapDecoder(decoderOf(t.Elem(), ""))
	case reflect.Slice:
		return listDecoder(decoderOf(t.Elem(), ""), tag.Get("split") == "comma")
	case reflect.Struct:
		return hashDecoder(compile(t, nil))
	}
	panic("httpapi: no decoder for " + t.String())
}

func optionalDecoder(inner decoder, text bool) decoder {
	return func(dst reflect.Value, node any) bool {
		dst.FieldByName("Given").SetBool(true)
		if node == nil || (!text && node == "") {
			dst.FieldByName("Null").SetBool(true)
			return true
		}
		return inner(dst.FieldByName("Value"), node)
	}
}

// scalar is the text of a node that is neither list nor hash.
func scalar(node any) (string, bool) {
	switch n := node.(type) {
	case nil:
		return "", true
	case string:
		return n, true
	case json.Number:
		return n.String(), true
	case bool:
		return strconv.FormatBool(n), true
	case *File: // a part with a file name where text is expected
		return string(n.Data), n.Size == int64(len(n.Data)) && cleanText(string(n.Data))
	}
	return "", false
}

// maxText is how many bytes of a text are taken where its declaration says nothing else. What is longer than people
// write is read by nobody: what reads it may take its time over each character.
const maxText = 64 << 10

func stringDecoder(tag reflect.StructTag) decoder {
	most := maxText
	if declared := tag.Get("bytes"); declared != "" {
		n, err := strconv.Atoi(declared)
		if err != nil {
			panic("httpapi: not a number of bytes: " + declared)
		}
		most = n
	}
	return func(dst reflect.Value, node any) bool {
		s, ok := scalar(node)
		if len(s) > most {
			return false
		}
		dst.SetString(s)
		return ok
	}
}

func decodeBool(dst reflect.Value, node any) bool {
	s, ok := scalar(node)
	switch strings.ToLower(s) {
	case "true", "t", "1", "yes", "y", "on":
		dst.SetBool(true)
	case "false", "f", "0", "no", "n", "off", "":
		dst.SetBool(false)
	default:
		return false
	}
	return ok
}

func decodeInt(dst reflect.Value, node any) bool {
	s, ok := scalar(node)
	if s == "" {
		return ok
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || dst.OverflowInt(n) {
		return false
	}
	dst.SetInt(n)
	return ok
}

func decodeFloat(dst reflect.Value, node any) bool {
	s, ok := scalar(node)
	if s == "" {
		return ok
	}
	n, err := strconv.ParseFloat(s, 64)
	dst.SetFloat(n)
	return ok && err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

func decodeAny(dst reflect.Value, node any) bool {
	if several, ok := node.(repeated); ok {
		node = []any(several)
	}
	if node != nil {
		dst.Set(reflect.ValueOf(node))
	}
	return true
}

func decodeFile(dst reflect.Value, node any) bool {
	f, ok := node.(*File)
	if ok {
		dst.Set(reflect.ValueOf(f))
	}
	return ok || node == nil || node == ""
}

func mapDecoder(inner decoder) decoder {
	return func(dst reflect.Value, node any) bool {
		hash, ok := node.(map[string]any)
		if !ok {
			return node == nil || node == ""
		}
		dst.Set(reflect.MakeMapWithSize(dst.Type(), len(hash)))
		for key, item := range hash {
			value := reflect.New(dst.Type().Elem()).Elem()
			if !inner(value, item) {
				return false
			}
			dst.SetMapIndex(reflect.ValueOf(key), value)
		}
		return true
	}
}

func listDecoder(inner decoder, comma bool) decoder {
	return func(dst reflect.Value, node any) bool {
		var items []any
		switch n := node.(type) {
		case nil:
		case []any:
			items = n
		case repeated:
			items = n
		case string:
			if comma {
				for part := range strings.SplitSeq(n, ",") {
					if part = strings.TrimSpace(part); part != "" {
						items = append(items, part)
					}
				}
			} else if n != "" {
				items = []any{n}
			}
		case map[string]any: // variables[0][key]=…: keys are positions
			for _, key := range sortedPositions(n) {
				items = append(items, n[key])
			}
			if len(items) != len(n) {
				return false
			}
		default:
			items = []any{n}
		}
		dst.Set(reflect.MakeSlice(dst.Type(), len(items), len(items)))
		for i, item := range items {
			if !inner(dst.Index(i), item) {
				return false
			}
		}
		return true
	}
}

func sortedPositions(hash map[string]any) []string {
	var keys []string
	for key := range hash {
		if n, err := strconv.Atoi(key); err == nil && n >= 0 {
			keys = append(keys, key)
		}
	}
	sorting.By(keys, func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	return keys
}

func hashDecoder(p plan) decoder {
	return func(dst reflect.Value, node any) bool {
		hash, ok := node.(map[string]any)
		if !ok {
			return false
		}
		return p.bind(dst, hash) == nil
	}
}

// Layouts in the order of how often clients send them.
var timeLayouts = []string{
	time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05.999999999-0700",
	"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05", "2006/01/02", "20060102",
}

// timeDecoder reads a moment; a zero time stands for an empty value.
func timeDecoder(day bool) decoder {
	return func(dst reflect.Value, node any) bool {
		s, ok := scalar(node)
		if s == "" || len(s) > 64 {
			return ok && s == ""
		}
		for _, layout := range timeLayouts {
			t, err := time.Parse(layout, s)
			t = t.UTC()
			if err != nil || t.Year() < 1 || t.Year() > 9999 {
				continue
			}
			if day {
				t = t.Truncate(24 * time.Hour)
			}
			dst.Set(reflect.ValueOf(t))
			return ok
		}
		return false
	}
}
