package schedule

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/gitstore"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/pipeline"
	"stithy/internal/project"
	"stithy/internal/user"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat(s.scheduleEndpoints(), s.triggerEndpoints())
}

func (s *Service) scheduleEndpoints() []httpapi.Endpoint {
	spec := func(method, below string, needs access.Ability, status int, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/pipeline_schedules" + below, Needs: needs, Status: status, Summary: summary}
	}
	limited := func(spec httpapi.Spec, also string) httpapi.Spec {
		spec.ExtraRefusals = also
		return spec
	}
	const (
		one        = "/{schedule_id:digits}"
		variable   = one + "/variables/{key}"
		owner      = "those who do not own the schedule"
		protection = "what protects branches"
	)
	play := limited(spec("POST", one+"/play", access.AdminSchedules, http.StatusCreated, "Run a pipeline schedule now."), protection)
	play.Limit, play.LimitOf = "play_pipeline_schedule", "pipeline schedule"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, spec("GET", "", access.ReadPipelines, 0, "List the pipeline schedules of a project."), s.handleList),
		project.On(s.deps.Projects, spec("GET", one, access.ReadPipelines, 0, "Get a pipeline schedule."), s.handleGet),
		project.On(s.deps.Projects, spec("GET", one+"/pipelines", access.ReadPipelines, 0, "List the pipelines of a schedule."),
			s.handlePipelines),
		project.On(s.deps.Projects,
			limited(spec("POST", "", access.AdminSchedules, http.StatusCreated, "Create a pipeline schedule."), protection), s.handleCreate),
		project.On(s.deps.Projects, limited(spec("PUT", one, access.AdminSchedules, 0, "Change a pipeline schedule."), owner), s.handleChange),
		project.On(s.deps.Projects,
			spec("POST", one+"/take_ownership", access.TakeSchedules, http.StatusCreated, "Take over a pipeline schedule."), s.handleTake),
		project.On(s.deps.Projects,
			limited(spec("DELETE", one, access.AdminSchedules, http.StatusNoContent, "Delete a pipeline schedule."), owner), s.handleDelete),
		project.On(s.deps.Projects, play, s.handlePlay),
		project.On(s.deps.Projects,
			limited(spec("POST", one+"/variables", access.AdminSchedules, http.StatusCreated, "Add a variable to a pipeline schedule."), owner),
			s.handleAddVariable),
		project.On(s.deps.Projects,
			limited(spec("PUT", variable, access.AdminSchedules, 0, "Change a variable of a pipeline schedule."), owner), s.handleChangeVariable),
		project.On(s.deps.Projects,
			limited(spec("DELETE", variable, access.AdminSchedules, http.StatusAccepted, "Remove a variable of a pipeline schedule."), owner),
			s.handleRemoveVariable),
	}
}

type scheduleForm struct {
	ID           int64         `json:"id"`
	Description  string        `json:"description"`
	Ref          string        `json:"ref"`
	Cron         string        `json:"cron"`
	CronTimezone string        `json:"cron_timezone"`
	NextRunAt    *httpapi.Time `json:"next_run_at"`
	Active       bool          `json:"active"`
	CreatedAt    httpapi.Time  `json:"created_at"`
	UpdatedAt    httpapi.Time  `json:"updated_at"`
	Owner        *user.Public  `json:"owner"`
}

type lastPipelineForm struct {
	ID     int64           `json:"id"`
	SHA    string          `json:"sha"`
	Ref    string          `json:"ref"`
	Status pipeline.Status `json:"status"`
}

type detailForm struct {
	scheduleForm
	LastPipeline *lastPipelineForm       `json:"last_pipeline"`
	Variables    []pipeline.VariableForm `json:"variables,omitempty"`
}

