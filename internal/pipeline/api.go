package pipeline

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"stithy/internal/artifact"
	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
	"stithy/internal/repository"
	"stithy/internal/runner"
	"stithy/internal/user"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(s.jobEndpoints(), s.artifactEndpoints(), s.pipelineEndpoints(), s.lintEndpoints(), s.resourceEndpoints())
}

// basicForm is a pipeline inside of other things and in lists.
type basicForm struct {
	ID        int64        `json:"id"`
	IID       int64        `json:"iid"`
	ProjectID int64        `json:"project_id"`
	SHA       string       `json:"sha"`
	Ref       string       `json:"ref"`
	Status    Status       `json:"status"`
	Source    Source       `json:"source"`
	CreatedAt httpapi.Time `json:"created_at"`
	UpdatedAt httpapi.Time `json:"updated_at"`
	WebURL    string       `json:"web_url"`
}

func (s *Service) basicForm(p *project.Project, pl *Pipeline) basicForm {
	return basicForm{
		ID: pl.ID, IID: pl.IID, ProjectID: pl.ProjectID, SHA: pl.SHA, Ref: pl.Ref, Status: pl.Status, Source: pl.Source,
		CreatedAt: httpapi.Time(pl.CreatedAt), UpdatedAt: httpapi.Time(pl.UpdatedAt),
		WebURL: s.page(p, "pipelines/"+strconv.FormatInt(pl.ID, 10)),
	}
}

type fileForm struct {
	FileType   string  `json:"file_type"`
	Size       int64   `json:"size"`
	Filename   string  `json:"filename"`
	FileFormat *string `json:"file_format"`
}

type archiveForm struct {
	Filename string `json:"filename"`
	Size     int64  `json:"size"`
}

type jobProject struct {
	JobTokenScopeEnabled bool `json:"ci_job_token_scope_enabled"`
}

// commonForm is what builds and bridges have in common.
type commonForm struct {
	ID             int64                  `json:"id"`
	Status         Status                 `json:"status"`
	Stage          string                 `json:"stage"`
	Name           string                 `json:"name"`
	Ref            string                 `json:"ref"`
	Tag            bool                   `json:"tag"`
	Coverage       *float64               `json:"coverage"`
	AllowFailure   bool                   `json:"allow_failure"`
	CreatedAt      httpapi.Time           `json:"created_at"`
	StartedAt      *httpapi.Time          `json:"started_at"`
	FinishedAt     *httpapi.Time          `json:"finished_at"`
	ErasedAt       *httpapi.Time          `json:"erased_at"`
	Duration       *float64               `json:"duration"`
	QueuedDuration float64                `json:"queued_duration"`
	Archived       bool                   `json:"archived"`
	User           *user.Profile          `json:"user"`
	Commit         *repository.CommitForm `json:"commit"`
	Pipeline       basicForm              `json:"pipeline"`
	FailureReason  *Reason                `json:"failure_reason,omitempty"`
	WebURL         string                 `json:"web_url"`
	Project        jobProject             `json:"project"`
}

// JobForm is a build on the wire.
type JobForm struct {
	commonForm
	ArtifactsFile     *archiveForm  `json:"artifacts_file,omitempty"`
	Artifacts         []fileForm    `json:"artifacts"`
	Runner            *runner.Form  `json:"runner"`
	RunnerManager     any           `json:"runner_manager"`
	ArtifactsExpireAt *httpapi.Time `json:"artifacts_expire_at"`
	TagList           []string      `json:"tag_list"`
}

type bridgeForm struct {
	commonForm
	Downstream *basicForm `json:"downstream_pipeline"`
}

// seconds between two moments, nil while either is open.
func seconds(from, to *time.Time) *float64 {
	if from == nil || to == nil {
		return nil
	}
	return new(to.Sub(*from).Seconds())
}

// around is what the forms of some jobs show beside them.
type around struct {
	project   *project.Project
	pipelines map[int64]*Pipeline
	commits   map[string]*gitstore.Commit
	people    map[int64]user.Profile
	files     map[int64][]artifact.File
	runners   map[int64]runner.Form
	below     map[int64]*basicForm
}

