package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

func (s *Service) pipelineEndpoints() []httpapi.Endpoint {
	one := func(method, below, summary string, needs access.Ability) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/pipelines/{pipeline_id:digits}" + below, Needs: needs, Summary: summary}
	}
	with := func(spec httpapi.Spec, status int, also string) httpapi.Spec {
		spec.Status, spec.ExtraRefusals = status, also
		return spec
	}
	const protection = "what protects branches"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/pipelines", Needs: access.ReadPipelines, Summary: "List the pipelines of a project.",
		}, s.handleList),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET /projects/{id}/pipelines/latest", Needs: access.ReadPipelines, Summary: "Get the latest pipeline of a ref.",
		}, s.handleLatest),
		project.On(s.deps.Projects, one("GET", "", "Get a pipeline.", access.ReadPipelines), s.handleGet),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "POST /projects/{id}/pipeline", Needs: access.CreatePipeline, Status: http.StatusCreated, Summary: "Run a pipeline.",
			ExtraRefusals: protection,
		}, s.handleCreate),
		project.On(s.deps.Projects, with(one("POST", "/retry", "Run the failed jobs of a pipeline again.", access.UpdateJobs), http.StatusCreated, protection), s.handleRetry),
		project.On(s.deps.Projects, with(one("POST", "/cancel", "Cancel a pipeline.", access.UpdateJobs), http.StatusOK, protection),
			s.handleCancel),
		project.On(s.deps.Projects, with(one("DELETE", "", "Delete a pipeline.", access.DeletePipeline), http.StatusNoContent, ""),
			s.handleDelete),
		project.On(s.deps.Projects, with(one("GET", "/variables", "List the variables of a pipeline.", access.ReadPipelineVariables), 0,
			"developers, of pipelines that are not their own"), s.handleVariables),
		project.On(s.deps.Projects, one("GET", "/test_report", "Get what tests of a pipeline say.", access.ReadJobs), s.handleTestReport),
		project.On(s.deps.Projects, one("GET", "/test_report_summary", "Get what tests of a pipeline say, in short.", access.ReadJobs), s.handleTestSummary),
	}
}

// ListedForm is a pipeline in a list of them.
type ListedForm struct {
	basicForm
	Name *string `json:"name"`
}

// ListedForm presents a pipeline of a list to somebody who may see it.
func (s *Service) ListedForm(p *project.Project, pl *Pipeline) ListedForm {
	return ListedForm{s.basicForm(p, pl), pl.Name}
}

type detailedStatus struct {
	Icon         string  `json:"icon"`
	Text         string  `json:"text"`
	Label        string  `json:"label"`
	Group        string  `json:"group"`
	Tooltip      string  `json:"tooltip"`
	HasDetails   bool    `json:"has_details"`
	DetailsPath  string  `json:"details_path"`
	Illustration *string `json:"illustration"`
	Favicon      string  `json:"favicon"`
}

// FullForm is a pipeline by itself, on the wire.
type FullForm struct {
	basicForm
	BeforeSHA      string         `json:"before_sha"`
	Tag            bool           `json:"tag"`
	YAMLErrors     *string        `json:"yaml_errors"`
	User           *user.Public   `json:"user"`
	StartedAt      *httpapi.Time  `json:"started_at"`
	FinishedAt     *httpapi.Time  `json:"finished_at"`
	CommittedAt    *httpapi.Time  `json:"committed_at"`
	Duration       *int           `json:"duration"`
	QueuedDuration *int           `json:"queued_duration"`
	Coverage       *string        `json:"coverage"`
	DetailedStatus detailedStatus `json:"detailed_status"`
	Name           *string        `json:"name"`
}

// statusWords are what people call a status: its text and its label.
var statusWords = map[Status][2]string{
	Created: {"Created", "created"}, WaitingForResource: {"Waiting", "waiting for resource"}, Preparing: {"Preparing", "preparing"},
	Pending: {"Pending", "pending"}, Running: {"Running", "running"}, Success: {"Passed", "passed"}, Failed: {"Failed", "failed"},
	Canceled: {"Canceled", "canceled"}, Skipped: {"Skipped", "skipped"}, Manual: {"Blocked", "waiting for manual action"},
	Scheduled: {"Delayed", "waiting for delayed job"},
}

