package pipeline

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

func (s *Service) jobEndpoints() []httpapi.Endpoint {
	act := func(what, summary string, status int, needs access.Ability) httpapi.Spec {
		return httpapi.Spec{
			Route: "POST /projects/{id}/jobs/{job_id:digits}/" + what, Needs: needs, Status: status, Summary: summary,
			ExtraRefusals: "what protects branches, and jobs that are archived",
		}
	}
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/jobs", Needs: access.ReadJobs, Limit: "jobs_index", Summary: "List the jobs of a project.",
		}, s.handleJobs),
		httpapi.Do(httpapi.Spec{
			Route: "GET /runners/{id:digits}/jobs", Needs: access.SignIn, Summary: "List the jobs of a runner.",
			ExtraRefusals: "who does not manage the runner is answered with status 403", Note: "Jobs of projects that the caller may not see are left out.",
		}, s.handleRunnerJobs),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/pipelines/{pipeline_id:digits}/jobs", Needs: access.ReadJobs, Summary: "List the jobs of a pipeline.",
		}, s.handlePipelineJobs),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/pipelines/{pipeline_id:digits}/bridges", Needs: access.ReadJobs, Summary: "List the trigger jobs of a pipeline.",
		}, s.handleBridges),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/jobs/{job_id:digits}", Needs: access.ReadJobs, Summary: "Get a job.",
		}, s.handleJob),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/jobs/{job_id:digits}/trace", Needs: access.ReadJobs, Summary: "Get the log of a job.",
			ExtraRefusals: "those below developers, of the logs of jobs in debug mode",
		}, s.handleTrace),
		project.On(s.deps.Projects, act("cancel", "Cancel a job.", http.StatusCreated, access.UpdateJobs), s.handleCancelJob),
		project.On(s.deps.Projects, act("retry", "Run a job again.", http.StatusCreated, access.UpdateJobs), s.handleRetryJob),
		project.On(s.deps.Projects, act("play", "Start a job that waits for a person.", http.StatusOK, access.UpdateJobs), s.handlePlayJob),
		project.On(s.deps.Projects, act("erase", "Remove the log and the files of a job.", http.StatusCreated, access.EraseJobs),
			s.handleEraseJob),
	}
}

// scopeParams narrows a list of jobs.
type scopeParams struct {
	Scope []Status `param:"scope" enum:"created,waiting_for_resource,preparing,pending,running,failed,success,canceled,skipped,manual,scheduled" doc:"Only jobs of this status, or of any of several"`
}

type jobsParams struct {
	project.Ref
	httpapi.KeysetPaging
	scopeParams
	OrderBy string `param:"order_by" default:"id" doc:"Order of the list; id alone"`
	Sort    string `param:"sort" default:"desc" enum:"asc,desc" doc:"Direction of the order; desc alone with keyset"`
}

func (s *Service) handleJobs(ctx context.Context, call httpapi.Call[*project.Project, jobsParams]) (httpapi.List[JobForm], error) {
	req, err := call.Params.Request(call.Params.OrderBy, call.Params.Sort, httpapi.Offer{Model: "Ci::Build", OrderBy: []string{"id"}, Sort: "desc"})
	if err != nil {
		return httpapi.List[JobForm]{}, err
	}
	return s.listJobs(ctx, call.Actor, call.Subject, JobFilter{Statuses: call.Params.Scope, Retried: true}, req)
}

func (s *Service) listJobs(ctx context.Context, to access.Actor, p *project.Project, f JobFilter, req paging.Request) (httpapi.List[JobForm], error) {
	res, err := s.Jobs(ctx, p.ID, f, req)
	if err != nil {
		return httpapi.List[JobForm]{}, err
	}
	a, err := s.around(ctx, to, p, res.Items)
	if err != nil {
		return httpapi.List[JobForm]{}, err
	}
	return httpapi.ListOf(req, res, func(j Job) JobForm { return s.jobForm(a, &j) }), nil
}

