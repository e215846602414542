package pipeline

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/postgres"
	"stithy/internal/project"
	"stithy/internal/user"
)

func (s *Service) scheduleEndpoints() []httpapi.Endpoint {
	spec := func(method, below string, needs access.Ability, status int, summary, also string) httpapi.Spec {
		return httpapi.Spec{
			Route: method + " /projects/{id}/pipeline_schedules" + below, Needs: needs, Status: status, Summary: summary, ExtraRefusals: also,
		}
	}
	const owner = "those who do not own the schedule"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, spec("GET", "", access.ReadPipelines, 0, "List the pipeline schedules of a project.", ""), s.handleSchedules),
		project.On(s.deps.Projects, spec("GET", "/{schedule_id:digits}", access.ReadPipelines, 0, "Get a pipeline schedule.", ""),
			s.handleSchedule),
		project.On(s.deps.Projects, spec("GET", "/{schedule_id:digits}/pipelines", access.ReadPipelines, 0, "List the pipelines of a schedule.", ""), s.handleSchedulePipelines),
		project.On(s.deps.Projects, spec("POST", "", access.AdminSchedules, http.StatusCreated, "Create a pipeline schedule.", "what protects branches"), s.handleCreateSchedule),
		project.On(s.deps.Projects, spec("PUT", "/{schedule_id:digits}", access.AdminSchedules, 0, "Change a pipeline schedule.", owner), s.handleChangeSchedule),
		project.On(s.deps.Projects, spec("POST", "/{schedule_id:digits}/take_ownership", access.TakeSchedules, http.StatusCreated, "Take over a pipeline schedule.", ""), s.handleTakeSchedule),
		project.On(s.deps.Projects, spec("DELETE", "/{schedule_id:digits}", access.AdminSchedules, http.StatusNoContent, "Delete a pipeline schedule.", owner), s.handleDeleteSchedule),
		project.On(s.deps.Projects, func() httpapi.Spec {
			play := spec("POST", "/{schedule_id:digits}/play", access.AdminSchedules, http.StatusCreated, "Run a pipeline schedule now.", "what protects branches")
			play.Limit, play.LimitOf = "play_pipeline_schedule", "pipeline schedule"
			return play
		}(), s.handlePlaySchedule),
		project.On(s.deps.Projects, spec("POST", "/{schedule_id:digits}/variables", access.AdminSchedules, http.StatusCreated, "Add a variable to a pipeline schedule.", owner), s.handleAddScheduleVariable),
		project.On(s.deps.Projects, spec("PUT", "/{schedule_id:digits}/variables/{key}", access.AdminSchedules, 0, "Change a variable of a pipeline schedule.", owner), s.handleChangeScheduleVariable),
		project.On(s.deps.Projects, spec("DELETE", "/{schedule_id:digits}/variables/{key}", access.AdminSchedules, http.StatusAccepted, "Remove a variable of a pipeline schedule.", owner), s.handleRemoveScheduleVariable),
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

type lastPipeline struct {
	ID     int64  `json:"id"`
	SHA    string `json:"sha"`
	Ref    string `json:"ref"`
	Status Status `json:"status"`
}

