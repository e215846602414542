package ciconfig

import (
	"fmt"
	"slices"
	"strings"
)

// resolver replaces !reference by what it points to. What one points to is resolved once.
type resolver struct {
	root  *node
	done  map[string]*node
	chain []string
}

func resolveReferences(root *node) (*node, *Problem) {
	r := &resolver{root: root, done: map[string]*node{}}
	n, p := r.walk(root)
	if p == nil && n.size > maxNodes {
		p = &Problem{Message: tooBig}
	}
	return n, p
}

func (r *resolver) walk(n *node) (*node, *Problem) {
	switch n.kind {
	case reference:
		return r.follow(n)
	case list:
		var items []*node
		for i, item := range n.items {
			got, p := r.walk(item)
			if p != nil {
				return nil, p
			}
			if got != item && items == nil {
				items = append([]*node(nil), n.items...)
			}
			if items != nil {
				items[i] = got
			}
		}
		if items != nil {
			return newList(n.at, items...), nil
		}
	case hash:
		var entries []entry
		for i, e := range n.entries {
			got, p := r.walk(e.value)
			if p != nil {
				return nil, p
			}
			if got != e.value && entries == nil {
				entries = append([]entry(nil), n.entries...)
			}
			if entries != nil {
				entries[i].value = got
			}
		}
		if entries != nil {
			return newHash(n.at, entries...), nil
		}
	}
	return n, nil
}

func (r *resolver) follow(n *node) (*node, *Problem) {
	words := make([]string, len(n.items))
	for i, item := range n.items {
		if !item.is(text, integer, float, boolean) {
			return nil, problem(n.at, "!reference should be an array of strings")
		}
		words[i] = item.text
	}
	name := fmt.Sprintf(`!reference ["%s"]`, strings.Join(words, `", "`))
	if len(words) == 0 {
		return nil, problem(n.at, "!reference should be an array of strings")
	}
	if got, ok := r.done[name]; ok {
		return got, nil
	}
	for _, link := range r.chain {
		if link == name {
			return nil, problem(n.at, "%s is part of a circular chain", name)
		}
	}
	if len(r.chain) >= MaxReference {
		return nil, problem(n.at, "%s is nested too deeply", name)
	}
	r.chain = append(r.chain, name)
	defer func() { r.chain = r.chain[:len(r.chain)-1] }()
	target := r.root
	for _, word := range words {
		// The way itself may lead over a reference.
		if target.is(reference) {
			got, p := r.follow(target)
			if p != nil {
				return nil, p
			}
			target = got
		}
		if target = target.get(word); target == nil {
			return nil, problem(n.at, "%s could not be found", name)
		}
	}
	got, p := r.walk(target)
	if p != nil {
		return nil, p
	}
	if got.size > maxNodes {
		return nil, problem(n.at, tooBig)
	}
	r.done[name] = got
	return got, nil
}

// extender lays jobs over the jobs that they extend.
type extender struct {
	root *node
	done map[string]extended
	way  []string
	work int // entries that were laid over each other
}

// maxBases of one job.
const maxBases = 200

type extended struct {
	node   *node
	levels int
}

func resolveExtends(root *node) (*node, *Problem) {
	e := &extender{root: root, done: map[string]extended{}}
	entries := append([]entry(nil), root.entries...)
	for i := range entries {
		got, p := e.extend(entries[i].key, entries[i].value)
		if p != nil {
			return nil, p
		}
		entries[i].value = got.node
	}
	n := newHash(root.at, entries...)
	if n.size > maxNodes {
		return nil, &Problem{Message: tooBig}
	}
	return n, nil
}

func (e *extender) extend(name string, n *node) (extended, *Problem) {
	bases, at := basesOf(n)
	if bases == nil {
		return extended{node: n, levels: 1}, nil
	}
	if got, ok := e.done[name]; ok {
		return got, nil
	}
	for _, above := range e.way {
		if above == name {
			return extended{}, problem(at, "%s: circular dependency detected in `extends`", name)
		}
	}
	if len(e.way) >= MaxExtends || len(bases) > maxBases {
		return extended{}, problem(at, "%s: nesting too deep in `extends`", name)
	}
	var unknown, invalid []string
	for _, base := range bases {
		switch b := e.root.get(base); {
		case b == nil:
			unknown = append(unknown, base)
		case !b.is(hash):
			invalid = append(invalid, base)
		}
	}
	if unknown != nil {
		return extended{}, problem(at, "%s: unknown keys in `extends` (%s)", name, strings.Join(unknown, ", "))
	}
	if invalid != nil {
		return extended{}, problem(at, "%s: invalid base hashes in `extends` (%s)", name, strings.Join(invalid, ", "))
	}
	e.way = append(e.way, name)
	defer func() { e.way = e.way[:len(e.way)-1] }()
	out := extended{node: newHash(n.at), levels: 1}
	for i, base := range bases {
		if slices.Contains(bases[i+1:], base) {
			continue // what is laid on top later covers it
		}
		b, p := e.extend(base, e.root.get(base))
		if p != nil {
			return extended{}, p
		}
		out.levels = max(out.levels, b.levels+1)
		if e.work += len(out.node.entries) + len(b.node.entries) + 1; e.work > maxNodes {
			return extended{}, problem(at, tooBig)
		}
		out.node = merge(out.node, b.node)
	}
	if out.levels > MaxExtends {
		return extended{}, problem(at, "%s: nesting too deep in `extends`", name)
	}
	out.node = merge(out.node, n)
	if out.node.size > maxNodes {
		return extended{}, problem(at, tooBig)
	}
	e.done[name] = out
	return out, nil
}

// basesOf gives what a job extends; nil when nothing, or when what is written there is not a list of names: the structure's
// check says so.
func basesOf(n *node) ([]string, pos) {
	written := n.get("extends")
	switch {
	case written.is(text):
		return []string{written.text}, written.at
	case written.is(list):
		var bases []string
		for _, item := range written.items {
			if !item.is(text) {
				return nil, pos{}
			}
			bases = append(bases, item.text)
		}
		return bases, written.at
	}
	return nil, pos{}
}

func problem(at pos, format string, args ...any) *Problem {
	return &Problem{Message: shortened(fmt.Sprintf(format, args...), 2000), File: at.file, Line: at.line, Column: at.column}
}

// shortened keeps names that nobody would write from filling answers.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
