package audit

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// DestinationAction names an act on a destination; the trail keeps it.
type DestinationAction string

// The acts.
const (
	DestinationCreated DestinationAction = "create"
	DestinationUpdated DestinationAction = "update"
	DestinationRemoved DestinationAction = "destroy"
	DestinationRetried DestinationAction = "retry"
)

// DestinationEvent is an act on a destination. It does not carry the secret.
type DestinationEvent struct {
	Action DestinationAction
	By     access.Actor
	In     bus.Entity // the group, or the instance
	ID     int64
	Name   string
	What   string // where it leads, or what was changed
}

// EventName is the act, and on whose destination.
func (e DestinationEvent) EventName() string {
	if e.In.Kind == bus.OfInstance {
		return string(e.Action) + "_instance_event_streaming_destination"
	}
	return string(e.Action) + "_event_streaming_destination"
}

// AuditRecord is the act as the trail keeps it.
func (e DestinationEvent) AuditRecord() bus.AuditRecord {
	done := map[DestinationAction]string{
		DestinationCreated: "Created event streaming destination " + e.What, DestinationUpdated: "Changed event streaming destination: " + e.What,
		DestinationRemoved: "Removed event streaming destination " + e.What, DestinationRetried: "Sent dead letters of event streaming destination again",
	}
	return bus.AuditRecord{
		Type: e.EventName(), By: e.By, Entity: e.In, Message: done[e.Action],
		Target: bus.Target{Type: "AuditEvents::ExternalDestination", ID: e.ID, Details: e.Name},
	}
}
