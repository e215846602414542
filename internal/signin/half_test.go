package signin_test

import (
	"strings"
	"testing"
	"time"
)

func TestACodeComesTooLateForHalfASignIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann := w.person(t)
	ann.TwoFactorEnabled = true
	e, err := w.Begin(t.Context(), ann, here, "test")
	if err != nil {
		t.Fatal(err)
	}
	// The code is wrong either way; which refusal comes says whether the first half still counts.
	if _, err := w.Finish(t.Context(), e.Half, "123456", here, "test"); err == nil || !strings.Contains(err.Error(), "code is wrong") {
		t.Errorf("in time: %v", err)
	}
	w.wait(11 * time.Minute)
	if _, err := w.Finish(t.Context(), e.Half, "123456", here, "test"); err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("too late: %v", err)
	}
}
