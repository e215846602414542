package overview

import (
	"testing"

	"stithy/internal/web/page/pagetest"
)

func TestWB01_NothingThatAnOverviewShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "home", homePage)
	pagetest.NothingActs(t, "person or group", ownerPage)
	pagetest.NothingActs(t, "heading of a person or group", ownerHeading)
	pagetest.NothingActs(t, "project", projectPage)
	pagetest.NothingActs(t, "heading of a project", projectHeading)
	pagetest.NothingActs(t, "activity", activityPage)
	pagetest.NothingActs(t, "a year", yearPanel)
}
