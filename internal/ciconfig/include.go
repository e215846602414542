package ciconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"stithy/internal/platform/sorting"
)

// loader follows includes. Every file that is fetched counts against the limits of the whole.
type loader struct {
	ctx      context.Context //nolint:containedctx // one call of Load
	src      Source
	opt      LoadOptions
	vars     Variables
	shown    Variables // without masked ones: what may stand in the merged view
	told     Variables // what messages are written with; masked values are taken out of them
	config   *Config
	problems []Problem
	files    int
	bytes    int
	nodes    int
	full     bool // a limit of the whole is reached: no more files
	rules    *asked
	err      error
}

func load(ctx context.Context, src Source, opt LoadOptions) (*Config, []Problem, error) {
	l := &loader{ctx: ctx, src: src, opt: opt, config: &Config{}}
	l.vars = l.expanded()
	for _, v := range l.vars {
		// A value that holds a masked one is as secret.
		if !v.Masked && l.masked(v.Value) == v.Value {
			l.shown = append(l.shown, v)
		}
	}
	l.told = l.vars
	if opt.Kept {
		l.told = opt.Facts.Predefined
	}
	if opt.Name == "" {
		l.opt.Name = ".svc-ci.yml"
	}
	root := l.root()
	switch {
	case errors.Is(l.err, context.DeadlineExceeded):
		return l.config, []Problem{{Message: "Resolving config took longer than expected"}}, nil
	case l.err != nil:
		return l.config, nil, l.err
	case len(l.problems) > 0:
		return l.config, l.config.told(l.problems), nil
	}
	l.config.Includes = slices.Clip(l.config.Includes)
	resolved, p := resolveReferences(root)
	if p == nil {
		resolved, p = resolveExtends(resolved)
	}
	if p != nil {
		return l.config, l.config.told([]Problem{*p}), nil
	}
	l.config.merged = render(resolved)
	return l.config, l.config.told(l.config.compose(resolved, opt.HelpURL)), nil
}

// inserted expands a text that becomes a part of the configuration. What stands in it then may stand in any message.
func (l *loader) inserted(text string) string {
	if l.opt.Kept {
		for _, key := range names(text) {
			if v, ok := l.shown.Lookup(key); ok {
				if _, open := l.told.Lookup(key); !open {
					l.config.untold = append(l.config.untold, v)
				}
			}
		}
	}
	return Expand(text, l.shown)
}

// told takes the values out of messages that their readers may not see.
func (c *Config) told(problems []Problem) []Problem {
	for i := range problems {
		problems[i].Message = c.untold.hide(problems[i].Message, func(*Variable) bool { return true })
	}
	return problems
}

func (l *loader) expanded() Variables {
	all, err := join(l.opt.Facts.Predefined, l.opt.Facts.Variables).Expanded()
	if err != nil {
		return join(l.opt.Facts.Predefined, l.opt.Facts.Variables)
	}
	return all
}

func (l *loader) asked() *asked {
	if l.rules == nil {
		l.rules = newAsked(&l.opt.Facts)
	}
	return l.rules
}

func (l *loader) fail(at pos, format string, args ...any) {
	p := problem(at, format, args...)
	p.Message = l.masked(p.Message)
	l.problems = append(l.problems, *p)
}

// masked keeps values that nobody may see out of messages.
func (l *loader) masked(s string) string {
	return l.vars.hide(s, func(v *Variable) bool { return v.Masked })
}

func (l *loader) root() *node {
	docs, err := parseYAML("", l.opt.Content)
	if err != nil {
		l.failYAML(pos{}, err)
		return nil
	}
	if len(docs) == 0 || len(docs) == 1 && docs[0].is(null) {
		l.fail(pos{}, "Please provide content of %s", l.opt.Name)
		return nil
	}
	n := l.interpolated(docs, l.inputNodes(), pos{line: 1, column: 1})
	if n == nil {
		return nil
	}
	if !n.is(hash) {
		l.fail(n.at, "Invalid configuration format")
		return nil
	}
	l.nodes += n.size
	l.bytes += len(l.opt.Content)
	return l.expand(n, l.opt.Place)
}

