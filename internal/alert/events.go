package alert

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an administrative act on an integration; the audit trail keeps it.
type Action string

// The acts.
const (
	Created     Action = "alert_integration_created"
	Updated     Action = "alert_integration_updated"
	KeyReplaced Action = "alert_integration_key_replaced"
	Deleted     Action = "alert_integration_deleted"
)

// Event is an act on an integration, published in the transaction that did it. It carries no key.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	ID     int64
	Name   string
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	return bus.AuditRecord{
		Type: string(e.Action), By: e.By, Entity: e.In, Target: bus.Target{Type: "AlertManagement::HttpIntegration", ID: e.ID, Details: e.Name},
		Message: messages[e.Action],
	}
}

var messages = map[Action]string{
	Created: "Created alert integration", Updated: "Changed alert integration", KeyReplaced: "Replaced the key of alert integration",
	Deleted: "Deleted alert integration",
}
