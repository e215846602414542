package ciconfig

import (
	"fmt"
	"slices"
	"strings"

	"stithy/internal/platform/sorting"
)

// Texts of pipelines that are not made.
const (
	TextFiltered = "Pipeline filtered out by workflow rules."
	TextNoJobs   = "Pipeline will not run for the selected trigger. The rules configuration prevented any jobs from being added to the pipeline."
)

// asked keeps what the functions of Facts answered.
type asked struct {
	facts    *Facts
	changes  *diff
	from     map[string]diff
	exists   map[string]bool
	existsAt map[[3]string][2]bool
}

type diff struct {
	paths []string
	known bool
}

func newAsked(f *Facts) *asked {
	return &asked{facts: f, from: map[string]diff{}, exists: map[string]bool{}, existsAt: map[[3]string][2]bool{}}
}

func (a *asked) changed() diff {
	if a.changes == nil {
		a.changes = &diff{}
		if a.facts.Changes != nil {
			a.changes.paths, a.changes.known = a.facts.Changes()
		}
	}
	return *a.changes
}

func (a *asked) changedFrom(ref string) diff {
	d, ok := a.from[ref]
	if !ok && a.facts.ChangesFrom != nil {
		d.paths, d.known = a.facts.ChangesFrom(ref)
		a.from[ref] = d
	}
	return d
}

func (a *asked) exist(glob string) bool {
	found, ok := a.exists[glob]
	if !ok && a.facts.Exists != nil {
		found = a.facts.Exists(glob)
		a.exists[glob] = found
	}
	return found
}

func (a *asked) existAt(project, ref, glob string) (found, known bool) {
	key := [3]string{project, ref, glob}
	got, ok := a.existsAt[key]
	if !ok && a.facts.ExistsAt != nil {
		got[0], got[1] = a.facts.ExistsAt(project, ref, glob)
		a.existsAt[key] = got
	}
	return got[0], got[1]
}

// evaluation asks rules with the variables of one job, or of none.
type evaluation struct {
	*asked
	scope *scope
}

func (e *evaluation) matches(r *Rule) (bool, *Problem) {
	if r.If != nil && !r.If.Holds(e.scope.value) {
		return false, nil
	}
	if r.Changes != nil {
		if ok, p := e.changesMatch(r); !ok {
			return false, p
		}
	}
	if r.Exists != nil {
		return e.existsMatch(r)
	}
	return true, nil
}

func (e *evaluation) changesMatch(r *Rule) (bool, *Problem) {
	var d diff
	if r.Changes.CompareTo != "" {
		if d = e.changedFrom(e.scope.expand(r.Changes.CompareTo)); !d.known {
			return false, &Problem{Message: "rules:changes:compare_to is not a valid ref", Line: r.Line}
		}
	} else if d = e.changed(); !d.known {
		return true, nil
	}
	return anyMatches(e.expanded(r.Changes.Paths), d.paths), nil
}

func (e *evaluation) existsMatch(r *Rule) (bool, *Problem) {
	if r.Exists.Project == "" {
		return slices.ContainsFunc(e.expanded(r.Exists.Paths), e.exist), nil
	}
	project, ref := e.scope.expand(r.Exists.Project), e.scope.expand(r.Exists.Ref)
	for _, glob := range e.expanded(r.Exists.Paths) {
		switch found, known := e.existAt(project, ref, glob); {
		case !known && ref != "":
			return false, &Problem{Message: fmt.Sprintf("rules:exists:ref `%s` is not a valid ref in project `%s`", r.Exists.Ref, r.Exists.Project), Line: r.Line}
		case !known:
			return false, &Problem{Message: fmt.Sprintf("rules:exists:project `%s` is not a valid project path", r.Exists.Project), Line: r.Line}
		case found:
			return true, nil
		}
	}
	return false, nil
}

func (e *evaluation) expanded(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = e.scope.expand(s)
	}
	return out
}

