package member

import (
	"context"
	"net/http"
	"slices"

	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
	"stithy/internal/user"
)

func (s *Service) requestEndpoints() []httpapi.Endpoint {
	return slices.Concat(
		on(s, httpapi.Spec{Route: "GET /access_requests", Summary: "List who would like to join a {owner}."}, toAdmin, s.handleRequests),
		on(s, httpapi.Spec{Route: "POST /access_requests", Status: http.StatusCreated, Summary: "Ask to join a {owner}.", ExtraRefusals: "members are refused"}, toAsk, s.handleAsk),
		on(s, httpapi.Spec{
			Route: "PUT /access_requests/{user_id}/approve", Status: http.StatusCreated, Summary: "Let someone who asked join a {owner}.",
		}, toAdmin, s.handleApprove),
		on(s, httpapi.Spec{
			Route: "DELETE /access_requests/{user_id}", Summary: "Deny someone who asked to join a {owner}, or take the request back.",
			ExtraRefusals: "only who manages the members, or asked",
		}, toLeave, s.handleDeny),
	)
}

// requestForm is an access request on the wire.
type requestForm struct {
	user.Public
	RequestedAt *httpapi.Time `json:"requested_at"`
}

func (s *Service) presentRequests(ctx context.Context, requests ...Member) ([]requestForm, error) {
	ids := make([]int64, len(requests))
	for i, m := range requests {
		ids[i] = m.UserID
	}
	people, err := s.deps.Users.Briefs(ctx, ids...)
	forms := make([]requestForm, len(requests))
	for i, m := range requests {
		forms[i] = requestForm{Public: s.deps.Users.PublicForm(people[m.UserID]), RequestedAt: httpapi.At(m.RequestedAt)}
	}
	return forms, err
}

type requestsParams struct {
	owner.Ref
	httpapi.Paging
}

func (s *Service) handleRequests(ctx context.Context, call httpapi.Call[*Source, requestsParams]) (httpapi.List[requestForm], error) {
	list := httpapi.List[requestForm]{}
	req, err := call.Params.Request()
	if err != nil {
		return list, err
	}
	res, err := s.Requests(ctx, call.Subject, req)
	if err != nil {
		return list, err
	}
	list.Request, list.Total, list.More = req, res.Total, res.More
	list.Items, err = s.presentRequests(ctx, res.Items...)
	return list, err
}

func (s *Service) handleAsk(ctx context.Context, call httpapi.Call[*Source, owner.Ref]) (requestForm, error) {
	m, err := s.Ask(ctx, call.Actor, call.Subject)
	if err != nil {
		return requestForm{}, err
	}
	forms, err := s.presentRequests(ctx, m)
	return forms[0], err
}

type approveParams struct {
	memberParams
	AccessLevel int64 `param:"access_level" default:"30" doc:"10, 20, 30, 40 or 50"`
}

func (s *Service) handleApprove(ctx context.Context, call httpapi.Call[*Source, approveParams]) (memberForm, error) {
	m, err := s.Approve(ctx, call.Actor, call.Subject, call.Params.UserID, role(call.Params.AccessLevel))
	if err != nil {
		return memberForm{}, err
	}
	return s.presentOne(ctx, m)
}

func (s *Service) handleDeny(ctx context.Context, call httpapi.Call[*Source, memberParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Deny(ctx, call.Actor, call.Subject, call.Params.UserID)
}
