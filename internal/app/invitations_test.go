package app

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"stithy/internal/group"
	"stithy/internal/group/grouptest"
	"stithy/internal/kit/access"
	"stithy/internal/member"
	"stithy/internal/owner"
)

const invitationsPage = "/-/invitations"

func TestAnInvitationIsMailedAndAcceptedOnAPage(t *testing.T) {
	t.Parallel()
	i, sink := withMail(t)
	manager, ada, eve := i.withPassword(t), i.withPassword(t), i.withPassword(t)
	g := grouptest.New(t, i.DB, grouptest.Named("team"))
	grouptest.Join(t, i.DB, g, manager, access.Owner)
	by := access.Actor{Person: manager.Person()}
	standing, err := i.Groups.Find(t.Context(), by, g.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Members.Invite(t.Context(), by, member.SourceOf(owner.OfGroup(standing)), ada.Email, member.Terms{Level: access.Developer}); err != nil {
		t.Fatal(err)
	}
	m := sink.Next(t)
	if !slices.Equal(m.To, []string{ada.Email}) || !strings.Contains(m.Text, "team") || !strings.Contains(m.Text, invitationsPage) || !strings.Contains(m.Text, manager.Username) {
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
	if accept == "" || !s.says("team") || !s.says(manager.Username) {
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

func TestWhoIsAMemberAlreadyIsToldSoAndMayDecline(t *testing.T) {
	t.Parallel()
	i, _ := withMail(t)
	manager, ada := i.withPassword(t), i.withPassword(t)
	above := grouptest.New(t, i.DB, grouptest.Named("above"))
	team := grouptest.New(t, i.DB, grouptest.Named("team"))
	below := grouptest.New(t, i.DB, grouptest.Named("below"), grouptest.Under(above))
	for _, g := range []*group.Group{above, team} {
		grouptest.Join(t, i.DB, g, manager, access.Owner)
		grouptest.Join(t, i.DB, g, ada, access.Maintainer)
	}
	by := access.Actor{Person: manager.Person()}
	b := i.browser(t)
	b.signIn(ada.Username, goodPassword)
	for _, g := range []*group.Group{team, below} {
		standing, err := i.Groups.Find(t.Context(), by, g.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Members.Invite(t.Context(), by, member.SourceOf(owner.OfGroup(standing)), ada.Email, member.Terms{Level: access.Developer}); err != nil {
			t.Fatal(err)
		}
		s := b.get(invitationsPage)
		var accept string
		for _, f := range s.forms {
			if strings.HasSuffix(f.action, "/accept") {
				accept = f.action
			}
		}
		s = b.submit(s, accept, nil)
		want := "You are already a member of " + standing.FullPath + ", with the role Maintainer."
		if s.Code != http.StatusConflict || !s.says(want) || s.form(accept) != nil {
			t.Errorf("%d: nothing of %q in %s", s.Code, want, s.Body)
		}
		if s = b.submit(s, strings.TrimSuffix(accept, "accept")+"decline", nil); s.Code != http.StatusOK || !s.says("is declined") || !s.says("Nobody has invited") {
			t.Errorf("%d %s", s.Code, s.Body)
		}
	}
}
