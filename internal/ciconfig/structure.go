package ciconfig

import (
	"fmt"
	"slices"
	"strings"
)

// maxProblems bounds what is said about one configuration.
const maxProblems = 500

// maxDependencies is far above what a job fetches, and keeps a plan from growing with its square.
const maxDependencies = 1000

// checker reads nodes into types and notes what is wrong with them. Each method reads one keyword; path begins its messages.
type checker struct {
	problems []Problem
}

func (c *checker) add(n *node, path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, *problem(n.at, "%s %s", path, fmt.Sprintf(format, args...)))
	}
}

// keys refuses what is not listed and reports whether all is known.
func (c *checker) keys(n *node, path string, allowed ...string) bool {
	var unknown []string
	at := n
	for _, e := range n.entries {
		if !slices.Contains(allowed, e.key) {
			if unknown == nil {
				at = &node{at: e.at}
			}
			unknown = append(unknown, e.key)
		}
	}
	if unknown != nil {
		c.add(at, path, "config contains unknown keys: %s", strings.Join(unknown, ", "))
	}
	return unknown == nil
}

var (
	globalKeys = []string{
		"default", "include", "stages", "variables", "workflow", "cache", "image", "services", "before_script", "after_script",
	}
	deprecatedGlobals = []string{"after_script", "before_script", "cache", "image", "services"}
	defaultKeys       = []string{
		"after_script", "artifacts", "before_script", "cache", "hooks", "id_tokens", "image", "interruptible", "retry", "services", "tags",
		"timeout",
	}
	jobKeys = []string{
		"script", "after_script", "allow_failure", "artifacts", "before_script", "cache", "coverage", "dast_configuration", "dependencies",
		"environment", "except", "extends", "hooks", "id_tokens", "image", "inherit", "interruptible", "needs", "only", "pages", "parallel",
		"publish", "release", "resource_group", "retry", "rules", "secrets", "services", "stage", "start_in", "tags", "timeout",
		"variables", "when",
	}
	bridgeKeys = []string{
		"trigger", "parallel", "stage", "rules", "only", "except", "variables", "inherit", "allow_failure", "when", "needs",
		"resource_group", "environment", "extends",
	}
	reservedNames = []string{"true", "false", "nil"}
)

// compose turns a tree into a Config and gives what is wrong: structure first, and logic when that is sound.
func (c *Config) compose(root *node, help string) []Problem {
	k := &checker{}
	k.globals(c, root)
	defaults := k.defaults(root)
	var unknown []string
	visible := false
	seen := false
	for _, e := range root.entries {
		if slices.Contains(globalKeys, e.key) {
			continue
		}
		seen = true
		switch {
		case slices.Contains(reservedNames, e.key):
			unknown = append(unknown, e.key)
		case strings.HasPrefix(e.key, "."):
		case isJob(e.value):
			visible = true
			c.Jobs = append(c.Jobs, k.job(e, defaults))
		default:
			visible = true
			k.add(&node{at: e.at}, "jobs "+e.key, "config should implement a script: or a trigger: keyword")
		}
	}
	if unknown != nil {
		k.add(root, "root", "config contains unknown keys: %s", strings.Join(unknown, ", "))
	}
	if !visible {
		at := root
		if !seen {
			at = &node{}
		}
		k.add(at, "jobs", "config should contain at least one visible job")
	}
	if len(k.problems) > 0 {
		return k.problems
	}
	c.warn(help)
	return c.logic()
}

func isJob(n *node) bool {
	return n.is(hash) && (n.has("script") || n.has("trigger") || mirrors(n.get("needs")))
}

// mirrors reports the needs of a bridge that follows another project's pipeline.
func mirrors(n *node) bool {
	if n.is(list) && len(n.items) == 1 {
		n = n.items[0]
	}
	return n.is(hash) && n.has("pipeline") && !n.has("job")
}

func (c *checker) globals(to *Config, root *node) {
	stages := []string{"build", "test", "deploy"}
	if n := root.get("stages"); n != nil && !n.is(null) {
		stages = c.texts(n, "stages", "config should be an array of strings")
	}
	to.Stages = []string{".pre"}
	seen := map[string]bool{".pre": true, ".post": true}
	for _, s := range stages {
		if !seen[s] {
			seen[s] = true
			to.Stages = append(to.Stages, s)
		}
	}
	to.Stages = append(to.Stages, ".post")
	if n := root.get("variables"); n != nil {
		to.Variables = c.variables(n, "variables", true)
	}
	if n := root.get("workflow"); n != nil {
		to.Workflow = c.workflow(n)
	}
}

