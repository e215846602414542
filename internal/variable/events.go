package variable

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// What names an act on a variable of the instance; the audit trail keeps it.
type What string

const (
	Created What = "ci_instance_variable_created"
	Updated What = "ci_instance_variable_updated"
	Deleted What = "ci_instance_variable_deleted"
)

// Event is an act on a variable of the instance. It does not carry the value.
type Event struct {
	What What
	By   access.Actor
	ID   int64
	Key  string
}

// EventName is the act.
func (e Event) EventName() string { return string(e.What) }

// Deed is the act as the audit trail keeps it.
func (e Event) Deed() bus.Deed {
	return bus.Deed{
		Type: string(e.What), By: e.By, Entity: bus.Instance(),
		Target: bus.Target{Type: "Ci::InstanceVariable", ID: e.ID, Details: e.Key},
	}
}