type runnerJobsParams struct {
	ID int64 `param:"id" doc:"ID of the runner"`
	httpapi.KeysetPaging
	Status  Status `param:"status" enum:"created,waiting_for_resource,preparing,pending,running,failed,success,canceled,skipped,manual,scheduled" doc:"Only jobs of this status"`
	OrderBy string `param:"order_by" default:"id" enum:"id" doc:"Order of the list"`
	Sort    string `param:"sort" default:"desc" enum:"asc,desc" doc:"Direction of the order"`
}

// runnerJobForm is a job beside its project.
type runnerJobForm struct {
	commonForm
	Project project.IdentityForm `json:"project"`
}

func (s *Service) handleRunnerJobs(ctx context.Context, call httpapi.Call[httpapi.None, runnerJobsParams]) (httpapi.List[runnerJobForm], error) {
	var none httpapi.List[runnerJobForm]
	in := call.Params
	r, err := s.deps.Runners.Used(ctx, call.Actor, in.ID)
	if err != nil {
		return none, err
	}
	req, err := in.Request(in.OrderBy, in.Sort, httpapi.Offer{Model: "Ci::Build", OrderBy: []string{"id"}})
	if err != nil {
		return none, err
	}
	res, err := s.JobsOfRunner(ctx, call.Actor, r.ID, in.Status, req)
	if err != nil {
		return none, err
	}
	of := map[int64][]Job{}
	for _, j := range res.Items {
		of[j.ProjectID] = append(of[j.ProjectID], j)
	}
	projects, err := s.deps.Projects.Among(ctx, call.Actor, slices.Collect(maps.Keys(of)))
	if err != nil {
		return none, err
	}
	shown := map[int64]runnerJobForm{}
	for id, p := range projects {
		a, err := s.around(ctx, call.Actor, p, of[id])
		if err != nil {
			return none, err
		}
		for _, j := range of[id] {
			shown[j.ID] = runnerJobForm{commonForm: s.commonForm(a, &j), Project: s.deps.Projects.IdentityForm(p)}
		}
	}
	// A project that was closed or removed meanwhile is not shown.
	res.Items = slices.DeleteFunc(res.Items, func(j Job) bool { _, seen := shown[j.ID]; return !seen })
	return httpapi.ListOf(req, res, func(j Job) runnerJobForm { return shown[j.ID] }), nil
}

type pipelineRef struct {
	project.Ref
	PipelineID int64 `param:"pipeline_id" doc:"ID of the pipeline"`
}

type pipelineJobsParams struct {
	pipelineRef
	httpapi.Paging
	scopeParams
	IncludeRetried bool `param:"include_retried" doc:"Also jobs that were retried"`
}

func (s *Service) handlePipelineJobs(ctx context.Context, call httpapi.Call[*project.Project, pipelineJobsParams]) (httpapi.List[JobForm], error) {
	in := call.Params
	req, err := in.Request()
	if err != nil {
		return httpapi.List[JobForm]{}, err
	}
	pl, err := s.Find(ctx, call.Subject.ID, in.PipelineID)
	if err != nil {
		return httpapi.List[JobForm]{}, err
	}
	return s.listJobs(ctx, call.Actor, call.Subject, JobFilter{PipelineID: pl.ID, Statuses: in.Scope, Retried: in.IncludeRetried}, req)
}

type bridgesParams struct {
	pipelineRef
	httpapi.Paging
	scopeParams
}

func (s *Service) handleBridges(ctx context.Context, call httpapi.Call[*project.Project, bridgesParams]) (httpapi.List[bridgeForm], error) {
	var none httpapi.List[bridgeForm]
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	pl, err := s.Find(ctx, call.Subject.ID, call.Params.PipelineID)
	if err != nil {
		return none, err
	}
	res, err := s.Jobs(ctx, call.Subject.ID, JobFilter{PipelineID: pl.ID, Statuses: call.Params.Scope, Bridges: true}, req)
	if err != nil {
		return none, err
	}
	a, err := s.around(ctx, call.Actor, call.Subject, res.Items)
	if err != nil {
		return none, err
	}
	return httpapi.ListOf(req, res, func(j Job) bridgeForm { return s.bridgeForm(a, &j) }), nil
}

type jobRef struct {
	project.Ref
	JobID int64 `param:"job_id" doc:"ID of the job"`
}

