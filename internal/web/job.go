package web

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/pipeline"
)

func (d *Door) oneJobPages() []page {
	return []page{
		{route: "GET /-/jobs/{id}", needs: access.ViewJobs, do: (*visit).showJob},
		{route: "GET /-/jobs/{id}/log", needs: access.ViewJobs, do: (*visit).followLog},
		{route: "GET /-/jobs/{id}/raw", needs: access.ViewJobs, do: (*visit).rawLog},
		{route: "GET /-/jobs/{id}/artifacts/download", needs: access.DownloadArtifacts, do: (*visit).downloadArchive},
		{route: "POST /-/jobs/{id}/erase", needs: access.EraseJobs, do: (*visit).eraseJob},
	}
}

// jobBody is one job.
type jobBody struct {
	ID          int64
	Says        string // for those who hear the page, when it changes
	Live        int    // seconds until a job that has not started may have
	Status      status
	Why         string
	Stage       string
	Pipeline    *pipelineRow
	By          string
	Runner      string
	Tags        []string
	Environment string
	Coverage    string
	Retried     bool
	Started     *moment
	Took        string
	Queued      string // how long it waited for a runner
	Erased      *moment
	Acts        []*form
	Files       []leftFile
	LogHidden   bool
	Log         *logBody
}

// leftFile is a file that the job left.
type leftFile struct {
	Name, Size string
	Path       string // empty where it is not given out
	Expires    *moment
	Kept       bool
}

// build reads the job of a page. Triggers have none: what they start has.
func (x *visit) build() (*pipeline.Job, error) {
	id, err := x.id()
	if err != nil {
		return nil, err
	}
	j, err := x.Pipelines.FindJob(x.r.Context(), x.project.ID, id)
	if err == nil && j.Bridge {
		return nil, fault.New(fault.NotFound)
	}
	return j, err
}

func (x *visit) showJob() error {
	j, err := x.build()
	if err != nil {
		return err
	}
	ctx := x.r.Context()
	pl, err := x.Pipelines.Find(ctx, x.project.ID, j.PipelineID)
	if err != nil {
		return err
	}
	body, err := x.jobFacts(j, pl)
	if err != nil {
		return err
	}
	if body.Files, err = x.leftFiles(j); err != nil {
		return err
	}
	switch err := x.Pipelines.MayReadLog(ctx, x.actor, x.project, j); {
	case fault.Is(err, fault.Forbidden):
		body.LogHidden = true
	case err != nil:
		return err
	default:
		if body.Log, err = x.logPart(j); err != nil {
			return err
		}
	}
	if body.Acts, err = x.actsOnJob(j, pl, body); err != nil {
		return err
	}
	options := []option{x.within("jobs", place{Title: "#" + strconv.FormatInt(j.ID, 10)})}
	switch {
	case body.Log != nil:
		options = append(options, x.scripted(x.logScript))
	case !j.Status.Complete() && j.Status != pipeline.Running && j.Status != pipeline.Manual:
		body.Live, body.Says = lookAgain, j.Name+": "+body.Status.Text
		options = append(options, x.scripted(x.liveScript))
	}
	return x.show(http.StatusOK, "job", j.Name, body, options...)
}

// jobFacts is what is known of a job beside its log and files.
func (x *visit) jobFacts(j *pipeline.Job, pl *pipeline.Pipeline) (*jobBody, error) {
	ctx := x.r.Context()
	body := &jobBody{
		ID: j.ID, Status: statusOfJob(j), Stage: j.Stage, Pipeline: new(x.pipelineRow(pl, nil, nil)), Tags: j.Tags, Retried: j.Retried,
		Started: x.moment(j.StartedAt), Took: x.took(j.StartedAt, j.FinishedAt), Erased: x.moment(j.ErasedAt),
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
	latest, err := x.Pipelines.LatestJobs(ctx, pl.ID, readJobs)
	if err != nil {
		return nil, err
	}
	whys, err := x.Pipelines.Whys(ctx, x.project, pl, latest, *j)
	if err != nil {
		return nil, err
	}
	body.Why = whys[j.ID]
	if j.UserID != nil {
		people, err := x.Users.Briefs(ctx, *j.UserID)
		if err != nil {
			return nil, err
		}
		body.By = people[*j.UserID].Name
	}
	if j.RunnerID != nil {
		runners, err := x.Runners.Forms(ctx, *j.RunnerID)
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
func (x *visit) leftFiles(j *pipeline.Job) ([]leftFile, error) {
	if j.ErasedAt != nil {
		return nil, nil
	}
	files, err := x.Pipelines.Left(x.r.Context(), x.actor, x.project, j.ID)
	if err != nil {
		return nil, err
	}
	all := make([]leftFile, 0, len(files))
	for _, f := range files {
		row := leftFile{Name: f.Filename, Size: bytesText(f.Size), Expires: x.moment(f.ExpireAt), Kept: f.Kept}
		if f.Type == artifact.Archive {
			row.Path = x.jobPath(j.ID) + "/artifacts/download"
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
func (x *visit) actsOnJob(j *pipeline.Job, pl *pipeline.Pipeline, body *jobBody) ([]*form, error) {
	may, err := x.Pipelines.MayUpdate(x.r.Context(), x.actor, x.project, pl)
	if err != nil {
		return nil, err
	}
	var acts []*form
	if may {
		for _, act := range x.jobActs(j) {
			acts = append(acts, x.button(act.Path, act.Label, "", j.Name).with("back", "job"))
		}
	} else {
		body.Why = x.mayNotStart(j, pl, body.Why)
	}
	own := j.UserID != nil && x.actor.Is(*j.UserID)
	left := len(body.Files) > 0 || body.Log != nil
	if x.may(access.EraseJobs) && (own || x.project.Role >= access.Maintainer || x.actor.Admin()) && j.Status.Complete() && j.ErasedAt == nil && left && !x.Pipelines.Archived(j) {
		acts = append(acts, x.button(x.jobPath(j.ID)+"/erase", "Erase log and files", "danger", "of "+j.Name))
	}
	return acts, nil
}

func (x *visit) eraseJob() error {
	j, err := x.build()
	if err == nil {
		j, err = x.Pipelines.EraseJob(x.r.Context(), x.actor, x.project, j.ID)
	}
	if err != nil {
		return err
	}
	return x.done(x.jobPath(j.ID), "The log and the files of "+j.Name+" are erased.")
}

func (x *visit) downloadArchive() error {
	j, err := x.build()
	if err != nil {
		return err
	}
	f, err := x.Pipelines.Archive(x.r.Context(), x.actor, x.project, j)
	if err != nil {
		return err
	}
	body, err := x.Artifacts.Open(x.r.Context(), f)
	if err != nil {
		return err
	}
	return x.send(body, f.Size, "application/zip", f.Filename, true)
}

// send answers with a file instead of a page.
func (x *visit) send(body io.ReadCloser, size int64, media, name string, attach bool) error {
	defer func() { _ = body.Close() }()
	x.headers()
	how := "inline"
	if attach {
		how = "attachment"
	}
	h := x.w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": name}))
	x.w.WriteHeader(http.StatusOK)
	if x.r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(x.w, body); err != nil && x.r.Context().Err() == nil {
		// The status is out: all that is left is to end the answer early.
		x.log("sending a file failed", err, nil)
		panic(http.ErrAbortHandler)
	}
	return nil
}
