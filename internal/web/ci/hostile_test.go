package ci

import (
	"testing"

	"stithy/internal/web/page/pagetest"
)

// The lines of a log are markup that joblog makes: see TestCI14_NothingInALogActs.
func TestWB01_NothingThatAPageOfCIShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "pipelines", pipelinesPage)
	pagetest.NothingActs(t, "form of a new pipeline", runMenu)
	pagetest.NothingActs(t, "pipeline", pipelinePage)
	pagetest.NothingActs(t, "heading of a pipeline", pipelineHeading)
	pagetest.NothingActs(t, "facts of a pipeline", pipelineFacts)
	pagetest.NothingActs(t, "buttons of a pipeline", pipelineActions)
	pagetest.NothingActs(t, "jobs", jobsPage)
	pagetest.NothingActs(t, "job", jobPage)
	pagetest.NothingActs(t, "log of a job", logOf)
	pagetest.NothingActs(t, "heading of a job", jobHeading)
	pagetest.NothingActs(t, "facts of a job", jobHeadFacts)
	pagetest.NothingActs(t, "buttons of a job", jobActions)
	pagetest.NothingActs(t, "lint", lintPage)
	pagetest.NothingActs(t, "settings", settingsPage)
	pagetest.NothingActs(t, "runner", runnerPage)
	pagetest.NothingActs(t, "variable", variablePage)
}
