package ci

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/pipeline"
	"stithy/internal/user"
	"stithy/internal/web/jobstatus"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// pipelinesPerPage is how many pipelines or jobs a page lists.
const pipelinesPerPage = 25

// pipelinesBody is one page of a project's pipelines.
type pipelinesBody struct {
	Action     page.URL
	Statuses   []page.Choice
	Ref        string
	Filtered   bool
	Pipelines  []pipelineRow
	Pager      page.Pager
	None       string // said where the filter leaves nothing
	ConfigPath string // for those who see that there is none
}

// pipelineRow is a pipeline in a list.
type pipelineRow struct {
	ID       int64
	URL      page.URL
	Title    string
	Ref, SHA string
	Tag      bool
	Source   string
	Status   ui.Status
	By       *user.Brief
	When     *page.DisplayTime
	Took     string
}

// statusFilters are the statuses that a list can be narrowed to.
func statusFilters(chosen pipeline.Status) []page.Choice {
	all := []page.Choice{{Value: "", Label: "All statuses", Chosen: chosen == ""}}
	for _, s := range pipeline.Statuses {
		all = append(all, page.Choice{Value: string(s), Label: jobstatus.Of(s).Text, Chosen: s == chosen})
	}
	return all
}

// askedStatus is the status that a list is narrowed to, if any, and whether there is such a one.
func askedStatus(x *request) (asked pipeline.Status, known bool) {
	asked = pipeline.Status(x.Form.Get("status"))
	return asked, asked == "" || slices.Contains(pipeline.Statuses, asked)
}

// noStatus says that a list cannot be narrowed to what was asked for.
func noStatus(asked pipeline.Status) string {
	return "There is no status “" + cut(string(asked), 100) + "”. Choose another, or all statuses."
}

func runForm(x *request) *page.Form {
	if !x.May(access.CreatePipeline) || x.Project.DefaultBranch == nil {
		return nil
	}
	return x.NewForm(x.At("pipelines"), "Run pipeline", page.Field{
		Name: "run", Label: "Branch or tag", Type: page.Text, Value: x.Branch(), Required: true, Length: 1024,
	})
}

func showPipelines(x *request) error { return pipelines(x, http.StatusOK, runForm(x)) }

func pipelines(x *request, code int, run *page.Form) error {
	req, err := x.ByCursor(pipelinesPerPage)
	if err != nil {
		return err
	}
	status, known := askedStatus(x)
	f := pipeline.Filter{Status: status, Ref: strings.TrimSpace(x.Form.Get("ref"))}
	var found paging.Result[pipeline.Pipeline]
	if known {
		if found, err = x.deps.Pipelines.List(x.Context(), x.Project.ID, f, req); err != nil {
			return err
		}
	}
	path := x.At("pipelines")
	body := pipelinesBody{
		Action: x.Link(path), Statuses: statusFilters(f.Status), Ref: f.Ref, Filtered: f.Status != "" || f.Ref != "" || req.Cursor != nil,
		ConfigPath: x.deps.Pipelines.ConfigPath(x.Project), None: "No pipeline matches. Try another branch, or all statuses.",
	}
	if !known {
		body.None = noStatus(status)
	}
	if body.Pipelines, err = newPipelineRows(x, found.Items); err != nil {
		return err
	}
	body.Pager = x.CursorPager(path, url.Values{"status": {string(f.Status)}, "ref": {f.Ref}}, req, found.Next)
	l := x.Layout("Pipelines", "pipelines")
	if run != nil {
		l.Actions = runMenu(run)
	}
	return x.Show(code, l, pipelinesPage(body))
}

// runPipeline starts a pipeline for a branch or tag.
func runPipeline(x *request) error {
	ref := strings.TrimSpace(x.Form.Get("run"))
	pl, err := x.deps.Pipelines.Create(x.Context(), x.Actor, x.Project, pipeline.CreateRequest{Source: pipeline.FromWeb, Ref: ref})
	if err == nil {
		return x.Done(pipelinePath(x, pl.ID), "Pipeline created.")
	}
	if errors.Is(err, pipeline.ErrNoRef) {
		err = fault.Field("run", "There is no branch or tag “%s”. Check how it is written, or push it first.", cut(ref, 100))
	}
	f := runForm(x)
	if f == nil {
		return err
	}
	if err := x.Refuse(f, err); err != nil {
		return err
	}
	return pipelines(x, http.StatusUnprocessableEntity, f)
}