type scheduleDetail struct {
	scheduleForm
	LastPipeline *lastPipeline  `json:"last_pipeline"`
	Variables    []variableForm `json:"variables,omitempty"`
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
			ID: sc.ID, Description: sc.Description, Ref: shortRef(sc.Ref), Cron: sc.Cron, CronTimezone: sc.CronTimezone, NextRunAt: httpapi.At(sc.NextRunAt),
			Active: sc.Active, CreatedAt: httpapi.Time(sc.CreatedAt), UpdatedAt: httpapi.Time(sc.UpdatedAt),
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
func (s *Service) detail(ctx context.Context, to access.Actor, p *project.Project, sc *Schedule, err error) (scheduleDetail, error) {
	if err != nil {
		return scheduleDetail{}, err
	}
	form, err := s.scheduleForms(ctx, []Schedule{*sc})
	if err != nil {
		return scheduleDetail{}, err
	}
	d := scheduleDetail{scheduleForm: form(*sc)}
	pl, err := found(postgres.One[Pipeline](ctx, s.deps.DB, sqlLatestOfSchedule, sc.ID))
	switch {
	case err == nil:
		d.LastPipeline = &lastPipeline{pl.ID, pl.SHA, pl.Ref, pl.Status}
	case !fault.Is(err, fault.NotFound):
		return d, err
	}
	if p.Role >= access.Maintainer || sc.owns(to) == nil {
		vars, err := s.ScheduleVariables(ctx, sc.ID)
		if err != nil {
			return d, err
		}
		for _, v := range vars {
			d.Variables = append(d.Variables, newVariableForm(v))
		}
	}
	return d, nil
}

type schedulesParams struct {
	project.Ref
	httpapi.Paging
	Scope string `param:"scope" enum:"active,inactive" doc:"Only schedules that run, or that do not"`
}

func (s *Service) handleSchedules(ctx context.Context, call httpapi.Call[*project.Project, schedulesParams]) (httpapi.List[scheduleForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[scheduleForm]{}, err
	}
	var active *bool
	if call.Params.Scope != "" {
		active = new(call.Params.Scope == "active")
	}
	res, err := s.Schedules(ctx, call.Subject.ID, active, req)
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

func (s *Service) handleSchedule(ctx context.Context, call httpapi.Call[*project.Project, scheduleRef]) (scheduleDetail, error) {
	sc, err := s.FindSchedule(ctx, call.Subject.ID, call.Params.ScheduleID)
	return s.detail(ctx, call.Actor, call.Subject, sc, err)
}

type schedulePipelinesParams struct {
	scheduleRef
	httpapi.Paging
}

func (s *Service) handleSchedulePipelines(ctx context.Context, call httpapi.Call[*project.Project, schedulePipelinesParams]) (httpapi.List[listedForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[listedForm]{}, err
	}
	if _, err := s.FindSchedule(ctx, call.Subject.ID, call.Params.ScheduleID); err != nil {
		return httpapi.List[listedForm]{}, err
	}
	res, err := s.List(ctx, call.Subject.ID, Filter{ScheduleID: call.Params.ScheduleID}, req)
	return httpapi.ListOf(req, res, func(pl Pipeline) listedForm { return listedForm{s.basicForm(call.Subject, &pl), pl.Name} }), err
}

type createScheduleParams struct {
	project.Ref
	Description  string              `param:"description" required:"true" doc:"What it is for"`
	RefName      string              `param:"ref" required:"true" doc:"Branch or tag"`
	Cron         string              `param:"cron" required:"true" doc:"When: minute, hour, day, month, day of the week"`
	CronTimezone httpapi.Opt[string] `param:"cron_timezone" doc:"Where that is the time; UTC when absent"`
	Active       httpapi.Opt[bool]   `param:"active" doc:"Whether it runs"`
}

func (s *Service) handleCreateSchedule(ctx context.Context, call httpapi.Call[*project.Project, createScheduleParams]) (scheduleDetail, error) {
	in := call.Params
	sc, err := s.CreateSchedule(ctx, call.Actor, call.Subject, ScheduleDraft{
		Description: &in.Description, Ref: &in.RefName, Cron: &in.Cron, CronTimezone: in.CronTimezone.Ptr(), Active: in.Active.Ptr(),
	})
	return s.detail(ctx, call.Actor, call.Subject, sc, err)
}

type changeScheduleParams struct {
	scheduleRef
	Description  httpapi.Opt[string] `param:"description" doc:"What it is for"`
	RefName      httpapi.Opt[string] `param:"ref" doc:"Branch or tag"`
	Cron         httpapi.Opt[string] `param:"cron" doc:"When: minute, hour, day, month, day of the week"`
	CronTimezone httpapi.Opt[string] `param:"cron_timezone" doc:"Where that is the time"`
	Active       httpapi.Opt[bool]   `param:"active" doc:"Whether it runs"`
}

func (s *Service) handleChangeSchedule(ctx context.Context, call httpapi.Call[*project.Project, changeScheduleParams]) (scheduleDetail, error) {
	in := call.Params
	sc, err := s.ChangeSchedule(ctx, call.Actor, call.Subject, in.ScheduleID, ScheduleDraft{
		Description: in.Description.Ptr(), Ref: in.RefName.Ptr(), Cron: in.Cron.Ptr(), CronTimezone: in.CronTimezone.Ptr(), Active: in.Active.Ptr(),
	})
	return s.detail(ctx, call.Actor, call.Subject, sc, err)
}

func (s *Service) handleTakeSchedule(ctx context.Context, call httpapi.Call[*project.Project, scheduleRef]) (scheduleDetail, error) {
	sc, err := s.TakeSchedule(ctx, call.Actor, call.Subject, call.Params.ScheduleID)
	return s.detail(ctx, call.Actor, call.Subject, sc, err)
}

func (s *Service) handleDeleteSchedule(ctx context.Context, call httpapi.Call[*project.Project, scheduleRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.DeleteSchedule(ctx, call.Actor, call.Subject, call.Params.ScheduleID)
}

type messageForm struct {
	Message string `json:"message"`
}

func (s *Service) handlePlaySchedule(ctx context.Context, call httpapi.Call[*project.Project, scheduleRef]) (messageForm, error) {
	return messageForm{"201 Created"}, s.PlaySchedule(ctx, call.Actor, call.Subject, call.Params.ScheduleID)
}

type addScheduleVariableParams struct {
	scheduleRef
	variableParams
}

func (s *Service) handleAddScheduleVariable(ctx context.Context, call httpapi.Call[*project.Project, addScheduleVariableParams]) (variableForm, error) {
	in := call.Params
	v := Variable{Key: in.Key, Value: in.Value, File: in.Type == "file"}
	return newVariableForm(v), s.SetScheduleVariable(ctx, call.Actor, call.Subject, in.ScheduleID, v, true)
}

type changeScheduleVariableParams struct {
	scheduleRef
	Key   string              `param:"key" doc:"Name of the variable"`
	Value httpapi.Opt[string] `param:"value" bytes:"1048576" doc:"Value of the variable"`
	Type  httpapi.Opt[string] `param:"variable_type" enum:"env_var,file" doc:"How jobs see it"`
}

func (s *Service) handleChangeScheduleVariable(ctx context.Context, call httpapi.Call[*project.Project, changeScheduleVariableParams]) (variableForm, error) {
	in := call.Params
	sc, err := s.FindSchedule(ctx, call.Subject.ID, in.ScheduleID)
	if err != nil {
		return variableForm{}, err
	}
	if err := sc.owns(call.Actor); err != nil {
		return variableForm{}, err
	}
	v, err := s.FindScheduleVariable(ctx, in.ScheduleID, in.Key)
	if err != nil {
		return variableForm{}, err
	}
	if value := in.Value.Ptr(); value != nil {
		v.Value = *value
	}
	if kind := in.Type.Ptr(); kind != nil {
		v.File = *kind == "file"
	}
	return newVariableForm(v), s.SetScheduleVariable(ctx, call.Actor, call.Subject, in.ScheduleID, v, false)
}

type scheduleVariableRef struct {
	scheduleRef
	Key string `param:"key" doc:"Name of the variable"`
}

func (s *Service) handleRemoveScheduleVariable(ctx context.Context, call httpapi.Call[*project.Project, scheduleVariableRef]) (variableForm, error) {
	v, err := s.RemoveScheduleVariable(ctx, call.Actor, call.Subject, call.Params.ScheduleID, call.Params.Key)
	return newVariableForm(v), err
}

// ---- trigger tokens

func (s *Service) triggerEndpoints() []httpapi.Endpoint {
	spec := func(method, below string, status int, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/triggers" + below, Needs: access.AdminTriggers, Status: status, Summary: summary}
	}
	pull := func(route string) httpapi.Spec {
		return httpapi.Spec{
			Route: "POST /projects/{id}/" + route, Needs: access.BySecret, Status: http.StatusCreated, Summary: "Run a pipeline with a trigger token.",
			ExtraRefusals: "needs a trigger token of the project, or the token of a running job", Note: "The token is the only proof that counts.",
		}
	}
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, spec("GET", "", 0, "List the trigger tokens of a project."), s.handleTriggers),
		project.On(s.deps.Projects, spec("GET", "/{trigger_id:digits}", 0, "Get a trigger token."), s.handleTrigger),
		project.On(s.deps.Projects, spec("POST", "", http.StatusCreated, "Create a trigger token."), s.handleCreateTrigger),
		project.On(s.deps.Projects, func() httpapi.Spec {
			change := spec("PUT", "/{trigger_id:digits}", 0, "Change a trigger token.")
			change.ExtraRefusals = "those who do not own the token"
			return change
		}(), s.handleChangeTrigger),
		project.On(s.deps.Projects, spec("DELETE", "/{trigger_id:digits}", http.StatusNoContent, "Delete a trigger token."),
			s.handleDeleteTrigger),
		httpapi.Do(pull("trigger/pipeline"), s.handlePull),
		httpapi.Do(pull("ref/{ref}/trigger/pipeline"), s.handlePull),
	}
}

type triggerForm struct {
	ID          int64         `json:"id"`
	Token       string        `json:"token"`
	Description string        `json:"description"`
	CreatedAt   httpapi.Time  `json:"created_at"`
	UpdatedAt   httpapi.Time  `json:"updated_at"`
	LastUsed    *httpapi.Time `json:"last_used"`
	Owner       *user.Public  `json:"owner"`
}

func (s *Service) triggerForms(ctx context.Context, page []Trigger) (func(Trigger) triggerForm, error) {
	var ids []int64
	for _, t := range page {
		ids = append(ids, t.OwnerID)
	}
	people, err := s.deps.Users.Briefs(ctx, ids...)
	return func(t Trigger) triggerForm {
		f := triggerForm{
			ID: t.ID, Token: t.Hint, Description: t.Description, CreatedAt: httpapi.Time(t.CreatedAt), UpdatedAt: httpapi.Time(t.UpdatedAt),
			LastUsed: httpapi.At(t.LastUsed),
		}
		if b, there := people[t.OwnerID]; there {
			f.Owner = new(s.deps.Users.PublicForm(b))
		}
		return f
	}, err
}

func (s *Service) presentTrigger(ctx context.Context, t *Trigger, err error) (triggerForm, error) {
	if err != nil {
		return triggerForm{}, err
	}
	form, err := s.triggerForms(ctx, []Trigger{*t})
	return form(*t), err
}

type pageParams struct {
	project.Ref
	httpapi.Paging
}

func (s *Service) handleTriggers(ctx context.Context, call httpapi.Call[*project.Project, pageParams]) (httpapi.List[triggerForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[triggerForm]{}, err
	}
	res, err := s.Triggers(ctx, call.Subject.ID, req)
	if err != nil {
		return httpapi.List[triggerForm]{}, err
	}
	form, err := s.triggerForms(ctx, res.Items)
	return httpapi.ListOf(req, res, form), err
}

type triggerRef struct {
	project.Ref
	TriggerID int64 `param:"trigger_id" doc:"ID of the trigger token"`
}

func (s *Service) handleTrigger(ctx context.Context, call httpapi.Call[*project.Project, triggerRef]) (triggerForm, error) {
	t, err := s.FindTrigger(ctx, call.Subject.ID, call.Params.TriggerID)
	return s.presentTrigger(ctx, t, err)
}

type createTriggerParams struct {
	project.Ref
	Description string `param:"description" required:"true" doc:"What the token is for"`
}

func (s *Service) handleCreateTrigger(ctx context.Context, call httpapi.Call[*project.Project, createTriggerParams]) (triggerForm, error) {
	t, secret, err := s.CreateTrigger(ctx, call.Actor, call.Subject, call.Params.Description)
	form, err := s.presentTrigger(ctx, t, err)
	form.Token = secret.Reveal()
	return form, err
}

type changeTriggerParams struct {
	triggerRef
	Description string `param:"description" required:"true" doc:"What the token is for"`
}

func (s *Service) handleChangeTrigger(ctx context.Context, call httpapi.Call[*project.Project, changeTriggerParams]) (triggerForm, error) {
	t, err := s.ChangeTrigger(ctx, call.Actor, call.Subject, call.Params.TriggerID, call.Params.Description)
	return s.presentTrigger(ctx, t, err)
}

func (s *Service) handleDeleteTrigger(ctx context.Context, call httpapi.Call[*project.Project, triggerRef]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.DeleteTrigger(ctx, call.Subject, call.Params.TriggerID)
}

type pullParams struct {
	project.Ref
	RefName   string         `param:"ref" required:"true" doc:"Branch or tag"`
	Token     string         `param:"token" required:"true" doc:"Trigger token"`
	Variables map[string]any `param:"variables" doc:"Variables of the pipeline: names and values"`
}

func (s *Service) handlePull(ctx context.Context, call httpapi.Call[httpapi.None, pullParams]) (fullForm, error) {
	in := call.Params
	payload := map[string]any{"ref": in.RefName}
	var vars []Variable
	for key, value := range in.Variables {
		text, ok := value.(string)
		if !ok {
			return fullForm{}, fault.WithMessage(fault.Rejected, "variables needs to be a map of key-valued strings")
		}
		vars = append(vars, Variable{Key: key, Value: text})
	}
	if len(vars) > 0 {
		payload["variables"] = in.Variables
	}
	p, pl, err := s.Pull(ctx, in.ID, in.Token, in.RefName, vars, payload)
	return s.presentFull(ctx, p, pl, err)
}

// ---- resource groups

func (s *Service) resourceEndpoints() []httpapi.Endpoint {
	spec := func(method, below, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/resource_groups" + below, Needs: access.UseResourceGroups, Summary: summary}
	}
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, spec("GET", "", "List the resource groups of a project."), s.handleResourceGroups),
		project.On(s.deps.Projects, spec("GET", "/{key}", "Get a resource group."), s.handleResourceGroup),
		project.On(s.deps.Projects, spec("GET", "/{key}/upcoming_jobs", "List the jobs that wait for a resource group."), s.handleUpcoming),
		project.On(s.deps.Projects, spec("PUT", "/{key}", "Change a resource group."), s.handleSetResourceGroup),
	}
}

