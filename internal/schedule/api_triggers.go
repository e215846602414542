package schedule

import (
	"context"
	"net/http"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/pipeline"
	"stithy/internal/project"
	"stithy/internal/user"
)

func (s *Service) triggerEndpoints() []httpapi.Endpoint {
	spec := func(method, below string, status int, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/triggers" + below, Needs: access.AdminTriggers, Status: status, Summary: summary}
	}
	pull := func(route string) httpapi.Spec {
		return httpapi.Spec{
			Route: "POST /projects/{id}/" + route, Needs: access.BySecret, Status: http.StatusCreated,
			Summary:       "Run a pipeline with a trigger token.",
			ExtraRefusals: "needs a trigger token of the project, or the token of a running job",
			Note:          "The token is the only proof that counts.",
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
	return httpapi.NoContent{}, s.DeleteTrigger(ctx, call.Actor, call.Subject, call.Params.TriggerID)
}

type pullParams struct {
	project.Ref
	RefName   string         `param:"ref" required:"true" doc:"Branch or tag"`
	Token     string         `param:"token" required:"true" doc:"Trigger token"`
	Variables map[string]any `param:"variables" doc:"Variables of the pipeline: names and values"`
}

func (s *Service) handlePull(ctx context.Context, call httpapi.Call[httpapi.None, pullParams]) (pipeline.FullForm, error) {
	in := call.Params
	payload := map[string]any{"ref": in.RefName}
	var vars []pipeline.Variable
	for key, value := range in.Variables {
		text, ok := value.(string)
		if !ok {
			return pipeline.FullForm{}, fault.WithMessage(fault.Rejected, "variables needs to be a map of key-valued strings")
		}
		vars = append(vars, pipeline.Variable{Key: key, Value: text})
	}
	if len(vars) > 0 {
		payload["variables"] = in.Variables
	}
	p, pl, err := s.Pull(ctx, in.ID, in.Token, in.RefName, vars, payload)
	if err != nil {
		return pipeline.FullForm{}, err
	}
	return s.deps.Pipelines.FullForm(ctx, p, pl)
}
