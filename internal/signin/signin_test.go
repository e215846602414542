package signin_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
	"stithy/internal/setting"
	"stithy/internal/signin"
	"stithy/internal/user/usertest"
)

func TestALockOpensAfterItsPeriod(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	if err := w.settings.Update(t.Context(), access.Actor{}, func(now *setting.Settings) {
		now.MaxLoginAttempts, now.FailedLoginAttemptsUnlockPeriodInMinutes = new(3), new(20)
	}); err != nil {
		t.Fatal(err)
	}
	ann := w.person(t)
	locked := func() bool {
		u, err := w.users.Find(t.Context(), ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		return u.LockedAt != nil
	}
	for n := range 3 {
		if locked() {
			t.Errorf("locked after %d", n)
		}
		if err := w.try(t, ann.Username, wrong); !fault.Is(err, fault.Unauthenticated) {
			t.Fatal(err)
		}
		w.wait(time.Minute)
	}
	if !locked() {
		t.Error("not locked")
	}
	for range 5 { // these do not make it longer
		if err := w.try(t, ann.Email, right); !fault.Is(err, fault.TooMany) {
			t.Errorf("the right password while locked: %v", err)
		}
		w.wait(3 * time.Minute)
	}
	want := fmt.Sprintf(`signin_unlock {"user_id": %d}`, ann.ID)
	if got := w.jobs(t); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.wait(5 * time.Minute)
	if err := w.Work(t.Context(), signin.UnlockArgs{UserID: ann.ID}); err != nil || locked() {
		t.Errorf("still locked: %v", err)
	}
	if err := w.try(t, ann.Username, right); err != nil {
		t.Errorf("the right password after that: %v", err)
	}
}

func TestAnAdministratorOpensALock(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, root := w.person(t), usertest.New(t, w.db, usertest.Admin())
	for range 10 {
		if err := w.try(t, ann.Username, wrong); !fault.Is(err, fault.Unauthenticated) {
			t.Fatal(err)
		}
	}
	if err := w.try(t, ann.Username, right); !fault.Is(err, fault.TooMany) {
		t.Fatalf("not locked: %v", err)
	}
	for range 2 { // the second finds nothing to do
		if err := w.users.LiftLock(t.Context(), access.Actor{Person: root.Person()}, ann.ID); err != nil {
			t.Fatal(err)
		}
	}
	if u, err := w.users.Find(t.Context(), ann.ID); err != nil || u.LockedAt != nil {
		t.Errorf("still marked: %v %v", u.LockedAt, err)
	}
	if err := w.try(t, ann.Username, right); err != nil {
		t.Errorf("the right password after that: %v", err)
	}
}

// Whoever reads the account's mail is not kept out by those who guess.
func TestANewPasswordOpensALock(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	for range 12 {
		_ = w.try(t, ann.Username, wrong)
	}
	if err := w.Work(t.Context(), signin.MailArgs{UserID: ann.ID, Purpose: signin.ResetPassword}); err != nil {
		t.Fatal(err)
	}
	if err := w.ResetPasswordBy(t.Context(), secretIn(w.sink.Next(t).Text), "another staple 9", here); err != nil {
		t.Fatal(err)
	}
	if err := w.try(t, ann.Username, "another staple 9"); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if u, err := w.users.Find(t.Context(), ann.ID); err != nil || u.LockedAt != nil {
		t.Errorf("it still looks locked: %v", err)
	}
}

func TestARightPasswordForgetsTheWrongOnes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	for range 4 {
		for range 9 {
			if err := w.try(t, ann.Username, wrong); !fault.Is(err, fault.Unauthenticated) {
				t.Fatal(err)
			}
		}
		if err := w.try(t, ann.Username, right); err != nil {
			t.Fatal(err)
		}
	}
}

// Guessing many names from one place ends, too; a neighbour is not kept out.
func TestAnAddressThatGuessesIsKeptOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	from := func(n int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n)) } // one subscriber
	for n := range 100 {
		if _, err := w.CheckPassword(t.Context(), fmt.Sprintf("name%d", n), "x", from(n)); !fault.Is(err, fault.Unauthenticated) {
			t.Fatalf("%d: %v", n, err)
		}
	}
	if _, err := w.CheckPassword(t.Context(), ann.Username, right, from(101)); !fault.Is(err, fault.TooMany) {
		t.Errorf("the next one: %v", err)
	}
	if err := w.try(t, ann.Username, right); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
	w.wait(11 * time.Minute)
	if _, err := w.CheckPassword(t.Context(), ann.Username, right, from(101)); err != nil {
		t.Errorf("later: %v", err)
	}
}