// defaults gives the nodes that jobs without the key get. What is wrong with them is said once, here.
func (c *checker) defaults(root *node) *node {
	var scratch Job
	all := newHash(root.at)
	for _, key := range deprecatedGlobals {
		if n := root.get(key); n != nil && !n.is(null) {
			c.shared(&scratch, key, n, key)
			all = all.with(key, n)
		}
	}
	n := root.get("default")
	if n == nil || n.is(null) {
		return all
	}
	n = n.written()
	if !n.is(hash) {
		c.add(n, "default", "config should be a hash")
		return all
	}
	c.keys(n, "default", defaultKeys...)
	for _, e := range n.entries {
		if slices.Contains(defaultKeys, e.key) {
			c.shared(&scratch, e.key, e.value, "default:"+e.key)
			all = all.without(e.key).with(e.key, e.value)
		}
	}
	return all
}

// shared reads the keywords that default may hold.
func (c *checker) shared(j *Job, key string, n *node, path string) {
	switch key {
	case "after_script":
		j.AfterScript = c.script(n, path)
	case "before_script":
		j.BeforeScript = c.script(n, path)
	case "artifacts":
		j.Artifacts = c.artifacts(n, path)
	case "cache":
		j.Cache = c.caches(n, path)
	case "hooks":
		j.Hooks = c.hooks(n, path)
	case "id_tokens":
		j.IDTokens = c.idTokens(n, path)
	case "image":
		if !n.is(null) {
			j.Image = c.image(n, path)
		}
	case "interruptible":
		j.Interruptible = c.boolean(n, path, "config")
	case "retry":
		j.Retry = c.retry(n, path)
	case "services":
		j.Services = c.services(n, path)
	case "tags":
		j.Tags = c.tags(n, path)
	case "timeout":
		j.Timeout = c.duration(n, path, "config", 30*day)
	}
}

func (c *checker) job(e entry, defaults *node) Job {
	n, path := e.value.written("script"), "jobs:"+e.key
	j := Job{Name: e.key, Stage: "test", When: OnSuccess, Line: e.at.line, Column: e.at.column, File: e.at.file}
	bridge := !n.has("script")
	switch {
	case e.key == "":
		c.add(n, "jobs", "name can't be blank")
	case len([]rune(e.key)) > MaxJobName:
		c.add(n, path, "name is too long (maximum is %d characters)", MaxJobName)
	}
	if bridge {
		c.keys(n, path, bridgeKeys...)
	} else {
		c.keys(n, path, jobKeys...)
	}
	j.Inherit = Inherit{Defaults: Inherited{All: true}, Variables: Inherited{All: true}}
	if i := n.get("inherit"); i != nil {
		j.Inherit = c.inherit(i, path+":inherit")
	}
	for _, e := range n.entries {
		switch {
		case e.value.is(null):
		case bridge && !slices.Contains(bridgeKeys, e.key) || !bridge && !slices.Contains(jobKeys, e.key):
		case slices.Contains(defaultKeys, e.key):
			c.shared(&j, e.key, e.value, path+":"+e.key)
		default:
			c.own(&j, e.key, e.value, path)
		}
	}
	if !bridge {
		quiet := &checker{} // said once, at the default
		for _, e := range defaults.entries {
			if !n.has(e.key) && j.Inherit.Defaults.takes(e.key) {
				quiet.shared(&j, e.key, e.value, "default:"+e.key)
			}
		}
		if s := n.get("script"); s.is(list) && s.size == 1 || s.is(text) && s.text == "" || s.is(null) {
			c.add(n.get("script"), path, "script can't be blank")
		}
	}
	c.together(&j, n, path)
	return j
}

func (i Inherited) takes(name string) bool { return i.All || slices.Contains(i.Names, name) }

