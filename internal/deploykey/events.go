package deploykey

import (
	"stithy/internal/kit/access"
	"stithy/internal/kit/bus"
)

// What names an act on a deploy key; the audit trail keeps it.
type What string

const (
	Added   What = "deploy_key_added"
	Removed What = "deploy_key_removed"
)

// Event is an act on a deploy key, published in the transaction that did it.
type Event struct {
	What What
	By   access.Actor
	In   bus.Entity
	Key  Key
}

// EventName is the act.
func (e Event) EventName() string { return string(e.What) }

// Deed is the act as the audit trail keeps it.
func (e Event) Deed() bus.Deed {
	message := "Removed deploy key"
	if e.What == Added {
		message = "Added deploy key"
	}
	return bus.Deed{
		Type: e.EventName(), By: e.By, Entity: e.In, Message: message + " " + e.Key.FingerprintSHA256,
		Target: bus.Target{Type: "DeployKey", ID: e.Key.ID, Details: e.Key.Title},
	}
}
