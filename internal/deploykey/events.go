package deploykey

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// Action names an act on a deploy key; the audit trail keeps it.
type Action string

const (
	Added   Action = "deploy_key_added"
	Updated Action = "deploy_key_updated"
	Removed Action = "deploy_key_removed"
)

// Event is an act on a deploy key, published in the transaction that did it.
type Event struct {
	Action Action
	By     access.Actor
	In     bus.Entity
	Key    Key
}

// EventName is the act.
func (e Event) EventName() string { return string(e.Action) }

// AuditRecord is the act as the audit trail keeps it.
func (e Event) AuditRecord() bus.AuditRecord {
	message := map[Action]string{Added: "Added deploy key", Updated: "Changed deploy key", Removed: "Removed deploy key"}[e.Action]
	return bus.AuditRecord{
		Type: e.EventName(), By: e.By, Entity: e.In, Message: message + " " + e.Key.FingerprintSHA256,
		Target: bus.Target{Type: "DeployKey", ID: e.Key.ID, Details: e.Key.Title},
	}
}
