package ci

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
	"stithy/internal/web/jobstatus"
	"stithy/internal/web/page"
	"stithy/internal/web/ui"
)

// jobBody is one job.
type jobBody struct {
	ID          int64
	Name        string
	Live        bool // it has not started, and may have soon
	Status      ui.Status
	Why         string
	Register    page.URL // follows where a runner is all that it waits for
	Stage       string
	Pipeline    *pipelineRow
	By          string
	Runner      string
	Tags        []string
	Environment string
	Coverage    string
	Retried     bool
	Again       *jobRow // the job that ran in its place, if it was retried
	Started     *page.DisplayTime
	Took        string
	Queued      string // how long it waited for a runner
	Erased      *page.DisplayTime
	Acts        []*page.Form
	Files       []leftFile
	LogHidden   bool
	Log         *logBody
}

// leftFile is a file that the job left.
type leftFile struct {
	Name, Size string
	URL        page.URL // empty where it is not given out
	Expires    *page.DisplayTime
	Kept       bool
}

// build reads the job of a page. Triggers have none: what they start has.
func build(x *request) (*pipeline.Job, error) {
	id, err := x.ID()
	if err != nil {
		return nil, err
	}
	j, err := x.deps.Pipelines.FindJob(x.Context(), x.Project.ID, id)
	if err == nil && j.Bridge {
		return nil, fault.New(fault.NotFound)
	}
	return j, err
}

func showJob(x *request) error {
	j, err := build(x)
	if err != nil {
		return err
	}
	ctx := x.Context()
	pl, err := x.deps.Pipelines.Find(ctx, x.Project.ID, j.PipelineID)
	if err != nil {
		return err
	}
	body, err := jobFacts(x, j, pl)
	if err != nil {
		return err
	}
	if body.Files, err = leftFiles(x, j); err != nil {
		return err
	}
	switch err := x.deps.Pipelines.MayReadLog(ctx, x.Actor, x.Project, j); {
	case fault.Is(err, fault.Forbidden):
		body.LogHidden = true
	case err != nil:
		return err
	default:
		if body.Log, err = logPart(x, j); err != nil {
			return err
		}
	}
	if body.Acts, err = actsOnJob(x, j, pl, body); err != nil {
		return err
	}
	l := x.Layout(j.Name, "jobs")
	switch {
	case body.Log != nil:
		l.Script = page.LogScript
	case !j.Status.Complete() && j.Status != pipeline.Running && j.Status != pipeline.Manual:
		body.Live = true
		l.Live, l.Script = &page.Live{Says: j.Name + ": " + body.Status.Text, Seconds: lookAgain}, page.LiveScript
	}
	l.Heading, l.Facts = jobHeading(*body), jobHeadFacts(*body)
	if len(body.Acts) > 0 {
		l.Actions = jobActions(body.Acts)
	}
	return x.Show(http.StatusOK, l, jobPage(*body))
}

// jobFacts is what is known of a job beside its log and files.
func jobFacts(x *request, j *pipeline.Job, pl *pipeline.Pipeline) (*jobBody, error) {
	ctx := x.Context()
	body := &jobBody{
		ID: j.ID, Name: j.Name, Status: jobstatus.OfJob(j), Stage: j.Stage, Pipeline: new(newPipelineRow(x, pl, nil,
			nil)), Tags: j.Tags, Retried: j.Retried,
		Started: x.Time(j.StartedAt), Took: took(x, j.StartedAt, j.FinishedAt), Erased: x.Time(j.ErasedAt),
	}
	if j.QueuedAt != nil && (j.StartedAt != nil || j.Status == pipeline.Pending) {
		until := x.Clock.Now()
		if j.StartedAt != nil {
			until = *j.StartedAt
		}
		body.Queued = lasted(max(0, until.Sub(*j.QueuedAt)))
	}
	if j.Environment != nil {
		body.Environment = *j.Environment
	}
	if j.Coverage != nil {
		body.Coverage = strconv.FormatFloat(*j.Coverage, 'f', -1, 64) + "%"
	}
	latest, err := x.deps.Pipelines.LatestJobs(ctx, pl.ID, readJobs)
	if err != nil {
		return nil, err
	}
	for i := range latest {
		if j.Retried && latest[i].Name == j.Name && !latest[i].Bridge {
			body.Again = new(newJobRow(x, &latest[i]))
		}
	}
	whys, err := x.deps.Pipelines.Whys(ctx, x.Project, pl, latest, *j)
	if err != nil {
		return nil, err
	}
	body.Why = whys[j.ID]
	if j.UserID != nil {
		people, err := x.deps.Users.Briefs(ctx, *j.UserID)
		if err != nil {
			return nil, err
		}
		body.By = people[*j.UserID].Name
	}
	if j.RunnerID != nil {
		runners, err := x.deps.Runners.Forms(ctx, *j.RunnerID)
		if err != nil {
			return nil, err
		}
		if r, known := runners[*j.RunnerID]; known {
			body.Runner = strings.TrimSpace(fmt.Sprintf("#%d %s", r.ID, r.Description))
		}
	}
	return body, nil
}

