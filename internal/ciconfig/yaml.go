package ciconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds one file once its aliases are unfolded, and the configuration once includes, references and extends are.
const maxNodes = 200_000

type kind uint8

const (
	null kind = iota
	boolean
	integer
	float
	text
	list
	hash
	reference // of !reference, until it is resolved
)

// node is a part of a configuration. Nodes are shared between trees and never changed once made.
type node struct {
	kind    kind
	text    string  // of a scalar, in one normal form
	items   []*node // of a list, or the path of a reference
	entries []entry // of a hash, in the order of the file
	at      pos
	size    int // nodes in it, shared ones counted each time; see sized
	depth   int
}

type entry struct {
	key   string
	value *node
	at    pos
}

type pos struct {
	file         string
	line, column int
}

func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return n.entries[i].value
		}
	}
	return nil
}

func (n *node) has(key string) bool { return n.get(key) != nil }

func (n *node) is(kinds ...kind) bool {
	if n == nil {
		return false
	}
	for _, k := range kinds {
		if n.kind == k {
			return true
		}
	}
	return false
}

// scalar reports whether the node is text or a number, which the language takes for one another.
func (n *node) scalar() bool { return n.is(text, integer, float) }

// sized counts what the node holds, long texts as several. It is called once, when the node is made.
func (n *node) sized() *node {
	n.size, n.depth = 1+len(n.text)/64, 1
	below := func(c *node) {
		n.size = min(n.size+c.size, maxNodes*2)
		n.depth = max(n.depth, c.depth+1)
	}
	for _, c := range n.items {
		below(c)
	}
	for i := range n.entries {
		below(n.entries[i].value)
		n.size += len(n.entries[i].key) / 64
	}
	return n
}

func newHash(at pos, entries ...entry) *node {
	return (&node{kind: hash, entries: entries, at: at}).sized()
}

func newList(at pos, items ...*node) *node { return (&node{kind: list, items: items, at: at}).sized() }

func newText(at pos, s string) *node { return (&node{kind: text, text: s, at: at}).sized() }

// merge lays over on top of under: hashes deeply, all else whole.
func merge(under, over *node) *node {
	if !under.is(hash) || !over.is(hash) {
		return over
	}
	if len(under.entries) == 0 {
		return over
	}
	at := make(map[string]int, len(under.entries)+len(over.entries))
	entries := make([]entry, 0, len(under.entries)+len(over.entries))
	for _, e := range under.entries {
		at[e.key] = len(entries)
		entries = append(entries, e)
	}
	for _, e := range over.entries {
		if i, ok := at[e.key]; ok {
			entries[i] = entry{key: e.key, value: merge(entries[i].value, e.value), at: e.at}
			continue
		}
		at[e.key] = len(entries)
		entries = append(entries, e)
	}
	return newHash(over.at, entries...)
}

// with replaces or adds one entry.
func (n *node) with(key string, value *node) *node {
	return merge(n, newHash(n.at, entry{key: key, value: value, at: value.at}))
}

func (n *node) without(key string) *node {
	var entries []entry
	for _, e := range n.entries {
		if e.key != key {
			entries = append(entries, e)
		}
	}
	return newHash(n.at, entries...)
}

// written leaves out keys without a value, which count as not written, but for those to keep.
func (n *node) written(keep ...string) *node {
	if !slices.ContainsFunc(n.entries, func(e entry) bool { return e.value.is(null) }) {
		return n
	}
	var entries []entry
	for _, e := range n.entries {
		if !e.value.is(null) || slices.Contains(keep, e.key) {
			entries = append(entries, e)
		}
	}
	return newHash(n.at, entries...)
}

const tooBig = "The parsed YAML is too big"

// syntaxError is a fault of a YAML text, in the words of the reference's parser.
type syntaxError struct {
	message      string
	line, column int
}

func (e *syntaxError) Error() string { return e.message }

var errTooBig error = &syntaxError{message: tooBig}

// parseYAML reads the documents of a file; an empty one gives none.
func parseYAML(file string, body []byte) ([]*node, error) {
	if len(body) > MaxFile || crowded(body) {
		return nil, errTooBig
	}
	dec := yaml.NewDecoder(bytes.NewReader(body))
	var docs []*node
	for len(docs) < 3 {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, explain(err, body)
		}
		c := converter{file: file, done: map[*yaml.Node]*node{}}
		n, err := c.convert(&doc, 0)
		if err != nil {
			return nil, err
		}
		if n.size > maxNodes || n.depth > MaxDepth {
			return nil, errTooBig
		}
		docs = append(docs, n)
	}
	return nil, &syntaxError{message: "(<unknown>): expected a single document in the stream", line: 1, column: 1}
}

// crowded reports more brackets, keys and items, or a deeper nesting of brackets, than a configuration of maxNodes can have,
// before a parser spends memory on them. Marks in scripts count too.
func crowded(body []byte) bool {
	const deepest = 5000
	depth, marks := 0, 0
	for i, b := range body {
		switch b {
		case '[', '{':
			depth++
			marks++
		case ']', '}':
			depth = max(depth-1, 0)
		case ',', ':', '\n', '?':
			marks++
		case '-':
			if i+1 < len(body) && body[i+1] <= ' ' {
				marks++
			}
		}
		if depth > deepest || marks > maxNodes {
			return true
		}
	}
	return false
}