func (l *loader) failYAML(at pos, err error) {
	var s *syntaxError
	if errors.As(err, &s) {
		at.line, at.column = s.line, s.column
	}
	l.fail(at, "%s", err.Error())
}

func (l *loader) inputNodes() *node {
	entries := make([]entry, 0, len(l.opt.Inputs))
	for key, v := range l.opt.Inputs {
		entries = append(entries, entry{key: key, value: nodeOf(v)})
	}
	sorting.By(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	if len(entries) == 0 {
		return nil
	}
	return newHash(pos{}, entries...)
}

// expand gives the file with its includes merged below it.
func (l *loader) expand(n *node, at Place) *node {
	written := n.get("include")
	if written == nil {
		return n
	}
	own := n.without("include")
	items := []*node{written}
	if written.is(list) {
		items = flatten(written, MaxReference)
	}
	under := newHash(n.at)
	for _, item := range items {
		for _, file := range l.include(item, at) {
			under = merge(under, file)
		}
		if l.err != nil || l.full {
			return own
		}
	}
	return merge(under, own)
}

// flatten opens lists within a list, up to a depth.
func flatten(n *node, depth int) []*node {
	var all []*node
	for _, item := range n.items {
		if item.is(list) && depth > 0 {
			all = append(all, flatten(item, depth-1)...)
			continue
		}
		all = append(all, item)
	}
	return all
}

var includeKeys = []string{"local", "file", "remote", "project", "template", "component", "artifact"}

func (l *loader) include(n *node, at Place) []*node {
	if n.is(text) {
		key := "local"
		if isURL(n.text) {
			key = "remote"
		}
		n = newHash(n.at, entry{key: key, value: n, at: n.at})
	}
	if !n.is(hash) {
		l.fail(n.at, "Include `%s` needs to match exactly one accessor!", n.text)
		return nil
	}
	var used []string
	for _, key := range includeKeys {
		if n.has(key) && key != "file" {
			used = append(used, key)
		}
	}
	switch {
	case len(used) == 0:
		l.fail(n.at, "`%s` does not have a valid subkey for include. Valid subkeys are: `%s`", inline(n), "local`, `remote`, `template`, `component`, `artifact`, `project")
		return nil
	case len(used) > 1:
		l.fail(n.at, "Each include must use only one of: `local`, `remote`, `template`, `component`, `artifact`, `project`")
		return nil
	}
	for _, e := range n.entries {
		if !slices.Contains(append([]string{"ref", "job", "inputs", "rules", "integrity", "cache"}, includeKeys...), e.key) {
			l.fail(e.at, "include config contains unknown keys: %s", e.key)
			return nil
		}
	}
	if !l.wanted(n) {
		return nil
	}
	switch used[0] {
	case "local":
		return l.local(n, at)
	case "project":
		return l.project(n, at)
	}
	where := n.get(used[0])
	if !where.scalar() {
		l.fail(where.at, "include %s should be a string", used[0])
		return nil
	}
	name, told := Expand(where.text, l.vars), Expand(where.text, l.told)
	inc := Include{Type: used[0], Location: told, From: at}
	switch used[0] {
	case "remote":
		if !isURL(name) || !validURL(name) {
			l.fail(where.at, "Remote file `%s` does not have a valid address!", told)
			return nil
		}
		return l.fetch(n, where.at, inc, func() (File, error) { return l.src.Remote(l.ctx, name) })
	case "template":
		return l.fetch(n, where.at, inc, func() (File, error) { return l.src.Template(l.ctx, name) })
	case "component":
		return l.fetch(n, where.at, inc, func() (File, error) { return l.src.Component(l.ctx, at, name) })
	}
	if !l.opt.Child {
		l.fail(where.at, "Including configs from artifacts is only allowed when triggering child pipelines")
		return nil
	}
	job := n.get("job")
	if !job.is(text) {
		l.fail(where.at, "Job must be provided when including configs from artifacts")
		return nil
	}
	from := Expand(job.text, l.vars)
	inc.Extra = map[string]string{"job_name": Expand(job.text, l.told)}
	return l.fetch(n, where.at, inc, func() (File, error) { return l.src.Artifact(l.ctx, at, from, name) })
}

func isURL(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }

func validURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != ""
}

