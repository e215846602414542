package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/paging"
	"stithy/internal/owner"
)

var (
	toList = owner.Needs{Group: access.ReadGroupAudit, Project: access.ReadProjectAudit}
	toRead = owner.Needs{Group: access.ReadAllGroupAudit, Project: access.ReadAllProjectAudit}
)

const (
	ofTier = "403 on the free tier"
	ownOf  = "Those who may not read all events of the {owner} see those of their own acts."
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	in := s.deps.Owners
	return slices.Concat(
		s.destinationEndpoints(),
		[]httpapi.Endpoint{
			httpapi.Do(httpapi.Spec{
				Route: "GET /audit_events", Needs: access.Administer, Summary: "List the audit events of the instance.", ExtraRefusals: ofTier,
			}, s.handleAll),
			httpapi.Do(httpapi.Spec{
				Route: "GET /audit_events/{id}", Needs: access.Administer, Summary: "Show an audit event.", ExtraRefusals: ofTier,
			}, s.handleAny),
		},
		owner.On(in, httpapi.Spec{
			Route: "GET /audit_events", Summary: "List the audit events of a {owner}.", Note: ownOf, ExtraRefusals: ofTier,
		}, toList, s.handleList),
		owner.On(in, httpapi.Spec{
			Route: "GET /audit_events/{audit_event_id}", Summary: "Show an audit event of a {owner}.", ExtraRefusals: ofTier,
		}, toRead, s.handleGet),
	)
}

// eventForm is an event on the wire.
type eventForm struct {
	ID         int64          `json:"id"`
	AuthorID   int64          `json:"author_id"`
	EntityID   int64          `json:"entity_id"`
	EntityType string         `json:"entity_type"`
	Details    map[string]any `json:"details"`
	CreatedAt  httpapi.Time   `json:"created_at"`
	*instanceForm
}

// instanceForm is what events of the instance show beside, and all events in exports.
type instanceForm struct {
	IPAddress     *string `json:"ip_address"`
	AuthorName    string  `json:"author_name"`
	EntityPath    string  `json:"entity_path"`
	TargetDetails string  `json:"target_details"`
	TargetType    string  `json:"target_type"`
	TargetID      *int64  `json:"target_id"`
	EventType     string  `json:"event_type"`
}

func (s *Service) form(e Event) eventForm {
	form := eventForm{
		ID: e.ID, AuthorID: e.AuthorID, EntityID: e.EntityID, EntityType: string(e.EntityType), Details: map[string]any{}, CreatedAt: httpapi.Time(e.CreatedAt),
	}
	d := json.NewDecoder(bytes.NewReader(e.Details))
	d.UseNumber()
	_ = d.Decode(&form.Details) // the column holds an object
	if e.EntityType == bus.OfInstance {
		form.EntityType = s.deps.Settings.Instance().Names.InstanceScope()
		form.instanceForm = newInstanceForm(e)
	}
	return form
}

// wholeForm is an event that says everything beside, as it leaves the instance.
func (s *Service) wholeForm(e Event) eventForm {
	form := s.form(e)
	form.instanceForm = newInstanceForm(e)
	return form
}

func newInstanceForm(e Event) *instanceForm {
	return &instanceForm{
		IPAddress: e.IPAddress, AuthorName: e.AuthorName, EntityPath: e.EntityPath, TargetDetails: e.TargetDetails, TargetType: e.TargetType,
		TargetID: e.TargetID, EventType: e.EventType,
	}
}

type pageParams struct {
	CreatedAfter  time.Time `param:"created_after" doc:"Only events at this time or later"`
	CreatedBefore time.Time `param:"created_before" doc:"Only events at this time or earlier; 30 days after the other time at the most"`
	OrderBy       string    `param:"order_by" default:"id" doc:"Order of the list; id alone"`
	Sort          string    `param:"sort" default:"desc" enum:"asc,desc" doc:"Direction of the order; desc alone with keyset"`
	httpapi.KeysetPaging
}

// longest is the time that may lie between the two of a filter.
const longest = 30 * 24 * time.Hour

func (p pageParams) read() (Filter, paging.Request, error) {
	req, err := p.Request(p.OrderBy, p.Sort, httpapi.Offer{Model: "AuditEvent", OrderBy: []string{"id"}, Sort: "desc"})
	if err == nil && !p.CreatedAfter.IsZero() && !p.CreatedBefore.IsZero() && p.CreatedBefore.Sub(p.CreatedAfter) > longest {
		err = fault.WithMessage(fault.BadParams, "created_before is more than 30 days after created_after")
	}
	req.OrderBy, req.Desc = "id", true
	return Filter{After: p.CreatedAfter, Before: p.CreatedBefore}, req, err
}

type allParams struct {
	EntityType string `param:"entity_type" doc:"Only events of users, groups, projects or the instance: User, Group, Project, or the name of its scope"`
	EntityID   int64  `param:"entity_id" doc:"Only events of this one, by ID; needs entity_type"`
	pageParams
}

func (s *Service) handleAll(ctx context.Context, call httpapi.Call[httpapi.None, allParams]) (none httpapi.List[eventForm], err error) {
	p := call.Params
	f, req, err := p.read()
	if err != nil {
		return none, err
	}
	switch kind := bus.EntityKind(p.EntityType); {
	case p.EntityType == s.deps.Settings.Instance().Names.InstanceScope():
		f.EntityType = bus.OfInstance
	case kind == bus.OfUser, kind == bus.OfGroup, kind == bus.OfProject, kind == "":
		f.EntityType = kind
	default:
		return none, fault.WithMessage(fault.BadParams, "entity_type does not have a valid value")
	}
	if f.EntityID = p.EntityID; f.EntityID != 0 && f.EntityType == "" {
		return none, fault.WithMessage(fault.BadParams, "entity_type is missing")
	}
	if _, err := s.Readable(call.Actor, nil); err != nil {
		return none, err
	}
	page, err := s.List(ctx, f, req)
	return httpapi.ListOf(req, page, s.form), err
}

type anyRef struct {
	ID int64 `param:"id" doc:"ID of the event"`
}

func (s *Service) handleAny(ctx context.Context, call httpapi.Call[httpapi.None, anyRef]) (eventForm, error) {
	return s.present(s.FindFor(ctx, call.Actor, nil, call.Params.ID))
}

func (s *Service) present(e *Event, err error) (eventForm, error) {
	if err != nil {
		return eventForm{}, err
	}
	return s.form(*e), nil
}

type listParams struct {
	owner.Ref
	pageParams
}

func (s *Service) handleList(ctx context.Context, call httpapi.Call[*owner.Owner, listParams]) (none httpapi.List[eventForm], err error) {
	asked, req, err := call.Params.read()
	if err != nil {
		return none, err
	}
	f, err := s.Readable(call.Actor, call.Subject)
	if err != nil {
		return none, err
	}
	f.After, f.Before = asked.After, asked.Before
	page, err := s.List(ctx, f, req)
	return httpapi.ListOf(req, page, s.form), err
}

type eventRef struct {
	owner.Ref
	EventID int64 `param:"audit_event_id" doc:"ID of the event"`
}

func (s *Service) handleGet(ctx context.Context, call httpapi.Call[*owner.Owner, eventRef]) (eventForm, error) {
	return s.present(s.FindFor(ctx, call.Actor, call.Subject, call.Params.EventID))
}