type groupForm struct {
	ID          int64        `json:"id"`
	Key         string       `json:"key"`
	ProcessMode string       `json:"process_mode"`
	CreatedAt   httpapi.Time `json:"created_at"`
	UpdatedAt   httpapi.Time `json:"updated_at"`
}

func newGroupForm(g ResourceGroup) groupForm {
	return groupForm{g.ID, g.Key, g.ProcessMode, httpapi.Time(g.CreatedAt), httpapi.Time(g.UpdatedAt)}
}

func (s *Service) handleResourceGroups(ctx context.Context, call httpapi.Call[*project.Project, pageParams]) (httpapi.List[groupForm], error) {
	req, err := call.Params.Request()
	if err != nil {
		return httpapi.List[groupForm]{}, err
	}
	res, err := s.ResourceGroups(ctx, call.Subject.ID, req)
	return httpapi.ListOf(req, res, newGroupForm), err
}

type keyRef struct {
	project.Ref
	Key string `param:"key" doc:"Key of the resource group"`
}

func (s *Service) handleResourceGroup(ctx context.Context, call httpapi.Call[*project.Project, keyRef]) (groupForm, error) {
	g, err := found(postgres.One[ResourceGroup](ctx, s.deps.DB, sqlResourceGroup, call.Subject.ID, call.Params.Key))
	return newGroupForm(deref(g)), err
}

