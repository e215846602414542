package ciconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/platform/sorting"
)

const (
	maxBlock     = 1024 // characters within $[[ ]]
	maxFunctions = 3
	maxBlocks    = 10_000 // interpolations of one file
)

var block = regexp.MustCompile(`\$\[\[(.*?)\]\]`)

// interpolated gives a file's content with its inputs inserted. A file of two documents has a header with spec first; one
// without a header has no inputs, and what looks like an interpolation stays.
func (l *loader) interpolated(docs []*node, given *node, at pos) *node {
	if len(docs) == 0 || !docs[0].has("spec") || len(docs) == 1 {
		if given != nil && len(given.entries) > 0 {
			l.fail(at, "Given inputs not defined in the `spec` section of the included configuration file")
			return nil
		}
		if len(docs) == 1 && docs[0].has("spec") {
			l.fail(docs[0].at, "Invalid configuration format")
			return nil
		}
		return docs[0]
	}
	before := len(l.problems)
	values := l.inputs(docs[0], given, at)
	if len(l.problems) > before {
		return nil
	}
	in := interpolation{l: l, values: values}
	n := in.walk(docs[1])
	if len(l.problems) > before {
		return nil
	}
	if n.size > maxNodes || n.depth > MaxDepth {
		l.fail(at, tooBig)
		return nil
	}
	return n
}

// inputs checks what is given against what the header declares.
func (l *loader) inputs(header, given *node, at pos) map[string]*node {
	for _, e := range header.entries {
		if e.key != "spec" {
			l.fail(e.at, "header config contains unknown keys: %s", e.key)
		}
	}
	spec := header.get("spec")
	if !spec.is(hash, null) {
		l.fail(spec.at, "header:spec config should be a hash")
		return nil
	}
	for _, e := range spec.entries {
		if e.key != "inputs" && e.key != "description" && e.key != "component" {
			l.fail(e.at, "header:spec config contains unknown keys: %s", e.key)
		}
	}
	declared := spec.get("inputs")
	if declared != nil && !declared.is(hash, null) {
		l.fail(declared.at, "header:spec:inputs config should be a hash")
		return nil
	}
	if given != nil && !given.is(hash, null) {
		l.fail(given.at, "include inputs should be a hash")
		return nil
	}
	values := map[string]*node{}
	if declared != nil {
		for _, e := range declared.entries {
			if v := l.input(e, given.get(e.key), at); v != nil {
				values[e.key] = v
			}
		}
	}
	var unknown []string
	if given != nil {
		for _, e := range given.entries {
			if !declared.has(e.key) {
				unknown = append(unknown, e.key)
			}
		}
	}
	if unknown != nil {
		l.fail(given.at, "unknown input arguments: %s", strings.Join(unknown, ", "))
	}
	return values
}

func (l *loader) input(e entry, given *node, at pos) *node {
	spec := e.value
	path := "header:spec:inputs:" + e.key
	if !spec.is(hash, null) {
		l.fail(spec.at, "%s config should be a hash or null", path)
		return nil
	}
	for _, s := range spec.entries {
		if !slices.Contains([]string{"default", "type", "description", "options", "regex"}, s.key) {
			l.fail(s.at, "%s config contains unknown keys: %s", path, s.key)
			return nil
		}
	}
	kindName := "string"
	if t := spec.get("type"); t != nil {
		kindName = t.text
		if !slices.Contains([]string{"array", "boolean", "number", "string"}, kindName) {
			l.fail(t.at, "%s input type unknown value: %s", path, kindName)
			return nil
		}
	}
	v, what := given, "provided"
	if v != nil {
		at = v.at
		if v.is(text) && strings.ContainsAny(v.text, "$%") {
			v = newText(v.at, l.inserted(v.text))
		}
	} else if v = spec.get("default"); v != nil {
		what, at = "default", v.at
	}
	if v == nil {
		l.fail(at, "`%s` input: required value has not been provided", e.key)
		return nil
	}
	fits := map[string]bool{
		"string": v.is(text), "number": v.is(integer, float), "boolean": v.is(boolean), "array": v.is(list),
	}
	if !fits[kindName] {
		article := "a"
		if kindName == "array" {
			article = "an"
		}
		l.fail(at, "`%s` input: %s value is not %s %s", e.key, what, article, kindName)
		return nil
	}
	if options := spec.get("options"); options.is(list) && !slices.ContainsFunc(options.items, func(o *node) bool { return o.text == v.text }) {
		l.fail(at, "`%s` input: `%s` cannot be used because it is not in the list of allowed options", e.key, v.text)
		return nil
	}
	if re := spec.get("regex"); re.is(text) {
		pattern := strings.TrimSuffix(strings.TrimPrefix(re.text, "/"), "/")
		compiled, ok := compileRegexp("/" + strings.ReplaceAll(pattern, "/", `\/`) + "/")
		if !ok {
			l.fail(re.at, "`%s` input: invalid regular expression", e.key)
			return nil
		}
		if !compiled.MatchString(v.text) {
			l.fail(at, "`%s` input: %s value does not match required RegEx pattern", e.key, what)
			return nil
		}
	}
	return v
}

func (l *loader) masks(key string) bool {
	_, known := l.vars.Lookup(key)
	_, shown := l.shown.Lookup(key)
	return known && !shown
}

