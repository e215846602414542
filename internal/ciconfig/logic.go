package ciconfig

import (
	"fmt"
	"slices"
	"strings"
)

// partNames gives the names of the jobs that a definition becomes.
func (j *Job) partNames() []string {
	switch {
	case j.Parallel == nil:
		return []string{j.Name}
	case j.Parallel.Count > 0:
		all := make([]string, j.Parallel.Count)
		for i := range all {
			all[i] = fmt.Sprintf("%s %d/%d", j.Name, i+1, j.Parallel.Count)
		}
		return all
	}
	all := make([]string, 0, len(j.Parallel.Matrix))
	for _, row := range j.Parallel.Matrix {
		values := make([]string, len(row))
		for i, v := range row {
			values[i] = v.Value
		}
		all = append(all, fmt.Sprintf("%s: [%s]", j.Name, strings.Join(values, ", ")))
	}
	return all
}

const tooManyNeeds = "%s: one job can only need %d others, but you have listed %d. See needs keyword documentation for more details"

// logic checks jobs against each other.
func (c *Config) logic() []Problem {
	l := &logic{c: c, byName: map[string]*Job{}, stage: map[string]int{}}
	for i, s := range c.Stages {
		l.stage[s] = i
	}
	total := 0
	for i := range c.Jobs {
		j := &c.Jobs[i]
		parts := j.partNames()
		if total += len(parts); total > MaxJobs {
			return []Problem{{Message: fmt.Sprintf("Pipeline has too many jobs! Requested %d, but the limit is %d.", total, MaxJobs)}}
		}
		for _, name := range parts {
			if len([]rune(name)) > MaxJobName {
				l.add(j, "jobs:%s name is too long (maximum is %d characters)", j.Name, MaxJobName)
				break
			}
			l.byName[name] = j
		}
		l.byName[j.Name] = j
	}
	for i := range c.Jobs {
		l.job(&c.Jobs[i])
	}
	if len(l.problems) == 0 {
		l.cycles()
	}
	return l.problems
}

type logic struct {
	c        *Config
	byName   map[string]*Job
	stage    map[string]int
	problems []Problem
}

func (l *logic) add(j *Job, format string, args ...any) {
	if len(l.problems) < maxProblems {
		l.problems = append(l.problems, *problem(pos{file: j.File, line: j.Line, column: j.Column}, format, args...))
	}
}

func (l *logic) job(j *Job) {
	at, ok := l.stage[j.Stage]
	if !ok {
		l.add(j, "%s job: chosen stage does not exist; available stages are %s", j.Name, strings.Join(l.c.Stages, ", "))
		return
	}
	for _, d := range j.Dependencies {
		switch to := l.byName[d]; {
		case to == nil:
			l.add(j, "%s job: undefined dependency: %s", j.Name, d)
		case l.stage[to.Stage] > at:
			l.add(j, "%s job: dependency %s is not defined in current or prior stages", j.Name, d)
		}
	}
	l.needs(j, j.Needs, at)
	for i := range j.Rules {
		l.needs(j, j.Rules[i].Needs, at)
	}
	l.onStop(j)
}

func (l *logic) needs(j *Job, needs []Need, at int) {
	if len(needs) > MaxNeeds {
		l.add(j, tooManyNeeds, j.Name, MaxNeeds, len(needs))
		return
	}
	for _, n := range needs {
		if !n.Here() {
			continue
		}
		switch to := l.byName[n.Job]; {
		case to == nil && n.Optional:
		case to == nil:
			l.add(j, "%s job: undefined need: %s", j.Name, n.Job)
		case l.stage[to.Stage] > at:
			l.add(j, "%s job: need %s is not defined in current or prior stages", j.Name, n.Job)
		}
	}
}

func (l *logic) onStop(j *Job) {
	if j.Environment == nil || j.Environment.OnStop == "" {
		return
	}
	x := j.Environment.OnStop
	switch to := l.byName[x]; {
	case to == nil:
		l.add(j, "%s job: on_stop job %s is not defined", j.Name, x)
	case to.Environment == nil:
		l.add(j, "%s job: on_stop job %s does not have environment defined", j.Name, x)
	case to.Environment.Name != j.Environment.Name:
		l.add(j, "%s job: on_stop job %s have different environment name", j.Name, x)
	case to.Environment.Action != "stop":
		l.add(j, "%s job: on_stop job %s needs to have action stop defined", j.Name, x)
	}
}

// cycles looks for needs that lead back. Needs of rules count when rules are evaluated.
func (l *logic) cycles() {
	state := map[*Job]uint8{}
	var visit func(j *Job) bool
	visit = func(j *Job) bool {
		switch state[j] {
		case 1:
			return false
		case 2:
			return true
		}
		state[j] = 1
		for _, n := range j.Needs {
			if to := l.byName[n.Job]; n.Here() && to != nil && !visit(to) {
				return false
			}
		}
		state[j] = 2
		return true
	}
	for i := range l.c.Jobs {
		j := &l.c.Jobs[i]
		if slices.ContainsFunc(j.Needs, func(n Need) bool { return n.Here() && l.byName[n.Job] == j }) {
			l.add(j, "The pipeline has circular dependencies: self-dependency: %s", j.Name)
			return
		}
		if !visit(j) {
			l.add(j, "The pipeline has circular dependencies")
			return
		}
	}
}

// warn notes rules that end in a bare when: without workflow rules they let a push and its merge request both run.
func (c *Config) warn(help string) {
	if c.Workflow.Rules != nil {
		return
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if len(j.Rules) == 0 || len(c.Warnings) == MaxWarnings {
			continue
		}
		last := j.Rules[len(j.Rules)-1]
		if last.When == "" || last.When == Never || last.If != nil || last.Changes != nil || last.Exists != nil {
			continue
		}
		text := fmt.Sprintf("jobs:%s may allow multiple pipelines to run for a single action due to `rules:when` clause with no `workflow:rules`", j.Name)
		if help != "" {
			text += " - read more: " + help
		}
		c.Warnings = append(c.Warnings, Problem{Message: text, File: j.File, Line: last.Line, Column: j.Column})
	}
}
