package ciconfig

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// maxExpanded bounds a value, and what all values of a list grow to together, so that doubling references end.
const maxExpanded = 1 << 20

// maxAsked bounds what rules see of an expanded value, since each job asks anew.
const maxAsked = 16 << 10

var references = regexp.MustCompile(`\$\$|%%|\$([a-zA-Z_][a-zA-Z0-9_]*)|\$\{([a-zA-Z_][a-zA-Z0-9_]*)\}|%([a-zA-Z_][a-zA-Z0-9_]*)%`)

// Lookup finds the variable that counts for a key.
func (v Variables) Lookup(key string) (Variable, bool) {
	for i := len(v) - 1; i >= 0; i-- {
		if v[i].Key == key {
			return v[i], true
		}
	}
	return Variable{}, false
}

// minHidden is the length from which a value is looked for in texts: shorter ones stand there by chance.
const minHidden = 4

// hide takes values out of a text, also where they lost slashes as paths do.
func (v Variables) hide(s string, secret func(*Variable) bool) string {
	for i := range v {
		if !secret(&v[i]) {
			continue
		}
		for _, value := range []string{v[i].Value, strings.Trim(v[i].Value, "/")} {
			if len(value) >= minHidden {
				s = strings.ReplaceAll(s, value, "[MASKED]")
			}
		}
	}
	return s
}

func (v Variables) unmasked() Variables {
	return slices.DeleteFunc(slices.Clone(v), func(one Variable) bool { return one.Masked })
}

// Expand inserts values for $NAME, ${NAME} and %NAME%, themselves expanded unless they are raw. Unknown names, $$, %% and
// references to files stay; so do the values of variables that refer to each other in a circle, or grow too long.
func Expand(text string, vars Variables) string { return Expander(vars)(text) }

// Expander is [Expand] for several texts, which share what they may grow to.
func Expander(vars Variables) func(text string) string {
	var s *scope
	return func(text string) string {
		if !strings.ContainsAny(text, "$%") {
			return text
		}
		if s == nil {
			s = newScope(layer(vars))
			s.most = maxExpanded
		}
		out := s.expand(text)
		if len(out)-len(text) > s.room {
			return text
		}
		s.room -= max(0, len(out)-len(text))
		return out
	}
}

func expand(text string, most int, value func(key string) (string, bool)) string {
	if !strings.ContainsAny(text, "$%") {
		return text
	}
	var b strings.Builder
	last := 0
	for _, m := range references.FindAllStringSubmatchIndex(text, -1) {
		key := ""
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				key = text[m[g]:m[g+1]]
			}
		}
		if key == "" {
			continue
		}
		v, ok := value(key)
		if !ok {
			continue
		}
		if b.Len()+len(v) > most {
			return text
		}
		b.WriteString(text[last:m[0]])
		b.WriteString(v)
		last = m[1]
	}
	b.WriteString(text[last:])
	return b.String()
}

