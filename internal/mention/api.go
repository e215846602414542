package mention

import (
	"context"

	"stithy/internal/issue"
	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/user"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return []httpapi.Endpoint{
		issue.Below(s.deps.Issues, httpapi.Spec{
			Route: "GET /projects/{id}/issues/{issue_iid:digits}/participants", Needs: access.ReadIssues, Summary: "List who takes part in an issue.",
			Note: "The first 1,000 are listed.",
		}, s.handleParticipants),
	}
}

type participantsParams struct {
	issue.Ref
	httpapi.Paging
}

func (s *Service) handleParticipants(
	ctx context.Context, call httpapi.Call[issue.Placed, participantsParams],
) (none httpapi.List[user.Public], err error) {
	req, err := call.Params.Request()
	if err != nil {
		return none, err
	}
	page, err := s.Participants(ctx, call.Actor, call.Subject, req)
	return httpapi.ListOf(req, page, s.deps.Users.PublicForm), err
}
