package changelog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The language of templates prints values, chooses and repeats. It has no
// names of its own and no way to call anything: a loop walks the data that it
// was given, one level deeper each time, so that a template ends. How long it
// may take to do so is bounded as well.
const (
	maxLoops  = 4
	maxBlocks = 100       // deep
	maxSteps  = 2_000_000 // nodes that are evaluated
	maxOutput = 4 << 20   // bytes
)

const defaultTemplate = `{% if categories %}
{% each categories %}
### {{ title }} ({% if single_change %}1 change{% else %}{{ count }} changes{% end %})

{% each entries %}
- [{{ title }}]({{ commit.reference }})\
{% if author.credit %} by {{ author.reference }}{% end %}
{% if merge_request %} ([merge request]({{ merge_request.reference }})){% end %}

{% end %}

{% end %}
{% else %}
No changes.
{% end %}
`

// template is a parsed template.
type template struct{ nodes []node }

// node is a piece of a template: text, or something about a selector.
type node struct {
	kind     kind
	text     string
	selector []string
	body     []node
	orElse   []node
}

type kind uint8

const (
	textNode kind = iota
	printNode
	ifNode
	eachNode
)

// parser reads a template from left to right.
type parser struct {
	source string
	at     int
	depth  int
}

func parseTemplate(source string) (*template, error) {
	if len(source) > maxTemplate {
		return nil, unparsed("it is too long")
	}
	p := &parser{source: strings.ReplaceAll(source, "\r\n", "\n")}
	nodes, end, err := p.nodes()
	if err != nil {
		return nil, err
	}
	if end != "" {
		return nil, unparsed("there is nothing that {% " + end + " %} belongs to")
	}
	return &template{nodes}, nil
}

func unparsed(detail string) error { return failed("Failed to parse the template: %s", detail) }

// nodes reads up to the end, or to the tag that ends a block, which it names.
func (p *parser) nodes() (nodes []node, end string, err error) {
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			nodes = append(nodes, node{kind: textNode, text: text.String()})
			text.Reset()
		}
	}
	for p.at < len(p.source) {
		rest := p.source[p.at:]
		switch {
		case strings.HasPrefix(rest, "{{"):
			flush()
			inside, err := p.tag("}}")
			if err != nil {
				return nil, "", err
			}
			selector, err := selectorOf(inside)
			if err != nil {
				return nil, "", err
			}
			nodes = append(nodes, node{kind: printNode, selector: selector})
		case strings.HasPrefix(rest, "{%"):
			flush()
			n, end, err := p.block()
			if err != nil || end != "" {
				return nodes, end, err
			}
			nodes = append(nodes, n)
		case rest[0] == '\\' && len(rest) > 1:
			if rest[1] != '\n' {
				text.WriteByte(rest[1])
			}
			p.at += 2
		default:
			text.WriteByte(rest[0])
			p.at++
		}
	}
	flush()
	return nodes, "", nil
}

// tag reads what stands between the braces.
func (p *parser) tag(closing string) (string, error) {
	inside, _, closed := strings.Cut(p.source[p.at+2:], closing)
	if !closed {
		return "", unparsed("a tag is not closed with " + closing)
	}
	p.at += len(inside) + 4
	if closing == "%}" && p.at < len(p.source) && p.source[p.at] == '\n' {
		p.at++
	}
	return strings.TrimSpace(inside), nil
}

// block reads a tag and all that belongs to it.
func (p *parser) block() (n node, end string, err error) {
	inside, err := p.tag("%}")
	if err != nil {
		return n, "", err
	}
	if inside == "end" || inside == "else" {
		return n, inside, nil
	}
	word, argument, _ := strings.Cut(inside, " ")
	switch word {
	case "if":
		n.kind = ifNode
	case "each":
		n.kind = eachNode
	default:
		return n, "", unparsed("there is no tag " + strconv.QuoteToASCII(cut(word)))
	}
	if n.selector, err = selectorOf(strings.TrimSpace(argument)); err != nil {
		return n, "", err
	}
	if p.depth++; p.depth > maxBlocks {
		return n, "", unparsed("it is nested too deeply")
	}
	defer func() { p.depth-- }()
	n.body, end, err = p.nodes()
	if err == nil && end == "else" && n.kind == ifNode {
		n.orElse, end, err = p.nodes()
	}
	if err != nil {
		return n, "", err
	}
	if end != "end" {
		return n, "", unparsed("a block is not closed with {% end %}")
	}
	return n, "", nil
}

func cut(word string) string { return word[:min(len(word), 40)] }

// selectorOf reads names and numbers with dots between them.
func selectorOf(text string) ([]string, error) {
	parts := strings.Split(text, ".")
	for _, part := range parts {
		letters := strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
		digits := strings.Trim(part, "0123456789") == "" && len(part) <= 10
		if part == "" || !letters && !digits {
			return nil, unparsed(strconv.QuoteToASCII(cut(text)) + " is not a selector")
		}
	}
	return parts, nil
}

// evaluation is one run of a template.
type evaluation struct {
	ctx   context.Context
	out   strings.Builder
	steps int
	loops int
}

// render runs the template on data of maps, lists, texts, numbers and booleans.
func (t *template) render(ctx context.Context, data any) (string, error) {
	e := &evaluation{ctx: ctx}
	if err := e.run(t.nodes, data); err != nil {
		return "", err
	}
	return e.out.String(), nil
}

var errTooMuch = &generationError{"The template takes too long or writes too much"}

func (e *evaluation) run(nodes []node, scope any) error {
	for i := range nodes {
		n := &nodes[i]
		if e.steps++; e.steps > maxSteps || e.out.Len() > maxOutput || (e.steps%1024 == 0 && e.ctx.Err() != nil) {
			return errTooMuch
		}
		if n.kind == textNode {
			e.out.WriteString(n.text)
			continue
		}
		value := lookup(scope, n.selector)
		var err error
		switch n.kind {
		case printNode:
			e.out.WriteString(printed(value))
		case ifNode:
			if truthy(value) {
				err = e.run(n.body, scope)
			} else {
				err = e.run(n.orElse, scope)
			}
		case eachNode:
			err = e.each(n, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) each(n *node, value any) error {
	var list []any
	switch v := value.(type) {
	case []any:
		list = v
	case pairs:
		list = v.list()
	default:
		return nil
	}
	if e.loops++; e.loops > maxLoops {
		return failed("You can only nest up to %d loops", maxLoops)
	}
	defer func() { e.loops-- }()
	for _, item := range list {
		// An empty body costs steps too.
		if e.steps++; e.steps > maxSteps {
			return errTooMuch
		}
		if err := e.run(n.body, item); err != nil {
			return err
		}
	}
	return nil
}

// pairs are names and values; a loop walks them by name, each as a list of two.
type pairs map[string]string

func (p pairs) list() (all []any) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		all = append(all, []any{name, p[name]})
	}
	return all
}

func lookup(value any, selector []string) any {
	for _, part := range selector {
		if part == "it" {
			continue
		}
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case pairs:
			text, ok := v[part]
			if !ok {
				return nil
			}
			value = text
		case []any:
			i, err := strconv.ParseInt(part, 10, 64)
			if errors.Is(err, strconv.ErrSyntax) || i >= int64(len(v)) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func truthy(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	case pairs:
		return len(v) > 0
	}
	return true
}

// printed is a value as text; what has parts is not shown.
func printed(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
