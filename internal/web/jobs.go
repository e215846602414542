package web

import (
	"net/http"
	"net/url"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
)

func (d *Door) jobPages() []page {
	return []page{
		{route: "GET /-/jobs", needs: access.ViewJobs, do: (*visit).showJobs, tab: "Jobs"},
		{route: "POST /-/jobs/{id}/{act}", needs: access.UpdateJobs, do: (*visit).changeJob},
	}
}

// jobRow is a job in a list.
type jobRow struct {
	ID         int64
	Name       string
	Stage      string
	Path       string // empty where there is no page: a trigger whose pipeline may not be seen
	Status     status
	Why        string // it has not run, or failed
	Tags       []string
	Took       string
	When       *moment
	Retried    bool
	Downstream *pipelineLink // of a trigger
	Pipeline   *pipelineRow  // in a list of the project's
	Acts       []jobAct
}

// jobAct is something that can be done to a job: a button of the form around
// the list.
type jobAct struct {
	ID, Label, Path string
}

func (x *visit) jobPath(id int64) string { return x.at("jobs/" + strconv.FormatInt(id, 10)) }

// jobActs are what can be done to a job by somebody who may change it.
func (x *visit) jobActs(j *pipeline.Job) []jobAct {
	if x.Pipelines.Archived(j) {
		return nil
	}
	var acts []jobAct
	add := func(act, label string) {
		acts = append(acts, jobAct{ID: act + "-" + strconv.FormatInt(j.ID, 10), Label: label, Path: x.jobPath(j.ID) + "/" + act})
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
func (x *visit) mayNotStart(j *pipeline.Job, pl *pipeline.Pipeline, why string) string {
	switch {
	case j.Status != pipeline.Manual || x.Pipelines.Archived(j):
		return why
	case x.may(access.UpdateJobs):
		return why + " You may not: " + pl.Ref + " is protected, and you may not update it."
	}
	return why + " Developers of the project may."
}

// jobRows are some jobs of a pipeline as its page shows them. latest are all of
// them, and decide why one has not run.
func (x *visit) jobRows(pl *pipeline.Pipeline, latest, shown []pipeline.Job, may bool) ([]jobRow, error) {
	whys, err := x.Pipelines.Whys(x.r.Context(), x.project, pl, latest, shown...)
	if err != nil {
		return nil, err
	}
	var below []int64
	for _, j := range shown {
		if j.DownstreamID != nil {
			below = append(below, *j.DownstreamID)
		}
	}
	children, err := x.Pipelines.Among(x.r.Context(), below...)
	if err != nil {
		return nil, err
	}
	rows := make([]jobRow, 0, len(shown))
	for i := range shown {
		j := &shown[i]
		row := x.jobRow(j)
		row.Why = whys[j.ID]
		if may {
			row.Acts = x.jobActs(j)
		} else {
			row.Why = x.mayNotStart(j, pl, row.Why)
		}
		if j.DownstreamID != nil {
			if row.Downstream, err = x.pipelineLink(children[*j.DownstreamID]); err != nil {
				return nil, err
			}
		}
		if row.Downstream != nil {
			row.Path = row.Downstream.Path
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (x *visit) jobRow(j *pipeline.Job) jobRow {
	row := jobRow{
		ID: j.ID, Name: j.Name, Stage: j.Stage, Status: statusOfJob(j), Tags: j.Tags, Took: x.took(j.StartedAt, j.FinishedAt), When: x.moment(&j.CreatedAt),
		Retried: j.Retried,
	}
	if !j.Bridge {
		row.Path = x.jobPath(j.ID)
	}
	return row
}

// jobsBody is one page of a project's jobs.
type jobsBody struct {
	Action        string
	Statuses      []choice
	Pipeline      *pipelineRow // whose jobs they are, when one was asked for
	Filtered      bool
	Jobs          []jobRow
	Newest, Older string
}

func (x *visit) showJobs() error {
	ctx := x.r.Context()
	req, err := x.byCursor()
	if err != nil {
		return err
	}
	asked := x.askedStatus()
	f := pipeline.JobFilter{Retried: true}
	if asked != "" {
		f.Statuses = []pipeline.Status{asked}
	}
	body := jobsBody{Action: x.at("jobs"), Statuses: statusFilters(asked), Filtered: asked != "" || req.Cursor != nil}
	filter := url.Values{"status": {string(asked)}}
	if text := x.form.Get("pipeline"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fault.New(fault.NotFound)
		}
		pl, err := x.Pipelines.Find(ctx, x.project.ID, id)
		if err != nil {
			return err
		}
		body.Pipeline, f.PipelineID, filter["pipeline"], body.Filtered = new(x.pipelineRow(pl, nil, nil)), id, []string{text}, true
	}
	found, err := x.Pipelines.Jobs(ctx, x.project.ID, f, req)
	if err != nil {
		return err
	}
	var ids []int64
	for _, j := range found.Items {
		ids = append(ids, j.PipelineID)
	}
	pipelines, err := x.Pipelines.Among(ctx, ids...)
	if err != nil {
		return err
	}
	for i := range found.Items {
		row := x.jobRow(&found.Items[i])
		if pl := pipelines[found.Items[i].PipelineID]; pl != nil {
			row.Pipeline = new(x.pipelineRow(pl, nil, nil))
		}
		body.Jobs = append(body.Jobs, row)
	}
	body.Newest, body.Older = turns(body.Action, filter, req, found.Next)
	return x.show(http.StatusOK, "jobs", "Jobs", body, x.within("jobs"))
}

// changeJob starts, retries or cancels a job, and goes back to its pipeline; or
// to the job itself, where the form says so.
func (x *visit) changeJob() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	var j *pipeline.Job
	var said string
	ctx := x.r.Context()
	switch x.r.PathValue("act") {
	case "play":
		j, err = x.Pipelines.PlayJob(ctx, x.actor, x.project, id, nil)
		said = " is started."
	case "retry":
		j, err = x.Pipelines.RetryJob(ctx, x.actor, x.project, id)
		said = " runs again."
	case "cancel":
		j, err = x.Pipelines.CancelJob(ctx, x.actor, x.project, id)
		said = " is canceled."
	default:
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	if x.form.Get("back") == "job" && !j.Bridge {
		return x.done(x.jobPath(j.ID), j.Name+said)
	}
	return x.done(x.pipelinePath(j.PipelineID), j.Name+said)
}