// The right password is not enough, and neither is one that was right a moment ago.
func TestWhoMayNotSignInGetsNoSession(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	const fine = fault.Internal // no kind that is refused
	for set, want := range map[string]fault.Kind{
		"kind = 'project_bot'":               fault.Unauthenticated,
		"state = 'blocked'":                  fault.Forbidden,
		"state = 'banned'":                   fault.Forbidden,
		"state = 'blocked_pending_approval'": fault.Forbidden,
		"confirmed_at = null":                fault.Forbidden,
		"two_factor_enabled = true":          fine,
		"state = 'deactivated'":              fine,
		"state = 'active'":                   fine,
	} {
		if _, err := w.db.Exec(t.Context(), `update users set kind = 'human', state = 'active', confirmed_at = now(), two_factor_enabled = false where id = $1`, ann.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.db.Exec(t.Context(), `update users set `+set+` where id = $1`, ann.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.try(t, ann.Username, right); want == fine && err != nil || want != fine && !fault.Is(err, want) {
			t.Errorf("the password, %s: %v, want %v", set, err, want)
		}
		// The account was as ann is when the password was looked at.
		if set == "two_factor_enabled = true" {
			want = fault.Unauthenticated
		}
		e, err := w.Begin(t.Context(), ann, here, "test")
		if want == fine && (err != nil || e.Session == "") || want != fine && (!fault.Is(err, want) || e.Session != "") {
			t.Errorf("the session, %s: %+v %v, want %v", set, e, err, want)
		}
	}
}

func TestWhatWasBegunEndsByItself(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	ann.TwoFactorEnabled = true
	e, err := w.Begin(t.Context(), ann, here, "test")
	if err != nil || e.Session != "" {
		t.Fatalf("%+v %v", e, err)
	}
	if err := w.Work(t.Context(), signin.MailArgs{UserID: ann.ID, Purpose: signin.ResetPassword}); err != nil {
		t.Fatal(err)
	}
	_ = w.try(t, "nobody", wrong)
	secret := secretIn(w.sink.Next(t).Text)
	lives := func() (half, link bool) {
		half, err1 := w.HalfLives(t.Context(), e.Half)
		link, err2 := w.LinkLives(t.Context(), signin.ResetPassword, secret)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return half, link
	}
	if half, link := lives(); !half || !link {
		t.Errorf("dead at once: %v %v", half, link)
	}
	if confirms, err := w.LinkLives(t.Context(), signin.ConfirmAddress, secret); err != nil || confirms {
		t.Errorf("a link for one purpose serves another: %v", err)
	}
	w.wait(11 * time.Minute)
	if half, link := lives(); half || !link {
		t.Errorf("after minutes: %v %v", half, link)
	}
	w.wait(6 * time.Hour)
	if half, link := lives(); half || link {
		t.Errorf("after hours: %v %v", half, link)
	}
	if err := w.ResetPasswordBy(t.Context(), secret, "another staple 9", here); !fault.Is(err, fault.Rejected) {
		t.Errorf("an old link: %v", err)
	}
	if err := w.Work(t.Context(), signin.TidyArgs{}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"half_sign_ins", "mailed_links", "sign_in_tries"} {
		if n := w.count(t, table); n != 0 {
			t.Errorf("%s keeps %d", table, n)
		}
	}
}

func TestHalfASignInIsFinishedInTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	ann.TwoFactorEnabled = true
	codes, err := w.NewRecoveryCodes(t.Context(), access.Actor{Person: ann.Person()})
	if err != nil {
		t.Fatal(err)
	}
	begin := func() secretbox.Secret {
		t.Helper()
		e, err := w.Begin(t.Context(), ann, here, "test")
		if err != nil || e.Session != "" || e.Half == "" {
			t.Fatalf("%+v %v", e, err)
		}
		return e.Half
	}
	half := begin()
	w.wait(10 * time.Minute)
	if e, err := w.Finish(t.Context(), half, codes[0], here, "test"); err == nil || e.Session != "" {
		t.Errorf("half a sign-in of ten minutes ago: %+v %v", e, err)
	}
	if left, err := w.RecoveryCodesLeft(t.Context(), ann.ID); err != nil || left != 10 {
		t.Errorf("%d codes are left, %v", left, err)
	}
	half = begin()
	w.wait(10*time.Minute - time.Second)
	if e, err := w.Finish(t.Context(), half, codes[0], here, "test"); err != nil || e.Session == "" {
		t.Errorf("in time: %+v %v", e, err)
	}
	if e, err := w.Finish(t.Context(), half, codes[1], here, "test"); err == nil || e.Session != "" {
		t.Errorf("a second time: %+v %v", e, err)
	}
}

func secretIn(text string) string {
	_, after, _ := strings.Cut(text, "_token=")
	secret, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(secret)
}

// The newest link is the only one, and a mail that could not be sent is sent
// by the next try.
func TestAMailThatIsSentAgainReplacesTheFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.Unconfirmed())
	args := signin.MailArgs{UserID: ann.ID, Purpose: signin.ConfirmAddress}
	send := func() {
		t.Helper()
		if err := w.Work(t.Context(), args); err != nil {
			t.Fatal(err)
		}
	}
	send()
	first := secretIn(w.sink.Next(t).Text)
	send()
	if n := len(w.sink.All()); n != 1 {
		t.Errorf("%d mails for one address", n)
	}
	if _, err := w.db.Exec(t.Context(), `update mailed_links set sent_at = null`); err != nil { // as if the server had been away
		t.Fatal(err)
	}
	send()
	second := secretIn(w.sink.Next(t).Text)
	if err := w.ConfirmAddressBy(t.Context(), first, here); !fault.Is(err, fault.Rejected) {
		t.Errorf("the first link: %v", err)
	}
	if err := w.ConfirmAddressBy(t.Context(), second, here); err != nil {
		t.Errorf("the second link: %v", err)
	}
	if err := w.Work(t.Context(), signin.MailArgs{UserID: 0, Purpose: signin.ResetPassword}); err != nil {
		t.Error(err)
	}
	if n := len(w.sink.All()); n != 2 {
		t.Errorf("%d mails", n)
	}
}

