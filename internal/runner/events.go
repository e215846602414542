package runner

import (
	"fmt"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a runner; the audit trail keeps it.
type Action string

const (
	Created           Action = "ci_runner_created"
	Registered        Action = "ci_runner_registered"
	Updated           Action = "ci_runner_updated"
	Removed           Action = "ci_runner_unregistered"
	TokenReset        Action = "ci_runner_token_reset"
	RegistrationReset Action = "ci_runner_registration_token_reset"
	Assigned          Action = "ci_runner_assigned_to_project"
	Unassigned        Action = "ci_runner_unassigned_from_project"
)

// Event is an act on a runner, published in the transaction that did it. It
// carries no token. Runner is zero where a registration token was reset.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity // where the trail of it is
	Runner Runner
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	d := bus.AuditRecord{Type: string(e.Action), By: e.By, Entity: e.In}
	if e.Action == RegistrationReset {
		d.Message = "Reset the registration token of runners"
		return d
	}
	d.Target = bus.Target{Type: "Ci::Runner", ID: e.Runner.ID, Details: fmt.Sprintf("#%d %s", e.Runner.ID, e.Runner.Description)}
	return d
}
