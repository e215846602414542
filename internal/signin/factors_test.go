package signin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"stithy/internal/kit/access"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
	"stithy/internal/user"
	"stithy/internal/user/usertest"
)

// withApp turns the second factor on and returns what the app shows.
func (w *fixture) withApp(t testing.TB, u *user.User) (code func() string) {
	t.Helper()
	if err := w.BeginSetup(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	setup, ok, err := w.Setup(t.Context(), u)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	code = func() string {
		code, err := hotp.GenerateCodeCustom(setup.Secret, uint64(w.clock().Unix()/30), hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	if _, err := w.FinishSetup(t.Context(), access.Actor{Person: u.Person()}, code()); err != nil {
		t.Fatal(err)
	}
	u.TwoFactorEnabled = true
	w.wait(30 * time.Second)
	return code
}

func (w *fixture) begin(t testing.TB, u *user.User) secretbox.Secret {
	t.Helper()
	e, err := w.Begin(t.Context(), u, here, "test")
	if err != nil || e.Session != "" || e.Half == "" {
		t.Fatalf("%+v %v", e, err)
	}
	return e.Half
}

// both calls two functions which both wait for the row that a statement locks, lets them go on, and returns how many succeeded.
func (w *fixture) both(t testing.TB, lock string, one, other func(context.Context) error) (succeeded int) {
	t.Helper()
	results := make(chan error, 2)
	undo := errors.New("undo")
	err := w.db.InTx(t.Context(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), lock); err != nil {
			return err
		}
		for _, f := range []func(context.Context) error{one, other} {
			go func() { results <- f(t.Context()) }()
		}
		for waiting := 0; waiting < 2; {
			if len(results) > 0 {
				t.Fatalf("one did not wait: %v", <-results)
			}
			if _, err := tx.Exec(t.Context(), `select pg_stat_clear_snapshot()`); err != nil {
				return err
			}
			var err error
			waiting, err = postgres.Value[int](t.Context(), tx,
				`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
			if err != nil {
				return err
			}
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-results; err == nil {
			succeeded++
		}
	}
	return succeeded
}

func TestACodeOfTheAppWorksOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	code := w.withApp(t, ann)
	if e, err := w.Finish(t.Context(), w.begin(t, ann), code(), here, "test"); err != nil || e.Session == "" {
		t.Fatalf("%+v %v", e, err)
	}
	if e, err := w.Finish(t.Context(), w.begin(t, ann), code(), here, "test"); err == nil || e.Session != "" {
		t.Errorf("the same code again: %+v %v", e, err)
	}
	w.wait(30 * time.Second)
	if e, err := w.Finish(t.Context(), w.begin(t, ann), code(), here, "test"); err != nil || e.Session == "" {
		t.Errorf("the next code: %+v %v", e, err)
	}
}

func TestOfTwoWhoFinishHalfASignInOneGetsIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.With("two_factor_enabled", true))
	codes, err := w.NewRecoveryCodes(t.Context(), access.Actor{Person: ann.Person()})
	if err != nil {
		t.Fatal(err)
	}
	half := w.begin(t, ann)
	finish := func(code string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := w.Finish(ctx, half, code, here, "test")
			return err
		}
	}
	if n := w.both(t, `select 1 from half_sign_ins for update`, finish(codes[0]), finish(codes[1])); n != 1 {
		t.Errorf("%d got in", n)
	}
	if n := w.count(t, "sessions"); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// Not even somebody who moves rows from one account to another gets in.
func TestARecoveryCodeOpensTheAccountItWasMadeFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db, usertest.With("two_factor_enabled", true))
	bob := usertest.New(t, w.db, usertest.With("two_factor_enabled", true))
	codes, err := w.NewRecoveryCodes(t.Context(), access.Actor{Person: ann.Person()})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := w.Finish(t.Context(), w.begin(t, bob), codes[0], here, "test"); err == nil || e.Session != "" {
		t.Errorf("another's code: %+v %v", e, err)
	}
	if _, err := w.db.Exec(t.Context(), `update recovery_codes set user_id = $1`, bob.ID); err != nil {
		t.Fatal(err)
	}
	if e, err := w.Finish(t.Context(), w.begin(t, bob), codes[0], here, "test"); err == nil || e.Session != "" {
		t.Errorf("another's code in one's own row: %+v %v", e, err)
	}
}

func TestWhoGivesUpTheFactorLeavesNothingOfIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	w.withApp(t, ann)
	w.begin(t, ann)
	if n, err := w.RecoveryCodesLeft(t.Context(), ann.ID); err != nil || n != 10 {
		t.Fatalf("%d %v", n, err)
	}
	if err := w.GiveUpFactor(t.Context(), access.Actor{Person: ann.Person()}); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"one_time_secrets", "recovery_codes", "security_keys", "key_challenges", "half_sign_ins"} {
		if n := w.count(t, table); n != 0 {
			t.Errorf("%s keeps %d", table, n)
		}
	}
}
