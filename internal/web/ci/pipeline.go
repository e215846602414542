package ci

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/platform/sorting"
	"stithy/internal/web/jobstatus"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

const (
	readJobs  = 1000 // how many jobs of a pipeline decide what its page says
	shownJobs = 40   // and how many are on it
	lookAgain = 3    // seconds after which a page that changes by itself is asked for again
)

// pipelineBody is one pipeline.
type pipelineBody struct {
	pipelineRow
	YAMLErrors string
	Upstream   *pipelineLink
	Stages     []stageRows
	Graph      *graph
	Live       bool
	More       page.URL   // all jobs, where some are left out
	Hidden     string     // why no jobs are shown
	SignIn     page.URL   // for strangers, who would see them
	Jobs       *page.Form // around the buttons of jobs; nil: the reader may change none
	Retry      *page.Form
	Cancel     *page.Form
}

// pipelineLink leads to a pipeline, perhaps of another project.
type pipelineLink struct {
	ID      int64
	URL     page.URL
	Project string // empty: the same
	Status  ui.Status
}

// stageRows are the jobs of one stage.
type stageRows struct {
	Name   string
	Status ui.Status
	Total  int
	Jobs   []jobRow // fewer than Total where there are too many for a page
}

// urgent is in which order the jobs of a large pipeline are worth their place.
var urgent = []pipeline.Status{
	pipeline.Failed, pipeline.Running, pipeline.Manual, pipeline.Pending, pipeline.Preparing, pipeline.WaitingForResource, pipeline.Scheduled,
	pipeline.Created, pipeline.Canceled, pipeline.Skipped, pipeline.Success,
}

// most keeps the jobs that are most worth their place, in the order that they
// came in.
func most(jobs []pipeline.Job, limit int) []pipeline.Job {
	if len(jobs) <= limit {
		return jobs
	}
	ranked := make([]int, len(jobs))
	for i := range ranked {
		ranked[i] = i
	}
	sorting.Stably(ranked, func(a, b int) int {
		return slices.Index(urgent, jobs[a].Status) - slices.Index(urgent, jobs[b].Status)
	})
	ranked = ranked[:limit]
	slices.Sort(ranked)
	kept := make([]pipeline.Job, 0, limit)
	for _, i := range ranked {
		kept = append(kept, jobs[i])
	}
	return kept
}

func showPipeline(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	ctx := x.Context()
	pl, err := x.deps.Pipelines.Find(ctx, x.Project.ID, id)
	if err != nil {
		return err
	}
	rows, err := newPipelineRows(x, []pipeline.Pipeline{*pl})
	if err != nil {
		return err
	}
	body := pipelineBody{pipelineRow: rows[0]}
	if pl.YAMLErrors != nil {
		body.YAMLErrors = strings.ReplaceAll(*pl.YAMLErrors, unknownFile, "")
	}
	if pl.ParentID != nil {
		parents, err := x.deps.Pipelines.ByIDs(ctx, *pl.ParentID)
		if err != nil {
			return err
		}
		if body.Upstream, err = newPipelineLink(x, parents[*pl.ParentID]); err != nil {
			return err
		}
	}
	if err := jobsOf(x, &body, pl); err != nil {
		return err
	}
	l := x.Layout(fmt.Sprintf("Pipeline #%d", id), "pipelines")
	l.Heading, l.Facts = pipelineHeading(body), pipelineFacts(body)
	l.Live = &page.Live{Says: l.Title + ": " + body.Status.Text}
	if body.Live = !pl.Status.Complete(); body.Live {
		l.Live.Seconds, l.Script = lookAgain, page.LiveScript
	}
	if body.Retry != nil || body.Cancel != nil {
		l.Actions = pipelineActions(body)
	}
	return x.Show(http.StatusOK, l, pipelinePage(body))
}

// newPipelineLink leads to a pipeline if the reader may see it.
func newPipelineLink(x *request, pl *pipeline.Pipeline) (*pipelineLink, error) {
	if pl == nil {
		return nil, nil
	}
	p, err := x.deps.Pipelines.SeenIn(x.Context(), x.Actor, x.Project, pl)
	if err != nil || p == nil {
		return nil, err
	}
	link := &pipelineLink{ID: pl.ID, URL: x.Link(fmt.Sprintf("/%s/-/pipelines/%d", p.FullPath(), pl.ID)), Status: jobstatus.Of(pl.Status)}
	if p.ID != x.Project.ID {
		link.Project = p.FullPath()
	}
	return link, nil
}

