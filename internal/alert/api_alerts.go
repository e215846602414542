package alert

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/project"
	"stithy/internal/user"
)

func (s *Service) alertEndpoints() []httpapi.Endpoint {
	spec := func(method, below string, needs access.Ability, summary string) httpapi.Spec {
		return httpapi.Spec{Route: method + " /projects/{id}/alert_management_alerts" + below, Needs: needs, Summary: summary}
	}
	in := s.deps.Projects
	return []httpapi.Endpoint{
		project.On(in, spec("GET", "", access.ReadAlerts, "List the alerts of a project."), s.handleAlerts),
		project.On(in, spec("GET", "/status_counts", access.ReadAlerts, "Count the alerts of a project by their status."), s.handleCounts),
		project.On(in, spec("GET", "/{alert_iid:digits}", access.ReadAlerts, "Get an alert, with all that was sent."), s.handleAlert),
		project.On(in, spec("PUT", "/{alert_iid:digits}", access.UpdateAlerts, "Change the status of an alert, or whom it is given to."), s.handleDecide),
		project.On(in, httpapi.Spec{
			Route: "POST /projects/{id}/alert_management_alerts/{alert_iid:digits}/incident", Needs: access.UpdateAlerts, Status: http.StatusCreated,
			Summary: "Make an incident of an alert.", ExtraRefusals: "those who may not create incidents in the project",
		}, s.handleReport),
	}
}

// alertForm is an alert on the wire.
type alertForm struct {
	ID             int64         `json:"id"`
	IID            int32         `json:"iid"`
	ProjectID      int64         `json:"project_id"`
	IntegrationID  *int64        `json:"integration_id"`
	Title          string        `json:"title"`
	Description    string        `json:"description"`
	Status         string        `json:"status"`
	Severity       string        `json:"severity"`
	Service        string        `json:"service"`
	MonitoringTool string        `json:"monitoring_tool"`
	Hosts          []string      `json:"hosts"`
	Events         int64         `json:"events"`
	Environment    string        `json:"environment"`
	Runbook        string        `json:"runbook"`
	Query          string        `json:"query"`
	Incident       *incidentForm `json:"incident"`
	StartedAt      httpapi.Time  `json:"started_at"`
	EndedAt        *httpapi.Time `json:"ended_at"`
	CreatedAt      httpapi.Time  `json:"created_at"`
	UpdatedAt      httpapi.Time  `json:"updated_at"`
	Assignees      []user.Public `json:"assignees"`
	Reference      string        `json:"reference"`
	WebURL         string        `json:"web_url"`
}

// incidentForm is the issue that was made of an alert.
type incidentForm struct {
	IID    int    `json:"iid"`
	WebURL string `json:"web_url"`
}

func (s *Service) forms(ctx context.Context, p *project.Project, page ...Alert) (func(Alert) alertForm, error) {
	assigned, err := s.Assignees(ctx, page...)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, all := range assigned {
		ids = append(ids, all...)
	}
	people, err := s.deps.Users.Briefs(ctx, ids...)
	return func(a Alert) alertForm {
		f := alertForm{
			ID: a.ID, IID: a.IID, ProjectID: a.ProjectID, IntegrationID: a.IntegrationID, Title: a.Title, Description: a.Description,
			Status: a.Status.String(), Severity: a.Severity.String(), Service: a.Service, MonitoringTool: a.MonitoringTool, Hosts: a.Hosts, Events: a.Events,
			Environment: a.Environment, Runbook: a.Runbook, Query: a.Query, StartedAt: httpapi.Time(a.StartedAt), EndedAt: httpapi.At(a.EndedAt),
			CreatedAt: httpapi.Time(a.CreatedAt), UpdatedAt: httpapi.Time(a.UpdatedAt), Assignees: []user.Public{}, Reference: a.Reference(),
			WebURL: s.deps.ExternalURL + "/" + p.FullPath() + a.Page(),
		}
		if a.Incident != nil {
			f.Incident = &incidentForm{IID: *a.Incident, WebURL: s.deps.ExternalURL + "/" + p.FullPath() + "/-/issues/" + strconv.Itoa(*a.Incident)}
		}
		for _, id := range assigned[a.ID] {
			if b, there := people[id]; there {
				f.Assignees = append(f.Assignees, s.deps.Users.PublicForm(b))
			}
		}
		return f
	}, err
}

type filterParams struct {
	project.Ref
	Status     []string            `param:"status" split:"comma" enum:"triggered,acknowledged,resolved,ignored" doc:"Only alerts of these statuses"`
	Severity   string              `param:"severity" enum:"critical,high,medium,low,info,unknown" doc:"Only alerts of this severity"`
	AssigneeID httpapi.Opt[int64]  `param:"assignee_id" doc:"Only alerts that are given to this person"`
	Search     httpapi.Opt[string] `param:"search" doc:"Only alerts with this text in title, description, service or tool"`
}

func (p filterParams) filter() (f Filter, err error) {
	for _, name := range p.Status {
		status, ok := ParseStatus(name)
		if !ok {
			return f, fault.WithMessage(fault.BadParams, "status does not have a valid value")
		}
		f.Statuses = append(f.Statuses, status)
	}
	if severity, ok := ParseSeverity(p.Severity); ok {
		f.Severity = &severity
	}
	f.AssigneeID, f.Search = p.AssigneeID.Ptr(), p.Search.Or("")
	return f, nil
}

