// Package jobstatus says how people are shown where a pipeline, a stage or a job stands.
package jobstatus

import (
	"slices"

	"stithy/internal/pipeline"
	"stithy/internal/web/ui"
)

var statuses = map[pipeline.Status]ui.Status{
	pipeline.Created:            {Text: "Not started", Tone: ui.Soft, Icon: ui.IconNotStarted},
	pipeline.WaitingForResource: {Text: "Waits for a resource", Tone: ui.Warn, Icon: ui.IconClock},
	pipeline.Preparing:          {Text: "Preparing", Tone: ui.Busy, Icon: ui.IconRunning},
	pipeline.Pending:            {Text: "Pending", Tone: ui.Warn, Icon: ui.IconPause},
	pipeline.Running:            {Text: "Running", Tone: ui.Busy, Icon: ui.IconRunning},
	pipeline.Success:            {Text: "Passed", Tone: ui.Good, Icon: ui.IconPassed},
	pipeline.Failed:             {Text: "Failed", Tone: ui.Bad, Icon: ui.IconFailed},
	pipeline.Canceled:           {Text: "Canceled", Tone: ui.Soft, Icon: ui.IconCanceled},
	pipeline.Skipped:            {Text: "Skipped", Tone: ui.Soft, Icon: ui.IconSkipped},
	pipeline.Manual:             {Text: "Manual", Tone: ui.Soft, Icon: ui.IconPlay},
	pipeline.Scheduled:          {Text: "Delayed", Tone: ui.Soft, Icon: ui.IconClock},
}

// Warned is a pipeline that passed although a job failed that may.
var Warned = ui.Status{Text: "Passed with warnings", Tone: ui.Warn, Icon: ui.IconWarning}

// Of is how a status is shown, and nothing if it is none.
func Of(s pipeline.Status) ui.Status { return statuses[s] }

// OfJobs is how some jobs are shown together. A job that somebody may start and need not is not skipped, and a failure
// that is allowed is told.
func OfJobs(jobs []pipeline.State) ui.Status {
	has := func(of ...pipeline.Status) bool {
		return slices.ContainsFunc(jobs, func(j pipeline.State) bool { return j.AllowFailure && slices.Contains(of, j.Status) })
	}
	switch together := pipeline.Combine(jobs); {
	case len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j pipeline.State) bool { return j.Status != pipeline.Canceled }):
		return Of(pipeline.Canceled)
	case together == pipeline.Skipped && has(pipeline.Manual):
		return Of(pipeline.Manual)
	case together == pipeline.Success && has(pipeline.Failed, pipeline.Canceled):
		return Warned
	default:
		return Of(together)
	}
}

// OfJob is how a job is shown: a failure that is allowed is a warning.
func OfJob(j *pipeline.Job) ui.Status {
	if j.AllowFailure && j.Status == pipeline.Failed {
		return ui.Status{Text: "Failed, allowed", Tone: ui.Warn, Icon: ui.IconWarning}
	}
	return Of(j.Status)
}
