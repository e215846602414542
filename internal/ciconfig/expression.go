package ciconfig

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

var errExpression = errors.New("invalid expression syntax")

// maxExpression bounds the text of an expression; 100 tokens need far less.
const maxExpression = 64 << 10

// Expression is a parsed rules:if.
type Expression struct {
	text string
	root *term
}

type op uint8

const (
	opValue op = iota // a variable or a literal
	opRegexp
	opEq
	opNe
	opMatch
	opUnlike
	opAnd
	opOr
)

type term struct {
	op          op
	left, right *term
	variable    string
	literal     operand
	regexp      *regexp.Regexp
}

// operand is a string or null.
type operand struct {
	text    string
	defined bool
}

type token struct {
	op     op // of an operator
	sign   string
	term   *term
	regexp bool
}

// ParseExpression reads an expression; its only error is "invalid expression syntax".
func ParseExpression(text string) (*Expression, error) {
	tokens, ok := tokens(text)
	if !ok || len(tokens) == 0 {
		return nil, errExpression
	}
	p := &parser{tokens: tokens}
	root := p.expression(0)
	if root == nil || p.next < len(p.tokens) {
		return nil, errExpression
	}
	return &Expression{text: text, root: root}, nil
}

// String is the expression as written.
func (e *Expression) String() string { return e.text }

// Holds evaluates the expression. lookup's ok is false for an undefined variable.
func (e *Expression) Holds(lookup func(name string) (value string, ok bool)) bool {
	v := e.root.eval(lookup)
	return v.defined && v.text != ""
}

func tokens(s string) ([]token, bool) {
	if len(s) > maxExpression {
		return nil, false
	}
	var all []token
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if s == "" {
			return all, true
		}
		if len(all) == MaxTokens {
			return nil, false
		}
		t, rest, ok := scan(s)
		if !ok {
			return nil, false
		}
		all, s = append(all, t), rest
	}
}

var signs = []struct {
	sign string
	op   op
}{{"==", opEq}, {"!=", opNe}, {"=~", opMatch}, {"!~", opUnlike}, {"&&", opAnd}, {"||", opOr}, {"(", 0}, {")", 0}}

func scan(s string) (token, string, bool) {
	for _, k := range signs {
		if rest, ok := strings.CutPrefix(s, k.sign); ok {
			return token{sign: k.sign, op: k.op}, rest, true
		}
	}
	switch s[0] {
	case '$':
		end := 1
		for end < len(s) && isName(s[end]) {
			end++
		}
		name := s[1:end]
		return token{term: &term{variable: name}}, s[end:], name != ""
	case '"', '\'':
		end := strings.IndexByte(s[1:], s[0])
		if end < 0 {
			return token{}, "", false
		}
		return token{term: &term{literal: operand{text: s[1 : 1+end], defined: true}}}, s[end+2:], true
	case '/':
		end := regexpEnd(s)
		if end < 0 {
			return token{}, "", false
		}
		re, ok := compileRegexp(s[:end])
		// A pattern counts as a value wherever it stands: its own text.
		return token{term: &term{op: opRegexp, regexp: re, literal: operand{text: s[:end], defined: true}}, regexp: true}, s[end:], ok
	}
	if rest, ok := strings.CutPrefix(s, "null"); ok && (rest == "" || !isName(rest[0])) {
		return token{term: &term{}}, rest, true
	}
	return token{}, "", false
}

func isName(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// regexpEnd finds where /pattern/flags ends. A slash within the pattern is escaped.
func regexpEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '/':
			for i++; i < len(s) && strings.IndexByte("ismU", s[i]) >= 0; {
				i++
			}
			return i
		}
	}
	return -1
}

// regexps keeps compiled patterns: the same few stand in the rules of every job.
var regexps = struct {
	sync.Mutex
	compiled map[string]*regexp.Regexp
}{compiled: map[string]*regexp.Regexp{}}

const keptRegexps = 1000

const (
	maxPattern = 1000 // bytes of a pattern
	maxProgram = 2000 // instructions that it compiles to
)