func detailed(st Status, warnings bool, path string) detailedStatus {
	words := statusWords[st]
	d := detailedStatus{
		Icon: "status_" + string(st), Text: words[0], Label: words[1], Group: strings.ReplaceAll(string(st), "_", "-"), Tooltip: words[1],
		HasDetails: true, DetailsPath: path, Favicon: "/assets/ci_favicons/favicon_status_" + string(st) + ".png",
	}
	if st == Success && warnings {
		d.Icon, d.Text, d.Label, d.Group = "status_warning", "Warning", "passed with warnings", "success-with-warnings"
		d.Tooltip = d.Label
	}
	return d
}

type span struct {
	PipelineID int64
	StartedAt  time.Time
	FinishedAt time.Time
}

// worked is how long something of a pipeline ran: the union of all spans, which
// come by their beginning.
func worked(spans []span) time.Duration {
	var total time.Duration
	var until time.Time
	for _, sp := range spans {
		from := sp.StartedAt
		if from.Before(until) {
			from = until
		}
		if sp.FinishedAt.After(from) {
			total += sp.FinishedAt.Sub(from)
			until = sp.FinishedAt
		}
	}
	return total
}

// Ran is for how long something of pipelines ran, so far, of those of which something did.
func (s *Service) Ran(ctx context.Context, pipelineIDs ...int64) (map[int64]time.Duration, error) {
	spans, err := postgres.All[span](ctx, s.deps.DB, sqlSpans, pipelineIDs, s.deps.Clock.Now())
	if err != nil {
		return nil, err
	}
	ran := map[int64]time.Duration{}
	for len(spans) > 0 {
		id := spans[0].PipelineID
		n := slices.IndexFunc(spans, func(sp span) bool { return sp.PipelineID != id })
		if n < 0 {
			n = len(spans)
		}
		ran[id], spans = worked(spans[:n]), spans[n:]
	}
	return ran, nil
}

// FullForm presents a pipeline to somebody who may see it.
func (s *Service) FullForm(ctx context.Context, p *project.Project, pl *Pipeline) (FullForm, error) {
	f := FullForm{
		basicForm: s.basicForm(p, pl), BeforeSHA: pl.BeforeSHA, Tag: pl.Tag, YAMLErrors: pl.YAMLErrors, StartedAt: httpapi.At(pl.StartedAt),
		FinishedAt: httpapi.At(pl.FinishedAt), CommittedAt: httpapi.At(pl.CommittedAt), Name: pl.Name,
	}
	ran, err := s.Ran(ctx, pl.ID)
	if err != nil {
		return f, err
	}
	if d, ok := ran[pl.ID]; ok {
		f.Duration = new(int(d.Seconds()))
	}
	if pl.StartedAt != nil {
		f.QueuedDuration = new(int(pl.StartedAt.Sub(pl.CreatedAt).Seconds()))
	}
	coverage, err := postgres.Value[*float64](ctx, s.deps.DB, sqlCoverage, pl.ID)
	if err != nil {
		return f, err
	}
	if coverage != nil {
		f.Coverage = new(fmt.Sprintf("%.2f", *coverage))
	}
	var warnings bool
	if pl.Status == Success {
		if warnings, err = postgres.Value[bool](ctx, s.deps.DB, sqlWarnings, pl.ID); err != nil {
			return f, err
		}
	}
	f.DetailedStatus = detailed(pl.Status, warnings, "/"+p.FullPath()+"/-/pipelines/"+strconv.FormatInt(pl.ID, 10))
	if pl.UserID != nil {
		people, err := s.deps.Users.Briefs(ctx, *pl.UserID)
		if err != nil {
			return f, err
		}
		if b, there := people[*pl.UserID]; there {
			f.User = new(s.deps.Users.PublicForm(b))
		}
	}
	return f, nil
}

