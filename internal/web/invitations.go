package web

import (
	"net/http"
	"strconv"
	"strings"
)

// invitationsPath is the page of the invitations to one's addresses.
const invitationsPath = "/-/invitations"

func (d *Door) invitationPages() []page {
	return []page{
		{route: "GET " + invitationsPath, do: (*visit).showInvitations},
		{route: "POST " + invitationsPath + "/{id}/accept", do: (*visit).acceptInvitation},
		{route: "POST " + invitationsPath + "/{id}/decline", do: (*visit).declineInvitation},
	}
}

type invitationRow struct {
	Kind, Path, Role, Inviter, Address string
	Sent, Expires                      *moment
	Accept, Decline                    *form
}

func (x *visit) showInvitations() error {
	found, err := x.Members.Received(x.r.Context(), x.account.ID)
	if err != nil {
		return err
	}
	var rows []invitationRow
	for _, r := range found {
		at, about := invitationsPath+"/"+strconv.FormatInt(r.ID, 10), "the invitation to "+r.Path
		rows = append(rows, invitationRow{
			Kind: strings.ToLower(string(r.Kind)), Path: r.Path, Role: r.AccessLevel.String(), Inviter: r.Inviter, Address: r.InviteEmail,
			Sent: x.moment(&r.CreatedAt), Expires: x.moment(r.ExpiresAt),
			Accept: x.button(at+"/accept", "Accept", "", about), Decline: x.button(at+"/decline", "Decline", "danger", about),
		})
	}
	return x.show(http.StatusOK, "invitations", "Invitations", rows, settings(invitationsPath))
}

func (x *visit) acceptInvitation() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	r, err := x.Members.Accept(x.r.Context(), x.actor, id)
	if err != nil {
		return err
	}
	return x.done(invitationsPath, "You are now a member of "+r.Path+".")
}

func (x *visit) declineInvitation() error {
	id, err := x.id()
	if err != nil {
		return err
	}
	r, err := x.Members.Decline(x.r.Context(), x.actor, id)
	if err != nil {
		return err
	}
	return x.done(invitationsPath, "The invitation to "+r.Path+" is declined.")
}
