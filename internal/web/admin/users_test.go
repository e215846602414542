package admin

import (
	"testing"

	"stithy/internal/user"
	"stithy/internal/web/ui"
)

func TestAnAccountThatWaitsForApprovalIsAWarningAndABlockedOneIsBad(t *testing.T) {
	t.Parallel()
	for state, want := range map[user.State]ui.Tone{user.Pending: ui.Warn, user.Blocked: ui.Bad, user.Banned: ui.Bad, user.Deactivated: ui.Bad} {
		if got := stateTone(state); got != want {
			t.Errorf("%s is shown as %q, not %q", state, got, want)
		}
	}
}