type interpolation struct {
	l      *loader
	values map[string]*node
	blocks int
	bytes  int
	failed bool
}

func (in *interpolation) walk(n *node) *node {
	if in.failed {
		return n
	}
	switch n.kind {
	case text:
		return in.insert(n)
	case list, reference:
		items := make([]*node, len(n.items))
		for i, item := range n.items {
			items[i] = in.walk(item)
		}
		return (&node{kind: n.kind, items: items, at: n.at}).sized()
	case hash:
		entries := make([]entry, 0, len(n.entries))
		for _, e := range n.entries {
			key := in.insert(newText(e.at, e.key))
			if key.is(list, hash, null) {
				in.fail(key, "an input in a key should be a string")
			}
			entries = append(entries, entry{key: key.text, value: in.walk(e.value), at: e.at})
		}
		return newHash(n.at, entries...)
	}
	return n
}

// insert replaces blocks in a text. A text that is one block takes the input's type.
func (in *interpolation) insert(n *node) *node {
	if !strings.Contains(n.text, "$[[") {
		return n
	}
	found := block.FindAllStringSubmatchIndex(n.text, -1)
	var b strings.Builder
	last := 0
	for _, m := range found {
		if in.blocks++; in.blocks > maxBlocks {
			return in.fail(n, "too many interpolation blocks")
		}
		v, failure := in.value(n.text[m[2]:m[3]])
		if failure != "" {
			return in.fail(n, "%s", failure)
		}
		if m[0] == 0 && m[1] == len(n.text) {
			whole := *v
			whole.at = n.at
			return &whole
		}
		s := v.text
		if v.is(list) {
			s = strings.TrimSpace(jsonText(v))
		}
		if in.bytes += len(s); in.bytes > maxExpanded {
			return in.fail(n, "interpolation result is too big")
		}
		b.WriteString(n.text[last:m[0]])
		b.WriteString(s)
		last = m[1]
	}
	b.WriteString(n.text[last:])
	return newText(n.at, b.String())
}

func (in *interpolation) fail(n *node, format string, args ...any) *node {
	in.failed = true
	in.l.fail(n.at, format, args...)
	return n
}

var truncation = regexp.MustCompile(`^truncate\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)$`)

func (in *interpolation) value(inner string) (*node, string) {
	if len(inner) > maxBlock {
		return nil, "interpolation block is too long"
	}
	parts := strings.Split(inner, "|")
	access := strings.TrimSpace(parts[0])
	name, ok := strings.CutPrefix(access, "inputs.")
	v := in.values[name]
	if !ok || v == nil {
		return nil, fmt.Sprintf("unknown interpolation key: `%s`", strings.TrimPrefix(access, "inputs."))
	}
	if len(parts)-1 > maxFunctions {
		return nil, "too many functions in interpolation block"
	}
	for _, f := range parts[1:] {
		f = strings.TrimSpace(f)
		m := truncation.FindStringSubmatch(f)
		switch {
		case f == "expand_vars" && v.is(text):
			if slices.ContainsFunc(names(v.text), in.l.masks) {
				return nil, "function evaluation error: variable expansion error: masked variables cannot be expanded"
			}
			v = newText(v.at, in.l.inserted(v.text))
		case m != nil && v.is(text):
			v = newText(v.at, truncate(v.text, m[1], m[2]))
		case f == "expand_vars" || m != nil:
			return nil, fmt.Sprintf("invalid input type: %s can only be used with string inputs", strings.Split(f, "(")[0])
		default:
			return nil, fmt.Sprintf("no function matching `%s`: check that the function name, arguments, and types are correct", f)
		}
	}
	return v, ""
}

func truncate(s, offset, length string) string {
	from, _ := strconv.Atoi(offset)
	n, _ := strconv.Atoi(length)
	r := []rune(s)
	from = min(from, len(r))
	return string(r[from:min(from+n, len(r))])
}

func jsonText(n *node) string {
	switch n.kind {
	case list:
		parts := make([]string, len(n.items))
		for i, item := range n.items {
			parts[i] = jsonText(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case text:
		return strconv.Quote(n.text)
	case null:
		return "null"
	}
	return n.text
}

// nodeOf makes a node from plain Go values, as JSON has them.
func nodeOf(v any) *node {
	n := &node{}
	switch v := v.(type) {
	case nil:
	case bool:
		n.kind, n.text = boolean, strconv.FormatBool(v)
	case int:
		n.kind, n.text = integer, strconv.Itoa(v)
	case int64:
		n.kind, n.text = integer, strconv.FormatInt(v, 10)
	case float64:
		if v == float64(int64(v)) {
			n.kind, n.text = integer, strconv.FormatInt(int64(v), 10)
		} else {
			n.kind, n.text = float, formatFloat(v)
		}
	case string:
		n.kind, n.text = text, v
	case []any:
		n.kind = list
		for _, item := range v {
			n.items = append(n.items, nodeOf(item))
		}
	case []string:
		n.kind = list
		for _, item := range v {
			n.items = append(n.items, newText(pos{}, item))
		}
	case map[string]any:
		n.kind = hash
		for key, item := range v {
			n.entries = append(n.entries, entry{key: key, value: nodeOf(item)})
		}
		sorting.By(n.entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	default:
		n.kind, n.text = text, fmt.Sprint(v)
	}
	return n.sized()
}
