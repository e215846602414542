package variable

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a variable; the audit trail keeps it.
type Action string

const (
	Created Action = "created"
	Updated Action = "updated"
	Deleted Action = "deleted"
)

// Event is an act on a variable. It does not carry the value.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity // the group or project; zero for the instance
	ID     int64
	Key    string
}

// kinds are how the trail calls variables and acts on them.
var kinds = map[bus.EntityKind]struct{ act, target string }{
	"":            {"ci_instance_variable_", "Ci::InstanceVariable"},
	bus.OfGroup:   {"ci_group_variable_", "Ci::GroupVariable"},
	bus.OfProject: {"ci_variable_", "Ci::Variable"},
}

// EventName is the act, and on which kind of variable.
func (e Event) EventName() string { return kinds[e.In.Kind].act + string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	in := e.In
	if in.Kind == "" {
		in = bus.Instance()
	}
	return bus.AuditRecord{
		Type: e.EventName(), By: e.By, Entity: in,
		Target: bus.Target{Type: kinds[e.In.Kind].target, ID: e.ID, Details: e.Key},
	}
}
