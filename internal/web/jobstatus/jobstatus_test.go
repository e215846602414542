package jobstatus

import (
	"testing"

	"stithy/internal/pipeline"
)

func TestAStageSaysThatAJobWaitsAndThatAFailureIsAllowed(t *testing.T) {
	t.Parallel()
	allowed := func(s pipeline.Status) pipeline.State { return pipeline.State{Status: s, AllowFailure: true} }
	plain := func(s pipeline.Status) pipeline.State { return pipeline.State{Status: s} }
	for _, c := range []struct {
		want string
		jobs []pipeline.State
	}{
		{"Manual", []pipeline.State{allowed(pipeline.Manual)}},
		{"Manual", []pipeline.State{allowed(pipeline.Manual), plain(pipeline.Skipped)}},
		{"Manual", []pipeline.State{plain(pipeline.Manual)}},
		{"Skipped", []pipeline.State{plain(pipeline.Skipped), allowed(pipeline.Skipped)}},
		{"Passed", []pipeline.State{plain(pipeline.Success), allowed(pipeline.Manual)}},
		{"Passed", []pipeline.State{plain(pipeline.Success), allowed(pipeline.Success)}},
		{"Passed with warnings", []pipeline.State{plain(pipeline.Success), allowed(pipeline.Failed)}},
		{"Passed with warnings", []pipeline.State{plain(pipeline.Success), allowed(pipeline.Canceled)}},
		{"Canceled", []pipeline.State{allowed(pipeline.Canceled), allowed(pipeline.Canceled)}},
		{"Failed", []pipeline.State{plain(pipeline.Failed), allowed(pipeline.Failed)}},
		{"Running", []pipeline.State{plain(pipeline.Running), allowed(pipeline.Failed)}},
	} {
		if got := OfJobs(c.jobs).Text; got != c.want {
			t.Errorf("%v: %s, want %s", c.jobs, got, c.want)
		}
	}
}
