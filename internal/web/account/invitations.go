package account

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/web/page"
)

type invitationRow struct {
	Kind, Path, Role, Inviter, Address string
	Sent, Expires                      *page.DisplayTime
	Accept, Decline                    *page.Form
}

// about says what the invitation is to, for whom and from whom.
func (r invitationRow) about() string {
	text := "Role " + r.Role + ", for " + r.Address
	if r.Inviter != "" {
		text += ", from " + r.Inviter
	}
	return text
}

func showInvitations(x *request) error {
	found, err := x.deps.Members.Received(x.Context(), x.account.ID)
	if err != nil {
		return err
	}
	var rows []invitationRow
	for _, r := range found {
		at, about := invitationsPath+"/"+strconv.FormatInt(r.ID, 10), "the invitation to "+r.Path
		rows = append(rows, invitationRow{
			Kind: strings.ToLower(string(r.Kind)), Path: r.Path, Role: r.AccessLevel.String(), Inviter: r.Inviter, Address: r.InviteEmail,
			Sent: x.Time(&r.CreatedAt), Expires: x.Time(r.ExpiresAt),
			Accept: x.Button(at+"/accept", "Accept", page.Secondary, about), Decline: x.Button(at+"/decline", "Decline", page.Danger, about),
		})
	}
	return x.Show(http.StatusOK, settings(x, "Invitations", invitationsPath), invitationsPage(rows, x.Link(emailsPath)))
}

func acceptInvitation(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	r, err := x.deps.Members.Accept(x.Context(), x.Actor, id)
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