// build reads a build; bridges are not found.
func (s *Service) build(ctx context.Context, projectID, id int64) (*Job, error) {
	j, err := s.FindJob(ctx, projectID, id)
	if err == nil && j.Bridge {
		return nil, errMissing
	}
	return j, err
}

func (s *Service) handleJob(ctx context.Context, call httpapi.Call[*project.Project, jobRef]) (JobForm, error) {
	j, err := s.build(ctx, call.Subject.ID, call.Params.JobID)
	return s.presentJob(ctx, call.Actor, call.Subject, j, err)
}

func (s *Service) presentJob(ctx context.Context, to access.Actor, p *project.Project, j *Job, err error) (JobForm, error) {
	if err != nil {
		return JobForm{}, err
	}
	return s.Form(ctx, to, p, j)
}

func notFoundIsNil(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func (s *Service) handleTrace(ctx context.Context, call httpapi.Call[*project.Project, jobRef]) (httpapi.Stream, error) {
	j, err := s.build(ctx, call.Subject.ID, call.Params.JobID)
	if err != nil {
		return httpapi.Stream{}, err
	}
	if err := s.MayReadLog(ctx, call.Actor, call.Subject, j); err != nil {
		return httpapi.Stream{}, err
	}
	body, size, err := s.deps.Artifacts.OpenLog(ctx, j.ID, 0)
	if err != nil {
		return httpapi.Stream{}, err
	}
	if size == 0 {
		_ = body.Close()
		return httpapi.Stream{}, errMissing
	}
	return httpapi.Stream{
		Name: strconv.FormatInt(j.ID, 10) + ".log", Type: "text/plain; charset=utf-8", Size: size,
		Open: func(context.Context) (io.ReadCloser, error) { return body, nil },
	}, nil
}

func (s *Service) handleCancelJob(ctx context.Context, call httpapi.Call[*project.Project, jobRef]) (JobForm, error) {
	if _, err := s.build(ctx, call.Subject.ID, call.Params.JobID); err != nil {
		return JobForm{}, err
	}
	j, err := s.CancelJob(ctx, call.Actor, call.Subject, call.Params.JobID)
	return s.presentJob(ctx, call.Actor, call.Subject, j, err)
}

func (s *Service) handleRetryJob(ctx context.Context, call httpapi.Call[*project.Project, jobRef]) (JobForm, error) {
	if _, err := s.build(ctx, call.Subject.ID, call.Params.JobID); err != nil {
		return JobForm{}, err
	}
	j, err := s.RetryJob(ctx, call.Actor, call.Subject, call.Params.JobID)
	return s.presentJob(ctx, call.Actor, call.Subject, j, err)
}

type keyValue struct {
	Key   string `param:"key" required:"true" doc:"Name of the variable"`
	Value string `param:"value" required:"true" bytes:"1048576" doc:"Value of the variable"`
}

type playParams struct {
	jobRef
	Variables []keyValue `param:"job_variables_attributes" doc:"Variables for this job"`
}

// playReply is the job that was started.
type playReply = httpapi.Either[JobForm, bridgeForm]

func (s *Service) handlePlayJob(ctx context.Context, call httpapi.Call[*project.Project, playParams]) (reply playReply, _ error) {
	var vars []Variable
	for _, v := range call.Params.Variables {
		vars = append(vars, Variable{Key: v.Key, Value: v.Value})
	}
	j, err := s.PlayJob(ctx, call.Actor, call.Subject, call.Params.JobID, vars)
	if err != nil {
		return reply, err
	}
	a, err := s.around(ctx, call.Actor, call.Subject, []Job{*j})
	if err != nil {
		return reply, err
	}
	if j.Bridge {
		return reply.Other(s.bridgeForm(a, j)), nil
	}
	return reply.One(s.jobForm(a, j)), nil
}

func (s *Service) handleEraseJob(ctx context.Context, call httpapi.Call[*project.Project, jobRef]) (JobForm, error) {
	if _, err := s.build(ctx, call.Subject.ID, call.Params.JobID); err != nil {
		return JobForm{}, err
	}
	j, err := s.EraseJob(ctx, call.Actor, call.Subject, call.Params.JobID)
	return s.presentJob(ctx, call.Actor, call.Subject, j, err)
}