// compileRegexp compiles /pattern/flags. Nil and false when it is not of that form, too large or not RE2.
func compileRegexp(s string) (*regexp.Regexp, bool) {
	if len(s) < 2 || s[0] != '/' || len(s) > maxPattern {
		return nil, false
	}
	end := strings.LastIndexByte(s, '/')
	if end == 0 || strings.Trim(s[end+1:], "ismU") != "" {
		return nil, false
	}
	regexps.Lock()
	defer regexps.Unlock()
	if re, ok := regexps.compiled[s]; ok {
		return re, re != nil
	}
	pattern := strings.ReplaceAll(s[1:end], `\/`, "/")
	if flags := s[end+1:]; flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	re, _ := compileBounded(pattern)
	if len(regexps.compiled) >= keptRegexps {
		clear(regexps.compiled)
	}
	regexps.compiled[s] = re
	return re, re != nil
}

func compileBounded(pattern string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxProgram {
		return nil, errExpression
	}
	return regexp.Compile(pattern)
}

type parser struct {
	tokens []token
	next   int
}

func binding(o op) int {
	switch o {
	case opOr:
		return 1
	case opAnd:
		return 2
	case opEq, opNe, opMatch, opUnlike:
		return 3
	}
	return 0
}

// expression reads operators that bind tighter than least. Nil: not an expression.
func (p *parser) expression(least int) *term {
	left := p.operand()
	for left != nil && p.next < len(p.tokens) {
		o := p.tokens[p.next].op
		b := binding(o)
		if b <= least {
			break
		}
		p.next++
		right := p.expression(b)
		if right == nil {
			return nil
		}
		if b == 3 && (left.op > opRegexp || right.op > opRegexp) {
			return nil // a comparison of what is not a value
		}
		if (o == opMatch || o == opUnlike) && right.op == opValue && right.variable == "" {
			if !right.literal.defined {
				left = &term{op: o, left: left, right: right}
				continue
			}
			re, ok := compileRegexp(right.literal.text)
			if !ok {
				return nil
			}
			right = &term{op: opRegexp, regexp: re, literal: right.literal}
		}
		left = &term{op: o, left: left, right: right}
	}
	return left
}

func (p *parser) operand() *term {
	if p.next == len(p.tokens) {
		return nil
	}
	t := p.tokens[p.next]
	p.next++
	if t.term != nil {
		return t.term
	}
	if t.sign != "(" {
		return nil
	}
	inner := p.expression(0)
	if inner == nil || p.next == len(p.tokens) || p.tokens[p.next].sign != ")" {
		return nil
	}
	p.next++
	return inner
}

func truth(b bool) operand {
	if b {
		return operand{text: "true", defined: true}
	}
	return operand{}
}

func (t *term) eval(lookup func(string) (string, bool)) operand {
	switch t.op {
	case opAnd, opOr:
		left := t.left.eval(lookup)
		if (left.defined && left.text != "") == (t.op == opOr) {
			return left
		}
		return t.right.eval(lookup)
	case opEq:
		return truth(t.left.eval(lookup) == t.right.eval(lookup))
	case opNe:
		return truth(t.left.eval(lookup) != t.right.eval(lookup))
	case opMatch:
		return truth(t.matches(lookup))
	case opUnlike:
		return truth(!t.matches(lookup))
	}
	if t.variable == "" {
		return t.literal
	}
	v, ok := lookup(t.variable)
	if !ok {
		return operand{}
	}
	return operand{text: v, defined: true}
}

// matches asks the pattern on the right, which a variable may hold: in slashes, or else as text to be found.
func (t *term) matches(lookup func(string) (string, bool)) bool {
	subject := t.left.eval(lookup)
	if t.right.regexp != nil {
		return subject.defined && t.right.regexp.MatchString(subject.text)
	}
	pattern := t.right.eval(lookup)
	if !subject.defined || !pattern.defined {
		return false
	}
	if re, ok := compileRegexp(pattern.text); ok {
		return re.MatchString(subject.text)
	}
	return strings.Contains(subject.text, pattern.text)
}
