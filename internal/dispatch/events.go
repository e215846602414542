package dispatch

import (
	"fmt"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on which jobs reach a project; the audit trail keeps it.
type Action string

const (
	InboundClosed  Action = "secure_ci_job_token_inbound_enabled"
	InboundOpened  Action = "secure_ci_job_token_inbound_disabled"
	ProjectAdded   Action = "secure_ci_job_token_project_added"
	ProjectRemoved Action = "secure_ci_job_token_project_removed"
)

// Event is such an act, published in the transaction that did it.
type Event struct {
	Action   Action
	By       access.Actor
	In       bus.Entity
	TargetID int64 // the other project, if there is one
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	d := bus.AuditRecord{Type: string(e.Action), By: e.By, Entity: e.In}
	switch e.Action {
	case InboundClosed:
		d.Message = "Let in the jobs of listed projects only"
	case InboundOpened:
		d.Message = "Let in the jobs of all projects"
	case ProjectAdded:
		d.Message = fmt.Sprintf("Let in the jobs of the project with id %d", e.TargetID)
	case ProjectRemoved:
		d.Message = fmt.Sprintf("Kept out the jobs of the project with id %d", e.TargetID)
	}
	return d
}
