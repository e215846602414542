package app

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/member"
)

const invitationsPage = "/-/invitations"

func TestAnInvitationIsMailedAndAcceptedOnAPage(t *testing.T) {
	t.Parallel()
	i, sink := withMail(t)
	owner, ada, eve := i.withPassword(t), i.withPassword(t), i.withPassword(t)
	g := grouptest.New(t, i.DB, grouptest.Named("team"))
	grouptest.Join(t, i.DB, g, owner, access.Owner)
	by := access.Actor{Person: owner.Person()}
	standing, err := i.Groups.Find(t.Context(), by, g.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Members.Invite(t.Context(), by, member.OfGroup(standing), ada.Email, member.Terms{Level: access.Developer}); err != nil {
		t.Fatal(err)
	}
	m := sink.Next(t)
	if !slices.Equal(m.To, []string{ada.Email}) || !strings.Contains(m.Text, "team") || !strings.Contains(m.Text, invitationsPage) || !strings.Contains(m.Text, owner.Username) {
		t.Errorf("%v %s", m.To, m.Text)
	}
	thief := i.browser(t)
	thief.signIn(eve.Username, goodPassword)
	if s := thief.get(invitationsPage); !s.says("Nobody has invited") {
		t.Errorf("%s", s.Body)
	}
	b := i.browser(t)
	if s := b.signIn(ada.Username, goodPassword); !s.says("1 invitation") {
		t.Errorf("%s", s.Body)
	}
	s := b.get(invitationsPage)
	var accept string
	for _, f := range s.forms {
		if strings.HasSuffix(f.action, "/accept") {
			accept = f.action
		}
	}
	if accept == "" || !s.says("team") || !s.says(owner.Username) {
		t.Fatalf("%s", s.Body)
	}
	if got := thief.follow("POST", accept, thief.get(invitationsPage).form("/users/sign_out").values); got.Code != http.StatusNotFound {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if s = b.submit(s, accept, nil); !s.says("You are now a member of team.") || !s.says("Nobody has invited") {
		t.Errorf("%d %s", s.Code, s.Body)
	}
	at, err := i.Groups.Find(t.Context(), access.Actor{Person: ada.Person()}, g.ID)
	if err != nil || at.Role != access.Developer {
		t.Errorf("%+v %v", at, err)
	}
}
