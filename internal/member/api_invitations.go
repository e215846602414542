package member

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/httpapi"
	"stithy/internal/owner"
)

func (s *Service) invitationEndpoints() []httpapi.Endpoint {
	return slices.Concat(
		on(s, httpapi.Spec{Route: "GET /invitations", Summary: "List the addresses that were invited to a {owner}."}, toAdmin, s.handleInvitations),
		on(s, httpapi.Spec{
			Route: "POST /invitations", Status: http.StatusCreated, Summary: "Invite addresses to a {owner}.",
			Note: "Whoever has confirmed the address accepts the invitation on a page. They become a member at once where the caller is an administrator, " +
				"and where it is the caller's own address or a public one.",
		}, toAdmin, s.handleInvite),
		on(s, httpapi.Spec{Route: "PUT /invitations/{email}", Summary: "Change an invitation to a {owner}."}, toAdmin, s.handleUpdateInvitation),
		on(s, httpapi.Spec{Route: "DELETE /invitations/{email}", Summary: "Take back an invitation to a {owner}."}, toAdmin, s.handleDisinvite),
	)
}

// invitationForm is an invitation on the wire. Its secret goes by mail
// alone.
type invitationForm struct {
	ID            int64         `json:"id"`
	InviteEmail   string        `json:"invite_email"`
	CreatedAt     httpapi.Time  `json:"created_at"`
	AccessLevel   access.Role   `json:"access_level"`
	ExpiresAt     *httpapi.Date `json:"expires_at"`
	UserName      *string       `json:"user_name"`
	CreatedByName *string       `json:"created_by_name"`
}

func (s *Service) presentInvitations(ctx context.Context, invitations ...Invitation) ([]invitationForm, error) {
	var ids []int64
	for _, i := range invitations {
		if i.CreatedByID != nil {
			ids = append(ids, *i.CreatedByID)
		}
	}
	people, err := s.deps.Users.Briefs(ctx, ids...)
	forms := make([]invitationForm, len(invitations))
	for n, i := range invitations {
		forms[n] = invitationForm{
			ID: i.ID, InviteEmail: i.InviteEmail, CreatedAt: httpapi.Time(i.CreatedAt), AccessLevel: i.AccessLevel, ExpiresAt: httpapi.Day(i.ExpiresAt),
		}
		if i.CreatedByID != nil {
			if by, known := people[*i.CreatedByID]; known {
				forms[n].CreatedByName = &by.Name
			}
		}
	}
	return forms, err
}

type invitationsParams struct {
	owner.Ref
	Query string `param:"query" doc:"Only addresses that contain this"`
	httpapi.Paging
}

func (s *Service) handleInvitations(ctx context.Context, call httpapi.Call[*Source, invitationsParams]) (httpapi.List[invitationForm], error) {
	list := httpapi.List[invitationForm]{}
	req, err := call.Params.Request()
	if err != nil {
		return list, err
	}
	res, err := s.Invitations(ctx, call.Subject, call.Params.Query, req)
	if err != nil {
		return list, err
	}
	list.Request, list.Total, list.More = req, res.Total, res.More
	list.Items, err = s.presentInvitations(ctx, res.Items...)
	return list, err
}

type inviteParams struct {
	owner.Ref
	Email       string    `param:"email" required:"true" doc:"Address, or several separated by commas"`
	AccessLevel int64     `param:"access_level" required:"true" doc:"10, 20, 30, 40 or 50; 5 in a top-level group"`
	ExpiresAt   time.Time `param:"expires_at" format:"date" doc:"Day from which the membership no longer counts"`
	Source      string    `param:"invite_source" doc:"Taken and not used"`
}

func (s *Service) handleInvite(ctx context.Context, call httpapi.Call[*Source, inviteParams]) (outcomeForm, error) {
	p := call.Params
	terms := Terms{Level: role(p.AccessLevel), ExpiresAt: optionalDay(p.ExpiresAt)}
	if err := terms.check(call.Actor, call.Subject, s.today()); err != nil {
		return outcomeForm{}, err
	}
	return each(p.Email, func(address string) (string, error) {
		return address, s.Invite(ctx, call.Actor, call.Subject, address, terms)
	})
}

type invitationParams struct {
	owner.Ref
	Email string `param:"email" doc:"The address that was invited"`
}

type updateInvitationParams struct {
	invitationParams
	AccessLevel httpapi.Opt[int64]     `param:"access_level" doc:"10, 20, 30, 40 or 50; 5 in a top-level group"`
	ExpiresAt   httpapi.Opt[time.Time] `param:"expires_at" format:"date" doc:"Day from which the membership no longer counts; empty takes it away"`
}

func (s *Service) handleUpdateInvitation(ctx context.Context, call httpapi.Call[*Source, updateInvitationParams]) (invitationForm, error) {
	p := call.Params
	c := Changes{ExpiresAt: expiry(p.ExpiresAt)}
	if level := p.AccessLevel.Ptr(); level != nil {
		c.Level = new(role(*level))
	}
	i, err := s.UpdateInvitation(ctx, call.Actor, call.Subject, p.Email, c)
	if err != nil {
		return invitationForm{}, err
	}
	forms, err := s.presentInvitations(ctx, i)
	return forms[0], err
}

func (s *Service) handleDisinvite(ctx context.Context, call httpapi.Call[*Source, invitationParams]) (httpapi.NoContent, error) {
	return httpapi.NoContent{}, s.Disinvite(ctx, call.Actor, call.Subject, call.Params.Email)
}