// words says what a rule asks for.
func (r *Rule) words() string {
	var parts []string
	if r.If != nil {
		parts = append(parts, "if "+r.If.String())
	}
	if r.Changes != nil {
		parts = append(parts, "changes "+strings.Join(r.Changes.Paths, ", "))
	}
	if r.Exists != nil {
		parts = append(parts, "exists "+strings.Join(r.Exists.Paths, ", "))
	}
	if parts == nil {
		return "it has no condition"
	}
	return shortened(strings.Join(parts, " and "), 300)
}

// planner makes one plan.
type planner struct {
	c        *Config
	asked    *asked
	plan     *Plan
	problems []Problem
	below    map[string]Variable // predefined
	above    map[string]Variable
	of       map[string]map[string]Variable // above, by environment
	workflow Variables                      // of the workflow rule that matched
	planned  int
	broken   bool
}

func (c *Config) plan(facts Facts) (*Plan, []Problem) {
	p := &planner{
		c: c, asked: newAsked(&facts), plan: &Plan{}, below: layer(facts.Predefined), above: layer(facts.Variables),
		of: map[string]map[string]Variable{},
	}
	if !p.start() {
		return p.plan, p.problems
	}
	for i := range c.Jobs {
		p.definition(&c.Jobs[i])
	}
	if p.broken {
		p.plan.Outcome = Broken
		return p.plan, p.problems
	}
	runs := slices.ContainsFunc(p.plan.Jobs, func(j PlannedJob) bool { return j.Stage != ".pre" && j.Stage != ".post" })
	if !runs {
		for _, j := range p.plan.Jobs {
			p.plan.Why = append(p.plan.Why, LeftOut{Job: j.Name, Text: "A pipeline needs a job outside of .pre and .post.", Line: j.Line})
		}
		p.plan.Jobs = nil
		p.plan.Outcome = NoJobs
		return p.plan, nil
	}
	p.stages()
	p.needs()
	if p.broken {
		p.plan.Outcome = Broken
	}
	return p.plan, p.problems
}

func (p *planner) fail(problem Problem) {
	p.broken = true
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, problem)
	}
}

// start asks the workflow.
func (p *planner) start() bool {
	global := layer(p.c.Variables)
	e := evaluation{asked: p.asked, scope: newScope(p.below, global, p.above)}
	w := &p.c.Workflow
	p.plan.AutoCancel = w.AutoCancel
	if w.Rules != nil {
		i, failure := e.first(w.Rules)
		switch {
		case failure != nil:
			p.plan.Outcome = Broken
			p.fail(*failure)
			return false
		case i < 0 || w.Rules[i].When == Never:
			p.plan.Outcome = Filtered
			p.plan.Why = []LeftOut{leftOut("", "workflow rule", w.Rules, i)}
			return false
		}
		p.workflow = w.Rules[i].Variables
		if a := w.Rules[i].AutoCancel; a.OnNewCommit != "" {
			p.plan.AutoCancel.OnNewCommit = a.OnNewCommit
		}
		if a := w.Rules[i].AutoCancel; a.OnJobFailure != "" {
			p.plan.AutoCancel.OnJobFailure = a.OnJobFailure
		}
	}
	p.plan.Variables = join(p.c.Variables, p.workflow)
	// More people see the name than may see the variables: masked ones stay references.
	named := newScope(p.below, global, layer(p.workflow), layer(p.asked.facts.Variables.unmasked()))
	p.plan.Name = strings.TrimSpace(named.expand(w.Name))
	if r := []rune(p.plan.Name); len(r) > 255 {
		p.plan.Name = string(r[:255])
	}
	return true
}

// first gives the first rule that matches, or -1.
func (e *evaluation) first(rules []Rule) (int, *Problem) {
	for i := range rules {
		ok, p := e.matches(&rules[i])
		if p != nil {
			return 0, p
		}
		if ok {
			return i, nil
		}
	}
	return -1, nil
}

func leftOut(job, kind string, rules []Rule, i int) LeftOut {
	switch {
	case i >= 0:
		return LeftOut{
			Job: job, Rule: i + 1, Line: rules[i].Line,
			Text: fmt.Sprintf("The %s number %d matched and says never: %s.", kind, i+1, rules[i].words()),
		}
	case len(rules) == 0:
		return LeftOut{Job: job, Text: fmt.Sprintf("There is no %s, and without one nothing is added.", kind)}
	case len(rules) == 1:
		return LeftOut{Job: job, Line: rules[0].Line, Text: fmt.Sprintf("The only %s did not match: %s.", kind, rules[0].words())}
	}
	return LeftOut{Job: job, Line: rules[0].Line, Text: fmt.Sprintf("None of the %d %ss matched.", len(rules), kind)}
}

