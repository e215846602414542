package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	pathVariable = prefix + "CONFIG"
	testPrefix   = prefix + "TEST_"
)

// Load reads the settings from the file at path and from environ, which has the form of os.Environ. Without
// a path the file is the one STITHY_CONFIG names, else ./stithy.yaml or /etc/stithy/stithy.yaml if there is
// one. An empty variable counts as not set. The error lists all problems, one on each line.
func Load(path string, environ []string) (*Config, error) {
	l := loader{keys: keys(), given: map[string]given{}}
	variables := map[string]string{}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, prefix) {
			variables[name] = strings.TrimSpace(value)
		}
	}
	if path == "" {
		path = variables[pathVariable]
	}
	l.readFile(path)
	l.readVariables(variables)
	c := l.settle()
	if len(l.problems) > 0 {
		return nil, errors.Join(l.problems...)
	}
	return c, nil
}

// given is a value that somebody wrote down.
type given struct {
	text   string
	origin string
}

type loader struct {
	keys     []key
	given    map[string]given // by name of the key
	problems []error
}

func (l *loader) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Errorf(format, args...))
}

func (l *loader) names() []string {
	var names []string
	for _, k := range l.keys {
		names = append(names, k.name)
	}
	return names
}

func (l *loader) readFile(path string) {
	candidates := []string{path}
	if path == "" {
		candidates = []string{"stithy.yaml", "/etc/stithy/stithy.yaml"}
	}
	for _, candidate := range candidates {
		data, err := os.ReadFile(candidate)
		if path == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			l.problem("the configuration file cannot be read: %w; mend that, or name another by --config or %s", err, pathVariable)
			return
		}
		l.parseFile(candidate, data)
		return
	}
}

func (l *loader) parseFile(path string, data []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return
	case err != nil:
		l.problem("%s is not YAML: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		l.problem("%s: a second document begins after the first; keep one", path)
	}
	switch root := document.Content[0]; {
	case root.Kind == yaml.MappingNode:
		l.walk(path, "", root)
	case root.Tag != "!!null":
		l.problem("%s:%d: expected keys and values, for example listen: 127.0.0.1:8080", path, root.Line)
	}
}

// walk takes the values of a mapping; group is "" or the name of the mapping and a dot.
func (l *loader) walk(path, group string, mapping *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, value := group+mapping.Content[i].Value, mapping.Content[i+1]
		origin := fmt.Sprintf("%s:%d", path, mapping.Content[i].Line)
		known := slices.IndexFunc(l.keys, func(k key) bool { return k.name == name })
		isGroup := slices.ContainsFunc(l.keys, func(k key) bool { return strings.HasPrefix(k.name, name+".") })
		switch {
		case isGroup && value.Kind == yaml.MappingNode:
			l.walk(path, name+".", value)
		case isGroup && value.Tag == "!!null":
		case isGroup:
			l.problem("%s: %s is a group of keys; write them indented below it", origin, name)
		case known < 0:
			l.problem("%s: unknown key %q; the nearest known key is %s", origin, name, nearest(name, l.names()))
		default:
			l.take(l.keys[known], value, origin)
		}
	}
}

func (l *loader) take(k key, value *yaml.Node, origin string) {
	if before, twice := l.given[k.name]; twice {
		l.problem("%s: %s stands already at %s; keep one", origin, k.name, before.origin)
		return
	}
	text, ok := plain(value, k.list)
	if k.pairs && value.Kind == yaml.MappingNode {
		text, ok = pairs(value)
	}
	switch {
	case !ok && k.pairs:
		l.problem("%s: %s takes names with plain values", origin, k.name)
	case !ok && k.list:
		l.problem("%s: %s takes a list of plain values", origin, k.name)
	case !ok:
		l.problem("%s: %s takes one plain value", origin, k.name)
	case text == "" && value.Kind == yaml.ScalarNode:
		// A key left blank, as in an example file. An empty list is a value.
	default:
		l.given[k.name] = given{strings.TrimSpace(text), origin}
	}
}

// plain is the text of a scalar, or of the scalars of a list.
func plain(value *yaml.Node, list bool) (text string, ok bool) {
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return "", true
	case value.Kind == yaml.ScalarNode:
		return value.Value, true
	case value.Kind != yaml.SequenceNode || !list:
		return "", false
	}
	var items []string
	for _, node := range value.Content {
		item, ok := plain(node, false)
		if !ok {
			return "", false
		}
		items = append(items, item)
	}
	return strings.Join(items, ", "), true
}

// pairs is a mapping of plain values in the form of a variable.
func pairs(mapping *yaml.Node) (text string, ok bool) {
	var items []string
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		value, ok := plain(mapping.Content[i+1], false)
		if !ok {
			return "", false
		}
		items = append(items, mapping.Content[i].Value+"="+value)
	}
	return strings.Join(items, ", "), true
}

func (l *loader) readVariables(variables map[string]string) {
	names := []string{pathVariable}
	for _, k := range l.keys {
		name := k.variable()
		names = append(names, name)
		if text := variables[name]; text != "" {
			l.given[k.name] = given{text, name}
		}
		if !k.secret {
			continue
		}
		twin := name + fileSuffix
		names = append(names, twin)
		if file := variables[twin]; file != "" {
			l.readSecret(k, name, twin, file, variables[name] != "")
		}
	}
	var unknown []string
	for name := range variables {
		if !slices.Contains(names, name) && !strings.HasPrefix(name, testPrefix) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		l.problem("%s: unknown variable; the nearest known one is %s", name, nearest(name, names))
	}
}

func (l *loader) readSecret(k key, name, twin, file string, both bool) {
	if both {
		l.problem("%s and %s are both set; keep one", name, twin)
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		l.problem("%s: the file cannot be read: %w", twin, err)
		return
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		l.problem("%s: %s is empty; write the value into it, or remove the variable", twin, file)
		return
	}
	l.given[k.name] = given{text, twin}
}

// settle turns what was given, or else the defaults, into a Config.
func (l *loader) settle() *Config {
	c := &Config{}
	for _, k := range l.keys {
		g, isGiven := l.given[k.name]
		if !isGiven {
			g = given{k.initial, "default"}
			if k.derive != nil {
				g.text = k.derive(c)
			}
		}
		shown := g.text
		if k.secret {
			shown = hidePasswords(g.text)
		}
		c.values = append(c.values, Value{k.name, shown, g.origin})
		if g.text == "" {
			continue
		}
		if err := k.set(c, g.text); err != nil {
			l.refuse(k, g, err)
		}
	}
	return c
}

func (l *loader) refuse(k key, g given, err error) {
	where, what := g.origin, fmt.Sprintf("%q", g.text)
	if !strings.HasPrefix(where, prefix) {
		where += ": " + k.name
	}
	if k.secret {
		what = "the value"
	}
	l.problem("%s: %s %w", where, what, err)
}

// nearest is the candidate that takes the fewest changes of a character to become name.
func nearest(name string, candidates []string) string {
	return slices.MinFunc(candidates, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance is Levenshtein's, on bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
