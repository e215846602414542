package alert

import (
	"time"

	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
	"stithy/internal/project"
)

// Action names an administrative act; the audit trail keeps it.
type Action string

// The acts.
const (
	Created     Action = "alert_integration_created"
	Updated     Action = "alert_integration_updated"
	KeyReplaced Action = "alert_integration_key_replaced"
	Deleted     Action = "alert_integration_deleted"

	SettingsChanged Action = "alert_settings_updated"
)

// Event is an act on an integration or on the settings, published in the transaction that did it. It carries no key.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	ID     int64  // of the integration
	Name   string // of the integration, or the settings in words
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	if e.Action == SettingsChanged {
		return bus.AuditRecord{Type: string(e.Action), By: e.By, Entity: e.In, Message: messages[e.Action] + ": " + e.Name}
	}
	return bus.AuditRecord{
		Type: string(e.Action), By: e.By, Entity: e.In, Target: bus.Target{Type: "AlertManagement::HttpIntegration", ID: e.ID, Details: e.Name},
		Message: messages[e.Action],
	}
}

var messages = map[Action]string{
	Created: "Created alert integration", Updated: "Changed alert integration", KeyReplaced: "Replaced the key of alert integration",
	Deleted: "Deleted alert integration", SettingsChanged: "Changed what follows from alerts",
}

// Came is that a project has new alerts that its owners and maintainers are to be told of, those from one number to another. It is published in the transaction
// that notes that they are told.
type Came struct {
	Project     *project.Project
	First, Last int32
	At          time.Time
}

// EventName is what happened.
func (Came) EventName() string { return "alerts_came" }
