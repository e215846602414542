package monitor

import (
	"testing"

	"stithy/internal/web/page/pagetest"
)

func TestWB01_NothingThatAPageOfMonitoringShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "alerts", alertsPage)
	pagetest.NothingActs(t, "alert", alertPage)
	pagetest.NothingActs(t, "facts of an alert", alertFacts)
	pagetest.NothingActs(t, "button of alerts", integrationsLink)
	pagetest.NothingActs(t, "integrations", integrationsPage)
}
