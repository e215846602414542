package issue_test

import (
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stithy/internal/issue"
	"stithy/internal/kit/httpapi/httpapitest"
)

func TestDurationsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"1h": 3600, "1h 30m": 5400, "1h30m": 5400, "2": 7200, "0": 0, "1mo": 576000, "1w": 144000, "1d": 28800, "45s": 45, "-1h": -3600, "1.5h": 5400, "2 hours": 7200, " 3d ": 86400,
	} {
		if got, ok := issue.ParseDuration(text); !ok || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-", "h", "1x", "1h 2", "1h soon", "99999999999999h", "1..5h", strings.Repeat("1h", 60)} {
		if got, ok := issue.ParseDuration(text); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.IntRange(-1<<30, 1<<30).Draw(t, "seconds")
		for _, hours := range []bool{false, true} {
			text := issue.FormatDuration(seconds, hours)
			if got, ok := issue.ParseDuration(text); (text != "" || seconds != 0) && (!ok || got != seconds) {
				t.Fatalf("%d is written %q and read as %d", seconds, text, got)
			}
		}
	})
	if got := issue.FormatDuration(3600*20, true); got != "20h" {
		t.Errorf("in hours it is %q", got)
	}
}

func TestCheckBoxesOfADescriptionAreCounted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	reporter := w.reporter(t)
	i := httpapitest.JSON[made](t, reporter.Do(t, "POST", of(w.project), map[string]any{"title": "Tasks"}).WantStatus(t, http.StatusCreated))
	if i.Tasks.Count != 0 {
		t.Errorf("nothing has %d", i.Tasks.Count)
	}
	for text, want := range map[string][2]int{
		"": {}, "- [ ] a": {1, 0}, "- [x] a\n* [X] b\n+ [ ] c\n1. [x] d\n2) [ ] e": {5, 3}, "  - [ ] deep": {1, 0}, "[ ] no item": {}, "- [y] no box": {}, "-[ ] no space": {},
		"- []": {}, "- [ ]no space": {}, "```\n- [ ] code\n```\n- [x] text": {1, 1}, "~~~~\n- [ ] code\n~~~\n- [ ] code\n~~~~": {}, "````\n```\n- [ ] code\n````\n- [ ] text": {1, 0},
	} {
		i = httpapitest.JSON[made](t, reporter.Do(t, "PUT", of(w.project)+"/1", map[string]any{"description": text}).WantStatus(t, http.StatusOK))
		if i.Tasks.Count != want[0] || i.Tasks.Completed != want[1] {
			t.Errorf("%q: got %d of %d", text, i.Tasks.Completed, i.Tasks.Count)
		}
	}
}