// own reads the keywords that only jobs have.
func (c *checker) own(j *Job, key string, n *node, path string) {
	below := path + ":" + key
	switch key {
	case "script":
		j.Script = c.script(n, below)
	case "stage":
		if !n.is(text) {
			c.add(n, below, "config should be a string")
			return
		}
		j.Stage = n.text
	case "allow_failure":
		j.AllowFailure = c.allowFailure(n, path, j)
	case "coverage":
		j.Coverage = c.coverage(n, below)
	case "dependencies":
		j.Dependencies = c.texts(n, path, "dependencies should be an array of strings")
		if j.Dependencies == nil {
			j.Dependencies = []string{}
		}
		if len(j.Dependencies) > maxDependencies {
			c.add(n, path, "dependencies has too many entries (maximum %d)", maxDependencies)
		}
	case "environment":
		j.Environment = c.environment(n, below)
	case "extends":
		if bases, _ := basesOf(newHash(n.at, entry{key: "extends", value: n})); bases == nil {
			c.add(n, path, "extends should be an array of strings or a string")
		}
	case "needs":
		j.Needs = c.needs(n, below)
	case "only":
		j.Only = c.policy(n, below)
	case "except":
		j.Except = c.policy(n, below)
	case "pages":
		j.Pages = n.is(hash) || n.text == "true"
		if p := n.get("publish"); p.is(text) {
			j.Publish = p.text
		}
		c.deployment(j, n, below)
		if !n.is(hash, boolean) {
			c.add(n, below, "config should be a hash or a boolean value")
		}
	case "publish":
		j.Publish = c.text(n, path, "publish")
	case "parallel":
		j.Parallel = c.parallel(n, below)
	case "release":
		j.Release = c.release(n, below)
	case "resource_group":
		if j.ResourceGroup = c.text(n, path, "resource group"); len(j.ResourceGroup) > 255 {
			c.add(n, path, "resource group is too long (maximum is 255 characters)")
		}
	case "rules":
		j.Rules = c.rules(n, below, ruleOfJob)
	case "secrets":
		j.Secrets = c.secrets(n, below)
	case "start_in":
		j.StartIn = c.duration(n, path, "start in", week)
	case "trigger":
		j.Trigger = c.trigger(n, below)
	case "variables":
		j.Variables = c.variables(n, below, false)
	case "when":
		j.When = n.text
		if !slices.Contains([]string{OnSuccess, OnFailure, Always, Manual, Delayed}, n.text) || !n.is(text) {
			c.add(n, path, "when should be one of: on_success, on_failure, always, manual, delayed")
		}
	}
}

// deployment reads where a job of Pages deploys to, and for how long.
func (c *checker) deployment(j *Job, n *node, path string) {
	if p := n.get("path_prefix"); n.has("path_prefix") {
		j.PathPrefix = c.text(p, path, "path prefix")
	}
	if e := n.get("expire_in"); n.has("expire_in") {
		if _, _, err := ParseDuration(e.text); err != nil || !e.scalar() {
			c.add(e, path, "expire in should be a duration")
		}
		j.PagesExpireIn = e.text
	}
}

// together checks keywords against each other and fills what follows from them.
func (c *checker) together(j *Job, n *node, path string) {
	if n.has("rules") {
		var both []string
		for _, key := range []string{"only", "except"} {
			if n.has(key) {
				both = append(both, key)
			}
		}
		if both != nil {
			c.add(n.get(both[0]), path, "config key may not be used with `rules`: %s", strings.Join(both, ", "))
		}
	}
	if j.Trigger == nil && !n.has("script") {
		// A bridge that follows another project's pipeline.
		j.Trigger = &Trigger{YAML: true}
	}
	bridge := j.Trigger != nil
	switch {
	case bridge && j.When == Delayed:
		c.add(n.get("when"), path, "when should be one of: on_success, on_failure, always, manual")
	case bridge && j.AllowFailure.ExitCodes != nil:
		c.add(n.get("allow_failure"), path, "allow failure should be a boolean value")
	case bridge && j.Parallel != nil && j.Parallel.Count > 0:
		c.add(n.get("parallel"), path+":parallel", "should be a hash")
	}
	switch {
	case j.When == Delayed && !bridge && !n.has("start_in") && len(j.Rules) == 0:
		c.add(n, path, "start in should be a duration")
	case j.When != Delayed && n.has("start_in") && len(j.Rules) == 0:
		c.add(n.get("start_in"), path, "start in must be blank")
	}
	if !n.has("allow_failure") && j.When == Manual && !n.has("rules") {
		j.AllowFailure.Allowed = true
	}
	if j.Name == "pages" {
		j.Pages = true
	}
	if len(j.Dependencies) > 0 && j.Needs != nil {
		for _, d := range j.Dependencies {
			if !slices.ContainsFunc(j.Needs, func(need Need) bool { return need.Here() && need.Job == d }) {
				c.add(n.get("dependencies"), path, "dependencies the %s should be part of needs", d)
			}
		}
	}
	seen := map[string]bool{}
	for _, need := range j.Needs {
		key := need.Job + fmt.Sprint(need.Matrix)
		if need.Here() && seen[key] {
			p := problem(n.get("needs").at, "%s has the following needs duplicated: %s.", j.Name, need.Job)
			c.problems = append(c.problems, *p)
		}
		seen[key] = seen[key] || need.Here()
	}
}

