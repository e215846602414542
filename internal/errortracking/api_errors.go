package errortracking

import (
	"context"
	"encoding/hex"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/project"
)

func (s *Service) errorEndpoints() []httpapi.Endpoint {
	const errors = "/projects/{id}/error_tracking/errors"
	return []httpapi.Endpoint{
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET " + errors, Needs: access.ReadErrors, Summary: "List the errors that a project's programs reported.",
		}, s.handleErrors),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET " + errors + "/{error_id}", Needs: access.ReadErrors, Summary: "Show an error.",
		}, s.handleError),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "PUT " + errors + "/{error_id}", Needs: access.UpdateErrors, Summary: "Resolve or ignore an error, or take that back.",
		}, s.handleStatus),
		project.On(s.deps.Projects, httpapi.Spec{
			Route: "GET " + errors + "/{error_id}/events", Needs: access.ReadErrors, Summary: "List the latest events of an error, with what they say.",
		}, s.handleStored),
	}
}

type errorForm struct {
	ID          int64         `json:"id"`
	Name        string        `json:"name"`
	Message     string        `json:"message"`
	Culprit     string        `json:"culprit"`
	Platform    string        `json:"platform"`
	Level       string        `json:"level"`
	Status      Status        `json:"status"`
	Events      int64         `json:"events_count"`
	People      int           `json:"users_count"`
	FirstSeen   httpapi.Time  `json:"first_seen"`
	LastSeen    httpapi.Time  `json:"last_seen"`
	ResolvedAt  *httpapi.Time `json:"resolved_at"`
	RegressedAt *httpapi.Time `json:"regressed_at"`

	ResolvedRelease string `json:"resolved_release"`
}

func presentError(e Error) errorForm {
	return errorForm{
		ID: e.ID, Name: e.Name, Message: e.Message, Culprit: e.Culprit, Platform: e.Platform, Level: e.Level, Status: e.Status, Events: e.Events,
		People: e.People, FirstSeen: httpapi.Time(e.FirstSeen), LastSeen: httpapi.Time(e.LastSeen), ResolvedAt: httpapi.At(e.ResolvedAt),
		RegressedAt: httpapi.At(e.RegressedAt), ResolvedRelease: e.ResolvedRelease,
	}
}

type errorsParams struct {
	project.Ref
	Status      string `param:"status" enum:"unresolved,resolved,ignored" doc:"Only errors with this status"`
	Environment string `param:"environment" doc:"Only errors that happened in this environment"`
	Release     string `param:"release" doc:"Only errors that happened in this release"`
	Query       string `param:"query" doc:"Only errors whose name, message or culprit holds this"`
	Sort        string `param:"sort" enum:"last_seen,first_seen,frequency" default:"last_seen" doc:"Order, the greatest first"`
	httpapi.Paging
}

func (s *Service) handleErrors(ctx context.Context, call httpapi.Call[*project.Project, errorsParams]) (none httpapi.List[errorForm], err error) {
	p := call.Params
	req, err := p.Request()
	if err != nil {
		return none, err
	}
	page, err := s.List(ctx, call.Subject.ID, Filter{
		Status: Status(p.Status), Environment: p.Environment, Release: p.Release, Query: p.Query, Sort: Sort(p.Sort),
	}, req)
	return httpapi.ListOf(req, page, presentError), err
}

type errorRef struct {
	project.Ref
	ErrorID int64 `param:"error_id" doc:"ID of the error"`
}

type placeForm struct {
	Name      string       `json:"name"`
	Events    int64        `json:"events_count"`
	FirstSeen httpapi.Time `json:"first_seen"`
	LastSeen  httpapi.Time `json:"last_seen"`
}

type hourForm struct {
	Hour   httpapi.Time `json:"hour"`
	Events int64        `json:"events_count"`
}

// detailForm is an error with where and when it happened.
type detailForm struct {
	errorForm
	Releases     []placeForm `json:"releases"`
	Environments []placeForm `json:"environments"`
	Hours        []hourForm  `json:"hours"`
}

// shownHours is how far back hours are told beside an error.
const shownHours = 24

func (s *Service) handleError(ctx context.Context, call httpapi.Call[*project.Project, errorRef]) (detailForm, error) {
	e, err := s.Find(ctx, call.Subject.ID, call.Params.ErrorID)
	if err != nil {
		return detailForm{}, err
	}
	form := detailForm{errorForm: presentError(*e), Releases: []placeForm{}, Environments: []placeForm{}, Hours: []hourForm{}}
	places, err := s.Places(ctx, e.ID)
	if err != nil {
		return detailForm{}, err
	}
	for _, p := range places {
		shown := placeForm{Name: p.Value, Events: p.Events, FirstSeen: httpapi.Time(p.FirstSeen), LastSeen: httpapi.Time(p.LastSeen)}
		if p.Kind == "release" {
			form.Releases = append(form.Releases, shown)
		} else {
			form.Environments = append(form.Environments, shown)
		}
	}
	hours, err := s.Hours(ctx, s.Since(shownHours), e.ID)
	for _, h := range hours[e.ID] {
		form.Hours = append(form.Hours, hourForm{Hour: httpapi.Time(h.Hour), Events: h.Events})
	}
	return form, err
}

type statusParams struct {
	errorRef
	Status  string `param:"status" required:"true" enum:"unresolved,resolved,ignored" doc:"What became of it"`
	Release string `param:"release" doc:"Release that resolves it; events of earlier versions leave it resolved"`
}

func (s *Service) handleStatus(ctx context.Context, call httpapi.Call[*project.Project, statusParams]) (errorForm, error) {
	e, err := s.SetStatus(ctx, call.Subject.ID, call.Params.ErrorID, Status(call.Params.Status), call.Params.Release)
	if err != nil {
		return errorForm{}, err
	}
	return presentError(*e), nil
}

type storedParams struct {
	errorRef
	httpapi.Paging
}

// storedForm is an event as it was kept: most of a report, without secrets.
type storedForm struct {
	EventID    string       `json:"event_id"`
	HappenedAt httpapi.Time `json:"happened_at"`
	ReceivedAt httpapi.Time `json:"received_at"`
	Report     Report       `json:"report"`
}

func (s *Service) handleStored(ctx context.Context, call httpapi.Call[*project.Project, storedParams]) (none httpapi.List[storedForm], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	e, err := s.Find(ctx, call.Subject.ID, call.Params.ErrorID)
	if err != nil {
		return none, err
	}
	page, err := s.Stored(ctx, e.ID, req)
	if err != nil {
		return none, err
	}
	forms := paging.Result[storedForm]{Total: page.Total, More: page.More, Items: make([]storedForm, 0, len(page.Items))}
	for _, o := range page.Items {
		r, err := o.Report()
		if err != nil {
			return none, err
		}
		forms.Items = append(forms.Items, storedForm{
			EventID: hex.EncodeToString(o.EventID[:]), HappenedAt: httpapi.Time(o.HappenedAt), ReceivedAt: httpapi.Time(o.ReceivedAt), Report: r,
		})
	}
	return httpapi.ListOf(req, forms, func(f storedForm) storedForm { return f }), nil
}
