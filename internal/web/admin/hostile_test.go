package admin

import (
	"testing"

	"stithy/internal/web/page/pagetest"
)

func TestWB01_NothingThatAPageOfAdministratorsShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "users", usersPage)
	pagetest.NothingActs(t, "audit events", trailPage)
	pagetest.NothingActs(t, "buttons of audit events", trailActions)
	pagetest.NothingActs(t, "audit event", eventPage)
	pagetest.NothingActs(t, "streams", streamsPage)
	pagetest.NothingActs(t, "stream", streamPage)
}
