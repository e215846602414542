package app

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stithy/internal/kit/paging"
	"stithy/internal/user"
)

const emailsPage = "/-/user_settings/emails"

func (i *instance) secondary(t testing.TB, u *user.User) []user.Email {
	t.Helper()
	found, err := i.Users.Emails(t.Context(), u.ID, paging.Request{Page: 1, PerPage: 10})
	if err != nil {
		t.Fatal(err)
	}
	return found.Items
}

// An address is added, proved by mail, made primary with the password, and
// removed.
func TestAPersonSeesToTheirAddresses(t *testing.T) {
	t.Parallel()
	i, sink := withMail(t)
	ann, bob := i.withPassword(t), i.withPassword(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	s := b.get(emailsPage)
	if !s.says(ann.Email) || s.form(emailsPage+"/primary") != nil || s.form(emailsPage+"/confirm") != nil {
		t.Errorf("%s", s.Body)
	}
	for _, wrong := range []string{"", "no address", bob.Email, ann.Email} {
		if s := b.submit(s, emailsPage, map[string]string{"email": wrong}); s.Code != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d", wrong, s.Code)
		}
	}
	const second = "ann.second@example.com"
	if s = b.submit(s, emailsPage, map[string]string{"email": " " + second + " "}); !s.says("The address is added.") || !s.says("not confirmed") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	first := sink.Next(t)
	// An address without proof cannot become the primary one.
	values := s.form(emailsPage).values
	values.Set("email", second)
	values.Set("current_password", goodPassword)
	b.follow("POST", emailsPage+"/primary", values)
	if u, err := i.Users.Find(t.Context(), ann.ID); err != nil || u.Email != ann.Email {
		t.Fatalf("%v %v", u, err)
	}
	if s = b.submit(b.get(emailsPage), emailsPage+"/confirm", nil); !s.says("A mail is on its way") {
		t.Errorf("%s", s.Body)
	}
	m := sink.Next(t)
	if !slices.Equal(m.To, []string{second}) || strings.Contains(first.Text, linkIn(t, m)) {
		t.Errorf("%v", m.To)
	}
	if s := b.get(linkIn(t, first)); s.Code != http.StatusBadRequest {
		t.Errorf("the older link works: %d", s.Code)
	}
	b.submit(b.get(linkIn(t, m)), "/users/confirmation", nil)
	// It was to become the primary one, and does now.
	u, err := i.Users.Find(t.Context(), ann.ID)
	if err != nil || u.Email != second || u.UnconfirmedEmail != nil {
		t.Fatalf("%+v %v", u, err)
	}
	s = b.get(emailsPage)
	if s := b.submit(s, emailsPage+"/primary", map[string]string{"email": ann.Email, "current_password": "wrong password"}); s.Code != http.StatusUnprocessableEntity || !s.says("Is wrong") {
		t.Errorf("made primary without the password: %d", s.Code)
	}
	if s = b.submit(s, emailsPage+"/primary", map[string]string{"email": ann.Email, "current_password": goodPassword}); !s.says("Your primary address is changed.") {
		t.Fatalf("%d %s", s.Code, s.Body)
	}
	if u, err := i.Users.Find(t.Context(), ann.ID); err != nil || u.Email != ann.Email {
		t.Errorf("%v %v", u, err)
	}
	// Nobody removes the address of somebody else.
	rows := i.secondary(t, ann)
	if len(rows) != 1 || rows[0].Email != second || rows[0].ConfirmedAt == nil {
		t.Fatalf("%+v", rows)
	}
	remove := fmt.Sprintf("%s/%d/remove", emailsPage, rows[0].ID)
	bobs := i.browser(t)
	bobs.signIn(bob.Username, goodPassword)
	if w := bobs.send("POST", remove, bobs.get(emailsPage).form(emailsPage).values); w.Code != http.StatusNotFound {
		t.Errorf("somebody else's address: %d", w.Code)
	}
	if s := b.submit(s, remove, nil); !s.says("The address is removed.") || len(i.secondary(t, ann)) != 0 {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}

func TestWithoutMailAnAddressWaitsForAnAdministrator(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	ann := i.withPassword(t)
	b := i.browser(t)
	b.signIn(ann.Username, goodPassword)
	if s := b.submit(b.get(emailsPage), emailsPage, map[string]string{"email": "ann.second@example.com"}); !s.says("The address is added.") || !s.says("an administrator has to confirm") || s.form(emailsPage+"/confirm") != nil {
		t.Errorf("%d %s", s.Code, s.Body)
	}
}