func (s *Service) scheduleForms(ctx context.Context, page []Schedule) (func(Schedule) scheduleForm, error) {
	var ids []int64
	for _, sc := range page {
		if sc.OwnerID != nil {
			ids = append(ids, *sc.OwnerID)
		}
	}
	people, err := s.deps.Users.Briefs(ctx, ids...)
	return func(sc Schedule) scheduleForm {
		f := scheduleForm{
			ID: sc.ID, Description: sc.Description, Ref: gitstore.ShortRef(sc.Ref), Cron: sc.Cron, CronTimezone: sc.CronTimezone,
			NextRunAt: httpapi.At(sc.NextRunAt), Active: sc.Active, CreatedAt: httpapi.Time(sc.CreatedAt), UpdatedAt: httpapi.Time(sc.UpdatedAt),
		}
		if sc.OwnerID != nil {
			if b, there := people[*sc.OwnerID]; there {
				f.Owner = new(s.deps.Users.PublicForm(b))
			}
		}
		return f
	}, err
}

// detail presents a schedule. Its variables are for its owner and for
// maintainers.
func (s *Service) detail(ctx context.Context, to access.Actor, p *project.Project, sc *Schedule, err error) (detailForm, error) {
	if err != nil {
		return detailForm{}, err
	}
	form, err := s.scheduleForms(ctx, []Schedule{*sc})
	if err != nil {
		return detailForm{}, err
	}
	d := detailForm{scheduleForm: form(*sc)}
	pl, err := s.deps.Pipelines.LatestOfSchedule(ctx, sc.ID)
	if err != nil {
		return d, err
	}
	if pl != nil {
		d.LastPipeline = &lastPipelineForm{pl.ID, pl.SHA, pl.Ref, pl.Status}
	}
	if p.Role >= access.Maintainer || sc.owns(to) == nil {
		vars, err := s.Variables(ctx, sc.ID)
		if err != nil {
			return d, err
		}
		for _, v := range vars {
			d.Variables = append(d.Variables, v.Form())
		}
	}
	return d, nil
}

type listParams struct {
	project.Ref
	httpapi.Paging
	Scope string `param:"scope" enum:"active,inactive" doc:"Only schedules that run, or that do not"`
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*project.Project, listParams]) (httpapi.List[scheduleForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[scheduleForm]{}, err
	}
	var active *bool
	if call.Params.Scope != "" {
		active = new(call.Params.Scope == "active")
	}
	res, err := s.List(ctx, call.Subject.ID, active, req)
	if err != nil {
		return httpapi.List[scheduleForm]{}, err
	}
	form, err := s.scheduleForms(ctx, res.Items)
	return httpapi.ListOf(req, res, form), err
}