// maxPlanned bounds the variables of all jobs of a plan together.
const maxPlanned = 500_000

// definition adds the jobs that one definition becomes here.
func (p *planner) definition(j *Job) {
	if p.planned > maxPlanned {
		return
	}
	global := p.inherited(j)
	if j.Parallel == nil || j.Parallel.Matrix == nil {
		// The parts differ in nothing that a rule could ask.
		planned := PlannedJob{Job: *j, Group: j.Name, NodeTotal: 1}
		planned.YAMLVariables = p.over(global, j.Variables)
		if p.planned > maxPlanned || !p.admit(&planned) {
			return
		}
		for i, name := range j.partNames() {
			planned.Name = name
			if j.Parallel != nil {
				planned.NodeIndex, planned.NodeTotal = i+1, j.Parallel.Count
			}
			p.plan.Jobs = append(p.plan.Jobs, planned.own())
		}
		return
	}
	for i, name := range j.partNames() {
		if p.planned > maxPlanned {
			return
		}
		planned := PlannedJob{Job: *j, Group: j.Name, NodeIndex: i + 1, NodeTotal: len(j.Parallel.Matrix)}
		planned.Name = name
		planned.YAMLVariables = p.over(global, j.Variables, j.Parallel.Matrix[i])
		if p.planned <= maxPlanned && p.admit(&planned) {
			p.plan.Jobs = append(p.plan.Jobs, planned.own())
		}
	}
}

// own gives a job the parts that who stores it expands in place.
func (j PlannedJob) own() PlannedJob {
	j.Tags = slices.Clone(j.Tags)
	if j.Environment != nil {
		e := *j.Environment
		j.Environment = &e
	}
	return j
}

// over lays a job's lists over the global ones, within the bound.
func (p *planner) over(global Variables, lists ...Variables) Variables {
	own := 0
	for _, l := range lists {
		own += len(l)
	}
	if own == 0 {
		return global
	}
	if p.planned += len(global) + own; p.planned > maxPlanned {
		p.fail(Problem{Message: "The jobs of this pipeline have too many variables"})
		return nil
	}
	return join(append([]Variables{global}, lists...)...)
}

func (p *planner) inherited(j *Job) Variables {
	if j.Inherit.Variables.All {
		return p.plan.Variables
	}
	var some Variables
	for _, v := range p.plan.Variables {
		if slices.Contains(j.Inherit.Variables.Names, v.Key) {
			some = append(some, v)
		}
	}
	return some
}

// admit asks the job's rules, only and except, and applies what they say.
func (p *planner) admit(j *PlannedJob) bool {
	s := newScope(p.below, layer(j.YAMLVariables), p.aboveFor(j))
	e := evaluation{asked: p.asked, scope: s}
	if j.Rules == nil {
		return p.policies(j, &e)
	}
	i, failure := e.first(j.Rules)
	switch {
	case failure != nil:
		failure.Message = "Failed to parse rule for " + j.Name + ": " + failure.Message
		failure.File = j.File
		p.fail(*failure)
		return false
	case i < 0 || j.Rules[i].When == Never:
		p.plan.Why = append(p.plan.Why, leftOut(j.Name, "rule", j.Rules, i))
		return false
	}
	r := &j.Rules[i]
	j.Because = fmt.Sprintf("The rule number %d matched: %s.", i+1, r.words())
	if r.When != "" {
		j.When, j.StartIn = r.When, r.StartIn
	}
	if r.AllowFailure != nil {
		j.AllowFailure = *r.AllowFailure
	}
	if r.Needs != nil {
		j.Needs = r.Needs
	}
	if r.Interruptible != nil {
		j.Interruptible = *r.Interruptible
	}
	j.YAMLVariables = p.over(j.YAMLVariables, r.Variables)
	return p.planned <= maxPlanned
}

