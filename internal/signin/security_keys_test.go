package signin_test

import (
	"context"
	"encoding/json"
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/platform/secretbox"
	"stithy/internal/signin/signintest"
	"stithy/internal/user/usertest"
)

// Each answer of a key has a higher number than the one before, also where two with the same number come at once.
func TestASecurityKeyAndItsCopyDoNotBothAnswer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	challenge := func(asked []byte, err error) string {
		t.Helper()
		var a signintest.Asked
		if err != nil || json.Unmarshal(asked, &a) != nil || a.Challenge == "" {
			t.Fatalf("%s %v", asked, err)
		}
		return a.Challenge
	}
	key, session := signintest.New(t, "https://forge.example"), secretbox.Secret("a session")
	if err := w.BeginKey(t.Context(), ann.ID, session); err != nil {
		t.Fatal(err)
	}
	wanted := challenge(w.KeyWanted(t.Context(), ann.ID, session))
	if _, err := w.AddKey(t.Context(), access.Actor{Person: ann.Person()}, session, "key", key.Register(t, wanted)); err != nil {
		t.Fatal(err)
	}
	ann.TwoFactorEnabled = true
	answer := func(k *signintest.Key) func(context.Context) error {
		half := w.begin(t, ann)
		signed := k.Sign(t, challenge(w.KeyAsked(t.Context(), half)))
		return func(ctx context.Context) error {
			_, err := w.FinishByKey(ctx, half, signed, here, "test")
			return err
		}
	}
	if err := answer(key)(t.Context()); err != nil {
		t.Fatal(err)
	}
	imitation := key.But(func(*signintest.Key) {})
	if n := w.both(t, `select 1 from security_keys for update`, answer(key), answer(imitation)); n != 1 {
		t.Errorf("%d got in", n)
	}
	if err := answer(imitation.But(func(k *signintest.Key) { k.Count-- }))(t.Context()); err == nil {
		t.Error("a copy that is behind gets in")
	}
}
