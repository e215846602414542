package schedule

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an administrative act on a schedule or trigger token; the audit trail keeps it.
type Action string

const (
	TriggerCreated Action = "trigger_token_created"
	TriggerUpdated Action = "trigger_token_updated"
	TriggerDeleted Action = "trigger_token_deleted"
	ScheduleTaken  Action = "pipeline_schedule_ownership_taken"
)

// Event is an act, published in the transaction that did it. It carries no token.
type Event struct {
	Action      Action
	By          access.Actor
	In          bus.Entity
	ID          int64
	Description string
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	target := bus.Target{Type: "Ci::Trigger", ID: e.ID, Details: e.Description}
	if e.Action == ScheduleTaken {
		target.Type = "Ci::PipelineSchedule"
	}
	return bus.AuditRecord{Type: string(e.Action), By: e.By, Entity: e.In, Target: target, Message: messages[e.Action]}
}

var messages = map[Action]string{
	TriggerCreated: "Created pipeline trigger token", TriggerUpdated: "Changed pipeline trigger token", TriggerDeleted: "Deleted pipeline trigger token",
	ScheduleTaken: "Took over pipeline schedule",
}
