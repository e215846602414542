package pipeline

import (
	"context"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
)

func (s *Service) lintEndpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/ci/lint", Needs: access.ReadCode, Summary: "Check the configuration of a project.",
		}, s.handleLint),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST /projects/{id}/ci/lint", Needs: access.CreatePipeline, Summary: "Check a configuration for a project.",
		}, s.handleLintContent),
	}
}

type includeForm struct {
	Type           string            `json:"type"`
	Location       string            `json:"location"`
	Blob           *string           `json:"blob"`
	Raw            *string           `json:"raw"`
	Extra          map[string]string `json:"extra"`
	ContextProject string            `json:"context_project"`
	ContextSHA     string            `json:"context_sha"`
}

type lintJob struct {
	Name         string              `json:"name"`
	Stage        string              `json:"stage"`
	BeforeScript []string            `json:"before_script"`
	Script       []string            `json:"script"`
	AfterScript  []string            `json:"after_script"`
	TagList      []string            `json:"tag_list"`
	Only         map[string][]string `json:"only"`
	Except       map[string][]string `json:"except"`
	Environment  *string             `json:"environment"`
	When         string              `json:"when"`
	AllowFailure bool                `json:"allow_failure"`
	Needs        []lintNeed          `json:"needs"`
}

type lintNeed struct {
	Name      string `json:"name"`
	Artifacts bool   `json:"artifacts"`
	Optional  bool   `json:"optional"`
}

type lintForm struct {
	Valid      bool          `json:"valid"`
	Errors     []string      `json:"errors"`
	Warnings   []string      `json:"warnings"`
	MergedYAML *string       `json:"merged_yaml"`
	Includes   []includeForm `json:"includes"`
	Jobs       []lintJob     `json:"jobs,omitempty"`
}

type lintParams struct {
	project.Ref
	SHA         string `param:"sha" doc:"Commit whose configuration is checked; the default branch when empty"`
	ContentRef  string `param:"content_ref" doc:"Same as sha"`
	DryRun      bool   `param:"dry_run" doc:"Also plan a pipeline"`
	IncludeJobs bool   `param:"include_jobs" doc:"Show the jobs"`
	RefName     string `param:"ref" doc:"Branch or tag that a pipeline is planned for"`
	DryRunRef   string `param:"dry_run_ref" doc:"Same as ref"`
}

func (s *Service) handleLint(ctx context.Context, call httpapi.Call[*project.Project, lintParams]) (lintForm, error) {
	in := call.Params
	q := LintQuery{Revision: first(in.SHA, in.ContentRef), Ref: first(in.RefName, in.DryRunRef), DryRun: in.DryRun}
	l, err := s.Lint(ctx, call.Actor, call.Subject, q)
	return lintAnswer(l, in.IncludeJobs, in.DryRun), err
}

type lintContentParams struct {
	project.Ref
	Content     string `param:"content" required:"true" bytes:"1048576" doc:"The configuration"`
	DryRun      bool   `param:"dry_run" doc:"Also plan a pipeline"`
	IncludeJobs bool   `param:"include_jobs" doc:"Show the jobs"`
	RefName     string `param:"ref" doc:"Branch or tag that a pipeline is planned for"`
}

func (s *Service) handleLintContent(ctx context.Context, call httpapi.Call[*project.Project, lintContentParams]) (lintForm, error) {
	in := call.Params
	l, err := s.Lint(ctx, call.Actor, call.Subject, LintQuery{Content: &in.Content, Ref: in.RefName, DryRun: in.DryRun})
	return lintAnswer(l, in.IncludeJobs, in.DryRun), err
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func lintAnswer(l *Lint, jobs, dry bool) lintForm {
	f := lintForm{Errors: []string{}, Warnings: []string{}, Includes: []includeForm{}}
	if l == nil {
		return f
	}
	f.Valid = len(l.Problems) == 0
	f.Errors = append(f.Errors, l.Problems...)
	if l.Config == nil {
		return f
	}
	for _, w := range l.Config.Warnings {
		f.Warnings = append(f.Warnings, w.Message)
	}
	if l.Merged != nil {
		f.MergedYAML = new(string(l.Merged))
	}
	for _, i := range l.Config.Includes {
		extra := i.Extra
		if extra == nil {
			extra = map[string]string{}
		}
		f.Includes = append(f.Includes, includeForm{
			Type: i.Type, Location: i.Location, Blob: filled(i.Blob), Raw: filled(i.Raw), Extra: extra, ContextProject: i.From.Project, ContextSHA: i.From.SHA,
		})
	}
	if !jobs || !f.Valid {
		return f
	}
	planned := l.Config.Jobs
	if dry && l.Plan != nil {
		planned = nil
		for _, j := range l.Plan.Jobs {
			planned = append(planned, j.Job)
		}
	}
	for i := range planned {
		f.Jobs = append(f.Jobs, newLintJob(&planned[i]))
	}
	return f
}

func newLintJob(j *ciconfig.Job) lintJob {
	f := lintJob{
		Name: j.Name, Stage: j.Stage, BeforeScript: listed(j.BeforeScript), Script: listed(j.Script), AfterScript: listed(j.AfterScript),
		TagList: listed(j.Tags), Only: policyForm(j.Only), Except: policyForm(j.Except), When: j.When, AllowFailure: j.AllowFailure.Allowed,
		Needs: []lintNeed{},
	}
	if j.Only == nil && j.Except == nil && j.Rules == nil {
		f.Only = map[string][]string{"refs": {"branches", "tags"}}
	}
	if j.Environment != nil {
		f.Environment = &j.Environment.Name
	}
	for _, n := range j.Needs {
		f.Needs = append(f.Needs, lintNeed{n.Job, n.Artifacts, n.Optional})
	}
	return f
}

func policyForm(p *ciconfig.Policy) map[string][]string {
	if p == nil {
		return nil
	}
	m := map[string][]string{}
	if p.Refs != nil {
		m["refs"] = p.Refs
	}
	if p.Changes != nil {
		m["changes"] = p.Changes
	}
	for _, v := range p.Variables {
		m["variables"] = append(m["variables"], v.String())
	}
	return m
}

func listed(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}
