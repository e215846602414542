package member

import (
	"context"
	"net/http"
	"time"

	"stithy/internal/group"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
)

func (s *Service) shareEndpoints() []httpapi.Endpoint {
	unshare := on(s, httpapi.Spec{Route: "DELETE /share/{group_id}", Summary: "Keep a group out of a {owner} again."}, toShare, s.handleUnshare)
	return append(unshare,
		httpapi.On(httpapi.Spec{
			Route: "POST /projects/{id}/share", Needs: access.ShareProject, Status: http.StatusCreated,
			Summary: "Share a project with a group.",
		}, func(ctx context.Context, a access.Actor, p shareProjectParams) (*Source, error) {
			return found(s.deps.Owners.FindProject(ctx, a, p.ID))
		}, s.handleShareProject),
		httpapi.On(httpapi.Spec{
			Route: "POST /groups/{id}/share", Needs: access.ShareGroup, Status: http.StatusCreated,
			Summary: "Share a group with another group.",
		}, func(ctx context.Context, a access.Actor, p shareGroupParams) (*Source, error) {
			return found(s.deps.Owners.FindGroup(ctx, a, p.ID))
		}, s.handleShareGroup),
	)
}

func found(o *owner.Owner, err error) (*Source, error) {
	if err != nil {
		return nil, err
	}
	return SourceOf(o), nil
}

type shareParams struct {
	owner.Ref
	GroupID   int64     `param:"group_id" required:"true" doc:"ID of the group to let in"`
	ExpiresAt time.Time `param:"expires_at" format:"date" doc:"Day from which the share no longer counts"`
}

type shareProjectParams struct {
	shareParams
	GroupAccess int64 `param:"group_access" required:"true" enum:"10,20,30,40" doc:"Highest role that members of the group get"`
}

type shareGroupParams struct {
	shareParams
	GroupAccess int64 `param:"group_access" required:"true" enum:"10,20,30,40,50" doc:"Highest role that members of the group get"`
}

// shareForm is a share of a project on the wire.
type shareForm struct {
	ID          int64         `json:"id"`
	ProjectID   int64         `json:"project_id"`
	GroupID     int64         `json:"group_id"`
	GroupAccess access.Role   `json:"group_access"`
	ExpiresAt   *httpapi.Date `json:"expires_at"`
}

func (s *Service) handleShareProject(ctx context.Context, call httpapi.Call[*Source, shareProjectParams]) (shareForm, error) {
	p := call.Params
	share, err := s.Share(ctx, call.Actor, call.Subject, p.GroupID, Terms{Level: role(p.GroupAccess), ExpiresAt: optionalDay(p.ExpiresAt)})
	if fault.Is(err, fault.NotFound) {
		err = fault.WithMessage(fault.NotFound, "Not Found")
	}
	return shareForm{
		ID: share.ID, ProjectID: call.Subject.Entity.ID, GroupID: share.GroupID, GroupAccess: share.Level, ExpiresAt: httpapi.Day(share.ExpiresAt),
	}, err
}

func (s *Service) handleShareGroup(ctx context.Context, call httpapi.Call[*Source, shareGroupParams]) (group.Detail, error) {
	p := call.Params
	_, err := s.Share(ctx, call.Actor, call.Subject, p.GroupID, Terms{Level: role(p.GroupAccess), ExpiresAt: optionalDay(p.ExpiresAt)})
	if err != nil {
		return group.Detail{}, err
	}
	return s.deps.Groups.Detail(ctx, call.Actor, call.Subject.Entity.ID)
}

type unshareParams struct {
	owner.Ref
	GroupID int64 `param:"group_id" doc:"ID of the group that was let in"`
}

func (s *Service) handleUnshare(ctx context.Context, call httpapi.Call[*Source, unshareParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Unshare(ctx, call.Actor, call.Subject, call.Params.GroupID)
}