func (p *planner) aboveFor(j *PlannedJob) map[string]Variable {
	facts := p.asked.facts
	if j.Environment == nil || facts.ForEnvironment == nil {
		return p.above
	}
	name := newScope(p.below, layer(j.YAMLVariables), p.above).expand(j.Environment.Name)
	vars, ok := p.of[name]
	if !ok {
		vars = layer(facts.ForEnvironment(name))
		p.of[name] = vars
	}
	return vars
}

var anyRef = []string{"branches", "tags"}

func (p *planner) policies(j *PlannedJob, e *evaluation) bool {
	out := func(format string, args ...any) bool {
		p.plan.Why = append(p.plan.Why, LeftOut{Job: j.Name, Line: j.Line, Text: fmt.Sprintf(format, args...)})
		return false
	}
	facts := p.asked.facts
	only := j.Only
	if only == nil {
		only = &Policy{}
	}
	refs := only.Refs
	if refs == nil {
		refs = anyRef
	}
	if !slices.ContainsFunc(refs, facts.meets) {
		if j.Only == nil {
			return out("It has no rules, and such jobs run for branches and tags only.")
		}
		return out("`only` lets in %s, and this is %s.", strings.Join(refs, ", "), facts.words())
	}
	if only.Variables != nil && !e.any(only.Variables) {
		return out("None of the expressions of `only: variables` holds.")
	}
	if only.Changes != nil && !e.anyChange(only.Changes) {
		return out("`only: changes` names no path that changed.")
	}
	if only.Kubernetes && !facts.Kubernetes {
		return out("`only: kubernetes` asks for a cluster, and there is none.")
	}
	j.Because = "`only` lets it in."
	if j.Only == nil {
		j.Because = NoRules
	}
	if x := j.Except; x != nil {
		switch {
		case slices.ContainsFunc(x.Refs, facts.meets):
			return out("`except` leaves out %s, and this is %s.", strings.Join(x.Refs, ", "), facts.words())
		case x.Variables != nil && e.any(x.Variables):
			return out("An expression of `except: variables` holds.")
		case x.Changes != nil && e.anyChange(x.Changes):
			return out("`except: changes` names a path that changed, or there is nothing to compare with.")
		case x.Kubernetes && facts.Kubernetes:
			return out("`except: kubernetes` leaves it out, because there is a cluster.")
		}
	}
	return true
}

func (e *evaluation) any(all []*Expression) bool {
	return slices.ContainsFunc(all, func(x *Expression) bool { return x.Holds(e.scope.value) })
}

func (e *evaluation) anyChange(globs []string) bool {
	d := e.changed()
	return !d.known || anyMatches(e.expanded(globs), d.paths)
}

func (f *Facts) mergeRequest() bool { return f.Source == "merge_request_event" }

func (f *Facts) words() string {
	kind := "branch"
	switch {
	case f.mergeRequest():
		kind = "merge request"
	case f.Tag:
		kind = "tag"
	}
	return fmt.Sprintf("%s %s by %s", kind, f.Ref, f.Source)
}

// plurals are the words of only and except for sources that do not just take an s.
var plurals = map[string]string{
	"push": "pushes", "merge_request_event": "merge_requests", "external_pull_request_event": "external_pull_requests", "external": "external",
}

// meets asks one entry of only or except.
func (f *Facts) meets(pattern string) bool {
	name, project, limited := cutProject(pattern)
	if limited && project != f.Project {
		return false
	}
	switch name {
	case "branches":
		return !f.Tag && !f.mergeRequest()
	case "tags":
		return f.Tag
	}
	plural, ok := plurals[f.Source]
	if !ok {
		plural = f.Source + "s"
	}
	if name == plural || name == f.Source {
		return true
	}
	if re, ok := compileRegexp(name); ok {
		return re.MatchString(f.Ref)
	}
	return name == f.Ref
}

