package planning

import (
	"testing"

	"stithy/internal/web/page/pagetest"
)

// What internal/markdown makes of a text is its own: see the tests of kit/markdown.
func TestWB01_NothingThatAPageOfPlanningShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "issues", issuesPage)
	pagetest.NothingActs(t, "issue", issueDetail)
	pagetest.NothingActs(t, "heading of an issue", issueHeading)
	pagetest.NothingActs(t, "facts of an issue", issueFacts)
	pagetest.NothingActs(t, "buttons of an issue", issueActions)
	pagetest.NothingActs(t, "form", formPage)
	pagetest.NothingActs(t, "boards", boardsPage)
	pagetest.NothingActs(t, "board", boardPage)
	pagetest.NothingActs(t, "buttons of a board", boardActions)
	pagetest.NothingActs(t, "form of a board", boardEditPage)
	pagetest.NothingActs(t, "to-dos", todosPage)
	pagetest.NothingActs(t, "labels", labelsPage)
	pagetest.NothingActs(t, "milestones", milestonesPage)
	pagetest.NothingActs(t, "milestone", milestonePage)
	pagetest.NothingActs(t, "facts of a milestone", milestoneFacts)
	pagetest.NothingActs(t, "buttons of a milestone", milestoneActions)
}