func (s *Service) presentFull(ctx context.Context, p *project.Project, pl *Pipeline, err error) (FullForm, error) {
	if err != nil {
		return FullForm{}, err
	}
	return s.FullForm(ctx, p, pl)
}

type listParams struct {
	project.Ref
	httpapi.Paging
	Scope         string            `param:"scope" enum:"running,pending,finished,branches,tags" doc:"Only pipelines of this kind"`
	Status        Status            `param:"status" enum:"created,waiting_for_resource,preparing,pending,running,success,failed,canceled,skipped,manual,scheduled" doc:"Only pipelines of this status"`
	Source        Source            `param:"source" enum:"push,web,trigger,schedule,api,external,pipeline,chat,webide,merge_request_event,external_pull_request_event,parent_pipeline,ondemand_dast_scan,ondemand_dast_validation,security_orchestration_policy" doc:"Only pipelines that came from this"`
	RefName       string            `param:"ref" doc:"Only pipelines of this branch or tag"`
	SHA           string            `param:"sha" doc:"Only pipelines of this commit"`
	YAMLErrors    httpapi.Opt[bool] `param:"yaml_errors" doc:"Only pipelines with or without an invalid configuration"`
	Username      string            `param:"username" doc:"Only pipelines that this person made"`
	Name          string            `param:"name" doc:"Only pipelines of this name"`
	UpdatedAfter  time.Time         `param:"updated_after" doc:"Only pipelines that changed after this"`
	UpdatedBefore time.Time         `param:"updated_before" doc:"Only pipelines that changed before this"`
	CreatedAfter  time.Time         `param:"created_after" doc:"Only pipelines made after this"`
	CreatedBefore time.Time         `param:"created_before" doc:"Only pipelines made before this"`
	OrderBy       string            `param:"order_by" default:"id" enum:"id,status,ref,updated_at,user_id" doc:"Order of the list"`
	Sort          string            `param:"sort" default:"desc" enum:"asc,desc" doc:"Direction of the order"`
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*project.Project, listParams]) (httpapi.List[ListedForm], error) {
	var none httpapi.List[ListedForm]
	in := call.Params
	req, err := in.Request()
	if err != nil {
		return none, err
	}
	req.OrderBy, req.Desc = in.OrderBy, in.Sort == "desc"
	f := Filter{
		Scope: in.Scope, Status: in.Status, Source: in.Source, Ref: in.RefName, SHA: in.SHA, YAMLErrors: in.YAMLErrors.Ptr(), Name: in.Name,
		UpdatedAfter: in.UpdatedAfter, UpdatedBefore: in.UpdatedBefore, CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore,
	}
	if in.Username != "" {
		u, err := s.deps.Users.FindByUsername(ctx, in.Username)
		if fault.Is(err, fault.NotFound) {
			return httpapi.List[ListedForm]{Request: req}, nil
		}
		if err != nil {
			return none, err
		}
		f.UserID = &u.ID
	}
	res, err := s.List(ctx, call.Subject.ID, f, req)
	return httpapi.ListOf(req, res, func(pl Pipeline) ListedForm { return s.ListedForm(call.Subject, &pl) }), err
}

type latestParams struct {
	project.Ref
	RefName string `param:"ref" doc:"Branch or tag; the default branch when empty"`
}

func (s *Service) handleLatest(ctx context.Context, call httpapi.Call[*project.Project, latestParams]) (FullForm, error) {
	pl, err := s.Latest(ctx, call.Subject, call.Params.RefName)
	return s.presentFull(ctx, call.Subject, pl, err)
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*project.Project, pipelineRef]) (FullForm, error) {
	pl, err := s.Find(ctx, call.Subject.ID, call.Params.PipelineID)
	return s.presentFull(ctx, call.Subject, pl, err)
}

