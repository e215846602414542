package ci

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/ciconfig"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/sorting"
	"stithy/internal/web/page"
)

const (
	// shownMerged is how much of a merged configuration a page shows.
	shownMerged   = 48 << 10
	shownLintJobs = 200
	shownProblems = 100
)

// lintBody is a configuration and what there is to say of it.
type lintBody struct {
	Form     *page.Form
	Own      *page.Form // checks what the project has
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

func showLintPage(x *request, code int, content string, result *lintResult) error {
	branch := x.Branch()
	return x.Show(code, x.Layout("Check a configuration", lintPath), lintPage(lintBody{
		Form: x.NewForm(x.At(lintPath), "Check", page.Field{
			Name: "content", Label: "Configuration", Type: page.Textarea, Value: content, Required: true,
			Hint: "It is checked as if it were pushed to " + branch + ". Nothing is run or kept.",
		}),
		Own: x.Button(x.At(lintPath), "Check what is on "+branch, page.Secondary, "").With("own",
			"1"), Branch: branch, Result: result, FilePath: x.deps.Pipelines.ConfigPath(x.Project),
	}))
}

func showLint(x *request) error { return showLintPage(x, http.StatusOK, "", nil) }

func lint(x *request) error {
	// As browsers send lines.
	content := strings.ReplaceAll(x.Form.Get("content"), "\r\n", "\n")
	q := pipeline.LintQuery{DryRun: true}
	if x.Form.Get("own") == "" {
		q.Content = &content
	}
	l, err := x.deps.Pipelines.Lint(x.Context(), x.Actor, x.Project, q)
	if fault.Is(err, fault.NotFound) && q.Content == nil {
		return showLintPage(x, http.StatusOK, "",
			&lintResult{Errors: []lintProblem{{Text: "The repository has no " + x.deps.Pipelines.ConfigPath(x.Project) + "."}}})
	}
	if err != nil {
		return err
	}
	return showLintPage(x, http.StatusOK, content, newLintResult(l, content))
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
	row := lintJob{Name: j.Name, Stage: j.Stage, When: strings.ReplaceAll(j.When, "_", " "), AllowFailure: j.AllowFailure.Allowed,
		Tags: j.Tags}
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
		row := lintProblem{Text: problemText(p), File: p.File, Line: p.Line, Column: p.Column}
		if p.File == "" && p.Line > 0 && p.Line <= len(lines) {
			row.Excerpt = cut(strings.TrimSpace(lines[p.Line-1]), 200)
		}
		rows = append(rows, row)
	}
	sorting.Stably(rows, func(a, b lintProblem) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	})
	return rows
}

// unknownFile stands before what is wrong with YAML, for clients that expect a file there.
const unknownFile = "(<unknown>): "

// problemText is what a problem is, without where: the page says that beside it.
func problemText(p ciconfig.Problem) string {
	return strings.TrimSuffix(strings.ReplaceAll(p.Message, unknownFile, ""), fmt.Sprintf(" at line %d column %d", p.Line, p.Column))
}

// whenText says when a job runs, and whether it may fail.
func (j lintJob) whenText() string {
	if j.AllowFailure {
		return j.When + ", may fail"
	}
	return j.When
}

// at is where a problem is.
func (p lintProblem) at() string {
	text := "Line " + strconv.Itoa(p.Line)
	if p.File != "" {
		text = p.File + ", line " + strconv.Itoa(p.Line)
	}
	if p.Column > 0 {
		text += ", column " + strconv.Itoa(p.Column)
	}
	return text
}