// inline shows a hash as the reference's messages do.
func inline(n *node) string {
	var parts []string
	for _, e := range n.entries {
		parts = append(parts, fmt.Sprintf("%q:%q", e.key, e.value.text))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// wanted evaluates an include's own rules.
func (l *loader) wanted(n *node) bool {
	written := n.get("rules")
	if written == nil {
		return true
	}
	c := &checker{}
	rules := c.rules(written, "include:rules", ruleOfInclude)
	if len(c.problems) > 0 {
		l.problems = append(l.problems, c.problems...)
		return false
	}
	e := evaluation{asked: l.asked(), scope: newScope(layer(l.vars))}
	for i := range rules {
		matched, p := e.matches(&rules[i])
		if p != nil {
			l.problems = append(l.problems, *p)
			return false
		}
		if matched {
			return rules[i].When != Never
		}
	}
	return false
}

func hasYAMLExtension(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yml" || ext == ".yaml"
}

func (l *loader) local(n *node, at Place) []*node {
	where := n.get("local")
	if !where.scalar() {
		l.fail(where.at, "include local should be a string")
		return nil
	}
	name, told := Expand(where.text, l.vars), Expand(where.text, l.told)
	if !hasYAMLExtension(name) {
		l.fail(where.at, "Included file `%s` does not have YAML extension!", told)
		return nil
	}
	if at == (Place{}) {
		l.fail(where.at, "Local file `%s` does not have project!", told)
		return nil
	}
	names := []string{name}
	if strings.Contains(name, "*") {
		if names, l.err = l.src.Glob(l.ctx, at, strings.TrimLeft(name, "/")); l.err != nil {
			return nil
		}
	}
	var all []*node
	for _, found := range names {
		inc := Include{Type: "local", Location: told, From: at}
		if told == name {
			inc.Location = found
		}
		all = append(all, l.fetch(n, where.at, inc, func() (File, error) {
			return l.src.Local(l.ctx, at, strings.TrimLeft(found, "/"))
		})...)
		if l.err != nil || l.full {
			break
		}
	}
	return all
}

func (l *loader) project(n *node, at Place) []*node {
	where, files, ref := n.get("project"), n.get("file"), n.get("ref")
	switch {
	case !where.scalar():
		l.fail(where.at, "include project should be a string")
		return nil
	case ref != nil && !ref.scalar() && !ref.is(null):
		l.fail(ref.at, "include ref should be a string")
		return nil
	case !files.is(text, list):
		l.fail(n.at, "include config must specify the file where to fetch the config from")
		return nil
	}
	items := []*node{files}
	if files.is(list) {
		items = files.items
	}
	project, at2 := Expand(where.text, l.vars), ""
	extra := map[string]string{"project": Expand(where.text, l.told), "ref": ""}
	if ref.scalar() {
		at2, extra["ref"] = Expand(ref.text, l.vars), Expand(ref.text, l.told)
	}
	var all []*node
	for _, item := range items {
		if !item.is(text) {
			l.fail(item.at, "include file should be a string or an array of strings")
			return nil
		}
		file, told := Expand(item.text, l.vars), Expand(item.text, l.told)
		if !hasYAMLExtension(file) {
			l.fail(item.at, "Included file `%s` does not have YAML extension!", told)
			return nil
		}
		inc := Include{Type: "file", Location: told, From: at, Extra: extra}
		all = append(all, l.fetch(n, item.at, inc, func() (File, error) {
			return l.src.Project(l.ctx, at, project, at2, strings.TrimLeft(file, "/"))
		})...)
		if l.err != nil || l.full {
			break
		}
	}
	return all
}

// fetch reads one file with all that it includes. It gives one tree, or none after a problem.
func (l *loader) fetch(n *node, at pos, inc Include, read func() (File, error)) []*node {
	if l.full {
		return nil
	}
	if l.files++; l.files > MaxIncludes {
		l.full = true
		l.fail(at, "Maximum of %d nested includes are allowed!", MaxIncludes)
		return nil
	}
	if l.err = l.ctx.Err(); l.err != nil {
		return nil
	}
	file, err := read()
	if err != nil {
		var why *FetchError
		if !errors.As(err, &why) {
			l.err = err
			return nil
		}
		l.fail(at, "%s", why.say(inc))
		return nil
	}
	if l.bytes += len(file.Body); l.bytes > MaxTotal {
		l.full = true
		l.fail(at, "Total size of combined CI/CD configuration is too big")
		return nil
	}
	if strings.TrimSpace(string(file.Body)) == "" {
		l.fail(at, "%s is empty!", inc.title())
		return nil
	}
	shown := inc.Location
	if file.Location != "" && !l.opt.Kept {
		shown = file.Location
	}
	shown = l.masked(shown)
	docs, err := parseYAML(shown, file.Body)
	if errors.Is(err, errTooBig) {
		l.fail(at, "%s", err.Error())
		return nil
	}
	if err != nil || len(docs) == 0 {
		p := pos{file: shown}
		var s *syntaxError
		if errors.As(err, &s) {
			p.line, p.column = s.line, s.column
		}
		l.fail(p, "Included file `%s` does not have valid YAML syntax!", shown)
		return nil
	}
	tree := l.interpolated(docs, n.get("inputs"), at)
	if tree == nil {
		return nil
	}
	if !tree.is(hash) {
		l.fail(tree.at, "Included file `%s` does not have valid YAML syntax!", shown)
		return nil
	}
	if l.nodes += tree.size; l.nodes > maxNodes {
		l.full = true
		l.fail(at, "Total size of combined CI/CD configuration is too big")
		return nil
	}
	inc.Location, inc.Blob, inc.Raw = shown, l.masked(file.Blob), l.masked(file.Raw)
	inc.From.Project = l.masked(inc.From.Project)
	inc.Extra = maps.Clone(inc.Extra)
	for key, value := range inc.Extra {
		inc.Extra[key] = l.masked(value)
	}
	l.config.Includes = append(l.config.Includes, inc)
	return []*node{l.expand(tree, file.Place)}
}

// title begins the messages about a file.
func (i *Include) title() string {
	switch i.Type {
	case "file":
		return fmt.Sprintf("Project `%s` file `%s`", i.Extra["project"], i.Location)
	case "remote":
		return fmt.Sprintf("Remote file `%s`", i.Location)
	case "template":
		return fmt.Sprintf("Template file `%s`", i.Location)
	case "component":
		return fmt.Sprintf("Component `%s`", i.Location)
	case "artifact":
		return fmt.Sprintf("File `%s`", i.Location)
	}
	return fmt.Sprintf("Local file `%s`", i.Location)
}

func (e *FetchError) say(i Include) string {
	switch e.Reason {
	case Said:
		return e.Text
	case ProjectHidden:
		name := i.Extra["project"]
		if name == "" {
			name = i.Location
		}
		return fmt.Sprintf("Project `%s` not found or access denied! Make sure any includes in the pipeline configuration are correctly defined.", name)
	case RefAbsent:
		return fmt.Sprintf("Project `%s` reference `%s` does not exist!", i.Extra["project"], i.Extra["ref"])
	case BadStatus:
		return fmt.Sprintf("%s could not be fetched because of HTTP code `%d` error!", i.title(), e.Status)
	case TimedOut:
		return i.title() + " could not be fetched because of a timeout error!"
	case Unreachable:
		return i.title() + " could not be fetched because of a socket error!"
	case BadAddress:
		return i.title() + " does not have a valid address!"
	case TooLarge:
		return tooBig
	}
	switch i.Type {
	case "template":
		return i.title() + " is not a valid location!"
	case "component":
		return i.title() + " - content not found"
	case "artifact":
		return fmt.Sprintf("%s does not exist in the artifacts of job `%s`!", i.title(), i.Extra["job_name"])
	}
	return i.title() + " does not exist!"
}
