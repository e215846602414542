package signin_test

import (
	"testing"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/setting"
	"stithy/internal/signin"
)

func TestStrangersRegisterOnlyWhereTheSettingsSaySo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