// VariableParams are what somebody says of a variable.
type VariableParams struct {
	Key   string `param:"key" required:"true" doc:"Name of the variable"`
	Value string `param:"value" required:"true" bytes:"1048576" doc:"Value of the variable"`
	Type  string `param:"variable_type" default:"env_var" enum:"env_var,file" doc:"How jobs see it"`
}

// Variable is the variable that is meant.
func (p VariableParams) Variable() Variable {
	return Variable{Key: p.Key, Value: p.Value, File: p.Type == "file"}
}

type createParams struct {
	project.Ref
	RefName   string           `param:"ref" required:"true" doc:"Branch or tag"`
	Variables []VariableParams `param:"variables" doc:"Variables of the pipeline"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*project.Project, createParams]) (FullForm, error) {
	w := CreateRequest{Source: FromAPI, Ref: call.Params.RefName}
	for _, v := range call.Params.Variables {
		w.Variables = append(w.Variables, v.Variable())
	}
	pl, err := s.Create(ctx, call.Actor, call.Subject, w)
	return s.presentFull(ctx, call.Subject, pl, err)
}

func (s *Service) handleRetry(ctx context.Context, call httpapi.Call[*project.Project, pipelineRef]) (FullForm, error) {
	pl, err := s.RetryPipeline(ctx, call.Actor, call.Subject, call.Params.PipelineID)
	return s.presentFull(ctx, call.Subject, pl, err)
}

func (s *Service) handleCancel(ctx context.Context, call httpapi.Call[*project.Project, pipelineRef]) (FullForm, error) {
	pl, err := s.CancelPipeline(ctx, call.Actor, call.Subject, call.Params.PipelineID)
	return s.presentFull(ctx, call.Subject, pl, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*project.Project, pipelineRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject, call.Params.PipelineID)
}

// VariableForm is a variable on the wire.
type VariableForm struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Type  string `json:"variable_type"`
	Raw   bool   `json:"raw"`
}

// Form presents a variable to somebody who may read it.
func (v Variable) Form() VariableForm {
	kind := "env_var"
	if v.File {
		kind = "file"
	}
	return VariableForm{Key: v.Key, Value: v.Value, Type: kind, Raw: v.Raw}
}

func (s *Service) handleVariables(ctx context.Context, call httpapi.Call[*project.Project, pipelineRef]) ([]VariableForm, error) {
	pl, err := s.Find(ctx, call.Subject.ID, call.Params.PipelineID)
	if err != nil {
		return nil, err
	}
	giver, err := s.giver(ctx, pl)
	if err != nil {
		return nil, err
	}
	to := artifact.Maintainers
	if giver != nil && call.Actor.Is(*giver) {
		to = artifact.Developers
	}
	if !MayRead(call.Actor, call.Subject, Variables, to) {
		return nil, fault.New(fault.Forbidden)
	}
	vars, err := s.VariablesOf(ctx, s.deps.DB, pl.ID)
	forms := []VariableForm{}
	for _, v := range vars {
		forms = append(forms, v.Form())
	}
	return forms, err
}

// counts are how many tests ended how.
type counts struct {
	TotalTime    float64 `json:"total_time"`
	TotalCount   int     `json:"total_count"`
	SuccessCount int     `json:"success_count"`
	FailedCount  int     `json:"failed_count"`
	SkippedCount int     `json:"skipped_count"`
	ErrorCount   int     `json:"error_count"`
}

func (c *counts) add(t artifact.Counts) {
	c.TotalTime += t.Seconds
	c.TotalCount += t.All()
	c.SuccessCount += t.Passed
	c.FailedCount += t.Failed
	c.SkippedCount += t.Skipped
	c.ErrorCount += t.Errored
}

type caseForm struct {
	Status         artifact.Outcome `json:"status"`
	Name           string           `json:"name"`
	Classname      string           `json:"classname"`
	File           *string          `json:"file"`
	ExecutionTime  float64          `json:"execution_time"`
	SystemOutput   *string          `json:"system_output"`
	StackTrace     *string          `json:"stack_trace"`
	RecentFailures *int             `json:"recent_failures"`
	AttachmentURL  *string          `json:"attachment_url"`
}

type suiteForm struct {
	Name string `json:"name"`
	counts
	SuiteError *string    `json:"suite_error"`
	TestCases  []caseForm `json:"test_cases"`
}

type reportForm struct {
	counts
	TestSuites []suiteForm `json:"test_suites"`
}

func (s *Service) tests(ctx context.Context, to access.Actor, p *project.Project, pipelineID int64, cases bool) (artifact.Report, error) {
	pl, err := s.Find(ctx, p.ID, pipelineID)
	if err != nil {
		return artifact.Report{}, err
	}
	builds, err := postgres.All[Job](ctx, s.deps.DB, sqlBuildsOf, pl.ID)
	if err != nil {
		return artifact.Report{}, err
	}
	ids, names := []int64{}, map[int64]string{}
	for _, j := range builds {
		ids, names[j.ID] = append(ids, j.ID), j.Name
	}
	if len(ids) == 0 {
		return artifact.Report{}, nil
	}
	report, err := s.deps.Artifacts.TestReport(ctx, func(a artifact.Audience) bool { return MayRead(to, p, Files, a) }, cases, ids...)
	for i := range report.Suites {
		report.Suites[i].Name = names[report.Suites[i].JobID]
	}
	return report, err
}

func (s *Service) handleTestReport(ctx context.Context, call httpapi.Call[*project.Project, pipelineRef]) (reportForm, error) {
	report, err := s.tests(ctx, call.Actor, call.Subject, call.Params.PipelineID, true)
	form := reportForm{TestSuites: []suiteForm{}}
	for _, suite := range report.Suites {
		f := suiteForm{Name: suite.Name, SuiteError: filled(suite.Error), TestCases: []caseForm{}}
		f.add(suite.Counts)
		form.add(suite.Counts)
		for _, c := range suite.Cases {
			one := caseForm{
				Status: c.Outcome, Name: c.Name, Classname: c.Classname, File: filled(c.File), ExecutionTime: c.Seconds, SystemOutput: filled(c.Output),
			}
			if c.Attachment != "" {
				one.AttachmentURL = new(s.page(call.Subject, "jobs/"+strconv.FormatInt(suite.JobID, 10)+"/artifacts/file/"+c.Attachment))
			}
			f.TestCases = append(f.TestCases, one)
		}
		form.TestSuites = append(form.TestSuites, f)
	}
	return form, err
}

type totalForm struct {
	Time       float64 `json:"time"`
	Count      int     `json:"count"`
	Success    int     `json:"success"`
	Failed     int     `json:"failed"`
	Skipped    int     `json:"skipped"`
	Error      int     `json:"error"`
	SuiteError *string `json:"suite_error"`
}

type suiteSummary struct {
	Name string `json:"name"`
	counts
	BuildIDs   []int64 `json:"build_ids"`
	SuiteError *string `json:"suite_error"`
}

type summaryForm struct {
	Total      totalForm      `json:"total"`
	TestSuites []suiteSummary `json:"test_suites"`
}

func (s *Service) handleTestSummary(ctx context.Context, call httpapi.Call[*project.Project, pipelineRef]) (summaryForm, error) {
	report, err := s.tests(ctx, call.Actor, call.Subject, call.Params.PipelineID, false)
	form := summaryForm{TestSuites: []suiteSummary{}}
	var total counts
	for _, suite := range report.Suites {
		f := suiteSummary{Name: suite.Name, BuildIDs: []int64{suite.JobID}, SuiteError: filled(suite.Error)}
		f.add(suite.Counts)
		total.add(suite.Counts)
		form.TestSuites = append(form.TestSuites, f)
	}
	form.Total = totalForm{total.TotalTime, total.TotalCount, total.SuccessCount, total.FailedCount, total.SkippedCount, total.ErrorCount, nil}
	return form, err
}
