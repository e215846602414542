package account

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/web/page"
)

type invitationRow struct {
	Kind, Path, Role, Inviter, Address string
	Sent, Expires                      *page.DisplayTime
	Accept, Decline                    *page.Form // Accept is nil where that was just refused
}

// about says what the invitation is to, for whom and from whom.
func (r invitationRow) about() string {
	text := "Role " + r.Role + ", for " + r.Address
	if r.Inviter != "" {
		text += ", from " + r.Inviter
	}
	return text
}

func showInvitations(x *request) error { return invitations(x, http.StatusOK, 0, "") }

// invitations shows what somebody is invited to, and what is wrong with accepting one of it.
func invitations(x *request, status int, refused int64, problem string) error {
	found, err := x.deps.Members.Received(x.Context(), x.account.ID)
	if err != nil {
		return err
	}
	var rows []invitationRow
	for _, r := range found {
		at, about := invitationsPath+"/"+strconv.FormatInt(r.ID, 10), "the invitation to "+r.Path
		row := invitationRow{
			Kind: strings.ToLower(string(r.Kind)), Path: r.Path, Role: r.AccessLevel.String(), Inviter: r.Inviter, Address: r.InviteEmail,
			Sent: x.Time(&r.CreatedAt), Expires: x.Time(r.ExpiresAt),
			Decline: x.Button(at+"/decline", "Decline", page.Danger, about).
				AskFirst("The invitation ends. To join later you have to be invited again."),
		}
		if r.ID != refused {
			row.Accept = x.Button(at+"/accept", "Accept", page.Secondary, about)
		}
		rows = append(rows, row)
	}
	return x.Show(status, settings(x, "Invitations", invitationsPath), invitationsPage(rows, problem, x.Link(emailsPath)))
}

func acceptInvitation(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	r, err := x.deps.Members.Accept(x.Context(), x.Actor, id)
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.Rejected) {
		role, failed := x.deps.Members.Standing(x.Context(), x.Actor, r)
		if failed != nil {
			return failed
		}
		if role > access.NoRole {
			return invitations(x, http.StatusConflict, id, "You are already a member of "+r.Path+", with the role "+role.String()+
				". The invitation changes nothing: decline it, or ask for another role.")
		}
	}
	if err != nil {
		return err
	}
	return x.Done(invitationsPath, "You are now a member of "+r.Path+".")
}

func declineInvitation(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	r, err := x.deps.Members.Decline(x.Context(), x.Actor, id)
	if err != nil {
		return err
	}
	return x.Done(invitationsPath, "The invitation to "+r.Path+" is declined.")
}
