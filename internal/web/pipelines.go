package web

import (
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
)

func (d *Door) pipelinePages() []page {
	return []page{
		{route: "GET /-/pipelines", needs: access.ReadPipelines, do: (*visit).showPipelines, tab: "Pipelines"},
		{route: "POST /-/pipelines", needs: access.CreatePipeline, do: (*visit).runPipeline},
		{route: "GET /-/pipelines/{id}", needs: access.ReadPipelines, do: (*visit).showPipeline},
		{route: "POST /-/pipelines/{id}/{act}", needs: access.UpdateJobs, do: (*visit).changePipeline},
	}
}

// pipelinesPerPage is how many pipelines or jobs a page lists.
const pipelinesPerPage = 25

// pipelinesBody is one page of a project's pipelines.
type pipelinesBody struct {
	Action        string
	Statuses      []choice
	Ref           string
	Filtered      bool
	Pipelines     []pipelineRow
	Newest, Older string
	ConfigPath    string // for those who see that there is none
	Run           *form
}

// pipelineRow is a pipeline in a list.
type pipelineRow struct {
	ID       int64
	Path     string
	Title    string
	Ref, SHA string
	Tag      bool
	Source   string
	Status   status
	By       *user.Brief
	When     *moment
	Took     string
}

// statusFilters are the statuses that a list can be narrowed to.
func statusFilters(chosen pipeline.Status) []choice {
	all := []choice{{Value: "", Label: "All statuses", Chosen: chosen == ""}}
	for _, s := range pipeline.Statuses {
		all = append(all, choice{Value: string(s), Label: statusOf(s).Text, Chosen: s == chosen})
	}
	return all
}

// askedStatus is the status that a list is narrowed to, if it is one.
func (x *visit) askedStatus() pipeline.Status {
	if s := pipeline.Status(x.form.Get("status")); statuses[s].Text != "" {
		return s
	}
	return ""
}

// byCursor is which part of a list is asked for, the newest first.
func (x *visit) byCursor() (paging.Request, error) {
	req := paging.Request{PerPage: pipelinesPerPage, Keyset: true, OrderBy: "id", Desc: true}
	text := x.form.Get("cursor")
	if text == "" {
		return req, nil
	}
	var err error
	if req.Cursor, err = paging.Parse(text); err != nil {
		return req, fault.Say(fault.BadParams, "This part of the list is not there.")
	}
	return req, nil
}

// turns are the paths of a list's first page and its next, empty where there is none.
func turns(path string, filter url.Values, req paging.Request, next *paging.Cursor) (newest, older string) {
	address := func(cursor *paging.Cursor) string {
		q := url.Values{}
		for name, values := range filter {
			if values[0] != "" {
				q[name] = values
			}
		}
		if cursor != nil {
			q.Set("cursor", cursor.String())
		}
		return strings.TrimSuffix(path+"?"+q.Encode(), "?")
	}
	if req.Cursor != nil {
		newest = address(nil)
	}
	if next != nil {
		older = address(next)
	}
	return newest, older
}

func (x *visit) runForm() *form {
	if !x.may(access.CreatePipeline) || x.project.DefaultBranch == nil {
		return nil
	}
	return x.newForm(x.at("pipelines"), "Run pipeline", field{
		Name: "run", Label: "Branch or tag", Type: "text", Value: x.Projects.BranchOf(x.project), Required: true, Length: 1024,
	})
}

func (x *visit) showPipelines() error { return x.pipelines(http.StatusOK, x.runForm()) }

func (x *visit) pipelines(code int, run *form) error {
	req, err := x.byCursor()
	if err != nil {
		return err
	}
	f := pipeline.Filter{Status: x.askedStatus(), Ref: strings.TrimSpace(x.form.Get("ref"))}
	found, err := x.Pipelines.List(x.r.Context(), x.project.ID, f, req)
	if err != nil {
		return err
	}
	path := x.at("pipelines")
	body := pipelinesBody{
		Action: path, Statuses: statusFilters(f.Status), Ref: f.Ref, Filtered: f.Status != "" || f.Ref != "" || req.Cursor != nil,
		ConfigPath: x.Pipelines.ConfigPath(x.project), Run: run,
	}
	if body.Pipelines, err = x.pipelineRows(found.Items); err != nil {
		return err
	}
	body.Newest, body.Older = turns(path, url.Values{"status": {string(f.Status)}, "ref": {f.Ref}}, req, found.Next)
	return x.show(code, "pipelines", "Pipelines", body, x.within("pipelines"))
}

