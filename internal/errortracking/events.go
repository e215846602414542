package errortracking

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an administrative act; the audit trail keeps it.
type Action string

const (
	SettingsChanged Action = "error_tracking_settings_updated"
	KeyCreated      Action = "error_tracking_client_key_created"
	KeyDeleted      Action = "error_tracking_client_key_deleted"
)

// Event is an act, published in the transaction that did it. It carries no key.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	KeyID  int64 // of the key that came or went
	State  string
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	r := bus.AuditRecord{Type: string(e.Action), By: e.By, Entity: e.In, Message: messages[e.Action]}
	if e.Action == SettingsChanged {
		r.Message += ": " + e.State
	} else {
		r.Target = bus.Target{Type: "ErrorTracking::ClientKey", ID: e.KeyID, Details: "client key"}
	}
	return r
}

var messages = map[Action]string{
	SettingsChanged: "Changed error tracking", KeyCreated: "Created error tracking client key", KeyDeleted: "Deleted error tracking client key",
}
