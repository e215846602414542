package ciconfig

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

const (
	maxGlob        = 1000   // bytes of a pattern
	maxComparisons = 10_000 // of one glob with paths; beyond, it counts as found
)

var errGlob = errors.New("not a pattern")

// Glob is a compiled pattern of changes or exists.
type Glob struct {
	exact string
	re    *regexp.Regexp
}

// ParseGlob compiles a pattern: * and ? within a segment, **/ across segments, [..], {a,b}. Names that begin with a dot match like others.
func ParseGlob(pattern string) (*Glob, error) {
	if len(pattern) > maxGlob {
		return nil, errGlob
	}
	pattern = strings.TrimPrefix(pattern, "/")
	if !strings.ContainsAny(pattern, `*?[{\`) {
		return &Glob{exact: pattern}, nil
	}
	source, rest, err := globSource(pattern, false)
	if err != nil || rest != "" {
		return nil, errGlob
	}
	re, err := compileBounded("^(?s:" + source + ")$")
	if err != nil {
		return nil, errGlob
	}
	return &Glob{re: re}, nil
}

// Match reports whether a whole path matches.
func (g *Glob) Match(path string) bool {
	if g.re == nil {
		return path == g.exact
	}
	return g.re.MatchString(path)
}

// globSource translates until the end, or within braces until one closes.
func globSource(p string, braces bool) (source, rest string, err error) {
	var b strings.Builder
	fresh := true // at the start of a segment
	for p != "" {
		c := p[0]
		start := fresh
		fresh = false
		switch {
		case start && strings.HasPrefix(p, "**/"):
			b.WriteString(`(?:[^/]+/)*`)
			p, fresh = p[3:], true
			continue
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '/':
			b.WriteByte('/')
			fresh = true
		case c == '\\' && len(p) > 1:
			b.WriteString(regexp.QuoteMeta(p[1:2]))
			p = p[1:]
		case c == '[':
			class, n := classSource(p)
			if n == 0 {
				return "", "", errGlob
			}
			b.WriteString(class)
			p = p[n:]
			continue
		case c == '{':
			b.WriteString("(?:")
			for p = p[1:]; ; {
				inner, after, err := globSource(p, true)
				if err != nil || after == "" {
					return "", "", errGlob
				}
				b.WriteString(inner)
				p = after[1:]
				if after[0] == '}' {
					break
				}
				b.WriteByte('|')
			}
			b.WriteByte(')')
			continue
		case braces && (c == ',' || c == '}'):
			return b.String(), p, nil
		default:
			n := 1
			for c >= 0x80 && n < len(p) && p[n] >= 0x80 {
				n++
			}
			b.WriteString(regexp.QuoteMeta(p[:n]))
			p = p[n-1:]
		}
		p = p[1:]
	}
	if braces {
		return "", "", errGlob
	}
	return b.String(), "", nil
}

// classSource translates [..] and says how long it is; 0 when it does not close.
func classSource(p string) (string, int) {
	end := strings.IndexByte(p[1:], ']')
	if end < 1 {
		return "", 0
	}
	body := p[1 : 1+end]
	negated := body[0] == '!' || body[0] == '^'
	if negated {
		body = body[1:]
	}
	if body == "" || strings.Contains(body, "/") {
		return "", 0
	}
	body = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `&`, `\&`, `~`, `\~`).Replace(body)
	if negated {
		return "[^/" + body + "]", end + 2
	}
	return "[" + body + "]", end + 2
}

// ExistsIn makes Facts.Exists from all paths of a tree, sorted or not. After 10,000 comparisons a glob counts as found.
func ExistsIn(paths func() []string) func(glob string) bool {
	var all []string
	read := false
	return func(glob string) bool {
		g, err := ParseGlob(glob)
		if err != nil {
			return false
		}
		if !read {
			all = slices.Sorted(slices.Values(paths()))
			read = true
		}
		if g.re == nil {
			_, found := slices.BinarySearch(all, g.exact)
			return found
		}
		for i, p := range all {
			if i >= maxComparisons || g.Match(p) {
				return true
			}
		}
		return false
	}
}

// anyMatches reports whether one of the paths matches one of the globs.
func anyMatches(globs, paths []string) bool {
	for _, glob := range globs {
		g, err := ParseGlob(glob)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(paths, g.Match) {
			return true
		}
	}
	return false
}