type converter struct {
	file string
	done map[*yaml.Node]*node // anchors; nil while one is being read
}

func (c *converter) convert(y *yaml.Node, depth int) (*node, error) {
	at := pos{file: c.file, line: y.Line, column: y.Column}
	if depth > MaxDepth {
		return nil, errTooBig
	}
	if y.Kind == yaml.AliasNode {
		n, ok := c.done[y.Alias]
		if !ok || n == nil {
			return nil, &syntaxError{message: fmt.Sprintf("(<unknown>): alias %s stands for a part that holds it at line %d column %d", y.Value, y.Line, y.Column), line: y.Line, column: y.Column}
		}
		return n, nil
	}
	if y.Anchor != "" {
		c.done[y] = nil
	}
	n := &node{at: at}
	switch y.Kind {
	case yaml.DocumentNode:
		return c.convert(y.Content[0], depth)
	case yaml.SequenceNode:
		n.kind = list
		switch y.Tag {
		case "!reference":
			n.kind = reference
		case "!!seq":
		default:
			return nil, badTag(y)
		}
		for _, child := range y.Content {
			item, err := c.convert(child, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	case yaml.MappingNode:
		n.kind = hash
		if y.Tag != "!!map" {
			return nil, badTag(y)
		}
		if err := c.entries(n, y, depth); err != nil {
			return nil, err
		}
	default:
		if err := scalarOf(n, y); err != nil {
			return nil, err
		}
	}
	n.sized()
	if n.size > maxNodes {
		return nil, errTooBig
	}
	if y.Anchor != "" {
		c.done[y] = n
	}
	return n, nil
}

// entries reads a mapping. Of a key that is written twice the last counts; what << brings lies below what is written.
func (c *converter) entries(n *node, y *yaml.Node, depth int) error {
	at := make(map[string]int, len(y.Content)/2)
	put := func(e entry, brought bool) {
		if i, ok := at[e.key]; ok {
			if !brought {
				n.entries[i] = e
			}
			return
		}
		at[e.key] = len(n.entries)
		n.entries = append(n.entries, e)
	}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, err := c.convert(y.Content[i], depth+1)
		if err != nil {
			return err
		}
		v, err := c.convert(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if k.is(list, hash, reference) {
			return &syntaxError{message: fmt.Sprintf("(<unknown>): a key must be a scalar at line %d column %d", k.at.line, k.at.column), line: k.at.line, column: k.at.column}
		}
		if y.Content[i].Tag == "!!merge" {
			brought := []*node{v}
			if v.kind == list {
				brought = v.items
			}
			for _, b := range brought {
				for _, e := range b.entries {
					put(e, true)
				}
				if !b.is(hash) {
					put(entry{key: "<<", value: v, at: k.at}, false)
				}
			}
			continue
		}
		put(entry{key: k.text, value: v, at: k.at}, false)
	}
	return nil
}

func badTag(y *yaml.Node) error {
	return &syntaxError{
		message: fmt.Sprintf("(<unknown>): unknown tag %s at line %d column %d", y.Tag, y.Line, y.Column), line: y.Line, column: y.Column,
	}
}

// scalarOf gives a scalar the type that YAML 1.1 gives it, which existing files count on: yes is true, 0o and 0 are octal.
func scalarOf(n *node, y *yaml.Node) error {
	n.kind, n.text = text, y.Value
	switch y.Tag {
	case "!!null":
		n.kind, n.text = null, ""
	case "!!bool":
		n.kind, n.text = boolean, strings.ToLower(y.Value)
	case "!!int":
		var i int64
		if y.Decode(&i) == nil {
			n.kind, n.text = integer, strconv.FormatInt(i, 10)
		}
	case "!!float":
		var f float64
		if y.Decode(&f) == nil {
			n.kind, n.text = float, formatFloat(f)
		}
	case "!!str":
		if y.Style == 0 {
			switch strings.ToLower(y.Value) {
			case "yes", "on":
				n.kind, n.text = boolean, "true"
			case "no", "off":
				n.kind, n.text = boolean, "false"
			}
		}
	case "!!timestamp", "!!merge", "!!binary":
	default:
		return badTag(y)
	}
	return nil
}

func formatFloat(f float64) string {
	format := byte('f')
	if f >= 1e16 || f <= -1e16 {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

var yamlFailure = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// contexts completes what the parser says by what it was doing, which the reference's parser says too.
var contexts = map[string]string{
	"did not find expected key":                                    "while parsing a block mapping",
	"did not find expected '-' indicator":                          "while parsing a block collection",
	"did not find expected ',' or ']'":                             "while parsing a flow sequence",
	"did not find expected ',' or '}'":                             "while parsing a flow mapping",
	"found character that cannot start any token":                  "while scanning for the next token",
	"found unexpected end of stream":                               "while scanning a quoted scalar",
	"could not find expected ':'":                                  "while scanning a simple key",
	"did not find expected node content":                           "while parsing a flow node",
	"found a tab character that violates indentation":              "while scanning a plain scalar",
	"did not find expected alphabetic or numeric character":        "while scanning an anchor",
	"found undefined tag handle":                                   "while parsing a node",
	"found unknown escape character":                               "while parsing a quoted scalar",
	"found unexpected document indicator":                          "while scanning a quoted scalar",
	"did not find expected comment or line break":                  "while scanning a block scalar",
	"found a tab character where an indentation space is expected": "while scanning a block scalar",
}

func explain(err error, body []byte) error {
	m := yamlFailure.FindStringSubmatch(err.Error())
	if m == nil {
		return &syntaxError{message: "(<unknown>): " + err.Error(), line: 1, column: 1}
	}
	if strings.HasPrefix(m[2], "exceeded max depth") || strings.Contains(m[2], "excessive aliasing") {
		return errTooBig
	}
	line, column := faultAt(m[1], m[2], body)
	said := m[2]
	if context, ok := contexts[said]; ok {
		said += " " + context
	}
	return &syntaxError{message: fmt.Sprintf("(<unknown>): %s at line %d column %d", said, line, column), line: line, column: column}
}

// faultAt finds the place that a message of the parser means. It counts lines from zero where it parses and from one where it
// scans, and gives no columns.
func faultAt(counted, said string, body []byte) (line, column int) {
	if name, ok := strings.CutPrefix(said, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if i := bytes.Index(body, []byte("*"+name)); i >= 0 {
			start := bytes.LastIndexByte(body[:i], '\n') + 1
			return bytes.Count(body[:i], []byte("\n")) + 1, i - start + 1
		}
	}
	line, _ = strconv.Atoi(counted)
	if strings.HasPrefix(said, "did not find expected") {
		line++
	}
	line = max(line, 1)
	lines := bytes.SplitN(body, []byte("\n"), line+1)
	if len(lines) < line {
		return line, 1
	}
	text := lines[line-1]
	column = len(text) - len(bytes.TrimLeft(text, " ")) + 1
	switch {
	case strings.HasPrefix(said, "mapping values"):
		if i := bytes.LastIndex(text, []byte(": ")); i >= 0 {
			column = i + 1
		}
	case strings.HasPrefix(said, "found unexpected end of stream"):
		if i := bytes.IndexAny(text, "\"'"); i >= 0 {
			column = i + 1
		}
	}
	return line, column
}

// render writes a tree as YAML.
func render(n *node) []byte {
	var buf bytes.Buffer
	buf.WriteString("---\n")
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(toYAML(n)); err != nil {
		return nil // memory does not fail, and every tree has a form
	}
	_ = enc.Close()
	return buf.Bytes()
}

func toYAML(n *node) *yaml.Node {
	y := &yaml.Node{}
	switch n.kind {
	case list, reference:
		y.Kind, y.Tag = yaml.SequenceNode, "!!seq"
		if n.kind == reference {
			y.Tag, y.Style = "!reference", yaml.TaggedStyle|yaml.FlowStyle
		}
		for _, item := range n.items {
			y.Content = append(y.Content, toYAML(item))
		}
	case hash:
		y.Kind, y.Tag = yaml.MappingNode, "!!map"
		for _, e := range n.entries {
			y.Content = append(y.Content, textYAML(e.key), toYAML(e.value))
		}
	case null:
		y.Kind, y.Tag, y.Value = yaml.ScalarNode, "!!null", "null"
	case boolean:
		y.Kind, y.Tag, y.Value = yaml.ScalarNode, "!!bool", n.text
	case integer:
		y.Kind, y.Tag, y.Value = yaml.ScalarNode, "!!int", n.text
	case float:
		y.Kind, y.Tag, y.Value = yaml.ScalarNode, "!!float", n.text
	default:
		return textYAML(n.text)
	}
	return y
}

// textYAML quotes what would read as something else.
func textYAML(s string) *yaml.Node {
	y := &yaml.Node{}
	y.SetString(s)
	switch strings.ToLower(s) {
	case "yes", "no", "on", "off", "<<":
		y.Style = yaml.DoubleQuotedStyle
	}
	return y
}

// value gives plain Go values, for what is passed on as JSON.
func (n *node) value() any {
	switch {
	case n == nil || n.kind == null:
		return nil
	case n.kind == boolean:
		return n.text == "true"
	case n.kind == integer:
		i, _ := strconv.ParseInt(n.text, 10, 64)
		return i
	case n.kind == float:
		f, _ := strconv.ParseFloat(n.text, 64)
		return f
	case n.kind == list || n.kind == reference:
		all := make([]any, 0, len(n.items))
		for _, item := range n.items {
			all = append(all, item.value())
		}
		return all
	case n.kind == hash:
		all := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			all[e.key] = e.value.value()
		}
		return all
	}
	return n.text
}