// names lists the keys that a text refers to.
func names(text string) []string {
	if !strings.ContainsAny(text, "$%") {
		return nil
	}
	var keys []string
	for _, m := range references.FindAllStringSubmatch(text, -1) {
		if key := m[1] + m[2] + m[3]; key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// CycleError names variables that refer to each other.
type CycleError struct{ Keys []string }

func (e *CycleError) Error() string {
	return fmt.Sprintf("circular variable reference detected: %q", e.Keys)
}

// Expanded gives the list with each value expanded, those that others refer to first. References to raw and file variables
// stay: who runs the job resolves them. In a cycle it gives v as it is, and the error, a *CycleError, names it.
func (v Variables) Expanded() (Variables, error) {
	last := make(map[string]int, len(v)) // which of a key's entries counts
	for i := range v {
		last[v[i].Key] = i
	}
	state := make([]uint8, len(v)) // 1: on the way, 2: done
	out := make(Variables, 0, len(v))
	values := make(map[string]string, len(v))
	var path, cycle []string
	budget := maxExpanded
	var visit func(i int) bool
	visit = func(i int) bool {
		switch state[i] {
		case 1:
			cycle = append(slices.Clone(path[slices.Index(path, v[i].Key):]), v[i].Key)
			return false
		case 2:
			return true
		}
		state[i] = 1
		path = append(path, v[i].Key)
		done := v[i]
		if !done.Raw {
			for _, key := range names(done.Value) {
				if j, ok := last[key]; ok && key != done.Key && !v[j].File && !v[j].Raw && !visit(j) {
					return false
				}
			}
			grown := expand(done.Value, maxExpanded, func(key string) (string, bool) {
				j, ok := last[key]
				if !ok || key == done.Key || v[j].File || v[j].Raw {
					return "", false // what a variable says of itself is for the shell
				}
				return values[key], true
			})
			if budget -= len(grown) - len(done.Value); budget >= 0 {
				done.Value = grown
			}
		}
		path = path[:len(path)-1]
		state[i] = 2
		if last[done.Key] == i {
			values[done.Key] = done.Value
		}
		out = append(out, done)
		return true
	}
	for i := range v {
		if !visit(i) {
			return v, &CycleError{Keys: cycle}
		}
	}
	return out, nil
}

// scope looks variables up through layers, the last of which wins, and expands what it finds when it is asked for.
type scope struct {
	find   func(key string) (Variable, bool)
	most   int // bytes of one value
	room   int // bytes by which all values together may still grow
	known  map[string]string
	way    []string
	cyclic map[string]bool
}

func layer(v Variables) map[string]Variable {
	m := make(map[string]Variable, len(v))
	for _, one := range v {
		m[one.Key] = one
	}
	return m
}

func newScope(layers ...map[string]Variable) *scope {
	find := func(key string) (Variable, bool) {
		for i := len(layers) - 1; i >= 0; i-- {
			if v, ok := layers[i][key]; ok {
				return v, true
			}
		}
		return Variable{}, false
	}
	return &scope{find: find, most: maxAsked, room: maxExpanded, known: map[string]string{}, cyclic: map[string]bool{}}
}

// value is what a rule sees: expanded, unless the variable is raw, a file's or in a cycle.
func (s *scope) value(key string) (string, bool) {
	if known, ok := s.known[key]; ok {
		return known, true
	}
	v, ok := s.find(key)
	if !ok {
		return "", false
	}
	if v.Raw || v.File || !strings.ContainsAny(v.Value, "$%") {
		return v.Value, true
	}
	if i := slices.Index(s.way, key); i >= 0 {
		for _, k := range s.way[i:] {
			s.cyclic[k] = true
		}
		return v.Value, true
	}
	s.way = append(s.way, key)
	out := expand(v.Value, s.most, func(other string) (string, bool) {
		if o, ok := s.find(other); !ok || o.File || other == key {
			return "", false
		}
		return s.value(other)
	})
	s.way = s.way[:len(s.way)-1]
	if s.cyclic[key] || len(out)-len(v.Value) > s.room {
		out = v.Value
	}
	s.room -= max(0, len(out)-len(v.Value))
	s.known[key] = out
	return out, true
}

// expand inserts what rules see.
func (s *scope) expand(text string) string {
	return expand(text, s.most, func(key string) (string, bool) {
		if v, ok := s.find(key); ok && v.File {
			return "", false
		}
		return s.value(key)
	})
}

// join lays lists over each other; one entry per key remains, where the key stood first.
func join(lists ...Variables) Variables {
	var out Variables
	at := map[string]int{}
	for _, l := range lists {
		for _, v := range l {
			if i, ok := at[v.Key]; ok {
				out[i] = v
				continue
			}
			at[v.Key] = len(out)
			out = append(out, v)
		}
	}
	return out
}

// Slug makes a text fit for host names: at most 63 of 0-9, a-z and inner dashes.
func Slug(s string) string {
	s = dashed(s)
	if len(s) > 63 {
		s = s[:63]
	}
	return strings.Trim(s, "-")
}

func dashed(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, s)
}

// EnvironmentSlug is at most 24 characters, begins with a letter, and ends in a digest of the name unless the name fits as it is.
func EnvironmentSlug(name string) string {
	s := dashed(name)
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		s = "env-" + s
	}
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	if s == name && len(s) <= 24 {
		return strings.TrimRight(s, "-")
	}
	if len(s) > 17 {
		s = s[:17]
	}
	if !strings.HasSuffix(s, "-") {
		s += "-"
	}
	sum := sha256.Sum256([]byte(name))
	digits := new(big.Int).SetBytes(sum[:]).Text(36)
	return s + digits[len(digits)-6:]
}