type scheduleRef struct {
	project.Ref
	ScheduleID int64 `param:"schedule_id" doc:"ID of the pipeline schedule"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*project.Project, scheduleRef]) (detailForm, error) {
	sc, err := s.Find(ctx, call.Subject.ID, call.Params.ScheduleID)
	return s.detail(ctx, call.Actor, call.Subject, sc, err)
}

type pipelinesParams struct {
	scheduleRef
	httpapi.Paging
}

func (s *Service) handlePipelines(
	ctx context.Context, call httpapi.Call[*project.Project, pipelinesParams],
) (httpapi.List[pipeline.ListedForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[pipeline.ListedForm]{}, err
	}
	if _, err := s.Find(ctx, call.Subject.ID, call.Params.ScheduleID); err != nil {
		return httpapi.List[pipeline.ListedForm]{}, err
	}
	res, err := s.deps.Pipelines.List(ctx, call.Subject.ID, pipeline.Filter{ScheduleID: call.Params.ScheduleID}, req)
	return httpapi.ListOf(req, res, func(pl pipeline.Pipeline) pipeline.ListedForm {
		return s.deps.Pipelines.ListedForm(call.Subject, &pl)
	}), err
}

type createParams struct {
	project.Ref
	Description  string              `param:"description" required:"true" doc:"What it is for"`
	RefName      string              `param:"ref" required:"true" doc:"Branch or tag"`
	Cron         string              `param:"cron" required:"true" doc:"When: minute, hour, day, month, day of the week"`
	CronTimezone httpapi.Opt[string] `param:"cron_timezone" doc:"Where that is the time; UTC when absent"`
	Active       httpapi.Opt[bool]   `param:"active" doc:"Whether it runs"`
}

func (s *Service) handleCreate(ctx context.Context, call httpapi.Call[*project.Project, createParams]) (detailForm, error) {
	in := call.Params
	sc, err := s.Create(ctx, call.Actor, call.Subject, Draft{
		Description: &in.Description, Ref: &in.RefName, Cron: &in.Cron, CronTimezone: in.CronTimezone.Ptr(), Active: in.Active.Ptr(),
	})
	return s.detail(ctx, call.Actor, call.Subject, sc, err)
}

type changeParams struct {
	scheduleRef
	Description  httpapi.Opt[string] `param:"description" doc:"What it is for"`
	RefName      httpapi.Opt[string] `param:"ref" doc:"Branch or tag"`
	Cron         httpapi.Opt[string] `param:"cron" doc:"When: minute, hour, day, month, day of the week"`
	CronTimezone httpapi.Opt[string] `param:"cron_timezone" doc:"Where that is the time"`
	Active       httpapi.Opt[bool]   `param:"active" doc:"Whether it runs"`
}

func (s *Service) handleChange(ctx context.Context, call httpapi.Call[*project.Project, changeParams]) (detailForm, error) {
	in := call.Params
	sc, err := s.Change(ctx, call.Actor, call.Subject, in.ScheduleID, Draft{
		Description: in.Description.Ptr(), Ref: in.RefName.Ptr(), Cron: in.Cron.Ptr(), CronTimezone: in.CronTimezone.Ptr(),
		Active: in.Active.Ptr(),
	})
	return s.detail(ctx, call.Actor, call.Subject, sc, err)
}

func (s *Service) handleTake(ctx context.Context, call httpapi.Call[*project.Project, scheduleRef]) (detailForm, error) {
	sc, err := s.Take(ctx, call.Actor, call.Subject, call.Params.ScheduleID)
	return s.detail(ctx, call.Actor, call.Subject, sc, err)
}

func (s *Service) handleDelete(ctx context.Context, call httpapi.Call[*project.Project, scheduleRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Delete(ctx, call.Actor, call.Subject, call.Params.ScheduleID)
}

type messageForm struct {
	Message string `json:"message"`
}

func (s *Service) handlePlay(ctx context.Context, call httpapi.Call[*project.Project, scheduleRef]) (messageForm, error) {
	return messageForm{"201 Created"}, s.Play(ctx, call.Actor, call.Subject, call.Params.ScheduleID)
}

type addVariableParams struct {
	scheduleRef
	pipeline.VariableParams
}

func (s *Service) handleAddVariable(
	ctx context.Context, call httpapi.Call[*project.Project, addVariableParams],
) (pipeline.VariableForm, error) {
	v := call.Params.Variable()
	return v.Form(), s.SetVariable(ctx, call.Actor, call.Subject, call.Params.ScheduleID, v, true)
}

type changeVariableParams struct {
	scheduleRef
	Key   string              `param:"key" doc:"Name of the variable"`
	Value httpapi.Opt[string] `param:"value" bytes:"1048576" doc:"Value of the variable"`
	Type  httpapi.Opt[string] `param:"variable_type" enum:"env_var,file" doc:"How jobs see it"`
}

func (s *Service) handleChangeVariable(
	ctx context.Context, call httpapi.Call[*project.Project, changeVariableParams],
) (pipeline.VariableForm, error) {
	in := call.Params
	sc, err := s.Find(ctx, call.Subject.ID, in.ScheduleID)
	if err != nil {
		return pipeline.VariableForm{}, err
	}
	if err := sc.owns(call.Actor); err != nil {
		return pipeline.VariableForm{}, err
	}
	v, err := s.FindVariable(ctx, in.ScheduleID, in.Key)
	if err != nil {
		return pipeline.VariableForm{}, err
	}
	if value := in.Value.Ptr(); value != nil {
		v.Value = *value
	}
	if kind := in.Type.Ptr(); kind != nil {
		v.File = *kind == "file"
	}
	return v.Form(), s.SetVariable(ctx, call.Actor, call.Subject, in.ScheduleID, v, false)
}

type variableRef struct {
	scheduleRef
	Key string `param:"key" doc:"Name of the variable"`
}

func (s *Service) handleRemoveVariable(
	ctx context.Context, call httpapi.Call[*project.Project, variableRef],
) (pipeline.VariableForm, error) {
	v, err := s.RemoveVariable(ctx, call.Actor, call.Subject, call.Params.ScheduleID, call.Params.Key)
	return v.Form(), err
}
