package signin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/setting"
	"stithy/internal/signin"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

func TestStrangersRegisterOnlyWhereTheSettingsSaySo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := signin.Registration{Name: "Ann", Username: "ann", Email: "ann@example.com", Password: "another staple 9"}
	for _, open := range []bool{false, true} {
		if err := w.settings.Update(t.Context(), access.Actor{}, func(now *setting.Settings) { now.SignupEnabled = open }); err != nil {
			t.Fatal(err)
		}
		if err := w.SignUp(t.Context(), ann, here); (err == nil) != open || !open && !fault.Is(err, fault.NotFound) {
			t.Errorf("open %v: %v", open, err)
		}
		if n := w.count(t, "users"); (n > 0) != open {
			t.Errorf("open %v: %d accounts", open, n)
		}
	}
}

func TestAdministratorsAreToldOfAccountsThatWait(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var root *user.User
	for n := range 11 {
		u := usertest.New(t, w.db, usertest.Admin(), usertest.With("last_activity_on", fmt.Sprintf("2024-04-%02d", n+1)))
		if n == 10 {
			root = u
		}
	}
	for _, with := range []usertest.Option{
		usertest.With("state", user.Blocked), usertest.With("confirmed_at", nil), usertest.With("kind", user.ProjectBot),
	} {
		usertest.New(t, w.db, usertest.Admin(), with)
	}
	for _, name := range []string{"ann", "bob"} {
		r := signin.Registration{Name: "Buy at evil.example", Username: name, Email: name + "@example.com", Password: "another staple 9"}
		if err := w.SignUp(t.Context(), r, here); err != nil {
			t.Fatal(err)
		}
	}
	of := func(kind string) (found []string) {
		for _, job := range w.jobs(t) {
			if strings.Contains(job, kind) {
				found = append(found, job)
			}
		}
		return found
	}
	if got := of("signin_tell_administrators"); len(got) != 1 {
		t.Errorf("two registrations ask for: %q", got)
	}
	for range 2 { // as after a crash
		if err := w.Work(t.Context(), signin.TellArgs{}); err != nil {
			t.Fatal(err)
		}
	}
	told := of("notice_waiting")
	if first := fmt.Sprintf(`signin_mail {"purpose": "notice_waiting", "user_id": %d}`, root.ID); len(told) != 10 || !slices.Contains(told, first) {
		t.Errorf("not the ten seen last: %q", told)
	}
	mail := signin.MailArgs{UserID: root.ID, Purpose: signin.NoticeWaiting}
	if err := w.Work(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	m := w.sink.Next(t)
	if !slices.Equal(m.To, []string{root.Email}) || !strings.Contains(m.Text, "2 accounts wait for approval") || strings.Contains(m.Text, "evil") {
		t.Errorf("%v %s", m.To, m.Text)
	}
	// Whoever is no administrator any more, and the one who comes late, hear nothing.
	ann, err := w.users.FindByUsername(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Work(t.Context(), signin.MailArgs{UserID: ann.ID, Purpose: signin.NoticeWaiting}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Exec(t.Context(), `update users set state = 'active'`); err != nil {
		t.Fatal(err)
	}
	if err := w.Work(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	if n := len(w.sink.All()); n != 1 {
		t.Errorf("%d mails", n)
	}
}

func TestAnAccountThatDoesNotWaitIsNoNewsToAdministrators(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if err := w.settings.Update(t.Context(), access.Actor{}, func(now *setting.Settings) { now.RequireAdminApprovalAfterUserSignup = false }); err != nil {
		t.Fatal(err)
	}
	r := signin.Registration{Name: "Ann", Username: "ann", Email: "ann@example.com", Password: "another staple 9"}
	if err := w.SignUp(t.Context(), r, here); err != nil {
		t.Fatal(err)
	}
	if got := w.jobs(t); len(got) != 1 || !strings.HasPrefix(got[0], "signin_mail ") {
		t.Errorf("%q", got)
	}
}

func TestTheOwnerOfATakenAddressIsToldOnceInAWhile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	owner := usertest.New(t, w.db)
	register := func(n int) int {
		t.Helper()
		r := signin.Registration{Name: "Eve", Username: fmt.Sprintf("eve%d", n), Email: owner.Email, Password: "another staple 9"}
		if n%2 == 1 {
			r.Email = strings.ToUpper(r.Email)
		}
		if err := w.SignUp(t.Context(), r, here); err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, job := range w.jobs(t) {
			if strings.Contains(job, string(signin.NoticeTaken)) {
				told++
			}
		}
		return told
	}
	for n := range 10 {
		if told := register(n); told != 1 {
			t.Fatalf("%d mails after %d registrations", told, n+1)
		}
	}
	w.wait(time.Hour)
	if told := register(11); told != 2 {
		t.Errorf("%d mails an hour later", told)
	}
}