// Nobody's inbox is filled by others.
func TestMailsToOneAddressAreFew(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	for _, address := range []string{ann.Email, "nobody@example.com"} {
		for n := range 6 {
			if err := w.ForgotPassword(t.Context(), address, here); (n < 5) != (err == nil) {
				t.Errorf("%s, %d: %v", address, n, err)
			}
		}
	}
	if n := len(w.jobs(t)); n != 10 {
		t.Errorf("%d jobs: an address that nobody has costs another work", n)
	}
	if err := w.ForgotPassword(t.Context(), "no address", here); !fault.Is(err, fault.Rejected) {
		t.Errorf("%v", err)
	}
}

func TestASignInFromANetworkThatWasNotUsedBeforeIsToldOf(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	for _, c := range []struct {
		fact, from string
		unknown    bool
	}{
		{"the first one", "192.0.2.7", false},
		{"the same address", "192.0.2.7", false},
		{"another", "192.0.2.8", true},
		{"known by now", "192.0.2.8", false},
		{"known as well", "192.0.2.7", false},
		{"another family", "2001:db8:0:1::1", true},
		{"the same network", "2001:db8:0:1::2", false},
		{"another network", "2001:db8:0:2::1", true},
		{"an old one, of which a session lives", "::ffff:192.0.2.8", false},
	} {
		w.unknown = nil
		if _, err := w.Begin(t.Context(), ann, netip.MustParseAddr(c.from), "Browser/1"); err != nil {
			t.Fatal(err)
		}
		if told := len(w.unknown) == 1 && w.unknown[0] == fmt.Sprintf("%d %s Browser/1", ann.ID, c.from); told != c.unknown || len(w.unknown) > 1 {
			t.Errorf("%s: told of %v", c.fact, w.unknown)
		}
	}
	if _, err := w.db.Exec(t.Context(), `delete from sessions`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(t.Context(), ann, netip.MustParseAddr("192.0.2.7"), "x"); err != nil || len(w.unknown) != 1 {
		t.Errorf("forgotten by now: told of %v, %v", w.unknown, err)
	}
}
