package web

import (
	"slices"

	"stithy/internal/pipeline"
)

// status is how people are shown where a pipeline, a stage or a job stands: a
// word, with a shape and a tone that say the same.
type status struct {
	Text string
	Tone string // good, bad, busy, or "" for whatever neither works nor worries
	Path string // of the shape, in a box of 16 by 16
}

const (
	shapeCheck   = "M3.5 8.5l3 3 6-7"
	shapeCross   = "M4.5 4.5l7 7m0-7l-7 7"
	shapeAlert   = "M8 3.5v5.5m0 3v.5"
	shapeTurning = "M8 2.5a5.5 5.5 0 1 1-5.5 5.5"
	shapeBars    = "M6 4.5v7m4-7v7"
	shapeRing    = "M8 3a5 5 0 1 0 .01 0"
	shapeSlash   = "M4 12l8-8"
	shapeSkip    = "M3.5 4.5L7 8l-3.5 3.5m5-7L12 8l-3.5 3.5"
	shapePlay    = "M5.5 3.5v9l7-4.5z"
	shapeClock   = "M8 2.5a5.5 5.5 0 1 0 .01 0M8 5v3l2 1.5"
)

var statuses = map[pipeline.Status]status{
	pipeline.Created:            {"Not started", "", shapeRing},
	pipeline.WaitingForResource: {"Waits for a resource", "", shapeClock},
	pipeline.Preparing:          {"Preparing", "busy", shapeTurning},
	pipeline.Pending:            {"Pending", "busy", shapeBars},
	pipeline.Running:            {"Running", "busy", shapeTurning},
	pipeline.Success:            {"Passed", "good", shapeCheck},
	pipeline.Failed:             {"Failed", "bad", shapeCross},
	pipeline.Canceled:           {"Canceled", "", shapeSlash},
	pipeline.Skipped:            {"Skipped", "", shapeSkip},
	pipeline.Manual:             {"Manual", "", shapePlay},
	pipeline.Scheduled:          {"Delayed", "", shapeClock},
}

// statusOf is how a status is shown.
func statusOf(s pipeline.Status) status { return statuses[s] }

var warned = status{"Passed with warnings", "good", shapeAlert}

// statusOfJobs is how some jobs are shown together. A job that somebody may start
// and need not is not skipped, and a failure that is allowed is told.
func statusOfJobs(jobs []pipeline.State) status {
	has := func(of ...pipeline.Status) bool {
		return slices.ContainsFunc(jobs, func(j pipeline.State) bool { return j.AllowFailure && slices.Contains(of, j.Status) })
	}
	switch together := pipeline.Combine(jobs); {
	case together == pipeline.Skipped && has(pipeline.Manual):
		return statusOf(pipeline.Manual)
	case together == pipeline.Success && has(pipeline.Failed, pipeline.Canceled):
		return warned
	default:
		return statusOf(together)
	}
}

// statusOfJob is how a job is shown: a failure that is allowed is a warning.
func statusOfJob(j *pipeline.Job) status {
	if j.AllowFailure && j.Status == pipeline.Failed {
		return status{"Failed, allowed", "bad", shapeAlert}
	}
	return statusOf(j.Status)
}