type alertsParams struct {
	filterParams
	OrderBy string `param:"order_by" default:"started_at" enum:"started_at,ended_at,event_count,severity,status" doc:"What the list is ordered by; ended_at lists alerts that ended"`
	Sort    string `param:"sort" default:"desc" enum:"asc,desc" doc:"The first or the last first"`
	httpapi.KeysetPaging
}

var offer = httpapi.Offer{Model: "Alert", OrderBy: []string{"started_at", "ended_at", "event_count", "severity", "status"}}

func (s *Service) handleAlerts(ctx context.Context, call httpapi.Call[*project.Project, alertsParams]) (none httpapi.List[alertForm], err error) {
	req, err := call.Params.Request(call.Params.OrderBy, call.Params.Sort, offer)
	if err != nil {
		return none, err
	}
	f, err := call.Params.filter()
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, call.Subject.ID, f, req)
	if err != nil {
		return none, err
	}
	form, err := s.forms(ctx, call.Subject, page.Items...)
	if err != nil {
		return none, err
	}
	return httpapi.ListOf(req, page, form), nil
}

type countsForm struct {
	Triggered    int `json:"triggered"`
	Acknowledged int `json:"acknowledged"`
	Resolved     int `json:"resolved"`
	Ignored      int `json:"ignored"`
}

func (s *Service) handleCounts(ctx context.Context, call httpapi.Call[*project.Project, filterParams]) (countsForm, error) {
	f, err := call.Params.filter()
	if err != nil {
		return countsForm{}, err
	}
	n, err := s.Counts(ctx, call.Subject.ID, f)
	return countsForm{Triggered: n[Triggered], Acknowledged: n[Acknowledged], Resolved: n[Resolved], Ignored: n[Ignored]}, err
}

type alertRef struct {
	project.Ref
	AlertIID int64 `param:"alert_iid" doc:"Number of the alert in its project"`
}

type changeForm struct {
	From      string       `json:"from"`
	To        string       `json:"to"`
	CreatedAt httpapi.Time `json:"created_at"`
	User      *user.Public `json:"user"`
}

// wholeForm is an alert with what stands on its page.
type wholeForm struct {
	alertForm
	Payload json.RawMessage `json:"payload"`
	Changes []changeForm    `json:"changes"`
}

func (s *Service) handleAlert(ctx context.Context, call httpapi.Call[*project.Project, alertRef]) (wholeForm, error) {
	a, err := s.Find(ctx, call.Subject.ID, call.Params.AlertIID)
	if err != nil {
		return wholeForm{}, err
	}
	return s.whole(ctx, call.Subject, a)
}

func (s *Service) whole(ctx context.Context, p *project.Project, a *Alert) (wholeForm, error) {
	form, err := s.forms(ctx, p, *a)
	if err != nil {
		return wholeForm{}, err
	}
	payload, err := s.Payload(ctx, a)
	if err != nil {
		return wholeForm{}, err
	}
	history, err := s.History(ctx, a)
	if err != nil {
		return wholeForm{}, err
	}
	ids := make([]*int64, len(history))
	for i, h := range history {
		ids[i] = h.UserID
	}
	person, err := s.deps.Users.PublicForms(ctx, ids...)
	if err != nil {
		return wholeForm{}, err
	}
	whole := wholeForm{alertForm: form(*a), Payload: json.RawMessage(payload), Changes: []changeForm{}}
	for _, h := range history {
		whole.Changes = append(whole.Changes, changeForm{
			From: h.OldStatus.String(), To: h.NewStatus.String(), CreatedAt: httpapi.Time(h.CreatedAt), User: person(h.UserID),
		})
	}
	return whole, nil
}

type decideParams struct {
	alertRef
	Status      httpapi.Opt[string]  `param:"status" enum:"triggered,acknowledged,resolved,ignored" doc:"What becomes of the alert"`
	AssigneeIDs httpapi.Opt[[]int64] `param:"assignee_ids" split:"comma" doc:"IDs of the people whom it is given to; empty for nobody"`
}

func (s *Service) handleDecide(ctx context.Context, call httpapi.Call[*project.Project, decideParams]) (wholeForm, error) {
	var d Decision
	if status, ok := ParseStatus(call.Params.Status.Or("")); ok {
		d.Status = &status
	}
	if call.Params.AssigneeIDs.Given {
		d.Assignees = new(append([]int64{}, call.Params.AssigneeIDs.Or(nil)...))
	}
	a, err := s.Decide(ctx, call.Actor, call.Subject, call.Params.AlertIID, d)
	if err != nil {
		return wholeForm{}, err
	}
	return s.whole(ctx, call.Subject, a)
}

func (s *Service) handleReport(ctx context.Context, call httpapi.Call[*project.Project, alertRef]) (wholeForm, error) {
	a, err := s.Report(ctx, call.Actor, call.Subject, call.Params.AlertIID)
	if err != nil {
		return wholeForm{}, err
	}
	return s.whole(ctx, call.Subject, a)
}
