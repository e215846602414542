package web

import (
	"net/http"
	"slices"
	"strings"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
)

const lintPath = "ci/lint"

func (d *Door) lintPages() []page {
	return []page{
		{route: "GET /-/" + lintPath, needs: access.CreatePipeline, tab: "Lint", do: (*visit).showLint},
		{route: "POST /-/" + lintPath, needs: access.CreatePipeline, do: (*visit).lint},
	}
}

const (
	// shownMerged is how much of a merged configuration a page shows.
	shownMerged   = 48 << 10
	shownLintJobs = 200
	shownProblems = 100
)

// lintBody is a configuration and what there is to say of it.
type lintBody struct {
	Form     *form
	Own      *form // checks what the project has
	Branch   string
	Result   *lintResult
	FilePath string
}

type lintResult struct {
	Valid            bool
	Errors, Warnings []lintProblem
	Jobs             []lintJob
	MoreJobs         int
	Merged           string
	Cut              bool
}

// lintProblem is something to correct, with the line that it is about where
// that is known.
type lintProblem struct {
	Text, File   string
	Line, Column int
	Excerpt      string
}

type lintJob struct {
	Name, Stage, When string
	AllowFailure      bool
	Tags, Needs       []string
	Environment       string
	Manual            bool
}

func (x *visit) lintPage(code int, content string, result *lintResult) error {
	branch := x.Projects.BranchOf(x.project)
	return x.show(code, "lint", "Check a configuration", lintBody{
		Form: x.newForm(x.at(lintPath), "Check", field{
			Name: "content", Label: "Configuration", Type: "textarea", Value: content, Required: true, Hint: "It is checked as if it were pushed to " + branch + ". Nothing is run or kept.",
		}),
		Own: x.button(x.at(lintPath), "Check what is on "+branch, "", "").with("own", "1"), Branch: branch, Result: result, FilePath: x.Pipelines.ConfigPath(x.project),
	}, x.within(lintPath))
}

func (x *visit) showLint() error { return x.lintPage(http.StatusOK, "", nil) }

func (x *visit) lint() error {
	// As browsers send lines.
	content := strings.ReplaceAll(x.form.Get("content"), "\r\n", "\n")
	q := pipeline.LintQuery{DryRun: true}
	if x.form.Get("own") == "" {
		q.Content = &content
	}
	l, err := x.Pipelines.Lint(x.r.Context(), x.actor, x.project, q)
	if fault.Is(err, fault.NotFound) && q.Content == nil {
		return x.lintPage(http.StatusOK, "", &lintResult{Errors: []lintProblem{{Text: "The repository has no " + x.Pipelines.ConfigPath(x.project) + "."}}})
	}
	if err != nil {
		return err
	}
	return x.lintPage(http.StatusOK, content, newLintResult(l, content))
}

func newLintResult(l *pipeline.Lint, content string) *lintResult {
	r := &lintResult{Valid: len(l.Problems) == 0, Errors: lintProblems(l.Found, content)}
	if len(l.Found) == 0 {
		for _, text := range l.Problems[:min(len(l.Problems), shownProblems)] {
			r.Errors = append(r.Errors, lintProblem{Text: text})
		}
	}
	if l.Config == nil {
		return r
	}
	r.Warnings = lintProblems(l.Config.Warnings, content)
	r.Cut = len(l.Merged) > shownMerged
	r.Merged = strings.ToValidUTF8(string(l.Merged[:min(len(l.Merged), shownMerged)]), "")
	if !r.Valid {
		return r
	}
	jobs := l.Config.Jobs
	if l.Plan != nil {
		jobs = nil
		for _, j := range l.Plan.Jobs {
			jobs = append(jobs, j.Job)
		}
	}
	r.MoreJobs = max(0, len(jobs)-shownLintJobs)
	for i := range jobs[:len(jobs)-r.MoreJobs] {
		r.Jobs = append(r.Jobs, newLintJob(&jobs[i]))
	}
	return r
}

func newLintJob(j *ciconfig.Job) lintJob {
	row := lintJob{Name: j.Name, Stage: j.Stage, When: strings.ReplaceAll(j.When, "_", " "), AllowFailure: j.AllowFailure.Allowed, Tags: j.Tags}
	for _, n := range j.Needs {
		row.Needs = append(row.Needs, n.Job)
	}
	if j.Environment != nil {
		row.Environment = j.Environment.Name
	}
	return row
}

// lintProblems are problems with the lines that they are about.
func lintProblems(all []ciconfig.Problem, content string) []lintProblem {
	lines := strings.Split(content, "\n")
	rows := make([]lintProblem, 0, min(len(all), shownProblems))
	for _, p := range all[:min(len(all), shownProblems)] {
		row := lintProblem{Text: p.Message, File: p.File, Line: p.Line, Column: p.Column}
		if p.File == "" && p.Line > 0 && p.Line <= len(lines) {
			row.Excerpt = cut(strings.TrimSpace(lines[p.Line-1]), 200)
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b lintProblem) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	})
	return rows
}