func (c *checker) workflow(n *node) Workflow {
	var w Workflow
	if n.is(null) {
		return w
	}
	if !n.is(hash) {
		c.add(n, "workflow", "config should be a hash")
		return w
	}
	c.keys(n, "workflow", "name", "rules", "auto_cancel")
	if name := n.get("name"); name != nil {
		switch {
		case !name.is(text, null):
			c.add(name, "workflow", "name should be a string")
		case len([]rune(name.text)) > 255:
			c.add(name, "workflow", "name is too long (maximum is 255 characters)")
		}
		w.Name = name.text
	}
	if rules := n.get("rules"); rules != nil {
		w.Rules = c.rules(rules, "workflow:rules", ruleOfWorkflow)
	}
	if a := n.get("auto_cancel"); a != nil {
		w.AutoCancel = c.autoCancel(a, "workflow:auto_cancel")
	}
	return w
}

func (c *checker) autoCancel(n *node, path string) AutoCancel {
	var a AutoCancel
	if !n.is(hash) {
		c.add(n, path, "config should be a hash")
		return a
	}
	c.keys(n, path, "on_new_commit", "on_job_failure")
	if v := n.get("on_new_commit"); v != nil {
		if a.OnNewCommit = v.text; !slices.Contains([]string{"conservative", "interruptible", "none"}, v.text) {
			c.add(v, path, "on new commit must be one of: conservative, interruptible, none")
		}
	}
	if v := n.get("on_job_failure"); v != nil {
		if a.OnJobFailure = v.text; !slices.Contains([]string{"none", "all"}, v.text) {
			c.add(v, path, "on job failure must be one of: none, all")
		}
	}
	return a
}

type ruleKind uint8

const (
	ruleOfJob ruleKind = iota
	ruleOfWorkflow
	ruleOfInclude
)

// rules is never nil when rules are written: an empty list lets nothing in.
func (c *checker) rules(n *node, path string, kind ruleKind) []Rule {
	all := []Rule{}
	if !n.is(list) {
		c.add(n, path, "config should be an array containing hashes and arrays of hashes")
		return all
	}
	for _, item := range flatten(n, MaxReference) {
		if !item.is(hash) {
			c.add(item, path, "config should be an array containing hashes and arrays of hashes")
			continue
		}
		all = append(all, c.rule(item, path+":rule", kind))
	}
	return all
}

func (c *checker) rule(n *node, path string, kind ruleKind) Rule {
	n = n.written()
	r := Rule{Line: n.at.line}
	allowed := []string{"if", "changes", "exists", "when"}
	whens := []string{Always, Never}
	switch kind {
	case ruleOfJob:
		allowed = append(allowed, "start_in", "allow_failure", "variables", "needs", "interruptible")
		whens = []string{OnSuccess, OnFailure, Always, Never, Manual, Delayed}
	case ruleOfWorkflow:
		allowed = append(allowed, "variables", "auto_cancel")
	}
	c.keys(n, path, allowed...)
	for _, e := range n.entries {
		v := e.value
		switch e.key {
		case "if":
			r.If = c.expression(v, path, "if")
		case "changes":
			r.Changes = c.changes(v, path+":changes")
		case "exists":
			r.Exists = c.exists(v, path+":exists")
		case "when":
			if r.When = v.text; !slices.Contains(whens, v.text) || !v.is(text) {
				c.add(v, path, "when should be one of: %s", strings.Join(whens, ", "))
			}
		case "start_in":
			r.StartIn = c.duration(v, path, "start in", week)
		case "allow_failure":
			if !v.is(boolean) {
				c.add(v, path, "allow failure should be a boolean value")
			}
			r.AllowFailure = &AllowFailure{Allowed: v.text == "true"}
		case "variables":
			r.Variables = c.variables(v, path+":variables", false)
		case "needs":
			if kind == ruleOfJob {
				r.Needs = c.needs(v, path+":needs")
			}
		case "interruptible":
			b := c.boolean(v, path, "interruptible")
			r.Interruptible = &b
		case "auto_cancel":
			if kind == ruleOfWorkflow {
				r.AutoCancel = c.autoCancel(v, path+":auto_cancel")
			}
		}
	}
	switch {
	case r.When == Delayed && !n.has("start_in"):
		c.add(n, path, "start in should be a duration")
	case r.When != Delayed && n.has("start_in"):
		c.add(n.get("start_in"), path, "start in must be blank")
	}
	return r
}