type upcomingParams struct {
	keyRef
	httpapi.Paging
}

func (s *Service) handleUpcoming(ctx context.Context, call httpapi.Call[*project.Project, upcomingParams]) (httpapi.List[JobForm], error) {
	var none httpapi.List[JobForm]
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	g, err := found(postgres.One[ResourceGroup](ctx, s.deps.DB, sqlResourceGroup, call.Subject.ID, call.Params.Key))
	if err != nil {
		return none, err
	}
	res, err := s.Upcoming(ctx, g, req)
	if err != nil {
		return none, err
	}
	a, err := s.around(ctx, call.Actor, call.Subject, res.Items)
	if err != nil {
		return none, err
	}
	return httpapi.ListOf(req, res, func(j Job) JobForm { return s.jobForm(a, &j) }), nil
}

type setGroupParams struct {
	keyRef
	ProcessMode string `param:"process_mode" required:"true" enum:"unordered,oldest_first,newest_first" doc:"Who comes next"`
}

func (s *Service) handleSetResourceGroup(ctx context.Context, call httpapi.Call[*project.Project, setGroupParams]) (groupForm, error) {
	g, err := s.SetResourceGroup(ctx, call.Subject.ID, call.Params.Key, call.Params.ProcessMode)
	return newGroupForm(deref(g)), err
}