// stages drops the empty ones and orders the jobs by them.
func (p *planner) stages() {
	index := map[string]int{}
	for _, s := range p.c.Stages {
		if slices.ContainsFunc(p.plan.Jobs, func(j PlannedJob) bool { return j.Stage == s }) {
			index[s] = len(p.plan.Stages)
			p.plan.Stages = append(p.plan.Stages, s)
		}
	}
	for i := range p.plan.Jobs {
		p.plan.Jobs[i].StageIndex = index[p.plan.Jobs[i].Stage]
	}
	sorting.Stably(p.plan.Jobs, func(a, b PlannedJob) int { return a.StageIndex - b.StageIndex })
}

// needs turns names of definitions into names of jobs.
func (p *planner) needs() {
	here := map[string][]*PlannedJob{}
	for i := range p.plan.Jobs {
		j := &p.plan.Jobs[i]
		here[j.Group] = append(here[j.Group], j)
		if j.Name != j.Group {
			here[j.Name] = append(here[j.Name], j)
		}
	}
	fetched := map[string][]string{}
	for i := range p.plan.Jobs {
		j := &p.plan.Jobs[i]
		if j.Dependencies != nil {
			if _, ok := fetched[j.Group]; !ok {
				fetched[j.Group] = dependencies(j.Dependencies, here)
			}
			j.Dependencies = fetched[j.Group]
		}
		if j.Needs == nil {
			continue
		}
		j.Needed = []Need{}
		seen := map[string]bool{}
		for _, n := range j.Needs {
			if !n.Here() {
				continue
			}
			found := found(j, n, here[n.Job])
			if len(found) == 0 && !n.Optional {
				p.fail(*problem(pos{file: j.File, line: j.Line, column: j.Column},
					"'%s' job needs '%s' job, but '%s' is not in any previous stage", j.Name, n.Job, n.Job))
			}
			for _, to := range found {
				if !seen[to.Name] {
					seen[to.Name] = true
					j.Needed = append(j.Needed, Need{Job: to.Name, Artifacts: n.Artifacts, Optional: n.Optional})
				}
			}
		}
		if len(j.Needed) > MaxNeeds {
			p.fail(*problem(pos{file: j.File, line: j.Line, column: j.Column}, tooManyNeeds, j.Name, MaxNeeds, len(j.Needed)))
			return
		}
	}
	if !p.broken {
		p.loops(here)
	}
}

func dependencies(names []string, here map[string][]*PlannedJob) []string {
	out := []string{}
	seen := map[string]bool{}
	for _, name := range names {
		for _, to := range here[name] {
			if !seen[to.Name] {
				seen[to.Name] = true
				out = append(out, to.Name)
			}
		}
	}
	return out
}

// found picks the jobs that a need means, and of a matrix those that it asks for. A job of a later stage is none.
func found(j *PlannedJob, n Need, all []*PlannedJob) []*PlannedJob {
	var out []*PlannedJob
	for _, to := range all {
		if to.StageIndex > j.StageIndex {
			continue
		}
		if n.Matrix != nil && (to.Parallel == nil || !slices.ContainsFunc(n.Matrix, func(row Variables) bool { return sameRow(row, to) })) {
			continue
		}
		out = append(out, to)
	}
	return out
}

func sameRow(row Variables, j *PlannedJob) bool {
	if j.NodeIndex == 0 || j.NodeIndex > len(j.Parallel.Matrix) {
		return false
	}
	own := j.Parallel.Matrix[j.NodeIndex-1]
	if len(own) != len(row) {
		return false
	}
	for _, v := range row {
		if o, ok := own.Lookup(v.Key); !ok || o.Value != v.Value {
			return false
		}
	}
	return true
}

// loops looks for needs that rules brought and that lead back.
func (p *planner) loops(here map[string][]*PlannedJob) {
	state := map[string]uint8{}
	var visit func(j *PlannedJob) bool
	visit = func(j *PlannedJob) bool {
		switch state[j.Name] {
		case 1:
			return false
		case 2:
			return true
		}
		state[j.Name] = 1
		for _, n := range j.Needed {
			for _, to := range here[n.Job] {
				if to.Name == n.Job && !visit(to) {
					return false
				}
			}
		}
		state[j.Name] = 2
		return true
	}
	for i := range p.plan.Jobs {
		if !visit(&p.plan.Jobs[i]) {
			p.fail(Problem{Message: "The pipeline has circular dependencies"})
			return
		}
	}
}
