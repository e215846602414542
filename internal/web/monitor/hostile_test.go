package monitor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stithy/internal/errortracking"
	"stithy/internal/web/page/pagetest"
)

func TestWB01_NothingThatAPageOfMonitoringShowsActs(t *testing.T) {
	t.Parallel()
	pagetest.NothingActs(t, "alerts", alertsPage)
	pagetest.NothingActs(t, "alert", alertPage)
	pagetest.NothingActs(t, "facts of an alert", alertFacts)
	pagetest.NothingActs(t, "button of alerts", integrationsLink)
	pagetest.NothingActs(t, "integrations", integrationsPage)
	pagetest.NothingActs(t, "errors", errorsPage)
	pagetest.NothingActs(t, "error", errorPage)
	pagetest.NothingActs(t, "facts of an error", errorFacts)
	pagetest.NothingActs(t, "buttons of an error", errorActions)
	pagetest.NothingActs(t, "settings", settingsPage)
	pagetest.NothingActs(t, "link to settings", settingsLink)
}

func TestWordsOfASearchAreToldFromFilters(t *testing.T) {
	t.Parallel()
	got := readFilter("index release:2.4 out env:staging of: range", "all", "frequency")
	want := errortracking.Filter{Release: "2.4", Environment: "staging", Query: "index out of: range", Sort: errortracking.ByFrequency}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAChartSumsHoursUp(t *testing.T) {
	t.Parallel()
	since := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	at := func(hours int, n int64) errortracking.Hour {
		return errortracking.Hour{Hour: since.Add(time.Duration(hours) * time.Hour), Events: n}
	}
	c := newChart([]errortracking.Hour{at(-1, 9), at(0, 1), at(23, 2), at(30, 1234), at(99, 5)}, since, 24*time.Hour, 3, 30, 12, "Events a day")
	if c.Label != "Events a day: 3, 1234, 0" || c.Max != "1,234" || len(c.Bars) != 2 || c.Bars[1] != (bar{X: "10.0", Y: "2.0", Width: "7.5", Height: "10.0"}) {
		t.Errorf("%+v", c)
	}
	if none := newChart(nil, since, time.Hour, 2, 30, 12, "x"); none.Label != "x: 0, 0" || none.Bars != nil {
		t.Errorf("%+v", none)
	}
}
