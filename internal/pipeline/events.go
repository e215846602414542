package pipeline

import (
	"fmt"
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// JobQueued tells that a build waits for a runner, in the transaction that
// makes it so. Bridges are not told of: they need no runner.
type JobQueued struct {
	JobID        int64
	PipelineID   int64
	ProjectID    int64
	NamespaceIDs []int64 // the line of namespaces that the project stands in, from the top
	UserID       *int64
	Tags         []string // sorted
	Protected    bool     // the ref is protected now; judged again when the job is handed out
	Ref          string
	Tag          bool
	QueuedAt     time.Time
}

// EventName is for logs.
func (JobQueued) EventName() string { return "job queued" }

// JobUnqueued tells that a build will not run and waits no more. Of one that a
// claim takes nobody is told: the claim has its row of the queue already.
// It is published under the lock of its pipeline, and a claim asks for that
// lock with its row of the queue in hand. Whoever reacts therefore takes the row
// with skip locked: if a claim has it, Candidate will refuse the job.
type JobUnqueued struct{ JobID int64 }

// EventName is for logs.
func (JobUnqueued) EventName() string { return "job unqueued" }

// JobFinished tells that a job came to an end.
type JobFinished struct {
	Job      Job
	Pipeline Pipeline
}

// EventName is for logs.
func (JobFinished) EventName() string { return "job finished" }

// JobErased tells that the log and the files of a job are to go.
type JobErased struct{ Job Job }

// EventName is for logs.
func (JobErased) EventName() string { return "job erased" }

// PipelineChanged tells of a new status of a pipeline, and of a new pipeline.
type PipelineChanged struct {
	Pipeline Pipeline
	From     Status // empty for a new one
}

// EventName is for logs.
func (PipelineChanged) EventName() string { return "pipeline changed" }

// PipelineDeleted tells that somebody deleted a pipeline.
type PipelineDeleted struct {
	By access.Actor
	In bus.Entity
	ID int64
}

// EventName is what the audit trail calls it.
func (PipelineDeleted) EventName() string { return "destroy_pipeline" }

// AuditRecord is the act as the audit trail keeps it.
func (e PipelineDeleted) AuditRecord() bus.AuditRecord {
	return bus.AuditRecord{
		Type: e.EventName(), By: e.By, Entity: e.In, Message: "Deleted pipeline", Remove: "pipeline",
		Target: bus.Target{Type: "Ci::Pipeline", ID: e.ID, Details: fmt.Sprintf("#%d", e.ID)},
	}
}