// leftFiles are the files that the reader may know of.
func leftFiles(x *request, j *pipeline.Job) ([]leftFile, error) {
	if j.ErasedAt != nil {
		return nil, nil
	}
	files, err := x.deps.Pipelines.Left(x.Context(), x.Actor, x.Project, j.ID)
	if err != nil {
		return nil, err
	}
	all := make([]leftFile, 0, len(files))
	for _, f := range files {
		row := leftFile{Name: f.Filename, Size: bytesText(f.Size), Expires: x.Time(f.ExpireAt), Kept: f.Kept}
		if f.Type == artifact.Archive {
			row.URL = x.Link(jobPath(x, j.ID) + "/artifacts/download")
		}
		all = append(all, row)
	}
	return all, nil
}

// bytesText is a size as people read it.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, names := float64(n)/unit, []string{"KB", "MB", "GB", "TB"}
	i := 0
	for size >= unit && i < len(names)-1 {
		size, i = size/unit, i+1
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + " " + names[i]
}

// actsOnJob are the buttons of a job's page.
func actsOnJob(x *request, j *pipeline.Job, pl *pipeline.Pipeline, body *jobBody) ([]*page.Form, error) {
	may, err := x.deps.Pipelines.MayUpdate(x.Context(), x.Actor, x.Project, pl)
	if err != nil {
		return nil, err
	}
	var acts []*page.Form
	if may {
		for _, act := range jobActs(x, j) {
			acts = append(acts, x.Button(act.Path, act.Label, act.emphasis(), j.Name).With("back", "job"))
		}
	} else {
		body.Why = mayNotStart(x, j, pl, body.Why)
	}
	body.Why, body.Register = unserved(x, body.Why)
	own := j.UserID != nil && x.Actor.Is(*j.UserID)
	left := len(body.Files) > 0 || body.Log != nil
	if x.May(access.EraseJobs) && (own || x.Project.Role >= access.Maintainer || x.Actor.Admin()) && j.Status.Complete() &&
		j.ErasedAt == nil && left && !x.deps.Pipelines.Archived(j) {
		acts = append(acts, x.Button(jobPath(x, j.ID)+"/erase", "Erase log and files", page.Danger, "of "+j.Name).
			AskFirst("The log and all files of the job are gone for good."))
	}
	return acts, nil
}

func eraseJob(x *request) error {
	j, err := build(x)
	if err == nil {
		j, err = x.deps.Pipelines.EraseJob(x.Context(), x.Actor, x.Project, j.ID)
	}
	if err != nil {
		return err
	}
	return x.Done(jobPath(x, j.ID), "The log and the files of "+j.Name+" are erased.")
}

func downloadArchive(x *request) error {
	j, err := build(x)
	if err != nil {
		return err
	}
	f, err := x.deps.Pipelines.Archive(x.Context(), x.Actor, x.Project, j)
	if err != nil {
		return err
	}
	body, err := x.deps.Artifacts.Open(x.Context(), f)
	if err != nil {
		return err
	}
	return x.Send(body, f.Size, "application/zip", f.Filename, true)
}
