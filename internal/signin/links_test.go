package signin_test

import (
	"context"
	"testing"

	"stithy/internal/signin"
	"stithy/internal/user/usertest"
)

func TestOfTwoWhoFollowAMailedLinkOneSetsThePassword(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := usertest.New(t, w.db)
	if err := w.Work(t.Context(), signin.MailArgs{UserID: ann.ID, Purpose: signin.ResetPassword}); err != nil {
		t.Fatal(err)
	}
	secret := secretIn(w.sink.Next(t).Text)
	reset := func(ctx context.Context) error { return w.ResetPasswordBy(ctx, secret, "another staple 9", here) }
	if n := w.both(t, `select 1 from mailed_links for update`, reset, reset); n != 1 {
		t.Errorf("%d set it", n)
	}
}