func (c *checker) expression(n *node, path, attribute string) *Expression {
	if n.is(null) {
		return nil
	}
	if !n.is(text) {
		c.add(n, path, "%s should be a string", attribute)
		return nil
	}
	e, err := ParseExpression(n.text)
	if err != nil {
		c.add(n, path, "%s %s", attribute, err.Error())
	}
	return e
}

func (c *checker) globs(n *node, path string) []string {
	all := c.texts(n, path, "config should be an array of strings")
	if len(all) > MaxGlobs {
		c.add(n, path, "config has too many entries (maximum %d)", MaxGlobs)
	}
	return all
}

func (c *checker) changes(n *node, path string) *Changes {
	switch {
	case n.is(list):
		return &Changes{Paths: c.globs(n, path)}
	case n.is(hash):
		out := &Changes{}
		c.keys(n, path, "paths", "compare_to")
		if v := n.get("compare_to"); v != nil {
			out.CompareTo = c.text(v, path, "compare to")
		}
		if paths := n.get("paths"); paths.is(list) {
			out.Paths = c.globs(paths, path)
		} else {
			c.add(n, path, "paths should be an array of strings")
		}
		return out
	}
	c.add(n, path, "config should be an array or a hash")
	return nil
}

func (c *checker) exists(n *node, path string) *Exists {
	switch {
	case n.is(list):
		return &Exists{Paths: c.globs(n, path)}
	case n.is(hash):
		out := &Exists{}
		c.keys(n, path, "paths", "project", "ref")
		if paths := n.get("paths"); paths.is(list) {
			out.Paths = c.globs(paths, path)
		} else {
			c.add(n, path, "paths should be an array of strings")
		}
		if v := n.get("project"); v != nil {
			out.Project = c.text(v, path, "project")
		}
		if v := n.get("ref"); v != nil {
			if out.Ref = c.text(v, path, "ref"); out.Project == "" {
				c.add(v, path, "config the `project` keyword is required when `ref` is specified")
			}
		}
		return out
	}
	c.add(n, path, "config should be an array or a hash")
	return nil
}

var policyKeys = []string{"refs", "variables", "changes", "kubernetes"}

func (c *checker) policy(n *node, path string) *Policy {
	const refs = "should be an array of strings or regular expressions using re2 syntax"
	p := &Policy{}
	switch {
	case n.is(text):
		// A lone ref is a list of one.
		return c.policy(newList(n.at, n), path)
	case n.is(list):
		p.Refs = c.refs(n, path, "config "+refs)
		return p
	case !n.is(hash):
		c.add(n, path, "config should be either an array of strings or a hash")
		return nil
	}
	c.keys(n, path, policyKeys...)
	if v := n.get("refs"); v != nil {
		p.Refs = c.refs(v, path, "refs "+refs)
	}
	if v := n.get("variables"); v != nil {
		if !v.is(list) {
			c.add(v, path, "variables should be an array of strings")
		}
		p.Variables = []*Expression{}
		for _, item := range v.items {
			if e := c.expression(item, path, "variables"); e != nil {
				p.Variables = append(p.Variables, e)
			}
		}
	}
	if v := n.get("changes"); v != nil {
		p.Changes = c.texts(v, path, "changes should be an array of strings")
		if p.Changes == nil {
			p.Changes = []string{}
		}
	}
	if v := n.get("kubernetes"); v != nil {
		if p.Kubernetes = true; v.text != "active" {
			c.add(v, path, "kubernetes unknown value: %s", v.text)
		}
	}
	return p
}

func (c *checker) refs(n *node, path, text string) []string {
	all := c.texts(n, path, text)
	for _, ref := range all {
		if strings.HasPrefix(ref, "/") {
			name, _, _ := cutProject(ref)
			if _, ok := compileRegexp(name); !ok {
				c.add(n, path, "%s", text)
				break
			}
		}
	}
	if all == nil {
		all = []string{}
	}
	return all
}

// cutProject splits name@group/project. A pattern may hold an @ of its own before its last slash.
func cutProject(ref string) (name, project string, limited bool) {
	from := 0
	if strings.HasPrefix(ref, "/") {
		// The project has slashes too: the pattern ends at the first slash that is not escaped.
		if end := regexpEnd(ref); end > 0 {
			from = end
		}
	}
	i := strings.IndexByte(ref[from:], '@')
	if i < 0 {
		return ref, "", false
	}
	return ref[:from+i], ref[from+i+1:], true
}