// runPipeline starts a pipeline for a branch or tag.
func (x *visit) runPipeline() error {
	pl, err := x.Pipelines.Create(x.r.Context(), x.actor, x.project, pipeline.Wish{Source: pipeline.FromWeb, Ref: strings.TrimSpace(x.form.Get("run"))})
	if err == nil {
		return x.done(x.pipelinePath(pl.ID), "Pipeline created.")
	}
	f := x.runForm()
	if f == nil {
		return err
	}
	if err := x.refused(f, err); err != nil {
		return err
	}
	return x.pipelines(http.StatusUnprocessableEntity, f)
}

func (x *visit) pipelinePath(id int64) string {
	return x.at("pipelines/" + strconv.FormatInt(id, 10))
}

// pipelineRows are pipelines with their commits and whoever made them.
func (x *visit) pipelineRows(pipelines []pipeline.Pipeline) ([]pipelineRow, error) {
	var all []*pipeline.Pipeline
	var ids, people []int64
	for i := range pipelines {
		all, ids = append(all, &pipelines[i]), append(ids, pipelines[i].ID)
		if id := pipelines[i].UserID; id != nil {
			people = append(people, *id)
		}
	}
	commits, err := x.commits(all...)
	if err != nil {
		return nil, err
	}
	briefs, err := x.Users.Briefs(x.r.Context(), people...)
	if err != nil {
		return nil, err
	}
	warnings, err := x.Pipelines.Warned(x.r.Context(), all...)
	if err != nil {
		return nil, err
	}
	ran, err := x.Pipelines.Ran(x.r.Context(), ids...)
	if err != nil {
		return nil, err
	}
	rows := make([]pipelineRow, 0, len(all))
	for _, pl := range all {
		row := x.pipelineRow(pl, commits[pl.SHA], briefs)
		if d, ok := ran[pl.ID]; ok {
			row.Took = ranFor(pl.Status, d)
		}
		if warnings[pl.ID] {
			row.Status = warned
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// commits reads the commits of pipelines for those who may read code.
func (x *visit) commits(pipelines ...*pipeline.Pipeline) (map[string]*gitstore.Commit, error) {
	if !x.may(access.ReadCode) {
		return nil, nil
	}
	commits, err := x.Pipelines.Commits(x.r.Context(), x.project, pipelines...)
	if fault.Is(err, fault.Unavailable) {
		return nil, nil // what ran is shown, also while its code cannot be
	}
	return commits, err
}

// sourceWords say what made a pipeline.
var sourceWords = map[pipeline.Source]string{
	pipeline.FromPush: "by a push", pipeline.FromWeb: "on a page", pipeline.FromTrigger: "by a trigger token", pipeline.FromSchedule: "by a schedule",
	pipeline.FromAPI: "over the API", pipeline.FromPipeline: "by a pipeline of another project", pipeline.FromParent: "by another pipeline",
}

func (x *visit) pipelineRow(pl *pipeline.Pipeline, c *gitstore.Commit, people map[int64]user.Brief) pipelineRow {
	row := pipelineRow{
		ID: pl.ID, Path: x.pipelinePath(pl.ID), Ref: pl.Ref, Tag: pl.Tag, SHA: pl.SHA[:min(8, len(pl.SHA))], Status: statusOf(pl.Status),
		Source: sourceWords[pl.Source], When: x.moment(&pl.CreatedAt), Title: fmt.Sprintf("Pipeline #%d", pl.ID),
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
func (x *visit) took(from, to *time.Time) string {
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

const (
	readJobs  = 1000 // how many jobs of a pipeline decide what its page says
	shownJobs = 40   // and how many are on it
	lookAgain = 3    // seconds after which a page that changes by itself is asked for again
)

// pipelineBody is one pipeline.
type pipelineBody struct {
	pipelineRow
	Says       string // for those who hear the page, when it changes
	Live       int    // seconds until it may have changed; 0: it will not
	YAMLErrors string
	Upstream   *pipelineLink
	Stages     []stageRows
	Graph      *graph
	More       string // path of all jobs, where some are left out
	Hidden     string // why no jobs are shown
	CSRF       string // of the form around all buttons
	Retry      string // path
	Cancel     string // path
}

// pipelineLink leads to a pipeline, perhaps of another project.
type pipelineLink struct {
	ID            int64
	Path, Project string
	Status        status
}

// stageRows are the jobs of one stage.
type stageRows struct {
	Name   string
	Status status
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
	slices.SortStableFunc(ranked, func(a, b int) int {
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

func (x *visit) showPipeline() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	ctx := x.r.Context()
	pl, err := x.Pipelines.Find(ctx, x.project.ID, id)
	if err != nil {
		return err
	}
	rows, err := x.pipelineRows([]pipeline.Pipeline{*pl})
	if err != nil {
		return err
	}
	body := pipelineBody{pipelineRow: rows[0]}
	if pl.YAMLErrors != nil {
		body.YAMLErrors = *pl.YAMLErrors
	}
	if pl.ParentID != nil {
		parents, err := x.Pipelines.Among(ctx, *pl.ParentID)
		if err != nil {
			return err
		}
		if body.Upstream, err = x.pipelineLink(parents[*pl.ParentID]); err != nil {
			return err
		}
	}
	if err := x.jobsOf(&body, pl); err != nil {
		return err
	}
	options := []option{x.within("pipelines", place{Title: "#" + strconv.FormatInt(id, 10)})}
	title := fmt.Sprintf("Pipeline #%d", id)
	if body.Says = title + ": " + body.Status.Text; !pl.Status.Complete() {
		body.Live = lookAgain
		options = append(options, x.scripted(x.liveScript))
	}
	return x.show(http.StatusOK, "pipeline", title, body, options...)
}

// pipelineLink leads to a pipeline if the reader may see it.
func (x *visit) pipelineLink(pl *pipeline.Pipeline) (*pipelineLink, error) {
	if pl == nil {
		return nil, nil
	}
	p, err := x.Pipelines.SeenIn(x.r.Context(), x.actor, x.project, pl)
	if err != nil || p == nil {
		return nil, err
	}
	link := &pipelineLink{ID: pl.ID, Path: fmt.Sprintf("/%s/-/pipelines/%d", p.FullPath(), pl.ID), Status: statusOf(pl.Status)}
	if p.ID != x.project.ID {
		link.Project = p.FullPath()
	}
	return link, nil
}

// jobsOf fills in the jobs of a pipeline and what the reader may do to them.
func (x *visit) jobsOf(body *pipelineBody, pl *pipeline.Pipeline) error {
	ctx := x.r.Context()
	if !x.may(access.ViewJobs) {
		body.Hidden = "The jobs of this project are for its members."
		return nil
	}
	jobs, err := x.Pipelines.LatestJobs(ctx, pl.ID, readJobs)
	if err != nil {
		return err
	}
	may, err := x.Pipelines.MayUpdate(ctx, x.actor, x.project, pl)
	if err != nil {
		return err
	}
	if may {
		x.actsOn(body, jobs)
	}
	shown := most(jobs, shownJobs)
	if len(shown) < len(jobs) {
		body.More = x.at("jobs") + "?" + url.Values{"pipeline": {strconv.FormatInt(pl.ID, 10)}}.Encode()
	}
	rows, err := x.jobRows(pl, jobs, shown, may)
	if err != nil {
		return err
	}
	body.Stages = stagesOf(jobs)
	var boxes []graphJob
	for i, j := range shown {
		at := slices.IndexFunc(body.Stages, func(s stageRows) bool { return s.Name == j.Stage })
		body.Stages[at].Jobs = append(body.Stages[at].Jobs, rows[i])
		boxes = append(boxes, graphJob{Name: j.Name, Stage: j.Stage, Path: rows[i].Path, Needs: j.Needs, Status: rows[i].Status})
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
		last.Total, last.Status = len(states), statusOfJobs(states)
	}
	return stages
}

// actsOn says what can be done to a whole pipeline.
func (x *visit) actsOn(body *pipelineBody, jobs []pipeline.Job) {
	body.CSRF = x.Tokens.CSRF(x.session)
	for i := range jobs {
		j := &jobs[i]
		if (j.Status == pipeline.Failed || j.Status == pipeline.Canceled) && j.Retryable() && !x.Pipelines.Archived(j) {
			body.Retry = body.Path + "/retry"
		}
		if !j.Status.Complete() && j.Status != pipeline.Manual {
			body.Cancel = body.Path + "/cancel"
		}
	}
}

// changePipeline retries or cancels a pipeline.
func (x *visit) changePipeline() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	var said string
	switch x.r.PathValue("act") {
	case "retry":
		_, err = x.Pipelines.RetryPipeline(x.r.Context(), x.actor, x.project, id)
		said = "What had failed or was canceled runs again."
	case "cancel":
		_, err = x.Pipelines.CancelPipeline(x.r.Context(), x.actor, x.project, id)
		said = "The pipeline is canceled."
	default:
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	return x.done(x.pipelinePath(id), said)
}