// jobsOf fills in the jobs of a pipeline and what the reader may do to them.
func jobsOf(x *request, body *pipelineBody, pl *pipeline.Pipeline) error {
	ctx := x.Context()
	if !x.May(access.ViewJobs) {
		body.Hidden = "The jobs of this project are for its members."
		if x.Account == nil {
			body.SignIn = x.SignInAndBack()
		}
		return nil
	}
	jobs, err := x.deps.Pipelines.LatestJobs(ctx, pl.ID, readJobs)
	if err != nil {
		return err
	}
	may, err := x.deps.Pipelines.MayUpdate(ctx, x.Actor, x.Project, pl)
	if err != nil {
		return err
	}
	if may {
		actsOn(x, body, pl, jobs)
	}
	shown := most(jobs, shownJobs)
	if len(shown) < len(jobs) {
		body.More = x.Link(x.At("jobs") + "?" + url.Values{"pipeline": {strconv.FormatInt(pl.ID, 10)}}.Encode())
	}
	rows, err := newJobRows(x, pl, jobs, shown, may)
	if err != nil {
		return err
	}
	body.Stages = stagesOf(jobs)
	var boxes []graphJob
	for i, j := range shown {
		at := slices.IndexFunc(body.Stages, func(s stageRows) bool { return s.Name == j.Stage })
		body.Stages[at].Jobs = append(body.Stages[at].Jobs, rows[i])
		boxes = append(boxes, graphJob{Name: j.Name, Stage: j.Stage, URL: rows[i].URL, Needs: j.Needs, Status: rows[i].Status})
	}
	if len(boxes) > 1 && body.More == "" {
		body.Graph = new(draw(boxes))
	}
	return nil
}

// stagesOf are the stages of jobs that come by stage.
func stagesOf(jobs []pipeline.Job) []stageRows {
	var stages []stageRows
	var states []pipeline.State
	for _, j := range jobs {
		if len(stages) == 0 || stages[len(stages)-1].Name != j.Stage {
			stages, states = append(stages, stageRows{Name: j.Stage}), nil
		}
		states = append(states, pipeline.State{Status: j.Status, AllowFailure: j.AllowFailure})
		last := &stages[len(stages)-1]
		last.Total, last.Status = len(states), jobstatus.OfJobs(states)
	}
	return stages
}

// actsOn says what can be done to a whole pipeline.
func actsOn(x *request, body *pipelineBody, pl *pipeline.Pipeline, jobs []pipeline.Job) {
	path := pipelinePath(x, pl.ID)
	body.Jobs = x.NewForm(path, "")
	for i := range jobs {
		j := &jobs[i]
		if (j.Status == pipeline.Failed || j.Status == pipeline.Canceled) && j.Retryable() && !x.deps.Pipelines.Archived(j) {
			body.Retry = x.Button(path+"/retry", "Retry what failed", page.Secondary, "")
			body.Retry.ID, body.Retry.Icon = "retry", ui.IconRetry
		}
		if !j.Status.Complete() && j.Status != pipeline.Manual {
			body.Cancel = x.Button(path+"/cancel", "Cancel pipeline", page.Danger, "").AskFirst("Jobs that run are stopped, and those that wait do not start.")
			body.Cancel.ID, body.Cancel.Icon = "cancel", ui.IconCanceled
		}
	}
}

// changePipeline retries or cancels a pipeline.
func changePipeline(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	var said string
	switch x.R.PathValue("act") {
	case "retry":
		_, err = x.deps.Pipelines.RetryPipeline(x.Context(), x.Actor, x.Project, id)
		said = "What had failed or was canceled runs again."
	case "cancel":
		_, err = x.deps.Pipelines.CancelPipeline(x.Context(), x.Actor, x.Project, id)
		said = "The pipeline is canceled."
	default:
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	return x.Done(pipelinePath(x, id), said)
}

// name is how a pipeline is called on a page.
func (l pipelineLink) name() string {
	if l.Project == "" {
		return fmt.Sprintf("#%d", l.ID)
	}
	return fmt.Sprintf("#%d of %s", l.ID, l.Project)
}