func pipelinePath(x *request, id int64) string {
	return x.At("pipelines/" + strconv.FormatInt(id, 10))
}

// newPipelineRows are pipelines with their commits and whoever made them.
func newPipelineRows(x *request, pipelines []pipeline.Pipeline) ([]pipelineRow, error) {
	var all []*pipeline.Pipeline
	var ids, people []int64
	for i := range pipelines {
		all, ids = append(all, &pipelines[i]), append(ids, pipelines[i].ID)
		if id := pipelines[i].UserID; id != nil {
			people = append(people, *id)
		}
	}
	commits, err := commits(x, all...)
	if err != nil {
		return nil, err
	}
	briefs, err := x.deps.Users.Briefs(x.Context(), people...)
	if err != nil {
		return nil, err
	}
	warnings, err := x.deps.Pipelines.Warned(x.Context(), all...)
	if err != nil {
		return nil, err
	}
	ran, err := x.deps.Pipelines.Ran(x.Context(), ids...)
	if err != nil {
		return nil, err
	}
	rows := make([]pipelineRow, 0, len(all))
	for _, pl := range all {
		row := newPipelineRow(x, pl, commits[pl.SHA], briefs)
		if d, ok := ran[pl.ID]; ok {
			row.Took = ranFor(pl.Status, d)
		}
		if warnings[pl.ID] {
			row.Status = jobstatus.Warned
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// commits reads the commits of pipelines for those who may read code.
func commits(x *request, pipelines ...*pipeline.Pipeline) (map[string]*gitstore.Commit, error) {
	if !x.May(access.ReadCode) {
		return nil, nil
	}
	commits, err := x.deps.Pipelines.Commits(x.Context(), x.Project, pipelines...)
	if fault.Is(err, fault.Unavailable) {
		return nil, nil // what ran is shown, also while its code cannot be
	}
	return commits, err
}

// sourceWords say what made a pipeline.
var sourceWords = map[pipeline.Source]string{
	pipeline.FromPush: "by a push", pipeline.FromWeb: "on a page", pipeline.FromTrigger: "by a trigger token",
	pipeline.FromSchedule: "by a schedule",
	pipeline.FromAPI:      "over the API", pipeline.FromPipeline: "by a pipeline of another project", pipeline.FromParent: "by another pipeline",
}

func newPipelineRow(x *request, pl *pipeline.Pipeline, c *gitstore.Commit, people map[int64]user.Brief) pipelineRow {
	row := pipelineRow{
		ID: pl.ID, URL: x.Link(pipelinePath(x, pl.ID)), Ref: pl.Ref, Tag: pl.Tag, SHA: pl.SHA[:min(8,
			len(pl.SHA))], Status: jobstatus.Of(pl.Status),
		Source: sourceWords[pl.Source], When: x.Time(&pl.CreatedAt), Title: fmt.Sprintf("Pipeline #%d", pl.ID),
	}
	switch {
	case pl.Name != nil && *pl.Name != "":
		row.Title = *pl.Name
	case c != nil:
		if title, _, _ := strings.Cut(c.Message, "\n"); strings.TrimSpace(title) != "" {
			row.Title = cut(title, 200)
		}
	}
	if pl.UserID != nil {
		if b, there := people[*pl.UserID]; there {
			row.By = &b
		}
	}
	return row
}

// took says how long something ran, or has run so far.
func took(x *request, from, to *time.Time) string {
	if from == nil {
		return ""
	}
	if to == nil {
		return lasted(max(0, x.Clock.Now().Sub(*from))) + " so far"
	}
	return "took " + lasted(max(0, to.Sub(*from)))
}

// ranFor says for how long something of a pipeline ran. While it waits for somebody no clock runs.
func ranFor(st pipeline.Status, d time.Duration) string {
	switch {
	case st.Complete():
		return "took " + lasted(d)
	case st == pipeline.Running:
		return lasted(d) + " so far"
	}
	return "ran for " + lasted(d)
}

// lasted writes how long something took.
func lasted(d time.Duration) string {
	s := int(d.Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
}
