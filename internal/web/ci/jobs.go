package ci

import (
	"net/http"
	"net/url"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
	"stithy/internal/pipeline"
	"stithy/internal/runner"
	"stithy/internal/web/jobstatus"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// jobRow is a job in a list.
type jobRow struct {
	ID         int64
	Name       string
	Stage      string
	URL        page.URL // empty where there is no page: a trigger whose pipeline may not be seen
	Status     ui.Status
	Why        string   // it has not run, or failed
	Register   page.URL // follows where a runner is all that it waits for
	Tags       []string
	Took       string
	When       *page.DisplayTime
	Retried    bool
	Downstream *pipelineLink // of a trigger
	Pipeline   *pipelineRow  // in a list of the project's
	Acts       []jobAct
}

// jobAct is something that can be done to a job: a button of the form around
// the list.
type jobAct struct {
	ID, Label, Path string
	URL             page.URL
}

// look is that of the button. To start a job is what its reader came for.
func (a jobAct) look() string {
	if a.Label == "Start" {
		return "small"
	}
	return "small plain"
}

// emphasis is the look of the button on the page of the job, where it stands alone.
func (a jobAct) emphasis() page.Look {
	if a.Label == "Cancel" {
		return page.Danger
	}
	return page.Primary
}

func jobPath(x *request, id int64) string { return x.At("jobs/" + strconv.FormatInt(id, 10)) }

// jobActs are what can be done to a job by somebody who may change it.
func jobActs(x *request, j *pipeline.Job) []jobAct {
	if x.deps.Pipelines.Archived(j) {
		return nil
	}
	var acts []jobAct
	add := func(act, label string) {
		path := jobPath(x, j.ID) + "/" + act
		acts = append(acts, jobAct{ID: act + "-" + strconv.FormatInt(j.ID, 10), Label: label, Path: path, URL: x.Link(path)})
	}
	switch {
	case j.Playable() && !j.Status.Ended():
		add("play", "Start")
	case j.Retryable():
		add("retry", "Retry")
	}
	if !j.Status.Complete() && j.Status != pipeline.Manual {
		add("cancel", "Cancel")
	}
	return acts
}

// mayNotStart adds, to why a job waits, who may start it.
func mayNotStart(x *request, j *pipeline.Job, pl *pipeline.Pipeline, why string) string {
	switch {
	case j.Status != pipeline.Manual || x.deps.Pipelines.Archived(j):
		return why
	case x.May(access.UpdateJobs):
		return why + " You may not: " + pl.Ref + " is protected, and you may not update it."
	}
	return why + " Developers of the project can start it."
}

// unserved says who registers a runner where that is what a job waits for, and to those who may, where.
func unserved(x *request, why string) (text string, register page.URL) {
	if why != runner.NobodyServes {
		return why, ""
	}
	const nobody = "No runner serves this project. "
	if x.May(access.CreateProjectRunner) && x.May(access.AdminProjectRunners) && x.May(access.AdminProjectVariables) {
		return nobody, x.LinkTo(settingsPath) + "#runners"
	}
	return nobody + "Owners of the project can register one.", ""
}

// newJobRows are some jobs of a pipeline as its page shows them. latest are all of
// them, and decide why one has not run.
func newJobRows(x *request, pl *pipeline.Pipeline, latest, shown []pipeline.Job, may bool) ([]jobRow, error) {
	whys, err := x.deps.Pipelines.Whys(x.Context(), x.Project, pl, latest, shown...)
	if err != nil {
		return nil, err
	}
	var below []int64
	for _, j := range shown {
		if j.DownstreamID != nil {
			below = append(below, *j.DownstreamID)
		}
	}
	children, err := x.deps.Pipelines.ByIDs(x.Context(), below...)
	if err != nil {
		return nil, err
	}
	rows := make([]jobRow, 0, len(shown))
	for i := range shown {
		j := &shown[i]
		row := newJobRow(x, j)
		row.Why = whys[j.ID]
		if may {
			row.Acts = jobActs(x, j)
		} else {
			row.Why = mayNotStart(x, j, pl, row.Why)
		}
		row.Why, row.Register = unserved(x, row.Why)
		if j.DownstreamID != nil {
			if row.Downstream, err = newPipelineLink(x, children[*j.DownstreamID]); err != nil {
				return nil, err
			}
		}
		if row.Downstream != nil {
			row.URL = row.Downstream.URL
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func newJobRow(x *request, j *pipeline.Job) jobRow {
	row := jobRow{
		ID: j.ID, Name: j.Name, Stage: j.Stage, Status: jobstatus.OfJob(j), Tags: j.Tags, Took: took(x, j.StartedAt,
			j.FinishedAt), When: x.Time(&j.CreatedAt),
		Retried: j.Retried,
	}
	if !j.Bridge {
		row.URL = x.Link(jobPath(x, j.ID))
	}
	return row
}

// jobsBody is one page of a project's jobs.
type jobsBody struct {
	Action   page.URL
	Statuses []page.Choice
	Pipeline *pipelineRow // whose jobs they are, when one was asked for
	Filtered bool
	Jobs     []jobRow
	Pager    page.Pager
	None     string // said where the filter leaves nothing
}

func showJobs(x *request) error {
	ctx := x.Context()
	req, err := x.ByCursor(pipelinesPerPage)
	if err != nil {
		return err
	}
	asked, known := askedStatus(x)
	f := pipeline.JobFilter{Retried: true}
	if asked != "" {
		f.Statuses = []pipeline.Status{asked}
	}
	body := jobsBody{
		Action: x.LinkTo("jobs"), Statuses: statusFilters(asked), Filtered: asked != "" || req.Cursor != nil,
		None: "No job matches. Try all statuses.",
	}
	if !known {
		body.None = noStatus(asked)
	}
	filter := url.Values{"status": {string(asked)}}
	if text := x.Form.Get("pipeline"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fault.New(fault.NotFound)
		}
		pl, err := x.deps.Pipelines.Find(ctx, x.Project.ID, id)
		if err != nil {
			return err
		}
		body.Pipeline, f.PipelineID, filter["pipeline"], body.Filtered = new(newPipelineRow(x, pl, nil, nil)), id, []string{text}, true
	}
	var found paging.Result[pipeline.Job]
	if known {
		if found, err = x.deps.Pipelines.Jobs(ctx, x.Project.ID, f, req); err != nil {
			return err
		}
	}
	var ids []int64
	for _, j := range found.Items {
		ids = append(ids, j.PipelineID)
	}
	pipelines, err := x.deps.Pipelines.ByIDs(ctx, ids...)
	if err != nil {
		return err
	}
	for i := range found.Items {
		row := newJobRow(x, &found.Items[i])
		if pl := pipelines[found.Items[i].PipelineID]; pl != nil {
			row.Pipeline = new(newPipelineRow(x, pl, nil, nil))
		}
		body.Jobs = append(body.Jobs, row)
	}
	body.Pager = x.CursorPager(x.At("jobs"), filter, req, found.Next)
	return x.Show(http.StatusOK, x.Layout("Jobs", "jobs"), jobsPage(body))
}

// changeJob starts, retries or cancels a job, and goes back to its pipeline; or
// to the job itself, where the form says so.
func changeJob(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	var j *pipeline.Job
	var said string
	ctx := x.Context()
	switch x.R.PathValue("act") {
	case "play":
		j, err = x.deps.Pipelines.PlayJob(ctx, x.Actor, x.Project, id, nil)
		said = " is started."
	case "retry":
		j, err = x.deps.Pipelines.RetryJob(ctx, x.Actor, x.Project, id)
		said = " runs again."
	case "cancel":
		j, err = x.deps.Pipelines.CancelJob(ctx, x.Actor, x.Project, id)
		said = " is canceled."
	default:
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	if x.Form.Get("back") == "job" && !j.Bridge {
		return x.Done(jobPath(x, j.ID), j.Name+said)
	}
	return x.Done(pipelinePath(x, j.PipelineID), j.Name+said)
}