// around reads what a page of jobs shows beside them, each thing once.
func (s *Service) around(ctx context.Context, to access.Actor, p *project.Project, jobs []Job) (*around, error) {
	a := &around{
		project: p, files: map[int64][]artifact.File{}, below: map[int64]*basicForm{},
	}
	var ids, pipelines, people, runners, below []int64
	for _, j := range jobs {
		ids = append(ids, j.ID)
		pipelines = append(pipelines, j.PipelineID)
		if j.UserID != nil {
			people = append(people, *j.UserID)
		}
		if j.DownstreamID != nil {
			below = append(below, *j.DownstreamID)
		}
		if j.RunnerID != nil {
			runners = append(runners, *j.RunnerID)
		}
	}
	var err error
	if a.pipelines, err = s.ByIDs(ctx, append(pipelines, below...)...); err != nil {
		return nil, err
	}
	if a.people, err = s.deps.Users.Profiles(ctx, to, people...); err != nil {
		return nil, err
	}
	if a.runners, err = s.deps.Runners.Forms(ctx, runners...); err != nil {
		return nil, err
	}
	left, err := s.Left(ctx, to, p, ids...)
	if err != nil {
		return nil, err
	}
	for _, f := range left {
		a.files[f.JobID] = append(a.files[f.JobID], f)
	}
	for _, id := range below {
		if err := s.seenBelow(ctx, to, a, id); err != nil {
			return nil, err
		}
	}
	a.commits, err = s.Commits(ctx, p, slices.Collect(maps.Values(a.pipelines))...)
	return a, err
}

// seenBelow is the pipeline that a bridge made, if the reader may see it.
func (s *Service) seenBelow(ctx context.Context, to access.Actor, a *around, id int64) error {
	pl := a.pipelines[id]
	if pl == nil {
		return nil
	}
	p, err := s.SeenIn(ctx, to, a.project, pl)
	if err == nil && p != nil {
		a.below[id] = new(s.basicForm(p, pl))
	}
	return err
}

func (s *Service) commonForm(a *around, j *Job) commonForm {
	pl := a.pipelines[j.PipelineID]
	if pl == nil { // it went between two queries
		pl = &Pipeline{ID: j.PipelineID, ProjectID: j.ProjectID}
	}
	f := commonForm{
		ID: j.ID, Status: j.Status, Stage: j.Stage, Name: j.Name, Ref: pl.Ref, Tag: pl.Tag, Coverage: j.Coverage, AllowFailure: j.AllowFailure,
		CreatedAt: httpapi.Time(j.CreatedAt), StartedAt: httpapi.At(j.StartedAt), FinishedAt: httpapi.At(j.FinishedAt), ErasedAt: httpapi.At(j.ErasedAt),
		Pipeline: s.basicForm(a.project, pl), WebURL: s.page(a.project, "jobs/"+strconv.FormatInt(j.ID, 10)),
		Project: jobProject{a.project.Settings.CIJobTokenScopeEnabled}, Archived: s.Archived(j),
	}
	now := s.deps.Clock.Now()
	f.Duration = seconds(j.StartedAt, j.FinishedAt)
	if j.Status == Running {
		f.Duration = seconds(j.StartedAt, &now)
	}
	if j.QueuedAt != nil { // up to when it began, ended without beginning, or now
		f.QueuedDuration = cmp.Or(j.StartedAt, j.FinishedAt, &now).Sub(*j.QueuedAt).Seconds()
	}
	if j.Status == Failed {
		f.FailureReason = j.FailureReason
	}
	if j.UserID != nil {
		if u, there := a.people[*j.UserID]; there {
			f.User = &u
		}
	}
	if c := a.commits[pl.SHA]; c != nil {
		f.Commit = new(s.deps.Repositories.CommitForm(a.project, c))
	}
	return f
}

func (s *Service) jobForm(a *around, j *Job) JobForm {
	f := JobForm{commonForm: s.commonForm(a, j), Artifacts: []fileForm{}, TagList: j.Tags}
	if f.TagList == nil {
		f.TagList = []string{}
	}
	if j.RunnerID != nil {
		if form, known := a.runners[*j.RunnerID]; known {
			f.Runner = &form
		}
	}
	for _, file := range a.files[j.ID] {
		if file.Type == artifact.Archive {
			f.ArtifactsFile = &archiveForm{file.Filename, file.Size}
			f.ArtifactsExpireAt = httpapi.At(file.ExpireAt)
		}
		form := fileForm{FileType: file.Type, Size: file.Size, Filename: file.Filename}
		if file.Format != "" {
			form.FileFormat = new(string(file.Format))
		}
		f.Artifacts = append(f.Artifacts, form)
	}
	return f
}

func (s *Service) bridgeForm(a *around, j *Job) bridgeForm {
	f := bridgeForm{commonForm: s.commonForm(a, j)}
	if j.DownstreamID != nil {
		f.Downstream = a.below[*j.DownstreamID]
	}
	return f
}

// Form presents a build to somebody who may see it.
func (s *Service) Form(ctx context.Context, to access.Actor, p *project.Project, j *Job) (JobForm, error) {
	a, err := s.around(ctx, to, p, []Job{*j})
	if err != nil {
		return JobForm{}, err
	}
	return s.jobForm(a, j), nil
}
